"""MediaWiki as Debian packages it: unpacked into a folder, installed into a database, filled, and served by PHP."""
import os
import random
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from xml.sax.saxutils import escape

from database import run

PACKAGES = ["mediawiki", "mediawiki-classes"]
WORDS = 4000
CATEGORIES = 60
# Several processes answer, as they would under php-fpm.
WORKERS = 8


def unpack(folder: Path) -> Path:
    """Downloads the packages and unpacks MediaWiki beside the system, where no web server is installed or started."""
    root = folder / "mediawiki"
    if (root / "index.php").exists():
        return root
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    run(["apt-get", "download", *PACKAGES], cwd=packages)
    for package in packages.glob("*.deb"):
        run(["dpkg-deb", "--extract", package, packages / "unpacked"])
    unpacked = packages / "unpacked/usr/share/mediawiki"
    # These lead to /etc and /var/lib, where the package would have its files.
    for link in ["LocalSettings.php", "config", "extensions", "images"]:
        (unpacked / link).unlink()
    (unpacked / "extensions").symlink_to("extensions-core")
    for name in ["images", "cache"]:
        (unpacked / name).mkdir()
    # Last: what is there is whole.
    shutil.move(unpacked, root)
    shutil.rmtree(packages)
    return root


class Wiki:
    """One wiki, on one database, served at one port of the loopback."""

    def __init__(self, root: Path, folder: Path, port: int):
        self.root, self.folder, self.port = root, folder, port
        self.settings = folder / "LocalSettings.php"
        self.process: subprocess.Popen | None = None

    def install(self, database_port: int) -> None:
        """Makes the tables and the settings."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._php("maintenance/install.php", "--dbtype", "mysql", "--dbserver", f"127.0.0.1:{database_port}", "--dbname", "wiki",
                  "--dbuser", "wiki", "--dbpass", "only-on-the-loopback", "--installdbuser", "root", "--installdbpass", "",
                  "--pass", "only-on-the-loopback", "--scriptpath", "", "--server", f"http://127.0.0.1:{self.port}",
                  "--confpath", self.folder, "Demonstration", "Admin")
        # The browsing client is one address: limits by address are not what is measured. Messages come from files, as the manual advises.
        with open(self.settings, "a") as settings:
            settings.write("$wgRateLimits = [];\n$wgCacheDirectory = \"$IP/cache\";\n")

    def settings_of(self, other: "Wiki", server: str) -> None:
        """The settings of another wiki, with this address of the database (`127.0.0.1:3306`, `localhost:/path/of/socket`)."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for line in other.settings.read_text().splitlines():
            if line.startswith("$wgDBserver"):
                line = f'$wgDBserver = "{server}";'
            if line.startswith("$wgServer "):
                line = f'$wgServer = "http://127.0.0.1:{self.port}";'
            lines.append(line)
        self.settings.write_text("\n".join(lines) + "\n")

    def fill(self, articles: int, seed: int) -> list[str]:
        """Writes articles of made-up words that link to each other; returns their titles, the most read first."""
        titles, dump = made_up(articles, seed)
        file = self.folder / "articles.xml"
        file.write_text(dump)
        for script in [["importDump.php", file], ["rebuildrecentchanges.php"], ["initSiteStats.php", "--update"], ["runJobs.php"]]:
            self._php(f"maintenance/{script[0]}", "--conf", self.settings, *script[1:])
        return titles

    def serve(self) -> None:
        """Starts PHP's web server and waits until the main page is there."""
        with open(self.folder / "php.log", "ab") as log:
            self.process = subprocess.Popen(
                ["php", "-d", "opcache.enable_cli=1", "-d", "opcache.interned_strings_buffer=16", "-S", f"127.0.0.1:{self.port}",
                 "-t", self.root], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                env=os.environ | {"PHP_CLI_SERVER_WORKERS": str(WORKERS), "MW_CONFIG_FILE": str(self.settings)})
        until = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/index.php?title=Main_Page", timeout=10) as answer:
                    answer.read()
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"demo: the wiki does not answer ({error}): {self.folder / 'php.log'} has the reason")
                time.sleep(0.1)

    def freeze(self) -> None:
        """Stops all of PHP's processes until `thaw`."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets them run again."""
        os.killpg(self.process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Ends PHP's web server with its workers."""
        if self.process is not None:
            try:
                self.thaw()
                os.killpg(self.process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None

    def _php(self, script: str, *arguments) -> None:
        done = subprocess.run(["php", self.root / script, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"demo: php {script} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def made_up(articles: int, seed: int) -> tuple[list[str], str]:
    """Titles, and an XML dump of articles of 1 to 12 kB with sections, links, categories and a template."""
    draw = random.Random(seed)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = sorted({"".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(WORDS)})
    draw.shuffle(words)
    often = [1 / (rank + 1) for rank in range(len(words))]
    titles = [f"{draw.choice(words).capitalize()} {draw.choice(words)} {number}" for number in range(articles)]
    read = [1 / (rank + 10) for rank in range(articles)]

    def article() -> str:
        parts = ["{{Facts|name=" + draw.choice(words) + "|size=" + str(draw.randint(1, 9999)) + "}}"]
        for _ in range(draw.randint(2, 8)):
            parts.append(f"== {draw.choice(words).capitalize()} ==")
            for _ in range(draw.randint(1, 3)):
                text = draw.choices(words, often, k=draw.randint(40, 160))
                for at in draw.sample(range(len(text)), k=3):
                    text[at] = f"[[{draw.choices(titles, read)[0]}|{text[at]}]]"
                parts.append(" ".join(text).capitalize() + ".")
        parts += [f"[[Category:Subject {draw.randint(1, CATEGORIES)}]]" for _ in range(3)]
        return "\n\n".join(parts)

    def page(title: str, text: str) -> str:
        return (f"<page><title>{escape(title)}</title><ns>{10 if title.startswith('Template:') else 0}</ns><revision>"
                f"<timestamp>2024-01-01T00:00:00Z</timestamp><contributor><username>Writer</username></contributor>"
                f"<model>wikitext</model><format>text/x-wiki</format><text xml:space=\"preserve\">{escape(text)}</text></revision></page>")

    template = page("Template:Facts", "{| class=\"infobox\"\n! Name\n| {{{name}}}\n|-\n! Size\n| {{{size}}}\n|}")
    pages = [template] + [page(title, article()) for title in titles]
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
    return titles, head + "\n".join(pages) + "</mediawiki>\n"
