"""Reads the weights of a TensorFlow.js model; quantised ones are widened."""
import os

import numpy as np

DTYPES = {"float32": np.float32, "int32": np.int32, "bool": np.bool_}
QUANTISED = {"uint8": np.uint8, "uint16": np.uint16, "float16": np.float16}


def read(model, folder, weights_path=None):
    """Returns {name: array}. `weights_path` replaces the files the manifest names."""
    weights = {}
    for group in model["weightsManifest"]:
        paths = [weights_path] if weights_path else [os.path.join(folder, p) for p in group["paths"]]
        data = b"".join(open(path, "rb").read() for path in paths)
        offset = 0
        for entry in group["weights"]:
            array, offset = _take(data, offset, entry)
            weights[entry["name"]] = array.reshape(entry["shape"])
        if offset > len(data):
            raise ValueError(f"the weights need {offset} bytes, the files hold {len(data)}")
    return weights


def _take(data, offset, entry):
    count = int(np.prod(entry["shape"])) if entry["shape"] else 1
    dtype = DTYPES[entry["dtype"]]
    quantisation = entry.get("quantization")
    stored = np.dtype(QUANTISED[quantisation["dtype"]] if quantisation else dtype)
    array = np.frombuffer(data, stored, count, offset)
    if quantisation:
        array = _widen(array, quantisation, dtype)
    return array, offset + count * stored.itemsize


def _widen(array, quantisation, dtype):
    if quantisation["dtype"] == "float16":
        return array.astype(np.float32)
    real = array.astype(np.float32) * np.float32(quantisation["scale"]) + np.float32(quantisation["min"])
    return np.round(real).astype(np.int32) if dtype == np.int32 else real
