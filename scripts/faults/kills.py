"""Random kills: each mode's command is killed at a random moment, then again, then runs to its end."""

import os
import random
import signal
import subprocess
import time

import traces
# Kills of one place before its command may end.
IN_A_ROW = 8

# What a study says that has ended, of the command that would begin it.
FINISHED = "holds this study, finished"

SMALL = ["--threads", "2", "--table-size", "1000", "--slice", "50ms", "--warm-up", "100ms", "--disturbance", "100%"]


class Mode:
    """A command that is killed. `words` may depend on the place; `ready` makes what it reads."""

    name = ""
    finished = (0,)
    studies = False
    # Its share of the kills: what takes longer has less.
    weight = 2
    # The latest kill, in seconds: what comes later is met by the kills that follow, for each continues where the one before was.
    longest = 20
    # What takes too long to come to its end here, and more than `scripts/setup test` installs: done where `--only` names it.
    endless = False

    def __init__(self, context):
        self.context = context

    def ready(self, place):
        pass

    def words(self, place):
        raise NotImplementedError

    def after_kill(self, place):
        """What is wrong after a kill, in words."""
        return []

    def at_end(self, place):
        """What is wrong after the command that ran to its end."""
        return []


class Compare(Mode):
    name = "compare"
    studies = True
    weight = 4

    def words(self, place):
        return ["compare", "base", "base", *SMALL, "--couples", "2", "--max-duels", "2", "--to-the-end", "--budget", "3m", "--seed", "5", "--out", place.path("out")]


class Tune(Mode):
    name = "tune"
    studies = True
    weight = 1

    def words(self, place):
        return ["tune", "mariadb-10.11", "--only", "skip-name-resolve", *SMALL, "--couples", "2", "--screen-couples", "2", "--budget", "1m", "--seed", "5", "--out", place.path("out")]


class DataDump(Mode):
    name = "data from a dump"
    studies = True

    def ready(self, place):
        rows = ",".join(f"({number},'{'x' * 50}')" for number in range(2000))
        place.path("shop.sql").write_text(
            f"-- MariaDB dump 10.19\n-- {place.folder.name}\nCREATE DATABASE shop; USE shop;\n"
            "CREATE TABLE orders (id INT PRIMARY KEY, note VARCHAR(99)) ENGINE=InnoDB;\n"
            f"INSERT INTO orders VALUES {rows};\n"
            "-- Dump completed\n"
        )
        place.path("orders.toml").write_text(WORKLOAD)

    def data(self, place):
        return place.path("shop.sql")

    def words(self, place):
        return ["compare", "base", "base", "--threads", "2", "--slice", "50ms", "--warm-up", "100ms", "--disturbance", "100%", "--workload", "./orders.toml", "--data", self.data(place),
                "--couples", "2", "--max-duels", "2", "--to-the-end", "--budget", "2m", "--seed", "5", "--out", place.path("out")]


class DataDirectory(DataDump):
    name = "data from a directory"

    def ready(self, place):
        super().ready(place)
        subprocess.run(["cp", "-a", "--reflink=auto", self.context.stopped_data, place.path("mysql")], check=True)
        # Other content, another image.
        place.path("mysql", "shop", place.folder.name + ".txt").write_text("x")
        place.digest = digest_of(place.path("mysql"))

    def data(self, place):
        return place.path("mysql")

    def after_kill(self, place):
        return [] if digest_of(place.path("mysql")) == place.digest else ["the user's data directory was changed"]


class CaptureImport(Mode):
    name = "capture import"
    weight = 3

    def ready(self, place):
        log = self.context.slow_log
        place.path("slow.log").write_text(log)

    def words(self, place):
        return ["capture", "import", "slow.log", "-o", "shop.capture", "--force"]


class Advise(DataDump):
    name = "advise"
    studies = False

    def ready(self, place):
        super().ready(place)
        place.path("slow.log").write_text(self.context.slow_log)
        code, said, _ = place.run(["capture", "import", "slow.log", "-o", "shop.capture"])
        if code:
            raise RuntimeError(said)

    def words(self, place):
        return ["advise", "--capture", "shop.capture", "--data", "shop.sql", "--schema", "shop", "--budget", "10s", "--out", place.path("out")]


class Capture(Mode):
    live = ""

    def words(self, place):
        place.forget("shop.capture")
        socket = self.context.live[self.live].socket
        return ["capture", "start", "--socket", socket, "--user", "root", "--for", "2s", "--yes", "--min-free", "1M", "-o", "shop.capture", "--force"]

    def ready(self, place):
        place.before = self.context.live[self.live].settings()

    def after_kill(self, place):
        live = self.context.live[self.live]
        until = time.monotonic() + traces.END
        while live.settings() != place.before:
            if time.monotonic() > until:
                return self.undone(place, live)
            time.sleep(0.2)
        return self.undone(place, live)

    def undone(self, place, live):
        """The next start says what to do, and that does it."""
        place.forget("stop")
        where = ["--socket", live.socket, "--user", "root"]
        code, said, _ = place.run(["capture", "stop", *where, "-o", "stopped.capture", "--force"], "stop")
        if live.settings() != place.before:
            return [f"the live server's settings stay changed ({code}): {said.strip()[-300:]}"]
        return []


class CaptureMariadb(Capture):
    name = "capture start, MariaDB"
    live = "mariadb"
    weight = 4


class CaptureMysql(Capture):
    name = "capture start, MySQL"
    live = "mysql"
    weight = 4


class Checkup(Mode):
    name = "checkup"

    def words(self, place):
        place.page = place.path("page", "checkup.html")
        place.page.parent.mkdir(exist_ok=True)
        live = self.context.live[self.live_name(place)]
        return ["checkup", "--socket", live.socket, "--user", "root", "--for", "3s", "--html", place.page]

    def live_name(self, place):
        """Both servers in turns, by the place's name."""
        return ["mariadb", "mysql"][sum(place.folder.name.encode()) % 2]

    def ready(self, place):
        place.before = self.context.live[self.live_name(place)].variables()

    def after_kill(self, place):
        live = self.context.live[self.live_name(place)]
        faults = [] if live.variables() == place.before else ["the live server's settings were changed"]
        # Those of the traffic come and go.
        until, stay = time.monotonic() + traces.END, live.sessions()
        while stay and time.monotonic() < until:
            time.sleep(0.2)
            now = live.sessions()
            stay = [session for session in stay if session in now]
        faults += [f"session {session} stays" for session in stay]
        if place.page.exists() and not place.page.read_text().rstrip().endswith("</html>"):
            faults.append("half a page")
        return faults

    def at_end(self, place):
        return self.after_kill(place) + [f"file {path.name}" for path in place.page.parent.iterdir() if path != place.page]


class StoreOfBuilds(Mode):
    def ready(self, place):
        # The store is the place's own: all of it must go by `gc`.
        place.cache = place.path("cache")
        place.environment["NIAGARA_CACHE"] = str(place.cache)

    def at_end(self, place):
        code, said, _ = place.run(["server", "build", "gc", "--all"], "gc")
        left = [path for path in (place.cache / "builds").rglob("*") if path.is_file() and "ccache" not in path.parts and path.stat().st_size]
        names = ", ".join(str(path.relative_to(place.cache)) for path in left[:5])
        return [f"gc leaves {names} ({code}): {said.strip()[-300:]}"] if code or left else []


class BuildPackage(StoreOfBuilds):
    """A server from its source package: fetching and unpacking it, configuration, the beginning of compilation."""

    name = "build of a source package, its beginning"
    longest = 90
    endless = True

    def words(self, place):
        return ["server", "build", "mariadb-10.11", "--jobs", "1"]


class Build(StoreOfBuilds):
    """A server from a tree: configuration, compilation, link, the store. The tree is small, so that it comes to its end."""

    name = "build of a tree"
    FILES = 30

    def ready(self, place):
        super().ready(place)
        tree = place.path("tree")
        (tree / "sql").mkdir(parents=True)
        tree.joinpath("VERSION").write_text("MYSQL_VERSION_MAJOR=10\nMYSQL_VERSION_MINOR=11\nMYSQL_VERSION_PATCH=99\n")
        tree.joinpath("CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(tree C CXX)\nadd_subdirectory(sql)\n")
        parts = [f"part{number}.cc" for number in range(self.FILES)]
        tree.joinpath("sql", "CMakeLists.txt").write_text(f"add_executable(mariadbd main.cc {' '.join(parts)})\n")
        tree.joinpath("sql", "main.cc").write_text(
            f'#include <cstdio>\nint main() {{ puts("mariadbd  Ver 10.11.99-MariaDB for Linux on x86_64 ({place.folder.name})"); }}\n'
        )
        for number, name in enumerate(parts):
            tree.joinpath("sql", name).write_text(
                f"#include <string>\nint part{number}(const std::string &text)\n"
                "{ return static_cast<int>((text + text).size()); }\n"
            )
        place.digest = digest_of(tree)

    def words(self, place):
        return ["server", "build", "mariadb-10.11", "--source", place.path("tree"), "--jobs", "1"]

    def after_kill(self, place):
        return [] if digest_of(place.path("tree")) == place.digest else ["the user's tree was changed"]

    def at_end(self, place):
        faults = self.after_kill(place)
        code, said, _ = place.run(["server", "build", "list", "--json"], "list")
        if code or said.count('"key"') != 1:
            faults.append(f"not one build is listed ({code}): {said.strip()[-300:]}")
        return faults + super().at_end(place)


WORKLOAD = """
title = "orders"
[[transaction]]
name = "look"
statements = ["SELECT note FROM orders WHERE id = :id"]
[transaction.draw]
id = { int = [1, 100] }
"""


def digest_of(folder):
    """Names, lengths and times of all files below a folder."""
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file())


MODES = [Compare, Tune, CaptureMariadb, CaptureMysql, DataDump, DataDirectory, CaptureImport, Advise, Checkup, Build, BuildPackage]


def kill(place, child, draw, mode):
    """Ends the command alone, or with all that it has started."""
    whole = isinstance(mode, Capture) and draw.random() < 0.3
    if whole:
        # The guardian has a group of its own: both are killed.
        for pid in traces.processes(str(place.folder)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    else:
        child.kill()
    child.wait()


def suffer(mode, place, seed, kills, length):
    """Kills the command of a place `kills` times and then lets it end; what was done and found."""
    draw = random.Random(seed)
    done, faults = 0, []
    mode.ready(place)
    for _ in range(3 * kills):
        if done == kills:
            break
        child = place.start(mode.words(place))
        try:
            code = child.wait(draw.uniform(0.02, min(length, mode.longest)))
            # It was faster than the kill.
            if code not in mode.finished:
                faults.append(f"ended with {code}: {place.said().strip()[-300:]}")
                break
            if mode.studies:
                break
            continue
        except subprocess.TimeoutExpired:
            kill(place, child, draw, mode)
        done += 1
        faults += traces.processes_left(place.folder)
        faults += mode.after_kill(place)
        if mode.studies and place.path("out", "results.db").exists():
            code, said, _ = place.run(["report", place.path("out")], "report")
            # Nothing may have been measured yet.
            if code not in (0, 1) or "malformed" in said:
                faults.append(f"results.db cannot be read ({code}): {said.strip()[-300:]}")
    place.forget()
    if not mode.endless:
        code, said, _ = place.run(mode.words(place))
        # A study may have ended before its last kill.
        if code not in mode.finished and FINISHED not in said:
            faults.append(f"the next start ends with {code}: {said.strip()[-400:]}")
    faults += mode.at_end(place)
    faults += traces.processes_left(place.folder)
    faults += traces.files_left(place.path("work"))
    faults += [f"temporary {name}" for name in traces.files_left(place.path("tmp"))]
    return done, faults


def slow_log():
    """A slow log of MariaDB with so many statements that reading it takes a while."""
    entries = []
    for number in range(20000):
        entries.append(
            f"# User@Host: app[app] @ localhost []\n# Thread_id: {number % 20 + 1}  Schema: shop  QC_hit: No\n"
            "# Query_time: 0.000200  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\n"
            "# Rows_affected: 0  Bytes_sent: 80\n"
            f"SET timestamp={1760000000 + number // 100};\nSELECT note FROM orders WHERE id = {number % 100 + 1};\n"
        )
    head = (
        "mariadbd, Version: 10.11.19-MariaDB-log (Debian). started with:\nTcp port: 3306  Unix socket: /run/s\n"
        "Time\t\t    Id Command\tArgument\n# Time: 251009  8:53:20\n"
    )
    return head + "".join(entries)
