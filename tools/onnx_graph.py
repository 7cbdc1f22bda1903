"""A small builder for ONNX graphs, shared by the converters in this folder.

The same calls always give the same bytes: names are numbered, nothing is taken
from the clock or the machine. script/fetch relies on that, it compares the
sha256 of what was converted.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13
IR_VERSION = 7


class Graph:
    """Collects nodes and constants; `save` writes what the outputs need."""

    def __init__(self, name):
        self.name = name
        self.nodes = []
        self.constants = []
        self.inputs = []
        self.outputs = []
        self._count = 0
        self._constant_names = set()

    def input(self, name, shape):
        """Declares a float32 input; a string in `shape` names a dynamic axis."""
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def constant(self, array, name=None):
        """Adds a constant once and returns its name."""
        self._count += 1
        name = name or f"c{self._count}"
        if name not in self._constant_names:
            self._constant_names.add(name)
            # np.asarray keeps a scalar a scalar; ascontiguousarray would make it [1].
            array = np.asarray(array)
            if not array.flags.c_contiguous:
                array = array.copy(order="C")
            self.constants.append(numpy_helper.from_array(array, name))
        return name

    def op(self, kind, inputs, output=None, **attributes):
        """Adds one node and returns the name of its only output."""
        self._count += 1
        output = output or f"t{self._count}_{kind}"
        self.nodes.append(
            helper.make_node(kind, inputs, [output], name=f"{kind}_{self._count}", **attributes))
        return output

    def relu6(self, x):
        return self.op("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])

    def output(self, value, name, shape):
        """Gives `value` a public name. `shape` may be None: then it is inferred in `save`."""
        self.op("Identity", [value], name)
        self.outputs.append((name, shape))
        return name

    def save(self, path, producer):
        self._drop_unused()
        model = self._model(producer, self.outputs)
        shapes = _inferred_shapes(model)
        outputs = [(name, shape or shapes[name]) for name, shape in self.outputs]
        model = self._model(producer, outputs)
        onnx.checker.check_model(model)
        with open(path, "wb") as file:
            file.write(model.SerializeToString(deterministic=True))

    def _model(self, producer, outputs):
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, values, self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name=producer)
        model.ir_version = IR_VERSION
        return model

    def _drop_unused(self):
        needed = {name for name, _ in self.outputs}
        kept = []
        for node in reversed(self.nodes):
            if node.output[0] in needed:
                kept.append(node)
                needed.update(node.input)
        self.nodes = kept[::-1]
        self.constants = [c for c in self.constants if c.name in needed]


def _inferred_shapes(model):
    """Output name -> shape, with a string for each dynamic axis."""
    shapes = {}
    for value in onnx.shape_inference.infer_shapes(model).graph.output:
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            shapes[value.name] = [d.dim_param or d.dim_value or None for d in tensor.shape.dim]
        else:
            shapes[value.name] = None
    return shapes
