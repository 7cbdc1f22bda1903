#!/usr/bin/env python3
"""Unpacks a model of the nsfwjs package, which ships JSON and weights inside JavaScript.

    nsfwjs_unpack.py FOLDER OUT_FOLDER

FOLDER holds `model.min.js` and `group1-shard*.min.js`; OUT_FOLDER gets
`model.json` and `weights.bin`, ready for tfjs2onnx.py. Nothing is executed:
the files are searched for the one long literal in each.
"""
import base64
import glob
import json
import os
import re
import sys


def model_json(text):
    """The exported object literal. A minifier wrote it: JSON but for bare keys, `!0`, and `.5`."""
    start = text.index("{modelTopology")
    literal = re.sub(r"([{,])([A-Za-z_]\w*):", r'\1"\2":', text[start:])
    literal = literal.replace(":!0", ":true").replace(":!1", ":false")
    literal = re.sub(r"([:,\[]-?)\.(\d)", r"\g<1>0.\2", literal)
    model, _end = json.JSONDecoder().raw_decode(literal)
    return model


def weights(text):
    """The longest quoted base64 text of a shard."""
    literals = re.findall(r"""["']([A-Za-z0-9+/]{200,}={0,2})["']""", text)
    return base64.b64decode(max(literals, key=len))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    shards = sorted(glob.glob(os.path.join(folder, "group1-shard*.min.js")))
    with open(os.path.join(out, "weights.bin"), "wb") as file:
        file.writelines(weights(read(shard)) for shard in shards)
    with open(os.path.join(out, "model.json"), "w", encoding="utf-8") as file:
        json.dump(model_json(read(os.path.join(folder, "model.min.js"))), file)


if __name__ == "__main__":
    main()
