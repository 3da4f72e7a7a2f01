"""
A faster import of msgspec, for a process that lives for one command.

msgspec imports typing_extensions where it finds it, for features that nothing here uses, and does without where it is
missing. That import and what it draws in take as long as msgspec itself, so it is hidden for that moment.
"""

from __future__ import annotations

import sys

_HIDDEN = "typing_extensions"

if _HIDDEN not in sys.modules and "msgspec" not in sys.modules:
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]  # makes an import fail at once
    try:
        import msgspec  # noqa: F401  # imported for its effect
    finally:
        del sys.modules[_HIDDEN]
