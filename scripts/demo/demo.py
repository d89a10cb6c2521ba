#!/usr/bin/env python3
"""A real application made faster: captured on MariaDB, its pages per second compared before and after.

`--story index`: a shop on WordPress finds products by article number, and its tables lack an index for that. `niagara advise` finds and proves it.
`--story settings`: MediaWiki's server is tuned for its traffic by `niagara tune`, and what it hands over is installed beside the old configuration.
`--story scheduling`: the shop, with its index, on a server under batch scheduling (SCHED_BATCH), whose CPUs PHP uses as well.

Everything happens in one folder and on the loopback: a MariaDB with a configuration of its own, the application as Debian packages it, made-up
content, readers and writers. The first two stories capture their traffic from the running server. Both sides are compared at the level of HTTP.
"""
import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from signal import SIGHUP, SIGTERM
from signal import signal as on_signal

sys.path.insert(0, str(Path(__file__).parent))

import index_story
import scheduling_story
import settings_story
from traffic import tell

STORIES = {"index": index_story, "settings": settings_story, "scheduling": scheduling_story}

# Only a folder that has this was made here, and may be emptied.
MARK = ".niagara-demo"

OPTIONS = """\
# The configuration that the application's server has had: small, and never looked at again.
[mariadb]
innodb_buffer_pool_size = 128M
max_connections = 100
tmp_table_size = 16M
max_heap_table_size = 16M
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", choices=STORIES, default="index", help="what is missing (default: %(default)s)")
    parser.add_argument("--niagara", type=Path, required=True, help="the program")
    parser.add_argument("--out", type=Path, required=True, help="folder for all of it; made, or emptied with --again")
    parser.add_argument("--again", action="store_true", help="empty the folder first")
    parser.add_argument("--only-compare", action="store_true", help="compare again what an earlier call has made in the folder")
    parser.add_argument("--articles", type=int, default=1500, help="of the wiki (default: %(default)s)")
    parser.add_argument("--capture", type=int, default=120, metavar="SECONDS", help="how long traffic is captured (default: %(default)s)")
    parser.add_argument("--budget", default="10m", help="for the tuning or the advice (default: %(default)s)")
    parser.add_argument("--duels", type=int, default=8, help="of the two sites; six at least for an interval (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of articles, requests and coins (default: %(default)s)")
    return parser.parse_args()


def mistake(args) -> str | None:
    """What is wrong with the arguments, with the remedy."""
    if not os.access(args.niagara, os.X_OK):
        return f"{args.niagara} is not a program: make build makes target/quick/niagara"
    left = running_below(args.out)
    if left:
        return f"an earlier call has left processes running: kill {' '.join(map(str, left))}"
    if args.only_compare:
        there = (args.out / MARK).exists() and (args.out / STORIES[args.story].DONE).exists()
        return None if there else f"{args.out} has no such story of this demonstration: leave out --only-compare"
    if not args.out.exists() or not any(args.out.iterdir()):
        return None
    if not (args.out / MARK).exists():
        return f"{args.out} has other things than this demonstration: name another folder"
    return None if args.again else f"{args.out} has an earlier demonstration: name another folder, or --again to empty it"


def running_below(folder: Path) -> list[int]:
    """Servers and web servers of an earlier call that was killed: their command lines name files of this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        programs = (b"mariadbd", b"php", b"chrt")
        if os.path.basename(words[0]) in programs and any(f"{folder}/".encode() in word for word in words):
            found.append(int(process.name))
    return found


def emptied(folder: Path) -> None:
    """What was downloaded stays."""
    for entry in folder.iterdir():
        if entry.name not in ("mediawiki", "wordpress", MARK):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def main() -> int:
    args = arguments()
    args.niagara, args.out = args.niagara.resolve(), args.out.resolve()
    wrong = mistake(args)
    if wrong:
        print(f"demo: {wrong}", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    for signal in (SIGTERM, SIGHUP):
        # Servers are ended as on Ctrl-C.
        on_signal(signal, lambda *_: sys.exit(143))
    mark = args.out / MARK
    if args.only_compare:
        # The data were made with these.
        made = json.loads(mark.read_text() or "{}")
        args.articles, args.seed = made.get("articles", args.articles), made.get("seed", args.seed)
    else:
        mark.touch()
        emptied(args.out)
        mark.write_text(json.dumps({"articles": args.articles, "seed": args.seed}))
    options, backup = args.out / "my.cnf", args.out / "backup"
    story = STORIES[args.story]
    if not args.only_compare:
        options.write_text(OPTIONS)
        story.prepare(args, options, backup)
    result = story.compared(args, options, backup)
    if result is None:
        tell("nothing was proven to help this traffic: there is nothing to compare")
        return 0
    interval = "(no interval: that takes six duels)" if result["low"] is None else f"[{result['low']:.3f}, {result['high']:.3f}]"
    before, after = result["pages_per_second"]
    print(f"\npages per second: {before:.1f} before, {after:.1f} after: × {result['ratio']:.3f} {interval} from {result['duels']} "
          f"duel{'' if result['duels'] == 1 else 's'}")
    report = args.out / story.DONE / "report.html"
    if report.exists():
        print(f"its report: {report}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
