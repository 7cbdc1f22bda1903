# The reader of configurations with everything that is built in.
weft_test(integration.config_builtin ${CMAKE_CURRENT_LIST_DIR}/config_builtin.c LIBS weft_static LABELS integration)
weft_test(integration.config_manual ${CMAKE_CURRENT_LIST_DIR}/config_manual.c LIBS weft_static LABELS integration)
weft_test(integration.open ${CMAKE_CURRENT_LIST_DIR}/open.c LIBS weft_static LABELS integration)
add_custom_target(refresh-reference COMMAND integration_config_manual --write COMMENT "docs/reference.md from the declarations")
