"""A wiki whose server is tuned for the traffic that it gets: `niagara tune`."""
import subprocess
from pathlib import Path

import duels
from browser import browse, requests
from database import SERVER, Database, free_ports
from traffic import capture, kept_pages, tell
from wiki import Wiki, made_up, unpack

DONE = "tune"


def prepare(args, options: Path, backup: Path) -> None:
    """A wiki with traffic, its backup and its capture; then the tuning."""
    wiki = the_wiki(args)
    database = Database(args.out / "production", free_ports(1)[0])
    try:
        tell("a server, a wiki on it, and articles")
        database.create()
        database.start([options])
        wiki.install(database.port)
        titles = wiki.fill(args.articles, args.seed)
        wiki.serve()
        # Pages are parsed at the first request and kept; people come to a wiki that has been read before.
        seconds, pages = browse(wiki.port, requests(titles, args.articles, args.seed + 16))
        tell(f"{args.articles} articles; the wiki serves {pages / seconds:.1f} pages a second")
        database.back_up(backup)
        wanted = requests(titles, 300 * args.capture, args.seed + 17)
        recorded = capture(args.niagara, args.out / "wiki.capture", args.capture, database, wiki.port, wanted)
    finally:
        wiki.stop()
        database.stop()
    tell("tuning a private copy for the captured traffic")
    tuning = [args.niagara, "tune", SERVER, "--capture", recorded, "--data", backup, "--config", options,
              "--schema", "wiki", "--budget", args.budget, "--out", args.out / DONE]
    if subprocess.run(tuning).returncode:
        raise SystemExit("demo: the tuning ended with an error, see above")


def compared(args, options: Path, backup: Path) -> dict | None:
    """The wiki on the server as it was, and on the server as deployed, side by side; nothing where nothing is deployed."""
    deploy = args.out / DONE / "deploy"
    if not deploy.exists():
        return None
    files, environment, scheduling, by_socket = deployed(deploy)
    wiki = the_wiki(args)
    ports = free_ports(4)
    before, after = Database(args.out / "before", ports[0]), Database(args.out / "after", ports[1])
    wikis = [Wiki(wiki.root, args.out / f"wiki-{name}", port) for name, port in zip(["before", "after"], ports[2:])]

    def start(server: Database, served: Wiki, *how) -> None:
        server.copy_of(backup)
        server.start(*how)
        at = f"localhost:{server.socket}" if by_socket and server is after else f"127.0.0.1:{server.port}"
        served.settings_of(wiki, at)
        served.serve()

    stacks = [duels.Stack(before, wikis[0], lambda: start(before, wikis[0], [options])),
              duels.Stack(after, wikis[1], lambda: start(after, wikis[1], [options, *files], environment, scheduling))]
    titles, _ = made_up(args.articles, args.seed)
    tell("the wiki before and after, side by side")
    return duels.run(stacks, lambda count, seed: requests(titles, count, seed), args.duels, couples=6, batch=100, seed=args.seed, tell=tell,
                     keep=kept_pages(args.out))


def the_wiki(args) -> Wiki:
    return Wiki(unpack(args.out), args.out / "wiki", free_ports(1)[0])


def deployed(deploy: Path) -> tuple[list[Path], dict[str, str], str, bool]:
    """What `deploy/` says: option files, the environment and the scheduling of the unit, whether the application is to use the socket."""
    environment, scheduling = {}, "other"
    for unit in deploy.glob("*.conf"):
        for line in unit.read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "Environment":
                name, _, content = value.strip('"').partition("=")
                # Nothing is installed for the demonstration: the library is taken from where it was handed over.
                environment[name] = content.replace("/usr/lib/niagara/", f"{deploy}/")
            elif key == "CPUSchedulingPolicy":
                scheduling = value
            elif line and not line.startswith(("#", "[")) and key not in ("ExecStart",):
                tell(f"left out of the comparison, for systemd alone can do it: {line}")
    return sorted(deploy.glob("*.cnf")), environment, scheduling, "Unix socket" in (deploy / "README.md").read_text()
