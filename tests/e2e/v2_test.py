"""The Open Inference Protocol V2 over HTTP, by hand from its specification and its extensions. Standard library only; needs ONNX Runtime for the identity
models of tests/data/models (77 without it)."""
import base64
import gzip
import json
import os
import socket
import struct
import sys
import threading
import time
import zlib

from weft_process import SLOW, Server, closed, main, png, read_response

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "tests", "data", "models")
RUNTIME = os.environ.get("WEFT_ONNXRUNTIME", os.path.join(ROOT, ".cache", "runtime", "onnxruntime", "libonnxruntime.so.1"))
os.environ["WEFT_ONNXRUNTIME"] = RUNTIME
TYPES = {"bool": "BOOL", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64",
         "f16": "FP16", "bf16": "BF16", "f32": "FP32", "f64": "FP64", "string": "BYTES"}
FAKE = """
  - name: {name}
    backend: fake
    path: m.fake
    instances: 1
    {more}
    fake:
      inputs: [{{name: x, dtype: FP32, shape: [-1, 2]}}]
      outputs: [{{name: y, dtype: FP32, shape: [-1, 2]}}]
      {fake}
"""
PICTURES = """
  - name: cls
    type: classify
    backend: fake
    path: m.fake
    preprocess: {input_size: [8, 8]}
    postprocess: {top_k: 3}
    fake:
      inputs: [{name: x, dtype: FP32, shape: [-1, 3, 8, 8]}]
      outputs: [{name: y, dtype: FP32, shape: [-1, 4]}]
"""


def config(extra="", server="", types=("f32",)):
    models = "".join("  - {name: id_%s, path: '%s'}\n" % (t, os.path.join(MODELS, "identity_%s.onnx" % t)) for t in types)
    return "server: {%s}\nlog: {level: warn}\nmodels:\n%s%s" % (server, models, extra)


def infer(s, model, request, headers=(), tail=b"", version=None):
    """(status, headers, parsed JSON part, binary part)."""
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    headers = list(headers)
    if tail:
        headers.append("Inference-Header-Content-Length: %d" % len(body))
    path = "/v2/models/%s%s/infer" % (model, "/versions/" + version if version else "")
    status, head, answer = s.request("POST", path, body + tail, headers)
    n = int(head.get("inference-header-content-length", len(answer)))
    return status, head, json.loads(answer[:n]), answer[n:]


def one(data, shape=(1, 2), datatype="FP32", name="x", **more):
    return {"inputs": [dict(name=name, shape=list(shape), datatype=datatype, data=data)], **more}


def numbers_arrive_exactly():
    cases = {"bool": [True, False], "i8": [-128, 127], "i16": [-32768, 32767], "i32": [-2147483648, 2147483647], "i64": [-2**63, 2**63 - 1],
             "u8": [0, 255], "u16": [0, 65535], "u32": [0, 2**32 - 1], "u64": [0, 2**64 - 1], "f16": [65504, -0.5], "bf16": [1.5, -2.0**100],
             "f32": [0.10000000149011612, 3.4028234663852886e38], "f64": [0.1, 5e-324], "string": ["a\u00e9\u0000\"\\", ""]}
    with Server(config(types=TYPES)) as s:
        for t, data in cases.items():
            status, _, got, _ = infer(s, "id_" + t, one(data, datatype=TYPES[t]))
            assert status == 200, (t, got)
            out = got["outputs"][0]
            assert out["name"] == "y" and out["datatype"] == TYPES[t] and out["shape"] == [1, 2], out
            if t in ("f32", "bf16"):  # the shortest text of a float is not that of a double
                assert [struct.pack("f", v) for v in out["data"]] == [struct.pack("f", v) for v in data], out
            else:
                assert out["data"] == data, (t, out)
        over = {"i8": [128, -129, 1.5, "1", True, None], "u8": [-1, 256], "i64": [2**63, -2**63 - 1], "u64": [2**64, -1], "i32": [1e3, 2**31],
                "f16": [65520, "1"], "f32": [1e39, [], {}], "bool": [1, 0, "true"], "string": [1, None, ["a"]], "bf16": [3.4e38], "u32": [2**32]}
        for t, values in over.items():
            for v in values:
                status, _, got, _ = infer(s, "id_" + t, one([v, v], datatype=TYPES[t]))
                assert status == 400 and (TYPES[t] in got["error"] or isinstance(v, list)), (t, v, got)
        assert infer(s, "id_f64", b'{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP64","data":[1e400,1]}]}')[0] == 400


def shapes_and_nesting():
    with Server(config()) as s:
        for data in ([[1, 2], [3, 4]], [1, 2, 3, 4]):
            status, _, got, _ = infer(s, "id_f32", one(data, (2, 2)))
            assert status == 200 and got["outputs"][0]["data"] == [1, 2, 3, 4], got
        wrong = [([[1, 2]], (2, 2)), ([1, 2, 3], (2, 2)), ([1, 2, 3, 4, 5], (2, 2)), ([[1], [2, 3, 4]], (2, 2)), ([[[1, 2], [3, 4]]], (2, 2)),
                 ([1, [2, 3, 4]], (2, 2)), ([[1, 2], 3, 4], (2, 2)), ([1, 2], (1, 3)), ([1, 2], (2,)), (3, (1, 2)), ([1, 2], (1, -2)), ([1, 2], (1, 2.0)),
                 ([1, 2], (2**62, 2**62)), ([1, 2], (1,) * 9), ([], (2**40, 2**20)), ([1, 2], ("1", 2))]
        for data, shape in wrong:
            status, _, got, _ = infer(s, "id_f32", one(data, shape))
            assert status == 400 and got["error"], (data, shape, got)


def order_of_members_does_not_matter():
    with Server(config()) as s:
        body = b'{"outputs":[{"parameters":{"binary_data":false},"name":"y"}],"zzz":[{"a":null}],"inputs":[{"more":{"x":[1]},"data":[ 1 , 2 ],' \
               b'"datatype":"FP32","shape":[1,2],"name":"x"}],"id":"\\u0031\\n"}'
        status, _, got, _ = infer(s, "id_f32", body)
        assert status == 200 and got["id"] == "1\n" and got["outputs"][0]["data"] == [1, 2], got


def wrong_requests():
    ok = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}
    bad = [b"", b"[]", b"{", b"{}x", b'{"inputs":{}}', b'{"inputs":[1]}', b'{"inputs":[],"inputs":[]}', b'\xef\xbb\xbf{"inputs":[]}', b'{"inputs":[]}',
           b'{"id":1,"inputs":[]}', b'{"id":"' + b"x" * 200 + b'","inputs":[]}', b'{"parameters":[],"inputs":[]}', b'{"a":' + b"[" * 40 + b"]" * 40 + b"}",
           b"[" * 100000, b'{"inputs":[{"name":"x","name":"x"}]}']
    bad += [{"inputs": [dict(ok, **{k: v})]} for k, v in (("name", 1), ("name", None), ("name", "z"), ("shape", None), ("shape", {}), ("datatype", "FP31"),
            ("datatype", "float32"), ("data", None), ("parameters", 3), ("parameters", {"a": None}), ("parameters", {"binary_data_size": 8}),
            ("parameters", {"binary_data_size": -1}))]
    bad += [{"inputs": [{k: v for k, v in ok.items() if k != gone}]} for gone in ok]
    bad += [{"inputs": [ok, ok]}, {"inputs": [ok], "outputs": [{"name": "z"}]}, {"inputs": [ok], "outputs": [{"name": "y"}, {"name": "y"}]},
            {"inputs": [ok], "outputs": [{}]}, {"inputs": [ok], "outputs": {}}, {"inputs": [ok], "outputs": [{"name": "y", "parameters": {"classification": -1}}]},
            {"inputs": [ok], "outputs": [{"name": "y", "parameters": {"binary_data": 1}}]}, {"inputs": [ok], "parameters": {"timeout": -1}},
            {"inputs": [ok], "parameters": {"timeout": "1"}}, {"inputs": [ok], "parameters": {"priority": -1}}, {"inputs": [ok], "parameters": {"a": [1]}},
            {"inputs": [ok], "parameters": {"binary_data_output": 1}}, {"inputs": [dict(ok, name="x%d" % i) for i in range(65)]}]
    with Server(config()) as s:
        for request in bad:
            status, head, got, _ = infer(s, "id_f32", request)
            assert status in (400, 413) and isinstance(got["error"], str) and head["content-type"] == "application/json", (request, status, got)
            for leak in (os.sep + "tmp", s.folder.name, "src/", "0x", ".onnx"):
                assert leak not in got["error"], got
        status, _, got, _ = infer(s, "id_f32", dict(id="mine", **one([1, 2, 3])))
        assert status == 400 and got["id"] == "mine", got
        shared = dict(ok, parameters={"shared_memory_region": "r", "shared_memory_byte_size": 8})
        assert infer(s, "id_f32", {"inputs": [shared]})[0] == 501
        assert infer(s, "id_f32", one([1, 2]))[0] == 200


def statuses_of_paths():
    with Server(config(server="max_body_bytes: 4KiB")) as s:
        cases = [("GET", "/v2", 200), ("GET", "/v2/health/live", 200), ("GET", "/v2/health/ready", 200), ("GET", "/v2/models/id_f32", 200),
                 ("GET", "/v2/models/id_f32/versions/1", 200), ("GET", "/v2/models/id_f32/ready", 200), ("GET", "/v2/models/id_f32/versions/1/config", 200),
                 ("GET", "/v2/models/stats", 200), ("GET", "/v2/models/id_f32/stats", 200), ("GET", "/v2/models/id_f32/versions/1/stats", 200),
                 ("HEAD", "/v2/models/id_f32", 200), ("GET", "/v2/models/none", 404), ("GET", "/v2/models/id_f32/versions/2", 404),
                 ("GET", "/v2/models/id_f32/versions/2/ready", 404), ("GET", "/v2/models/id_f32/infer", 405), ("POST", "/v2", 405),
                 ("POST", "/v2/models/none/infer", 404), ("POST", "/v2/models/id_f32/versions/2/infer", 404), ("GET", "/v2/nothing", 404),
                 ("GET", "/v2/models//infer", 404), ("GET", "/v2/models/id_f32/versions/1/nothing", 404), ("GET", "/v2/models/none/stats", 404)]
        for method, path, want in cases:
            status, _, body = s.request(method, path)
            assert status == want, (method, path, status, body)
            if want >= 400:
                assert isinstance(json.loads(body)["error"], str), body
        c = s.connect()
        c.sendall(b"POST /v2/models/id_f32/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n")
        status, _, body = read_response(c)
        assert status == 413 and "4096" in json.loads(body)["error"], body
        c.close()


def versions_ids_and_headers():
    with Server(config()) as s:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        status, head, got, _ = infer(s, "id_f32", one([1, 2], id="r1"), ["X-Request-Id: x1", "traceparent: " + trace], version="1")
        assert status == 200 and got["id"] == "r1" and head["x-request-id"] == "x1", (head, got)
        assert head["traceparent"].startswith(trace[:35]) and len(head["traceparent"]) == 55, head  # the span may be the server's own
        assert got["model_name"] == "id_f32" and got["model_version"] == "1", got
        status, head, got, _ = infer(s, "id_f32", one([1, 2]), ["traceparent: 00-00000000000000000000000000000000-b7ad6b7169203331-01"])
        assert "id" not in got and "0" * 32 not in head.get("traceparent", ""), head


def binary_both_ways():
    with Server(config(types=TYPES)) as s:
        rows = {"bool": b"\1\0", "i8": b"\x80\x7f", "u16": b"\1\2\3\4", "f16": b"\0\x3c\0\xbc", "bf16": b"\x80\x3f\x80\xbf", "f32": struct.pack("<2f", 1.5, -2),
                "f64": struct.pack("<2d", 0.1, -0.1), "u64": struct.pack("<2Q", 2**64 - 1, 7), "string": b"\2\0\0\0ab\0\0\0\0"}
        for t, raw in rows.items():
            for pad in range(8):  # every alignment of the tensor in the body
                request = {"pad": "p" * pad, "inputs": [{"name": "x", "shape": [1, 2], "datatype": TYPES[t], "parameters": {"binary_data_size": len(raw)}}],
                           "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
                status, head, got, tail = infer(s, "id_" + t, request, tail=raw)
                assert status == 200 and tail == raw, (t, pad, status, got, tail)
                assert got["outputs"][0]["parameters"]["binary_data_size"] == len(raw) and "data" not in got["outputs"][0], got
                assert head["content-type"] == "application/octet-stream", head
        raw = rows["f32"]
        part = {"name": "x", "shape": [1, 2], "datatype": "FP32", "parameters": {"binary_data_size": 8}}
        status, _, got, tail = infer(s, "id_f32", {"inputs": [part], "parameters": {"binary_data_output": True}}, tail=raw)
        assert status == 200 and tail == raw, got
        status, _, got, tail = infer(s, "id_f32", {"inputs": [part], "parameters": {"binary_data_output": True},
                                                   "outputs": [{"name": "y", "parameters": {"binary_data": False}}]}, tail=raw)
        assert status == 200 and not tail and got["outputs"][0]["data"] == [1.5, -2], got
        bad_string = [b"\3\0\0\0ab\0\0\0\0", b"\2\0\0\0ab", b"\xff\xff\xff\xffab\0\0\0\0"]
        for raw in bad_string:
            p = {"name": "x", "shape": [1, 2], "datatype": "BYTES", "parameters": {"binary_data_size": len(raw)}}
            assert infer(s, "id_string", {"inputs": [p]}, tail=raw)[0] == 400


def wrong_splits():
    part = {"name": "x", "shape": [1, 2], "datatype": "FP32", "parameters": {"binary_data_size": 8}}
    head = json.dumps({"inputs": [part]}).encode()
    with Server(config(server="max_body_bytes: 64KiB")) as s:
        def send(body, length):
            status, _, answer = s.request("POST", "/v2/models/id_f32/infer", body, ["Inference-Header-Content-Length: %s" % length])
            assert isinstance(json.loads(answer).get("error", ""), str)
            return status
        assert send(head + b"x" * 8, len(head)) == 200
        for body, length in ((head + b"x" * 7, len(head)), (head + b"x" * 9, len(head)), (head + b"x" * 8, len(head) - 1), (head + b"x" * 8, len(head) + 1),
                             (head, len(head) + 1), (head, 10**6), (head, "-1"), (head, "x"), (head, "99999999999999999999999"), (head, ""), (head, "1 2"),
                             (head + b"x" * 8, len(head) + 8)):
            assert send(body, length) == 400, length
        huge = dict(part, parameters={"binary_data_size": 2**63 - 1})
        body = json.dumps({"inputs": [huge]}).encode()
        assert send(body + b"x" * 8, len(body)) == 400
        two = json.dumps({"inputs": [part, dict(part, name="z", parameters={"binary_data_size": 2**63 - 1})]}).encode()
        assert send(two + b"x" * 16, len(two)) == 400


def raw_binary_requests():
    with Server(config(PICTURES, types=("f32", "string"))) as s:
        raw = struct.pack("<4f", 1, 2, 3, 4)

        def send(model, body, *headers):
            status, head, answer = s.request("POST", "/v2/models/%s/infer" % model, body, ["Inference-Header-Content-Length: 0"] + list(headers))
            n = int(head.get("inference-header-content-length", len(answer)))
            return status, json.loads(answer[:n]), answer[n:]
        status, got, tail = send("id_f32", raw)
        assert status == 200 and tail == raw and got["outputs"][0]["shape"] == [2, 2], got
        status, got, tail = send("id_f32", raw, "Accept: application/json")
        assert status == 200 and not tail and got["outputs"][0]["data"] == [1, 2, 3, 4], got
        assert send("id_f32", raw[:-1])[0] == 400
        status, got, tail = send("cls", png(), "Accept: application/json")
        assert status == 200 and [o["name"] for o in got["outputs"]] == ["label", "index", "score", "n_items"], got
        status, got, tail = send("cls", gzip.compress(png()), "Content-Encoding: gzip", "Accept: application/json")
        assert status == 200 and got["outputs"][0]["shape"] == [3], got
        assert send("cls", b"")[0] == 400
        assert send("id_f32", b"")[0] in (200, 400)


def pictures_as_json():
    with Server(config(PICTURES)) as s:
        def ask(pictures, **more):
            data = [base64.b64encode(p).decode() for p in pictures]
            return infer(s, "cls", {"inputs": [{"name": "image", "shape": [len(data)], "datatype": "BYTES", "parameters": {"content_type": "base64"},
                                                "data": data}], **more})
        status, _, got, _ = ask([png(), png(9, 9), png(10, 10)])
        by_name = {o["name"]: o for o in got["outputs"]}
        assert status == 200 and by_name["n_items"]["data"] == [3, 3, 3] and by_name["score"]["shape"] == [9], got
        status, _, got, _ = ask([png()], outputs=[{"name": "score", "parameters": {"classification": 2}}, {"name": "n_items"}])
        assert status == 200 and got["outputs"][0]["datatype"] == "BYTES" and got["outputs"][0]["shape"] == [2], got
        assert [o["name"] for o in got["outputs"]] == ["score", "n_items"], got
        assert all(len(c.split(":")) == 3 for c in got["outputs"][0]["data"]), got
        status, _, got, _ = ask([png(), b"nothing", png()])
        assert status in (415, 422) and got["error"].startswith("picture 1:"), got
        assert ask([])[0] == 400 and ask([png()] * 65)[0] == 413
        assert ask([png()], outputs=[{"name": "label", "parameters": {"classification": 2}}])[0] == 400
        wrong = {"inputs": [{"name": "picture", "shape": [1], "datatype": "BYTES", "data": ["x"]}]}
        status, _, got, _ = infer(s, "cls", wrong)
        assert status == 400 and "image" in got["error"], got
        wrong["inputs"][0].update(name="image", parameters={"content_type": "base64"}, data=["%%%"])
        assert infer(s, "cls", wrong)[0] == 400


def compressed_bodies():
    with Server(config(server="max_body_bytes: 1MiB")) as s:
        body = json.dumps(one(list(range(2000)), (1000, 2))).encode()
        raw_deflate = zlib.compressobj(wbits=-15)
        for name, data in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body)), ("deflate", raw_deflate.compress(body) + raw_deflate.flush()),
                           ("gzip", gzip.compress(body[:100]) + gzip.compress(body[100:])), ("identity", body)):
            status, _, got, _ = infer(s, "id_f32", data, ["Content-Encoding: " + name])
            assert status == 200 and got["outputs"][0]["data"] == list(range(2000)), (name, got)
        for name, data, want in (("br", body, 415), ("gzip", body, 422), ("gzip", gzip.compress(body)[:-1], 422), ("gzip", gzip.compress(body) + b"x", 422),
                                 ("gzip", b"", 422), ("deflate", zlib.compress(body)[:-1], 422), ("gzip, gzip", body, 415),
                                 ("gzip", gzip.compress(b" " * (1 << 20) + b"{}"), 413), ("gzip", gzip.compress(bytes(200 << 20)), 413)):
            status, _, answer = s.request("POST", "/v2/models/id_f32/infer", data, ["Content-Encoding: " + name])
            assert status == want and isinstance(json.loads(answer)["error"], str), (name, status, answer)
        for accept, want in (("gzip", "gzip"), ("deflate", "deflate"), ("deflate, gzip", "gzip"), ("gzip;q=0", None), ("br", None), ("*", "gzip"),
                             ("deflate;q=1.0, gzip;q=0.5", "deflate"), ("", None)):
            status, head, answer = s.request("POST", "/v2/models/id_f32/infer", body, ["Accept-Encoding: " + accept])
            assert status == 200 and head.get("content-encoding") == want, (accept, head)
            plain = gzip.decompress(answer) if want == "gzip" else zlib.decompress(answer) if want else answer
            assert json.loads(plain)["outputs"][0]["data"] == list(range(2000))
        raw = struct.pack("<2000f", *range(2000))
        for accept, want in (("gzip", "gzip"), ("gzip, deflate", None)):
            status, head, answer = s.request("POST", "/v2/models/id_f32/infer", raw, ["Inference-Header-Content-Length: 0", "Accept-Encoding: " + accept])
            assert status == 200 and head.get("content-encoding") == want, (accept, head)
            assert (gzip.decompress(answer) if want else answer).endswith(raw)


def deadlines_and_priorities():
    slow = FAKE.format(name="slow", fake="delay_ms: 400ms", more="warmup: false")
    with Server(config(slow)) as s:
        start = time.time()
        status, _, got, _ = infer(s, "slow", one([1, 2], parameters={"timeout": 100500}))
        took = time.time() - start
        assert status == 504 and 0.08 < took < 0.1 + 0.5 * SLOW, (status, took, got)
        done = []
        lock = threading.Lock()

        def ask(name, priority):
            assert infer(s, "slow", one([1, 2], parameters={"priority": priority}))[0] == 200
            with lock:
                done.append(name)
        threads = []
        for name, priority in (("first", 0), ("low", 20), ("default", 0), ("high", 1)):
            threads.append(threading.Thread(target=ask, args=(name, priority)))
            threads[-1].start()
            time.sleep(0.05 * SLOW if SLOW < 3 else 0.08)
        for t in threads:
            t.join()
        assert sorted(done) == ["default", "first", "high", "low"], done
        if SLOW == 1:
            assert done.index("high") < done.index("low"), done


def a_full_queue():
    slow = FAKE.format(name="slow", fake="delay_ms: 400ms", more="queue_size: 1\n    ready_rows: 1")
    for server, want in (("", 429), ("triton_compatible: true", 503)):
        with Server(config(slow, server)) as s:
            body = json.dumps(one([1, 2])).encode()
            socks = []
            for _ in range(8):
                c = s.connect()
                c.sendall(b"POST /v2/models/slow/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                socks.append(c)
                time.sleep(0.01)
            answers = [read_response(c) for c in socks]
            assert {a[0] for a in answers} == {200, want}, [a[0] for a in answers]
            head = next(a[1] for a in answers if a[0] == want)
            assert int(head["retry-after"]) >= 1 and int(head["retry-after-ms"]) >= 1, head
            for c in socks:
                c.close()


def a_client_that_leaves_frees_its_place():
    slow = FAKE.format(name="slow", fake="delay_ms: 300ms", more="queue_size: 8")
    with Server(config(slow + PICTURES)) as s:
        body = json.dumps(one([1, 2])).encode()
        for _ in range(3):
            c = s.connect()
            c.sendall(b"POST /v2/models/slow/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            time.sleep(0.05)
            c.close()
        deadline = time.time() + 10 * SLOW
        while time.time() < deadline:
            stats = s.get("/v1/models/slow")[1]["stats"]
            if stats["cancelled"] == 3 and stats["queued"] == 0:
                break
            time.sleep(0.05)
        assert stats["cancelled"] == 3, stats
        big = json.dumps(one([0.5] * 400000, (200000, 2))).encode()  # parsed on a worker thread: leave while it does
        for wait in (0, 0.001, 0.005, 0.02):
            c = s.connect()
            c.sendall(b"POST /v2/models/id_f32/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(big), big))
            time.sleep(wait)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.close()
        assert infer(s, "id_f32", one([1, 2]))[0] == 200


def pipelined_and_large():
    with Server(config()) as s:
        c = s.connect()
        bodies = [json.dumps(one([i, i + 1], id=str(i))).encode() for i in range(30)]
        c.sendall(b"".join(b"POST /v2/models/id_f32/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n%s" %
                           (len(b), b"Connection: close\r\n" if i == 29 else b"", b) for i, b in enumerate(bodies)))
        ok, data = closed(c)
        assert ok and data.count(b"HTTP/1.1 200") == 30 and b'"id":"29"' in data, data[:300]
        c.close()
        raw = os.urandom(1 << 20)
        raw = bytes(b if i % 4 != 3 else 63 for i, b in enumerate(raw)) * 16  # 16 MiB of finite floats
        request = {"inputs": [{"name": "x", "shape": [len(raw) // 8, 2], "datatype": "FP32", "parameters": {"binary_data_size": len(raw)}}],
                   "parameters": {"binary_data_output": True}}
        status, _, got, tail = infer(s, "id_f32", request, tail=raw)
        assert status == 200 and tail == raw, got
        body = json.dumps({"inputs": [{"name": "x", "shape": [100000, 2], "datatype": "FP32", "data": [0.5] * 200000}]}).encode()
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 50000]), body[i:i + 50000]) for i in range(0, len(body), 50000)) + b"0\r\n\r\n"
        status, _, answer = s.request("POST", "/v2/models/id_f32/infer", chunked, ["Transfer-Encoding: chunked"])
        assert status == 200 and json.loads(answer)["outputs"][0]["data"] == [0.5] * 200000


def repository_by_hand():
    def post(s, path, body=b"", headers=()):
        status, _, answer = s.request("POST", "/v2/repository/" + path, body, headers)
        return status, json.loads(answer) if answer else None
    more = FAKE.format(name="other", fake="", more="")
    with Server(config(more)) as s:
        status, index = post(s, "index")
        assert status == 200 and index == [{"name": n, "version": "1", "state": "READY", "reason": ""} for n in ("id_f32", "other")], index
        assert post(s, "models/other/unload", b'{"parameters":{"unload_dependents":true}}') == (200, None)
        assert post(s, "index")[1][1]["state"] == "UNAVAILABLE" and len(post(s, "index", b'{"ready":true}')[1]) == 1
        assert s.get("/v2/models/other/ready")[0] == 404
        assert post(s, "models/other/unload")[0] == 200  # again: nothing to do
        assert post(s, "models/other/load")[0] == 200 and s.get("/v2/models/other/ready")[0] == 200
        mine = s.get("/v2/models/other/config")[1]
        assert post(s, "models/other/load", json.dumps({"parameters": {"config": json.dumps(mine)}}).encode())[0] == 200  # our own answer comes back
        for bad in ({"name": "a"}, {"backend": "onnxruntime"}, {"default_model_filename": "/etc/passwd"}, {"model_warmup": []}):
            status, answer = post(s, "models/other/load", json.dumps({"parameters": {"config": json.dumps(bad)}}).encode())
            assert status == 403 and answer["error"], (bad, status, answer)
        for bad in (b"{", b"[]", b'{"parameters":{"config":1}}', b'{"parameters":{"config":"{"}}', b'{"parameters":{"x":1}}',
                    json.dumps({"parameters": {"config": '{"max_batch_size": 100000}'}}).encode()):
            assert post(s, "models/other/load", bad)[0] == 400, bad
        assert post(s, "models/none/load")[0] == 404 and post(s, "models/none/unload")[0] == 404
        for headers in (["Origin: http://localhost"], ["Origin: null"]):
            assert post(s, "models/other/unload", headers=headers)[0] == 403
        c = s.connect()
        c.sendall(b"POST /v2/repository/models/other/unload HTTP/1.1\r\nHost: weft.example.com\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        assert read_response(c)[0] == 403  # by a name that is not of this machine
        c.close()
        assert s.get("/v2/models/other/ready")[0] == 200
    for mode, want in (("off", 403), ("open", 200)):
        with Server(config(more, "admin: " + mode)) as s:
            assert post(s, "models/other/unload", headers=["Origin: http://x"])[0] == want


def loads_while_requests_run():
    with Server(config()) as s:
        stop, failures = threading.Event(), []

        def ask():
            while not stop.is_set():
                status, _, got, _ = infer(s, "id_f32", one([1, 2]))
                if status != 200:
                    failures.append((status, got))
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for t in threads:
            t.start()
        for _ in range(5):
            assert s.request("POST", "/v2/repository/models/id_f32/load")[0] == 200
        stop.set()
        for t in threads:
            t.join()
        assert not failures, failures[:3]


def statistics_are_true():
    with Server(config()) as s:
        for _ in range(3):
            assert infer(s, "id_f32", one([1, 2, 3, 4], (2, 2)))[0] == 200
        assert infer(s, "id_f32", one([1, 2, 3], (1, 3)))[0] == 400
        status, got = s.get("/v2/models/id_f32/stats")
        st = got["model_stats"][0]
        assert status == 200 and st["inference_stats"]["success"]["count"] == 3, st
        assert st["inference_stats"]["success"]["ns"] == sum(st["inference_stats"][k]["ns"] for k in ("queue", "compute_input", "compute_infer", "compute_output"))
        assert abs(st["last_inference"] / 1000 - time.time()) < 60, st


if __name__ == "__main__":
    if not os.path.exists(RUNTIME):
        print("skipped: no ONNX Runtime; script/fetch gets it")
        sys.exit(77)
    main([numbers_arrive_exactly, shapes_and_nesting, order_of_members_does_not_matter, wrong_requests, statuses_of_paths, versions_ids_and_headers,
          binary_both_ways, wrong_splits, raw_binary_requests, pictures_as_json, compressed_bodies, deadlines_and_priorities, a_full_queue,
          a_client_that_leaves_frees_its_place, pipelined_and_large, repository_by_hand, loads_while_requests_run, statistics_are_true])
