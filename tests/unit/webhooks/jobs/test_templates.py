from __future__ import annotations

import msgspec
import pytest

from generated.batch.v1alpha1 import Job, JobSpec, TaskSpec
from generated.core.v1 import Container, PodSpec, PodTemplateSpec, ResourceRequirements
from runtime.interning import InterningDecoder
from tests.unit.webhooks.jobs.samples import container, job, pod, task
from webhooks.jobs import tasks, templates
from webhooks.jobs.templates import TemplateJudge, interned, judge_for
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


def test_templates_that_differ_share_what_they_have_in_common() -> None:
    decoder = InterningDecoder(Job, intern=interned("spec.tasks"))
    parts = {
        "livenessProbe": {"httpGet": {"port": 80}},
        "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": 1}},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    different = [container(command=[name], **parts) for name in "ab"]
    each = [task(template=pod(containers=[one], volumes=[{"name": "v"}])) for one in different]
    document = msgspec.json.encode(job(*each))
    found = decoder.decode(document)
    assert found == msgspec.json.decode(document, type=Job)
    one, other = (made.template.spec for made in found.spec.tasks)
    assert one is not other
    assert one.volumes is other.volumes
    for name in ("liveness_probe", "ports", "resources", "volume_mounts"):
        assert getattr(one.containers[0], name) is getattr(other.containers[0], name)


def test_tasks_that_were_right_are_so_in_the_next_job_but_for_the_names_of_their_pods() -> None:
    judge = TemplateJudge(lambda: NEW)
    spec = JobSpec(tasks=(TaskSpec(name="t", replicas=1, template=template()),))
    assert list(tasks.problems("j", spec, judge)) == []
    assert judge.knows_right(spec.tasks)
    assert list(tasks.problems("k", spec, judge)) == []
    (problem,) = tasks.problems("x" * 70, spec, judge)
    assert problem.startswith(f"create pod with name {'x' * 70}-t-0 validate failed")


def test_tasks_that_are_wrong_in_anything_are_looked_at_again() -> None:
    known = [NEW]
    judge = TemplateJudge(lambda: known[-1])
    twice = TaskSpec(name="t", replicas=1, template=template())
    wrong = JobSpec(tasks=(twice, twice))
    for job_name in ("j", "k"):
        assert list(tasks.problems(job_name, wrong, judge)) == [" duplicated task name t;"]
    right = JobSpec(tasks=(twice,))
    assert list(tasks.problems("j", right, judge)) == []
    known.append(OLD)  # which doesn't let the template in
    (problem,) = tasks.problems("j", right, judge)
    assert problem.startswith("spec.task[0].template.spec.containers[0].restartPolicy: ")
