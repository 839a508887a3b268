"""A process of its own for the crash tests: `python -m benchmarks.crashes prepare|write|read|check ...`."""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import sys
from pathlib import Path

from benchmarks.crashes.check import check, load_state, read_on
from benchmarks.crashes.phases import EMBEDDERS, PHASES, Writer, open_any, prepare
from benchmarks.crashes.words import Log
from memreader import Memory


def main() -> None:
    """Do what the first argument says; the last line on stdout is the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("prepare", "write", "read", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--phase", choices=PHASES)
    parser.add_argument("--name", default="w0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logs", type=Path, nargs="*", default=[])
    parser.add_argument("--state", type=Path)
    parser.add_argument("--as-user", type=int, help="go on as this user, where root started it")
    arguments = parser.parse_args()
    if arguments.what == "prepare":
        arguments.state.write_text(json.dumps(prepare(arguments.folder, large=arguments.large)), encoding="utf-8")
    elif arguments.what == "write":
        write(arguments)
    elif arguments.what == "read":
        say(ready=True)
        say(**read_on(arguments.folder, stop=lambda: bool(select.select([sys.stdin], [], [], 0)[0])))
    else:
        state = load_state(arguments.state)
        if arguments.as_user is not None and os.geteuid() == 0:
            warm_up()
            os.setgroups([])
            os.setgid(arguments.as_user)
            os.setuid(arguments.as_user)
        say(**check(arguments.folder, state, arguments.logs))


def warm_up() -> None:
    """Import everything, as long as files can be read."""
    with Memory.in_memory(embedder=EMBEDDERS[0]) as memory:
        memory.add("something", user_id="me")
        memory.search("something", user_id="me")


def write(arguments: argparse.Namespace) -> None:
    """Work on a phase until killed."""
    memory = open_any(arguments.folder)
    memory.warm_up()
    (log,) = arguments.logs
    rng = random.Random(arguments.seed)
    writer = Writer(arguments.name, arguments.folder, memory, Log(log), rng)
    say(ready=True)
    PHASES[arguments.phase].work(writer)


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
