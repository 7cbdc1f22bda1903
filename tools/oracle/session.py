"""What the oracles share: running an ONNX file, reading pictures, printing results."""
import json
import os
import sys

import cv2
import onnxruntime

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def models_folder():
    cache = os.environ.get("WEFT_CACHE", os.path.join(ROOT, ".cache"))
    return os.environ.get("WEFT_MODELS", os.path.join(cache, "models"))


def model_path(name):
    return os.path.join(models_folder(), name)


class Session:
    """Session(name).run(array, ...) -> [array, ...], inputs in the order of the graph."""

    def __init__(self, name, threads=2):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            model_path(name), options, providers=["CPUExecutionProvider"])
        self._names = [i.name for i in self._session.get_inputs()]

    def run(self, *arrays):
        return self._session.run(None, dict(zip(self._names, arrays)))


def read_lines(name):
    with open(model_path(name), encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n")


def main(analyse):
    """Prints one JSON object for each picture on the command line: {"picture": ..., **analyse(bgr)}."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PICTURE...")
    for path in sys.argv[1:]:
        bgr = cv2.imread(path)
        if bgr is None:
            sys.exit(f"{path}: OpenCV cannot read this picture")
        print(json.dumps({"picture": path, **analyse(bgr)}, ensure_ascii=False), flush=True)
