"""
The scheduler's own explanation of a PodGroup, fetched through the API server.

The service in front of the scheduler is asked first. It may lead to a replica that only stands by, or not exist; then
the scheduler's pods are asked one by one. A scheduler that runs outside the cluster is asked at its own address, without
the credentials for the API server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from cli import fields
from cli.connection import USER_AGENT
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import PODS
from cli.requesting import list_objects
from runtime.client_sync import SyncClient
from runtime.errors import ApiError, ConnectionFailed
from runtime.kubeconfig import ClientConfig
from runtime.retry import RetryPolicy
from runtime.transport_sync import SyncTransport

APP_LABELS = "app=volcano-scheduler"
URL_FLAG, URL_VARIABLE = "scheduler-url", "VCCTL_SCHEDULER_URL"
_ONCE = RetryPolicy(attempts=1, wait_for_server=False)
_PATIENCE = 15.0
"""Seconds for an answer of a scheduler that is asked directly; it gives up after 5 itself."""


class Answer(NamedTuple):
    """What the scheduler says, or why it says nothing."""

    content: Any = None
    problem: str = ""


def ask(context: Context, namespace: str, group: str) -> Answer:
    """The explanation of one PodGroup, as the scheduler gives it. Never raises for a scheduler that can't be asked."""
    address = direct_address(context)
    if address:
        return _answer_of(direct_client(context, address), f"/explain/{namespace}/{group}", address)
    problem = ""
    for place in _places(context):
        answer = _answer_of(context.client, f"{place}/proxy/explain/{namespace}/{group}", place)
        if not answer.problem:
            return answer
        problem = problem or answer.problem
    return Answer(problem=f"{problem or 'no scheduler found'}; --{URL_FLAG} reaches one outside the cluster")


def direct_address(context: Context) -> str:
    """Where a scheduler outside the cluster serves its metrics, by flag or environment. Raises CommandError."""
    given = context.flags.text(URL_FLAG)
    name = f"--{URL_FLAG}" if given else URL_VARIABLE
    written = given or context.environ.get(URL_VARIABLE, "")
    address = written.rstrip("/")
    if not written:
        return ""
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.query or parts.fragment:
        raise CommandError(f"{name}: {written} is no address such as http://127.0.0.1:8080")
    return address


def direct_client(context: Context, address: str) -> SyncClient:
    """Asks a scheduler outside the cluster, without the credentials for the API server."""
    seconds = context.flags.seconds("request-timeout") or _PATIENCE
    config = ClientConfig(server=address, source=URL_FLAG)
    return SyncClient(SyncTransport(config, retry=_ONCE, timeout=seconds, user_agent=USER_AGENT))


def _answer_of(client: SyncClient, path: str, place: str) -> Answer:
    try:
        return Answer(msgspec.json.decode(client.raw(path)))
    except ApiError as error:
        return Answer(problem=_own_words(error) or str(error))
    except ConnectionFailed as error:
        return Answer(problem=str(error))
    except msgspec.DecodeError:
        return Answer(problem=f"{place}: the answer is no JSON")


def _places(context: Context) -> Iterator[str]:
    """Paths of what may answer, in the order in which to try."""
    flags = context.flags
    where, port = flags.text("scheduler-namespace"), flags.number("scheduler-port")
    yield f"/api/v1/namespaces/{where}/services/{flags.text('scheduler-service')}:{port}"
    try:
        pods, _ = list_objects(context, PODS, where, labels=APP_LABELS)
    except (ApiError, ConnectionFailed):
        return
    for pod in pods:
        if fields.text(pod, "status", "phase") == "Running":
            yield f"/api/v1/namespaces/{where}/pods/{fields.name(pod)}:{port}"


def _own_words(error: ApiError) -> str:
    """What the scheduler itself said: its refusals are plain text, which the API server's proxy passes on."""
    causes = error.status.details.causes if error.status.details is not None else ()
    return next((cause.message.strip() for cause in causes if cause.reason == "UnexpectedServerResponse"), "")
