# The ONNX backend suite: on the backend itself, through an engine, and through a worker that encodes everything.
set(_c ${CMAKE_CURRENT_LIST_DIR})
add_executable(onnx_suite ${_c}/onnx_suite.c ${_c}/tensor_pb.c ${_c}/suite_backend.c)
target_link_libraries(onnx_suite PRIVATE weft_harness weft_backend_onnxruntime ${BASE})
add_test(NAME conformance.backend COMMAND onnx_suite ${_c}/onnx_expected.txt)
set_tests_properties(conformance.backend PROPERTIES TIMEOUT 600 LABELS conformance SKIP_RETURN_CODE 77)
