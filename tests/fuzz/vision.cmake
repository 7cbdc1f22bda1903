weft_fuzz(labels LIBS weft_vision weft_image ${BASE} MODIFIED 5000)
