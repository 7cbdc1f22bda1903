"""gRPC by the official clients (tritonclient, grpcio) against the real program: every dtype raw and typed, metadata, configuration, statistics, repository,
health, cancel, deadline, asynchronous calls, limits, unknown methods, compression, drain. Skipped (77) when the packages are not installed
(script/lib/peers.sh)."""
import asyncio
import gc
import os
import queue
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(os.environ.get("WEFT_CACHE", os.path.join(ROOT, ".cache")), "peers-python", "%d.%d" % sys.version_info[:2])
sys.path.insert(1, PEERS)
try:
    import grpc
    import numpy as np
    import tritonclient.grpc as triton
    import tritonclient.grpc.aio as aio
    from google.protobuf import json_format
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from tritonclient.grpc import service_pb2 as pb
    from tritonclient.grpc import service_pb2_grpc
    from tritonclient.utils import InferenceServerException
except ImportError as e:
    print("skipped: %s; script/lib/peers.sh installs it" % e)
    sys.exit(77)
from weft_process import PROGRAM, SLOW, Server, main, png  # noqa: E402

MODELS = os.path.join(ROOT, "tests", "data", "models")
RUNTIME = os.environ.get("WEFT_ONNXRUNTIME", os.path.join(ROOT, ".cache", "runtime", "onnxruntime", "libonnxruntime.so.1"))
if not os.path.exists(RUNTIME):
    print("skipped: no ONNX Runtime; script/fetch gets it")
    sys.exit(77)
os.environ["WEFT_ONNXRUNTIME"] = RUNTIME
CODE = grpc.StatusCode
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
OIP = {"bool": "BOOL", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64",
       "f16": "FP16", "f32": "FP32", "f64": "FP64", "string": "BYTES"}
NUMPY = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
         "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
FIELD = {"bool": "bool_contents", "i8": "int_contents", "i16": "int_contents", "i32": "int_contents", "i64": "int64_contents", "u8": "uint_contents",
         "u16": "uint_contents", "u32": "uint_contents", "u64": "uint64_contents", "f32": "fp32_contents", "f64": "fp64_contents",
         "string": "bytes_contents"}
FAKE = """
  - name: {name}
    backend: fake
    path: m.fake
    queue_size: {queue_size}
    ready_rows: 1
    instances: 1
    fake:
      inputs: [{{name: x, dtype: FP32, shape: [-1, 2]}}]
      outputs: [{{name: y, dtype: FP32, shape: [-1, 2]}}]
      delay_ms: {delay}
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


def slow(delay="400ms", queue_size=64):
    return FAKE.format(name="slow", delay=delay, queue_size=queue_size)


def config(extra="", server="", types=("f32",)):
    models = "".join("  - {name: id_%s, path: '%s'}\n" % (t, os.path.join(MODELS, "identity_%s.onnx" % t)) for t in types)
    models += "  - {name: add, path: '%s'}\n" % os.path.join(MODELS, "add.onnx")
    return "server: {%s}\nlog: {level: warn}\nmodels:\n%s%s" % (server, models, extra)


def client(s):
    return triton.InferenceServerClient("127.0.0.1:%d" % s.grpc_port)


class Stub:
    """The plain generated stub, for what Triton's client does not show."""

    def __init__(self, s, options=()):
        self.channel = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port, options=options)

    def __enter__(self):
        return service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def __exit__(self, *_):
        self.channel.close()


def one_input(data, datatype="FP32", name="x"):
    i = triton.InferInput(name, list(data.shape), datatype)
    i.set_data_from_numpy(data)
    return i


def request(model, data, datatype="FP32", name="x", raw=True):
    r = pb.ModelInferRequest(model_name=model)
    r.inputs.add(name=name, datatype=datatype, shape=data.shape)
    if raw:
        r.raw_input_contents.append(data.tobytes())
    return r


def same(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype, (a, b)
    assert a.tobytes() == b.tobytes() if a.dtype != np.object_ else (a == b).all(), (a, b)


def extremes(t):
    if t == "bool":
        return np.array([[True, False], [False, True]])
    if t.startswith("f"):
        info = np.finfo(NUMPY[t])
        return np.array([[info.max, info.min], [info.tiny, 1 / 3]], dtype=NUMPY[t])
    info = np.iinfo(NUMPY[t])
    return np.array([[info.max, info.min], [info.max - 1, 1]], dtype=NUMPY[t])


def refused(call, code, word=""):
    try:
        call()
    except grpc.RpcError as e:
        assert e.code() == code and word in e.details() and e.details(), (e, code, word)
        return e
    except InferenceServerException as e:
        assert e.status() == "StatusCode." + code.name and word in e.message() and e.message(), (e, code, word)
        return e
    raise AssertionError("no error; expected %s" % code)


def every_dtype_raw():
    with Server(config(types=OIP)) as s, client(s) as c:
        for t in NUMPY:
            data = extremes(t)
            r = c.infer("id_" + t, [one_input(data, OIP[t])], request_id="r-" + t)
            same(r.as_numpy("y"), data)
            got = r.get_response()
            assert got.id == "r-" + t and got.model_name == "id_" + t and got.model_version == "1" and got.outputs[0].datatype == OIP[t], got
        words = np.array([["a\u00e9\U0001f600", ""], ["\x00b", "quote\" \\ \n"]], dtype=np.object_)
        r = c.infer("id_string", [one_input(words, "BYTES")])
        same(r.as_numpy("y"), np.array([[w.encode() for w in row] for row in words], dtype=np.object_))


def every_dtype_typed():
    """Google's library writes the repeated fields; the answer is raw."""
    with Server(config(types=OIP)) as s, Stub(s) as stub:
        for t in FIELD:
            data = extremes(t) if t != "string" else np.array([[b"a\xc3\xa9", b""], [b"\0b", b"x" * 300]], dtype=np.object_)
            r = request("id_" + t, data, OIP[t], raw=False)
            getattr(r.inputs[0].contents, FIELD[t]).extend([v if t == "string" else v.item() for v in data.flatten()])
            got = stub.ModelInfer(r)
            want = data.tobytes() if t != "string" else b"".join(len(v).to_bytes(4, "little") + v for v in data.flatten())
            assert got.raw_output_contents[0] == want, (t, got)
        big = np.arange(100000, dtype=np.int64).reshape(-1, 2) - 50000
        r = request("id_i64", big, "INT64", raw=False)
        r.inputs[0].contents.int64_contents.extend(big.flatten().tolist())
        assert stub.ModelInfer(r).raw_output_contents[0] == big.tobytes()
        for t, field, values in (("i8", "int_contents", [128, 0]), ("u8", "uint_contents", [256, 0]), ("i16", "int_contents", [-32769, 0]),
                                 ("u16", "uint_contents", [65536, 0])):
            r = request("id_" + t, np.zeros((1, 2)), OIP[t], raw=False)
            getattr(r.inputs[0].contents, field).extend(values)
            refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "does not fit")
        r = request("id_f16", np.zeros((1, 2)), "FP16", raw=False)
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "raw_input_contents")


def wrong_requests_have_codes():
    with Server(config()) as s, client(s) as c, Stub(s) as stub:
        data = np.zeros((1, 2), np.float32)
        refused(lambda: c.infer("none", [one_input(data)]), CODE.NOT_FOUND, "none")
        refused(lambda: c.infer("id_f32", [one_input(data)], model_version="9"), CODE.NOT_FOUND, "version")
        refused(lambda: c.infer("id_f32", [one_input(data, name="wrong")]), CODE.INVALID_ARGUMENT)
        refused(lambda: c.infer("id_f32", [one_input(np.zeros((1, 3), np.float32))]), CODE.INVALID_ARGUMENT)
        refused(lambda: c.infer("id_f32", [one_input(data)], outputs=[triton.InferRequestedOutput("z")]), CODE.INVALID_ARGUMENT, "z")
        r = request("id_f32", data)
        r.raw_input_contents.append(b"12345678")
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "2 raw_input_contents")
        r = request("id_f32", data)
        r.inputs[0].contents.fp32_contents.extend([1, 2])
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "contents")
        r = request("id_f32", data, raw=False)
        r.inputs[0].contents.fp32_contents.extend([1, 2, 3])
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "3 came")
        r = request("id_f32", data, raw=False)
        r.inputs[0].contents.fp64_contents.extend([1, 2])
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "another type")
        r = request("id_f32", data)
        r.raw_input_contents[0] = b"1234567"
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT)
        r = request("id_f32", data, "FP99")
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "FP99")
        r = request("id_f32", data)
        r.inputs[0].shape[0] = -1
        refused(lambda: stub.ModelInfer(r), CODE.INVALID_ARGUMENT, "negative")
        r = request("id_f32", data)
        r.inputs[0].parameters["shared_memory_region"].string_param = "r"
        refused(lambda: stub.ModelInfer(r), CODE.UNIMPLEMENTED, "shared memory")
        assert stub.ModelInfer(request("id_f32", data)).outputs[0].name == "y"


def sizes_and_two_inputs():
    with Server(config()) as s, client(s) as c:
        rng = np.random.default_rng(1)
        for rows in (1, 3, 1000, 1000003):
            a = rng.standard_normal((rows, 4)).astype(np.float32)
            b = rng.standard_normal(4).astype(np.float32)
            r = c.infer("add", [one_input(a, name="x"), one_input(b, name="b")])
            same(r.as_numpy("y"), a + b)


def compressed_requests():
    with Server(config(server="max_body_bytes: 1MiB")) as s, client(s) as c:
        data = np.arange(40000, dtype=np.float32).reshape(-1, 2)
        for way in ("gzip", "deflate"):
            same(c.infer("id_f32", [one_input(data)], compression_algorithm=way).as_numpy("y"), data)
        bomb = np.zeros((1 << 20, 2), np.float32)  # 8 MiB of zeros are 8 KiB
        refused(lambda: c.infer("id_f32", [one_input(bomb)], compression_algorithm="gzip"), CODE.RESOURCE_EXHAUSTED, "decompressed")
        same(c.infer("id_f32", [one_input(data)]).as_numpy("y"), data)


def metadata_config_health():
    with Server(config(PICTURES)) as s, client(s) as c:
        assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("add") and c.is_model_ready("add", "1")
        assert not c.is_model_ready("none") and not c.is_model_ready("add", "9")
        server = c.get_server_metadata()
        assert server.name == "weft" and server.version and "statistics" in server.extensions, server
        meta = c.get_model_metadata("id_f32")
        assert meta.name == "id_f32" and list(meta.versions) == ["1"] and meta.platform == "onnx_onnxv1", meta
        assert meta.inputs[0].name == "x" and meta.inputs[0].datatype == "FP32" and list(meta.inputs[0].shape) == [-1, 2], meta
        assert [o.name for o in c.get_model_metadata("cls").outputs] == ["label", "index", "score", "n_items"]
        over_http = s.get("/v2/models/id_f32/config")[1]
        cfg = json_format.MessageToDict(c.get_model_config("id_f32").config, preserving_proto_field_name=True)
        assert cfg["name"] == over_http["name"] and cfg["input"][0]["data_type"] == over_http["input"][0]["data_type"] == "TYPE_FP32", cfg
        assert [int(d) for d in cfg["input"][0]["dims"]] == over_http["input"][0]["dims"], (cfg, over_http)
        assert [int(d) for d in cfg["output"][0]["dims"]] == over_http["output"][0]["dims"] and cfg["backend"] == "onnxruntime", cfg
        assert cfg["instance_group"][0]["kind"] == over_http["instance_group"][0]["kind"] and cfg.get("max_batch_size", 0) == over_http["max_batch_size"]
        assert cfg["parameters"]["executor"]["string_value"] == "tensor" and cfg["version_policy"] == {"latest": {"num_versions": 1}}, cfg
        refused(lambda: c.get_model_metadata("none"), CODE.NOT_FOUND)
        refused(lambda: c.get_model_config("id_f32", "7"), CODE.NOT_FOUND)
        channel = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port)
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", "inference.GRPCInferenceService", "id_f32"):
            assert health.Check(health_pb2.HealthCheckRequest(service=name)).status == health_pb2.HealthCheckResponse.SERVING
        refused(lambda: health.Check(health_pb2.HealthCheckRequest(service="none")), CODE.NOT_FOUND)
        channel.close()


def statistics():
    with Server(config(FAKE.format(name="batch", delay="0", queue_size=64))) as s, client(s) as c:
        data = np.zeros((3, 2), np.float32)
        for _ in range(4):
            c.infer("id_f32", [one_input(data)])
        one = c.get_inference_statistics("id_f32").model_stats
        assert len(one) == 1 and one[0].name == "id_f32", one
        st = one[0].inference_stats
        assert st.success.count == 4 and st.success.ns > 0 and st.fail.count == 0, st
        assert st.queue.ns + st.compute_input.ns + st.compute_infer.ns + st.compute_output.ns == st.success.ns, st
        assert one[0].execution_count >= 4 and one[0].last_inference > 1.6e12, one
        over_http = s.get("/v2/models/id_f32/stats")[1]["model_stats"][0]
        for k in ("success", "fail", "queue", "compute_input", "compute_infer", "compute_output"):
            d = getattr(st, k)
            assert {"count": d.count, "ns": d.ns} == over_http["inference_stats"][k], (k, st, over_http)
        assert [b.batch_size for b in one[0].batch_stats] == [b["batch_size"] for b in over_http["batch_stats"]]
        assert [b.compute_infer.ns for b in one[0].batch_stats] == [b["compute_infer"]["ns"] for b in over_http["batch_stats"]]
        assert len(c.get_inference_statistics().model_stats) == 3
        refused(lambda: c.get_inference_statistics("none"), CODE.NOT_FOUND)


def repository():
    with Server(config()) as s, client(s) as c:
        def states():
            return {m.name: m.state for m in c.get_model_repository_index().models}
        assert states() == {"add": "READY", "id_f32": "READY"}
        c.unload_model("add")
        assert not c.is_model_ready("add") and states()["add"] == "UNAVAILABLE"
        c.load_model("add")
        assert c.is_model_ready("add") and states()["add"] == "READY"
        c.load_model("add", config='{"max_batch_size": 4, "instance_group": [{"count": 1}]}')
        refused(lambda: c.load_model("none"), CODE.NOT_FOUND)
        refused(lambda: c.unload_model("none"), CODE.NOT_FOUND)
        refused(lambda: c.load_model("add", config='{"default_model_filename": "/etc/passwd"}'), CODE.PERMISSION_DENIED)
        refused(lambda: c.load_model("add", config="{"), CODE.INVALID_ARGUMENT)
        refused(lambda: c.load_model("add", config="{}", files={"file:1/model.onnx": b"x"}), CODE.PERMISSION_DENIED)
        assert c.is_model_ready("add")
    with Server(config(server="admin: off")) as s, client(s) as c:
        refused(lambda: c.unload_model("add"), CODE.PERMISSION_DENIED, "server.admin")
        assert c.is_model_ready("add")


def pictures_classes_parameters():
    with Server(config(PICTURES + slow("0"))) as s, client(s) as c:
        two = np.array([png(), png(20, 10)], dtype=np.object_)
        r = c.infer("cls", [one_input(two, "BYTES", "image")])
        assert r.as_numpy("score").shape == (6,) and r.as_numpy("n_items").tolist() == [3, 3] and r.as_numpy("label").dtype == np.object_
        data = np.array([[0.25, 0.75], [9.5, 1.5]], dtype=np.float32)
        r = c.infer("id_f32", [one_input(data)], outputs=[triton.InferRequestedOutput("y", class_count=2)])
        assert r.as_numpy("y").tolist() == [[b"0.750000:1", b"0.250000:0"], [b"9.500000:0", b"1.500000:1"]], r.as_numpy("y")
        c.infer("slow", [one_input(data[:1])], timeout=20000000, priority=1, parameters={"anything": "goes", "n": 3, "f": 0.5, "b": True})
        refused(lambda: c.infer("cls", [one_input(np.array([b"no picture"], dtype=np.object_), "BYTES", "image")]), CODE.INVALID_ARGUMENT)


def deadlines():
    with Server(config(slow("500ms"))) as s, client(s) as c, Stub(s) as stub:
        data = np.zeros((1, 2), np.float32)
        refused(lambda: c.infer("slow", [one_input(data)], timeout=100000), CODE.DEADLINE_EXCEEDED)  # the request's parameter
        refused(lambda: c.infer("slow", [one_input(data)], client_timeout=0.1), CODE.DEADLINE_EXCEEDED)  # grpc-timeout, by either side
        # grpc-timeout alone, seen by the server: the client itself would wait for ever
        raw = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port)
        start = time.time()
        refused(lambda: stub.ModelInfer(request("slow", data), timeout=0.15), CODE.DEADLINE_EXCEEDED)
        assert time.time() - start < 0.45 * SLOW
        raw.close()
        time.sleep(0.6)
        assert s.get("/v1/models/slow")[1]["stats"]["expired"] >= 1
        assert stub.ModelInfer(request("slow", data), timeout=20 * SLOW).outputs[0].name == "y"


def wait_until(true, what, seconds=10):
    end = time.time() + seconds * SLOW
    while not true():
        assert time.time() < end, what
        time.sleep(0.02)


def cancelled_calls_free_their_place():
    with Server(config(slow("300ms"))) as s, Stub(s) as stub:
        data = np.zeros((1, 2), np.float32)
        calls = [stub.ModelInfer.future(request("slow", data)) for _ in range(10)]
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["accepted"] == 10, "ten accepted")
        for call in calls[2:]:
            call.cancel()
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["cancelled"] >= 7, "cancelled")
        for call in calls[:2]:
            assert call.result().outputs[0].name == "y"
        assert s.get("/v1/models/slow")[1]["stats"]["runs"] <= 4


def a_lost_connection_cancels_all():
    with Server(config(slow("300ms"))) as s:
        channel = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        calls = [stub.ModelInfer.future(request("slow", np.zeros((1, 2), np.float32))) for _ in range(20)]
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["accepted"] == 20, "twenty accepted")
        channel.close()
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["cancelled"] >= 17, "cancelled")
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["queued"] == 0, "empty")
        del calls
        gc.collect()


def full_queues():
    for server, want in (("", CODE.RESOURCE_EXHAUSTED), ("triton_compatible: true", CODE.UNAVAILABLE)):
        with Server(config(slow("300ms", 1), server)) as s, Stub(s, [("grpc.enable_retries", 0)]) as stub:
            calls = [stub.ModelInfer.future(request("slow", np.zeros((1, 2), np.float32))) for _ in range(12)]
            codes = [call.code() for call in calls]
            assert set(codes) == {CODE.OK, want}, codes
            busy = [call for call, code in zip(calls, codes) if code == want]
            for call in busy:
                meta = dict(call.trailing_metadata())
                assert int(meta["grpc-retry-pushback-ms"]) > 0, meta


def asynchronous():
    with Server(config()) as s:
        data = [np.full((1, 2), i, np.float32) for i in range(200)]
        with client(s) as c:
            done = queue.Queue()
            for i, d in enumerate(data):
                c.async_infer("id_f32", [one_input(d)], lambda result, error, i=i: done.put((i, result, error)))
            for _ in data:
                i, result, error = done.get(timeout=20 * SLOW)
                assert error is None, error
                same(result.as_numpy("y"), data[i])

        async def many():
            async with aio.InferenceServerClient("127.0.0.1:%d" % s.grpc_port) as c:
                got = await asyncio.gather(*[c.infer("id_f32", [one_input(d)]) for d in data])
                for g, d in zip(got, data):
                    same(g.as_numpy("y"), d)
        asyncio.run(many())

        def hammer(failures):
            with client(s) as c:
                for d in data[:50]:
                    try:
                        same(c.infer("id_f32", [one_input(d)]).as_numpy("y"), d)
                    except Exception as e:
                        failures.append(e)
        failures = []
        threads = [threading.Thread(target=hammer, args=(failures,)) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures, failures[:3]


def limits():
    with Server(config(server="max_body_bytes: 100KiB, max_head_bytes: 4KiB")) as s, Stub(s) as stub:
        small, large = np.zeros((100, 2), np.float32), np.zeros((20000, 2), np.float32)
        for _ in range(3):
            refused(lambda: stub.ModelInfer(request("id_f32", large)), CODE.RESOURCE_EXHAUSTED, "server.max_body_bytes")
            assert stub.ModelInfer(request("id_f32", small)).outputs[0].name == "y"
        refused(lambda: stub.ServerLive(pb.ServerLiveRequest(), metadata=[("x-long", "y" * 6000)]), CODE.RESOURCE_EXHAUSTED)
        assert stub.ServerLive(pb.ServerLiveRequest()).live
        r = request("id_f32", small)
        for i in range(65):
            r.inputs.add(name="i%d" % i, datatype="FP32", shape=[1])
        refused(lambda: stub.ModelInfer(r), CODE.RESOURCE_EXHAUSTED, "64 inputs")
    with Server(config(slow("1s"), server="max_body_bytes: 8MiB, max_bodies_bytes: 9MiB")) as s, Stub(s, UNLIMITED) as stub:
        held = stub.ModelInfer.future(request("slow", np.zeros((1000000, 2), np.float32)))
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["accepted"] == 1, "accepted")
        refused(lambda: stub.ModelInfer(request("id_f32", np.zeros((1000000, 2), np.float32))), CODE.RESOURCE_EXHAUSTED, "max_bodies_bytes")
        assert stub.ModelInfer(request("id_f32", small)).outputs[0].name == "y"
        assert held.result().outputs[0].name == "y"
        assert stub.ModelInfer(request("id_f32", np.zeros((1000000, 2), np.float32))).outputs[0].name == "y"


def what_is_not_served():
    with Server(config()) as s, Stub(s) as stub:
        refused(lambda: stub.LogSettings(pb.LogSettingsRequest()), CODE.UNIMPLEMENTED, "LogSettings")
        refused(lambda: stub.CudaSharedMemoryStatus(pb.CudaSharedMemoryStatusRequest()), CODE.UNIMPLEMENTED)
        refused(lambda: list(stub.ModelStreamInfer(iter([request("id_f32", np.zeros((1, 2), np.float32))]))), CODE.UNIMPLEMENTED, "ModelInfer")
        channel = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port)
        for path in ("/other.Service/Method", "/x", "/" + "p" * 400, "/inference.GRPCInferenceService/Nothing"):
            refused(lambda: channel.unary_unary(path)(b""), CODE.UNIMPLEMENTED)
        infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        refused(lambda: infer(b""), CODE.NOT_FOUND)
        for bad in (b"\x0a\xff", b"\xff\xff\xff\xff", b"\x0a\x06id_f32\x2a\x02\x0a\x05", b"\x08\x01"):
            refused(lambda: infer(bad), CODE.INVALID_ARGUMENT)
        refused(lambda: infer(b"\x0a\x02\xff\xfe"), CODE.INVALID_ARGUMENT, "UTF-8")
        two = channel.stream_unary("/inference.GRPCInferenceService/ServerLive")
        refused(lambda: two(iter([b"", b"\x08\x01"])), CODE.INTERNAL, "more than one message")
        refused(lambda: two(iter([])), CODE.INVALID_ARGUMENT, "no message")
        channel.close()
    with Server(config(), args=["--grpc-port", "-1"]) as s:
        assert s.grpc_port == -1 and s.get("/healthz")[0] == 200


def gone_while_running(stop):
    """An answer that comes when nobody is there, in all its forms."""
    with Server(config(slow("150ms"))) as s:
        for _ in range(3):
            channel = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port)
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            calls = [stub.ModelInfer.future(request("slow", np.zeros((1, 2), np.float32))) for _ in range(5)]
            time.sleep(0.05)
            channel.close()
            del calls
        if stop:
            s.process.send_signal(signal.SIGTERM)
        else:
            wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["running"] == 0, "idle")


def clients_that_leave():
    gone_while_running(False)
    gone_while_running(True)


def drain_finishes_what_was_accepted():
    with Server(config(slow("600ms"))) as s:
        channel = grpc.insecure_channel("127.0.0.1:%d" % s.grpc_port)
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        assert stub.ServerReady(pb.ServerReadyRequest()).ready
        calls = [stub.ModelInfer.future(request("slow", np.full((1, 2), i, np.float32))) for i in range(3)]
        wait_until(lambda: s.get("/v1/models/slow")[1]["stats"]["accepted"] == 3, "accepted")
        s.terminate()
        for call in calls:
            assert call.result(timeout=20 * SLOW).outputs[0].name == "y"
        e = refused(lambda: stub.ServerLive(pb.ServerLiveRequest(), timeout=2), CODE.UNAVAILABLE)
        assert e is not None
        assert s.wait() == 0
        channel.close()


def a_taken_port_is_said_clearly():
    with Server(config()) as s:
        for port, grpc_port, option in ((0, s.grpc_port, "--grpc-port"), (s.port, 0, "--port")):
            p = subprocess.run([PROGRAM, "serve", "--config", s.path, "--port", str(port), "--grpc-port", str(grpc_port)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, timeout=60 * SLOW)
            assert p.returncode == 1 and option in p.stderr and "server." in p.stderr, p
        p = subprocess.run([PROGRAM, "serve", "--config", s.path, "--grpc-port", "70000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=60 * SLOW)
        assert p.returncode == 2 and "--grpc-port" in p.stderr, p


def grace_says_not_ready_and_still_serves():
    with Server(config(server="drain_grace_ms: 1500ms")) as s, Stub(s) as stub:
        assert stub.ServerReady(pb.ServerReadyRequest()).ready
        s.terminate()
        wait_until(lambda: not stub.ServerReady(pb.ServerReadyRequest()).ready, "not ready")
        assert stub.ServerLive(pb.ServerLiveRequest()).live
        assert stub.ModelInfer(request("id_f32", np.zeros((1, 2), np.float32))).outputs[0].name == "y"
        assert s.wait() == 0


def one_port_and_a_unix_socket():
    """gRPC is also spoken where HTTP/2 is: a client that has only that port or the socket."""
    with Server(config(server="unix_socket: w.sock")) as s:
        path = os.path.join(s.folder.name, "w.sock")
        for target in ("127.0.0.1:%d" % s.port, "unix:" + path):
            channel = grpc.insecure_channel(target)
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            data = np.arange(200000, dtype=np.float32).reshape(-1, 2)
            assert stub.ModelInfer(request("id_f32", data)).raw_output_contents[0] == data.tobytes()
            stub.RepositoryModelUnload(pb.RepositoryModelUnloadRequest(model_name="add"))
            stub.RepositoryModelLoad(pb.RepositoryModelLoadRequest(model_name="add"))
            channel.close()


def ids_and_errors_reach_the_log_and_the_client():
    with Server(config()) as s, Stub(s) as stub:
        e = refused(lambda: stub.ModelInfer(request("n\u00e9 100%", np.zeros((1, 2), np.float32))), CODE.NOT_FOUND)
        assert "n\u00e9 100%" in e.details(), e.details()
        for leak in (s.folder.name, "src/", "0x7f"):
            assert leak not in e.details()


if __name__ == "__main__":
    main([every_dtype_raw, every_dtype_typed, wrong_requests_have_codes, sizes_and_two_inputs, compressed_requests, metadata_config_health, statistics,
          repository, pictures_classes_parameters, deadlines, cancelled_calls_free_their_place, a_lost_connection_cancels_all, full_queues, asynchronous,
          limits, what_is_not_served, clients_that_leave, drain_finishes_what_was_accepted, grace_says_not_ready_and_still_serves, a_taken_port_is_said_clearly,
          one_port_and_a_unix_socket, ids_and_errors_reach_the_log_and_the_client])
