from __future__ import annotations

import pytest

from controllers import __main__ as process


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
