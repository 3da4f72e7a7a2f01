"""State directory, records and lock."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from cluster import state
from cluster.errors import StateError, UsageError
from cluster.options import Options
from cluster.state import Facts, Layout, Processes, ProcessRecord, clusters_directory, locate, locked, read, write

FACTS = Facts(
    name="default",
    options=Options(feature_gates={"A": True}, apiserver_args=("--v=2",)),
    api_port=6443,
    etcd_port=2379,
    binaries={"etcd": "/bin/etcd"},
    created=1.5,
)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "state")


def test_named_ones_live_in_the_state_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert locate("default").root == tmp_path / "stromboli" / "clusters" / "default"
    monkeypatch.setenv("HOME", "/home/someone")
    for unusable in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", unusable)
        assert clusters_directory() == Path("/home/someone/.local/state/stromboli/clusters")


def test_a_directory_of_ones_own_choice_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate("default", Path("here")).root == tmp_path / "here"


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "..", "a" * 43, "a b", "a\n"])
def test_names_that_would_make_odd_paths_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        locate(name)


@pytest.mark.parametrize("name", ["a", "default", "a-b-1", "1", "a" * 42])
def test_plain_names_are_taken(name: str) -> None:
    assert locate(name).root.name == name


def test_records_come_back_as_they_were_written(layout: Layout) -> None:
    layout.create()
    write(layout.facts_file, FACTS)
    assert read(layout.facts_file, Facts) == FACTS
    processes = Processes(
        ProcessRecord("supervisor", 1, "10"), (ProcessRecord("etcd", 2, "11", "exited with code 1"),), "why", "etcd"
    )
    write(layout.processes_file, processes)
    assert read(layout.processes_file, Processes) == processes
    assert [record.name for record in processes.all()] == ["supervisor", "etcd"]


def test_a_missing_record_is_none(layout: Layout) -> None:
    assert read(layout.facts_file, Facts) is None


@pytest.mark.parametrize("keep", [0, 1, 40, -3])
def test_a_half_written_record_is_named(layout: Layout, keep: int) -> None:
    layout.create()
    whole = msgspec.json.encode(FACTS)
    layout.facts_file.write_bytes(whole[:keep])
    with pytest.raises(
        StateError,
        match=rf"{layout.facts_file} is damaged .*python[\d.]* -m cluster down --dir {layout.root} clears it",
    ):
        read(layout.facts_file, Facts)


@pytest.mark.parametrize(
    "data",
    [b"[]", b'{"name": 1}', b"\xff\xfe", b'{"supervisor": null}', b'{"ended": "\xff"}', b'{"x": ' + b"[" * 100_000],
)
def test_a_record_of_another_shape_is_damaged(layout: Layout, data: bytes) -> None:
    layout.create()
    layout.processes_file.write_bytes(data)
    with pytest.raises(StateError, match="is damaged"):
        read(layout.processes_file, Processes)


def test_a_record_that_is_a_directory_cannot_be_read(layout: Layout) -> None:
    layout.facts_file.mkdir(parents=True)
    with pytest.raises(StateError, match=f"cannot read {layout.facts_file}: Is a directory"):
        read(layout.facts_file, Facts)


def test_private_keys_are_for_the_owner_only(layout: Layout) -> None:
    layout.create()
    write(layout.kubeconfig, "text")
    assert layout.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert layout.pki.stat().st_mode & 0o777 == 0o700


def test_a_failed_write_leaves_the_old_record_and_no_rest(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    layout.create()
    write(layout.facts_file, FACTS)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StateError, match=rf"cannot write {layout.facts_file}: the disk is full: free some space"):
        write(layout.facts_file, msgspec.structs.replace(FACTS, api_port=1))
    assert read(layout.facts_file, Facts) == FACTS
    assert not list(layout.root.glob(".*"))


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only: choose another place with --dir or XDG_STATE_HOME"),
        (errno.EACCES, "permission denied: choose another place"),
        (errno.ENOTDIR, "a file is in the way"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_each_obstacle_has_its_remedy(number: int, remedy: str) -> None:
    message = str(state.write_failed(Path("/x"), OSError(number, os.strerror(number))))
    assert message.startswith("cannot write /x: ")
    assert remedy in message


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match=rf"cannot write {tmp_path}/file/state: a file is in the way"):
        Layout(tmp_path / "file" / "state").create()


def test_a_place_that_takes_no_directory_is_named() -> None:
    with pytest.raises(StateError, match="cannot write /proc/stromboli"):
        Layout(Path("/proc/stromboli")).create()


def test_someone_elses_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    layout = Layout(tmp_path)
    with pytest.raises(StateError, match=rf"{tmp_path} holds other files \(thesis.tex\); take an empty directory"):
        layout.create()
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
    layout.clear()
    layout.remove()
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_clearing_keeps_the_lock_only(layout: Layout) -> None:
    layout.create()
    write(layout.facts_file, FACTS)
    (layout.etcd_data / "member").mkdir()
    (layout.root / ".cluster.json.abc").write_text("half")
    layout.lock_file.touch()
    layout.clear()
    assert [entry.name for entry in layout.root.iterdir()] == ["lock"]
    layout.remove()
    assert not layout.root.exists()


def test_a_link_is_removed_and_what_it_points_to_stays(layout: Layout, tmp_path: Path) -> None:
    layout.create()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    layout.etcd_data.rmdir()
    layout.etcd_data.symlink_to(precious)
    layout.remove()
    assert (precious / "file").exists()


def test_one_at_a_time_holds_the_lock(layout: Layout) -> None:
    order = []
    entered = threading.Event()

    def second() -> None:
        with locked(layout):
            order.append("second")

    with locked(layout):
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait(0.3)
        order.append("first")
        layout.remove()  # as `down` does: the waiting one must not lock a file that is gone
    thread.join(10)
    assert order == ["first", "second"]
    assert layout.lock_file.exists()


def test_a_lock_on_a_file_that_was_deleted_meanwhile_does_not_count(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock
    deleted: list[int] = []

    def delete_first(descriptor: int, operation: int) -> None:
        if not deleted:  # between opening and locking, a `down` removes the directory
            deleted.append(os.fstat(descriptor).st_ino)
            layout.remove()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", delete_first)
    with locked(layout, timeout=10):
        monkeypatch.undo()
        assert deleted
        with pytest.raises(StateError), locked(layout, timeout=0.1):
            raise AssertionError


def test_a_lock_that_stays_taken_is_explained(layout: Layout) -> None:
    with (
        locked(layout),
        pytest.raises(StateError, match=f"another `up` or `down` works on {layout.root}"),
        locked(layout, timeout=0.2),
    ):
        raise AssertionError


def test_the_lock_of_a_killed_process_is_free(layout: Layout) -> None:
    script = (
        "import sys, pathlib\n"
        "from cluster.state import Layout, locked\n"
        "with locked(Layout(pathlib.Path(sys.argv[1]))):\n"
        "    print('locked', flush=True)\n"
        "    input()\n"
    )
    command = [sys.executable, "-c", script, str(layout.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(StateError), locked(layout, timeout=0.1):
            raise AssertionError
        holder.kill()
    with locked(layout, timeout=10):
        assert layout.lock_file.exists()
