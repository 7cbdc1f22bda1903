"""What the real program shows of itself: metrics that equal what a client counted, trace context, the access log, OpenAPI, the page at /docs, the dashboard."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(os.environ.get("WEFT_CACHE", os.path.join(ROOT, ".cache")), "peers-python", "%d.%d" % sys.version_info[:2])
sys.path.append(PEERS)
from weft_process import SLOW, Server, main, png  # noqa: E402

MODEL = """
  - name: {name}
    type: classify
    backend: fake
    path: m.fake
    {more}
    preprocess: {{input_size: [8, 8]}}
    fake:
      inputs: [{{name: x, dtype: FP32, shape: [-1, 3, 8, 8]}}]
      outputs: [{{name: y, dtype: FP32, shape: [-1, 4]}}]
      {fake}
"""
TENSORS = """
  - name: plain
    backend: fake
    path: m.fake
    fake:
      inputs: [{name: x, dtype: FP32, shape: [-1, 2]}]
      outputs: [{name: y, dtype: FP32, shape: [-1, 2]}]
"""
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
skipped = []


def promtool():
    """The linter of the metrics format: from the cache (script/fetch --test), else from the path."""
    cached = os.path.join(os.environ.get("WEFT_CACHE", ".cache"), "tools", "prometheus", "promtool")
    return cached if os.access(cached, os.X_OK) else shutil.which("promtool")


def model(name, more="", fake=""):
    return MODEL.format(name=name, more=more, fake=fake)


def config(models, log="", server=""):
    return "server: {%s}\nlog: {%s}\nmodels:%s" % (server, log or "level: warn", "".join(models))


def scrape(s, accept=None):
    status, head, body = s.request("GET", "/metrics", headers=["Accept: " + accept] if accept else [])
    assert status == 200, (status, body)
    return head["content-type"], body.decode()


def samples(text):
    """{(name, (label, value) pairs in order): number}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        m = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line)
        assert m, line
        labels = tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m.group(2) or ""))
        assert (m.group(1), labels) not in found, "twice: " + line
        found[m.group(1), labels] = float(m.group(3))
    return found


def value(found, name, **labels):
    hits = [v for (n, l), v in found.items() if n == name and all(dict(l).get(k) == w for k, w in labels.items())]
    assert len(hits) == 1, (name, labels, hits)
    return hits[0]


def metrics_equal_what_the_client_counted():
    with Server(config([model("cls"), model("other")])) as s:
        for _ in range(5):
            assert s.predict("cls")[0] == 200
        for _ in range(2):
            assert s.predict("cls", png()[:40])[0] == 422  # seen before admission: the door's count only
        assert s.request("GET", "/nothing")[0] == 404
        assert s.request("GET", "/v1/models/none")[0] == 404
        kind, text = scrape(s)
        assert kind == "text/plain; version=0.0.4; charset=utf-8", kind
        m = samples(text)
        assert value(m, "weft_requests_total", model="cls", outcome="succeeded") == 5
        assert value(m, "weft_requests_total", model="other", outcome="succeeded") == 0
        assert value(m, "weft_request_duration_seconds_count", model="cls") == 5
        route = {"method": "POST", "route": "/v1/models/{name}/predict"}
        assert value(m, "weft_http_requests_total", code="200", **route) == 5
        assert value(m, "weft_http_requests_total", code="422", **route) == 2
        assert value(m, "weft_http_request_duration_seconds_count", **route) == 7
        assert value(m, "weft_http_requests_total", route="none", code="404") == 1
        assert value(m, "weft_http_requests_total", route="/v1/models/{name}", code="404") == 1
        assert value(m, "weft_connections_accepted_total") == 10  # each request on its own, this one included
        assert value(m, "weft_http_received_bytes_total") > 5 * len(png()) and value(m, "weft_http_sent_bytes_total") > 1000
        assert value(m, "weft_model_state", model="cls", state="ready") == 1
        assert sum(v for (n, l), v in m.items() if n == "weft_model_state" and dict(l)["model"] == "cls") == 1
        assert value(m, "weft_ready") == 1 and value(m, "process_threads") > 2 and value(m, "process_resident_memory_bytes") > 1e6
        assert abs(value(m, "process_start_time_seconds") - time.time()) < 120
        again = samples(scrape(s)[1])
        assert value(again, "process_start_time_seconds") == value(m, "process_start_time_seconds")
        assert value(again, "weft_http_requests_total", route="/metrics", code="200") == 1  # counted when it is answered


def gauges_follow_the_queue():
    with Server(config([model("slow", fake="delay_ms: 700ms", more="queue_size: 3\n    ready_rows: 1\n    instances: 1\n    max_batch: 1")])) as s:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(s.predict("slow")[0])) for _ in range(9)]
        for t in threads:
            t.start()
            time.sleep(0.02)
        m = samples(scrape(s)[1])
        assert value(m, "weft_running", model="slow") == 1, value(m, "weft_running", model="slow")
        assert value(m, "weft_queued_requests", model="slow") >= 1
        assert value(m, "weft_queue_capacity_requests", model="slow") == 3
        assert value(m, "weft_oldest_wait_seconds", model="slow") > 0
        for t in threads:
            t.join()
        m = samples(scrape(s)[1])
        refused = answers.count(429)
        assert refused >= 1, answers
        assert value(m, "weft_requests_refused_total", model="slow", reason="queue_full") == refused
        assert value(m, "weft_requests_total", model="slow", outcome="refused") == refused
        assert value(m, "weft_requests_total", model="slow", outcome="succeeded") == answers.count(200)
        assert value(m, "weft_queued_requests", model="slow") == 0 and value(m, "weft_running", model="slow") == 0
        assert value(m, "weft_wait_ratio_count", model="slow") >= 1


def both_formats_are_well_formed():
    with Server(config([model("cls"), TENSORS])) as s:
        assert s.predict("cls")[0] == 200
        kind, text = scrape(s, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8" and text.endswith("\n# EOF\n"), kind
        assert "# TYPE weft_requests counter\n" in text and "# UNIT weft_request_duration_seconds seconds\n" in text
        open_values = samples(text)
        kind, plain = scrape(s, "text/plain")
        assert kind.startswith("text/plain")
        assert {k[0] for k in samples(plain)} == {k[0] for k in open_values}
        for f in (text, plain):  # all samples of a family behind its head, each head once
            heads = re.findall(r"^# TYPE (\S+)", f, re.M)
            assert len(heads) == len(set(heads))
        if not promtool():
            skipped.append("promtool")
            return
        done = subprocess.run([promtool(), "check", "metrics"], input=plain, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * SLOW)
        assert done.returncode == 0 and not done.stdout.strip(), done.stdout


def the_dashboard_shows_what_exists():
    with open(os.path.join(ROOT, "deploy", "grafana-weft.json")) as f:
        board = json.load(f)
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids)) and board["title"] == "weft"
    exprs = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    with Server(config([model("cls")])) as s:
        s.predict("cls")
        scrape(s)
        text = scrape(s)[1]
        there = {n for n, _ in samples(text)}
        families = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    used = set(re.findall(r"\b(?:weft|process)_[a-z0-9_]+\b", " ".join(exprs)))
    assert used <= there, used - there
    shown = {n if n in families else re.sub("_(bucket|sum|count)$", "", n) for n in used}
    assert shown == families, families ^ shown  # every metric has its place
    if not promtool():
        skipped.append("promtool")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rules.yaml")
        rules = [{"record": "r%d" % i, "expr": e.replace("$model", "cls").replace("$__rate_interval", "1m")} for i, e in enumerate(exprs)]
        with open(path, "w") as f:
            json.dump({"groups": [{"name": "g", "rules": rules}]}, f)  # JSON is YAML
        done = subprocess.run([promtool(), "check", "rules", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * SLOW)
        assert done.returncode == 0, done.stdout


def traces_go_through():
    with tempfile.TemporaryDirectory() as logs:
        with Server(config([model("cls")], log="directory: '%s', format: json, access: true" % logs)) as s:
            status, head, _ = s.predict("cls", headers=["traceparent: " + TRACE, "X-Request-Id: r-1"])
            assert status == 200
            mine = head["traceparent"]
            assert re.fullmatch("00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01", mine) and mine[36:52] != TRACE[36:52], mine
            assert "traceparent" not in s.predict("cls", headers=["traceparent: " + TRACE.upper()])[1]
            assert "traceparent" not in s.predict("cls", headers=["traceparent: " + TRACE, "traceparent: " + TRACE])[1]
            status, head, _ = s.predict("none", headers=["traceparent: " + TRACE])
            assert status == 404 and head["traceparent"][:35] == TRACE[:35], head
        lines = [json.loads(l) for l in open(glob.glob(logs + "/cls-*.log")[0])]
        assert lines[0]["trace"] == mine and lines[0]["id"] == "r-1", lines[0]
        access = [json.loads(l) for l in open(glob.glob(logs + "/access-*.log")[0])]
        assert access[0]["trace"] == mine, access[0]


def the_access_log_has_a_line_for_each_request():
    with tempfile.TemporaryDirectory() as logs:
        with Server(config([model("cls"), model("slow", fake="delay_ms: 400ms")], log="directory: '%s', format: json, access: true" % logs)) as s:
            assert s.predict("cls", query="?priority=1", headers=["X-Request-Id: r-1"])[0] == 200
            assert s.request("GET", "/no\"thing")[0] in (400, 404)
            assert s.request("HEAD", "/healthz")[0] == 200
            c = s.connect()
            c.sendall(b"POST /v1/models/slow/predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(png()), png()))
            time.sleep(0.15)
            c.close()
            time.sleep(0.3)
            c = s.connect()
            c.sendall(b"nonsense\r\n\r\n")
            assert c.recv(100)[9:12] == b"400"
            c.close()
        lines = [json.loads(l) for l in open(glob.glob(logs + "/access-*.log")[0])]
        assert len(lines) == 5, lines
        first = lines[0]
        assert (first["method"], first["path"], first["status"], first["id"]) == ("POST", "/v1/models/cls/predict?priority=1", 200, "r-1"), first
        assert first["received"] == len(png()) and first["sent"] > 100 and first["ms"] > 0 and first["peer"].startswith("127.0.0.1:"), first
        assert first["event"] == "access" and lines[2]["sent"] == 0 and lines[2]["method"] == "HEAD"
        assert lines[3]["status"] == 499, lines[3]
        assert lines[4]["status"] == 400 and lines[4]["path"] == "-", lines[4]
    with tempfile.TemporaryDirectory() as logs:  # off unless asked for
        with Server(config([model("cls")], log="directory: '%s'" % logs)) as s:
            s.predict("cls")
        assert not glob.glob(logs + "/access-*"), os.listdir(logs)


def a_wrong_method_hears_the_right_ones():
    with Server(config([model("cls")])) as s:
        for method, path, allow in (("DELETE", "/healthz", "GET, HEAD"), ("GET", "/v1/models/cls/predict", "POST"), ("PUT", "/v2/models/cls/infer", "POST")):
            status, head, _ = s.request(method, path)
            assert status == 405 and head["allow"] == allow, (method, path, status, head)
        assert "allow" not in s.request("DELETE", "/nothing")[1]


def openapi_describes_what_is_served():
    with Server(config([model("cls"), TENSORS])) as s:
        status, head, body = s.request("GET", "/openapi.json")
        assert status == 200 and head["content-type"] == "application/json"
        api = json.loads(body)
        assert api["openapi"].startswith("3.1")
        for line in s.get("/")[1]["serves"]:  # every route, with its method
            verb, path = line.split()
            assert verb.lower() in api["paths"][path], line
        own = api["paths"]["/v1/models/cls/predict"]["post"]
        assert own["responses"]["200"]["content"]["application/json"]["schema"]["$ref"] == "#/components/schemas/Result.cls"
        assert {"draw", "timeout_ms", "priority", "top_k"} <= {p["name"] for p in own["parameters"]}, own["parameters"]
        assert "/v1/models/plain/predict" not in api["paths"]  # takes no picture
        for ref in re.findall(r'"\$ref":"#/([^"]+)"', body.decode()):
            at = api
            for key in ref.split("/"):
                at = at[key]
        ids = [o["operationId"] for p in api["paths"].values() for o in p.values()]
        assert len(ids) == len(set(ids)), ids
        try:
            import jsonschema
            import openapi_spec_validator
        except ImportError:
            skipped.append("openapi-spec-validator")
            return
        openapi_spec_validator.validate(api)
        for path, name in (("/healthz", "Health"), ("/v1/models", "Models"), ("/v1/models/cls", "ModelAndStats"), ("/v2", "ServerMetadata"),
                           ("/v2/models/cls", "ModelMetadata"), ("/v2/models/stats", "Statistics"), ("/v2/models/plain/config", "ModelConfig"), ("/", "Serves")):
            check(jsonschema, api, name, s.get(path)[1])
        check(jsonschema, api, "Result.cls", json.loads(s.predict("cls")[2]))
        check(jsonschema, api, "Error", json.loads(s.predict("none")[2]))
        check(jsonschema, api, "ErrorV2", s.get("/v2/models/none")[1])
        want = {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}
        check(jsonschema, api, "InferRequest", want)
        check(jsonschema, api, "InferResponse", json.loads(s.request("POST", "/v2/models/plain/infer", json.dumps(want).encode())[2]))


def check(jsonschema, api, name, document):
    schema = {"$ref": "#/components/schemas/" + name, "components": api["components"]}
    jsonschema.Draft202012Validator(schema).validate(document)


def the_page_stands_alone():
    with Server(config([model("cls")])) as s:
        status, head, body = s.request("GET", "/docs")
        assert status == 200 and head["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in head["content-security-policy"] and head["x-content-type-options"] == "nosniff"
        with open(os.path.join(ROOT, "web", "docs.html"), "rb") as f:
            assert body == f.read()
        text = body.decode()
        assert len(body) < 40000
        outside = [u for u in re.findall(r'(?:src|href)="?([^" >]+)|url\(([^)]+)|@import|https?://[^\s"\'<]+', text) if any(u)]
        assert all(u[0].startswith(("#", "/", "data:", "URL.")) for u in outside), outside
        assert all(u in ("http://www.w3.org/2000/svg",) for u in re.findall(r'https?://[^\s"\'<]+', text)), text
        keys = set(re.findall(r'data-i="([a-z]+)"', text))
        chinese = text[text.index("const ZH={"):text.index("const EN={")]
        missing = [k for k in keys if not re.search(r'[{,\n]"?%s"?:' % k, chinese)]
        assert not missing, missing


if __name__ == "__main__":
    import atexit
    atexit.register(lambda: skipped and print("not there, so some checks were left out: " + ", ".join(sorted(set(skipped)))))
    main([metrics_equal_what_the_client_counted, gauges_follow_the_queue, both_formats_are_well_formed, the_dashboard_shows_what_exists, traces_go_through,
          the_access_log_has_a_line_for_each_request, a_wrong_method_hears_the_right_ones, openapi_describes_what_is_served, the_page_stands_alone])
