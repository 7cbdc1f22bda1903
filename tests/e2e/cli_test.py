"""The program's command line: what it says, where it says it, and its exit code."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

from weft_process import PROGRAM, SLOW, Server, main, png

PROGRAM = os.path.abspath(PROGRAM)
OK, FAILED, USAGE, CONFIG = 0, 1, 2, 3
PICTURES = """models:
- name: cls
  type: classify
  path: m.fake
  preprocess: {{input_size: [8, 8]}}
  {more}
  fake:
    inputs: [{{name: x, dtype: FP32, shape: [-1, 3, 8, 8]}}]
    outputs: [{{name: y, dtype: FP32, shape: [-1, 4]}}]
"""


class Folder:
    """A working folder with a picture, a text file, a stand-in for a model and a configuration."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="weft-cli-")
        self.write("photo.png", png())
        self.write("README.md", b"hello\n")
        self.write("m.fake", b"input  x FP32 [-1,3,8,8]\noutput y FP32 [-1,4]\n")
        self.write("cls.yaml", PICTURES.format(more="").encode())
        return self

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.path)

    def write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as f:
            f.write(data)

    def read(self, name):
        with open(os.path.join(self.path, name), "rb") as f:
            return f.read()

    def weft(self, *words, env=None):
        return subprocess.run([PROGRAM, *words], cwd=self.path, capture_output=True, text=True, timeout=60 * SLOW,
                              env=dict(os.environ, TERM="dumb", **(env or {})))

    def fails(self, words, code, said):
        r = self.weft(*words.split())
        assert r.returncode == code, (words, r)
        assert said in r.stderr, (words, said, r.stderr)
        assert r.stdout == "", (words, r.stdout)
        line = r.stderr.strip().splitlines()[-1]
        assert not re.search(r"\?[.;]|\.\.$|[^.]\.$", line), line  # no stray stops
        assert re.match(r"weft( [a-z]+)?: ([a-z0-9\"-]|[A-Z]{2,}|README|ONNX)", line), line
        return r.stderr


def typing_errors_get_a_suggestion():
    with Folder() as f:
        f.fails("srve", USAGE, 'weft: there is no command "srve"; did you mean "serve"? See `weft --help`')
        f.fails("help srve", USAGE, 'did you mean "serve"?')
        f.fails("zebra", USAGE, 'weft: there is no command "zebra"; see `weft --help`')
        f.fails("run --drw x", USAGE, 'weft run: unknown option "--drw"; did you mean "--draw"? See `weft run --help`')
        f.fails("run -x", USAGE, 'unknown option "-x"')
        f.fails("serve --prt 1", USAGE, 'did you mean "--port"?')
        f.fails("config chek cls.yaml", USAGE, 'there is no "weft config chek"; did you mean "check"?')
        f.fails("config check cls.yaml --jsn", USAGE, 'did you mean "--json"?')
        f.fails("new executor x --rot /", USAGE, 'did you mean "--root"?')
        f.fails("run m.fake photo.png --type clasify", USAGE, 'did you mean "classify"?')
        f.fails("run m.fake photo.png --type zebra", USAGE, "known: tensor, ")
        f.fails("run clz photo.png -c cls.yaml", FAILED, 'weft run: there is no model "clz" in the configuration; did you mean "cls"?')


def what_is_missing_is_named():
    with Folder() as f:
        f.fails("run -c", USAGE, "weft run: -c needs a FILE; see `weft run --help`")
        f.fails("run --config", USAGE, "--config needs a FILE")
        f.fails("run --json=1", USAGE, '--json takes no value, but got "1"')
        f.fails("serve -p", USAGE, "-p needs a number")
        f.fails("run", USAGE, 'expected "weft run MODEL PICTURE", got no model')
        f.fails("inspect", USAGE, 'expected "weft inspect FILE", got no file')
        f.fails("config", USAGE, "expected check, print or reference, got nothing")
        f.fails("config check", USAGE, 'expected "weft config check FILE", got no file')
        f.fails("new", USAGE, 'weft new: expected "weft new executor NAME", got nothing')
        f.fails("new executr x", USAGE, 'expected "weft new executor NAME", got "weft new executr"')


def files_that_are_no_models():
    with Folder() as f:
        f.fails("run nope.onnx photo.png", FAILED, "weft run: there is no file nope.onnx")
        f.fails("run README.md photo.png", FAILED, "weft run: README.md is no model file; known: .onnx")
        f.fails("inspect README.md", FAILED, "weft inspect: README.md is no model file; known: .onnx")
        os.mkdir(os.path.join(f.path, "folder"))
        f.fails("inspect folder", FAILED, "weft inspect: folder is a folder; give a model file")
        f.fails("inspect nope.onnx", FAILED, "weft inspect: there is no file nope.onnx")
        f.fails("run m.fake nope.png --type classify", FAILED, "weft run: cannot read nope.png: No such file or directory")
        said = f.fails("run m.fake --input nope.npy", FAILED, "weft run: cannot read nope.npy: No such file")
        assert said.count("nope.npy") == 1, said
        f.fails("run m.fake --input README.md", FAILED, "weft run: README.md: this is not a NumPy .npy file")
        f.write("broken.fake", b"input x\n")
        f.write("broken.yaml", b"models:\n- {name: g, path: broken.fake}\n")
        said = f.fails("run g --input README.md -c broken.yaml", CONFIG, 'weft run: model "g": ')
        assert said.count('model "g"') == 1, said


def a_picture_for_a_tensor_model_gets_a_hint():
    with Folder() as f:
        said = f.fails("run m.fake photo.png", FAILED, "photo.png is a PNG; to run a picture model add --type ")
        assert "classify" in said and "ocr" not in said, said
        assert f.weft("run", "m.fake", "photo.png", "--type", "classify").returncode == OK
        f.fails("run m.fake README.md", FAILED, "weft run: README.md: ")


def places_to_write_are_checked_first():
    with Folder() as f:
        f.fails("run cls photo.png -c cls.yaml --draw x.gif", USAGE, '--draw wants .png or .jpg, got "x.gif"')
        f.fails("run cls photo.png -c cls.yaml --draw no/x.png", USAGE, "there is no folder no for --draw no/x.png")
        f.fails("run cls photo.png photo.png -c cls.yaml --draw README.md", USAGE, "--draw wants a folder when there are several")
        f.fails("run cls photo.png -c cls.yaml --output README.md", USAGE, "--output wants a folder, but README.md is a file")
        f.fails("run cls photo.png -c cls.yaml --output no/way", USAGE, "there is no folder no for --output no/way")
        f.fails("run m.fake --input a.npy --draw x.png", USAGE, "--draw needs a picture")
        for name, magic in (("x.png", b"\x89PNG"), ("x.jpg", b"\xff\xd8"), ("X.JPEG", b"\xff\xd8")):
            r = f.weft("run", "cls", "photo.png", "-c", "cls.yaml", "--draw", name)
            assert r.returncode == OK and "drawn: " + name in r.stdout, r
            assert f.read(name).startswith(magic)
        r = f.weft("run", "cls", "photo.png", "-c", "cls.yaml", "--draw", "new/")
        assert r.returncode == OK and f.read("new/photo.png").startswith(b"\x89PNG"), r


def outputs_hold_strings_too():
    with Folder() as f:
        r = f.weft("run", "cls", "photo.png", "-c", "cls.yaml", "--output", "out")
        assert r.returncode == OK, r
        assert sorted(os.listdir(os.path.join(f.path, "out"))) == ["index.npy", "label.txt", "score.npy"]
        lines = f.read("out/label.txt").decode().splitlines()
        assert len(lines) == 4 and all(re.match(r"class \d$", line) for line in lines), lines


def one_model_is_singular_and_none_is_a_warning():
    with Folder() as f:
        r = f.weft("config", "check", "cls.yaml")
        assert r.returncode == OK and r.stdout.endswith("cls.yaml: fine, 1 model\n"), r
        f.write("none.yaml", b"models: []\n")
        r = f.weft("config", "check", "none.yaml")
        assert r.returncode == OK and "warning" in r.stdout and "nothing would be served" in r.stdout and "0 models" in r.stdout, r


def a_forgotten_type_is_named():
    with Folder() as f:
        f.write("t.yaml", b"models:\n- name: a\n  path: m.fake\n  postprocess: {top_k: 1}\n")
        r = f.weft("config", "check", "t.yaml")
        assert r.returncode == CONFIG, r
        assert ('"postprocess" is not a key of type tensor (which applies because "type" is not given); did you forget "type: classify"?'
                in r.stdout), r.stdout


def a_taken_port_is_said_before_models_load():
    with Folder() as f, socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(1)
        f.write("cls.yaml", PICTURES.format(more="path: missing.fake").encode().replace(b"  path: m.fake\n", b""))  # would fail later
        said = f.fails("serve -c cls.yaml --port %d" % s.getsockname()[1], FAILED, "weft serve: cannot listen on 127.0.0.1 port")
        assert "missing" not in said and "choose another port" in said, said


def serve_ends_its_start_text_with_a_line_to_paste():
    with Folder() as f:
        p = subprocess.Popen([PROGRAM, "serve", "-c", "cls.yaml", "--port", "0"], cwd=f.path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True)
        try:
            lines = []
            while not lines or not lines[-1].startswith("try: "):
                line = p.stdout.readline()
                assert line, lines
                lines.append(line)
            port = re.search(r"http://127\.0\.0\.1:(\d+)", lines[0]).group(1)
            command = lines[-1].strip()[5:].replace("@photo.jpg", "@photo.png").split()
            assert command[-1] == "http://127.0.0.1:%s/v1/models/cls/predict" % port, lines
            answer = subprocess.run(command + ["-s"], cwd=f.path, capture_output=True, timeout=30 * SLOW).stdout
            assert len(json.loads(answer)["items"]) == 4, answer
        finally:
            p.terminate()
            assert p.wait(30 * SLOW) == 0
            p.stdout.close()


def lists_keep_the_order_of_the_file():
    names = ["zebra", "ant", "mouse", "cat", "bee"]
    block = PICTURES.format(more="").split("\n", 1)[1]
    with Server("models:\n" + "".join(block.replace("cls", n) for n in names)) as s:
        assert [m["name"] for m in s.get("/healthz")[1]["models"]] == names
        assert [m["name"] for m in s.get("/v1/models")[1]["models"]] == names


def parameters_of_a_call():
    with Server(PICTURES.format(more="")) as s:
        def predict(query, status):
            got, _, body = s.predict("cls", query=query)
            assert got == status, (query, got, body)
            return json.loads(body)
        assert len(predict("", 200)["items"]) == 4
        assert len(predict("?top_k=1", 200)["items"]) == 1
        assert len(predict("?top_k=2&min_score=0.0", 200)["items"]) == 2
        assert "top_k must be a whole number" in predict("?top_k=zzz", 400)["error"]["message"]
        assert predict("?drw=1", 400)["error"]["message"] == 'unknown query parameter "drw"; did you mean "draw"?'
        assert "draw must be 1 or 0" in predict("?draw=maybe", 400)["error"]["message"]
        form = (b'--B\r\nContent-Disposition: form-data; name="top_k"\r\n\r\n1\r\n'
                b'--B\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n' + png() + b"\r\n--B--\r\n")
        kind = ["Content-Type: multipart/form-data; boundary=B"]
        status, _, body = s.predict("cls", form, headers=kind)
        assert status == 200 and len(json.loads(body)["items"]) == 1, body
        status, _, body = s.predict("cls", form.replace(b"top_k", b"top_q"), headers=kind)
        assert status == 400 and 'unknown form field "top_q"; did you mean "top_k"?' in json.loads(body)["error"]["message"], body
        assert s.get("/v1/models/cls")[1]["model"]["parameters"] == ["top_k", "min_score"]


def onnxruntime_is_found_from_any_folder():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    library = os.path.join(root, ".cache/runtime/onnxruntime/libonnxruntime.so.1")
    if not os.path.exists(library):
        return
    with Folder() as f:
        def version(program, folder):
            env = {k: v for k, v in os.environ.items() if k not in ("WEFT_ONNXRUNTIME", "LD_LIBRARY_PATH")}
            r = subprocess.run([program, "version", "--json"], cwd=folder, capture_output=True, text=True, timeout=60 * SLOW, env=env)
            assert r.returncode == OK, r
            return [b for b in json.loads(r.stdout)["backends"] if b["name"] == "onnxruntime"][0]
        for place in ("tree/build/release", "prefix/bin", "tree/.cache/runtime/onnxruntime", "prefix/lib"):
            os.makedirs(os.path.join(f.path, place))
        programs = [os.path.join(f.path, d, "weft") for d in ("tree/build/release", "prefix/bin")]
        for program in programs:
            shutil.copy(PROGRAM, program)
            said = version(program, "/")
            if said["available"]:
                return  # the loader finds one on this machine, whatever we do
            assert "WEFT_ONNXRUNTIME" in said["text"], said
        for place in ("tree/.cache/runtime/onnxruntime", "prefix/lib"):
            os.symlink(library, os.path.join(f.path, place, "libonnxruntime.so.1"))
        for program in programs:
            assert version(program, "/")["available"], program


if __name__ == "__main__":
    main([typing_errors_get_a_suggestion, what_is_missing_is_named, files_that_are_no_models, a_picture_for_a_tensor_model_gets_a_hint,
          places_to_write_are_checked_first, outputs_hold_strings_too, one_model_is_singular_and_none_is_a_warning, a_forgotten_type_is_named,
          a_taken_port_is_said_before_models_load, serve_ends_its_start_text_with_a_line_to_paste, lists_keep_the_order_of_the_file,
          parameters_of_a_call, onnxruntime_is_found_from_any_folder])
