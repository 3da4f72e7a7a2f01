from __future__ import annotations

from runtime.rbac import READ, join
from tests.unit.webhooks.samples import WEBHOOKS
from webhooks.permissions import SECRET_RULES, rules

BOTH = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def test_only_our_own_configurations_are_written() -> None:
    found = {(rule.group, rule.resources, rule.names): rule.verbs for rule in join(rules(WEBHOOKS))}
    ours = ("volcano-admission-service-jobs-mutate", "volcano-admission-service-jobs-validate")
    assert found == {
        ("", ("events",), ()): ("create", "patch"),
        ("admissionregistration.k8s.io", BOTH, ()): READ,
        ("admissionregistration.k8s.io", BOTH, ours): ("patch",),
        ("scheduling.volcano.sh", ("queues",), ()): READ,
    }


def test_without_webhooks_there_is_nothing_to_do() -> None:
    assert [rule.resources for rule in rules(())] == [("events",)]


def test_one_secret_is_read_and_changed() -> None:
    assert {rule.names: rule.verbs for rule in SECRET_RULES} == {
        (): ("create",),
        ("volcano-admission-secret",): ("get", "patch"),
    }
