#!/usr/bin/env python3
"""Writes the small ONNX models of the tests into tests/data/models.

Needs Debian's python3-onnx (/usr/bin/python3). The files are committed; run this only after changing it. Everything is deterministic.
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

OUT = pathlib.Path(__file__).parent / "models"
TYPES = {
    "bool": T.BOOL, "u8": T.UINT8, "u16": T.UINT16, "u32": T.UINT32, "u64": T.UINT64, "i8": T.INT8, "i16": T.INT16, "i32": T.INT32,
    "i64": T.INT64, "f16": T.FLOAT16, "bf16": T.BFLOAT16, "f32": T.FLOAT, "f64": T.DOUBLE, "string": T.STRING,
}


def tensor(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(np.array(array), name)


def save(name, nodes, inputs, outputs, initialisers=(), opset=13, ir=8, check=True):
    graph = h.make_graph(nodes, name, inputs, outputs, list(initialisers))
    model = h.make_model(graph, producer_name="weft-tests", producer_version="1.0", opset_imports=[h.make_opsetid("", opset)])
    model.ir_version = ir
    if check:
        onnx.checker.check_model(model)
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())


def identities():
    for name, kind in TYPES.items():
        save(f"identity_{name}", [h.make_node("Identity", ["x"], ["y"])], [tensor("x", kind, ["N", 2])], [tensor("y", kind, ["N", 2])])


def shapes():
    f = T.FLOAT
    save("scalar", [h.make_node("Add", ["x", "x"], ["y"])], [tensor("x", f, [])], [tensor("y", f, [])])
    save("add", [h.make_node("Add", ["x", "b"], ["y"])], [tensor("x", f, ["N", 4]), tensor("b", f, [4])], [tensor("y", f, ["N", 4])])
    # What every backend of the contract list has: rows of four in, rows of four out, through memory of its own.
    save("plain", [h.make_node("MatMul", ["x", "w"], ["h"]), h.make_node("Tanh", ["h"], ["y"])], [tensor("x", f, ["N", 4])],
         [tensor("y", f, ["N", 4])], [constant("w", np.float32(np.arange(16).reshape(4, 4) / 16 - 0.5))])
    save("dynamic", [h.make_node("Relu", ["x"], ["y"])], [tensor("x", f, ["N", 3, "H", "W"])], [tensor("y", f, ["N", 3, "H", "W"])])
    # The output's dims have names of their own, as many exporters write them: only runs tell how large it is.
    save("renamed", [h.make_node("Neg", ["x"], ["y"])], [tensor("x", f, ["N", "C"])], [tensor("y", f, ["out.0", "out.1"])])
    # Says that y has the rows of x, but it has twice as many.
    save("lying", [h.make_node("Concat", ["x", "x"], ["y"], axis=0)], [tensor("x", f, ["N", 2])], [tensor("y", f, ["N", 2])], check=False)
    save("nonzero", [h.make_node("NonZero", ["x"], ["y"])], [tensor("x", f, ["N"])], [tensor("y", T.INT64, [1, "count"])])
    save("rank8", [h.make_node("Neg", ["x"], ["y"])], [tensor("x", f, [1] * 7 + ["N"])], [tensor("y", f, [1] * 7 + ["N"])])
    save("rank9", [h.make_node("Neg", ["x"], ["y"])], [tensor("x", f, [1] * 9)], [tensor("y", f, [1] * 9)])
    save("no_inputs", [h.make_node("Identity", ["c"], ["y"])], [], [tensor("y", f, [2])], [constant("c", np.float32([3, 4]))])
    # x + sum of x over the batch: rows depend on their neighbours.
    save("sum_rows", [h.make_node("ReduceSum", ["x", "axes"], ["s"], keepdims=1), h.make_node("Add", ["x", "s"], ["y"])],
         [tensor("x", f, ["N", 4])], [tensor("y", f, ["N", 4])], [constant("axes", np.int64([0]))])
    save("outputs3", [h.make_node("Neg", ["x"], ["a"]), h.make_node("Abs", ["x"], ["b"]), h.make_node("Shape", ["x"], ["c"])],
         [tensor("x", f, ["N"])], [tensor("a", f, ["N"]), tensor("b", f, ["N"]), tensor("c", T.INT64, [1])])


def gears():
    w = np.float32([[1, 2], [3, 4], [5, 6]])
    for batch in (1, 2, 4):
        save(f"batch{batch}", [h.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", T.FLOAT, [batch, 3])],
             [tensor("y", T.FLOAT, [batch, 2])], [constant("w", w)])
    for side in (8, 16):
        save(f"side{side}", [h.make_node("GlobalAveragePool", ["x"], ["y"])], [tensor("x", T.FLOAT, [1, 3, side, side])],
             [tensor("y", T.FLOAT, [1, 3, 1, 1])])
    save("side8_other", [h.make_node("GlobalAveragePool", ["x"], ["z"])], [tensor("x", T.FLOAT, [1, 3, 8, 8])], [tensor("z", T.FLOAT, [1, 3, 1, 1])])
    save("side8_f64", [h.make_node("GlobalAveragePool", ["x"], ["y"])], [tensor("x", T.DOUBLE, [1, 3, 8, 8])], [tensor("y", T.DOUBLE, [1, 3, 1, 1])])


def kinds():
    f = T.FLOAT
    sequence = h.make_tensor_sequence_value_info("x", f, None)
    save("sequence_in", [h.make_node("SequenceLength", ["x"], ["y"])], [sequence], [tensor("y", T.INT64, [])])
    save("sequence_out", [h.make_node("SplitToSequence", ["x"], ["y"])], [tensor("x", f, ["N"])], [h.make_tensor_sequence_value_info("y", f, None)])
    optional = h.make_value_info("x", h.make_optional_type_proto(h.make_tensor_type_proto(f, ["N"])))
    save("optional_in", [h.make_node("OptionalHasElement", ["x"], ["y"])], [optional], [tensor("y", T.BOOL, [])], opset=15)
    # Old files list their weights as inputs; who calls the model need not know.
    save("listed_weights", [h.make_node("Add", ["x", "w"], ["y"])], [tensor("x", f, ["N", 2]), tensor("w", f, [2])], [tensor("y", f, ["N", 2])],
         [constant("w", np.float32([10, 20]))], ir=3, opset=8)
    # Not known before the run: not even the number of dimensions.
    unknown = onnx.ValueInfoProto()
    unknown.name = "y"
    unknown.type.tensor_type.elem_type = f
    save("unknown_rank", [h.make_node("Reshape", ["x", "shape"], ["y"])], [tensor("x", f, ["N"]), tensor("shape", T.INT64, ["R"])], [unknown], check=False)


def work():
    f = T.FLOAT
    # y[i] = table[index[i]]: an index out of range is an error of the kernel.
    save("gather", [h.make_node("Gather", ["table", "index"], ["y"])], [tensor("index", T.INT64, ["N"])], [tensor("y", f, ["N"])],
         [constant("table", np.float32([10, 20, 30]))])
    # `count` matrix products in a row: as long as one likes.
    body = h.make_graph(
        [h.make_node("Identity", ["going"], ["still"]), h.make_node("MatMul", ["m", "r"], ["p"]), h.make_node("Clip", ["p", "low", "high"], ["q"])],
        "body", [tensor("i", T.INT64, []), tensor("going", T.BOOL, []), tensor("m", f, [64, 64])], [tensor("still", T.BOOL, []), tensor("q", f, [64, 64])])
    save("loop", [h.make_node("Loop", ["count", "", "start"], ["end"], body=body), h.make_node("ReduceSum", ["end"], ["y"], keepdims=0)],
         [tensor("count", T.INT64, [])], [tensor("y", f, [])],
         [constant("start", np.eye(64, dtype=np.float32)), constant("r", np.eye(64, dtype=np.float32)), constant("low", np.float32(-1)),
          constant("high", np.float32(1))])
    # Sum of the outer product of x with itself: N * N * 4 bytes of work memory, twice.
    save("outer", [h.make_node("Unsqueeze", ["x", "zero"], ["row"]), h.make_node("Unsqueeze", ["x", "one"], ["column"]),
                   h.make_node("Mul", ["row", "column"], ["m"]), h.make_node("Sqrt", ["m"], ["s"]),
                   h.make_node("ReduceSum", ["s"], ["y"], keepdims=0)],
         [tensor("x", f, ["N"])], [tensor("y", f, [])], [constant("zero", np.int64([0])), constant("one", np.int64([1]))])
    save("strings", [h.make_node("Concat", ["x", "x"], ["y"], axis=0)], [tensor("x", T.STRING, ["N"])], [tensor("y", T.STRING, ["M"])])
    # n ones: the size of the work memory is an input's value.
    save("ones", [h.make_node("ConstantOfShape", ["n"], ["ones"], value=numpy_helper.from_array(np.float32([1]))),
                 h.make_node("ReduceSum", ["ones"], ["y"], keepdims=0)], [tensor("n", T.INT64, [1])], [tensor("y", f, [])])


if __name__ == "__main__":
    identities()
    shapes()
    gears()
    kinds()
    work()
    print(f"{len(list(OUT.glob('*.onnx')))} models, {sum(p.stat().st_size for p in OUT.glob('*.onnx'))} bytes in {OUT}")
