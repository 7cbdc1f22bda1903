foreach(t exif ops draw)
  weft_fuzz(image_${t} LIBS weft_image ${BASE} MODIFIED 300)
endforeach()
weft_fuzz(image_decode LIBS weft_image ${BASE} MODIFIED 3000)

# The decoders against Pillow and OpenCV on the pictures of Debian packages; skipped where neither script/fetch --test
# nor the packages themselves have brought pictures and references.
find_program(WEFT_SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(WEFT_SYSTEM_PYTHON)
  add_executable(image_decode_files ${CMAKE_SOURCE_DIR}/tests/data/image/decode_files.c)
  target_link_libraries(image_decode_files PRIVATE weft_harness weft_image ${BASE})
  add_test(NAME image.packages COMMAND ${WEFT_SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/data/image/compare_packages.py $<TARGET_FILE:image_decode_files> ${CMAKE_SOURCE_DIR}/.cache)
  set_tests_properties(image.packages PROPERTIES TIMEOUT 300 LABELS "image" SKIP_RETURN_CODE 77)
endif()
