#!/usr/bin/env python3
"""Compares the decoders with Pillow and OpenCV on the test pictures that Debian packages install.

Usage: compare_packages.py DECODE_FILES_PROGRAM CACHE_FOLDER [--verbose]. The pictures and the Python modules are taken from the cache of script/fetch --test, else from
installed packages. Exit status 0 = all right, 1 = something differs, 77 = none of the folders or references is here.

Rules: a file that we decode must have the size and, within one grey level (JPEG of other colour spaces: see `tolerance`), the pixels of a reference;
a file that we refuse must be one that the references refuse too, or stand in REFUSED below with the reason; a file in MUST_FAIL must be refused.
"""
import os
import resource
import subprocess
import sys

CACHE = sys.argv[2] if len(sys.argv) > 2 else ""
if os.path.isdir(os.path.join(CACHE, "oracle-python")):
    sys.path.insert(0, os.path.join(CACHE, "oracle-python"))
try:
    import cv2
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

# Where script/fetch puts a package's pictures, and where the installed package has them.
SETS = {
    "go-image": "/usr/share/go-1.19/src/image",
    "x-image": "/usr/share/gocode/src/golang.org/x/image/testdata",
    "gdk-pixbuf": "/usr/libexec/installed-tests/gdk-pixbuf/test-images",
    "sixel": "/usr/share/doc/libsixel-examples/examples/images",
    "jxl": "/usr/share/libjxl-testdata/jxl",
    "imaging": "/usr/share/gocode/src/github.com/disintegration/imaging/testdata",
    "goexif": "/usr/share/gocode/src/github.com/rwcarlsen/goexif/exif",
    "sdl": "/usr/libexec/installed-tests/SDL2_image",
    "skimage": "/usr/lib/python3/dist-packages/skimage/data",
    "matplotlib": "/usr/share/matplotlib/mpl-data/sample_data",
}


def folders():
    for name, installed in SETS.items():
        fetched = os.path.join(CACHE, "pictures", name)
        if os.path.isdir(fetched):
            yield fetched
        elif os.path.isdir(installed):
            yield installed


Image.MAX_IMAGE_PIXELS = 50000000
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))  # a reference that falls for a decompression bomb must not take the machine with it


class Decoder:
    def __init__(self, program):
        free = lambda: resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=free)

    def __call__(self, path, channels=3):
        self.p.stdin.write(("%d %s\n" % (channels, path)).encode())
        self.p.stdin.flush()
        head = self.p.stdout.readline().decode("utf-8", "replace").rstrip("\n").split(" ", 5)
        if len(head) < 5:
            raise SystemExit("the program died on %s" % path)
        status, w, h, c = head[0], int(head[1]), int(head[2]), int(head[3])
        pixels = None
        if status == "OK":
            pixels = np.frombuffer(self.p.stdout.read(w * h * c), np.uint8).reshape(h, w, c)
        return status, pixels, head[4], head[5] if len(head) > 5 else ""


def with_pillow(path):
    try:
        im = Image.open(path)
        if im.format not in ("JPEG", "MPO", "PNG", "WEBP"):
            return None
        im.load()
        if im.mode.startswith("I"):  # 16-bit grey: the upper byte
            a = np.asarray(im).astype(np.int64) >> 8
            im = ImageOps.exif_transpose(im)
            a = np.asarray(im).astype(np.int64) >> 8
            return np.dstack([a] * 3).astype(np.uint8)
        try:
            im = ImageOps.exif_transpose(im)
        except Exception:
            pass
        return np.asarray(im.convert("RGB"))
    except (Exception, MemoryError):
        return None


def with_opencv(path):
    try:
        a = cv2.imread(path, cv2.IMREAD_COLOR)
    except (cv2.error, MemoryError):
        return None
    return None if a is None else cv2.cvtColor(a, cv2.COLOR_BGR2RGB)


def difference(a, b):
    if a is None or b is None or a.shape != b.shape:
        return 1000
    return int(np.abs(a.astype(int) - b.astype(int)).max())


# What we refuse although a reference decodes it, by part of the path, with the reason that the message must contain.
REFUSED = {
    ".truncated": "truncated",
    "truncated": "truncated",
    "premature-end": "truncated",
    "xcsn0g01": "CRC error",  # Pillow does not look at the checksum of pixels
}


def main():
    decode = Decoder(sys.argv[1])
    verbose = "--verbose" in sys.argv
    n = dict(equal=0, refused=0, other=0)
    bad = []
    seen = False
    for folder in folders():
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = os.path.join(root, name)
                with open(path, "rb") as f:
                    head = f.read(16)
                known = head[:3] == b"\xff\xd8\xff" or head[:8] == b"\x89PNG\r\n\x1a\n" or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")
                status, pixels, kind, text = decode(path)
                seen = True
                if status not in ("OK", "INVALID", "MEDIA_TYPE", "UNPROCESSABLE", "TOO_LARGE"):
                    bad.append("%s: status %s %s" % (path, status, text))
                    continue
                if not known:
                    if status == "OK":
                        bad.append("%s: decoded, but it is no JPEG, PNG or WebP" % path)
                    n["other"] += 1
                    continue
                if status == "TOO_LARGE":
                    n["refused"] += 1
                    continue
                pil, ocv = with_pillow(path), with_opencv(path)
                if status == "OK":
                    d = min(difference(pixels, pil), difference(pixels, ocv))
                    if d > 1:
                        bad.append("%s: differs by %d (Pillow %s, OpenCV %s)" % (path, d, None if pil is None else pil.shape, None if ocv is None else ocv.shape))
                    n["equal"] += d <= 1
                    continue
                n["refused"] += 1
                expected = [why for part, why in REFUSED.items() if part in path]
                if (pil is not None or ocv is not None) and not any(w in text for w in expected):
                    bad.append("%s: refused (%s: %s), but %s decodes it" % (path, status, text, "Pillow" if pil is not None else "OpenCV"))
                elif verbose:
                    print("refused %s: %s" % (path, text))
    if not seen:
        print("skipped: none of the packages is installed")
        sys.exit(77)
    print("%(equal)d pictures equal within one level, %(refused)d damaged ones refused, %(other)d files of other kinds refused" % n)
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
