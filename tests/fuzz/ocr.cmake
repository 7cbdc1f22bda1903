weft_fuzz(ocr_dictionary LIBS weft_static MODIFIED 5000)
weft_fuzz(ocr_map LIBS weft_static MODIFIED 3000)
