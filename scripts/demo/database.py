"""Private MariaDB servers of the demonstration: made, started as an option file says, frozen, backed up, stopped."""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

START_SECONDS = 60
SERVER = shutil.which("mariadbd", path=os.environ["PATH"] + ":/usr/sbin") or "/usr/sbin/mariadbd"


class Database:
    """A server in a folder of its own: `data/`, `socket`, `error.log`. It listens on the loopback at `port`."""

    def __init__(self, folder: Path, port: int):
        self.folder, self.port = folder, port
        self.socket = folder / "socket"
        self.program = SERVER
        self.process: subprocess.Popen | None = None

    def create(self) -> None:
        """An empty data directory, its account root without a password: it can be reached from this machine only."""
        self.folder.mkdir(parents=True)
        run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self.folder / 'data'}", "--skip-test-db",
             "--auth-root-authentication-method=normal", *as_root()])

    def copy_of(self, backup: Path) -> None:
        """Data from a prepared backup."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        shutil.copytree(backup, self.folder / "data")

    def start(self, option_files: list[Path], environment: dict[str, str] | None = None, scheduling: str = "other") -> None:
        """Starts the server with the option files in their order, the last one winning, and waits until it answers."""
        everything = self.folder / "all.cnf"
        everything.write_text("".join(f"!include {file}\n" for file in option_files))
        command = [self.program, f"--defaults-file={everything}", f"--datadir={self.folder / 'data'}", f"--socket={self.socket}",
                   f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={self.folder / 'pid'}",
                   f"--secure-file-priv={self.folder}", *as_root()]
        if scheduling == "batch":
            command = ["chrt", "--batch", "0", *command]
        with open(self.folder / "error.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=os.environ | (environment or {}))
        until = time.monotonic() + START_SECONDS
        while subprocess.run(["mariadb-admin", "--no-defaults", "--user=root", f"--socket={self.socket}", "ping"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"demo: the server did not start: {self.folder / 'error.log'} has the reason")
            time.sleep(0.1)
        if "cannot be preloaded" in (self.folder / "error.log").read_text(errors="replace"):
            raise SystemExit(f"demo: a library was to be preloaded and was not: {self.folder / 'error.log'} has the reason")

    def sql(self, text: str, database: str = "") -> str:
        """What the server answers."""
        command = ["mariadb", "--no-defaults", "--user=root", f"--socket={self.socket}", "--batch", "--skip-column-names", database]
        done = subprocess.run([word for word in command if word], input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"SQL failed on {self.folder}: {done.stderr.strip()}")
        return done.stdout

    def back_up(self, target: Path) -> None:
        """A prepared physical backup of the running server."""
        run(["mariadb-backup", "--no-defaults", "--backup", "--user=root", f"--socket={self.socket}",
                        f"--datadir={self.folder / 'data'}", f"--target-dir={target}"])
        run(["mariadb-backup", "--prepare", f"--target-dir={target}"])

    def freeze(self) -> None:
        """Stopped without ending: it takes no CPU time until `thaw`."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Runs again after `freeze`."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Shuts the server down; kills it when that takes longer than a minute."""
        if self.process is None or self.process.poll() is not None:
            return
        self.thaw()
        self.process.terminate()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run(command: list, **how) -> None:
    """Runs a program; ends the demonstration with the end of what it said where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **how)
    if done.returncode:
        raise SystemExit(f"demo: {command[0]} failed:\n{done.stdout[-2000:]}")


def as_root() -> list[str]:
    """MariaDB refuses to run as root unless told to."""
    return ["--user=root"] if os.geteuid() == 0 else []


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens at now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
