"""What a site's database does while people browse: captured by Niagara from the running server."""
import json
import subprocess
import time
from pathlib import Path
from typing import Callable

from browser import Request, browse
from database import Database


def tell(text: str) -> None:
    """A line of the demonstration's progress."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def capture(niagara: Path, file: Path, seconds: int, database: Database, port: int, wanted: list[Request]) -> Path:
    """Captures `seconds` while the pages are asked for; there have to be more of them than can be served in the time."""
    command = [niagara, "capture", "start", "--socket", database.socket, "--user", "root", "--for", f"{seconds}s", "--output", file]
    log = file.with_suffix(".log")
    with open(log, "w") as told:
        capturing = subprocess.Popen(command, stdout=told, stderr=told, stdin=subprocess.DEVNULL)
        # Traffic that begins before the log does would be captured in part.
        time.sleep(2)
        spent, pages = browse(port, wanted, time.monotonic() + seconds - 4)
        if capturing.wait():
            raise SystemExit(f"demo: capturing failed: {log} has the reason")
    tell(f"captured {pages} pages in {spent:.0f} s, {pages / spent:.1f} a second, with the log on")
    return file


def kept_pages(folder: Path) -> Callable[[dict], None]:
    """Writes what the duels so far say into the folder."""
    return lambda found: (folder / "pages.json").write_text(json.dumps(found, indent=1) + "\n")
