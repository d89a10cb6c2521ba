"""A place of its own for each command: work, results, temporary files; and the live servers that captures are made on."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

# A command that takes longer is ended, and that is a fault.
BOUND = 300


class Place:
    def __init__(self, base, niagara, cache):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="f", dir=base))
        self.niagara = niagara
        for name in ("work", "tmp", "home", "state"):
            (self.folder / name).mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "NIAGARA_CACHE": str(cache),
            "NIAGARA_WORK": str(self.folder / "work"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
        }

    def path(self, *parts):
        return self.folder.joinpath(*parts)

    def start(self, words, log="log", before=(), **environment):
        """Starts `niagara WORDS` in a group of its own."""
        known = {key: value for key, value in (self.environment | environment).items() if value is not None}
        with open(self.path(log), "ab") as output:
            return subprocess.Popen(
                [*before, self.niagara, *map(str, words)],
                cwd=self.folder,
                env=known,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def run(self, words, log="log", before=(), **environment):
        """Runs it to its end: exit code (none where it had to be ended), what it said, seconds."""
        began = time.monotonic()
        child = self.start(words, log, before, **environment)
        try:
            code = child.wait(BOUND)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            code = None
        return code, self.said(log), time.monotonic() - began

    def said(self, log="log"):
        return self.path(log).read_text(errors="replace")

    def forget(self, log="log"):
        self.path(log).unlink(missing_ok=True)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def run_sql(socket, sql):
    """What a live server answers, as lines."""
    done = subprocess.run(
        ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--batch", "--skip-column-names", "-e", sql],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        raise RuntimeError(f"{sql}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def new_data(folder, install):
    """A data directory that `install` makes."""
    words = [install[0], "--no-defaults", *install[1:], f"--datadir={folder}", "--user=root"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=BOUND)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return folder


class Live:
    """A server as a user has one: Niagara did not start it."""

    def __init__(self, base, name, server, data_of):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=name[:2], dir=base))
        self.name = name
        data = self.folder / "data"
        # The servers of a root's folder want to be told so.
        common = [f"--datadir={data}", "--user=root"]
        log = open(self.folder / "log", "ab")
        subprocess.run(["cp", "-a", "--reflink=auto", data_of, data], check=True)
        self.socket = self.folder / "s"
        more = [f"--socket={self.socket}", "--skip-networking", f"--pid-file={self.folder}/pid", "--innodb-buffer-pool-size=16M"]
        if name == "mariadb":
            more += ["--innodb-log-file-size=8M"]
        else:
            more += ["--mysqlx=OFF", "--secure-file-priv=NULL"]
        self.child = subprocess.Popen([*server, "--no-defaults", *common, *more], stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + BOUND
        while True:
            try:
                run_sql(self.socket, "SELECT 1")
                break
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                if time.monotonic() > until or self.child.poll() is not None:
                    raise RuntimeError(f"{name} does not start: {self.folder}/log") from error
                time.sleep(0.2)
        rows = ",".join(f"({number}, 'a')" for number in range(1, 101))
        run_sql(
            self.socket,
            f"CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(99)); INSERT INTO shop.orders VALUES {rows}",
        )

    def settings(self):
        """Global variables that a capture may change."""
        return run_sql(
            self.socket,
            "SHOW GLOBAL VARIABLES WHERE Variable_name REGEXP 'slow|long_query|log_output|general_log|min_examined|throttle|rate_limit|log_queries'",
        )

    def variables(self):
        """All global variables but those that count."""
        changing = "gtid|timestamp|rand_seed|last_|insert_id|identity|pseudo|_pos|executed|warning_count|error_count|in_transaction|statement_id"
        return run_sql(self.socket, f"SHOW GLOBAL VARIABLES WHERE Variable_name NOT REGEXP '{changing}'")

    def sessions(self):
        """Numbers of the sessions of clients, but for the one that asks."""
        return run_sql(
            self.socket,
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler')",
        )

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
