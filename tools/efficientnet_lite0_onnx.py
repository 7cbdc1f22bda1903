#!/usr/bin/env python3
"""Writes EfficientNet-Lite0 (ImageNet, 1000 classes) as ONNX from its packaged weights.

    efficientnet_lite0_onnx.py WEIGHTS.pth OUT.onnx

Input `input` f32[N,3,224,224]: RGB, (v - 127) / 128, the middle 87.5 % of the
picture. Output `prob` f32[N,1000]: softmax. Needs numpy and the onnx package.

The weights say how wide each layer is; the strides are the field's own facts
(Tan & Le, EfficientNet, 2019, table 1; the "lite" variant has no
squeeze-and-excite, ReLU6 for swish, and leaves stem and head unscaled).
"""
import sys

from onnx_graph import Graph
import torch_pickle

# (repeats, stride of the first block) for each stage.
STAGES = [(1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1)]
BATCH_NORM_EPSILON = 1e-3


class Network:
    def __init__(self, weights):
        self.weights = weights
        self.graph = Graph("efficientnet_lite0")

    def convolution(self, x, name, stride=1, groups=1):
        kernel = self.weights[name + ".weight"]
        return self.graph.op(
            "Conv", [x, self.graph.constant(kernel, name)], strides=[stride, stride],
            group=groups, auto_pad="SAME_UPPER", kernel_shape=list(kernel.shape[2:]))

    def batch_norm(self, x, name):
        parts = [self.weights[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")]
        names = [self.graph.constant(p, f"{name}.{i}") for i, p in enumerate(parts)]
        return self.graph.op("BatchNormalization", [x] + names, epsilon=BATCH_NORM_EPSILON)

    def block(self, x, name, stride):
        """Inverted bottleneck: widen, filter each channel, narrow; add the input where shapes agree."""
        y = x
        if name + "._expand_conv.weight" in self.weights:
            y = self.graph.relu6(self.batch_norm(self.convolution(y, name + "._expand_conv"), name + "._bn0"))
        channels = self.weights[name + "._depthwise_conv.weight"].shape[0]
        y = self.convolution(y, name + "._depthwise_conv", stride, channels)
        y = self.graph.relu6(self.batch_norm(y, name + "._bn1"))
        y = self.batch_norm(self.convolution(y, name + "._project_conv"), name + "._bn2")
        return self.graph.op("Add", [y, x]) if stride == 1 and self._same_width(name) else y

    def _same_width(self, name):
        expand = self.weights.get(name + "._expand_conv.weight")
        return expand is not None and expand.shape[1] == self.weights[name + "._project_conv.weight"].shape[0]

    def build(self):
        x = self.graph.input("input", ["N", 3, 224, 224])
        x = self.graph.relu6(self.batch_norm(self.convolution(x, "_conv_stem", 2), "_bn0"))
        index = 0
        for repeats, first_stride in STAGES:
            for repeat in range(repeats):
                x = self.block(x, f"_blocks.{index}", first_stride if repeat == 0 else 1)
                index += 1
        x = self.graph.relu6(self.batch_norm(self.convolution(x, "_conv_head"), "_bn1"))
        x = self.graph.op("Flatten", [self.graph.op("GlobalAveragePool", [x])])
        weight = self.graph.constant(self.weights["_fc.weight"], "_fc.weight")
        bias = self.graph.constant(self.weights["_fc.bias"], "_fc.bias")
        x = self.graph.op("Softmax", [self.graph.op("Gemm", [x, weight, bias], transB=1)], axis=1)
        self.graph.output(x, "prob", ["N", 1000])
        return self.graph


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Network(torch_pickle.load(sys.argv[1])).build().save(sys.argv[2], "weft efficientnet_lite0_onnx")


if __name__ == "__main__":
    main()
