# Executors on real models through the whole engine.
weft_test(integration.executors ${CMAKE_CURRENT_LIST_DIR}/executors_models.c LIBS weft_static TIMEOUT 300 LABELS integration)
