"""Hard conditions, one function each: its docstring names the condition. It says how the command ended, and what was wrong."""

import contextlib
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import time
import traceback

import kills
import traces
from places import BOUND, Place


class Untried(Exception):
    """The condition cannot be made here, for this reason."""


def compare(place, duels=4, **options):
    out = options.get("out", place.path("out"))
    return ["compare", "base", "base", *kills.SMALL, "--couples", "2", "--max-duels", str(duels), "--to-the-end", "--budget", "3m", "--seed", "7", "--out", out]


def ended(code):
    return "it did not end" if code is None else f"exit code {code}"


def expect(code, said, good, words=()):
    """What is wrong with an end: its code, or that what it says lacks a word; a failure has a remedy."""
    faults = []
    if code not in good:
        faults.append(f"{ended(code)}: {said.strip()[-400:]}")
    elif code and "remedy: " not in said:
        faults.append(f"no remedy: {said.strip()[-400:]}")
    faults += [f"'{word}' is not said: {said.strip()[-300:]}" for word in words if word not in said]
    if "panicked" in said:
        faults.append(f"a panic: {said.strip()[-400:]}")
    return faults


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        raise Untried(f"no small disk can be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    with open(folder / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while ballast.write(bytes(1 << 16)):
            pass


def wait_for_servers(place, child, count):
    until = time.monotonic() + BOUND
    while time.monotonic() < until and child.poll() is None:
        found = [pid for pid, (_, name) in traces.processes(str(place.path("work"))).items() if "mariadbd" in name]
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise RuntimeError(f"no {count} servers: {place.said()[-400:]}")


def wait_for_duel(place, child):
    until = time.monotonic() + BOUND
    while not place.path("out", "results.db").exists() and time.monotonic() < until and child.poll() is None:
        time.sleep(0.05)
    return wait_for_servers(place, child, 2)


def wait(child):
    try:
        return child.wait(BOUND)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return None


def full_work(context, place):
    """disk of running servers full"""
    with small_disk(place.path("work"), "20m"):
        code, said, _ = place.run(compare(place))
    return ended(code), expect(code, said, [1], ["space"])


@contextlib.contextmanager
def cache_on_small_disk(place):
    """The cache, with its servers alone, at the same path on a small disk."""
    cache = pathlib.Path(place.environment["NIAGARA_CACHE"])
    kept = place.path("kept")
    subprocess.run(["cp", "-a", "--reflink=auto", cache / "servers", kept], check=True)
    with small_disk(cache, "600m"):
        subprocess.run(["cp", "-a", kept, cache / "servers"], check=True)
        shutil.rmtree(kept)
        yield cache


def full_cache(context, place):
    """disk of the cache full"""
    with cache_on_small_disk(place) as cache:
        fill(cache)
        code, said, _ = place.run(compare(place))
    return ended(code), expect(code, said, [1], ["NIAGARA_CACHE"])


def full_results(context, place):
    """disk of the results full"""
    with small_disk(place.path("results"), "1m") as results:
        child = place.start(compare(place, 40, out=results / "out"))
        until = time.monotonic() + BOUND
        while not (results / "out" / "results.db").exists() and child.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        fill(results)
        code = wait(child)
        faults = expect(code, place.said(), [1])
        (results / "ballast").unlink(missing_ok=True)
        report, said, _ = place.run(["report", results / "out"], "report")
        # Nothing may have been measured by then.
        if report not in (0, 1) or "damaged" in said:
            faults.append(f"results.db cannot be read: {said[-300:]}")
    return ended(code), faults


def read_only_results(context, place):
    """results folder read-only"""
    with small_disk(place.path("results"), "1m") as results:
        subprocess.run(["mount", "-o", "remount,ro", results], check=True)
        code, said, _ = place.run(compare(place, out=results / "out"))
    return ended(code), expect(code, said, [1], ["--out"])


def read_only_cache(context, place):
    """cache folder read-only"""
    with cache_on_small_disk(place) as cache:
        subprocess.run(["mount", "-o", "remount,ro", cache], check=True)
        code, said, _ = place.run(compare(place))
    return ended(code), expect(code, said, [1], ["NIAGARA_CACHE"])


def read_only_work(context, place):
    """folder of running servers read-only"""
    with small_disk(place.path("work"), "1m") as work:
        subprocess.run(["mount", "-o", "remount,ro", work], check=True)
        code, said, _ = place.run(compare(place))
    return ended(code), expect(code, said, [1], ["NIAGARA_WORK"])


def broken_results(place, change):
    code, said, _ = place.run(compare(place))
    if code:
        return ended(code), [said[-300:]]
    path = place.path("out", "results.db")
    bytes_ = path.read_bytes()
    for name in ("results.db-wal", "results.db-shm"):
        place.path("out", name).unlink(missing_ok=True)
    path.write_bytes(change(bytes_))
    place.forget()
    code, said, _ = place.run(["report", place.path("out")])
    faults = expect(code, said, [1])
    place.forget()
    code, said, _ = place.run(compare(place))
    return ended(code), faults + expect(code, said, [1])


def truncated_results(context, place):
    """results.db cut in half"""
    return broken_results(place, lambda text: text[: len(text) // 2])


def garbage_results(context, place):
    """results.db garbage"""
    return broken_results(place, lambda text: bytes(range(256)) * (len(text) // 256))


def spoiled_results(context, place):
    """a page of results.db overwritten"""
    return broken_results(place, lambda text: text[:4096] + b"\xa5" * 4096 + text[8192:])


def empty_results(context, place):
    """results.db empty"""
    code, said, _ = place.run(compare(place))
    place.path("out", "results.db").write_bytes(b"")
    place.forget()
    code, said, _ = place.run(["report", place.path("out")])
    return ended(code), expect(code, said, [1])


def killed_server(context, place):
    """a server killed in a duel"""
    child = place.start(compare(place, 6))
    os.kill(wait_for_duel(place, child)[0], signal.SIGKILL)
    code = wait(child)
    return ended(code), expect(code, place.said(), [0])


def frozen_server(context, place):
    """a server frozen from outside in a duel"""
    child = place.start(compare(place, 6))
    for pid in wait_for_duel(place, child):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    code = wait(child)
    return ended(code), expect(code, place.said(), [0, 1])


def clock_back(context, place):
    """clock set back an hour in a study"""
    libraries = list(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        raise Untried("libfaketime is not installed")
    offset = place.path("offset")
    offset.write_text("+0")
    child = place.start(
        compare(place, 6),
        LD_PRELOAD=str(libraries[0]),
        FAKETIME_TIMESTAMP_FILE=str(offset),
        FAKETIME_NO_CACHE="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
    )
    wait_for_duel(place, child)
    offset.write_text("-3600")
    code = wait(child)
    return ended(code), expect(code, place.said(), [0])


def few_files(context, place):
    """64 open files"""
    code, said, _ = place.run(compare(place), before=["prlimit", "--nofile=64:64"])
    return ended(code), expect(code, said, [0, 1])


def memory_limit(context, place):
    """memory limit of a control group, 160 MiB"""
    # The first version of control groups has a hierarchy for memory.
    root = pathlib.Path("/sys/fs/cgroup")
    first = (root / "memory").is_dir()
    group = (root / "memory" if first else root) / f"faults-{place.folder.name}"
    limit = group / ("memory.limit_in_bytes" if first else "memory.max")
    try:
        group.mkdir()
        if not limit.exists():
            group.rmdir()
            raise Untried(f"no control group: there is no {limit}")
        limit.write_text(str(160 << 20))
    except OSError as error:
        raise Untried(f"no control group: {error}") from error
    try:
        into = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
        code, said, _ = place.run(compare(place), before=into)
        faults = expect(code, said, [0, 1, 137, -9]) if code not in (137, -9) else []
        faults += traces.processes_left(place.folder)
    finally:
        # It can go once its last process has.
        until = time.monotonic() + traces.END
        while group.exists() and time.monotonic() < until:
            with contextlib.suppress(OSError):
                group.rmdir()
            time.sleep(0.1)
    return ended(code), faults


def two_at_once(context, place):
    """two commands at once on one folder"""
    first = place.start(compare(place, 6))
    wait_for_duel(place, first)
    second, said, _ = place.run(compare(place, 6), "second")
    faults = expect(second, said, [1], ["--out"])
    code = wait(first)
    return f"{ended(code)}, the second with {second}", faults + expect(code, place.said(), [0])


def hangup(context, place):
    """SIGHUP in a duel"""
    return by_signal(place, signal.SIGHUP)


def terminated(context, place):
    """SIGTERM in a duel"""
    return by_signal(place, signal.SIGTERM)


def by_signal(place, number):
    child = place.start(compare(place, 40))
    wait_for_duel(place, child)
    child.send_signal(number)
    code = wait(child)
    faults = [] if code in (129, 130, 143) else [f"{ended(code)}: {place.said()[-300:]}"]
    place.forget()
    again, said, _ = place.run(compare(place, 40))
    return ended(code), faults + expect(again, said, [0])


def terminal_gone(context, place):
    """terminal closed in a duel"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.folder)
        os.execve(place.niagara, [place.niagara, *map(str, compare(place, 40))], place.environment | {"TERM": "xterm"})
    try:
        until = time.monotonic() + BOUND
        os.set_blocking(terminal, False)
        while len(traces.processes(str(place.path("work")))) < 3 and time.monotonic() < until:
            with contextlib.suppress(BlockingIOError, OSError):
                os.read(terminal, 65536)
            time.sleep(0.05)
        os.close(terminal)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                return ended(os.waitstatus_to_exitcode(status)), []
            time.sleep(0.1)
        return "it did not end", ["it runs on without its terminal"]
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def no_home(context, place):
    """no HOME, no NIAGARA_CACHE"""
    code, said, _ = place.run(compare(place), HOME=None, NIAGARA_CACHE=None)
    return ended(code), [] if code == 1 and "NIAGARA_CACHE" in said else [f"{ended(code)}: {said[-300:]}"]


def no_home_but_cache(context, place):
    """no HOME, with NIAGARA_CACHE"""
    code, said, _ = place.run(compare(place), HOME=None)
    return ended(code), expect(code, said, [0])


def blanks(context, place):
    """TMPDIR, work and results with blanks and quotes"""
    for name in ("a tmp 'x'", 'a "work" ü'):
        place.path(name).mkdir()
    code, said, _ = place.run(
        compare(place, out=place.path("the results; $(x)")), TMPDIR=str(place.path("a tmp 'x'")), NIAGARA_WORK=str(place.path('a "work" ü'))
    )
    return ended(code), expect(code, said, [0])


def long_paths(context, place):
    """socket paths beyond 107 bytes"""
    long = place.path(*["d" * 60] * 3)
    long.mkdir(parents=True)
    code, said, _ = place.run(compare(place), NIAGARA_WORK=str(long), TMPDIR=str(long))
    return ended(code), expect(code, said, [0, 1])


def ordinary_user(context, place):
    """not root, in a place of another user"""
    if os.geteuid():
        raise Untried("it is no root that runs this")
    niagara = place.path("niagara")
    shutil.copy(place.niagara, niagara)
    os.chmod(place.folder, 0o755)
    before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    try:
        code, said, _ = Place.run(_as(place, niagara), ["bench", "oltp_read_only", "--time", "1s"], before=before)
    except PermissionError as error:
        raise Untried(str(error)) from error
    return ended(code), expect(code, said, [1])


def _as(place, niagara):
    place.niagara = str(niagara)
    return place


def plain_locale(context, place):
    """LANG=C"""
    code, said, _ = place.run(compare(place), LANG="C", LC_ALL="C")
    return ended(code), expect(code, said, [0])


def no_output(context, place):
    """standard output and error closed"""
    child = place.start(compare(place), before=["sh", "-c", 'exec "$@" >&- 2>&-', "sh"])
    code = wait(child)
    faults = [] if code in (0, 1) else [ended(code)]
    report, said, _ = place.run(["report", place.path("out")], "report")
    return ended(code), faults + expect(report, said, [0])


ALL = [
    full_work, full_cache, full_results, read_only_results, read_only_cache, read_only_work, truncated_results, garbage_results,
    spoiled_results, empty_results, killed_server, frozen_server, clock_back, few_files, memory_limit, two_at_once, hangup, terminated,
    terminal_gone, no_home, no_home_but_cache, blanks, long_paths, ordinary_user, plain_locale, no_output,
]


def suffer(hardship, context, base, niagara, cache):
    place = Place(base, niagara, cache)
    try:
        how, faults = hardship(context, place)
    except Untried as error:
        how, faults = f"untried: {error}", []
    except Exception:  # noqa: BLE001: a fault of the script's is told, too
        how, faults = "the script failed", [traceback.format_exc()[-500:]]
    faults += traces.processes_left(place.folder)
    if not faults:
        place.remove()
    return {"condition": hardship.__doc__, "ended": how, "faults": faults}
