# One list of promises for every backend.
weft_test(conformance.contract ${CMAKE_CURRENT_LIST_DIR}/backend_contract.c EXTRA ${CMAKE_CURRENT_LIST_DIR}/backend_rig.c
          LIBS weft_backend weft_backend_fake weft_backend_onnxruntime ${BASE} LABELS conformance)
