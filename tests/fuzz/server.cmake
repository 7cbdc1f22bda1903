# The server's parsers.
weft_fuzz(http LIBS weft_server weft_static)
weft_fuzz(multipart LIBS weft_server weft_static)
weft_fuzz(json_read LIBS weft_wire ${BASE})
weft_fuzz(v2_request LIBS weft_server weft_static)
weft_fuzz(gzip_body LIBS weft_server weft_static)
