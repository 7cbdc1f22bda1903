# The ONNX backend suite: on the backend itself, through an engine, and through a worker that encodes everything.
set(_c ${CMAKE_CURRENT_LIST_DIR})
add_executable(onnx_suite ${_c}/onnx_suite.c ${_c}/tensor_pb.c ${_c}/suite_backend.c ${_c}/suite_engine.c)
target_link_libraries(onnx_suite PRIVATE weft_harness weft_worker weft_static)
foreach(way backend engine loopback)
  add_test(NAME conformance.${way} COMMAND onnx_suite --${way} ${_c}/onnx_expected.txt)
  set_tests_properties(conformance.${way} PROPERTIES TIMEOUT 600 LABELS conformance SKIP_RETURN_CODE 77)
endforeach()
