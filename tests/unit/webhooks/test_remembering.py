from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from weakref import ref

import pytest

import webhooks
from generated.core.v1 import PodTemplateSpec
from webhooks import remembering, wellformed
from webhooks.causes import by_identity
from webhooks.jobs.templates import TemplateJudge, Verdicts
from webhooks.podtemplate import Abilities, abilities


@pytest.fixture(autouse=True)
def _nothing_heard() -> Iterator[None]:
    remembering._heard = 0
    yield
    remembering.forget()


def able() -> Abilities:
    return abilities(None, pod_resources=False)


def test_all_is_forgotten_once_so_many_bytes_have_come() -> None:
    asked: list[str] = []

    @remembering.forgetful
    @lru_cache
    def judge(text: str) -> int:
        asked.append(text)
        return len(text)

    for size in (remembering.BUDGET - 1, 1, 1, 5):
        remembering.heard(size)
        judge("a")
    assert asked == ["a", "a"]  # the third request went beyond the budget, and counts as the first of the next one


def test_judgements_by_identity_and_on_names_and_templates_are_forgotten() -> None:
    count = 0

    @by_identity
    def judge(part: object) -> object:
        nonlocal count
        count += 1
        return part

    part, template = object(), PodTemplateSpec()
    templates = TemplateJudge(able)
    for _ in range(2):
        judge(part)
        templates.causes(template)
        wellformed.label("x" * 1000)
        remembering.heard(remembering.BUDGET + 1)
        assert not templates._templates._held
        assert wellformed.label.cache_info().currsize == 0  # type: ignore[attr-defined]
    assert count == 2


def test_who_is_gone_is_not_held() -> None:
    verdicts: Verdicts[object, bool] = Verdicts(3)
    held = ref(verdicts)
    del verdicts
    gc.collect()
    assert held() is None


def test_each_memory_of_what_users_send_forgets_with_the_others() -> None:
    """Those of types and of the server are as many as there are."""
    bounded = {"_fields_of", "abilities", "able"}
    for path in Path(webhooks.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name not in bounded:
                names = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
                if "lru_cache" in names:
                    assert names[0] == "forgetful", f"{path}: {node.name}"
