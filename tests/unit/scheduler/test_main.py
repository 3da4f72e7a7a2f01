from __future__ import annotations

import pytest

from scheduler import __main__ as process


def interrupted() -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("main", "code"), [(interrupted, 130), (lambda: 3, 3)])
def test_the_exit_code_is_mains_and_that_of_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, main: object, code: int
) -> None:
    monkeypatch.setattr(process, "main", main)
    with pytest.raises(SystemExit) as ended:
        process.entry()
    assert ended.value.code == code


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["replay", "/nowhere/snapshot-1.json"], 2),
        (["replay"], 2),
        (["--leader-elect-lease-duration=1s"], 1),
        (["--leader-elect-resource-lock="], 1),
    ],
)
def test_lines_that_cannot_be_followed_end_with_their_codes(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        ended = process.main(words)
    except SystemExit as exit_:
        ended = int(str(exit_.code))
    assert ended == code
    assert capsys.readouterr().err
