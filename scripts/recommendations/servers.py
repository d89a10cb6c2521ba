"""The servers of the applications that are captured: private, in folders of their own, on the loopback."""
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "demo"))

from database import Database, as_root, free_ports, run

OPTIONS = "[mariadb]\ninnodb_buffer_pool_size = 128M\nmax_connections = 200\n"
MYSQL_OPTIONS = "[mysqld]\ninnodb_buffer_pool_size = 128M\nmax_connections = 200\nmysqlx = OFF\n"


class MariaDb(Database):
    """The distribution's MariaDB."""

    def __init__(self, folder: Path):
        super().__init__(folder, free_ports(1)[0])

    def begin(self) -> None:
        """Makes an empty server and starts it."""
        self.create()
        options = self.folder / "my.cnf"
        options.write_text(OPTIONS)
        self.start([options])

    def save(self, target: Path, schema: str) -> None:
        """A dump of the schema, as its owner would make one."""
        with open(target, "wb") as file:
            done = subprocess.run(
                ["mariadb-dump", "--no-defaults", "--user=root", f"--socket={self.socket}", "--single-transaction", "--routines",
                 "--triggers", "--databases", schema], stdout=file, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"recommendations: mariadb-dump failed: {done.stderr.strip()}")


class MySql(MariaDb):
    """MySQL as Niagara fetches it."""

    def __init__(self, folder: Path, program: Path):
        super().__init__(folder)
        self.program = program

    def begin(self) -> None:
        self.folder.mkdir(parents=True)
        run([self.program, "--no-defaults", "--initialize-insecure", f"--datadir={self.folder / 'data'}", *as_root()])
        self._start()

    def save(self, target: Path, schema: str) -> None:
        """A copy of the data directory, the server being stopped meanwhile: mariadb-dump does not fit MySQL."""
        self.stop()
        shutil.copytree(self.folder / "data", target)
        self._start()

    def _start(self) -> None:
        options = self.folder / "my.cnf"
        options.write_text(MYSQL_OPTIONS)
        self.start([options])
