#!/usr/bin/env python3
"""Twenty tunings, what each hands over judged blindly by fresh comparisons, and the record of all: docs/results/recommendations.json.

usage: scripts/recommendations/evaluate.py NIAGARA [--out target/recommendations] [--captures FOLDER] [--only CASE,…] [--budget 6m]
                                           [--capture-budget 10m] [--judge-budget 60s] [--fullest-budget 45s] [--verdict] [--record FILE]

Ten loads and ten captures (captures.py makes those that are not there). Every second tuning runs beside others who take 30 %; the judging
never does. A folder for each case has the studies, the logs and the record; a case that is done is not run again. --verdict runs nothing.
"""
import argparse
import contextlib
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import captures
import competitors
import variants
import verdict

HERE = Path(__file__).parent
IDLE = HERE / "idle-levers"
COMPETITORS, SHARE = 2, 0.3
# Set-up and checks come on top of the budgets; a command that takes longer has failed.
MOST_SECONDS = 2400
OLTP = ["--table-size", "50000"]
READING = ["oltp_read_only", "oltp_point_select"]
# Slices of a second, as loads that write have them otherwise, would leave few duels in budgets of minutes, and captures are short.
SLICES = ["--slice", "200ms", "--couples", "12"]
# Their duels take longer: larger data are copied for each, and a capture's clone is loaded with its beginning.
SLOW_NEED = 2
TPCC = ["--warehouses", "1"]


class Failure(Exception):
    """Why a case has no result."""


@dataclass(frozen=True)
class Case:
    """One tuning."""

    number: int
    name: str
    title: str
    server: str
    options: list[str] = field(default_factory=list)
    threads: int | None = None
    capture: bool = False

    @property
    def beside(self) -> bool:
        """Whether others use the CPUs during the tuning."""
        return self.number % 2 == 0

    @property
    def slow(self) -> bool:
        """Whether its duels take long: it writes, or is a capture."""
        return SLICES[0] in self.options


def load(server: str, workload: str, threads: int) -> tuple:
    scale = TPCC if workload == "tpcc" else OLTP
    slices = [] if workload in READING else SLICES
    return f"{workload}-{server}", workload, server, ["--workload", workload, "--threads", str(threads), *scale, *slices], threads


LOADS = [
    load("mariadb-10.11", "oltp_read_only", 32),
    load("mariadb-10.11", "oltp_point_select", 32),
    load("mariadb-10.11", "oltp_read_write", 16),
    load("mariadb-10.11", "tpcc", 16),
    load("mariadb-11.8", "oltp_read_only", 32),
    load("mariadb-11.8", "oltp_write_only", 16),
    load("mariadb-11.8", "oltp_update_non_index", 16),
    load("mysql-9.7", "oltp_point_select", 32),
    load("mysql-9.7", "oltp_read_write", 16),
    load("mysql-9.7", "oltp_read_only", 32),
]


def all_cases(folder: Path) -> list[Case]:
    """Loads, then captures."""
    found = [Case(number, *one) for number, one in enumerate(LOADS, 1)]
    for number, one in enumerate(captures.APPLICATIONS, len(LOADS) + 1):
        place = folder / one.name
        data = place / ("data" if one.server == captures.MYSQL else "data.sql")
        options = ["--workload", str(place / "traffic.capture"), "--data", str(data), "--schema", one.schema, *SLICES]
        found.append(Case(number, one.name, f"{one.title}, captured", one.server, options, capture=True))
    return found


def seconds(text: str) -> int:
    """`90s`, `2m`."""
    units = {"s": 1, "m": 60}
    if text[-1:] not in units or not text[:-1].isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s or 2m")
    return int(text[:-1]) * units[text[-1]]


def run(command: list, log: Path) -> None:
    """Runs a command to its end, what it says into a log of its own."""
    with open(log, "ab") as file:
        file.write(f"$ {' '.join(map(str, command))}\n".encode())
        file.flush()
        child = subprocess.Popen(list(map(str, command)), stdout=file, stderr=file, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = child.wait(MOST_SECONDS)
        except BaseException as error:
            # Its servers are ended by itself, as on Ctrl-C.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGINT)
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failure(f"{command[1]} took more than {MOST_SECONDS} s: see {log}") from error
            raise
    if code:
        raise Failure(f"{command[1]} ended with {code}: see {log}")


def report(niagara: Path, study: Path, file: Path) -> dict:
    """The study's JSON, kept beside it."""
    done = subprocess.run([niagara, "report", study, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"report {study} ended with {done.returncode}: {done.stderr.strip()}")
    file.write_text(done.stdout)
    return json.loads(done.stdout)


def compared(args, case: Case, place: Path, name: str, sides: list[str], budget: str, seed: int) -> None:
    """A fresh comparison of two variants under the case's load."""
    # A study of other variants, left over from an interrupted run, is not continued.
    shutil.rmtree(place / name, ignore_errors=True)
    command = [args.niagara, "compare", *sides, "--server", case.server, *case.options, "--budget", budget, "--to-the-end", "--seed", seed,
               "--levers", IDLE, "--out", place / name]
    if (place / "levers").exists():
        command += ["--levers", place / "levers"]
    run(command, place / f"{name}.log")
    report(args.niagara, place / name, place / f"{name}.json")


def evaluate(args, case: Case) -> None:
    """One case: the tuning, then its judging."""
    place = args.out / case.name
    budget = args.capture_budget if case.capture else args.budget
    tune = [args.niagara, "tune", case.server, *case.options, "--budget", budget, "--levers", IDLE, "--seed", args.seed + case.number,
            "--out", place / "tune"]
    # An interrupted tuning is continued, one that was asked otherwise is begun again.
    asked, words = place / "tune.command", " ".join(map(str, tune))
    if not (asked.exists() and asked.read_text() == words):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        asked.write_text(words)
    began = time.monotonic()
    others = competitors.beside(COMPETITORS, SHARE, args.seed + case.number) if case.beside else contextlib.nullcontext()
    if not (place / "tuned.json").exists():
        with others:
            run(tune, place / "tune.log")
    tuned = report(args.niagara, place / "tune", place / "tuned.json")
    variant, full = variants.handed_over(tuned, place / "levers"), variants.fullest(tuned)
    longer = SLOW_NEED if case.slow else 1
    budgets = {"tune": budget, "judge": f"{args.judge_budget * longer:.0f}s", "fullest": f"{args.fullest_budget * longer:.0f}s"}
    if variant:
        compared(args, case, place, "judged", ["base", variant], budgets["judge"], args.seed + 1000 + case.number)
    if full:
        compared(args, case, place, "fullest", [full, variant or "base"], budgets["fullest"], args.seed + 2000 + case.number)
    told = {"number": case.number, "name": case.name, "title": case.title, "server": case.server, "beside": case.beside, "threads": case.threads,
            "variant": variant, "fullest": full, "date": datetime.date.today().isoformat(), "seconds": round(time.monotonic() - began),
            "budgets": budgets}
    (place / "case.json").write_text(json.dumps(told, indent=2) + "\n")


def machine() -> dict:
    """This machine, in the words of the records."""
    said = Path("/proc/cpuinfo").read_text()
    model = next((text.partition(":")[2].strip() for text in said.splitlines() if text.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    system = next((text.partition("=")[2].strip('"') for text in Path("/etc/os-release").read_text().splitlines() if text.startswith("PRETTY_NAME")), "Linux")
    return {"cpu": model, "cpus": os.cpu_count(), "virtual_machine": "hypervisor" in said, "memory": f"{round(memory)} GiB", "system": system,
            "kernel": f"Linux {'.'.join(platform.release().split('.')[:2])}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    resolved = lambda path: Path(path).resolve()  # noqa: E731
    parser.add_argument("niagara", type=resolved)
    parser.add_argument("--out", type=resolved, default="target/recommendations")
    parser.add_argument("--captures", type=resolved, help="folder of captures.py (default: captures below --out)")
    parser.add_argument("--only", default="", help="cases, separated by commas: names or numbers")
    parser.add_argument("--budget", default="6m", help="of a tuning for a load (default: %(default)s)")
    # Both sides answer a whole capture before the proof, and each duel begins with a part of it.
    parser.add_argument("--capture-budget", default="10m", help="of a tuning for a capture (default: %(default)s)")
    parser.add_argument("--judge-budget", type=seconds, default="60s", help="of the judging; writing loads and captures take twice that (default: %(default)s)")
    parser.add_argument("--fullest-budget", type=seconds, default="45s",
                        help="of the comparison with all that was promising; likewise (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=5200)
    parser.add_argument("--verdict", action="store_true", help="run nothing")
    parser.add_argument("--record", type=resolved, help="write the record here")
    args = parser.parse_args()
    # Ended as on Ctrl-C: what runs is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place = args.captures or args.out / "captures"
    chosen = [case for case in all_cases(place) if not args.only or {case.name, str(case.number)} & set(args.only.split(","))]
    # Loads and captures in turn: a run that is ended early has both.
    chosen.sort(key=lambda case: (case.number - 1) % len(LOADS))
    failed = 0
    for case in [] if args.verdict else chosen:
        if (args.out / case.name / "case.json").exists():
            continue
        try:
            if case.capture and not (place / case.name / "capture.json").exists():
                run([sys.executable, HERE / "captures.py", args.niagara, "--captures", place, "--only", case.name], args.out / "captures.log")
            evaluate(args, case)
        except Failure as failure:
            failed += 1
            print(f"{time.strftime('%H:%M:%S')}  {case.name}: {failure}", flush=True)
            continue
        said = next(one for one in verdict.cases(args.out) if one["case"] == case.name)
        print(f"{time.strftime('%H:%M:%S')}  {verdict.line(said)}", flush=True)
    found = verdict.cases(args.out)
    if args.verdict:
        for one in found:
            print(verdict.line(one))
    print(verdict.summary(found))
    if args.record and found:
        args.record.write_text(json.dumps(verdict.record(found, machine()), indent=2, ensure_ascii=False) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
