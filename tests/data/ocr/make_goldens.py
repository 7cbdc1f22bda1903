#!/usr/bin/env python3
"""Golden boxes for tests/unit/executor/test_ocr_boxes.c, made with OpenCV 4.6 (Debian: python3-opencv) and not with weft.

Writes boxes.gold beside itself: for each map its bytes (value / 255 = probability), every contour of cv2.findContours (RETR_LIST, CHAIN_APPROX_SIMPLE) with its
bounds and the area of cv2.minAreaRect, and the text boxes by the published PP-OCR procedure. Maps are chosen so that nothing hangs on a tie: no two edges give
rectangles of the same area, no score lies within 0.05 of the threshold, no corner within 0.05 of a half pixel.
Layout, little endian: "OCRG", int32 maps; each map: int32 width, height, picture width, picture height, contours, boxes; width * height bytes;
contours: int32 x0, y0, x1, y1, double area; boxes: int32 x8, float score.
"""
import os
import struct

import cv2
import numpy as np


def noise(rng, w, h, sigma):
    p = cv2.GaussianBlur(rng.random((h, w)).astype(np.float32), (0, 0), sigma)
    p = (p - p.min()) / (p.max() - p.min())
    return np.clip((p - 0.45) * 6 + 0.5, 0, 1)


def bars(rng, w, h):
    p = np.zeros((h, w), np.float32)
    for _ in range(int(rng.integers(2, 7))):
        rect = ((float(rng.uniform(5, w - 5)), float(rng.uniform(5, h - 5))), (float(rng.uniform(12, w * 0.6)), float(rng.uniform(7, 16))), float(rng.uniform(-50, 50)))
        cv2.fillPoly(p, [cv2.boxPoints(rect).astype(np.int32)], float(rng.uniform(0.75, 1)))
    return cv2.GaussianBlur(p, (0, 0), 0.8)


def rings(rng, w, h):
    p = np.zeros((h, w), np.float32)
    for i in range(3):
        cv2.ellipse(p, (int(w * (0.25 + 0.25 * i)), int(h / 2)), (int(rng.integers(8, 16)), int(rng.integers(6, 14))), float(rng.uniform(5, 40)), 0, 360, 0.9, int(rng.integers(2, 5)))
    return p


def shapes_of_least_area(contour):
    hull = cv2.convexHull(contour).reshape(-1, 2).astype(float)
    found = []
    for i in range(len(hull)):
        d = hull[(i + 1) % len(hull)] - hull[i]
        u, v, e = hull @ d, hull @ np.array([-d[1], d[0]]), d @ d
        sides = sorted([(u.max() - u.min()) / e**0.5, (v.max() - v.min()) / e**0.5])
        found.append((sides[0] * sides[1], round(sides[0], 3), round(sides[1], 3)))
    least = min(f[0] for f in found)
    return {f[1:] for f in found if f[0] <= least * (1 + 1e-6) + 1e-9}


def ordered(points):
    p = sorted(points.tolist(), key=lambda q: q[0])
    left, right = sorted(p[:2], key=lambda q: q[1]), sorted(p[2:], key=lambda q: q[1])
    return np.array([left[0], right[0], right[1], left[1]], np.float32)


def boxes_of(p, width, height, contours):
    """None when something hangs on a tie."""
    h, w = p.shape
    out = []
    for c in contours:
        (cx, cy), (rw, rh), angle = cv2.minAreaRect(c)
        if min(rw, rh) < 3:
            continue
        if len(shapes_of_least_area(c)) > 1:
            return None
        b = ordered(cv2.boxPoints(((cx, cy), (rw, rh), angle)))
        mask = np.zeros((h, w), np.uint8)
        cv2.fillPoly(mask, [b.astype(np.int32)], 1)
        score = cv2.mean(p, mask)[0]
        if abs(score - 0.6) < 0.05:
            return None
        if score < 0.6:
            continue
        d = rw * rh * 1.5 / (2 * (rw + rh))
        if min(rw + 2 * d, rh + 2 * d) < 5:
            continue
        b = ordered(cv2.boxPoints(((cx, cy), (rw + 2 * d, rh + 2 * d), angle)))
        b = b * [width / w, height / h]
        if np.abs(np.abs(b - np.floor(b)) - 0.5).min() < 0.05:
            return None
        b[:, 0] = np.clip(np.round(b[:, 0]), 0, width)
        b[:, 1] = np.clip(np.round(b[:, 1]), 0, height)
        if int(np.linalg.norm(b[0] - b[1])) <= 3 or int(np.linalg.norm(b[0] - b[3])) <= 3:
            continue
        out.append((b.astype(int), score))
    out.sort(key=lambda t: (t[0][0][1], t[0][0][0]))
    for i in range(len(out) - 1):
        for j in range(i, -1, -1):
            if abs(out[j + 1][0][0][1] - out[j][0][0][1]) < 10 and out[j + 1][0][0][0] < out[j][0][0][0]:
                out[j], out[j + 1] = out[j + 1], out[j]
            else:
                break
    return out


def main():
    maps, seed = [], 0
    wanted = [("bars", 4), ("noise", 2), ("rings", 1), ("dust", 1)]
    for kind, count in wanted:
        while count:
            seed += 1
            rng = np.random.default_rng(seed)
            w, h = int(rng.integers(60, 120)), int(rng.integers(40, 80))
            p = {"bars": lambda: bars(rng, w, h), "noise": lambda: noise(rng, w, h, 2.5), "rings": lambda: rings(rng, w, h),
                 "dust": lambda: rng.random((h, w)) * 0.5}[kind]()
            q = np.round(p * 255).astype(np.uint8)
            f = q.astype(np.float32) / np.float32(255)
            contours, _ = cv2.findContours((f > 0.3).astype(np.uint8) * 255, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
            width, height = w * 2 + 3, h * 3
            boxes = boxes_of(f, width, height, contours)
            if boxes is None or (kind == "bars" and len(boxes) < 2):
                continue
            maps.append((q, width, height, contours[::-1], boxes))
            count -= 1
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "boxes.gold"), "wb") as f:
        f.write(b"OCRG" + struct.pack("<i", len(maps)))
        for q, width, height, contours, boxes in maps:
            f.write(struct.pack("<6i", q.shape[1], q.shape[0], width, height, len(contours), len(boxes)) + q.tobytes())
            for c in contours:
                pts = c.reshape(-1, 2)
                side = cv2.minAreaRect(c)[1]
                f.write(struct.pack("<4id", *pts.min(0).tolist(), *pts.max(0).tolist(), float(side[0]) * float(side[1])))
            for b, score in boxes:
                f.write(struct.pack("<8if", *b.reshape(-1).tolist(), score))
            print(q.shape, len(contours), "contours", len(boxes), "boxes")


if __name__ == "__main__":
    main()
