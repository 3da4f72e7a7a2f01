"""kubectl that remembers what it was told, and answers from lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from hack.deploy.kubectl import Kind, Kubectl, Object

SERVED = {
    ("v1", "ConfigMap"), ("v1", "Service"), ("v1", "Secret"), ("apps/v1", "Deployment"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("v1", "Namespace"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
}  # fmt: skip


class Recorder(Kubectl):
    """Every command, and the kinds of the objects that went with it."""

    context = "context here"

    def __init__(self, there: Sequence[Object] = ()) -> None:
        super().__init__()
        self.there = list(there)
        self.commands: list[tuple[str, ...]] = []
        self.sent: list[list[str]] = []
        self.refusals: dict[str, str] = {}
        """What commands that begin with a word are refused with."""
        self.answers: dict[str, str] = {}
        """What commands that begin with a word print."""

    def run(self, *arguments: str, objects: Iterable[Object] | None = None) -> str:
        self.commands.append(arguments)
        if objects is not None:
            self.sent.append([found["kind"] for found in objects])
        return self.answers.get(arguments[0], "")

    def attempt(self, *arguments: str, objects: Iterable[Object] | None = None) -> str:
        self.run(*arguments, objects=objects)
        return self.refusals.get(arguments[0], "")

    def get(self, *arguments: str, objects: Iterable[Object] | None = None) -> list[Object]:
        self.run("get", *arguments, objects=objects)
        return self.there

    def served(self, wanted: Iterable[Kind] = ()) -> set[Kind]:
        assert list(wanted)
        return SERVED

    def live(self, objects: Sequence[Object]) -> list[Object]:
        return [found for found in self.there if found["kind"] in {one["kind"] for one in objects}]

    def _start(self, arguments: Sequence[str], objects: Iterable[Object] | None) -> NoReturn:
        raise AssertionError(f"no test may reach a real cluster: kubectl {' '.join(arguments)}")


def made(kind: str, name: str = "n", namespace: str = "", version: str = "v1", **more: Any) -> Object:
    """An object that our manager applied."""
    place = {"namespace": namespace} if namespace else {}
    entry = {"manager": "stromboli-deploy", "operation": "Apply"}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **place, "managedFields": [entry]}} | more
