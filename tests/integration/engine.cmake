# Whole-engine tests that take seconds: tests/integration/engine_*.c, on the fake backend.
file(GLOB _engine_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/integration/engine_*.c)
file(GLOB _engine_helpers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/engine/help_*.c)
add_custom_target(integration-engine)
foreach(f ${_engine_tests})
  get_filename_component(n ${f} NAME_WE)
  weft_test(integration.${n} ${f} LIBS weft_engine weft_backend_fake weft_executor_tensor ${BASE} EXTRA ${_engine_helpers}
            LABELS integration TIMEOUT 300)
  add_dependencies(integration-engine integration_${n})
endforeach()
