"""What the commands say of a control plane that does not run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cluster import commands
from cluster.processes import MARKER, marked_with, wait_until
from cluster.state import clusters_directory, locate


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)


def test_down_names_the_directory_that_it_was_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "here"
    assert commands.main(["down", "--dir", str(place)]) == 0
    assert capsys.readouterr().out.startswith(f"the control plane in {place} does not run: ")
    locate("default", place).create()
    assert commands.main(["down", "--dir", str(place)]) == 0
    assert capsys.readouterr().out == f"the control plane in {place} is down\n"
    assert not place.exists()


def test_down_names_the_control_plane_where_no_directory_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["down", "--name", "mine"]) == 0
    assert capsys.readouterr().out.startswith("control plane 'mine' does not run: ")


def test_down_ends_processes_whose_directory_was_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    root = locate("mine").root
    with subprocess.Popen(["sleep", "1000"], env={**os.environ, MARKER: str(root)}) as process:
        try:
            assert wait_until(lambda: bool(marked_with(root)), 10)
            assert commands.main(["status", "--name", "mine"]) == 1
            assert "has lost its state directory, but its processes are there; end them: " in capsys.readouterr().out
            assert commands.main(["down", "--name", "mine"]) == 0
            assert process.wait(10) == -9
        finally:
            process.kill()
    out = capsys.readouterr().out
    assert f"process (pid {process.pid})" in out
    assert out.endswith("control plane 'mine' is down\n")
    assert not root.exists()


def test_what_one_directory_holds_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    homes = clusters_directory()
    for name in (b"Bad_Name", b"half", b"new", b"odd\n\xff"):
        (homes / os.fsdecode(name)).mkdir(parents=True)
    (homes / "a-file").touch()
    (homes / "half" / "cluster.json").write_text('{"na')
    assert commands.main(["status", "--all"]) == 0
    bad, half, new, odd = capsys.readouterr().out.splitlines()
    assert bad == "'Bad_Name': no control plane, none can be called so"
    assert half.startswith(f"half: {homes}/half/cluster.json is damaged (")
    assert new == "new: was never started, or was taken down"
    assert odd.startswith("'odd\\n\\udcff': ")


@pytest.mark.parametrize("command", ["status", "env"])
def test_what_does_not_run_is_named_by_its_directory(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main([command, "--dir", str(tmp_path / "here")]) == 1
    said = capsys.readouterr()
    assert f"the control plane in {tmp_path / 'here'} does not run: " in said.out + said.err


def test_a_file_that_holds_no_webhooks_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text("kind: Cluster\n")
    assert commands.main(["webhooks", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"cluster: {file}: kind: expected MutatingWebhookConfiguration or ValidatingWebhookConfiguration, got 'Cluster'\n"
    )


def test_too_many_nodes_are_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["up", "--nodes", "99999999999"]) == 2
    assert capsys.readouterr().err == "cluster: --nodes '99999999999': at most 20000 nodes can be simulated\n"
