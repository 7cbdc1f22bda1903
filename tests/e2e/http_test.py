"""The HTTP door of the real program, with models that a test can slow down and break."""
import glob
import json
import os
import signal
import socket
import subprocess
import time

from weft_process import PROGRAM, SLOW, Server, closed, main, png, read_response

PICTURE_MODEL = """
  - name: {name}
    type: classify
    backend: fake
    path: m.fake
    max_batch: {max_batch}
    queue_size: {queue_size}
    instances: 1
    {more}
    preprocess: {{input_size: [8, 8]}}
    fake:
      inputs: [{{name: x, dtype: FP32, shape: [-1, 3, 8, 8]}}]
      outputs: [{{name: y, dtype: FP32, shape: [-1, 4]}}]
      {fake}
"""


def model(name, fake="", more="", max_batch=1, queue_size=64):
    return PICTURE_MODEL.format(name=name, fake=fake, more=more, max_batch=max_batch, queue_size=queue_size)


def config(models, server="", log=""):
    return "server: {%s}\nlog: {level: warn%s}\nmodels:%s" % (server, ", " + log if log else "", "".join(models))


def error_of(body):
    return json.loads(body)["error"]


def answers_and_lists():
    with Server(config([model("cls")])) as s:
        status, health = s.get("/healthz")
        assert status == 200 and health["status"] == "ready", health
        assert [m["name"] for m in health["models"]] == ["cls"] and health["models"][0]["state"] == "ready"
        assert s.get("/v2/health/live")[0] == 200 and s.get("/v2/health/ready")[0] == 200
        status, models = s.get("/v1/models")
        assert status == 200 and models["models"][0]["inputs"][0]["shape"] == [-1, 3, 8, 8], models
        status, head, body = s.predict("cls", headers=["Content-Type: image/png", "X-Request-Id: abc-1"])
        assert status == 200 and head["content-type"] == "application/json", (status, body)
        assert head["x-request-id"] == "abc-1"
        answer = json.loads(body)
        assert answer["model"] == "cls" and len(answer["items"]) == 4 and "score" in answer["items"][0], answer
        status, one = s.get("/v1/models/cls")
        assert one["stats"]["succeeded"] == 1, one
        assert "serves" in s.get("/")[1]
        status, head, body = s.request("HEAD", "/healthz")
        assert status == 200 and int(head["content-length"]) > 10 and body == b""


def wrong_requests_get_the_right_status():
    with Server(config([model("cls")], server="max_body_bytes: 100KiB, max_pixels: 10000")) as s:
        cases = [
            (("GET", "/nothing"), 404), (("GET", "/v1/models/cls/predict"), 405), (("DELETE", "/healthz"), 405),
            (("GET", "/v1/models/none"), 404), (("POST", "/v1/models/none/predict", png()), 404),
            (("POST", "/v1/models/cls/predict", b""), 400), (("POST", "/v1/models/cls/predict", b"hello, no picture"), 415),
            (("POST", "/v1/models/cls/predict", png(), ["Content-Type: text/html"]), 415),
            (("POST", "/v1/models/cls/predict", png()[:40]), 422),
            (("POST", "/v1/models/cls/predict", png(200, 200)), 413),
            (("POST", "/v1/models/cls/predict?timeout_ms=x", png()), 400), (("POST", "/v1/models/cls/predict?timeout_ms=0", png()), 400),
            (("POST", "/v1/models/cls/predict?priority=99", png()), 400), (("POST", "/v1/models/%00/predict", png()), 404),
            (("POST", "/v1/models/cls/predict", png(), ["Content-Type: multipart/form-data"]), 400),
            (("POST", "/v1/models/cls/predict", b"x" * 102401), 413),
        ]
        for args, want in cases:
            status, _, body = s.request(*args)
            err = error_of(body)
            assert status == want, (args[:2], status, body)
            assert err["message"] and err["code"], body
            for leak in (os.sep + "tmp", s.folder.name, "src/", "0x7f", "0x55"):
                assert leak not in err["message"], body
        assert s.predict("cls")[0] == 200


def a_form_carries_the_picture():
    with Server(config([model("cls")])) as s:
        def form(parts):
            body = b"".join(b"--B\r\nContent-Disposition: form-data; " + head + b"\r\n\r\n" + data + b"\r\n" for head, data in parts)
            return s.predict("cls", body + b"--B--\r\n", headers=["Content-Type: multipart/form-data; boundary=B"])
        assert form([(b'name="image"; filename="a.png"\r\nContent-Type: image/png', png())])[0] == 200
        status, _, body = form([(b'name="top_k"', b"2"), (b'name="x"; filename="a.png"', png())])
        assert status == 200 and len(json.loads(body)["items"]) == 2, body
        assert form([(b'name="note"', b"hi"), (b'name="x"; filename="a.png"', png())])[0] == 400  # no such parameter
        assert form([(b'name="note"', b"hi")])[0] == 400
        assert form([(b'name="a"; filename="a"', png()), (b'name="b"; filename="b"', png())])[0] == 400
        out = subprocess.run(["curl", "-s", "-F", "image=@-;filename=p.png", "http://127.0.0.1:%d/v1/models/cls/predict" % s.port], input=png(),
                             stdout=subprocess.PIPE, timeout=30).stdout
        assert len(json.loads(out)["items"]) == 4, out


def draws():
    with Server(config([model("cls")])) as s:
        status, head, body = s.predict("cls", png(64, 64), "?draw=1")
        assert status == 200 and head["content-type"] == "image/jpeg" and body[:2] == b"\xff\xd8", (status, head)


def refuses_before_the_body():
    with Server(config([model("cls")], server="max_body_bytes: 1MiB")) as s:
        for path, length, want in (("/v1/models/cls/predict", 1 << 40, 413), ("/v1/models/none/predict", 1000, 404)):
            c = s.connect()
            c.sendall(("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n" % (path, length)).encode())
            status, head, _ = read_response(c)
            assert status == want and head["connection"] == "close", (status, head)
            c.close()
        c = s.connect()  # a client that sends all the same reads the answer, not a reset
        c.sendall(b"POST /v1/models/none/predict HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100000)
        time.sleep(0.1)
        c.sendall(b"x" * 100000)
        assert read_response(c)[0] == 404
        c.close()
        c = s.connect()
        c.sendall(b"POST /v1/models/cls/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(png()))
        assert read_response(c)[0] == 100
        c.sendall(png())
        assert read_response(c)[0] == 200
        c.close()


def chunked_and_pipelined():
    with Server(config([model("cls")], server="max_body_bytes: 64KiB")) as s:
        data = png()
        c = s.connect()
        head = b"POST /v1/models/cls/predict HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunked = head + b"".join(b"%x;e=1\r\n%s\r\n" % (len(data[i:i + 7]), data[i:i + 7]) for i in range(0, len(data), 7)) + b"0\r\nT: 1\r\n\r\n"
        for i in range(len(chunked)):  # byte by byte
            c.sendall(chunked[i:i + 1])
        assert read_response(c)[0] == 200
        c.sendall(head + b"10000\r\n" + b"x" * 65536 + b"\r\n10\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n")
        assert read_response(c)[0] == 413
        c.close()
        one = b"POST /v1/models/cls/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)
        c = s.connect()
        c.sendall(one * 20 + b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        ok, all_data = closed(c)
        assert ok and all_data.count(b"HTTP/1.1 200 OK") == 21, all_data[:500]
        c.close()
        c = s.connect()
        c.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        ok, all_data = closed(c)
        assert ok and all_data.startswith(b"HTTP/1.1 200"), all_data
        c.close()


def smuggling_is_refused():
    with Server(config([model("cls")])) as s:
        bad = [b"Content-Length: 3\r\nTransfer-Encoding: chunked", b"Content-Length: 3\r\nContent-Length: 4", b"Content-Length: +3", b"Content-Length: -1",
               b"Content-Length: 3x", b"Content-Length : 3", b"X: a\r\n b", b"Transfer-Encoding: gzip, chunked", b"X: a\rb", b"Host: b", b"X\x01: a"]
        for header in bad:
            c = s.connect()
            c.sendall(b"POST /v1/models/cls/predict HTTP/1.1\r\nHost: a\r\n" + header + b"\r\n\r\nabcGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            ok, data = closed(c)
            assert ok and data.count(b"Content-Length:") == 1 and data[9:12] in (b"400", b"501"), (header, data[:300])
            c.close()
        c = s.connect()
        c.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 30000)
        ok, data = closed(c)
        assert ok and data[9:12] == b"431", data[:200]
        c.close()
        c = s.connect()
        c.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(64)))  # somebody speaks TLS to us
        c.shutdown(socket.SHUT_WR)
        assert closed(c)[0]
        c.close()
        assert s.get("/healthz")[0] == 200


def slow_clients_are_closed_on_time():
    with Server(config([model("cls")], server="head_timeout_ms: 500ms, body_timeout_ms: 500ms, min_body_rate: 1MB, idle_timeout_ms: 700ms")) as s:
        for first in (b"GET / HT", b"POST /v1/models/cls/predict HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc"):
            c = s.connect()
            c.sendall(first)
            start, data = time.time(), b""
            try:  # a byte now and then must not keep it open
                c.settimeout(0.1)
                while time.time() - start < 10 * SLOW:
                    try:
                        got = c.recv(4096)
                        if not got:
                            break
                        data += got
                    except socket.timeout:
                        c.sendall(b"x")
            except (ConnectionResetError, BrokenPipeError):
                pass
            assert time.time() - start < 4 * SLOW, first
            assert data[9:12] == b"408", data[:100]
            c.close()
        c = s.connect()
        c.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        read_response(c)
        assert closed(c, 5)[0]  # idle
        c.close()


def a_client_that_leaves_frees_its_place():
    with Server(config([model("slow", fake="delay_ms: 400ms")])) as s:
        data = png()
        for _ in range(3):
            c = s.connect()
            c.sendall(b"POST /v1/models/slow/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            time.sleep(0.05)
            c.close()
        deadline = time.time() + 10 * SLOW
        while time.time() < deadline:
            stats = s.get("/v1/models/slow")[1]["stats"]
            if stats["cancelled"] == 3 and stats["queued"] == 0:
                break
            time.sleep(0.05)
        assert stats["cancelled"] == 3 and stats["succeeded"] == 0, stats
        assert s.predict("slow")[0] == 200


def deadlines_fire_while_a_run_hangs():
    hang = "faults: [{kind: hang_hard, at: 1}]"
    with Server(config([model("hung", fake=hang, more="warmup: false\n    run_timeout_ms: 60s"), model("well")]), expect=None) as s:
        start = time.time()
        status, _, body = s.predict("hung", query="?timeout_ms=300")
        took = time.time() - start
        assert status == 504 and 0.28 < took < 0.3 + 0.5 * SLOW, (status, took, body)
        assert s.predict("well")[0] == 200
        assert s.get("/healthz")[0] in (200, 503)
        s.terminate()
        time.sleep(0.3)
        if s.process.poll() is None:
            s.process.send_signal(signal.SIGTERM)
        try:
            s.wait(5)
        except subprocess.TimeoutExpired:  # a run that never returns cannot be joined
            s.process.kill()
        s.expect = s.wait(5)


def a_full_queue_answers_429():
    with Server(config([model("slow", fake="delay_ms: 500ms", queue_size=2, more="ready_rows: 1")])) as s:
        data = png()
        socks = []
        for _ in range(12):
            c = s.connect()
            c.sendall(b"POST /v1/models/slow/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            socks.append(c)
            time.sleep(0.01)
        answers = [read_response(c) for c in socks]
        busy = [a for a in answers if a[0] == 429]
        assert busy and all(a[0] in (200, 429) for a in answers), [a[0] for a in answers]
        status, head, body = busy[0]
        assert int(head["retry-after"]) >= 1 and int(head["retry-after-ms"]) >= 1, head
        assert error_of(body)["retry_after_ms"] >= 1 and error_of(body)["code"] == "BUSY", body
        for c in socks:
            c.close()


def sigterm_finishes_what_was_accepted():
    with Server(config([model("slow", fake="delay_ms: 700ms")], server="drain_grace_ms: 300ms")) as s:
        data = png()
        c, idle = s.connect(), s.connect()
        c.sendall(b"POST /v1/models/slow/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        time.sleep(0.1)
        s.terminate()
        time.sleep(0.1)
        status, health = s.get("/healthz")
        assert status == 503 and health["status"] == "draining", (status, health)
        assert s.get("/v2/health/ready")[0] == 503 and s.get("/v2/health/live")[0] == 200
        status, head, _ = read_response(c)
        assert status == 200 and head["connection"] == "close", head
        assert closed(c)[0] and closed(idle)[0]
        c.close(), idle.close()
        assert s.wait() == 0
        assert "1 answered" in s.stderr() or "answered while draining, 0 dropped" in s.stderr(), s.stderr()


def a_second_signal_ends_at_once():
    with Server(config([model("slow", fake="delay_ms: 5s", more="warmup: false")]), expect=1) as s:
        data = png()
        c = s.connect()
        c.sendall(b"POST /v1/models/slow/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        time.sleep(0.2)
        s.terminate()
        time.sleep(0.3)
        start = time.time()
        s.terminate()
        s.wait(15)
        assert time.time() - start < 8 * SLOW
        c.close()


def model_logs_tell_the_stages():
    import tempfile
    with tempfile.TemporaryDirectory() as logs:
        text = config([model("a"), model("b")], log="directory: '%s', format: json" % logs).replace("level: warn", "level: info")
        with Server(text) as s:
            assert s.predict("a", headers=["X-Request-Id: r-1"])[0] == 200
            assert s.predict("b", headers=["X-Request-Id: r-2"])[0] == 200
            assert s.predict("b", b"\x89PNG\r\n\x1a\nxxxx", headers=["X-Request-Id: r-3"])[0] == 422
        names = sorted(os.path.basename(p).split("-")[0] for p in glob.glob(logs + "/*.log"))
        assert names == ["a", "b", "weft"], names
        lines = [json.loads(l) for l in open(glob.glob(logs + "/a-*.log")[0])]
        assert [l["id"] for l in lines] == ["r-1"] and lines[0]["model"] == "a", lines
        for key in ("queue_ms", "preprocess_ms", "run_ms", "postprocess_ms", "total_ms", "arrived_unix_ms", "batch"):
            assert key in lines[0], lines


def many_idle_connections_cost_nothing():
    with Server(config([model("cls")], server="max_connections: 900")) as s:
        socks = [s.connect() for _ in range(500)]
        assert s.predict("cls")[0] == 200
        more = [s.connect() for _ in range(500)]  # over the limit: closed, the server lives
        dead = sum(closed(c, 0.01)[0] for c in more[450:])
        assert dead > 0
        for c in socks + more:
            c.close()
        time.sleep(0.3)
        assert s.predict("cls")[0] == 200


def a_taken_port_is_said_clearly():
    with Server(config([model("cls")])) as s:
        p = subprocess.run([PROGRAM, "serve", "--config", s.path, "--port", str(s.port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=30 * SLOW)
        assert p.returncode == 1 and "cannot listen on 127.0.0.1" in p.stderr and str(s.port) in p.stderr, p.stderr


if __name__ == "__main__":
    main([answers_and_lists, wrong_requests_get_the_right_status, a_form_carries_the_picture, draws, refuses_before_the_body, chunked_and_pipelined,
          smuggling_is_refused, slow_clients_are_closed_on_time, a_client_that_leaves_frees_its_place, deadlines_fire_while_a_run_hangs,
          a_full_queue_answers_429, sigterm_finishes_what_was_accepted, a_second_signal_ends_at_once, model_logs_tell_the_stages,
          many_idle_connections_cost_nothing, a_taken_port_is_said_clearly])
