#!/usr/bin/env python3
"""Makes the golden pictures of tests/unit/image: own synthetic pictures, and what OpenCV, Pillow and numpy make of them.

Needs python3-opencv, python3-pil, python3-numpy and libjpeg-turbo-progs (Debian 12: OpenCV 4.6, Pillow 9.4). Run it in this folder; it rewrites
golden/ and cases.txt. Each line of cases.txt is one case:

    resize HOW SOURCE WIDTH HEIGHT EXPECTED
    warp HOW SOURCE WIDTH HEIGHT x1 y1 .. x4 y4 EXPECTED
    turn KIND SOURCE EXPECTED                   (rot1 rot2 rot3 fliph flipv)
    decode FILE CHANNELS WIDTH HEIGHT TOLERANCE EXPECTED
    tensor MODE HOW SOURCE WIDTH HEIGHT ORDER LAYOUT PAD EXPECTED.f32 NAME=NUMBERS..

EXPECTED pictures are PNG, tensors are raw little-endian float32.
"""
import os
import shutil
import struct
import subprocess
import zlib

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageOps

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "golden")
cases = []


def save(name, a):
    """a: grey, RGB or RGBA array; written with Pillow, which is not the code under test."""
    Image.fromarray(a).save(os.path.join(OUT, name), optimize=True)
    return name


def synthetic(width, height, seed):
    """Smooth parts, hard edges, fine lines and noise: what filters disagree about."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    a = np.zeros((height, width, 4), np.float64)
    a[..., 0] = 127 + 120 * np.sin(x / 5.0) * np.cos(y / 7.0)
    a[..., 1] = (x * 255.0 / width + y * 255.0 / height) / 2
    a[..., 2] = 255 * ((x // 3 + y // 4) % 2)
    a[..., 3] = 255 - x * 200.0 / width
    a[height // 3: height // 2, width // 4: width // 2, :3] = rng.integers(0, 256, (height // 2 - height // 3, width // 2 - width // 4, 3))
    a[:, width - 1 - width // 6] = (255, 0, 255, 10)
    return np.clip(a, 0, 255).astype(np.uint8)


CV = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA, "bicubic": cv2.INTER_CUBIC}


def pick(a, channels):
    return np.ascontiguousarray(a[..., 1] if channels == 1 else a[..., :channels])


def resize_cases():
    sources = {}
    for width, height, seed in ((61, 47, 1), (64, 48, 2), (7, 5, 3), (1, 9, 4)):
        for channels in (1, 3, 4):
            a = pick(synthetic(width, height, seed), channels)
            name = save("src-%dx%d-%d.png" % (width, height, channels), a)
            sources[width, height, channels] = (name, a)
    todo = []
    for how in ("nearest", "bilinear", "area", "bicubic"):
        for channels in (1, 3, 4):
            todo += [(how, 61, 47, channels, 29, 23), (how, 61, 47, channels, 83, 55), (how, 64, 48, channels, 32, 24)]
        todo += [(how, 64, 48, 3, 16, 16), (how, 64, 48, 3, 64, 48), (how, 61, 47, 3, 100, 20), (how, 61, 47, 3, 20, 70), (how, 7, 5, 3, 40, 31),
                 (how, 7, 5, 3, 1, 1), (how, 1, 9, 3, 5, 4), (how, 61, 47, 3, 60, 46), (how, 61, 47, 3, 3, 2)]
    for how, w, h, channels, dw, dh in todo:
        name, a = sources[w, h, channels]
        out = save("resize-%s-%dx%d-%d-to-%dx%d.png" % (how, w, h, channels, dw, dh), cv2.resize(a, (dw, dh), interpolation=CV[how]))
        cases.append("resize %s %s %d %d %s" % (how, name, dw, dh, out))
    return sources


def warp_cases(sources):
    quads = [((5, 4), (50, 8), (55, 40), (3, 36), 48, 33),          # tilted inside
             ((-6, -5), (40.5, 2.25), (70, 52), (4, 44), 37, 29),   # reaches outside
             ((10, 10), (40, 10), (40, 30), (10, 30), 30, 20),      # plain crop
             ((40, 5), (44, 40), (20, 42), (18, 7), 16, 35)]        # turned by 90 degrees
    for channels in (1, 3, 4):
        name, a = sources[61, 47, channels]
        for i, (p1, p2, p3, p4, w, h) in enumerate(quads):
            if channels != 3 and i != 1:
                continue
            m = cv2.getPerspectiveTransform(np.float32([p1, p2, p3, p4]), np.float32([[0, 0], [w, 0], [w, h], [0, h]]))
            for how in ("bilinear", "bicubic"):
                r = cv2.warpPerspective(a, m, (w, h), flags=CV[how], borderMode=cv2.BORDER_REPLICATE)
                out = save("warp-%s-%d-%d.png" % (how, i, channels), r)
                cases.append("warp %s %s %d %d %s %s" % (how, name, w, h, " ".join("%g %g" % p for p in (p1, p2, p3, p4)), out))


def turn_cases(sources):
    kinds = {"rot1": lambda a: cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE), "rot2": lambda a: cv2.rotate(a, cv2.ROTATE_180),
             "rot3": lambda a: cv2.rotate(a, cv2.ROTATE_90_COUNTERCLOCKWISE), "fliph": lambda a: cv2.flip(a, 1), "flipv": lambda a: cv2.flip(a, 0)}
    name, a = sources[61, 47, 3]
    for kind, f in kinds.items():
        cases.append("turn %s %s %s" % (kind, name, save("turn-%s.png" % kind, f(a))))


# ---- decoding ------------------------------------------------------------------------------------------------------------
def png_write(name, rows_of_samples, width, height, depth, colour_type, interlace=False, palette=None, trns=None, exif=None):
    """A PNG of any kind. rows_of_samples: integer array [height, width, samples]."""
    def pack(row):
        if depth == 16:
            return row.astype(">u2").tobytes()
        if depth == 8:
            return row.astype(np.uint8).tobytes()
        bits = "".join(format(int(v), "0%db" % depth) for v in row.ravel())
        bits += "0" * (-len(bits) % 8)
        return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))

    a = rows_of_samples.reshape(height, width, -1)
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)] if interlace else [(0, 0, 1, 1)]
    raw = b""
    for x0, y0, dx, dy in passes:
        part = a[y0::dy, x0::dx]
        if part.shape[0] and part.shape[1]:
            raw += b"".join(b"\0" + pack(row) for row in part)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlace)))
    if exif:
        data += chunk(b"eXIf", exif)
    if palette is not None:
        data += chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if trns is not None:
        data += chunk(b"tRNS", trns)
    data += chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(data)


def add_decode(name, expected, tolerance=1):
    channels = 1 if expected.ndim == 2 else expected.shape[2]
    out = save("decoded-%s-%d.png" % (name, channels), expected)
    cases.append("decode %s %d %d %d %d %s" % (name, channels, expected.shape[1], expected.shape[0], tolerance, out))


def rgb_of(name):
    return cv2.cvtColor(cv2.imread(os.path.join(OUT, name), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION), cv2.COLOR_BGR2RGB)


def jpeg_cases(picture):
    ppm = os.path.join(OUT, "in.ppm")
    Image.fromarray(picture[..., :3]).save(ppm)
    kinds = {"444": ["-sample", "1x1"], "422": ["-sample", "2x1"], "420": ["-sample", "2x2"], "411": ["-sample", "4x1"], "440": ["-sample", "1x2"],
             "410": ["-sample", "4x2"], "rgb": ["-rgb"], "grey": ["-grayscale"], "progressive": ["-progressive", "-sample", "2x2"],
             "restart": ["-restart", "1", "-sample", "2x1"], "arithmetic": ["-arithmetic"], "odd": ["-sample", "1x1,2x2,1x1"]}
    for kind, args in kinds.items():
        name = "jpeg-%s.jpg" % kind
        subprocess.run(["cjpeg", "-quality", "88"] + args + ["-outfile", os.path.join(OUT, name), ppm], check=True)
        add_decode(name, rgb_of(name))
    add_decode("jpeg-420.jpg", cv2.imread(os.path.join(OUT, "jpeg-420.jpg"), cv2.IMREAD_GRAYSCALE))
    add_decode("jpeg-rgb.jpg", np.asarray(Image.open(os.path.join(OUT, "jpeg-rgb.jpg")).convert("L")))
    add_decode("jpeg-grey.jpg", np.dstack([rgb_of("jpeg-grey.jpg"), np.full(picture.shape[:2], 255, np.uint8)]))
    os.unlink(ppm)
    Image.fromarray(255 - picture[..., :4], "CMYK").save(os.path.join(OUT, "jpeg-cmyk.jpg"), quality=90)
    add_decode("jpeg-cmyk.jpg", np.asarray(Image.open(os.path.join(OUT, "jpeg-cmyk.jpg")).convert("RGB")))


def exif_block(orientation, big=False):
    e = ">" if big else "<"
    return (b"MM\0*" if big else b"II*\0") + struct.pack(e + "IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def exif_cases():
    upright = Image.new("RGB", (40, 24), (30, 60, 200))
    d = ImageDraw.Draw(upright)
    d.rectangle((4, 3, 10, 20), fill=(255, 255, 0))
    d.rectangle((4, 3, 24, 7), fill=(255, 255, 0))
    d.rectangle((4, 11, 18, 14), fill=(255, 40, 0))
    back = {1: None, 2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM, 5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE,
            8: Image.ROTATE_270}
    for o, t in back.items():
        stored = upright if t is None else upright.transpose(t)
        name = "exif-%d.jpg" % o
        stored.save(os.path.join(OUT, name), quality=95, subsampling=0, exif=b"Exif\0\0" + exif_block(o, o % 2 == 0))
        right = ImageOps.exif_transpose(Image.open(os.path.join(OUT, name))).convert("RGB")
        assert right.size == (40, 24)
        add_decode(name, np.asarray(right))
        # and the scene itself, whoever turned it: JPEG at quality 95 moves flat colours little
        assert np.abs(np.asarray(right).astype(int) - np.asarray(upright)).mean() < 6
    stored = np.asarray(upright.transpose(Image.ROTATE_90))
    png_write("exif-6.png", stored, stored.shape[1], stored.shape[0], 8, 2, exif=exif_block(6, True))
    add_decode("exif-6.png", np.asarray(upright), 0)
    Image.fromarray(stored).save(os.path.join(OUT, "exif-6.webp"), lossless=True, exif=exif_block(6))
    add_decode("exif-6.webp", np.asarray(upright), 0)


def png_cases(picture):
    h, w = picture.shape[:2]
    rgb, grey, alpha = picture[..., :3], picture[..., 1], picture[..., 3]

    def stack(*planes):
        return np.dstack([np.asarray(p, np.uint8) for p in planes])

    for interlace in (False, True):
        i = "i" if interlace else ""
        for depth in (1, 2, 4, 8, 16):
            top = (1 << depth) - 1
            samples = grey.astype(int) * (257 if depth == 16 else 1) if depth >= 8 else grey.astype(int) >> (8 - depth)
            if depth == 16:
                samples = samples - samples % 7
            name = "png-grey%d%s.png" % (depth, i)
            png_write(name, samples, w, h, depth, 0, interlace)
            eight = samples >> 8 if depth == 16 else samples * 255 // top
            add_decode(name, eight.astype(np.uint8), 0)
            if depth == 4:
                add_decode(name, stack(eight, eight, eight), 0)
        for depth in (8, 16):
            factor = 1 if depth == 8 else 257
            name = "png-rgb%d%s.png" % (depth, i)
            png_write(name, rgb.astype(int) * factor, w, h, depth, 2, interlace)
            add_decode(name, rgb, 0)
            name = "png-rgba%d%s.png" % (depth, i)
            png_write(name, picture.astype(int) * factor, w, h, depth, 6, interlace)
            add_decode(name, picture, 0)
            add_decode(name, rgb, 0)
            name = "png-greya%d%s.png" % (depth, i)
            png_write(name, np.dstack([grey, alpha]).astype(int) * factor, w, h, depth, 4, interlace)
            add_decode(name, stack(grey, grey, grey, alpha), 0)
            add_decode(name, grey, 0)
        for depth in (1, 2, 4, 8):
            n = 1 << depth
            palette = np.random.default_rng(depth).integers(0, 256, (n, 3))
            index = grey.astype(int) * n // 256
            name = "png-palette%d%s.png" % (depth, i)
            png_write(name, index, w, h, depth, 3, interlace, palette)
            add_decode(name, palette[index].astype(np.uint8), 0)
    palette = np.random.default_rng(9).integers(0, 256, (16, 3))
    index = grey.astype(int) // 16
    trns = bytes(range(0, 160, 16))
    png_write("png-palette-trns.png", index, w, h, 4, 3, False, palette, trns)
    full = np.array(list(trns) + [255] * 6)
    add_decode("png-palette-trns.png", np.dstack([palette[index], full[index]]).astype(np.uint8), 0)
    add_decode("png-palette-trns.png", palette[index].astype(np.uint8), 0)
    png_write("png-rgb-trns.png", rgb, w, h, 8, 2, trns=struct.pack(">HHH", *[int(v) for v in rgb[0, 0]]))
    clear = (rgb == rgb[0, 0]).all(axis=2)
    add_decode("png-rgb-trns.png", np.dstack([rgb, np.where(clear, 0, 255)]).astype(np.uint8), 0)
    add_decode("png-rgb8.png", np.asarray(Image.fromarray(np.ascontiguousarray(rgb)).convert("L")), 1)


def webp_cases(picture):
    for name, a, args in (("webp-lossy.webp", picture[..., :3], {"quality": 80}), ("webp-lossless.webp", picture[..., :3], {"lossless": True}),
                          ("webp-lossy-alpha.webp", picture, {"quality": 80}), ("webp-lossless-alpha.webp", picture, {"lossless": True, "exact": True})):
        Image.fromarray(np.ascontiguousarray(a)).save(os.path.join(OUT, name), **args)
        read = Image.open(os.path.join(OUT, name))
        add_decode(name, np.asarray(read.convert("RGB")))
        if a.shape[2] == 4:
            add_decode(name, np.asarray(read.convert("RGBA")))
    add_decode("webp-lossless.webp", np.asarray(Image.fromarray(np.ascontiguousarray(picture[..., :3])).convert("L")))


# ---- tensors -------------------------------------------------------------------------------------------------------------
def tensor_cases(sources):
    def add(mode, how, key, w, h, order, layout, pad, numbers):
        name, a = sources[key]
        a = a.reshape(a.shape[0], a.shape[1], -1)
        sh, sw = a.shape[:2]
        if mode == "stretch":
            canvas = cv2.resize(a, (w, h), interpolation=CV[how])
        else:
            r = min(w / sw, h / sh)
            nw, nh = max(1, round(sw * r)), max(1, round(sh * r))
            canvas = np.full((h, w, a.shape[2]), pad, np.uint8)
            x, y = (w - nw) // 2, (h - nh) // 2
            part = cv2.resize(a, (nw, nh), interpolation=CV[how])
            canvas[y:y + nh, x:x + nw] = part.reshape(nh, nw, -1)
        canvas = canvas.reshape(h, w, -1)
        if mode == "crop":
            short = int(numbers["resize"][0])
            nw, nh = (short, int(short * sh / sw)) if sw <= sh else (int(short * sw / sh), short)
            big = cv2.resize(a, (nw, nh), interpolation=CV[how]).reshape(nh, nw, -1)
            x, y = round((nw - w) / 2), round((nh - h) / 2)  # as torchvision: halves to even
            canvas = big[y:y + h, x:x + w]
        v = canvas.astype(np.float64)
        if order == "bgr":
            v = v[..., ::-1]
        v = (v * numbers["scale"][0] - np.array(numbers["mean"])) / np.array(numbers["std"])
        if layout == "nchw":
            v = v.transpose(2, 0, 1)
        out = "tensor-%d.f32" % len(cases)
        v.astype("<f4").tofile(os.path.join(OUT, out))
        args = " ".join("%s=%s" % (k, ",".join("%.17g" % x for x in v)) for k, v in numbers.items())
        cases.append("tensor %s %s %s %d %d %s %s %d %s %s" % (mode, how, name, w, h, order, layout, pad, out, args))

    imagenet = {"scale": [1 / 255], "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    add("stretch", "bilinear", (61, 47, 3), 24, 16, "rgb", "nchw", 0, imagenet)
    add("stretch", "area", (61, 47, 3), 24, 16, "bgr", "nchw", 0, imagenet)
    add("stretch", "bilinear", (61, 47, 1), 17, 13, "rgb", "nhwc", 0, {"scale": [1 / 255], "mean": [0.449], "std": [0.226]})
    add("letterbox", "bilinear", (61, 47, 3), 32, 32, "rgb", "nhwc", 114, {"scale": [1], "mean": [127.5] * 3, "std": [127.5] * 3})
    add("letterbox", "bicubic", (7, 5, 3), 20, 33, "bgr", "nhwc", 7, {"scale": [1 / 255], "mean": [0, 0, 0], "std": [1, 1, 1]})
    add("crop", "bilinear", (61, 47, 3), 28, 28, "rgb", "nchw", 0, dict(imagenet, resize=[32]))
    add("crop", "bilinear", (1, 9, 3), 7, 7, "rgb", "nchw", 0, dict(imagenet, resize=[8]))


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    sources = resize_cases()
    warp_cases(sources)
    turn_cases(sources)
    picture = synthetic(43, 29, 5)
    jpeg_cases(picture)
    png_cases(synthetic(21, 13, 6))
    webp_cases(picture)
    exif_cases()
    tensor_cases(sources)
    with open(os.path.join(HERE, "cases.txt"), "w") as f:
        f.write("\n".join(cases) + "\n")


if __name__ == "__main__":
    main()
