weft_fuzz(wire LIBS weft_wire ${BASE})
