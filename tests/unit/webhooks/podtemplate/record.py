"""Ask a real API server what it says of each case, and write it down: `python -m ...podtemplate.record KUBECONFIG`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from runtime.kubeconfig import load
from runtime.requests import JSON, Request
from runtime.transport_sync import SyncTransport
from tests.unit.webhooks.podtemplate.cases import CASES

FILE = Path(__file__).with_name("causes.json")


def ask(transport: SyncTransport, template: Mapping[str, Any], name: str = "t") -> list[list[str]]:
    """(field, message) of each cause that the server names; no field for another refusal."""
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": template}
    request = Request(
        method="POST",
        path="/api/v1/namespaces/default/podtemplates",
        query={"dryRun": "All"},
        headers={"Content-Type": JSON},
        body=msgspec.json.encode(body),
    )
    response = transport.send(request)
    if response.status < 300:
        return []
    status = json.loads(response.body)
    causes = (status.get("details") or {}).get("causes") or [{"message": status["message"]}]
    return [[cause.get("field", ""), cause["message"]] for cause in causes]


def main() -> None:
    """Write `causes.json`."""
    with SyncTransport(load(sys.argv[1])) as transport:
        found = {name: ask(transport, case) for name, case in CASES.items()}
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
