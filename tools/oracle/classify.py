#!/usr/bin/env python3
"""Oracle for classification: EfficientNet-Lite0, 1000 ImageNet classes."""
import cv2
import numpy as np

from session import Session, main, read_lines

SIZE = 224
CROP = 0.875  # of the shorter side, as in the network's own evaluation
TOP = 5


def preprocess(bgr):
    """The middle of the picture, RGB, (v - 127) / 128, NCHW."""
    height, width = bgr.shape[:2]
    side = round(min(height, width) * CROP)
    top, left = (height - side) // 2, (width - side) // 2
    square = cv2.resize(bgr[top:top + side, left:left + side], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    return ((square[:, :, ::-1].astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]


class Classifier:
    def __init__(self):
        self.session = Session("classify/efficientnet_lite0.onnx")
        self.labels = read_lines("classify/labels.txt")

    def __call__(self, bgr):
        probabilities = self.session.run(preprocess(bgr))[0][0]
        best = np.argsort(-probabilities)[:TOP]
        return {"classes": [
            {"index": int(i), "label": self.labels[i], "score": round(float(probabilities[i]), 4)} for i in best]}


if __name__ == "__main__":
    main(Classifier())
