"""Readers and writers of the wiki: a fixed list of page requests, asked by a few connections at once."""
import http.client
import json
import queue
import random
import threading
import time
from dataclasses import dataclass
from urllib.parse import quote, urlencode

CONNECTIONS = 6
TIMEOUT = 60


@dataclass(frozen=True)
class Request:
    """One page that somebody asks for; `form` is sent by POST."""

    path: str
    form: str | None = None

    @property
    def edits(self) -> bool:
        """Whether the wiki's interface answers, which says of an edit whether it was taken."""
        return self.form is not None and self.path.startswith("/api.php")


def requests(titles: list[str], count: int, seed: int) -> list[Request]:
    """What people ask a wiki for: mostly articles, the popular ones more often, then lists, searches, histories; one in 25 writes."""
    draw = random.Random(seed)
    popularity = [1 / (rank + 10) for rank in range(len(titles))]

    def title() -> str:
        return draw.choices(titles, popularity)[0]

    def page(name: str, **query) -> Request:
        return Request("/index.php?" + urlencode({"title": name.replace(" ", "_"), **query}, safe=":/"))

    kinds = [
        (60, lambda: page(title())),
        (8, lambda: page(f"Category:Subject {draw.randint(1, 60)}")),
        (7, lambda: page("Special:Search", search=title().split()[1], fulltext=1)),
        (6, lambda: page("Special:RecentChanges", limit=100, days=9000)),
        (6, lambda: page(title(), action="history")),
        (5, lambda: page(f"Special:WhatLinksHere/{title()}")),
        (4, lambda: Request("/api.php?" + urlencode({"action": "query", "titles": title(), "prop": "links|categories|info", "format": "json"}))),
        (4, lambda: Request("/api.php", urlencode({
            "action": "edit", "title": title(), "appendtext": f"\n\n{draw.random()} was added.", "summary": "more", "token": "+\\", "format": "json"}))),
    ]
    weights = [weight for weight, _ in kinds]
    return [draw.choices(kinds, weights)[0][1]() for _ in range(count)]


def edited(answer: bytes) -> bool:
    """Whether an edit was taken, or another one came before it: of two who edit one page at once the second is told so, as on any wiki."""
    try:
        return json.loads(answer).get("error", {}).get("code") in (None, "editconflict")
    except ValueError:
        return False


def browse(port: int, wanted: list[Request], until: float | None = None) -> tuple[float, int]:
    """Asks for all pages, `CONNECTIONS` at a time; returns the seconds that took and how many answers there were.

    Ends early at `until` (of time.monotonic()). A page that fails ends the demonstration: a faster error is no gain."""
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    for request in wanted:
        waiting.put(request)
    failures: list[str] = []
    answered = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        while not failures and (until is None or time.monotonic() < until):
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                if request.form is None:
                    connection.request("GET", request.path)
                else:
                    connection.request("POST", request.path, request.form, {"Content-Type": "application/x-www-form-urlencoded"})
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"{quote(request.path)}: {error!r}")
                break
            if answer.status not in (200, 302) or (request.edits and not edited(body)):
                failures.append(f"{request.path}: {answer.status} {body[:300]!r}")
            answered.append(1)
            connection.close()
        connection.close()

    began = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"demo: a page failed: {failures[0]}")
    return time.monotonic() - began, len(answered)
