# The checks of the house, as tests of every build: who includes whom, headers that compile alone, names of symbols, style.
# Each check also shows that it can fail (--self-test).
function(weft_house name)
  add_test(NAME house.${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(house.${name} PROPERTIES TIMEOUT 240 LABELS house)
endfunction()

set(_script ${CMAKE_SOURCE_DIR}/script)
weft_house(includes ${_script}/check-includes)
weft_house(includes_self ${_script}/check-includes --self-test)
weft_house(headers ${_script}/check-headers --cc ${CMAKE_C_COMPILER})
weft_house(symbols ${_script}/check-symbols ${CMAKE_BINARY_DIR})
weft_house(symbols_self ${_script}/check-symbols --self-test)
weft_house(style ${_script}/check-style --no-report)
weft_house(style_self ${_script}/check-style --self-test)
weft_house(events ${_script}/check-events)
weft_house(events_self ${_script}/check-events --self-test)

weft_house(docs ${_script}/check-docs)
weft_house(docs_self ${_script}/check-docs --self-test)
