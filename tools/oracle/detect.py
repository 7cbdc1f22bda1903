#!/usr/bin/env python3
"""Oracle for object detection: CenterNet, 80 COCO classes."""
import cv2
import numpy as np

from session import Session, main, read_lines

SIZE = 512
STRIDE = 4
THRESHOLD = 0.3
OVERLAP = 0.5


def peaks(heat):
    """(y, x, class) of the points that are the largest of their 3x3 neighbours."""
    channels = range(heat.shape[2])
    largest = np.stack([cv2.dilate(heat[:, :, c], np.ones((3, 3))) for c in channels], 2)
    return np.argwhere((heat == largest) & (heat > THRESHOLD))


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(0, width) * max(0, height)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common + 1e-9)


def suppress(objects):
    """Of overlapping boxes of one class the best stays."""
    kept = []
    for candidate in sorted(objects, key=lambda o: -o["score"]):
        if all(o["label"] != candidate["label"] or overlap(o["box"], candidate["box"]) < OVERLAP for o in kept):
            kept.append(candidate)
    return kept


class Detector:
    def __init__(self):
        self.session = Session("detect/centernet.onnx")
        self.labels = read_lines("detect/coco80.txt")

    def __call__(self, bgr):
        height, width = bgr.shape[:2]
        rgb = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)
        heat, edges = self.session.run(cv2.resize(rgb, (SIZE, SIZE)).astype(np.float32)[None])
        scale = np.array([width, height] * 2) / SIZE
        objects = []
        for y, x, c in peaks(heat[0]):
            left, top, right, bottom = edges[0, y, x]
            box = np.array([STRIDE * x - left, STRIDE * y - top, STRIDE * x + right, STRIDE * y + bottom]) * scale
            objects.append({
                "label": self.labels[c], "score": round(float(heat[0, y, x, c]), 4), "box": box.round(2).tolist()})
        return {"objects": suppress(objects)}


if __name__ == "__main__":
    main(Detector())
