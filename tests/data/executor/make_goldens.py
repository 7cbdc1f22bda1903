#!/usr/bin/env python3
"""Writes the golden numbers of the executor tests: what an independent program (numpy, OpenCV, ONNX Runtime's Python module) makes of
the same models and pictures, and the face boxes that people drew (dlib's example data).

    make_goldens.py CACHE OUT_FOLDER          CACHE is where script/fetch --test put models/ and pictures/

Only numbers are kept; the pictures stay where script/fetch put them. Columns are separated by tabs.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree

import cv2
import numpy as np
import onnxruntime

FACES = ["dlib/faces/2007_007763.jpg", "dlib/faces/2008_002079.jpg", "dlib/faces/2008_001009.jpg", "dlib/faces/2008_001322.jpg",
         "dlib/faces/2008_002470.jpg", "dlib/faces/2008_002506.jpg", "dlib/faces/2008_004176.jpg", "dlib/faces/2008_007676.jpg",
         "dlib/faces/2009_004587.jpg", "skimage/astronaut.png", "matplotlib/grace_hopper.jpg"]
NO_FACES = ["skimage/chelsea.png", "skimage/coffee.png", "skimage/rocket.jpg", "skimage/motorcycle_left.png", "skimage/page.png",
            "skimage/text.png", "skimage/coins.png", "skimage/brick.png", "skimage/grass.png", "dlib/faces/dogs.jpg"]
OBJECTS = ["skimage/astronaut.png", "skimage/chelsea.png", "skimage/coffee.png", "skimage/motorcycle_left.png", "dlib/faces/dogs.jpg",
           "matplotlib/grace_hopper.jpg", "labelme/classification/data_annotated/0001.jpg",
           "labelme/bbox_detection/data_annotated/2011_000003.jpg",
           "labelme/bbox_detection/data_annotated/2011_000006.jpg", "labelme/bbox_detection/data_annotated/2011_000025.jpg"]
CLASSES = ["skimage/chelsea.png", "skimage/coffee.png", "skimage/rocket.jpg", "skimage/motorcycle_left.png", "dlib/faces/dogs.jpg",
           "labelme/classification/data_annotated/0001.jpg", "labelme/classification/data_annotated/0002.jpg"]


class Model:
    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.name = self.session.get_inputs()[0].name

    def run(self, x):
        return self.session.run(None, {self.name: np.ascontiguousarray(x, np.float32)})


def picture(cache, name):
    bgr = cv2.imread(os.path.join(cache, "pictures", name), cv2.IMREAD_COLOR)
    if bgr is None:
        sys.exit(f"{name} is not in {cache}/pictures; run script/fetch --test")
    return cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)


def resize(image, width, height):
    """Area when nothing grows, else bilinear."""
    old_height, old_width = image.shape[:2]
    if (old_width, old_height) == (width, height):
        return image
    shrinks = width <= old_width and height <= old_height
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x.astype(np.float64), -100, 100)))


def iou(one, many):
    w = np.minimum(one[2], many[:, 2]) - np.maximum(one[0], many[:, 0])
    h = np.minimum(one[3], many[:, 3]) - np.maximum(one[1], many[:, 1])
    shared = np.maximum(w, 0) * np.maximum(h, 0)
    area = (many[:, 2] - many[:, 0]) * (many[:, 3] - many[:, 1])
    return shared / ((one[2] - one[0]) * (one[3] - one[1]) + area - shared + 1e-9)


def faces(model, image, size, threshold=0.6, overlap=0.3):
    """BlazeFace; rows of x1 y1 x2 y2, six points, score."""
    height, width = image.shape[:2]
    scale = size / max(height, width)
    new_width, new_height = round(width * scale), round(height * scale)
    square = np.zeros((size, size, 3), np.uint8)
    left, top = (size - new_width) // 2, (size - new_height) // 2
    square[top:top + new_height, left:left + new_width] = resize(image, new_width, new_height)
    out = model.run(square[None].astype(np.float32) / 127.5 - 1)
    score = sigmoid(np.concatenate([out[0], out[1]], 1)[0, :, 0])
    raw = np.concatenate([out[2], out[3]], 1)[0]
    anchors = np.array([((x + .5) / g, (y + .5) / g) for g, n in ((16, 2), (8, 6)) for y in range(g) for x in range(g) for _ in range(n)]) * size
    centre = anchors + raw[:, :2]
    rows = np.concatenate([centre - raw[:, 2:4] / 2, centre + raw[:, 2:4] / 2, raw[:, 4:] + np.tile(anchors, 6), score[:, None]], 1)
    rows = rows[score >= threshold]
    rows = rows[np.argsort(-rows[:, 16], kind="stable")]
    found = []
    while len(rows):
        same = iou(rows[0], rows) > overlap
        same[0] = True
        weight = rows[same, 16:]
        found.append(np.append((rows[same, :16] * weight).sum(0) / weight.sum(), rows[0, 16]))
        rows = rows[~same]
    for row in found:
        row[0:16:2] = (row[0:16:2] - left) * width / new_width
        row[1:16:2] = (row[1:16:2] - top) * height / new_height
        row[0:4:2] = row[0:4:2].clip(0, width)
        row[1:4:2] = row[1:4:2].clip(0, height)
    return found


def objects(model, image, threshold=0.3, overlap=0.5):
    """CenterNet; rows of class, score, x1 y1 x2 y2."""
    height, width = image.shape[:2]
    heat, distance = model.run(resize(image, 512, 512)[None])
    heat, distance = heat[0], distance[0]
    peak = np.stack([cv2.dilate(heat[:, :, c], np.ones((3, 3), np.uint8)) for c in range(heat.shape[2])], 2)
    rows = []
    for y, x, c in np.argwhere((heat >= threshold) & (heat == peak)):
        left, top, right, bottom = distance[y, x]
        rows.append([c, heat[y, x, c], 4 * x - left, 4 * y - top, 4 * x + right, 4 * y + bottom])
    rows = sorted(rows, key=lambda r: -r[1])
    kept = []
    for row in rows:
        rivals = np.array([k[2:] for k in kept if k[0] == row[0]]).reshape(-1, 4)
        if not (len(rivals) and (iou(row[2:], rivals) > overlap).any()):
            kept.append(row)
    for row in kept:
        row[2:] = np.clip(row[2:], 0, 512) * np.array([width, height, width, height]) / 512
    return kept


def classes(model, image, size, crop, prepare):
    """The whole score vector."""
    height, width = image.shape[:2]
    if crop:
        short = round(size / crop)  # as torchvision's Resize and CenterCrop
        scaled = (short, int(short * height / width)) if width <= height else (int(short * width / height), short)
        image = resize(image, *scaled)
        top, left = round((scaled[1] - size) / 2), round((scaled[0] - size) / 2)
        image = image[top:top + size, left:left + size]
    else:
        image = resize(image, size, size)
    return model.run(prepare(image.astype(np.float32)).transpose(2, 0, 1)[None])[0][0]


def embedding(model, image):
    """Index and value of the eight largest elements of the unit vector; the model takes 0..255."""
    vector = model.session.run(["out_global_pooling_Mean"], {model.name: resize(image, 224, 224)[None].astype(np.float32)})[0][0]
    vector = vector / np.linalg.norm(vector)
    return [v for i in np.argsort(-vector, kind="stable")[:8] for v in (float(i), float(vector[i]))]


def truth(cache):
    folder = os.path.join(cache, "pictures/dlib/faces")
    for name in ("training.xml", "testing.xml"):
        for image in ElementTree.parse(os.path.join(folder, name)).getroot().iter("image"):
            for box in image.iter("box"):
                left, top, width, height = (int(box.get(k)) for k in ("left", "top", "width", "height"))
                yield "dlib/faces/" + image.get("file"), left, top, left + width, top + height


def write(path, columns, rows):
    with open(path, "w") as f:
        f.write("#" + columns.replace(" ", "\t") + "\n")
        for row in rows:
            f.write("\t".join(v if isinstance(v, str) else f"{v:.4f}".rstrip("0").rstrip(".") for v in row) + "\n")


def main():
    cache, out = sys.argv[1:3]
    models = os.path.join(cache, "models")
    face = Model(os.path.join(models, "face/face_detection_back_256x256_barracuda.onnx"))
    front = Model(os.path.join(models, "face/face_detection_front_128x128_barracuda.onnx"))
    detect = Model(os.path.join(models, "detect/centernet.onnx"))
    imagenet = Model(os.path.join(models, "classify/efficientnet_lite0.onnx"))
    nsfw = Model(os.path.join(models, "classify/nsfw_mobilenet_v2.onnx"))
    write(os.path.join(out, "face_truth.tsv"), "picture x1 y1 x2 y2", truth(cache))
    columns = "picture x1 y1 x2 y2 " + " ".join(f"px{i} py{i}" for i in range(6)) + " score"
    for name, model, size in (("face_back.tsv", face, 256), ("face_front.tsv", front, 128)):
        write(os.path.join(out, name), columns, ([p, *row] for p in FACES + NO_FACES for row in faces(model, picture(cache, p), size)))
    write(os.path.join(out, "detect_centernet.tsv"), "picture class score x1 y1 x2 y2",
          ([p, *row] for p in OBJECTS for row in objects(detect, picture(cache, p))))

    faceres = Model(os.path.join(models, "face/faceres.onnx"))
    write(os.path.join(out, "embed_faceres.tsv"), "picture " + " ".join(f"index{i} value{i}" for i in range(8)),
          ([p, *embedding(faceres, picture(cache, p))] for p in ("skimage/astronaut.png", "matplotlib/grace_hopper.jpg")))

    def best(p, scores, n):
        return [[p, float(i), float(scores[i])] for i in np.argsort(-scores, kind="stable")[:n]]
    write(os.path.join(out, "classify_imagenet.tsv"), "picture class score",
          (row for p in CLASSES for row in best(p, classes(imagenet, picture(cache, p), 224, 0.875, lambda v: (v - 127) / 128), 5)))
    write(os.path.join(out, "classify_stretched.tsv"), "picture class score",
          (row for p in CLASSES for row in best(p, classes(nsfw, picture(cache, p), 224, None, lambda v: v / 255), 5)))


if __name__ == "__main__":
    main()
