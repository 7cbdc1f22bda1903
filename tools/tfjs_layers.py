"""Converts a TensorFlow.js *layers* model (Keras) to an ONNX graph in NCHW."""
import numpy as np

from onnx_graph import Graph

ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "softmax": "Softmax", "tanh": "Tanh"}


class LayersConverter:
    def __init__(self, model, weights):
        config = model["modelTopology"]["model_config"]["config"]
        self.layers = config["layers"] if isinstance(config, dict) else config
        self.weights = weights
        self.graph = Graph("tfjs_layers")
        self.values = {}

    def convert(self):
        """Returns the graph with `input` and `output`."""
        previous = None
        for layer in self.layers:
            name = layer["config"].get("name", layer.get("name"))
            previous = self._layer(layer, name, self._inputs(layer, previous))
            self.values[name] = previous
        self.graph.output(previous, "output", None)
        return self.graph

    def _inputs(self, layer, previous):
        if layer.get("inbound_nodes"):
            return [self.values[inbound[0]] for inbound in layer["inbound_nodes"][0]]
        return [previous] if previous else []

    def _layer(self, layer, name, inputs):
        kind = layer["class_name"]
        handler = getattr(self, "_on_" + kind.lower(), None)
        if handler is None:
            raise NotImplementedError(f"layer type {kind} ({name}) is not known to this converter")
        return handler(name, layer["config"], inputs)

    def _activate(self, x, activation):
        if activation in (None, "linear"):
            return x
        attributes = {"axis": -1} if activation == "softmax" else {}
        return self.graph.op(ACTIVATIONS[activation], [x], **attributes)

    def _on_inputlayer(self, _name, config, _inputs):
        height, width = config["batch_input_shape"][1:3]
        return self.graph.input("input", ["N", 3, height or "H", width or "W"])

    def _on_zeropadding2d(self, _name, config, inputs):
        (top, bottom), (left, right) = config["padding"]
        pads = np.array([0, 0, top, left, 0, 0, bottom, right], np.int64)
        return self.graph.op("Pad", [inputs[0], self.graph.constant(pads)])

    def _on_conv2d(self, name, config, inputs):
        kernel = self.weights[name + "/kernel"].transpose(3, 2, 0, 1)  # HWIO -> OIHW
        return self._convolution(name, config, inputs, kernel, 1)

    def _on_depthwiseconv2d(self, name, config, inputs):
        kernel = self.weights[name + "/depthwise_kernel"]
        if kernel.shape[3] != 1:
            raise NotImplementedError("depth multiplier above 1")
        return self._convolution(name, config, inputs, kernel.transpose(2, 3, 0, 1), kernel.shape[2])

    def _convolution(self, name, config, inputs, kernel, groups):
        arguments = [inputs[0], self.graph.constant(kernel)]
        if config["use_bias"]:
            arguments.append(self.graph.constant(self.weights[name + "/bias"]))
        y = self.graph.op(
            "Conv", arguments, strides=config["strides"], group=groups,
            dilations=config.get("dilation_rate", [1, 1]), auto_pad=_auto_pad(config["padding"]))
        return self._activate(y, config.get("activation"))

    def _on_batchnormalization(self, name, config, inputs):
        beta = self.weights[name + "/beta"]
        gamma = self.weights.get(name + "/gamma", np.ones_like(beta))
        parts = [gamma, beta, self.weights[name + "/moving_mean"], self.weights[name + "/moving_variance"]]
        names = [self.graph.constant(part) for part in parts]
        return self.graph.op("BatchNormalization", [inputs[0]] + names, epsilon=config["epsilon"])

    def _on_relu(self, _name, config, inputs):
        if not config.get("max_value"):
            return self.graph.op("Relu", [inputs[0]])
        limits = [self.graph.constant(np.float32(v)) for v in (0, config["max_value"])]
        return self.graph.op("Clip", [inputs[0]] + limits)

    def _on_activation(self, _name, config, inputs):
        return self._activate(inputs[0], config["activation"])

    def _on_add(self, _name, _config, inputs):
        total = inputs[0]
        for other in inputs[1:]:
            total = self.graph.op("Add", [total, other])
        return total

    def _on_globalaveragepooling2d(self, _name, _config, inputs):
        return self.graph.op("Flatten", [self.graph.op("GlobalAveragePool", [inputs[0]])])

    def _on_averagepooling2d(self, _name, config, inputs):
        return self.graph.op(
            "AveragePool", [inputs[0]], kernel_shape=config["pool_size"],
            strides=config["strides"], auto_pad=_auto_pad(config["padding"]))

    def _on_flatten(self, _name, _config, inputs):
        """Keras flattens in NHWC order, and the weights behind it expect that."""
        return self.graph.op("Flatten", [self.graph.op("Transpose", [inputs[0]], perm=[0, 2, 3, 1])])

    def _on_dense(self, name, config, inputs):
        kernel = self.graph.constant(self.weights[name + "/kernel"])
        bias = self.graph.constant(self.weights[name + "/bias"])
        y = self.graph.op("Add", [self.graph.op("MatMul", [inputs[0], kernel]), bias])
        return self._activate(y, config["activation"])

    def _on_dropout(self, _name, _config, inputs):
        return inputs[0]


def _auto_pad(padding):
    return "SAME_UPPER" if padding == "same" else "VALID"
