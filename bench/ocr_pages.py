#!/usr/bin/env python3
"""Pages per second of weft's OCR against a plain Python program on the same weights, pages and machine.

    ocr_pages.py compare --models .cache/models/ocr --program build/release/bench/bench_ocr_pages [--rounds 5] PICTURE...
    ocr_pages.py texts --models .cache/models/ocr [--pads alone|batch] PICTURE...

`compare` runs the two in turn, `--rounds` times, and prints medians and their ratio. `texts` prints what the Python program reads, one line of
text a row: picture, x1 y1 ... x4 y4, score, text, separated by tabs; with `--pads alone` lines are padded by weft's rule (a function of
the line alone), else to the widest of six, as is customary. It shares no code with weft: OpenCV finds, cuts and scales, ONNX Runtime runs with
`--threads` threads (2). Needs the Python packages onnxruntime, numpy and OpenCV.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH = 6


class Reader:
    """The pipeline that PP-OCR publishes: detect, cut, recognise."""

    def __init__(self, models, threads, pads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        load = lambda name: onnxruntime.InferenceSession(os.path.join(models, name), options, providers=["CPUExecutionProvider"])
        self.detector, self.recogniser = load("ch_PP-OCRv4_det_infer.onnx"), load("ch_PP-OCRv4_rec_infer.onnx")
        with open(os.path.join(models, "ppocr_keys_v1.txt"), encoding="utf-8") as f:
            self.characters = [""] + [line.rstrip("\n") for line in f] + [" "]
        self.pads = pads

    @staticmethod
    def run(session, x):
        return session.run(None, {session.get_inputs()[0].name: x})[0]

    def find(self, picture):
        height, width = picture.shape[:2]
        scale = min(1, 960 / max(height, width))
        side = lambda v: max(32, int(round(v * scale / 32)) * 32)
        small = cv2.resize(picture, (side(width), side(height))).astype(np.float32) / 255
        x = ((small - np.float32(MEAN)) / np.float32(STD)).transpose(2, 0, 1)[None]
        p = self.run(self.detector, np.ascontiguousarray(x, np.float32))[0, 0]
        found = []
        contours, _ = cv2.findContours((p > 0.3).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        for contour in contours[:1000]:
            box = self.box(p, contour, width, height)
            if box is not None:
                found.append(box)
        found.sort(key=lambda b: (b[0][1], b[0][0]))
        for i in range(1, len(found)):
            k = i
            while k > 0 and abs(found[k][0][1] - found[k - 1][0][1]) < 10 and found[k][0][0] < found[k - 1][0][0]:
                found[k - 1], found[k] = found[k], found[k - 1]
                k -= 1
        return found

    @staticmethod
    def corners(rect):
        by_x = sorted(cv2.boxPoints(rect).tolist())
        (tl, bl), (tr, br) = sorted(by_x[:2], key=lambda q: q[1]), sorted(by_x[2:], key=lambda q: q[1])
        return np.float32([tl, tr, br, bl])

    def box(self, p, contour, width, height):
        centre, (w, h), angle = cv2.minAreaRect(contour)
        if min(w, h) < 3:
            return None
        inside = np.zeros(p.shape, np.uint8)
        cv2.fillPoly(inside, [self.corners((centre, (w, h), angle)).astype(np.int32)], 1)
        if cv2.mean(p, inside)[0] < 0.6:
            return None
        grow = 1.5 * w * h / (w + h)  # twice the distance
        if min(w, h) + grow < 5:
            return None
        q = self.corners((centre, (w + grow, h + grow), angle)) * np.float32([width / p.shape[1], height / p.shape[0]])
        q = np.clip(np.round(q), 0, [width, height]).astype(np.float32)
        if min(np.linalg.norm(q[0] - q[1]), np.linalg.norm(q[0] - q[3])) < 4:
            return None
        return q

    @staticmethod
    def cut(picture, q):
        w = int(max(np.linalg.norm(q[0] - q[1]), np.linalg.norm(q[2] - q[3])))
        h = int(max(np.linalg.norm(q[0] - q[3]), np.linalg.norm(q[1] - q[2])))
        m = cv2.getPerspectiveTransform(q, np.float32([[0, 0], [w, 0], [w, h], [0, h]]))
        line = cv2.warpPerspective(picture, m, (w, h), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
        return np.ascontiguousarray(np.rot90(line)) if h >= 1.5 * w else line

    def decode(self, scores):
        best, sure = scores.argmax(1), scores.max(1)
        keep = [i for i in range(len(best)) if best[i] and (i == 0 or best[i] != best[i - 1])]
        return "".join(self.characters[best[i]] for i in keep), float(np.mean([sure[i] for i in keep])) if keep else 0.0

    def read(self, lines):
        need = [math.ceil(48 * line.shape[1] / line.shape[0]) for line in lines]
        order, texts = sorted(range(len(lines)), key=lambda i: need[i]), [None] * len(lines)
        step = BATCH if self.pads == "batch" else 1
        for at in range(0, len(order), step):
            group = order[at:at + step]
            wide = max(320, max(need[i] for i in group)) if self.pads == "batch" else max(160, -(-need[group[0]] // 32) * 32)
            x = np.zeros((len(group), 3, 48, wide), np.float32)
            for row, i in enumerate(group):
                x[row, :, :, :need[i]] = ((cv2.resize(lines[i], (need[i], 48)).astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)
            for i, scores in zip(group, self.run(self.recogniser, x)):
                texts[i] = self.decode(scores)
        return texts

    def page(self, path):
        picture = cv2.imread(path, cv2.IMREAD_COLOR)
        if picture is None:
            sys.exit("%s cannot be decoded" % path)
        boxes = self.find(picture)
        texts = self.read([self.cut(picture, q) for q in boxes])
        return [(q, score, text) for q, (text, score) in zip(boxes, texts) if text and score >= 0.5]


def texts(options):
    reader = Reader(options.models, options.threads, options.pads)
    for path in options.pictures:
        for q, score, text in reader.page(path):
            print("\t".join([path] + ["%d" % v for v in q.reshape(-1)] + ["%.4f" % score, text]))


def python_round(reader, pictures):
    begun, cpu = time.monotonic(), time.process_time()
    for path in pictures:
        reader.page(path)
    return {"pages_per_s": len(pictures) / (time.monotonic() - begun), "cpu_s_per_page": (time.process_time() - cpu) / len(pictures)}


def compare(options):
    reader = Reader(options.models, options.threads, "batch")
    python_round(reader, options.pictures)  # warm
    results = {}
    runtime = os.path.join(options.models, "..", "..", "runtime", "onnxruntime", "libonnxruntime.so.1")
    if os.path.exists(runtime):
        os.environ.setdefault("WEFT_ONNXRUNTIME", os.path.abspath(runtime))
    for _ in range(options.rounds):
        results.setdefault("python", []).append(python_round(reader, options.pictures))
        for callers in (1, 2, 4):
            command = [options.program, "--models", os.path.abspath(options.models), "--callers", str(callers)] + options.pictures
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            results.setdefault("weft, %d caller%s" % (callers, "s" if callers > 1 else ""), []).append(json.loads(done.stdout))
    base = statistics.median(r["pages_per_s"] for r in results["python"])
    print("%-16s %10s %8s %14s   (%d pictures, medians of %d rounds)" % ("", "pages/s", "ratio", "CPU s a page", len(options.pictures), options.rounds))
    for name, rows in results.items():
        rate, cpu = (statistics.median(r[k] for r in rows) for k in ("pages_per_s", "cpu_s_per_page"))
        print("%-16s %10.2f %8.2f %14.3f" % (name, rate, rate / base, cpu))


def main():
    global cv2, np
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["compare", "texts"])
    p.add_argument("--models", required=True)
    p.add_argument("--program")
    p.add_argument("--pads", choices=["alone", "batch"], default="batch")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("pictures", nargs="+")
    options = p.parse_args()
    import cv2
    import numpy as np
    cv2.setNumThreads(options.threads)
    texts(options) if options.what == "texts" else compare(options)


if __name__ == "__main__":
    main()
