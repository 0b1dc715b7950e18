# SPDX-License-Identifier: Apache-2.0
"""Times one group: a program alone, with torch before each of its rounds, or two programs that take turns."""
import sys
from contextlib import ExitStack

from ..contestants import contestant_of
from ..in_torch.peers import Peers
from ..journal import Journal
from ..progress import Progress
from ..results import case_named
from .groups import Group
from .program import Broken, Program


def take_turns(programs: list[Program], peers: Peers | None) -> None:
    """Rounds of two programs go A B, B A, A B, ..: whoever is first, the machine's drift is for both."""
    waiting = [program.advance() for program in programs]
    order = list(range(len(programs)))
    while any(waiting):
        if peers:
            peers.time_round()
        for i in order:
            if waiting[i]:
                programs[i].start_round()
                waiting[i] = programs[i].advance()
        order.reverse()


def run_group(group: Group, commands: dict[str, list[str]], journal: Journal, progress: Progress, peers: Peers | None) -> bool:
    """Times a group by one or two programs, whose results are kept under the keys of `commands`; False if a result was wrong."""
    def show(line: dict) -> None:
        share = line["done"] / line["of"]
        part = 0.3 * share if line["step"] == "comparing" else 0.3 + 0.7 * share
        progress.show(part, f"{group.title}: {line['step']} {contestant_of(case_named(line['case'])).label}")
    flags = ["--benchmark_filter=^(" + "|".join(group.names) + ")$"]
    if peers or len(commands) > 1:
        flags.append("--wait-for-rounds")
    if peers:
        peers.begin(group.names)
    with ExitStack() as all_programs:
        programs = {key: all_programs.enter_context(Program(command + flags, show)) for key, command in commands.items()}
        take_turns(list(programs.values()), peers)
    for key, program in programs.items():
        # The program of another commit may lack a case.
        complete = len(program.results) == len(group.cases) or key.startswith("against") and program.results
        if program.status not in (0, 1) or not complete:
            progress.clear()
            print("\n".join(program.complaints), file=sys.stderr)
            raise Broken(f"the bench program ended with status {program.status} in {group.title}")
    for key, program in programs.items():
        journal.add({"part": key, "context": program.context})
        for case in program.results:
            journal.add({"part": key, "group": group.id, "case": case})
        if program.status == 1:
            progress.clear()
            print("\n".join(line for line in program.complaints if line.startswith("WRONG")), file=sys.stderr)
    if peers:
        for line in peers.end():
            journal.add({"part": "torch", "group": group.id, "case": line})
        journal.add({"part": "torch", "context": peers.context})
    return all(program.status == 0 for program in programs.values())
