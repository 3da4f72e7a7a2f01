from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.client import Client
from runtime.component import Connection
from runtime.errors import ConfigError
from runtime.https import DrainTimeout
from runtime.informers import Informers
from runtime.kubeconfig import ClientConfig
from runtime.runnables import Runnable, Stage
from tests.unit.webhooks.samples import WEBHOOKS, JobDefaults, JobRules
from webhooks import __main__ as process
from webhooks.__main__ import Front, main
from webhooks.options import Options, Service
from webhooks.pods.defaults import PodDefaults

REACHED = "--webhook-service-name=s"
PORT = "Configured port is invalid: the port should be in the range of 1 and 65535"


@pytest.mark.parametrize(
    ("words", "last_words"),
    [
        ([], "failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty\n"),
        (
            [REACHED, "--enabled-admission=/jobs/validate,/nope"],
            "enabled admission /nope not found on the admission registered map\n",
        ),
        (
            [REACHED, "--port=0", "--enabled-admission=/nope"],
            f"[{PORT}, enabled admission /nope not found on the admission registered map]\n",
        ),
        (
            [REACHED, "--tls-cert-file=/none.crt"],
            "--tls-cert-file: unable to read /none.crt: No such file or directory\n",
        ),
    ],
)
def test_settings_that_can_not_be_used_end_the_start(
    words: list[str], last_words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WEBHOOKS", WEBHOOKS)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 1
    assert capsys.readouterr().err == last_words


class Parts:
    """Takes note of what a manager is given."""

    def __init__(self) -> None:
        self.parts: dict[str, Runnable] = {}
        self.checks: dict[str, Any] = {}

    def add(self, runnable: Runnable) -> None:
        self.parts[runnable.name] = runnable

    def require(self, name: str, check: Any) -> None:
        self.checks[name] = check


async def set_up(front: Front, manager: Any, *webhooks: Any, settings: Options | None = None) -> Informers:
    client: Any = Client.__new__(Client)
    events: Any = None
    informers = Informers(client)
    connection = Connection(ClientConfig("https://127.0.0.1:1"), client, informers, events)
    await front.set_up(manager, connection, webhooks, settings or Options())
    return informers


WITH_SECRET = Service(namespace="n", name="s", secret="t")  # waits for no file


async def test_the_parts_run_in_their_stages_and_tell_whether_they_are_ready() -> None:
    manager = Parts()
    informers = await set_up(Front(WITH_SECRET), manager, JobDefaults, JobRules)
    assert {name: part.stage for name, part in manager.parts.items()} == {
        "certificates": Stage.SERVICES,
        "ca-bundle": Stage.SERVICES,
        "admission": Stage.LEADING,
    }
    assert [informer.resource.plural for informer in informers] == ["queues"], "caches are asked for before they run"
    assert {name: check() for name, check in manager.checks.items()} == {
        "caches": "caches are not synced",
        "ca-bundle": "MutatingWebhookConfiguration volcano-admission-service-jobs-mutate: not looked at yet; "
        "ValidatingWebhookConfiguration volcano-admission-service-jobs-validate: not looked at yet",
        "admission": "the admission server does not listen",
    }


async def test_what_a_webhook_runs_beside_its_answers_is_a_part_of_the_process(tmp_path: Path) -> None:
    manager = Parts()
    settings = Options(admission_conf=str(tmp_path / "volcano-admission.conf"))
    await set_up(Front(WITH_SECRET), manager, PodDefaults, settings=settings)
    assert manager.parts["admission-configuration"].stage is Stage.SERVICES


async def test_somebody_else_may_keep_the_bundle() -> None:
    manager = Parts()
    front = Front(Service(namespace="n", name="s", secret="t", manages_bundle=False))
    await set_up(front, manager, JobDefaults)
    assert manager.checks["ca-bundle"]() == ""


async def test_without_a_certificate_nothing_starts() -> None:
    manager = Parts()
    with pytest.raises(ConfigError, match="failed to find any tls config data"):
        await set_up(Front(Service()), manager)
    assert not manager.parts


async def test_requests_broken_off_at_the_end_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def too_long(server: Any, seconds: float) -> None:
        raise DrainTimeout(f"2 requests after {seconds:g} s")

    monkeypatch.setattr("webhooks.__main__.AdmissionServer.drain", too_long)
    manager, front = Parts(), Front(WITH_SECRET)
    await set_up(front, manager)
    stop: Any = manager.parts["admission"].stop
    await stop()
    assert front.failure == "2 requests after 30 s"


def test_an_interrupt_ends_it_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        process.entry()
    assert ended.value.code == 130
