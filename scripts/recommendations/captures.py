#!/usr/bin/env python3
"""Eleven captures with their data: two applications on PHP and six loads, each from a private server of its own.

usage: scripts/recommendations/captures.py NIAGARA [--captures target/recommendations/captures] [--only NAME,…] [--seconds N] [--seed 1]

A folder each: `traffic.capture`, the data as they were before the traffic (`data.sql`, or `data`), `capture.json`. What is there is kept.
"""
import argparse
import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).parent))

from servers import MariaDb, MySql, free_ports  # isort: skip: it knows where the demonstration's modules are
import browser
import wiki
import wordpress

HERE = Path(__file__).parent
MARIADB, MYSQL = "mariadb-10.11", "mysql-9.7"
# The log has to be open before the traffic begins, and traffic has to end before it is closed.
MARGIN = 3
ARTICLES = 500


@dataclass(frozen=True)
class Place:
    """Where a capture is made."""

    niagara: Path
    folder: Path
    shared: Path
    seconds: int
    seed: int


@dataclass(frozen=True)
class Application:
    """What is captured: `prepare` fills a server and returns the traffic, a function of the seconds that it lasts."""

    name: str
    title: str
    server: str
    schema: str
    prepare: Callable
    # PHP takes most of the time of a page: its database gets few statements a second. WordPress forgets after a minute what its pages
    # look like; readers alone are captured before that. A hundred thousand statements are enough: their answers are compared one by one.
    seconds: int = 24


def blog(writes: bool) -> Callable:
    """WordPress."""

    def prepare(place: Place, database: MariaDb, ends: ExitStack):
        root = wordpress.unpack(place.shared)
        blog = wordpress.Blog(root, place.folder / "php", free_ports(1)[0])
        ends.callback(blog.stop)
        blog.install(database)
        words = blog.fill(database, place.seed)
        # What the first requests leave behind, such as transient options, is there before the capture.
        browser.browse(blog.port, wordpress.requests(words, 200, place.seed + 1, writes))
        wanted = wordpress.requests(words, 300 * place.seconds, place.seed + 2, writes)
        return lambda seconds: browser.browse(blog.port, wanted, time.monotonic() + seconds)

    return prepare


def encyclopedia(edits: bool) -> Callable:
    """MediaWiki."""

    def prepare(place: Place, database: MariaDb, ends: ExitStack):
        site = wiki.Wiki(wiki.unpack(place.shared), place.folder / "php", free_ports(1)[0])
        ends.callback(site.stop)
        site.install(database.port)
        titles = site.fill(ARTICLES, place.seed)
        site.serve()
        browser.browse(site.port, browser.requests(titles, 2 * ARTICLES, place.seed + 1))
        wanted = browser.requests(titles, 1000 * place.seconds, place.seed + 2)
        # Of the readers a quarter is left where many write.
        kept = [one for number, one in enumerate(wanted) if (one.form is None and number % 4 == 0) or one.form] if edits else [
            one for one in wanted if one.form is None]
        return lambda seconds: browser.browse(site.port, kept, time.monotonic() + seconds)

    return prepare


def load(workload: str, threads: int, *scale: str) -> Callable:
    """A load of Niagara's generator, against a server that it did not start."""

    def prepare(place: Place, database: MariaDb, ends: ExitStack):
        database.sql("CREATE DATABASE shop")
        # Options of a running server are the same for `prepare` and `run`.
        words = ["--socket", database.socket, "--user", "root", "--database", "shop", *scale]
        bench(place, [workload, "prepare", *words])
        return lambda seconds: bench(
            place, [workload, "run", *words, "--threads", threads, "--warm-up", "0", "--time", f"{seconds}s"])

    return prepare


def bench(place: Place, words: list) -> None:
    logged([place.niagara, "bench", *words], place.folder / "bench.log")


def logged(command: list, log: Path) -> None:
    with open(log, "ab") as file:
        if subprocess.run(list(map(str, command)), stdout=file, stderr=file, stdin=subprocess.DEVNULL).returncode:
            raise SystemExit(f"recommendations: {' '.join(map(str, command))} failed: {log} has the reason")


SHOP = HERE.parent.parent / "docs/examples/shop.toml"
APPLICATIONS = [
    Application("wordpress", "WordPress, readers", MARIADB, "wordpress", blog(False), 40),
    Application("wordpress-comments", "WordPress, comments and searches", MARIADB, "wordpress", blog(True), 60),
    Application("mediawiki", "MediaWiki, readers", MARIADB, "wiki", encyclopedia(False), 60),
    Application("mediawiki-edits", "MediaWiki, edits", MARIADB, "wiki", encyclopedia(True), 60),
    Application("read-write", "oltp_read_write", MYSQL, "shop", load("oltp_read_write", 16, "--table-size", "100000")),
    Application("point-select", "oltp_point_select", MARIADB, "shop", load("oltp_point_select", 16, "--table-size", "100000"), 5),
    Application("write-only", "oltp_write_only", MARIADB, "shop", load("oltp_write_only", 8, "--table-size", "100000"), 10),
    Application("tpcc", "tpcc, one warehouse", MARIADB, "shop", load("tpcc", 8, "--warehouses", "1")),
    Application("shop", "a small shop", MYSQL, "shop", load(str(SHOP), 16)),
    Application("orders", "searches, orders and reports", MARIADB, "shop", load(str(HERE / "orders.toml"), 12)),
]
# For comparisons of builds; evaluate.py does not tune them.
FURTHER = [Application("wordpress-mysql", "WordPress, readers", MYSQL, "wordpress", blog(False), 40)]


def program_of(niagara: Path, name: str) -> Path:
    """The server program of a catalogue's name, fetched where it is not here."""
    done = subprocess.run([niagara, "server", "get", name], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"recommendations: {name}: {done.stderr.strip()}")
    return Path(done.stdout.split()[-1])


def make(application: Application, args: argparse.Namespace) -> None:
    """One capture with its data."""
    target = args.captures / application.name
    if (target / "capture.json").exists():
        return
    shutil.rmtree(target, ignore_errors=True)
    work = target / "work"
    work.mkdir(parents=True)
    place = Place(args.niagara, work, args.captures / ".sites", args.seconds or application.seconds, args.seed)
    with ExitStack() as ends:
        database = MySql(work / "server", program_of(args.niagara, MYSQL)) if application.server == MYSQL else MariaDb(work / "server")
        ends.callback(database.stop)
        database.begin()
        traffic = application.prepare(place, database, ends)
        data = target / ("data" if application.server == MYSQL else "data.sql")
        database.save(data, application.schema)
        captured(place, database, target, traffic)
    told = {"name": application.name, "title": application.title, "server": application.server, "schema": application.schema,
            "data": data.name, "seconds": place.seconds, "seed": args.seed}
    shutil.rmtree(work)
    (target / "capture.json").write_text(json.dumps(told, indent=2) + "\n")


def captured(place: Place, database: MariaDb, target: Path, traffic: Callable) -> None:
    """Captures what the server does while the traffic lasts."""
    command = [place.niagara, "capture", "start", "--socket", database.socket, "--user", "root", "--for",
               f"{place.seconds + 2 * MARGIN}s", "--output", target / "traffic.capture"]
    with open(target / "capture.log", "w") as log:
        capturing = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            time.sleep(MARGIN)
            traffic(place.seconds)
        finally:
            code = capturing.wait()
    if code:
        raise SystemExit(f"recommendations: capturing failed: {target / 'capture.log'} has the reason")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("niagara", type=lambda path: Path(path).resolve())
    parser.add_argument("--captures", type=lambda path: Path(path).resolve(), default="target/recommendations/captures")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--seconds", type=int, help="of traffic (default: 40 or 60 of an application, 5 to 24 of a load)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for application in APPLICATIONS + FURTHER:
        if not args.only or application.name in args.only.split(","):
            make(application, args)
            size = (args.captures / application.name / "traffic.capture").stat().st_size
            print(f"{application.name}: {application.title} on {application.server}, {size / 1e6:.1f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
