#!/usr/bin/env python3
"""Kills Niagara at random moments in each of its modes and gives it hard conditions, and looks for what it leaves behind.

usage: scripts/faults/faults.py NIAGARA [--kills 500] [--jobs 3] [--seed 1] [--only WORDS] [--without-hardships] [--json FILE]

A table on standard output; --json has all of it. The exit code is 1 where something was left behind or ended wrongly."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types

import hardships
import kills
import traces
from places import Live, Place, new_data, run_sql

# The user's own: the distribution's MariaDB (scripts/setup test installs it), a MySQL that Niagara fetches.
MARIADB = [pathlib.Path("/usr/sbin/mariadbd")]
MARIADB_INSTALL = ["mariadb-install-db", "--skip-test-db", "--auth-root-authentication-method=normal"]
MYSQL = "mysql-9.7"


def server_of(niagara, name, cache):
    """The server program of a catalogue's name, fetched into the cache."""
    known = os.environ | {"NIAGARA_CACHE": str(cache)}
    done = subprocess.run([niagara, "server", "get", name], env=known, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        raise SystemExit(f"faults: {name}: {done.stderr.strip()}")
    return pathlib.Path(done.stdout.split()[-1])


def traffic(live, stop):
    """Statements of an application."""
    number = 0
    while not stop.wait(0.3):
        number += 1
        try:
            run_sql(live.socket, f"SELECT note FROM shop.orders WHERE id = 1; UPDATE shop.orders SET note = 'n{number}' WHERE id = 2")
        except (RuntimeError, subprocess.TimeoutExpired):
            pass


class Worker(threading.local):
    live = None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("niagara", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-hardships", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()

    base = pathlib.Path(tempfile.mkdtemp(prefix="nf"))
    # A server belongs to the path of its cache, so that no other cache's can be shared.
    cache = base / "cache"
    server_of(options.niagara, "mariadb-10.11", cache)
    mysql = server_of(options.niagara, MYSQL, cache)
    programs = {"mariadb": MARIADB, "mysql": [mysql]}
    data = {
        "mariadb": new_data(base / "mariadb", MARIADB_INSTALL),
        "mysql": new_data(base / "mysql", [mysql, "--initialize-insecure"]),
    }
    before = traces.mounts(), traces.groups()
    lives, worker, stop, threads = [], Worker(), threading.Event(), []

    class Servers:
        """Live servers of a worker, each started when it is first asked for."""

        def __getitem__(self, name):
            if worker.live is None:
                worker.live = {}
            if name not in worker.live:
                server = worker.live[name] = Live(base, name, programs[name], data[name])
                lives.append(server)
                threads.append(threading.Thread(target=traffic, args=(server, stop), daemon=True))
                threads[-1].start()
            return worker.live[name]

    began = time.monotonic()
    modes = [mode for mode in kills.MODES if options.only in mode.name and options.kills and (options.only or not mode.endless)]
    result = {"seed": options.seed, "kills": [], "hardships": [], "left": []}
    try:
        stopped = Live(base, "mariadb", MARIADB, data["mariadb"])
        stopped.child.terminate()
        stopped.child.wait(60)
        shared = types.SimpleNamespace(stopped_data=stopped.folder / "data", slow_log=kills.slow_log(), live=Servers())
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        measure = lambda mode: length_of(mode, shared, base, options.niagara, cache)  # noqa: E731
        lengths = dict(zip(modes, pool.map(measure, modes)))
        draw = random.Random(options.seed)
        turns = [mode for turn in range(max((mode.weight for mode in modes), default=0)) for mode in modes if turn < mode.weight]
        chains = []
        for number in range(-(-options.kills // kills.IN_A_ROW) if turns else 0):
            count = min(kills.IN_A_ROW, options.kills - number * kills.IN_A_ROW)
            chains.append((turns[number % len(turns)], draw.randrange(1 << 32), count))
        totals = collections.defaultdict(lambda: [0, 0, []])

        def chain(mode, seed, count):
            done, faults = 0, []
            # Where a command ended before its kills, another place has the others.
            for part in range(6):
                if done >= count:
                    break
                place = Place(base, options.niagara, cache)
                try:
                    more, found = kills.suffer(mode(shared), place, seed + part, count - done, lengths[mode])
                except Exception as error:  # noqa: BLE001: a fault of the script's is told, too
                    more, found = 0, [f"{type(error).__name__}: {error}"]
                done += more
                faults += found
                if not found:
                    place.remove()
            return mode.name, done, faults

        with pool:
            for future in concurrent.futures.as_completed([pool.submit(chain, *one) for one in chains]):
                name, done, faults = future.result()
                total = totals[name]
                total[0] += done
                total[1] += 1
                total[2] += faults
                print(f"{name}: {done} kills{': ' if faults else ''}{'; '.join(faults)}", file=sys.stderr, flush=True)
        for mode in modes:
            done, places, faults = totals[mode.name]
            result["kills"].append({"mode": mode.name, "kills": done, "places": places, "seconds": round(lengths[mode], 1), "faults": faults})
        if not options.without_hardships:
            for hardship in hardships.ALL:
                if options.only in hardship.__doc__:
                    result["hardships"].append(hardships.suffer(hardship, shared, base, options.niagara, cache))
                    print(json.dumps(result["hardships"][-1]), file=sys.stderr, flush=True)
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)
        for server in lives:
            server.stop()
        result["left"] += traces.processes_left(base)
        result["left"] += sorted(traces.mounts() - before[0]) + sorted(traces.groups() - before[1])
        result["left"] += [f"running record {path.name}" for path in (cache / "running").glob("*")]
        result["left"] += [f"half an image {path.name}" for path in (cache / "images").glob(".*")]
        result["seconds"] = round(time.monotonic() - began)
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")
    faulty = tell(result)
    if not faulty:
        shutil.rmtree(base, ignore_errors=True)
    else:
        print(f"\nlogs: {base}", file=sys.stderr)
    return 1 if faulty else 0


def length_of(mode, shared, base, niagara, cache):
    """How long the command takes that is not killed."""
    if mode.endless:
        return mode.longest
    place = Place(base, niagara, cache)
    one = mode(shared)
    one.ready(place)
    code, said, seconds = place.run(one.words(place))
    if code not in mode.finished:
        raise SystemExit(f"faults: {mode.name} ends with {code}: {said[-2000:]}")
    place.remove()
    print(f"{mode.name}: {seconds:.1f} s", file=sys.stderr, flush=True)
    return seconds


def tell(result):
    print("|mode|kills|left behind or ended wrongly|\n|---|---|---|")
    for row in result["kills"]:
        print(f"|{row['mode']}|{row['kills']}|{'; '.join(row['faults']) or 'nothing'}|")
    print("\n|condition|ended|left behind or ended wrongly|\n|---|---|---|")
    for row in result["hardships"]:
        print(f"|{row['condition']}|{row['ended']}|{'; '.join(row['faults']) or 'nothing'}|")
    print(f"\nleft on the machine: {'; '.join(result['left']) or 'nothing'}")
    return bool(result["left"]) or any(row["faults"] for row in result["kills"] + result["hardships"])


if __name__ == "__main__":
    sys.exit(main())
