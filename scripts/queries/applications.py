#!/usr/bin/env python3
"""Applications that lose their indexes: `niagara advise` has to bring back what they were worth.

usage: scripts/queries/applications.py NIAGARA [--captures target/recommendations/captures] [--out target/indexes] [--only wordpress,…]
                                       [--budget 4m] [--one-by-one] [--seed 1]

For WordPress and MediaWiki, with traffic that scripts/recommendations/captures.py captured: every secondary index is dropped, the advice
is asked for, and its set is compared with the application's own indexes by duels. --one-by-one drops each index alone and counts instead.
Keys that a constraint or a search needs (primary, unique, full text) stay. Prints a table; exits with 1 where a target is missed.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
APPLICATIONS = ["wordpress", "mediawiki"]
# What the set has to reach of the application's own indexes, in transactions a second.
LEAST_RATIO = 0.95
# An index matters where the capture's work grows by more than this without it; then most of what it saved has to be restored.
GROWTH, RESTORED = 1.10, 0.90
TABLE = re.compile(r"^CREATE TABLE `(?P<table>[^`]+)`")
KEY = re.compile(r"^  KEY `(?P<name>[^`]+)` (?P<parts>\(.*\))(?: USING \w+)?,?$")


def without_keys(dump: str, dropped) -> tuple[str, list[tuple[str, str, str]]]:
    """The dump without the keys that `dropped(table, name)` names; and these: table, name, parts."""
    table, kept, gone = None, [], []
    for line in dump.split("\n"):
        if found := TABLE.match(line):
            table = found["table"]
        key = KEY.match(line) if table else None
        if key and dropped(table, key["name"]):
            gone.append((table, key["name"], key["parts"]))
            continue
        if line.startswith(")") and table:
            # The last line of a table's definition has no comma.
            kept[-1] = kept[-1].removesuffix(",")
            table = None
        kept.append(line)
    return "\n".join(kept), gone


def adding(keys: list[tuple[str, str, str]]) -> str:
    return "".join(f"CREATE INDEX `{name}` ON `{table}` {parts};\n" for table, name, parts in keys)


class Application:
    """An application's capture and data, and what is made of them."""

    def __init__(self, args, name: str):
        self.args, self.name = args, name
        self.capture = args.captures / name / "traffic.capture"
        self.told = json.loads((args.captures / name / "capture.json").read_text())
        self.dump = (args.captures / name / self.told["data"]).read_text(encoding="utf-8", errors="surrogateescape")
        self.folder = args.out / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def data(self, name: str, dump: str) -> Path:
        path = self.folder / f"{name}.sql"
        path.write_text(dump, encoding="utf-8", errors="surrogateescape")
        return path

    def niagara(self, log: str, *words) -> dict:
        """What a command prints with --json."""
        command = [str(self.args.niagara), *map(str, words), "--server", self.told["server"], "--capture", str(self.capture), "--json"]
        with open(self.folder / f"{log}.log", "w") as file:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=file, stdin=subprocess.DEVNULL, text=True)
        if done.returncode:
            raise SystemExit(f"indexes: {' '.join(command)} failed: {self.folder / log}.log has the reason")
        (self.folder / f"{log}.json").write_text(done.stdout)
        return json.loads(done.stdout)

    def advise(self, log: str, data: Path, *words) -> dict:
        return self.niagara(log, "advise", "--data", data, "--out", self.folder / log, *words)

    def all_gone(self) -> bool:
        """Every secondary index dropped: the advised set against the application's own."""
        dump, keys = without_keys(self.dump, lambda *_: True)
        data = self.data("none", dump)
        own = self.folder / "own-indexes.sql"
        own.write_text(adding(keys))
        self.advise("all", data, "--budget", self.args.budget)
        schema = self.folder / "all/deploy/schema.sql"
        if not schema.exists():
            print(f"{self.name}: {len(keys)} indexes dropped, none handed over")
            return False
        compared = self.niagara("duels", "compare", f"sql={own}", f"sql={schema}", "--data", data, "--budget", self.args.budget,
                                "--to-the-end", "--seed", self.args.seed)
        advised = sum(line.startswith("CREATE INDEX") or " ADD " in line for line in schema.read_text().splitlines())
        ratio, low, high = throughput(compared)
        print(f"{self.name}: {len(keys)} indexes dropped, {advised} handed over: × {ratio:.3f} [{low:.3f}, {high:.3f}] of its own indexes")
        return ratio >= LEAST_RATIO

    def one_by_one(self) -> bool:
        """Each index dropped alone, by counting."""
        counted = lambda log, data: self.advise(log, data, "--no-duels")["screened"]
        good = counted("whole", self.data("whole", self.dump))["work_before"]
        _, keys = without_keys(self.dump, lambda *_: True)
        missed = 0
        for table, name, parts in keys:
            dump, _ = without_keys(self.dump, lambda of, key: (of, key) == (table, name))
            found = counted(f"{table}.{name}", self.data(f"{table}.{name}", dump))
            grown, left = found["work_before"] / good, found["work_after"]
            matters = grown > GROWTH
            restored = left <= good + (1 - RESTORED) * (found["work_before"] - good)
            missed += matters and not restored
            verdict = ("restored" if restored else "NOT restored") if matters else "does not matter"
            print(f"{self.name}: {table} {name} {parts}: work × {grown:.2f} without it, × {left / good:.2f} with the advice: {verdict}")
        return missed == 0


def throughput(compared: dict) -> tuple[float, float, float]:
    """Ratio of transactions a second with its interval."""
    found = compared["comparison"]["throughput"]["estimate"]
    return found["ratio"], found["low"], found["high"] or float("inf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    path = lambda text: Path(text).resolve()
    parser.add_argument("niagara", type=path)
    parser.add_argument("--captures", type=path, default="target/recommendations/captures")
    parser.add_argument("--out", type=path, default="target/indexes")
    parser.add_argument("--only", default=",".join(APPLICATIONS), help="names, separated by commas")
    parser.add_argument("--budget", default="4m", help="of the advice, and of the duels (default: %(default)s)")
    parser.add_argument("--one-by-one", action="store_true", help="each index alone, by counting")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    captures = HERE.parent / "recommendations/captures.py"
    if made := subprocess.run([captures, args.niagara, "--captures", args.captures, "--only", args.only]).returncode:
        return made
    all_well = True
    for name in args.only.split(","):
        application = Application(args, name)
        all_well &= application.one_by_one() if args.one_by_one else application.all_gone()
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main())
