"""HTTP/2 with prior knowledge on the HTTP port: curl and h2load where they are, and frames by hand (RFC 9113, RFC 7541) for what a well-behaved client never
sends. Standard library only."""
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

from weft_process import SLOW, Server, closed, main, png

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
NO_ERROR, PROTOCOL_ERROR, REFUSED, CANCEL, CALM = 0, 1, 7, 8, 11
MODEL = """
  - name: {name}
    backend: fake
    path: m.fake
    queue_size: {queue_size}
    ready_rows: 1
    instances: 1
    fake:
      inputs: [{{name: x, dtype: FP32, shape: [-1, 2]}}]
      outputs: [{{name: y, dtype: FP32, shape: [-1, 2], values: copy}}]
      delay_ms: {delay}
"""
INFER = json.dumps({"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1.5, 2]}]}).encode()


def config(delay="0", queue_size=512, server=""):
    return "server: {%s}\nlog: {level: warn}\nmodels:%s" % (server, MODEL.format(name="m", delay=delay, queue_size=queue_size))


def stats(s):
    return s.get("/v1/models/m")[1]["stats"]


def wait_until(true, what, seconds=10):
    end = time.time() + seconds * SLOW
    while not true():
        assert time.time() < end, what
        time.sleep(0.02)


def literal(name, value):
    """A header without index and without Huffman code (RFC 7541 6.2.2)."""
    def text(b):
        n = len(b)
        if n < 127:
            return bytes([n]) + b
        head, n = b"\x7f", n - 127
        while n >= 128:
            head, n = head + bytes([n & 127 | 128]), n >> 7
        return head + bytes([n]) + b
    return b"\0" + text(name.encode()) + text(value.encode())


def headers(method, path, more=()):
    fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")] + list(more)
    return b"".join(literal(n, v) for n, v in fields)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Peer:
    """A client of frames."""

    def __init__(self, s, port=None, settings=b"", preface=PREFACE):
        self.s = socket.create_connection(("127.0.0.1", port or s.port), 20 * SLOW)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""
        self.s.sendall(preface + frame(SETTINGS, 0, 0, settings))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def send(self, *frames):
        self.s.sendall(b"".join(frames))

    def get(self, stream, path, more=()):
        self.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, headers("GET", path, more)))

    def post(self, stream, path, body=INFER, more=()):
        self.send(frame(HEADERS, END_HEADERS, stream, headers("POST", path, more)), frame(DATA, END_STREAM, stream, body))

    def read(self):
        """(kind, flags, stream, payload), or None at the end of the connection."""
        while len(self.buf) < 9 or len(self.buf) < 9 + int.from_bytes(self.buf[:3], "big"):
            try:
                got = self.s.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                return None
            self.buf += got
        n = int.from_bytes(self.buf[:3], "big")
        f = (self.buf[3], self.buf[4], int.from_bytes(self.buf[5:9], "big"), self.buf[9:9 + n])
        self.buf = self.buf[9 + n:]
        return f

    def until(self, kind, stream=None):
        """The first frame of this kind, and the DATA that came before it."""
        data = b""
        while True:
            f = self.read()
            assert f, "closed before frame %d of stream %s; %r" % (kind, stream, data)
            if f[0] == DATA and f[2] == stream:
                data += f[3]
            if f[0] == kind and (stream is None or f[2] == stream):
                return f, data

    def answer(self, stream):
        """The whole body of one answer."""
        data = b""
        while True:
            f = self.read()
            assert f, "closed inside an answer; %r" % data
            assert f[0] != RST or f[2] != stream, ("reset", f)
            if f[2] == stream and f[0] == DATA:
                data += f[3]
                self.send(frame(WINDOW, 0, 0, struct.pack(">I", max(1, len(f[3])))))
            if f[2] == stream and f[0] in (DATA, HEADERS) and f[1] & END_STREAM:
                return data

    def gone(self):
        """The last GOAWAY's error code, when the connection has ended."""
        code = None
        while True:
            f = self.read()
            if f is None:
                return code
            if f[0] == GOAWAY:
                code = int.from_bytes(f[3][4:8], "big")


def curl(s, *args, body=None):
    """(status, body) as curl sees it."""
    out = subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "--max-time", "60", "-w", "\n%{http_version} %{http_code}", *args],
                         input=body, capture_output=True, timeout=90)
    assert out.returncode == 0, out.stderr
    data, _, last = out.stdout.rpartition(b"\n")
    version, code = last.decode().split()
    assert version == "2", last
    return int(code), data


def curl_gets_what_http1_gets():
    with Server(config(server="max_body_bytes: 32MiB")) as s:
        url = "http://127.0.0.1:%d" % s.port
        assert json.loads(curl(s, url + "/healthz")[1])["status"] == "ready"
        status, data = curl(s, url + "/v2/models/m/infer", "--data-binary", "@-", body=INFER)
        assert status == 200 and json.loads(data)["outputs"][0]["data"] == [1.5, 2], data
        cases = [(["/nothing"], 404), (["/v2/models/m/infer"], 405), (["-X", "DELETE", "/healthz"], 405), (["/v2/models/none"], 404),
                 (["/v2/models/m/infer", "-d", "{"], 400), (["-I", "/healthz"], 200), (["/v2/models/m/infer", "-X", "POST"], 400)]
        for args, want in cases:
            args = [url + a if a.startswith("/") else a for a in args]
            assert curl(s, *args)[0] == want, (args, want)
        big = os.urandom(24 << 20)
        head = json.dumps({"inputs": [{"name": "x", "shape": [len(big) // 8, 2], "datatype": "FP32", "parameters": {"binary_data_size": len(big)}}],
                           "parameters": {"binary_data_output": True}}).encode()
        status, data = curl(s, url + "/v2/models/m/infer", "--data-binary", "@-", "-H", "Inference-Header-Content-Length: %d" % len(head),
                            "-H", "Content-Type: application/octet-stream", body=head + big)
        assert status == 200 and data.endswith(big), (status, data[:300])
        status, data = curl(s, url + "/v2/models/m/infer", "--data-binary", "@-", body=bytes(33 << 20))
        assert status == 413 and b"server.max_body_bytes" in data, (status, data[:300])
        with Peer(s) as p:  # curl 7.88 itself cannot use such a connection twice
            for i in range(200):
                p.get(1 + 2 * i, "/v2/health/live")
                assert p.answer(1 + 2 * i) == b'{"live":true}\n'


def http1_stays_http1():
    with Server(config()) as s:
        out = subprocess.run(["curl", "-sS", "--http2", "-w", "%{http_version}", "http://127.0.0.1:%d/v2/health/live" % s.port], capture_output=True, timeout=60)
        assert out.stdout.endswith(b"1.1"), out
        assert s.request("GET", "/healthz")[0] == 200
        sock = s.connect()
        sock.sendall(b"PRI * HTTP/1.1\r\nHost: x\r\n\r\n")
        assert closed(sock)[1].startswith(b"HTTP/1.1 "), "an answer to the unknown method"
        sock.close()
        sock = s.connect()  # PRI after an HTTP/1 request is no preface
        assert s.request("GET", "/healthz", sock=sock)[0] == 200
        sock.sendall(PREFACE)
        done, data = closed(sock)
        assert done and b"HTTP/1.1 4" in data or b"HTTP/1.1 5" in data, data
        sock.close()


def load():
    if not shutil.which("h2load"):
        print("      (no h2load)")
        return
    with Server(config()) as s:
        for path, body in (("/v2/health/live", None), ("/v2/models/m/infer", INFER)):
            args = ["h2load", "-n", "4000", "-c", "8", "-m", "32"]
            if body:
                name = os.path.join(s.folder.name, "body")
                with open(name, "wb") as f:
                    f.write(body)
                args += ["-d", name]
            out = subprocess.run(args + ["http://127.0.0.1:%d%s" % (s.port, path)], capture_output=True, text=True, timeout=120).stdout
            assert "status codes: 4000 2xx, 0 3xx, 0 4xx, 0 5xx" in out, out


def a_preface_in_pieces():
    with Server(config()) as s:
        sock = s.connect()
        all_of_it = PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS | END_STREAM, 1, headers("GET", "/v2/health/live"))
        p = Peer.__new__(Peer)
        p.s, p.buf = sock, b""
        for i in range(len(all_of_it)):
            sock.sendall(all_of_it[i:i + 1])
        assert p.answer(1) == b'{"live":true}\n'
        sock.close()


def wrong_prefaces_close():
    with Server(config()) as s:
        for port, data in ((s.grpc_port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), (s.grpc_port, b"\x16\x03\x01\x02\x00"), (s.grpc_port, os.urandom(64)),
                           (s.port, PREFACE + b"GET / HTTP/1.1\r\n\r\n"), (s.port, PREFACE + b"\xff" * 40)):
            sock = socket.create_connection(("127.0.0.1", port), 20 * SLOW)
            sock.sendall(data.ljust(64, b"\0"))
            assert closed(sock)[0], data
            sock.close()
        assert s.get("/healthz")[0] == 200


def broken_requests_are_reset():
    with Server(config()) as s:
        bad = [headers("GET", "/healthz") + literal("Upper", "x"), headers("GET", "/healthz") + literal("connection", "close"),
               literal(":path", "/healthz"), headers("GET", "")]
        for i, block in enumerate(bad):
            with Peer(s) as p:
                p.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
                f, _ = p.until(RST, 1)
                assert int.from_bytes(f[3], "big") == PROTOCOL_ERROR, (i, f)
                p.get(3, "/v2/health/live")
                assert b"live" in p.answer(3)
        with Peer(s) as p:  # a body that is not what content-length says
            p.post(1, "/v2/models/m/infer", more=[("content-length", "5")])
            assert int.from_bytes(p.until(RST, 1)[0][3], "big") == PROTOCOL_ERROR
        with Peer(s) as p:  # a frame for a stream that cannot be: the connection ends
            p.send(frame(DATA, 0, 2, b"x"))
            assert p.gone() == PROTOCOL_ERROR
        assert s.get("/healthz")[0] == 200


def many_streams_share_a_connection():
    with Server(config("30ms")) as s, Peer(s) as p:
        n = 40
        for i in range(n):
            p.post(1 + 2 * i, "/v2/models/m/infer")
        p.get(1 + 2 * n, "/v2/health/live")
        order, left = [], set(range(1, 2 * n + 3, 2))
        while left:
            f = p.read()
            assert f and f[0] != RST, f
            if f[0] == DATA and f[1] & END_STREAM:
                order.append(f[2])
                left.discard(f[2])
        assert order[0] == 1 + 2 * n, order  # what is quick does not wait behind what is slow


def too_many_streams_are_refused():
    with Server(config("400ms")) as s:
        with Peer(s) as p:  # it need not know the limit yet
            for i in range(130):
                p.post(1 + 2 * i, "/v2/models/m/infer")
            refused = set()
            while len(refused) < 2:
                f = p.read()
                assert f, "closed"
                if f[0] == RST:
                    assert int.from_bytes(f[3], "big") == REFUSED, f
                    refused.add(f[2])
            assert refused == {257, 259}, refused
        with Peer(s) as p:  # it knows it
            p.until(SETTINGS)
            p.send(frame(SETTINGS, ACK, 0))
            for i in range(129):
                p.post(1 + 2 * i, "/v2/models/m/infer")
            assert p.gone() == PROTOCOL_ERROR
        wait_until(lambda: stats(s)["queued"] == 0, "all cancelled")


def a_reset_cancels_what_is_queued():
    with Server(config("300ms")) as s, Peer(s) as p:
        for i in range(10):
            p.post(1 + 2 * i, "/v2/models/m/infer")
        wait_until(lambda: stats(s)["accepted"] == 10, "accepted")
        for i in range(2, 10):
            p.send(frame(RST, 0, 1 + 2 * i, struct.pack(">I", CANCEL)))
        wait_until(lambda: stats(s)["cancelled"] == 8, "cancelled")
        assert json.loads(p.answer(3))["outputs"]
        assert stats(s)["runs"] == 2


def a_lost_connection_cancels_what_is_queued():
    for how in ("close", "reset"):
        with Server(config("300ms")) as s:
            with Peer(s) as p:
                for i in range(10):
                    p.post(1 + 2 * i, "/v2/models/m/infer")
                wait_until(lambda: stats(s)["accepted"] == 10, "accepted")
                if how == "reset":
                    p.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wait_until(lambda: stats(s)["cancelled"] >= 8, "cancelled")
            wait_until(lambda: stats(s)["running"] == 0, "idle")
            wait_until(lambda: s.get("/healthz")[1]["connections"] == 1, "only this one")


def floods_end_the_connection():
    with Server(config("50ms")) as s:
        with Peer(s) as p:  # rapid reset
            def pour():
                try:
                    for i in range(3000):
                        p.send(frame(HEADERS, END_HEADERS, 1 + 2 * i, headers("POST", "/v2/models/m/infer")),
                               frame(RST, 0, 1 + 2 * i, struct.pack(">I", CANCEL)))
                except OSError:
                    pass
            t = threading.Thread(target=pour)
            t.start()
            assert p.gone() in (CALM, None, 2)
            t.join()
        with Peer(s) as p:  # pings
            def pings():
                try:
                    for _ in range(2000):
                        p.send(frame(PING, 0, 0, b"12345678"))
                except OSError:
                    pass
            t = threading.Thread(target=pings)
            t.start()
            assert p.gone() in (CALM, None)
            t.join()
        with Peer(s) as p:  # a header block without end
            p.send(frame(HEADERS, 0, 1, headers("GET", "/healthz")))
            try:
                for _ in range(200):
                    p.send(frame(CONTINUATION, 0, 1, literal("x-more", "y" * 8000)))
            except OSError:
                pass
            p.gone()
        assert s.get("/healthz")[0] == 200


def large_heads():
    with Server(config(server="max_head_bytes: 4KiB")) as s, Peer(s) as p:
        p.get(1, "/v2/health/live", [("x-long", "y" * 3000)])
        assert b"live" in p.answer(1)
        p.get(3, "/v2/health/live", [("x-long", "y" * 5000)])
        assert b"server.max_head_bytes" in p.answer(3)
        p.get(5, "/v2/health/live", [("x-%d" % i, "y") for i in range(150)])
        assert b"max_head_bytes" in p.answer(5)
        p.get(7, "/v2/health/live")
        assert b"live" in p.answer(7)


def slow_clients_are_dropped():
    limits = "head_timeout_ms: 300ms, body_timeout_ms: 300ms, min_body_rate: 1MiB, write_timeout_ms: 500ms, idle_timeout_ms: 600ms"
    with Server(config(server=limits)) as s:
        for port in (s.port, s.grpc_port):
            sock = socket.create_connection(("127.0.0.1", port), 20 * SLOW)  # nothing at all
            assert closed(sock, 5)[0]
            sock.close()
        sock = socket.create_connection(("127.0.0.1", s.port), 20 * SLOW)  # half a preface
        sock.sendall(PREFACE[:10])
        assert closed(sock, 5)[0]
        sock.close()
        with Peer(s) as p:  # a header block that does not end
            p.send(frame(HEADERS, 0, 1, headers("GET", "/healthz")))
            start = time.time()
            p.gone()
            assert time.time() - start < 5 * SLOW
        with Peer(s) as p:  # a body that dribbles: its stream is answered, the connection lives
            p.send(frame(HEADERS, END_HEADERS, 1, headers("POST", "/v2/models/m/infer", [("content-length", "1000")])))
            for _ in range(12):
                p.send(frame(DATA, 0, 1, b"{"))
                time.sleep(0.05)
            assert b"in time" in p.answer(1)
            p.get(3, "/v2/health/live")
            assert b"live" in p.answer(3)
            assert p.gone() == NO_ERROR  # idle
        with Peer(s, settings=struct.pack(">HI", 4, 0)) as p:  # it opens no window for its answer
            p.get(1, "/healthz")
            assert int.from_bytes(p.until(RST, 1)[0][3], "big") == CANCEL
        assert s.get("/healthz")[1]["connections"] >= 1


def an_early_answer_stops_the_upload():
    with Server(config(server="max_body_bytes: 256KiB")) as s, Peer(s) as p:
        p.until(SETTINGS)
        p.send(frame(SETTINGS, ACK, 0), frame(HEADERS, END_HEADERS, 1, headers("POST", "/v2/models/m/infer")))
        for _ in range(30):
            p.send(frame(DATA, 0, 1, bytes(16384)))
        f, data = p.until(RST, 1)  # after a moment in which the client may end by itself
        assert int.from_bytes(f[3], "big") == NO_ERROR and b"server.max_body_bytes" in data, (f, data)
        p.get(3, "/v2/health/live")
        assert b"live" in p.answer(3)


def large_answers_and_clients_that_stop_reading():
    """An answer's bytes stay until the socket has taken them, also when its stream or its connection has ended meanwhile."""
    n = 6 << 20
    head = json.dumps({"inputs": [{"name": "x", "shape": [n // 8, 2], "datatype": "FP32", "parameters": {"binary_data_size": n}}],
                       "parameters": {"binary_data_output": True}}).encode()
    wide = struct.pack(">HI", 4, 0x7fffffff)
    body = head + os.urandom(n)

    def ask(p, stream):
        p.send(frame(HEADERS, END_HEADERS, stream, headers("POST", "/v2/models/m/infer", [("content-length", str(len(body))),
                     ("inference-header-content-length", str(len(head)))])))
        for at in range(0, len(body), 16384):
            p.send(frame(DATA, END_STREAM if at + 16384 >= len(body) else 0, stream, body[at:at + 16384]))

    with Server(config(server="loops: 1")) as s:
        for how in ("reset", "close", "read"):
            before = stats(s)["succeeded"]
            with Peer(s, settings=wide) as p:
                p.until(SETTINGS)
                p.send(frame(SETTINGS, ACK, 0), frame(WINDOW, 0, 0, struct.pack(">I", 0x70000000)))
                ask(p, 1)
                wait_until(lambda: stats(s)["succeeded"] == before + 1, "answered")
                time.sleep(0.2)  # the socket is full now
                if how == "reset":
                    p.send(frame(RST, 0, 1, struct.pack(">I", CANCEL)))
                    p.get(3, "/v2/health/live")
                    assert b"live" in p.answer(3)
                elif how == "read":
                    got = p.answer(1)
                    assert got.endswith(body[len(head):]), len(got)
        assert s.get("/healthz")[0] == 200


def memory_for_bodies_is_bounded():
    with Server(config(server="max_body_bytes: 4MiB, max_bodies_bytes: 4MiB")) as s, Peer(s) as p:
        p.send(frame(HEADERS, END_HEADERS, 1, headers("POST", "/v2/models/m/infer", [("content-length", str(3 << 20))])))
        p.send(frame(DATA, 0, 1, bytes(16384)))
        p.send(frame(HEADERS, END_HEADERS, 3, headers("POST", "/v2/models/m/infer", [("content-length", str(3 << 20))])))
        f, data = p.until(RST, 3)
        assert b"server.max_bodies_bytes" in data, data
        p.send(frame(RST, 0, 1, struct.pack(">I", CANCEL)))
        p.post(5, "/v2/models/m/infer")
        assert json.loads(p.answer(5))["outputs"]


def grpc_timeout_is_the_deadline_here():
    """Clients of gRPC give up by themselves: only by hand is it seen that the server does."""
    def text(number, b):
        return bytes([number << 3 | 2, len(b)]) + b
    x = text(1, b"x") + text(2, b"FP32") + text(3, b"\x01\x02")
    message = text(1, b"m") + text(5, x) + text(7, struct.pack("<2f", 1, 2))
    kind = [("content-type", "application/grpc"), ("te", "trailers")]
    with Server(config("1s")) as s, Peer(s, s.grpc_port) as p:
        for stream, more in ((1, [("grpc-timeout", "200m")]), (3, [("grpc-timeout", "200000u"), ("x-request-id", "r")])):
            start = time.time()
            p.post(stream, "/inference.GRPCInferenceService/ModelInfer", b"\0" + struct.pack(">I", len(message)) + message, kind + more)
            f, data = p.until(HEADERS, stream)
            assert f[1] & END_STREAM and not data, f  # no message: the status alone
            assert 0.15 < time.time() - start < 0.7 * SLOW, time.time() - start
        assert stats(s)["expired"] == 2, stats(s)
        p.send(frame(HEADERS, END_HEADERS, 5, headers("POST", "/inference.GRPCInferenceService/ModelInfer", kind + [("grpc-timeout", "100m")])))
        f, _ = p.until(HEADERS, 5)  # it holds for a message that does not come, too
        assert f[1] & END_STREAM, f
        for stream, bad in ((7, "5"), (9, "m"), (11, "123456789m"), (13, "1x"), (15, "-1m")):
            p.send(frame(HEADERS, END_HEADERS, stream, headers("POST", "/inference.GRPCInferenceService/ServerLive", kind + [("grpc-timeout", bad)])))
            assert p.until(HEADERS, stream)[0][1] & END_STREAM
        p.post(17, "/inference.GRPCInferenceService/ServerLive", b"\0\0\0\0\0", kind + [("grpc-timeout", "1H")])
        assert p.answer(17) == b"\0\0\0\0\2\x08\1"


def what_is_no_grpc_gets_an_http_answer():
    with Server(config()) as s, Peer(s, s.grpc_port) as p:
        p.get(1, "/healthz")
        assert b"POST only" in p.answer(1)
        p.post(3, "/inference.GRPCInferenceService/ServerLive", b"{}", [("content-type", "application/json")])
        assert b"application/grpc" in p.answer(3)
        p.post(5, "/inference.GRPCInferenceService/ServerLive", b"{}", [("content-type", "application/grpc-web")])
        assert b"application/grpc" in p.answer(5)


def drain_in_two_steps():
    with Server(config("500ms")) as s, Peer(s) as p:
        p.post(1, "/v2/models/m/infer")
        wait_until(lambda: stats(s)["accepted"] == 1, "accepted")
        s.terminate()
        f, _ = p.until(GOAWAY)
        assert int.from_bytes(f[3][:4], "big") == 0x7fffffff, f
        p.get(3, "/v2/health/live")  # on its way while the server says good-bye: answered, not lost
        seen, last = {}, None
        while True:
            f = p.read()
            if f is None:
                break
            if f[0] == DATA:
                seen[f[2]] = seen.get(f[2], b"") + f[3]
            if f[0] == GOAWAY:
                last = int.from_bytes(f[3][:4], "big")
        assert json.loads(seen[1])["outputs"] and b"shutting down" in seen[3], seen
        assert last == 3, last
        assert s.wait() == 0


if __name__ == "__main__":
    main([curl_gets_what_http1_gets, http1_stays_http1, load, a_preface_in_pieces, wrong_prefaces_close, broken_requests_are_reset,
          many_streams_share_a_connection, too_many_streams_are_refused, a_reset_cancels_what_is_queued, a_lost_connection_cancels_what_is_queued,
          floods_end_the_connection, large_heads, slow_clients_are_dropped, an_early_answer_stops_the_upload,
          large_answers_and_clients_that_stop_reading, memory_for_bodies_is_bounded, grpc_timeout_is_the_deadline_here,
          what_is_no_grpc_gets_an_http_answer, drain_in_two_steps])
