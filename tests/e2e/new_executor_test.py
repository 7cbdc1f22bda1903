#!/usr/bin/env python3
"""`weft new executor NAME` in a copy of the source tree: what it writes compiles without a warning, its test passes, and what it refuses changes nothing."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ["WEFT_PROGRAM"])
CC = os.environ.get("WEFT_CC", "cc")
FLAGS = shlex.split(os.environ.get("WEFT_CC_FLAGS", ""))
LIBRARY = os.environ["WEFT_STATIC"]
STRICT = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wno-unused-parameter",
          "-Werror"]


def weft_new(folder, *words):
    return subprocess.run([PROGRAM, "new", *words], cwd=folder, capture_output=True, text=True, timeout=60)


def snapshot(tree):
    files = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, tree)] = f.read()
    return files


def copy_tree(to):
    for part in ("include", "src", "script", "examples", "tools", "tests/harness", "tests/unit/executor"):
        shutil.copytree(os.path.join(ROOT, part), os.path.join(to, part))


def refused(tree, folder, words, said, code=None):
    before = snapshot(tree)
    r = weft_new(folder, *words)
    assert r.returncode != 0 and (code is None or r.returncode == code), (words, r)
    assert said in r.stderr, (words, r.stderr)
    assert snapshot(tree) == before, f"{words} changed something"


def check_refusals(tree):
    refused(tree, tree, [], "weft new executor NAME", 2)
    refused(tree, tree, ["executor"], "name is missing", 2)
    refused(tree, tree, ["backend", "x"], "weft new executor NAME", 2)
    for name in ("9lives", "Weather", "a-b", "a/b", "..", "", "x" * 40):
        refused(tree, tree, ["executor", name], "cannot be a name", 2)
    refused(tree, tree, ["executor", "a", "b"], "b is another", 2)
    refused(tree, tree, ["executor", "x", "--frobnicate"], "--frobnicate", 2)
    refused(tree, tree, ["executor", "classify"], "classify")
    refused(tree, tree, ["executor", "face_detect"], "answers to this name")  # an alias
    refused(tree, tree, ["executor", "arena"], "src/base/arena.h")
    refused(tree, "/", ["executor", "weather"], "not in a source tree")
    refused(tree, tree, ["executor", "weather", "--root", os.path.join(tree, "src")], "not in a source tree")
    with open(os.path.join(tree, "src/executor/executor_list.def")) as f:
        whole = f.read()
    with open(os.path.join(tree, "src/executor/executor_list.def"), "w") as f:
        f.write(whole.replace("/* new executors go here */", ""))
    refused(tree, tree, ["executor", "weather"], "new executors go here")
    with open(os.path.join(tree, "src/executor/executor_list.def"), "w") as f:
        f.write(whole)


def check_skeleton(tree, name):
    before = snapshot(tree)
    r = weft_new(os.path.join(tree, "src/base"), "executor", name)  # from any folder of the tree
    assert r.returncode == 0, r
    after = snapshot(tree)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {f"src/executor/{name}/{name}.c", f"src/executor/{name}/{name}.h", "src/executor/executor_list.def", "script/layers.txt",
                       f"tests/unit/executor/test_{name}.c", f"examples/{name}.yaml", f"examples/{name}.fake"}, changed
    for path in changed:
        assert b"@name@" not in after[path] and b"@NAME@" not in after[path], path
    assert f"EXECUTOR({name})" in after["src/executor/executor_list.def"].decode()
    assert f"src/executor/{name}:" in after["script/layers.txt"].decode()
    refused(tree, tree, ["executor", name], "already")


def build_and_run(tree, name, *others):
    program = os.path.join(tree, "skeleton_test")
    includes = [f"-I{tree}/{d}" for d in ("include", "src", "tests", "tests/unit/executor")]
    sources = [f"{tree}/{s}" for s in (f"src/executor/{name}/{name}.c", "src/executor/executor_list.c", f"tests/unit/executor/test_{name}.c",
                                        "tests/unit/executor/help_executor.c", *(f"src/executor/{o}/{o}.c" for o in others))]
    subprocess.run([CC, *STRICT, *FLAGS, f'-DWEFT_SOURCE_DIR="{tree}"', *includes, *sources, LIBRARY, "-lcmocka", "-ljpeg", "-lpng", "-lwebp",
                    "-lfreetype", "-lyaml", "-lm", "-lpthread", "-ldl", "-o", program], check=True, timeout=300)
    r = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "PASSED" in r.stdout + r.stderr


def main():
    with tempfile.TemporaryDirectory(prefix="weft-new-") as tree:
        copy_tree(tree)
        check_refusals(tree)
        for name in ("weather", "x"):
            check_skeleton(tree, name)
        build_and_run(tree, "weather", "x")
        build_and_run(tree, "x", "weather")
    print("new executor: ok")


if __name__ == "__main__":
    sys.exit(main())
