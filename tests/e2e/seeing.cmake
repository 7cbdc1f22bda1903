# What the program shows of itself: metrics, traces, access log, OpenAPI, the page at /docs, the dashboard in deploy/.
if(TARGET weft_program)
  weft_e2e(seeing seeing_test.py)
endif()
