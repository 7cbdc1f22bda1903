# `weft new executor NAME`: the skeleton is compiled with this build's compiler and linked against this build's library.
if(TARGET weft_program)
  add_test(NAME e2e.new_executor COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/e2e/new_executor_test.py WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(_flags "")
  if(WEFT_SANITIZE)
    string(REPLACE ";" "," _sanitizers "${WEFT_SANITIZE}")
    set(_flags "-g -fsanitize=${_sanitizers} -fno-sanitize-recover=all")
  endif()
  set_tests_properties(e2e.new_executor PROPERTIES TIMEOUT 400 LABELS e2e
    ENVIRONMENT "WEFT_PROGRAM=$<TARGET_FILE:weft_program>;WEFT_STATIC=$<TARGET_FILE:weft_static>;WEFT_CC=${CMAKE_C_COMPILER};WEFT_CC_FLAGS=${_flags};PYTHONDONTWRITEBYTECODE=1")
endif()
