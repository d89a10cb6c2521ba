"""What a killed command may have left behind: processes, frozen ones, mounts, control groups, files."""

import os
import pathlib
import time

# How long whatever was started by a killed process may take to end.
END = 20


def processes(needle):
    """Process ids whose command line or environment names `needle`, with their state."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if needle.encode() in words and state != "Z":
            found[int(entry.name)] = (state, words.split(b"\0")[0].decode(errors="replace"))
    return found


def mounts():
    return set(pathlib.Path("/proc/mounts").read_text().splitlines())


def groups():
    """Control groups that Niagara has made."""
    root = pathlib.Path("/sys/fs/cgroup")
    return {str(path) for path in root.glob("**/*niagara*") if path.is_dir()} if root.exists() else set()


def processes_left(folder):
    """Processes of a place that are there after a while; a list of words."""
    until = time.monotonic() + END
    while True:
        left = processes(str(folder))
        if not left or time.monotonic() > until:
            break
        time.sleep(0.1)
    return [
        f"process {pid} ({name}{', frozen' if state in 'Tt' else ''})"
        for pid, (state, name) in left.items()
    ]


def files_left(folder):
    """Clones and sockets below a place's folder for running servers."""
    if not folder.exists():
        return []
    return [f"file {path.relative_to(folder)}" for path in sorted(folder.iterdir())]
