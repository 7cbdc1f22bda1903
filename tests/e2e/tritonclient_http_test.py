"""The official Triton client over HTTP against the real program: every dtype, JSON, binary, raw, classification, timeouts, metadata, configuration,
statistics, repository, compression, asynchronous calls. Skipped (77) when the package is not installed (script/lib/peers.sh)."""
import asyncio
import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(os.environ.get("WEFT_CACHE", os.path.join(ROOT, ".cache")), "peers-python", "%d.%d" % sys.version_info[:2])
sys.path.insert(1, PEERS)
try:
    import numpy as np
    import tritonclient.http as http
    import tritonclient.http.aio as aio
    from tritonclient.utils import InferenceServerException
except ImportError:
    print("skipped: no tritonclient; script/lib/peers.sh installs it")
    sys.exit(77)
from weft_process import Server, main, png  # noqa: E402

MODELS = os.path.join(ROOT, "tests", "data", "models")
RUNTIME = os.environ.get("WEFT_ONNXRUNTIME", os.path.join(ROOT, ".cache", "runtime", "onnxruntime", "libonnxruntime.so.1"))
if not os.path.exists(RUNTIME):
    print("skipped: no ONNX Runtime; script/fetch gets it")
    sys.exit(77)
os.environ["WEFT_ONNXRUNTIME"] = RUNTIME

NUMPY = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
         "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
OIP = {"bool": "BOOL", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64",
       "f16": "FP16", "f32": "FP32", "f64": "FP64", "string": "BYTES"}

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
SLOW = """
  - name: slow
    backend: fake
    path: m.fake
    queue_size: 1
    ready_rows: 1
    instances: 1
    fake:
      inputs: [{name: x, dtype: FP32, shape: [-1, 2]}]
      outputs: [{name: y, dtype: FP32, shape: [-1, 2]}]
      delay_ms: 400ms
"""


def config(extra="", server=""):
    models = "".join("  - {name: id_%s, path: '%s'}\n" % (t, os.path.join(MODELS, "identity_%s.onnx" % t)) for t in OIP)
    models += "  - {name: add, path: '%s'}\n" % os.path.join(MODELS, "add.onnx")
    return "server: {%s}\nlog: {level: warn}\nmodels:\n%s%s" % (server, models, extra)


def client(s, **more):
    return http.InferenceServerClient("127.0.0.1:%d" % s.port, **more)


def extremes(t):
    """Values of one type that show a wrong width, sign or rounding."""
    if t == "bool":
        return np.array([[True, False], [False, True]])
    dtype = NUMPY[t]
    if t.startswith("f"):
        info = np.finfo(dtype)
        return np.array([[info.max, info.min], [info.tiny, 1 / 3]], dtype=dtype)
    info = np.iinfo(dtype)
    return np.array([[info.max, info.min], [info.max - 1, 1]], dtype=dtype)


def one_input(data, datatype, name="x", **more):
    i = http.InferInput(name, list(data.shape), datatype)
    i.set_data_from_numpy(data, **more)
    return i


def same(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype, (a, b)
    assert a.tobytes() == b.tobytes() if a.dtype != np.object_ else (a == b).all(), (a, b)


def every_dtype_binary_and_json():
    with Server(config()) as s, client(s) as c:
        for t in NUMPY:
            data = extremes(t)
            for binary_in in (True, False):
                if t == "f16" and not binary_in:
                    continue  # the client itself refuses FP16 as JSON; v2_test.py sends it
                for binary_out in (True, False):
                    r = c.infer("id_" + t, [one_input(data, OIP[t], binary_data=binary_in)], request_id="r-%s" % t,
                                outputs=[http.InferRequestedOutput("y", binary_data=binary_out)])
                    same(r.as_numpy("y"), data)
                    assert r.get_response()["id"] == "r-" + t and r.get_output("y")["datatype"] == OIP[t]
        words = np.array([["a\u00e9\U0001f600", ""], ["\x00b", "quote\" \\ \n"]], dtype=np.object_)
        as_bytes = np.array([[w.encode() for w in row] for row in words], dtype=np.object_)
        for binary_in in (True, False):
            for binary_out in (True, False):
                r = c.infer("id_string", [one_input(words, "BYTES", binary_data=binary_in)],
                            outputs=[http.InferRequestedOutput("y", binary_data=binary_out)])
                got = r.as_numpy("y")
                if not binary_out:
                    got = np.array([[w.encode() if isinstance(w, str) else w for w in row] for row in got], dtype=np.object_)
                same(got, as_bytes)

def not_a_number():
    with Server(config(server="triton_compatible: true")) as s, client(s) as c:
        weird = np.array([[np.nan, -0.0], [np.inf, -np.inf]], dtype=np.float32)
        same(c.infer("id_f32", [one_input(weird, "FP32")]).as_numpy("y"), weird)
        r = c.infer("id_f32", [one_input(weird, "FP32")], outputs=[http.InferRequestedOutput("y", binary_data=False)]).as_numpy("y")
        assert np.isnan(r[0, 0]) and r[1, 0] == np.inf and r[1, 1] == -np.inf, r


def bf16_binary():
    with Server(config("  - {name: id_bf16, path: '%s'}\n" % os.path.join(MODELS, "identity_bf16.onnx"))) as s, client(s) as c:
        data = np.array([[1.0, -2.5], [3.0, 0.0]], dtype=np.float32)
        try:  # newer clients want this package for the type
            import ml_dtypes
            data = data.astype(ml_dtypes.bfloat16)
        except ImportError:
            pass
        i = http.InferInput("x", [2, 2], "BF16")
        i.set_data_from_numpy(data)
        got = c.infer("id_bf16", [i]).as_numpy("y")
        assert (got.astype(np.float32) == data.astype(np.float32)).all(), got


def two_inputs_and_sizes():
    with Server(config()) as s, client(s) as c:
        meta = c.get_model_metadata("add")
        assert [i["datatype"] for i in meta["inputs"]] == ["FP32", "FP32"], meta
        rng = np.random.default_rng(1)
        for rows in (1, 3, 1000, 200000):
            a, b = (rng.standard_normal([rows if d < 0 else d for d in i["shape"]]).astype(np.float32) for i in meta["inputs"])
            r = c.infer("add", [one_input(a, "FP32", meta["inputs"][0]["name"]), one_input(b, "FP32", meta["inputs"][1]["name"])])
            same(r.as_numpy(meta["outputs"][0]["name"]), a + b)


def compression_both_ways():
    with Server(config()) as s, client(s) as c:
        data = np.arange(40000, dtype=np.float32).reshape(-1, 2)
        for way in ("gzip", "deflate"):
            for binary in (True, False):
                r = c.infer("id_f32", [one_input(data, "FP32", binary_data=binary)], request_compression_algorithm=way,
                            response_compression_algorithm=way, outputs=[http.InferRequestedOutput("y", binary_data=binary)])
                same(r.as_numpy("y"), data)


def classification():
    with Server(config()) as s, client(s) as c:
        data = np.array([[0.25, 0.75], [9.5, 1.5]], dtype=np.float32)
        for binary in (True, False):
            r = c.infer("id_f32", [one_input(data, "FP32")], outputs=[http.InferRequestedOutput("y", binary_data=binary, class_count=2)])
            got = [[w.decode() if isinstance(w, bytes) else w for w in row] for row in r.as_numpy("y")]
            assert got == [["0.750000:1", "0.250000:0"], ["9.500000:0", "1.500000:1"]], got
        whole = np.array([[-5, 2**62]], dtype=np.int64)
        r = c.infer("id_i64", [one_input(whole, "INT64")], outputs=[http.InferRequestedOutput("y", class_count=1)])
        assert r.as_numpy("y").tolist() == [[b"4611686018427387904:1"]], r.as_numpy("y")


def pictures_in_typed_tensors_out():
    with Server(config(PICTURES)) as s, client(s) as c:
        meta = c.get_model_metadata("cls")
        assert meta["inputs"] == [{"name": "image", "datatype": "BYTES", "shape": [-1]}], meta
        assert [o["name"] for o in meta["outputs"]] == ["label", "index", "score", "n_items"], meta
        two = np.array([png(), png(20, 10)], dtype=np.object_)
        r = c.infer("cls", [one_input(two[:1], "BYTES", "image")])
        assert r.as_numpy("score").shape == (3,) and r.as_numpy("score").dtype == np.float32
        assert r.as_numpy("index").dtype == np.int32 and r.as_numpy("label").shape == (3,) and r.as_numpy("n_items").tolist() == [3]
        r = c.infer("cls", [one_input(two, "BYTES", "image")])
        assert r.as_numpy("score").shape == (6,) and r.as_numpy("n_items").tolist() == [3, 3]
        r = c.infer("cls", [one_input(two[:1], "BYTES", "image")], outputs=[http.InferRequestedOutput("score", class_count=1)])
        value, index, label = r.as_numpy("score")[0].decode().split(":")
        assert index == "0" and label, r.as_numpy("score")
        for bad in (np.array([b"no picture"], dtype=np.object_), np.array([png(), b""], dtype=np.object_)):
            try:
                c.infer("cls", [one_input(bad, "BYTES", "image")])
                assert False
            except InferenceServerException as e:
                assert e.status() in ("400", "415", "422"), e


def health_metadata_config():
    with Server(config()) as s, client(s) as c:
        assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("add") and c.is_model_ready("add", "1")
        assert not c.is_model_ready("none") and not c.is_model_ready("add", "9")
        server = c.get_server_metadata()
        assert server["name"] == "weft" and "binary_tensor_data" in server["extensions"], server
        meta = c.get_model_metadata("id_f32")
        assert meta["name"] == "id_f32" and meta["versions"] == ["1"] and meta["platform"] == "onnx_onnxv1", meta
        assert meta["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}], meta
        cfg = c.get_model_config("id_f32", "1")
        assert cfg["name"] == "id_f32" and cfg["input"][0]["data_type"] == "TYPE_FP32" and "max_batch_size" in cfg, cfg
        for wrong in (lambda: c.get_model_metadata("none"), lambda: c.get_model_config("id_f32", "7")):
            try:
                wrong()
                assert False
            except InferenceServerException as e:
                assert e.status() == "404" and e.message(), e


def statistics():
    with Server(config()) as s, client(s) as c:
        data = np.zeros((3, 2), np.float32)
        for _ in range(4):
            c.infer("id_f32", [one_input(data, "FP32")])
        one = c.get_inference_statistics("id_f32")["model_stats"]
        assert len(one) == 1 and one[0]["name"] == "id_f32", one
        st = one[0]["inference_stats"]
        assert st["success"]["count"] == 4 and st["success"]["ns"] > 0 and st["fail"]["count"] == 0, st
        parts = sum(st[k]["ns"] for k in ("queue", "compute_input", "compute_infer", "compute_output"))
        assert parts == st["success"]["ns"] and st["compute_infer"]["ns"] > 0, st
        assert one[0]["execution_count"] >= 4 and one[0]["last_inference"] > 1.6e12, one
        assert sum(b["compute_infer"]["count"] for b in one[0]["batch_stats"]) == one[0]["execution_count"], one
        assert len(c.get_inference_statistics()["model_stats"]) == len(OIP) + 1


def repository():
    with Server(config()) as s, client(s) as c:
        def states():
            return {m["name"]: m["state"] for m in c.get_model_repository_index()}
        assert states()["add"] == "READY"
        c.unload_model("add")
        assert not c.is_model_ready("add") and states()["add"] == "UNAVAILABLE"
        c.load_model("add")
        assert c.is_model_ready("add") and states()["add"] == "READY"
        c.load_model("add", config='{"max_batch_size": 4, "instance_group": [{"count": 1}]}')
        assert c.is_model_ready("add")
        for bad, want in ((lambda: c.load_model("none"), "404"), (lambda: c.unload_model("none"), "404"),
                          (lambda: c.load_model("add", config='{"default_model_filename": "/etc/passwd"}'), "403"),
                          (lambda: c.load_model("add", config="{"), "400"),
                          (lambda: c.load_model("add", config="{}", files={"file:1/model.onnx": b"x"}), "403")):
            try:
                bad()
                assert False, want
            except InferenceServerException as e:
                assert e.status() == want, (e, want)
        assert c.is_model_ready("add")


def timeouts_priorities_and_parameters():
    with Server(config(SLOW)) as s, client(s) as c:
        data = [one_input(np.zeros((1, 2), np.float32), "FP32")]
        try:
            c.infer("slow", data, timeout=100000)
            assert False
        except InferenceServerException as e:
            assert e.status() == "504", e
        c.infer("slow", data, timeout=20000000, priority=1, parameters={"anything": "goes", "n": 3, "f": 0.5, "b": True})


def a_full_queue(server, want):
    with Server(config(SLOW, server)) as s, client(s, concurrency=12) as c:
        data = [one_input(np.zeros((1, 2), np.float32), "FP32")]
        pending = [c.async_infer("slow", data) for _ in range(12)]
        seen = set()
        for p in pending:
            try:
                p.get_result()
                seen.add("200")
            except InferenceServerException as e:
                seen.add(e.status())
        assert seen == {"200", want}, seen


def full_queues():
    a_full_queue("", "429")
    a_full_queue("triton_compatible: true", "503")


def asynchronous():
    with Server(config()) as s:
        with client(s, concurrency=4) as c:
            data = [np.full((1, 2), i, np.float32) for i in range(40)]
            pending = [c.async_infer("id_f32", [one_input(d, "FP32")]) for d in data]
            for p, d in zip(pending, data):
                same(p.get_result().as_numpy("y"), d)

        async def many():
            async with aio.InferenceServerClient("127.0.0.1:%d" % s.port) as c:
                got = await asyncio.gather(*[c.infer("id_f32", [one_input(d, "FP32")]) for d in data])
                for g, d in zip(got, data):
                    same(g.as_numpy("y"), d)
                big = np.arange(200000, dtype=np.float32).reshape(-1, 2)
                for binary in (True, False):
                    r = await c.infer("id_f32", [one_input(big, "FP32", binary_data=binary)],
                                      outputs=[http.InferRequestedOutput("y", binary_data=binary)])
                    same(r.as_numpy("y"), big)
        asyncio.run(many())


def generated_bodies():
    """What the client library itself writes and reads without a connection."""
    with Server(config()) as s:
        data = np.array([[1.5, 2.5]], np.float32)
        body, n_json = http.InferenceServerClient.generate_request_body([one_input(data, "FP32")])
        status, head, answer = s.request("POST", "/v2/models/id_f32/infer", body, ["Inference-Header-Content-Length: %d" % n_json])
        assert status == 200, answer
        r = http.InferenceServerClient.parse_response_body(answer, header_length=int(head.get("inference-header-content-length", 0)) or None)
        same(r.as_numpy("y"), data)


def wrong_requests_are_exceptions():
    with Server(config()) as s, client(s) as c:
        data = np.zeros((1, 2), np.float32)
        cases = [("id_f32", [one_input(data, "FP32", "wrong")], "400"), ("id_f64", [one_input(data, "FP32")], "400"),
                 ("id_f32", [one_input(np.zeros((1, 3), np.float32), "FP32")], "400"), ("id_f32", [one_input(data, "FP32")] * 2, "400"),
                 ("none", [one_input(data, "FP32")], "404")]
        for model, inputs, want in cases:
            try:
                c.infer(model, inputs)
                assert False, model
            except InferenceServerException as e:
                assert e.status() == want and e.message(), (model, e)


if __name__ == "__main__":
    assert glob.glob(os.path.join(MODELS, "identity_*.onnx"))
    main([every_dtype_binary_and_json, not_a_number, bf16_binary, two_inputs_and_sizes, compression_both_ways, classification, pictures_in_typed_tensors_out,
          health_metadata_config, statistics, repository, timeouts_priorities_and_parameters, full_queues, asynchronous, generated_bodies,
          wrong_requests_are_exceptions])
