"""
The generator's command line: `python -m codegen generate [--check]`, `create ...`, `vendor --k8s v1.36.1`.

Exit codes: 0 done or up to date, 1 generated files are out of date, 2 sources or arguments have mistakes, sources
can't be had, or a file can't be read or written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from codegen.generate import generate
from codegen.output import COMMAND, DONE, FOUND
from codegen.problems import SourceError
from codegen.scaffold import commands as scaffolds
from codegen.vendor import VendorError, vendor

UP_TO_DATE, OUT_OF_DATE, MISTAKES = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except SourceError as error:
        count = len(error.problems)
        _say(str(error), sys.stderr)
        _say(f"{count} mistake{'s' if count > 1 else ''} in the sources; nothing was written", sys.stderr)
        return MISTAKES
    except VendorError as error:
        _say(f"{error}; nothing was written", sys.stderr)
        return MISTAKES
    except OSError as error:
        _say(f"{error.filename or 'a file'} can't be read or written: {error.strerror or error}", sys.stderr)
        return MISTAKES
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m codegen", description="Turn api/ into code and manifests.")
    parser.add_argument("--root", type=Path, default=Path(), help="folder that holds api/ (default: this one)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("generate", help="write models, clients, CRDs, samples and reference pages")
    command.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    command.set_defaults(run=_generate)
    scaffolds.add(commands)
    command = commands.add_parser("vendor", help="take the Kubernetes definitions in api/k8s from a release")
    command.add_argument("--k8s", required=True, metavar="VERSION", help="Kubernetes release, such as v1.36.1")
    command.set_defaults(run=_vendor)
    return parser


def _generate(options: argparse.Namespace) -> int:
    difference = generate(options.root, check=options.check)
    for line in difference.lines(*(FOUND if options.check else DONE)):
        _say(line, sys.stdout)
    if options.check and difference:
        _say(f"generated files are out of date: run `{COMMAND}`", sys.stderr)
        return OUT_OF_DATE
    return UP_TO_DATE


def _vendor(options: argparse.Namespace) -> int:
    vendor(options.root, options.k8s)
    return UP_TO_DATE


def _say(text: str, stream: TextIO) -> None:
    print(text, file=stream)


if __name__ == "__main__":
    sys.exit(main())
