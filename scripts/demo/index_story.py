"""A shop whose pages wait for one statement: `niagara advise` finds the index that is missing, and proves it."""
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import duels
from browser import browse
from database import SERVER, Database, free_ports
from shop import Shop, requests
from traffic import capture, kept_pages, tell
from wordpress import unpack

DONE = "advice"
WORDS = "words"


def prepare(args, options: Path, backup: Path) -> None:
    """A shop with traffic, its backup and its capture; then the advice."""
    with running_shop(args, options) as (shop, database, words):
        back_up(args, shop, database, words, backup)
        wanted = requests(words, 300 * args.capture, args.seed + 17)
        recorded = capture(args.niagara, args.out / "shop.capture", args.capture, database, shop.port, wanted)
    subprocess.run([args.niagara, "capture", "info", recorded, "--top", "3"])
    tell("what the queries need, counted and proven on a private copy")
    advising = [args.niagara, "advise", "--server", SERVER, "--capture", recorded, "--data", backup, "--config", options,
                "--schema", "wordpress", "--budget", args.budget, "--out", args.out / DONE]
    if subprocess.run(advising).returncode:
        raise SystemExit("demo: the advice ended with an error, see above")


def compared(args, options: Path, backup: Path) -> dict | None:
    """The shop on its tables as they were, and with the indexes of `schema.sql`, side by side; nothing where no index was handed over."""
    schema = args.out / DONE / "deploy/schema.sql"
    if not schema.exists():
        return None
    shop = the_shop(args)
    words = (args.out / WORDS).read_text().splitlines()
    ports = free_ports(4)
    before, after = Database(args.out / "before", ports[0]), Database(args.out / "after", ports[1])
    shops = [shop.beside(args.out / f"shop-{name}", port, f"127.0.0.1:{server.port}")
             for name, port, server in zip(["before", "after"], ports[2:], [before, after])]

    def start(server: Database, served: Shop) -> None:
        server.copy_of(backup)
        server.start([options])
        if server is after:
            server.sql(schema.read_text(), "wordpress")
        served.serve()

    stacks = [duels.Stack(before, shops[0], lambda: start(before, shops[0])), duels.Stack(after, shops[1], lambda: start(after, shops[1]))]
    tell("the shop before and after, side by side")
    return duels.run(stacks, lambda count, seed: requests(words, count, seed), args.duels, couples=4, batch=60, seed=args.seed, tell=tell,
                     keep=kept_pages(args.out))


@contextmanager
def running_shop(args, options: Path) -> Iterator[tuple[Shop, Database, list[str]]]:
    """A shop with products on a server of its own, and the words for searches; both are stopped at the end."""
    shop = the_shop(args)
    database = Database(args.out / "production", free_ports(1)[0])
    try:
        tell("a server, a shop on it, and products")
        database.create()
        database.start([options])
        shop.install(database)
        words = shop.fill(database, args.seed)
        (args.out / WORDS).write_text("\n".join(words))
        yield shop, database, words
    finally:
        shop.stop()
        database.stop()


def back_up(args, shop: Shop, database: Database, words: list[str], backup: Path) -> None:
    """The backup of a running shop, with what the first requests leave behind, such as transient options."""
    seconds, pages = browse(shop.port, requests(words, 300, args.seed + 16))
    tell(f"the shop serves {pages / seconds:.1f} pages a second")
    database.back_up(backup)


def the_shop(args) -> Shop:
    return Shop(unpack(args.out), args.out / "shop", free_ports(1)[0])
