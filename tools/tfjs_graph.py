"""Converts a TensorFlow.js *graph* model to an ONNX graph.

TensorFlow keeps pictures as NHWC and ONNX convolves NCHW: each convolution,
pooling and resize is wrapped in two transposes, which ONNX Runtime removes
again where they meet. Only what the asked-for outputs need is converted.
"""
import base64

import numpy as np

from onnx_graph import Graph

TO_NCHW = [0, 3, 1, 2]
TO_NHWC = [0, 2, 3, 1]


def _bare(name):
    """`a:0` and `^a` both mean node `a`."""
    return name.lstrip("^").split(":")[0]


def _decode(attribute):
    """One attribute of a node as a Python value."""
    if "list" in attribute:
        values = attribute["list"]
        if "i" in values:
            return [int(v) for v in values["i"]]
        return [base64.b64decode(v).decode() for v in values.get("s", [])]
    if "s" in attribute:
        return base64.b64decode(attribute["s"]).decode()
    for key, convert in (("i", int), ("f", float), ("b", bool)):
        if key in attribute:
            return convert(attribute[key])
    return attribute


class GraphConverter:
    def __init__(self, model, weights):
        self.nodes = {node["name"]: node for node in model["modelTopology"]["node"]}
        self.signature = model.get("signature", {})
        self.weights = weights
        self.graph = Graph("tfjs_graph")
        self.values = {}

    def convert(self, outputs=None):
        """`outputs`: node names; by default those of the model's signature."""
        wanted = outputs or [_bare(o["name"]) for o in self.signature["outputs"].values()]
        for name in self._order(wanted):
            self._node(self.nodes[name])
        for name in wanted:
            self.graph.output(self.values[name], "out_" + name.replace("/", "_"), None)
        return self.graph

    def _order(self, wanted):
        """Every node before those that use it; a loop, as the graphs are hundreds of nodes deep."""
        order, seen, stack = [], set(), [(name, False) for name in reversed(wanted)]
        while stack:
            name, expanded = stack.pop()
            if expanded:
                order.append(name)
            elif name not in seen and name in self.nodes:
                seen.add(name)
                stack.append((name, True))
                inputs = self.nodes[name].get("input", [])
                stack.extend((_bare(i), False) for i in reversed(inputs))
        return order

    def _node(self, node):
        kind = node["op"]
        if kind in ("Const", "NoOp"):
            return
        handler = HANDLERS.get(kind)
        if handler is None:
            raise NotImplementedError(f"operation {kind} ({node['name']}) is not known to this converter")
        self.values[node["name"]] = handler(self, node)

    # -- access to a node ------------------------------------------------------

    def _inputs(self, node):
        return [i for i in node.get("input", []) if not i.startswith("^")]

    def _value(self, name):
        """The ONNX name of a computed value or of a weight."""
        name = _bare(name)
        if name not in self.values:
            array = self.weights[name]
            self.values[name] = self.graph.constant(
                array.astype(np.int64) if array.dtype == np.int32 else array, name)
        return self.values[name]

    def _arguments(self, node):
        return [self._value(i) for i in self._inputs(node)]

    def _weight(self, node, index):
        return self.weights[_bare(self._inputs(node)[index])]

    def _attribute(self, node, key, default=None):
        attribute = node.get("attr", {}).get(key)
        return default if attribute is None else _decode(attribute)

    def _padding(self, node):
        padding = self._attribute(node, "padding")
        if padding == "EXPLICIT":
            pads = self._attribute(node, "explicit_paddings")
            return {"pads": [pads[2], pads[4], pads[3], pads[5]]}
        return {"auto_pad": "SAME_UPPER" if padding == "SAME" else "VALID"}

    def _nchw(self, node):
        return self.graph.op("Transpose", [self._value(self._inputs(node)[0])], perm=TO_NCHW)

    def _nhwc(self, x):
        return self.graph.op("Transpose", [x], perm=TO_NHWC)

    # -- operations ------------------------------------------------------------

    def placeholder(self, node):
        dims = self._attribute(node, "shape")["shape"].get("dim", [])
        sizes = [int(d["size"]) for d in dims]
        return self.graph.input("input", ["N" if size < 0 else size for size in sizes])

    def convolution(self, node):
        kernel, groups = self._kernel(node)
        strides = self._attribute(node, "strides")
        dilations = self._attribute(node, "dilations") or [1, 1, 1, 1]
        y = self.graph.op(
            "Conv", [self._nchw(node), self.graph.constant(kernel)], strides=strides[1:3],
            dilations=dilations[1:3], group=groups, **self._padding(node))
        return self._fused(node, self._nhwc(y))

    def _kernel(self, node):
        """The kernel as ONNX has it (OIHW) and the number of groups."""
        kernel = self._weight(node, 1)
        height, width, channels, multiplier = kernel.shape
        if "Depthwise" in node["op"]:
            return kernel.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width), channels
        return kernel.transpose(3, 2, 0, 1), 1

    def _fused(self, node, y):
        """What TensorFlow folded into the operation: a bias, then an activation."""
        arguments = self._inputs(node)[2:]
        for step in self._attribute(node, "fused_ops", []):
            if step == "BiasAdd":
                y = self.graph.op("Add", [y, self._value(arguments.pop(0))])
            elif step == "Relu6":
                y = self.graph.relu6(y)
            elif step in ("Relu", "Elu", "Sigmoid"):
                y = self.graph.op(step, [y])
            else:
                raise NotImplementedError(f"fused operation {step} ({node['name']})")
        return y

    def pool(self, node):
        kind = {"MaxPool": "MaxPool", "AvgPool": "AveragePool"}[node["op"]]
        y = self.graph.op(
            kind, [self._nchw(node)], kernel_shape=self._attribute(node, "ksize")[1:3],
            strides=self._attribute(node, "strides")[1:3], **self._padding(node))
        return self._nhwc(y)

    def resize_bilinear(self, node):
        x = self._nchw(node)
        begin, end = (self.graph.constant(np.array([v], np.int64)) for v in (0, 2))
        batch_and_channels = self.graph.op("Slice", [self.graph.op("Shape", [x]), begin, end])
        size = self.graph.constant(self._weight(node, 1).astype(np.int64))
        sizes = self.graph.op("Concat", [batch_and_channels, size], axis=0)
        return self._nhwc(self.graph.op(
            "Resize", [x, "", "", sizes], mode="linear",
            coordinate_transformation_mode=self._coordinates(node)))

    def _coordinates(self, node):
        if self._attribute(node, "align_corners", False):
            return "align_corners"
        return "half_pixel" if self._attribute(node, "half_pixel_centers", False) else "asymmetric"

    def matmul(self, node):
        return self._fused(node, self.graph.op("MatMul", self._arguments(node)[:2]))

    def mean(self, node):
        axes = [int(a) for a in np.atleast_1d(self._weight(node, 1))]
        keep = 1 if self._attribute(node, "keep_dims") else 0
        return self.graph.op("ReduceMean", [self._value(self._inputs(node)[0])], axes=axes, keepdims=keep)

    def reshape(self, node):
        shape = self.graph.constant(self._weight(node, 1).astype(np.int64))
        return self.graph.op("Reshape", [self._value(self._inputs(node)[0]), shape])

    def concat(self, node):
        *values, _axis = self._inputs(node)
        return self.graph.op("Concat", [self._value(v) for v in values], axis=int(self._weight(node, -1)))

    def relu6(self, node):
        return self.graph.relu6(self._arguments(node)[0])

    def softmax(self, node):
        return self.graph.op("Softmax", self._arguments(node), axis=-1)


def _same_op(kind):
    return lambda converter, node: converter.graph.op(kind, converter._arguments(node))


HANDLERS = {
    "Placeholder": GraphConverter.placeholder,
    "Conv2D": GraphConverter.convolution,
    "_FusedConv2D": GraphConverter.convolution,
    "DepthwiseConv2dNative": GraphConverter.convolution,
    "FusedDepthwiseConv2dNative": GraphConverter.convolution,
    "MaxPool": GraphConverter.pool,
    "AvgPool": GraphConverter.pool,
    "ResizeBilinear": GraphConverter.resize_bilinear,
    "_FusedMatMul": GraphConverter.matmul,
    "MatMul": GraphConverter.matmul,
    "Mean": GraphConverter.mean,
    "Reshape": GraphConverter.reshape,
    "ConcatV2": GraphConverter.concat,
    "Relu6": GraphConverter.relu6,
    "Softmax": GraphConverter.softmax,
    "Add": _same_op("Add"),
    "AddV2": _same_op("Add"),
    "Sub": _same_op("Sub"),
    "Mul": _same_op("Mul"),
    "Minimum": _same_op("Min"),
    "Maximum": _same_op("Max"),
    "Relu": _same_op("Relu"),
    "Sigmoid": _same_op("Sigmoid"),
    "Identity": _same_op("Identity"),
}
