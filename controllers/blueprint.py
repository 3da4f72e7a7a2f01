"""What a controller module tells the process: its name, how it is built, what it may do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from controllers.options import Options
from generated.clients.clientset import Clientset
from runtime.controller import Controller
from runtime.events import EventRecorder
from runtime.informers import Informers
from runtime.rbac import Rule


class Context(msgspec.Struct, frozen=True):
    """What controllers are built from: one of each a process. `clock` gives unix seconds."""

    clients: Clientset
    informers: Informers
    events: EventRecorder
    options: Options = msgspec.field(default_factory=Options)
    clock: Callable[[], float] = time.time


class Blueprint(msgspec.Struct, frozen=True):
    """
    One controller. A module keeps it as `BLUEPRINT`, and `controllers.CONTROLLERS` lists it.

    `name` is what `--controllers` switches; `rules` are the permissions that its code needs, `home_rules` those that it
    needs in the installation's own namespace only.
    """

    name: str
    build: Callable[[Context], Controller[Any]]
    rules: tuple[Rule, ...] = ()
    home_rules: tuple[Rule, ...] = ()
