# The server's parsers.
weft_fuzz(http LIBS weft_server weft_static)
weft_fuzz(multipart LIBS weft_server weft_static)
