# SPDX-License-Identifier: Apache-2.0
"""Entry point of bench/run: python3 -m report.command [options]."""
import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from .options import Refused, parse


def compare_alone(o: argparse.Namespace) -> int:
    from .. import compare
    from .programs import newest_results
    new = o.json or newest_results(o)
    if not new.is_file():
        raise Refused(f"there are no results {new} to compare with")
    return compare.compare(str(o.compare), str(new))


def run(argv: list[str]) -> int:
    o = parse(argv)
    if o.only_compares:
        return compare_alone(o)
    # Imported late, so that --help and errors are fast.
    from . import build, modes
    from .programs import Programs
    built = {part: path for part, path in (("host", o.host_program), ("cuda", o.cuda_program)) if path}
    if not built:
        build.prepare(o)
    if o.pictures:
        build.restart_with_matplotlib(argv)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if o.compare:  # the run may overwrite these results
            o.compare = Path(shutil.copy(o.compare, scratch / "old.json"))
        base = {"host": o.against_program} if o.against_program else build.build_base(o) if o.against else {}
        p = Programs(o, built or build.build(o), base, scratch)
        try:
            if o.mode not in ("arena", "list"):
                p.forget_results()
            status = modes.RUN[o.mode](p)
        finally:
            o.notices += p.earlier.keep_larger() if o.mode != "list" else []
        if o.csv and any(map(p.measured, p.paths)):
            from ..page.rows import write_csv
            path = o.json.with_suffix(".csv") if o.csv == Path() else o.csv
            write_csv(path, list(p.results.values()))
            print(f"a row per case: {path}")
        if o.compare:
            from .. import compare
            found = [p.results[part] for part in ("host", "cuda") if p.measured(part)]
            status = max(status, compare.compare(str(o.compare), str(found[0]))) if found else status
        print_notices(o)
        return status


def print_notices(o: argparse.Namespace) -> None:
    """Prints each notice once, after everything else."""
    sys.stdout.flush()
    for notice in dict.fromkeys(o.notices):
        print(notice if notice.startswith(("NOISE:", "WARNING:")) else f"note: {notice}", file=sys.stderr)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM):  # even if the parent process ignores them
        signal.signal(number, signal.default_int_handler)
    from ..results import BadResults
    from .build import Failed
    try:
        return run(sys.argv[1:])
    except (Refused, BadResults) as error:
        print(f"bench/run: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"bench/run: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards the buffer
        return 0
    except KeyboardInterrupt:
        print("bench/run: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
