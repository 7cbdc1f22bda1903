#!/usr/bin/env python3
"""Oracle for face detection: BlazeFace "back" (256) with weighted suppression."""
import cv2
import numpy as np

from session import Session, main

SIZE = 256
THRESHOLD = 0.6
OVERLAP = 0.3
POINTS = 6


def anchors():
    """Centres in 0..1: a 16x16 grid with 2 each, then 8x8 with 6 each, row by row."""
    centres = []
    for grid, repeats in ((16, 2), (8, 6)):
        for y in range(grid):
            for x in range(grid):
                centres += [((x + 0.5) / grid, (y + 0.5) / grid)] * repeats
    return np.array(centres, np.float32)


def letterbox(rgb):
    """The picture in the middle of a black square; returns it with the scale and the offsets."""
    height, width = rgb.shape[:2]
    scale = SIZE / max(height, width)
    size = (round(width * scale), round(height * scale))
    resized = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    left, top = (SIZE - size[0]) // 2, (SIZE - size[1]) // 2
    canvas = np.zeros((SIZE, SIZE, 3), rgb.dtype)
    canvas[top:top + size[1], left:left + size[0]] = resized
    return canvas, scale, left, top


def decode(raw_scores, raw_boxes, centres):
    """Rows of x0, y0, x1, y1, six points, score, in 0..1 of the square, best first."""
    scores = 1 / (1 + np.exp(-np.clip(raw_scores, -80, 80)))
    keep = scores > THRESHOLD
    boxes, centres, scores = raw_boxes[keep] / SIZE, centres[keep], scores[keep]
    middle, half = centres + boxes[:, 0:2], boxes[:, 2:4] / 2
    points = boxes[:, 4:] + np.tile(centres, POINTS)
    rows = np.concatenate([middle - half, middle + half, points, scores[:, None]], 1)
    return rows[np.argsort(-rows[:, -1], kind="stable")]


def overlap(box, boxes):
    width = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    height = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    common = np.maximum(0, width) * np.maximum(0, height)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return common / (areas + (box[2] - box[0]) * (box[3] - box[1]) - common + 1e-9)


def suppress(rows):
    """Each group of overlapping rows becomes their mean, weighted by score; the best score stays."""
    faces = []
    while len(rows):
        same = overlap(rows[0], rows) > OVERLAP
        group = rows[same]
        mean = (group[:, :-1] * group[:, -1:]).sum(0) / group[:, -1].sum()
        faces.append(np.append(mean, rows[0, -1]))
        rows = rows[~same]
    return faces


class FaceDetector:
    def __init__(self):
        self.session = Session("face/face_detection_back_256x256_barracuda.onnx")
        self.centres = anchors()

    def __call__(self, bgr):
        canvas, scale, left, top = letterbox(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB))
        score1, score2, box1, box2 = self.session.run(canvas.astype(np.float32)[None] / 127.5 - 1)
        scores = np.concatenate([score1, score2], 1)[0, :, 0]
        boxes = np.concatenate([box1, box2], 1)[0]
        faces = []
        for row in suppress(decode(scores, boxes, self.centres)):
            pixels = ((row[:-1].reshape(-1, 2) * SIZE - (left, top)) / scale).round(2).tolist()
            faces.append({"box": pixels[0] + pixels[1], "score": round(float(row[-1]), 4), "points": pixels[2:]})
        return {"faces": faces}


if __name__ == "__main__":
    main(FaceDetector())
