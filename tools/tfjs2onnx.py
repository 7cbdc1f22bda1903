#!/usr/bin/env python3
"""Converts a TensorFlow.js model to ONNX, without TensorFlow.

    tfjs2onnx.py MODEL.json OUT.onnx [--weights FILE] [--outputs NODE,NODE]

It knows the layers and operations of the models that script/fetch names, and
says which one is missing for any other. A layers model becomes NCHW with
`input` and `output`; a graph model keeps its NHWC `input`, and each output is
called `out_` and the node's name. Needs numpy and the onnx package.
"""
import argparse
import json
import os
import sys

from tfjs_graph import GraphConverter
from tfjs_layers import LayersConverter
import tfjs_weights


def convert(model, weights, outputs):
    if "model_config" in model["modelTopology"]:
        return LayersConverter(model, weights).convert()
    return GraphConverter(model, weights).convert(outputs)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--weights")
    parser.add_argument("--outputs", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    with open(arguments.model, encoding="utf-8") as file:
        model = json.load(file)
    weights = tfjs_weights.read(model, os.path.dirname(arguments.model), arguments.weights)
    try:
        graph = convert(model, weights, arguments.outputs)
    except NotImplementedError as error:
        sys.exit(f"tfjs2onnx: {error}")
    graph.save(arguments.out, "weft tfjs2onnx")


if __name__ == "__main__":
    main()
