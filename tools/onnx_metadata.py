#!/usr/bin/env python3
"""Writes one metadata entry of an ONNX file to a text file, without a newline at its end.

    onnx_metadata.py MODEL.onnx KEY OUT.txt
"""
import sys

import onnx


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    path, key, out = sys.argv[1:]
    entries = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    if key not in entries:
        sys.exit(f"{path} has no metadata entry {key!r}; it has: {', '.join(sorted(entries)) or 'none'}")
    with open(out, "w", encoding="utf-8", newline="") as file:
        file.write(entries[key])


if __name__ == "__main__":
    main()
