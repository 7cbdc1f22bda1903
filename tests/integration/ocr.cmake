# OCR on real models: accuracy on rendered pages and scene pictures, against an independent program, batches, ends.
find_program(WEFT_PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(WEFT_PYTHON3)
  add_test(NAME integration.ocr_pages COMMAND ${WEFT_PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/ocr_pages.py ${CMAKE_BINARY_DIR}/ocr-pages)
  set_tests_properties(integration.ocr_pages PROPERTIES LABELS integration TIMEOUT 120 SKIP_RETURN_CODE 77 FIXTURES_SETUP ocr_pages)
endif()
weft_test(integration.ocr ${CMAKE_CURRENT_LIST_DIR}/ocr_accuracy.c LIBS weft_static TIMEOUT 600 LABELS integration)
weft_test(integration.ocr_service ${CMAKE_CURRENT_LIST_DIR}/ocr_service.c LIBS weft_static TIMEOUT 600 LABELS integration)
set_tests_properties(integration.ocr PROPERTIES FIXTURES_REQUIRED ocr_pages)
