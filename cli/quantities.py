"""Resource lists of flags, as `cpu=1000m,memory=100Mi`."""

from __future__ import annotations

import re

from cli.errors import CommandError

_FORM = re.compile(r"[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*")
_NO_QUANTITY = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NO_SUFFIX = "unable to parse quantity's suffix"


def resource_list(text: str, *, naming: bool = False) -> dict[str, str]:
    """
    Amounts by resource name, each in its canonical form; empty for an empty text, and the last of a repeated name wins.

    Raises CommandError for an element that is no `name=amount`; the message about an amount says which one where it is
    `naming` them, as the original tool does not.
    """
    from runtime import quantity  # noqa: PLC0415  # only jobs and queues made from flags need it

    amounts: dict[str, str] = {}
    for element in text.split(",") if text else ():
        name, separator, amount = element.partition("=")
        if not separator or "=" in amount:
            raise CommandError(f"invalid argument syntax {element}, expected <resource>=<value>")
        try:
            amounts[name] = quantity.canonical(amount)
        except quantity.QuantityError as error:
            problem = _NO_SUFFIX if _FORM.fullmatch(amount) else _NO_QUANTITY
            raise CommandError(f"{element}: {problem}" if naming else problem) from error
    return amounts
