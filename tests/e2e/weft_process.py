"""Spawns the real program on a free port and fails unless it ends as told. Standard library only."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib

PROGRAM = os.environ.get("WEFT_PROGRAM", "build/release/weft")
SLOW = float(os.environ.get("WEFT_SLOW", "1"))  # factor for waits under sanitizers


def png(width=8, height=8, rgb=(200, 30, 30)):
    """A valid picture of one colour."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes(rgb) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Server:
    """`with Server(yaml) as s:`; leaving sends SIGTERM and demands exit code 0 (or `expect`)."""

    def __init__(self, config, expect=0, args=()):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-e2e-")
        self.path = os.path.join(self.folder.name, "weft.yaml")
        with open(self.path, "w") as f:
            f.write(config)
        with open(os.path.join(self.folder.name, "m.fake"), "w") as f:
            f.write("# described by the options in the configuration\n")
        self.expect, self.args = expect, list(args)
        self.process, self.port = None, None

    def __enter__(self):
        self.errors = open(os.path.join(self.folder.name, "stderr"), "w+")
        self.process = subprocess.Popen([PROGRAM, "serve", "--config", self.path, "--port", "0", "--grpc-port", "0", "--json"] + self.args,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(20)
            raise AssertionError("the server did not start: " + self.stderr())
        started = json.loads(line)
        self.port, self.grpc_port = started["port"], started["grpc_port"]
        return self

    def stderr(self):
        self.errors.flush()
        with open(self.errors.name) as f:
            return f.read()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=30):
        return self.process.wait(seconds * SLOW)

    def __exit__(self, kind, value, trace):
        try:
            if self.process.poll() is None:
                self.terminate()
            code = self.wait()
        except subprocess.TimeoutExpired:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError("the server did not end after SIGTERM: " + self.stderr())
        finally:
            self.process.stdout.close()
            errors = self.stderr()
            self.errors.close()
            self.folder.cleanup()
        if kind is None and code != self.expect:
            raise AssertionError("exit code %s, expected %s\n%s" % (code, self.expect, errors))

    def connect(self, timeout=20):
        s = socket.create_connection(("127.0.0.1", self.port), timeout * SLOW)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def request(self, method, path, body=b"", headers=(), sock=None):
        """(status, headers with lower-case names, body) of one request on a connection of its own."""
        own = sock is None
        s = sock or self.connect()
        try:
            head = "%s %s HTTP/1.1\r\nHost: localhost\r\n" % (method, path)
            names = [h.split(":")[0].lower() for h in headers]
            if (body or method == "POST") and "content-length" not in names and "transfer-encoding" not in names:
                head += "Content-Length: %d\r\n" % len(body)
            head += "".join(h + "\r\n" for h in headers) + "\r\n"
            s.sendall(head.encode() + body)
            return read_response(s, head=method == "HEAD")
        finally:
            if own:
                s.close()

    def get(self, path):
        status, _, body = self.request("GET", path)
        return status, json.loads(body)

    def predict(self, model, body=None, query="", headers=()):
        status, head, data = self.request("POST", "/v1/models/%s/predict%s" % (model, query), png() if body is None else body, headers)
        return status, head, data


def read_response(s, head=False):
    buf = b""
    while b"\r\n\r\n" not in buf:
        got = s.recv(65536)
        if not got:
            raise EOFError("closed after %r" % buf[:200])
        buf += got
    top, _, rest = buf.partition(b"\r\n\r\n")
    lines = top.decode().split("\r\n")
    status = int(lines[0].split()[1])
    fields = {k.strip().lower(): v.strip() for k, _, v in (l.partition(":") for l in lines[1:])}
    if status == 100:
        if rest:
            raise AssertionError("unexpected bytes after 100")
        return status, fields, b""
    n = 0 if head else int(fields.get("content-length", 0))
    while len(rest) < n:
        got = s.recv(65536)
        if not got:
            raise EOFError("closed inside a body")
        rest += got
    if len(rest) > n:
        s.extra = rest[n:] if hasattr(s, "extra") else None
        raise AssertionError("more bytes than Content-Length")
    return status, fields, rest


def closed(s, seconds=10):
    """True when the peer ends the connection within the time; returns what it sent before."""
    s.settimeout(seconds * SLOW)
    data = b""
    try:
        while True:
            got = s.recv(65536)
            if not got:
                return True, data
            data += got
    except (ConnectionResetError, BrokenPipeError):
        return True, data
    except socket.timeout:
        return False, data


def main(tests):
    """Runs functions; prints one line each and the count; exit code 1 when one failed."""
    failed = 0
    only = sys.argv[1:]
    for t in tests:
        if only and t.__name__ not in only:
            continue
        start = time.time()
        try:
            t()
            print("ok    %s (%.1f s)" % (t.__name__, time.time() - start), flush=True)
        except Exception:
            failed += 1
            print("FAIL  %s\n%s" % (t.__name__, traceback.format_exc()), flush=True)
    print("%d passed, %d failed" % (len(tests) - failed, failed))
    sys.exit(1 if failed else 0)
