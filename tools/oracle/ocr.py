#!/usr/bin/env python3
"""Oracle for text: PP-OCRv4, detection and recognition (no direction classifier)."""
import math

import cv2
import numpy as np

from session import Session, main, read_lines

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
LONGEST_SIDE = 960
MASK_THRESHOLD = 0.3
BOX_THRESHOLD = 0.6
UNCLIP = 1.5
LARGEST_COUNT = 1000
LINE_HEIGHT = 48
LEAST_WIDTH = 320
BATCH = 6
SAME_LINE = 10  # pixels between the tops of two boxes


# -- detection ----------------------------------------------------------------

def detection_input(bgr):
    height, width = bgr.shape[:2]
    ratio = min(1.0, LONGEST_SIDE / max(height, width))
    size = [max(int(round(side * ratio / 32) * 32), 32) for side in (width, height)]
    x = cv2.resize(bgr, size).astype(np.float32) / 255
    return ((x - MEAN) / DEVIATION).transpose(2, 0, 1)[None].astype(np.float32)


def ordered(corners):
    """Top left, top right, bottom right, bottom left."""
    by_x = sorted(corners.tolist(), key=lambda p: p[0])
    left, right = (sorted(pair, key=lambda p: p[1]) for pair in (by_x[:2], by_x[2:]))
    return np.array([left[0], right[0], right[1], left[1]], np.float32)


def box_score(probability, box):
    """The mean probability inside the box."""
    height, width = probability.shape
    x0, x1 = (int(np.clip(v, 0, width - 1)) for v in (np.floor(box[:, 0].min()), np.ceil(box[:, 0].max())))
    y0, y1 = (int(np.clip(v, 0, height - 1)) for v in (np.floor(box[:, 1].min()), np.ceil(box[:, 1].max())))
    mask = np.zeros((y1 - y0 + 1, x1 - x0 + 1), np.uint8)
    cv2.fillPoly(mask, [(box - [x0, y0]).astype(np.int32)], 1)
    return cv2.mean(probability[y0:y1 + 1, x0:x1 + 1], mask)[0]


def box_of(contour, probability):
    """The grown box of one contour and its score, or None where there is no text."""
    centre, (w, h), angle = cv2.minAreaRect(contour)
    if min(w, h) < 3:
        return None
    score = box_score(probability, ordered(cv2.boxPoints((centre, (w, h), angle))))
    # The map shows text shrunk. A rectangle grown by d with round corners has a smallest rectangle 2 d larger.
    grow = 2 * w * h * UNCLIP / (2 * (w + h))
    if score < BOX_THRESHOLD or min(w, h) + grow < 5:
        return None
    return ordered(cv2.boxPoints((centre, (w + grow, h + grow), angle))), score


def reading_order(found):
    found.sort(key=lambda item: (item[0][0][1], item[0][0][0]))
    for i in range(len(found) - 1):
        for j in range(i, -1, -1):
            (ax, ay), (bx, by) = found[j][0][0], found[j + 1][0][0]
            if abs(by - ay) >= SAME_LINE or bx >= ax:
                break
            found[j], found[j + 1] = found[j + 1], found[j]
    return found


def text_boxes(probability, width, height):
    mask = (probability > MASK_THRESHOLD).astype(np.uint8) * 255
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    map_height, map_width = probability.shape
    found = []
    for contour in contours[:LARGEST_COUNT]:
        item = box_of(contour, probability)
        if item is None:
            continue
        box, score = item
        box[:, 0] = np.clip(np.round(box[:, 0] / map_width * width), 0, width)
        box[:, 1] = np.clip(np.round(box[:, 1] / map_height * height), 0, height)
        if min(int(np.linalg.norm(box[0] - box[1])), int(np.linalg.norm(box[0] - box[3]))) > 3:
            found.append((box, score))
    return reading_order(found)


# -- recognition --------------------------------------------------------------

def crop(bgr, box):
    width = int(max(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[2] - box[3])))
    height = int(max(np.linalg.norm(box[0] - box[3]), np.linalg.norm(box[1] - box[2])))
    target = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    warped = cv2.warpPerspective(
        bgr, cv2.getPerspectiveTransform(box, target), (width, height),
        borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)
    return np.ascontiguousarray(np.rot90(warped) if height / max(width, 1) >= 1.5 else warped)


def recognition_input(crops):
    ratio = max([LEAST_WIDTH / LINE_HEIGHT] + [c.shape[1] / c.shape[0] for c in crops])
    full = int(LINE_HEIGHT * ratio)
    batch = np.zeros((len(crops), 3, LINE_HEIGHT, full), np.float32)
    for row, picture in zip(batch, crops):
        width = min(full, math.ceil(LINE_HEIGHT * picture.shape[1] / picture.shape[0]))
        x = cv2.resize(picture, (width, LINE_HEIGHT)).astype(np.float32) / 255
        row[:, :, :width] = ((x - 0.5) / 0.5).transpose(2, 0, 1)
    return batch


class Reader:
    def __init__(self):
        self.detection = Session("ocr/ch_PP-OCRv4_det_infer.onnx")
        self.recognition = Session("ocr/ch_PP-OCRv4_rec_infer.onnx")
        self.characters = [""] + read_lines("ocr/ppocr_keys_v1.txt") + [" "]  # 0 is the blank

    def decode(self, steps):
        """Greedy: the best class of each step, repeats and blanks dropped."""
        best, text, scores, previous = steps.argmax(1), "", [], -1
        for index, score in zip(best, steps.max(1)):
            if index not in (0, previous):
                text += self.characters[index]
                scores.append(score)
            previous = index
        return text, float(np.mean(scores)) if scores else 0.0

    def recognise(self, crops):
        order = sorted(range(len(crops)), key=lambda i: crops[i].shape[1] / crops[i].shape[0])
        texts = [None] * len(crops)
        for start in range(0, len(order), BATCH):
            group = order[start:start + BATCH]
            outputs = self.recognition.run(recognition_input([crops[i] for i in group]))[0]
            for i, steps in zip(group, outputs):
                texts[i] = self.decode(steps)
        return texts

    def __call__(self, bgr):
        height, width = bgr.shape[:2]
        probability = self.detection.run(detection_input(bgr))[0][0, 0]
        boxes = text_boxes(probability, width, height)
        texts = self.recognise([crop(bgr, box) for box, _ in boxes])
        return {"lines": [
            {"text": text, "score": round(score, 4), "box": box.astype(int).tolist(), "box_score": round(float(found), 4)}
            for (box, found), (text, score) in zip(boxes, texts)]}


if __name__ == "__main__":
    main(Reader())
