"""``python -m parsers.scrub IN OUT``: a copy of a capture without what is private.

Nsight Systems stores every environment variable, the process list, the command line and captured
output in its exports; Nsight Compute stores the host, its addresses, the process and the command
line in each report. What the parsers read stays as it is: every copy is parsed before and after.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from parsers.errors import CaptureError
from parsers.files import check_present
from parsers.formats import HEAD, OTHERWISE, diagnose, recognise
from parsers.leaks import find_leaks, local_secrets
from parsers.packing import peek, unpacked, write_packed
from parsers.reading import read
from parsers.scrub_ncu import scrub_ncu
from parsers.scrub_sqlite import scrub_sqlite
from parsers.scrub_text import scrub_text

_SCRUBBERS: dict[str, Callable[[Path, Path, Iterable[str]], None]] = {
    "ncu-rep": scrub_ncu,
    "nsys-sqlite": scrub_sqlite,
    "ncu-csv": scrub_text,
    "ncu-text": scrub_text,
    "nsys-stats": scrub_text,
}


def scrub(source: Path, target: Path, secrets: Iterable[str] = ()) -> None:
    """Write a scrubbed copy of a report or export, packed as the suffix of ``target`` says.

    Environment, hosts, users, command lines, paths, addresses and captured output go.

    Parameters
    ----------
    secrets
        Names that must go besides, such as those of `parsers.leaks.local_secrets`.

    Raises
    ------
    CaptureError
        When the file cannot be read or is of a kind that cannot be scrubbed, when the copy would
        say something else of the launches, or when it still gives something away; then there is no
        copy.
    """
    secrets = list(secrets)
    check_present(source, OTHERWISE)
    with unpacked(source) as (content, _), tempfile.TemporaryDirectory() as folder:
        head = peek(content, HEAD)
        form = recognise(head)
        if form is None:
            raise CaptureError(source, *diagnose(head))
        if form.name not in _SCRUBBERS:
            remedy = "export it with `nsys export --type sqlite`, and scrub that"
            raise CaptureError(source, f"is {form.title}, which cannot be scrubbed", remedy)
        clean = Path(folder) / "clean"
        try:
            _SCRUBBERS[form.name](content, clean, secrets)
        except CaptureError as error:
            raise CaptureError(source, error.cause, error.remedy) from None
        if leaks := find_leaks(clean, secrets, _names(read(clean))):
            cause = f"still gives something away when scrubbed: {leaks[0]}"
            raise CaptureError(source, cause, "do not share it")
        partial = target.with_name(f".partial-{target.name}")
        try:
            write_packed(clean, partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def _names(frame: pd.DataFrame) -> list[str]:
    """Return the names of ranges, which have slashes but are no paths."""
    columns = [name for name in ("operator", "variant", "case") if name in frame]
    keys = frame[columns].dropna().drop_duplicates()
    return ["/".join(map(str, key)) for key in keys.itertuples(index=False)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when the copy is written, 2 with one line of error when not."""
    parser = argparse.ArgumentParser(
        prog="python -m parsers.scrub",
        description="Write a copy of a report or export without environment, hosts, users, command "
        "lines, paths and captured output; its suffix .gz, .zst or .ncu-repz packs it.",
    )
    parser.add_argument("source", type=Path, metavar="IN")
    parser.add_argument("target", type=Path, metavar="OUT")
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that must go too, besides this machine's and its user's",
    )
    options = parser.parse_args(arguments)
    try:
        scrub(options.source, options.target, [*local_secrets(), *options.secret])
    except (CaptureError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
