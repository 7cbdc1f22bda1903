# What the backends and the conformance suite read from files.
weft_fuzz(fake_text LIBS weft_backend_fake ${BASE})
weft_fuzz(onnx_facts LIBS weft_backend_onnxruntime ${BASE})
weft_fuzz(tensor_pb LIBS ${BASE})
target_sources(fuzz_tensor_pb PRIVATE ${CMAKE_SOURCE_DIR}/tests/conformance/tensor_pb.c)
if(TARGET fuzz_tensor_pb_live)
  target_sources(fuzz_tensor_pb_live PRIVATE ${CMAKE_SOURCE_DIR}/tests/conformance/tensor_pb.c)
endif()
