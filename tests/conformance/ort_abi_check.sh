#!/bin/sh
# ort_abi_check.sh CC SOURCE_DIR OUTPUT: compiles and runs ort_abi_check.c where the vendor's header is; else exit status 77.
cc=$1 source=$2 output=$3
if [ -z "$WEFT_ORT_HEADER_DIR" ] || [ ! -r "$WEFT_ORT_HEADER_DIR/onnxruntime_c_api.h" ]; then
    echo "WEFT_ORT_HEADER_DIR does not name a folder with onnxruntime_c_api.h"
    exit 77
fi
"$cc" -std=c11 -D_GNU_SOURCE -Wall -Werror -I"$source/include" -I"$source/src" \
    -I"$WEFT_ORT_HEADER_DIR" "$source/tests/conformance/ort_abi_check.c" -o "$output" && "$output" &&
    echo "ort_abi.h agrees with $(grep -m1 'define ORT_API_VERSION' "$WEFT_ORT_HEADER_DIR/onnxruntime_c_api.h")"
