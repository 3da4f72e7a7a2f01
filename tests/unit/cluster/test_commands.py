"""What the commands say of a control plane that does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import commands
from cluster.state import locate


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


@pytest.mark.parametrize("command", ["status", "env"])
def test_what_does_not_run_is_named_by_its_directory(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main([command, "--dir", str(tmp_path / "here")]) == 1
    said = capsys.readouterr()
    assert f"the control plane in {tmp_path / 'here'} does not run: " in said.out + said.err


def test_too_many_nodes_are_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["up", "--nodes", "99999999999"]) == 2
    assert capsys.readouterr().err == "cluster: --nodes '99999999999': at most 20000 nodes can be simulated\n"
