# SPDX-License-Identifier: Apache-2.0
"""Entry point of bench/run: python3 -m report.command [options]."""
import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from .options import UsageError, parse


def compare_only(options: argparse.Namespace) -> int:
    from .. import compare
    from .programs import find_newest_results
    new = options.json or find_newest_results(options)
    if not new.is_file():
        raise UsageError(f"there are no results {new} to compare with")
    return compare.compare(str(options.compare), str(new))


def run(argv: list[str]) -> int:
    options = parse(argv)
    if options.only_compares:
        return compare_only(options)
    # Imported late, so that --help and errors are fast.
    from . import build, modes
    from .programs import Programs
    program_paths = {backend: path for backend, path in (("host", options.host_program), ("cuda", options.cuda_program)) if path}
    if not program_paths:
        build.prepare(options)
    if options.pictures:
        build.restart_with_matplotlib(argv)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if options.compare:  # the run may overwrite these results
            options.compare = Path(shutil.copy(options.compare, scratch / "old.json"))
        baseline = {"host": options.against_program} if options.against_program else build.build_baseline(options) if options.against else {}
        programs = Programs(options, program_paths or build.build(options), baseline, scratch)
        try:
            if options.mode not in ("arena", "list"):
                programs.delete_results()
            status = modes.RUNNERS[options.mode](programs)
        finally:
            options.notices += programs.earlier_results.restore_or_archive() if options.mode != "list" else []
        if options.csv and any(map(programs.has_results, programs.paths)):
            from ..page.rows import write_csv
            path = options.json.with_suffix(".csv") if options.csv == Path() else options.csv
            write_csv(path, list(programs.results.values()))
            print(f"a row per case: {path}")
        if options.compare:
            from .. import compare
            result_files = [programs.results[backend] for backend in ("host", "cuda") if programs.has_results(backend)]
            status = max(status, compare.compare(str(options.compare), str(result_files[0]))) if result_files else status
        print_notices(options)
        return status


def print_notices(options: argparse.Namespace) -> None:
    """Prints each notice once, after everything else."""
    sys.stdout.flush()
    for notice in dict.fromkeys(options.notices):
        print(notice if notice.startswith(("NOISE:", "WARNING:")) else f"note: {notice}", file=sys.stderr)


def main() -> int:
    for signal_number in (signal.SIGINT, signal.SIGTERM):  # even if the parent process ignores them
        signal.signal(signal_number, signal.default_int_handler)
    from ..results import BadResults
    from .build import Failed
    try:
        return run(sys.argv[1:])
    except (UsageError, BadResults) as error:
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
