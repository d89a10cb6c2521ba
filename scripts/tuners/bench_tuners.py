#!/usr/bin/env python3
"""Niagara beside other tuners: the same server, workload, knobs and wall-clock time; then a blind judge.

Every tuner gets the same time, restarts included. What each calls its best is then compared with the server as it was and
with Niagara's final variant in fresh duels (`niagara compare`), which know nothing of who proposed it. All that was
measured is kept in the output folder, a file each: the same command continues where an earlier one stopped.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

import advice
from knobs import variables, variant
from searches import SEARCHES, OutOfTime

# Seconds that an evaluation takes beyond its load, until one was seen.
ASSUMED_SET_UP = 15.0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--niagara", default="target/quick/niagara")
    parser.add_argument("--server", default="mariadb-10.11")
    parser.add_argument("--workload", action="append", help="may be repeated [default: oltp_read_write, oltp_write_only]")
    parser.add_argument("--capture", action="append", type=pathlib.Path, default=[],
                        help="a folder that scripts/recommendations/captures.py made, in place of a workload; may be repeated")
    parser.add_argument("--table-size", default="1000000", help="more data than the default buffer pool holds")
    parser.add_argument("--threads", default="32")
    parser.add_argument("--minutes", type=float, default=15, help="each tuner's time")
    parser.add_argument("--judge-minutes", type=float, default=5, help="time of each comparison of the judge")
    parser.add_argument("--seeds", type=int, default=3, help="how many, each a run of every tuner")
    parser.add_argument("--first-seed", type=int, default=1, help="the others follow it")
    parser.add_argument("--tuner", action="append", help="may be repeated [default: all]")
    parser.add_argument("--load-seconds", type=int, default=15, help="counted time of an evaluation by a workload")
    parser.add_argument("--warm-up-seconds", type=int, default=5)
    parser.add_argument("--memory-mb", type=int, default=8192, help="what MySQLTuner is told this machine has")
    parser.add_argument("--mysqltuner", default="mysqltuner")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return parser.parse_args()


class Bench:
    """One load on one server: what all tuners share."""

    def __init__(self, args, name, workload, load, data=None, schema=None):
        self.args, self.name, self.workload, self.load = args, name, workload, load
        # The dump that a capture runs on, and its database.
        self.data, self.schema = data, schema

    @classmethod
    def of_workload(cls, args, workload):
        return cls(args, workload, workload, ["--table-size", args.table_size, "--threads", args.threads])

    @classmethod
    def of_capture(cls, args, folder):
        path = folder / "capture.json"
        try:
            told = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: {error}\nremedy: a folder that scripts/recommendations/captures.py made")
        if told["server"] != args.server:
            sys.exit(f"{path} is of {told['server']}, the tuners' server is {args.server}\nremedy: --server {told['server']}, or another capture")
        data = folder / told["data"]
        return cls(args, told["name"], str(folder / "traffic.capture"), ["--data", str(data)], data, told["schema"])

    def throughput(self, settings):
        """Transactions per second of a fresh private server with these settings; 0 where it does not start."""
        args = self.args
        # A capture that writes is sent to its end.
        times = [] if self.data else ["--time", f"{args.load_seconds}s", "--warm-up", f"{args.warm_up_seconds}s"]
        command = [
            args.niagara, "bench", self.workload, *self.load, "--server", args.server, "--variant", variant(settings),
            *times, "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return 0.0, done.stderr.strip()[-400:]
        run = json.loads(done.stdout)["runs"][0]
        return run["transactions"] / run["seconds"], None

    def compare(self, a, b, seed, out):
        """The judge's answer: throughput of B over A with its interval."""
        args = self.args
        command = [
            args.niagara, "compare", a, b, "--server", args.server, "--workload", self.workload, *self.load,
            "--budget", f"{args.judge_minutes * 60:.0f}s", "--to-the-end", "--seed", str(seed), "--out", str(out), "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return {"failed": done.stderr.strip()[-400:]}
        judged = json.loads(done.stdout)["comparison"]["throughput"]
        return {"duels": judged["duels"], "verdict": judged["verdict"], **judged["estimate"]}


def searched(bench, tuner, seed):
    """A search with its evaluations, until its time is up."""
    start, evaluations, longest = time.monotonic(), [], ASSUMED_SET_UP + bench.args.load_seconds
    budget = bench.args.minutes * 60

    def evaluate(config):
        nonlocal longest
        begun = time.monotonic()
        if begun - start + longest > budget:
            raise OutOfTime
        settings = variables(config)
        tps, failure = bench.throughput(settings)
        took = time.monotonic() - begun
        # The first one may fetch the server and fill the tables, which is nobody's tuning.
        longest = took if len(evaluations) < 2 else max(longest, took)
        evaluations.append({"settings": settings, "tps": tps, "failure": failure, "seconds": took})
        return tps

    config, best = SEARCHES[tuner](evaluate, seed, lambda: budget - (time.monotonic() - start))
    first = evaluations[0] if evaluations else {"tps": 0.0, "failure": "the time is too short for one evaluation"}
    if not first["tps"]:
        return {"failed": f'the server as it is was not measured: {first["failure"]}'}
    return {
        "settings": variables(config),
        "variant": variant(variables(config)),
        "claimed": best / first["tps"],
        "evaluations": evaluations,
        "seconds": time.monotonic() - start,
    }


def advised(bench, seed):
    """MySQLTuner's advice, from a server under the same load for a third of the others' time."""
    start = time.monotonic()
    installed = json.loads(
        subprocess.run([bench.args.niagara, "server", "list", "--json"], capture_output=True, check=True).stdout
    )["items"]
    server = next(one["installed"] for one in installed if one["name"] == bench.args.server)
    try:
        settings, text = advice.advise(
            bench.args.mysqltuner, bench.args.niagara, server, bench, int(bench.args.minutes * 20), bench.args.memory_mb,
        )
    except (RuntimeError, subprocess.SubprocessError) as error:
        return {"failed": f"{error}"[-400:]}
    return {
        "settings": settings, "variant": variant(settings), "claimed": None, "advice": text,
        "seconds": time.monotonic() - start,
    }


def tuned(bench, seed, folder, knobs_only):
    """Niagara's own tuning; with `knobs_only`, of variables alone, as the others."""
    args = bench.args
    known = json.loads(subprocess.run([args.niagara, "levers", "--json"], capture_output=True, check=True).stdout)["items"]
    command = [
        args.niagara, "tune", args.server, "--workload", bench.workload, *bench.load, "--budget",
        f"{args.minutes * 60:.0f}s", "--seed", str(seed), "--no-profile", "--out", str(folder), "--json",
    ]
    if knobs_only:
        for lever in known:
            change = lever["change"]
            if change and change["config"] and not any(change[other] for other in change if other != "config"):
                command += ["--only", lever["id"]]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return {"failed": done.stderr.strip()[-400:]}
    summary = json.loads(done.stdout)
    spelling = {lever["id"]: lever["spelling"] for lever in known}
    kept = [spelling[rung["screened"]["lever"]] for rung in summary["rungs"]]
    # Behind the levers, whose own numbers they take the place of.
    found = [setting for rung in summary["rungs"] for setting in numbers(rung.get("chosen") or "")]
    total = summary["total"]
    return {
        "variant": ",".join(kept + found) or "base",
        "claimed": total["throughput"]["estimate"]["ratio"] if total else None,
        "total": total["throughput"]["estimate"] if total else None,
        "seconds": time.monotonic() - start,
    }


def numbers(chosen):
    """The variables in what a search chose for a lever, as `niagara compare` takes them: `thread_pool_size=9, …`."""
    parts = (part.partition("=") for part in chosen.split(", "))
    return [f"cfg.{name}={value}" for name, _, value in parts if value and name.replace("_", "").isalnum() and "_" in name]


def the_same_as_before(folder, args):
    """Refuses to continue with other options what is kept in the folder."""
    beside = {"out", "niagara", "workload", "capture", "seeds", "first_seed", "tuner"}
    asked = {name: value for name, value in sorted(vars(args).items()) if name not in beside}
    path = folder / "options.json"
    if not path.exists():
        path.write_text(json.dumps(asked, indent=1))
    before = json.loads(path.read_text())
    other = [name for name in asked if before.get(name) != asked[name]]
    if other:
        words = ", ".join(f"--{name.replace('_', '-')} {before.get(name)}" for name in other)
        sys.exit(f"{folder} was begun with {words}\nremedy: the same again, or another --out")


def kept(path, make):
    """What `make` gives, from `path` where an earlier call has kept it there; what failed is made again by the next call."""
    if not path.exists():
        value = make()
        if isinstance(value, dict) and "failed" in value:
            return value
        part = path.with_suffix(".part")
        part.write_text(json.dumps(value, indent=1))
        part.rename(path)
    return json.loads(path.read_text())


def latin_square(tuners, seed):
    """The tuners, each seed beginning with another one: no tuner always has the morning."""
    return tuners[seed % len(tuners):] + tuners[: seed % len(tuners)]


def candidate(bench, tuner, seed, folder):
    if tuner == "mysqltuner":
        return advised(bench, seed)
    if tuner in ("niagara", "niagara-knobs"):
        return tuned(bench, seed, folder / f"{tuner}-{seed}", tuner == "niagara-knobs")
    return searched(bench, tuner, seed)


def started(bench):
    tps, failure = bench.throughput({})
    return {"failed": failure} if failure else {"tps": tps}


def measure(args, bench):
    """All tuners and seeds of one load, then the judge; a row each."""
    folder = args.out / bench.name
    folder.mkdir(parents=True, exist_ok=True)
    the_same_as_before(folder, args)
    # Fetches the server and fills its tables before anyone's clock runs.
    begun = kept(folder / "start.json", lambda: started(bench))
    if "failed" in begun:
        sys.exit(f'the server as it is does not run: {begun["failed"]}')
    tuners = args.tuner or ["niagara", "niagara-knobs", *SEARCHES, "mysqltuner"]
    found = {}
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        for tuner in latin_square(tuners, seed):
            say(f"{bench.name}, seed {seed}: {tuner}")
            found[tuner, seed] = kept(
                folder / f"{tuner}-{seed}.json", lambda: candidate(bench, tuner, seed, folder)
            )
    rows = []
    # A row's text stands in one line of the table.
    for one in found.values():
        if "failed" in one:
            one["failed"] = " ".join(one["failed"].split())
    order = list(found)
    random.Random(1).shuffle(order)
    for tuner, seed in order:
        one = found[tuner, seed]
        if "failed" in one:
            rows.append({"tuner": tuner, "seed": seed, **one})
            continue
        say(f"{bench.name}, seed {seed}: judging a candidate")
        name = f"judged-{tuner}-{seed}"
        judged = kept(
            folder / f"{name}.json", lambda: bench.compare("base", one["variant"], 7000 + seed, folder / name)
        )
        row = {"tuner": tuner, "seed": seed, "claimed": one["claimed"], "judged": judged, "variant": one["variant"]}
        rival = found.get(("niagara", seed))
        if rival and tuner != "niagara" and "failed" not in rival:
            name = f"against-{tuner}-{seed}"
            row["niagara_over_it"] = kept(
                folder / f"{name}.json",
                lambda: bench.compare(one["variant"], rival["variant"], 8000 + seed, folder / name),
            )
        rows.append(row)
    return sorted(rows, key=lambda row: (row["tuner"], row["seed"]))


def say(text):
    print(text, file=sys.stderr, flush=True)


def ratio(estimate):
    if not estimate or "failed" in estimate:
        return "failed"
    high = "∞" if estimate["high"] is None else f'{estimate["high"]:.3f}'
    return f'× {estimate["ratio"]:.3f} [{estimate["low"]:.3f}, {high}]'


def table(name, rows):
    """Markdown: what each claimed, what the judge found, and how often "best" was worse than nothing."""
    print(f"\n## {name}\n")
    print("| Tuner | Seed | Claimed | Judged, over the start | Niagara's final over it |")
    print("|---|---:|---:|---:|---:|")
    for row in rows:
        if "failed" in row:
            print(f'| {row["tuner"]} | {row["seed"]} | failed: {row["failed"]} | | |')
            continue
        claimed = f'× {row["claimed"]:.3f}' if row["claimed"] else ""
        over = ratio(row["niagara_over_it"]) if "niagara_over_it" in row else ""
        print(f'| {row["tuner"]} | {row["seed"]} | {claimed} | {ratio(row["judged"])} | {over} |')
    print("\n| Tuner | Median judged | Median claimed − judged | Slower than the start |")
    print("|---|---:|---:|---:|")
    for tuner in dict.fromkeys(row["tuner"] for row in rows):
        of_it = [row for row in rows if row["tuner"] == tuner and "ratio" in row.get("judged", {})]
        if not of_it:
            continue
        judged = statistics.median(row["judged"]["ratio"] for row in of_it)
        gaps = [row["claimed"] - row["judged"]["ratio"] for row in of_it if row["claimed"]]
        gap = f"{statistics.median(gaps):+.3f}" if gaps else ""
        worse = sum(row["judged"]["ratio"] < 1 for row in of_it)
        print(f"| {tuner} | × {judged:.3f} | {gap} | {worse} of {len(of_it)} |")


def main():
    args = arguments()
    named = args.workload or ([] if args.capture else ["oltp_read_write", "oltp_write_only"])
    loads = [Bench.of_workload(args, name) for name in named] + [Bench.of_capture(args, folder) for folder in args.capture]
    for bench in loads:
        table(bench.name, measure(args, bench))


if __name__ == "__main__":
    main()
