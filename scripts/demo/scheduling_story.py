"""A shop whose server runs under batch scheduling, PHP on the same CPUs: does a page wait longer for it?"""
from pathlib import Path

import duels
from database import Database, free_ports
from index_story import WORDS, back_up, running_shop, the_shop
from shop import Shop, requests
from traffic import kept_pages, tell

DONE = "scheduling"
# What `niagara advise` finds for this shop: without it most of the time is one statement's.
INDEX = "ALTER TABLE wp_postmeta ADD INDEX niagara_meta_value (meta_value(8))"
# A server that has run for a while knows its tables; one that is backed up seconds after they were filled does not.
STATISTICS = "ANALYZE TABLE wp_posts, wp_postmeta, wp_terms, wp_term_taxonomy, wp_term_relationships, wp_comments, wp_options"


def prepare(args, options: Path, backup: Path) -> None:
    """A shop with the index that it needs, and its backup."""
    with running_shop(args, options) as (shop, database, words):
        database.sql(f"{INDEX}; {STATISTICS}", "wordpress")
        back_up(args, shop, database, words, backup)
    (args.out / DONE).touch()


def compared(args, options: Path, backup: Path) -> dict:
    """The shop over the Unix socket, its server scheduled as usual and by SCHED_BATCH, side by side."""
    shop = the_shop(args)
    words = (args.out / WORDS).read_text().splitlines()
    ports = free_ports(4)
    servers = [Database(args.out / name, port) for name, port in zip(["before", "after"], ports)]
    shops = [shop.beside(args.out / f"shop-{server.folder.name}", port, f"localhost:{server.socket}")
             for port, server in zip(ports[2:], servers)]

    def stack(server: Database, served: Shop, scheduling: str) -> duels.Stack:
        def start() -> None:
            server.copy_of(backup)
            server.start([options], scheduling=scheduling)
            served.serve()

        return duels.Stack(server, served, start)

    stacks = [stack(server, served, scheduling) for server, served, scheduling in zip(servers, shops, ["other", "batch"])]
    tell("the shop with and without batch scheduling, side by side")
    return duels.run(stacks, lambda count, seed: requests(words, count, seed), args.duels, couples=6, batch=100, seed=args.seed, tell=tell,
                     keep=kept_pages(args.out))
