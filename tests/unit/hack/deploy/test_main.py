from __future__ import annotations

import shlex
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hack.deploy import __main__ as command
from hack.deploy import order, preflight, pruning, removal, rendering
from hack.deploy.findings import Check, Finding
from hack.deploy.kubectl import load
from tests.unit.hack.deploy.fakes import Recorder, made

ROOT = Path(__file__).resolve().parents[4]
OBJECTS = [made("ConfigMap", "a", "home"), made("Namespace", "home")]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made_one = Recorder()
    monkeypatch.setattr(command, "Kubectl", lambda *_: made_one)
    monkeypatch.setattr(rendering, "render", lambda *_: list(OBJECTS))
    monkeypatch.setattr(pruning, "prune", lambda *_: None)
    monkeypatch.setattr(preflight, "look", lambda *_: [])
    return made_one


def finding(check: Check, **more: Any) -> Finding:
    return Finding(check, "so it is", **more)


@pytest.mark.parametrize(
    ("words", "found", "code", "applies"),
    [
        ([], [], 0, True),
        ([], [finding(Check.OWNER)], 1, False),
        (["--take-over"], [finding(Check.OWNER)], 0, True),
        (["--accept=rival"], [finding(Check.RIVAL)], 0, True),
        (["--accept=schema"], [finding(Check.OWNER)], 1, False),
        (["--take-over"], [finding(Check.RIVAL)], 1, False),
        ([], [finding(Check.VERSION, is_blocking=False)], 0, True),
        (["--dry-run"], [], 0, False),
    ],
)
def test_nothing_is_applied_while_something_stands_in_the_way(
    words: list[str],
    found: list[Finding],
    code: int,
    *,
    applies: bool,
    cluster: Recorder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preflight, "look", lambda *_: found)
    assert command.main(["apply", *words]) == code
    stored = [one for one in cluster.commands if one[0] == "apply" and "--dry-run=server" not in one]
    assert bool(stored) is applies


def test_what_stands_in_the_way_is_told_with_the_way_around_it(
    cluster: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        preflight, "look", lambda *_: [finding(Check.SCHEMA), finding(Check.RIVAL), finding(Check.OWNER)]
    )
    assert command.main(["preflight", "--accept=rival"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: schema: so it is",
        "warning: rival: so it is",
        "error: owner: so it is",
        "nothing was applied; ACCEPT=schema goes on in spite of it",
    ]
    assert command.main(["preflight", "--accept=schema", "--take-over"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "nothing was applied"
    assert command.main(["preflight", "--accept=schema,rival", "--take-over"]) == 0


@pytest.mark.parametrize(
    ("words", "said"), [("apply", "the same command again does the rest"), ("preflight", "nothing was changed")]
)
def test_an_interruption_is_one_line_that_says_how_it_stands(
    words: str, said: str, cluster: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> list[Finding]:
        raise KeyboardInterrupt

    monkeypatch.setattr(preflight, "look", interrupted)
    assert command.main([words]) == 130
    assert capsys.readouterr().err == f"\ninterrupted: {said}\n"


def test_objects_of_kinds_that_the_cluster_lacks_are_left_out_when_that_was_accepted(
    cluster: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preflight, "look", lambda *_: [finding(Check.KIND)])
    monkeypatch.setattr(rendering, "render", lambda *_: [*OBJECTS, made("PrometheusRule", "alerts", "home")])
    assert command.main(["apply", "--accept=kind"]) == 0
    assert "PrometheusRule home/alerts: left out, the cluster doesn't serve its kind" in capsys.readouterr().out
    assert not any("PrometheusRule" in kinds for kinds in cluster.sent)


@pytest.mark.parametrize(
    "words",
    [
        ["apply", "--env=moon"],
        ["apply", "--components=moon"],
        ["apply", "--accept=moon"],
        ["apply", "--accept=owner"],
        ["fly"],
        [],
    ],
)
def test_wrong_words_end_with_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2


def test_the_one_file_holds_everything_in_a_safe_order(cluster: Recorder, tmp_path: Path) -> None:
    path = tmp_path / "new" / "install.yaml"
    assert command.main(["manifest", f"--output={path}"]) == 0
    assert load(path.read_text()) == order.sort(OBJECTS)


def test_kinds_are_not_deleted_without_a_yes(
    cluster: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(removal, "_counts", lambda *_: Counter())  # of no object
    cluster.there = [made("CustomResourceDefinition", "jobs.batch.volcano.sh")]
    assert command.main(["undeploy-crds"]) == 1
    assert "CONFIRM=yes" in capsys.readouterr().err
    assert command.main(["undeploy-crds", "--confirm"]) == 0


@pytest.mark.parametrize("target", ["deploy", "preflight", "manifest", "undeploy", "undeploy-crds"])
def test_make_says_what_the_command_understands(target: str) -> None:
    variables = ["ENV=staging", "CONTEXT=c", "COMPONENTS=prometheus,hypernode", "IMAGE=x:1", "ACCEPT=rival,schema",
                 "TAKE_OVER=yes", "CONFIRM=yes"]  # fmt: skip
    done = subprocess.run(["make", "-n", target, *variables], cwd=ROOT, capture_output=True, text=True, check=True)
    [line] = [line for line in done.stdout.splitlines() if "hack.deploy" in line]
    options = command._parser().parse_args(shlex.split(line)[3:])
    assert getattr(options, "env", "staging") == "staging"
    assert getattr(options, "components", ["prometheus", "hypernode"]) == ["prometheus", "hypernode"]
    assert getattr(options, "context", "c") == "c"
    assert getattr(options, "take_over", True)
    assert getattr(options, "confirm", True)


def test_the_page_tells_of_every_overlay_feature_and_finding() -> None:
    page = (ROOT / "docs/deploy.md").read_text()
    for word in (*rendering.environments(), *rendering.features(), *Check):
        assert f"| `{word}` |" in page, word


@pytest.mark.parametrize(("target", "variable"), [("deploy", "TAKE_OVER"), ("undeploy-crds", "CONFIRM")])
def test_make_takes_no_other_word_for_yes_and_none_for_no(target: str, variable: str) -> None:
    done = subprocess.run(
        ["make", "-n", target, f"{variable}=true"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"{variable} is yes or empty, not true" in done.stderr


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("make preflight ENV=dev CONTEXT=my-cluster", ["preflight", "--env=dev"]),
        ("make manifest ENV=production", ["manifest", "--env=production", "--output=dist/install-production.yaml"]),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_commands_print_what_the_page_shows(
    typed: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main(words) == 0
    assert f"$ {typed}\n{capsys.readouterr().out}" in (ROOT / "docs/deploy.md").read_text()
