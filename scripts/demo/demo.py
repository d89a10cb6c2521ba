#!/usr/bin/env python3
"""A real application made faster: MediaWiki over PHP on MariaDB, captured, tuned, and its pages per second compared before and after.

Everything happens in one folder and on the loopback: a MariaDB with a configuration of its own, MediaWiki as Debian packages it, made-up articles, readers
and writers. Their traffic is captured from the running server, `niagara tune` tunes a private copy of that server for it (from its backup and its
configuration), and what it hands over is installed beside the old configuration. Then both are compared at the level of HTTP.
"""
import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGHUP, SIGTERM
from signal import signal as on_signal

sys.path.insert(0, str(Path(__file__).parent))

import duels
from browser import browse, requests
from database import SERVER, Database
from wiki import Wiki, made_up, unpack

# Only a folder that has this was made here, and may be emptied.
MARK = ".niagara-demo"

OPTIONS = """\
# The configuration that the wiki's server has had: small, and never looked at again.
[mariadb]
innodb_buffer_pool_size = 128M
max_connections = 100
tmp_table_size = 16M
max_heap_table_size = 16M
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--niagara", type=Path, required=True, help="the program")
    parser.add_argument("--out", type=Path, required=True, help="folder for all of it; made, or emptied with --again")
    parser.add_argument("--again", action="store_true", help="empty the folder first")
    parser.add_argument("--only-compare", action="store_true", help="compare again what an earlier call has tuned in the folder")
    parser.add_argument("--articles", type=int, default=1500, help="how many (default: %(default)s)")
    parser.add_argument("--capture", type=int, default=120, metavar="SECONDS", help="how long traffic is captured (default: %(default)s)")
    parser.add_argument("--budget", default="10m", help="for the tuning (default: %(default)s)")
    parser.add_argument("--duels", type=int, default=8, help="of the two wikis; six at least for an interval (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of articles, requests and coins (default: %(default)s)")
    return parser.parse_args()


def tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens at now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def capture(args, database: Database, wiki: Wiki, titles: list[str]) -> Path:
    """Captures what the server does while people browse the wiki."""
    file = args.out / "wiki.capture"
    command = [args.niagara, "capture", "start", "--socket", database.socket, "--user", "root", "--for", f"{args.capture}s",
               "--output", file]
    # More than can be served in the time.
    wanted = requests(titles, 300 * args.capture, args.seed + 17)
    with open(args.out / "capture.log", "w") as log:
        capturing = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        # Traffic that begins before the log does would be captured in part.
        time.sleep(2)
        seconds, pages = browse(wiki.port, wanted, time.monotonic() + args.capture - 4)
        if capturing.wait():
            raise SystemExit(f"demo: capturing failed: {args.out / 'capture.log'} has the reason")
    tell(f"captured {pages} pages in {seconds:.0f} s, {pages / seconds:.1f} a second, with the log on")
    return file


def deployed(deploy: Path) -> tuple[list[Path], dict[str, str], str, bool]:
    """What `deploy/` says: option files, the environment and the scheduling of the unit, whether the application is to use the socket."""
    environment, scheduling = {}, "other"
    for unit in deploy.glob("*.conf"):
        for line in unit.read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "Environment":
                name, _, content = value.strip('"').partition("=")
                # Nothing is installed for the demonstration: the library is taken from where it was handed over.
                environment[name] = content.replace("/usr/lib/niagara/", f"{deploy}/")
            elif key == "CPUSchedulingPolicy":
                scheduling = value
            elif line and not line.startswith(("#", "[")) and key not in ("ExecStart",):
                tell(f"left out of the comparison, for systemd alone can do it: {line}")
    return sorted(deploy.glob("*.cnf")), environment, scheduling, "Unix socket" in (deploy / "README.md").read_text()


def tuned_wiki(args, options: Path, backup: Path, wiki: Wiki) -> None:
    """A wiki with traffic, its backup and its capture; then the tuning."""
    database = Database(args.out / "production", free_ports(1)[0])
    try:
        tell("a server, a wiki on it, and articles")
        database.create()
        database.start([options])
        wiki.install(database.port)
        titles = wiki.fill(args.articles, args.seed)
        wiki.serve()
        # Pages are parsed at the first request and kept; people come to a wiki that has been read before.
        seconds, pages = browse(wiki.port, requests(titles, args.articles, args.seed + 16))
        tell(f"{args.articles} articles; the wiki serves {pages / seconds:.1f} pages a second")
        database.back_up(backup)
        recorded = capture(args, database, wiki, titles)
    finally:
        wiki.stop()
        database.stop()
    tell("tuning a private copy for the captured traffic")
    tuning = [args.niagara, "tune", SERVER, "--capture", recorded, "--data", backup, "--config", options,
              "--schema", "wiki", "--budget", args.budget, "--out", args.out / "tune"]
    if subprocess.run(tuning).returncode:
        raise SystemExit("demo: the tuning ended with an error, see above")


def compared(args, options: Path, backup: Path, wiki: Wiki, root: Path) -> dict:
    """The wiki on the server as it was, and on the server as deployed, side by side."""
    files, environment, scheduling, by_socket = deployed(args.out / "tune/deploy")
    ports = free_ports(4)
    before, after = Database(args.out / "before", ports[0]), Database(args.out / "after", ports[1])
    wikis = [Wiki(root, args.out / f"wiki-{name}", port) for name, port in zip(["before", "after"], ports[2:])]

    def start(server: Database, served: Wiki, *how) -> None:
        server.copy_of(backup)
        server.start(*how)
        at = f"localhost:{server.socket}" if by_socket and server is after else f"127.0.0.1:{server.port}"
        served.settings_of(wiki, at)
        served.serve()

    stacks = [duels.Stack(before, wikis[0], lambda: start(before, wikis[0], [options])),
              duels.Stack(after, wikis[1], lambda: start(after, wikis[1], [options, *files], environment, scheduling))]
    titles, _ = made_up(args.articles, args.seed)
    tell("the wiki before and after, side by side")
    return duels.run(stacks, titles, args.duels, couples=6, batch=100, seed=args.seed, tell=tell, keep=lambda found: kept(args, found))


def kept(args, found: dict) -> None:
    """What the duels so far say, on disk."""
    (args.out / "pages.json").write_text(json.dumps(found, indent=1) + "\n")


def mistake(args) -> str | None:
    """What is wrong with the arguments, with the remedy."""
    if not os.access(args.niagara, os.X_OK):
        return f"{args.niagara} is not a program: make build makes target/quick/niagara"
    left = running_below(args.out)
    if left:
        return f"an earlier call has left processes running: kill {' '.join(map(str, left))}"
    if args.only_compare:
        there = (args.out / MARK).exists() and (args.out / "tune").exists()
        return None if there else f"{args.out} has no tuning of this demonstration: leave out --only-compare"
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
        if entry.name not in ("mediawiki", MARK):
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
    root = unpack(args.out)
    options, backup = args.out / "my.cnf", args.out / "backup"
    wiki = Wiki(root, args.out / "wiki", free_ports(1)[0])
    if not args.only_compare:
        options.write_text(OPTIONS)
        tuned_wiki(args, options, backup, wiki)
    if not (args.out / "tune/deploy").exists():
        tell("nothing was proven to help this traffic: there is nothing to compare")
        return 0
    result = compared(args, options, backup, wiki, root)
    interval = "(no interval: that takes six duels)" if result["low"] is None else f"[{result['low']:.3f}, {result['high']:.3f}]"
    before, after = result["pages_per_second"]
    print(f"\npages per second: {before:.1f} before, {after:.1f} after: × {result['ratio']:.3f} {interval} from {result['duels']} "
          f"duel{'' if result['duels'] == 1 else 's'}\nthe tuning: {args.out / 'tune/report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
