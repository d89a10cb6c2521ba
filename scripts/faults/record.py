#!/usr/bin/env python3
"""Makes docs/results/faults.json of what faults.py and the fuzzer have found.

usage: scripts/faults/record.py DATE KILLS.json HARDSHIPS.json LOG… (of the fuzzer: fuzz-TARGET.log), to standard output"""

import json
import pathlib
import re
import sys

READERS = {
    "options": "option files",
    "dump": "dumps",
    "decode": "what a server sends",
    "traffic": "recorded traffic",
    "clean": "what surrounds a log",
    "capture": "logs and statements",
}
MACHINE = {"cpu": "x86-64", "cpus": 2, "virtual_machine": True, "memory": "24 GiB", "system": "Debian 12", "kernel": "Linux 6.18"}
SHARED = "shared with compilers and other tests; durations mean nothing"


def text(words):
    return {"text": words}


def left(faults):
    return text("; ".join(faults) or "nothing")


def fuzzed(path):
    """Executions, seconds, peak memory and crashes of a run of the fuzzer."""
    said = path.read_text(errors="replace")
    name = path.stem.split("-")[-1]
    executed = re.findall(r"number_of_executed_units: (\d+)", said) or re.findall(r"^#(\d+)", said, re.M)
    memory = re.findall(r"peak_rss_mb: +(\d+)", said) or re.findall(r"rss: (\d+)Mb", said)
    seconds = re.findall(r"Done \d+ runs in (\d+) second", said)
    crashed = "deadly signal" in said or "libFuzzer: timeout" in said or "out-of-memory" in said
    figures = {
        "inputs": {"value": int(executed[-1])},
        "peak memory, MB": {"value": int(memory[-1])},
        "crash, hang": text("one" if crashed else "none"),
    }
    if seconds:
        figures["seconds"] = {"value": int(seconds[0])}
    return {"name": READERS[name], "figures": figures}


def main():
    date, kills, hardships, *logs = sys.argv[1:]
    kills = json.loads(pathlib.Path(kills).read_text())
    hardships = json.loads(pathlib.Path(hardships).read_text())
    killed = sum(row["kills"] for row in kills["kills"])
    faults = [fault for row in kills["kills"] for fault in row["faults"]] + kills["left"]
    tried = [row for row in hardships["hardships"] if not row["ended"].startswith("untried")]
    record = {
        "$schema": "schema.json",
        "id": "faults",
        "title": "Faults that were made",
        "finding": f"{killed} random kills and {len(tried)} hard conditions left "
        f"{'no process, no mount and no changed setting' if not faults else f'{len(faults)} things'} behind.",
        "runs": [
            {
                "title": "Random kills",
                "date": date,
                "commands": ["make test-faults"],
                "seeds": [kills["seed"]],
                "servers": ["MariaDB 10.11.19 as packaged", "MySQL 9.7.4 as packaged, live server of captures alone"],
                "machine": MACHINE,
                "conditions": SHARED,
                "tables": [
                    {
                        "title": "SIGKILL at a random moment, then the same command again",
                        "rows_are": "mode",
                        "columns": ["kills", "left behind or ended wrongly"],
                        "rows": [
                            {"name": row["mode"], "figures": {"kills": {"value": row["kills"]}, "left behind or ended wrongly": left(row["faults"])}}
                            for row in kills["kills"]
                        ],
                    }
                ],
                "notes": [
                    "After each kill: no process, no frozen server, no mount; a live server's settings as before; results.db readable.",
                    "After eight kills of a place the command ran to its end, and no clone was left.",
                ],
            },
            {
                "title": "Hard conditions",
                "date": date,
                "commands": ["scripts/faults/faults.py target/quick/niagara --kills 0"],
                "machine": MACHINE,
                "conditions": SHARED,
                "tables": [
                    {
                        "title": "A comparison under each",
                        "rows_are": "condition",
                        "columns": ["ended", "left behind or ended wrongly"],
                        "rows": [
                            {"name": row["condition"], "figures": {"ended": text(row["ended"]), "left behind or ended wrongly": left(row["faults"])}}
                            for row in hardships["hardships"]
                        ],
                    }
                ],
            },
            {
                "title": "Fuzzed readers",
                "date": date,
                "commands": ["FUZZ_RUNS=10000000 scripts/fuzz"],
                "machine": MACHINE,
                "conditions": SHARED,
                "tables": [
                    {
                        "title": "Inputs of the fuzzer",
                        "rows_are": "reader",
                        "columns": ["inputs", "seconds", "peak memory, MB", "crash, hang"],
                        "rows": [fuzzed(pathlib.Path(log)) for log in logs],
                    }
                ],
            },
        ],
    }
    json.dump(record, sys.stdout, indent=2, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
