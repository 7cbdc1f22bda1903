# Finding the library; and our declarations against the vendor's header, where WEFT_ORT_HEADER_DIR names its folder when the test runs.
add_library(old_runtime MODULE ${CMAKE_CURRENT_LIST_DIR}/old_runtime.c)
target_include_directories(old_runtime PRIVATE ${CMAKE_SOURCE_DIR}/src)
weft_test(conformance.ort-library ${CMAKE_CURRENT_LIST_DIR}/ort_library.c LIBS weft_backend_onnxruntime ${BASE} LABELS conformance)
target_compile_definitions(conformance_ort-library PRIVATE OLD_RUNTIME="$<TARGET_FILE:old_runtime>")
add_dependencies(conformance_ort-library old_runtime)
add_test(NAME conformance.ort-abi
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/ort_abi_check.sh ${CMAKE_C_COMPILER} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/ort_abi_check)
set_tests_properties(conformance.ort-abi PROPERTIES TIMEOUT 60 LABELS conformance SKIP_RETURN_CODE 77)
