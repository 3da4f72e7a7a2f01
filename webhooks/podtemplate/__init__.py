"""
What is wrong with a pod template, before anything is made of it.

A job whose pods the API server refuses would wait forever, so its templates are judged as the API server judges a
PodTemplate: the same causes, in the same order. `check` is the whole of it; a module here is one part of a pod.
"""

from __future__ import annotations

from webhooks.podtemplate.abilities import Abilities, abilities
from webhooks.podtemplate.pod import check

__all__ = ["Abilities", "abilities", "check"]
