"""`cmake --install --prefix P`: what lies there compiles and runs with pkg-config alone, also after the folder has been moved."""
import os
import shlex
import shutil
import subprocess
import tempfile

from weft_process import SLOW, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ["WEFT_BUILD"]
CC = os.environ.get("WEFT_CC", "cc")
FLAGS = shlex.split(os.environ.get("WEFT_CC_FLAGS", ""))


def run(words, **more):
    r = subprocess.run(words, capture_output=True, text=True, timeout=120 * SLOW, **more)
    return r


def folder_of(prefix, name):
    found = [d for d, _, names in os.walk(prefix) if name in names]
    assert len(found) == 1, (name, found)
    return found[0]


def check(prefix, work):
    pc, lib = folder_of(prefix, "weft.pc"), folder_of(prefix, "libweft.so")
    env = dict(os.environ, PKG_CONFIG_PATH=pc, LD_LIBRARY_PATH=lib)
    flags = run(["pkg-config", "--cflags", "--libs", "weft"], env=env)
    assert flags.returncode == 0, flags
    for flag in shlex.split(flags.stdout):
        if flag[:2] in ("-L", "-I"):
            assert os.path.realpath(flag[2:]).startswith(os.path.realpath(prefix) + os.sep), flags.stdout
            assert os.path.isdir(flag[2:]), flag
    program = os.path.join(work, "embed")
    built = run([CC, "-std=c11", *FLAGS, os.path.join(ROOT, "examples/embed.c"), *shlex.split(flags.stdout), "-o", program], env=env)
    assert built.returncode == 0, built.stderr
    usage = run([program], env=env)
    assert usage.returncode == 2 and usage.stderr.startswith("usage: embed CONFIG MODEL PICTURE"), usage
    missing = run([program, "/nowhere.yaml", "m", os.path.join(ROOT, "README.md")], env=env)
    assert missing.returncode == 1 and "/nowhere.yaml" in missing.stderr, missing
    weft = os.path.join(folder_of(prefix, "weft"), "weft")
    assert run([weft, "version"]).stdout.startswith("weft "), weft


def an_installed_copy_is_whole_and_can_be_moved():
    with tempfile.TemporaryDirectory(prefix="weft-install-") as work:
        prefix = os.path.join(work, "first")
        r = run(["cmake", "--install", BUILD, "--prefix", prefix])
        assert r.returncode == 0, r
        check(prefix, work)
        moved = os.path.join(work, "moved", "deeper")
        os.makedirs(os.path.dirname(moved))
        shutil.move(prefix, moved)
        check(moved, work)


if __name__ == "__main__":
    main([an_installed_copy_is_whole_and_can_be_moved])
