from __future__ import annotations

import pytest

from generated.core.v1 import Container, PodSpec, PodTemplateSpec, ResourceRequirements
from webhooks.jobs import templates
from webhooks.jobs.templates import TemplateJudge, judge_for
from webhooks.options import feature_gates
from webhooks.podtemplate import Abilities, abilities

OLD, NEW = abilities((1, 34), pod_resources=True), abilities((1, 36), pod_resources=True)


def template(**fields: object) -> PodTemplateSpec:
    container = Container(name="c", image="i", restart_policy="Always")
    return PodTemplateSpec(spec=PodSpec(containers=(container,), **fields))  # type: ignore[arg-type]  # any field


def test_a_verdict_follows_the_release_that_is_learned_later() -> None:
    known = [NEW]
    judge = TemplateJudge(lambda: known[-1])
    one = template()
    assert judge.causes(one) == ()
    known.append(OLD)
    assert [cause.field for cause in judge.causes(one)] == ["template.spec.containers[0].restartPolicy"]


def test_one_object_is_judged_once_and_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[PodTemplateSpec] = []

    def check(one: PodTemplateSpec, able: Abilities) -> list[object]:
        judged.append(one)
        return []

    monkeypatch.setattr(templates, "check", check)
    judge = TemplateJudge(lambda: NEW)
    made = [template() for _ in range(templates.MOST_KEPT + 1)]
    for one in made:
        judge.causes(one)
    judge.causes(made[-1])
    assert len(judged) == len(made)
    judge.causes(made[0])
    assert len(judged) == len(made) + 1, "the one that was longest not asked for was forgotten"


@pytest.mark.parametrize(
    ("release", "fields"), [((1, 34), ["template.spec.containers[0].restartPolicy"]), ((1, 36), [])]
)
def test_the_release_is_that_of_the_server(release: tuple[int, int], fields: list[str]) -> None:
    gates = feature_gates()
    judge = judge_for(gates)
    gates.align(release)
    assert [cause.field for cause in judge.causes(template())] == fields


@pytest.mark.parametrize("is_on", [True, False])
def test_resources_of_pods_follow_their_gate(is_on: bool) -> None:
    gates = feature_gates()
    gates.align((1, 36))
    gates.set({"PodLevelResources": is_on})
    asked = ResourceRequirements(requests={"cpu": "6"}, limits={"cpu": "4"})
    assert bool(judge_for(gates).causes(template(resources=asked))) is is_on
