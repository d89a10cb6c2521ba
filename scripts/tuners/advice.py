"""MySQLTuner: one look at a server under load, and its recommended variables that name a value."""

import os
import pathlib
import re
import subprocess
import tempfile
import time

from knobs import KNOBS

# Of a server that lives for a minute on a socket in a folder of its own.
PASSWORD = "advice"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def recommended(text, current):
    """What the section "Variables to adjust" asks for, as far as all tuners may turn it: `name (> 16M)`, `name (=ON)`,
    `name=ON`, `name should be (=32M) …`. What is to be more than it is already, is doubled."""
    settings = {}
    section = text.split("Variables to adjust", 1)
    for line in section[1].splitlines() if len(section) == 2 else []:
        found = re.match(r"\s+([a-z_]+)(?: should be)?\s*\(?([<>]?)=?\s*([\w.]+)", line)
        if not found or found[1] not in KNOBS:
            continue
        name, word = found[1], found[3]
        number = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)B?", word)
        if number:
            value = float(number[1]) * UNITS[number[2]]
            if found[2] == ">" and value <= float(current.get(name, 0)):
                value *= 2
            settings[name] = str(int(value))
        elif word.upper() in ("ON", "OFF"):
            settings[name] = word.upper()
    return settings


def advise(mysqltuner, niagara, server, bench, seconds, memory_mb):
    """Starts a plain server of the same binary on a folder of its own, loads it for `seconds` (or until all of a capture was
    sent), and asks MySQLTuner.

    Returns the settings and MySQLTuner's text.
    """
    home = pathlib.Path(server["basedir"])
    with tempfile.TemporaryDirectory(prefix="advice-") as folder:
        data, socket = f"{folder}/data", f"{folder}/s"
        user = ["--user=root"] if os.geteuid() == 0 else []
        libraries = os.environ | {"LD_LIBRARY_PATH": ":".join(library_folders(home))}
        common = [f"--basedir={home}", f"--datadir={data}", f"--lc-messages-dir={home}/share/mysql", *user]
        os.mkdir(data)
        subprocess.run(
            [server["server"], "--no-defaults", "--bootstrap", *common],
            env=libraries, check=True, capture_output=True, input=first_statements(home),
        )
        log = open(f"{folder}/log", "w")
        process = subprocess.Popen(
            [server["server"], "--no-defaults", *common, f"--socket={socket}", "--skip-networking", "--pid-file=pid",
             # MySQLTuner 2.6.0 divides by it, and MariaDB since 10.11.12 says 0 where it is not set.
             "--innodb-buffer-pool-chunk-size=2M"],
            env=libraries, stdout=log, stderr=log,
        )
        try:
            wait_for(socket, process)
            # MySQLTuner logs in with a password or not at all.
            client = ["mariadb", "--no-defaults", "--socket", socket, "--user", "root"]
            subprocess.run(
                [*client, "-e", f"SET PASSWORD = PASSWORD('{PASSWORD}')"], check=True, capture_output=True, timeout=60
            )
            to = ["--socket", socket, "--user", "root"]
            secret = os.environ | {"NIAGARA_PASSWORD": PASSWORD}
            command = [niagara, "bench", bench.workload]
            if bench.data:
                with open(bench.data, "rb") as dump:
                    subprocess.run([*client, f"--password={PASSWORD}"], stdin=dump, check=True, capture_output=True)
                load = ["--yes", "--database", bench.schema]
            else:
                load = bench.load
                subprocess.run([*command, "prepare", *load, *to], env=secret, check=True, capture_output=True)
            subprocess.run(
                [*command, "run", *load, "--time", f"{seconds}s", *to], env=secret, check=True, capture_output=True
            )
            # Its --socket comes with a port, which new clients take for TCP: the user's own option file names the socket.
            pathlib.Path(folder, ".my.cnf").write_text(f"[client]\nsocket={socket}\n")
            asked = subprocess.run(
                [mysqltuner, "--nocolor", "--user", "root", "--pass", PASSWORD,
                 "--forcemem", str(memory_mb), "--forceswap", "0", "--skippassword"],
                capture_output=True, text=True, timeout=300, env=os.environ | {"HOME": folder},
            )
            if asked.returncode or "Variables to adjust" not in asked.stdout:
                raise RuntimeError(f"{mysqltuner} gave no advice: {(asked.stderr or asked.stdout)[-300:]}")
            rows = subprocess.run(
                [*client, f"--password={PASSWORD}", "-NBe", "SHOW GLOBAL VARIABLES"],
                capture_output=True, text=True, check=True, timeout=60,
            )
            current = dict(row.split("\t", 1) for row in rows.stdout.splitlines() if "\t" in row)
            return recommended(asked.stdout, numbers(current)), asked.stdout
        finally:
            process.terminate()
            process.wait(60)


def first_statements(home):
    """What makes the system's tables; root has no password and may come over the socket that only this folder has."""
    folder = home / "share" / "mysql"
    files = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"]
    begin = "CREATE DATABASE mysql;\nUSE mysql;\nSET @skip_auth_anonymous = 1, @auth_root_socket = NULL;\n"
    return begin.encode() + b"".join((folder / name).read_bytes() for name in files)


def library_folders(home):
    """Where a server that is not installed keeps the libraries that came with it."""
    return [str(folder) for folder in (home / "lib").glob("*-linux-gnu")]


def numbers(variables):
    """The variables that are numbers."""
    return {name: value for name, value in variables.items() if value.isdigit()}


def wait_for(socket, process):
    """Until the server listens; an error where it ends before or takes more than a minute."""
    for _ in range(600):
        if os.path.exists(socket):
            return
        if process.poll() is not None:
            raise RuntimeError("the server for MySQLTuner did not start")
        time.sleep(0.1)
    raise RuntimeError("the server for MySQLTuner did not listen within a minute")
