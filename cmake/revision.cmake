# The version of the project and the git revision, known when CMake runs; "" outside of a git tree or without git. A trailing + means that tracked files differed.
set(WEFT_REVISION "")
find_program(WEFT_GIT git)
mark_as_advanced(WEFT_GIT)
if(WEFT_GIT AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${WEFT_GIT} -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE WEFT_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _failed)
  if(_failed)
    set(WEFT_REVISION "")
  else()
    execute_process(COMMAND ${WEFT_GIT} -C ${CMAKE_SOURCE_DIR} --no-optional-locks diff-index --quiet HEAD -- RESULT_VARIABLE _dirty ERROR_QUIET)
    if(_dirty)
      string(APPEND WEFT_REVISION "+")
    endif()
  endif()
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/api/version.c PROPERTIES COMPILE_DEFINITIONS
                            "WEFT_VERSION=\"${PROJECT_VERSION}\";WEFT_REVISION=\"${WEFT_REVISION}\"")
