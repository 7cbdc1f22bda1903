# weft_embed(target file symbol): the bytes of a file of web/ in a target, as `const unsigned char SYMBOL[]` and `const size_t SYMBOL_bytes`.
# Run as a script (cmake -P) it writes the C file; so a build needs nothing but CMake.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ ${FROM} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
  get_filename_component(name ${FROM} NAME)
  file(WRITE ${TO} "/* Made from web/${name} by cmake/embed.cmake. */\n#include <stddef.h>\nextern const unsigned char ${SYMBOL}[];\n"
                   "extern const size_t ${SYMBOL}_bytes;\nconst unsigned char ${SYMBOL}[] = {\n${bytes}0};\n"
                   "const size_t ${SYMBOL}_bytes = sizeof(${SYMBOL}) - 1;\n")
  return()
endif()

function(weft_embed target file symbol)
  set(c ${CMAKE_BINARY_DIR}/embed/${symbol}.c)
  add_custom_command(OUTPUT ${c} DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM
                     COMMAND ${CMAKE_COMMAND} -DFROM=${file} -DTO=${c} -DSYMBOL=${symbol} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  target_sources(${target} PRIVATE ${c})
endfunction()
