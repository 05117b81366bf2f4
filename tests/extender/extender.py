#!/usr/bin/env python3
"""A scheduler extender for tests: all verbs, with faults on demand. Standard library alone, loopback alone.

It is told what to do on its command line, and says on standard output at which port it listens. What it does to a call is
decided call by call:

- POST /_script {"filter": ["ok", "status:500", ...]}: the next calls of a verb, in order; after them, rules as before
- POST /_faults {"seed": 1, "rate": 0.3, "kinds": [...]}: the rest at random, the same for the same seed and order of calls
- POST /_rules {"reject": {"node": "text"}, "never": {"node": "text"}, "scores": {"node": 7}, "spare": ["uid"], ...}
- GET /_report: calls and faults so far, and the last requests when --record is given

It keeps to nobody's rules about what a scheduler must bear: kinds of faults are listed in FAULTS.
"""

import argparse
import http.client
import json
import random
import socket
import ssl
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

VERBS = ("filter", "prioritize", "bind", "preempt")

# Bytes that a huge reply goes on for, unless the scheduler hangs up before.
HUGE = 256 << 20


class State:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.random = random.Random(0)
        self.rate = 0.0
        self.kinds = []
        self.script = {verb: [] for verb in VERBS}
        self.rules = {}
        self.calls = {verb: 0 for verb in VERBS}
        self.faults = {}
        self.connections = 0
        self.bound = 0
        self.requests = []

    def decide(self, verb):
        """What becomes of the next call of a verb."""
        with self.lock:
            self.calls[verb] += 1
            if self.script[verb]:
                kind = self.script[verb].pop(0)
            elif self.kinds and self.random.random() < self.rate:
                kind = self.random.choice(self.kinds)
            else:
                kind = "ok"
            if kind != "ok":
                self.faults[kind] = self.faults.get(kind, 0) + 1
            return kind

    def record(self, entry):
        if self.options.record:
            with self.lock:
                self.requests.append(entry)
                del self.requests[: -self.options.record]

    def report(self):
        with self.lock:
            return {
                "calls": dict(self.calls),
                "faults": dict(self.faults),
                "connections": self.connections,
                "bound": self.bound,
                "requests": list(self.requests),
            }


def lookup(mapping, key):
    """A key in any case, as Go finds it."""
    for name, value in mapping.items():
        if name.lower() == key.lower():
            return value
    return None


def node_names(args):
    names = lookup(args, "NodeNames")
    if names is not None:
        return names
    nodes = lookup(args, "Nodes") or {}
    return [node["metadata"]["name"] for node in nodes.get("items") or []]


def filter_reply(state, args):
    rules = state.rules
    reject, never = rules.get("reject", {}), rules.get("never", {})
    keep = [name for name in node_names(args) if name not in reject and name not in never]
    result = {
        "Nodes": None,
        "NodeNames": None,
        "FailedNodes": {name: reject[name] for name in node_names(args) if name in reject},
        "FailedAndUnresolvableNodes": {name: never[name] for name in node_names(args) if name in never},
        "Error": "",
    }
    if lookup(args, "NodeNames") is not None:
        result["NodeNames"] = keep
    else:
        items = (lookup(args, "Nodes") or {}).get("items") or []
        result["Nodes"] = {"metadata": {}, "items": [node for node in items if node["metadata"]["name"] in keep]}
    return result


def prioritize_reply(state, args):
    scores = state.rules.get("scores", {})
    return [{"Host": name, "Score": scores.get(name, 0)} for name in node_names(args)]


def bind_reply(state, args):
    """Binds the pod as a scheduler would, through the API server."""
    base = urlsplit(state.options.api_server)
    namespace, name = args["PodNamespace"], args["PodName"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": args["PodUID"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": args["Node"]},
    }
    if base.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(base.hostname, base.port, context=context, timeout=30)
    else:
        connection = http.client.HTTPConnection(base.hostname, base.port, timeout=30)
    headers = {"Content-Type": "application/json"}
    if state.options.token:
        headers["Authorization"] = "Bearer " + state.options.token
    try:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
        connection.request("POST", path, json.dumps(binding), headers)
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status not in (200, 201):
        return {"Error": f"binding answered {response.status}: {answer[:200].decode(errors='replace')}"}
    with state.lock:
        state.bound += 1
    return {"Error": ""}


def preempt_reply(state, args):
    spare = set(state.rules.get("spare", []))
    drop = set(state.rules.get("drop_nodes", []))
    chosen = {}
    meta = lookup(args, "NodeNameToMetaVictims")
    if meta is None:
        whole = lookup(args, "NodeNameToVictims") or {}
        meta = {
            node: {
                "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"] or []],
                "NumPDBViolations": victims["NumPDBViolations"],
            }
            for node, victims in whole.items()
        }
    for node, victims in meta.items():
        if node in drop:
            continue
        pods = [pod for pod in victims["Pods"] or [] if pod["UID"] not in spare]
        chosen[node] = {"Pods": pods, "NumPDBViolations": victims["NumPDBViolations"]}
    return {"NodeNameToMetaVictims": chosen}


REPLIES = {"filter": filter_reply, "prioritize": prioritize_reply, "bind": bind_reply, "preempt": preempt_reply}


def mangled(verb, kind, argument, reply):
    """A well-formed reply that says something wrong."""
    if kind == "error":
        if verb == "prioritize":
            return {"Error": argument}
        return {**reply, "Error": argument}
    if kind == "unknown":
        if verb == "filter":
            items = {"metadata": {}, "items": [{"metadata": {"name": "nowhere"}}]}
            return {**reply, "NodeNames": ["nowhere"], "Nodes": items}
        if verb == "prioritize":
            return [*reply, {"Host": "nowhere", "Score": 1 << 62}]
        if verb == "preempt":
            return {"NodeNameToMetaVictims": {"nowhere": {"Pods": [{"UID": "nobody"}], "NumPDBViolations": 0}}}
    if kind == "nulls":
        if verb == "filter":
            return {"NodeNames": [None], "Nodes": {"items": [None]}, "FailedNodes": None}
        if verb == "prioritize":
            return [None]
        if verb == "preempt":
            return {"NodeNameToMetaVictims": {node: None for node in reply["NodeNameToMetaVictims"]}}
        return None
    if kind == "types":
        return {"filter": {"NodeNames": 7}, "prioritize": [{"Score": "x"}], "preempt": []}.get(verb, {"Error": 7})
    if kind == "nothing":
        return {} if verb != "prioritize" else []
    return reply


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "extender"
    disable_nagle_algorithm = True

    def setup(self):
        with self.server.state.lock:
            self.server.state.connections += 1
        super().setup()

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/_report":
            self.answer(200, json.dumps(self.server.state.report()).encode())
        elif self.path.startswith("/_"):
            self.answer(404, b"")
        else:
            self.call(b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/_"):
            self.control(body)
        else:
            self.call(body)

    def control(self, body):
        state, value = self.server.state, json.loads(body)
        with state.lock:
            if self.path == "/_script":
                for verb, kinds in value.items():
                    state.script[verb] = list(kinds)
            elif self.path == "/_faults":
                state.random = random.Random(value.get("seed", 0))
                state.rate, state.kinds = value.get("rate", 0.0), value.get("kinds", [])
            elif self.path == "/_rules":
                state.rules = value
        self.answer(200, b"{}")

    def call(self, body):
        state = self.server.state
        verb = self.path.rsplit("/", 1)[-1]
        if verb not in VERBS:
            self.answer(404, b"no such verb")
            return
        kind, _, argument = state.decide(verb).partition(":")
        state.record({"verb": verb, "kind": kind, "method": self.command, "headers": dict(self.headers), "body": body.decode()})
        # Faults of a kind that strikes before the work is done: the request came, and nothing follows from it.
        if kind in BEFORE:
            BEFORE[kind](self, argument)
            return
        reply = REPLIES[verb](state, json.loads(body or b"{}"))
        if kind in AFTER:
            AFTER[kind](self, argument, json.dumps(reply).encode())
            return
        self.answer(200, json.dumps(mangled(verb, kind, argument, reply)).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def head(self, length=None):
        """Begins an answer after which the connection is closed, and says so: a client would use it again."""
        self.send_response(200)
        self.send_header("Connection", "close")
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.close_connection = True

    # Faults.

    def status(self, argument):
        status = int(argument or 500)
        # What follows the head of a 204 is no body of it, but the beginning of the next answer.
        self.answer(status, b"" if status == 204 else b"a fault")

    def redirect(self, argument):
        status, _, location = argument.partition(":")
        self.send_response(int(status))
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def close(self, _):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def reset(self, *_):
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The files made of the socket hold it open.
        self.rfile.close()
        self.wfile.close()
        self.connection.close()

    def hang(self, argument):
        self.close_connection = True
        time.sleep(float(argument or 30))

    def wire(self, argument):
        """Bytes of any kind in place of an HTTP answer."""
        self.close_connection = True
        self.wfile.write(argument.encode().decode("unicode_escape").encode("latin-1"))

    def body(self, argument):
        self.answer(200, argument.encode().decode("unicode_escape").encode("latin-1"))

    def junk(self, _):
        with self.server.state.lock:
            noise = self.server.state.random.randbytes(200)
        self.answer(200, noise)

    def deep(self, _):
        self.answer(200, b"[" * 100_000)

    def huge(self, argument):
        """A reply that goes on and on, in one string."""
        self.head()
        self.wfile.write(b'{"Error":"')
        block = (argument or "x").encode() * 65536
        for _ in range(HUGE // len(block)):
            self.wfile.write(block)

    def late(self, argument, body):
        time.sleep(float(argument or 1))
        self.answer(200, body)

    def drip(self, argument, body):
        """The right reply, byte by byte."""
        self.head(len(body))
        for byte in body:
            self.wfile.write(bytes([byte]))
            time.sleep(float(argument or 0.2))

    def cut(self, _, body):
        """Half of the right reply."""
        self.head(len(body))
        self.wfile.write(body[: len(body) // 2])

    def lost(self, _, body):
        """The work is done, and nobody learns of it."""
        self.reset()

    def more(self, argument, body):
        """The right reply, and more behind it."""
        self.answer(200, body + (argument or " trailing [").encode())

    def open(self, argument, body):
        """The right reply, the end of which is never said."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        time.sleep(float(argument or 30))

    def chunked(self, _, body):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")


# By name; the text behind a colon is the fault's argument.
BEFORE = {
    "status": Handler.status,
    "redirect": Handler.redirect,
    "close": Handler.close,
    "reset": Handler.reset,
    "hang": Handler.hang,
    "wire": Handler.wire,
    "body": Handler.body,
    "junk": Handler.junk,
    "deep": Handler.deep,
    "huge": Handler.huge,
}
AFTER = {
    "late": Handler.late,
    "drip": Handler.drip,
    "cut": Handler.cut,
    "lost": Handler.lost,
    "more": Handler.more,
    "open": Handler.open,
    "chunked": Handler.chunked,
}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # The scheduler hung up, as it does on many of the faults.
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description="A scheduler extender for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-server", default="", help="where bindings go")
    parser.add_argument("--token", default="", help="bearer token for it")
    parser.add_argument("--record", type=int, default=0, help="requests to keep for the report")
    parser.add_argument("--cert", help="PEM files: serve TLS")
    parser.add_argument("--key")
    parser.add_argument("--client-ca", help="PEM file: take only clients of this authority")
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Handler)
    server.state = State(options)
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        if options.client_ca:
            context.load_verify_locations(options.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_port, flush=True)
    # Ends with the test: standard input closes when the test is gone, however it went.
    threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
