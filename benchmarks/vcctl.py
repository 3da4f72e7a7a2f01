"""
Start-up of the command line: `vcctl version` and `vcctl job list`, start to end, against a process that does nothing.

The same interpreter runs all three, in turn, in one run; the median of the rounds counts. `job list` reads a kubeconfig
and talks TLS to a server on loopback that answers at once, or to the cluster of `--kubeconfig`. Compiled modules are kept
in a folder of their own, as an installation keeps them. `--jobs 10000` shows what a long list costs.
"""

from __future__ import annotations

import argparse
import base64
import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import yaml

from tests import pki

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {"version": 4.0, "job list": 9.0}


def main() -> int:
    """Print the ratios; the exit code tells whether both are within their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=20, help="jobs that the server on loopback has")
    parser.add_argument("--kubeconfig", default="", help="measure against this cluster")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = options.kubeconfig or _serve(Path(folder), options.jobs)
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environ |= {"PYTHONPYCACHEPREFIX": folder + "/compiled", "KUBECONFIG": config}
        start = [sys.executable, "-c", "from cli.__main__ import vcctl; vcctl()"]
        commands = {
            "nothing": [sys.executable, "-c", "pass"],
            "version": [*start, "version"],
            "job list": [*start, "job", "list"],
        }
        times = _measure(commands, options.rounds, environ)
    return _report(times)


def _measure(commands: dict[str, list[str]], rounds: int, environ: dict[str, str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 2):  # the first two fill the caches
        for name, command in commands.items():
            begin = time.perf_counter()
            done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
            if number > 1:
                times[name].append(time.perf_counter() - begin)
    return times


def _report(times: dict[str, list[float]]) -> int:
    base = statistics.median(times["nothing"])
    print(f"nothing   {base * 1000:6.1f} ms")
    failed = False
    for name, target in TARGETS.items():
        median = statistics.median(times[name])
        failed |= median / base > target
        print(f"{name:<9} {median * 1000:6.1f} ms  {median / base:4.1f} x  (target {target:g} x)")
    return 1 if failed else 0


def _serve(folder: Path, jobs: int) -> str:
    """A server on loopback with so many jobs; the path of its kubeconfig."""
    body = json.dumps(
        {"kind": "JobList", "metadata": {"resourceVersion": "1"}, "items": [_job(i) for i in range(jobs)]}
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True  # an API server doesn't wait for acknowledgements either

        def do_GET(self) -> None:
            data = body.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Stay quiet."""

    authority = pki.Authority()
    context = authority.server_context(folder, authority.issue("server", "127.0.0.1"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return _kubeconfig(folder, f"https://127.0.0.1:{server.server_port}", authority)


def _kubeconfig(folder: Path, server: str, authority: pki.Authority) -> str:
    path = folder / "kubeconfig"
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority.pem).decode()}
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


def _job(number: int) -> dict[str, Any]:
    return {
        "metadata": {"name": f"job-{number}", "namespace": "default", "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"minAvailable": 2, "queue": "default", "tasks": [{"name": "w", "replicas": 3}]},
        "status": {"state": {"phase": "Running"}, "running": 3, "minAvailable": 2},
    }


if __name__ == "__main__":
    sys.exit(main())
