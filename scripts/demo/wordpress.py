"""WordPress as Debian packages it: unpacked into a folder, installed over HTTP, filled by SQL, served by PHP."""
import http.client
import os
import random
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import urlencode

from browser import Request
from database import run
from wiki import Wiki

PACKAGES = ["wordpress", "wordpress-theme-twentytwentyone"]
WORKERS = 4
POSTS = 500
TERMS = 60
COMMENTS = 2000

SETTINGS = """\
<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', 'only-on-the-loopback');
define('DB_HOST', getenv('DB_HOST'));
define('DB_CHARSET', 'utf8mb4');
if (isset($_SERVER['HTTP_HOST'])) {
    define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
    define('WP_SITEURL', WP_HOME);
}
define('WP_DEFAULT_THEME', 'twentytwentyone');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('AUTH_KEY', 'a'); define('SECURE_AUTH_KEY', 'b'); define('LOGGED_IN_KEY', 'c'); define('NONCE_KEY', 'd');
define('AUTH_SALT', 'e'); define('SECURE_AUTH_SALT', 'f'); define('LOGGED_IN_SALT', 'g'); define('NONCE_SALT', 'h');
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
# One client writes all comments: WordPress lets an address write one in 15 seconds.
PLUGIN = "<?php add_filter('comment_flood_filter', '__return_false'); add_filter('pre_wp_mail', '__return_true');\n"


def unpack(folder: Path) -> Path:
    """Downloads the packages and unpacks WordPress beside the system, where no web server is installed or started."""
    root = folder / "wordpress"
    if (root / "index.php").exists():
        return root
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    run(["apt-get", "download", *PACKAGES], cwd=packages)
    for package in packages.glob("*.deb"):
        run(["dpkg-deb", "--extract", package, packages / "unpacked"])
    unpacked = packages / "unpacked/usr/share/wordpress"
    for theme in (packages / "unpacked/var/lib/wordpress/wp-content/themes").iterdir():
        shutil.move(theme, unpacked / "wp-content/themes" / theme.name)
    plugins = unpacked / "wp-content/mu-plugins"
    plugins.mkdir()
    (plugins / "comments.php").write_text(PLUGIN)
    shutil.move(unpacked, root)
    shutil.rmtree(packages)
    return root


class Blog(Wiki):
    """One blog on one database, served at one port of the loopback."""

    def __init__(self, root: Path, folder: Path, port: int):
        super().__init__(root, folder, port)
        # `127.0.0.1:3306`
        self.database_at = ""

    def install(self, database) -> None:
        """Writes the settings, serves it, and fills in the form of its installation."""
        self.database_at = f"127.0.0.1:{database.port}"
        self.folder.mkdir(parents=True, exist_ok=True)
        database.sql("CREATE DATABASE wordpress; CREATE USER wordpress@'%' IDENTIFIED BY 'only-on-the-loopback';"
                     "CREATE USER wordpress@localhost IDENTIFIED BY 'only-on-the-loopback'; GRANT ALL ON wordpress.* TO wordpress@'%';"
                     "GRANT ALL ON wordpress.* TO wordpress@localhost")
        (self.root / "wp-config.php").write_text(SETTINGS)
        self.serve()
        form = {"weblog_title": "Demonstration", "user_name": "writer", "admin_password": "only-on-the-loopback",
                "admin_password2": "only-on-the-loopback", "pw_weak": 1, "admin_email": "writer@localhost.example", "blog_public": 0}
        status, body = self._ask("POST", "/wp-admin/install.php?step=2", urlencode(form))
        if status != 200 or b"wp-login.php" not in body:
            raise SystemExit(f"WordPress was not installed ({status}): {body[-600:]!r}")

    def serve(self) -> None:
        """Starts PHP's web server and waits until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "php.log", "ab") as log:
            self.process = subprocess.Popen(
                ["php", "-d", "opcache.enable_cli=1", "-S", f"127.0.0.1:{self.port}", "-t", self.root], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True, env=os.environ | {"PHP_CLI_SERVER_WORKERS": str(WORKERS), "DB_HOST": self.database_at})
        until = time.monotonic() + 30
        while True:
            try:
                self._ask("GET", "/wp-admin/install.php")
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"WordPress does not answer ({error}): {self.folder / 'php.log'} has the reason")
                time.sleep(0.1)

    def fill(self, database, seed: int) -> list[str]:
        """Posts of made-up words with categories, tags and comments; returns the words."""
        words, statements = made_up(seed)
        database.sql(statements, "wordpress")
        return words

    def _ask(self, method: str, path: str, form: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, form, {"Content-Type": "application/x-www-form-urlencoded"} if form else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def rows(table: str, columns: str, values: list[str]) -> list[str]:
    """Statements that write these rows, a hundred each."""
    return [f"INSERT INTO {table} ({columns}) VALUES {','.join(values[at:at + 100])};" for at in range(0, len(values), 100)]


def made_up(seed: int) -> tuple[list[str], str]:
    """Words, and the statements that fill a fresh blog with posts of them."""
    draw = random.Random(seed)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = sorted({"".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(2000)})
    draw.shuffle(words)
    often = [1 / (rank + 1) for rank in range(len(words))]

    def text(count: int) -> str:
        return " ".join(draw.choices(words, often, k=count)).capitalize() + "."

    first, posts, metas, relations, counts = 1000, [], [], [], {}
    for number in range(first, first + POSTS):
        day = f"20{draw.randint(20, 23)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02} {draw.randint(0, 23):02}:{draw.randint(0, 59):02}:00"
        content = "".join(f"<!-- wp:paragraph --><p>{text(draw.randint(30, 120))}</p><!-- /wp:paragraph -->\\n\\n" for _ in range(draw.randint(2, 9)))
        posts.append(f"({number},1,'{day}','{day}','{content}','{text(4)}','','publish','open','open','post-{number}','','','{day}','{day}','',"
                     f"'http://127.0.0.1/?p={number}','post')")
        metas += [f"({number},'{name}','{draw.randint(1, 9999)}')" for name in ("_edit_last", "views", "rating")]
        for term in draw.sample(range(100, 100 + TERMS), 4):
            relations.append(f"({number},{term})")
            counts[term] = counts.get(term, 0) + 1
    terms, kinds = [], []
    for number in range(100, 100 + TERMS):
        terms.append(f"({number},'Subject {number}','subject-{number}')")
        kinds.append(f"({number},{number},'{'category' if number < 100 + TERMS // 2 else 'post_tag'}','',0,{counts.get(number, 0)})")
    comments = [f"({draw.randint(first, first + POSTS - 1)},'{draw.choice(words)}','{draw.choice(words)}@localhost.example','2024-01-01 00:00:00',"
                f"'2024-01-01 00:00:00','{text(draw.randint(5, 60))}','1','comment')" for _ in range(COMMENTS)]
    lines = ["SET sql_mode = '';"]
    lines += rows("wp_posts", "ID,post_author,post_date,post_date_gmt,post_content,post_title,post_excerpt,post_status,comment_status,ping_status,"
                  "post_name,to_ping,pinged,post_modified,post_modified_gmt,post_content_filtered,guid,post_type", posts)
    lines += rows("wp_postmeta", "post_id,meta_key,meta_value", metas)
    lines += rows("wp_terms", "term_id,name,slug", terms)
    lines += rows("wp_term_taxonomy", "term_taxonomy_id,term_id,taxonomy,description,parent,count", kinds)
    lines += rows("wp_term_relationships", "object_id,term_taxonomy_id", relations)
    lines += rows("wp_comments", "comment_post_ID,comment_author,comment_author_email,comment_date,comment_date_gmt,comment_content,"
                  "comment_approved,comment_type", comments)
    lines.append("UPDATE wp_posts SET comment_count = (SELECT COUNT(*) FROM wp_comments WHERE comment_post_ID = ID);")
    lines.append("UPDATE wp_options SET option_value = '0' WHERE option_name IN ('comment_moderation', 'comment_previously_approved');")
    # Addresses as they are asked for: `/?p=1000`, without redirection.
    lines.append("UPDATE wp_options SET option_value = '' WHERE option_name IN ('permalink_structure', 'rewrite_rules');")
    return words, "\n".join(lines)


def requests(words: list[str], count: int, seed: int, writes: bool) -> list[Request]:
    """What people ask a blog for: posts and lists of them, searches; with `writes` every fifth writes a comment and as many search."""
    draw = random.Random(seed)
    popularity = [1 / (rank + 10) for rank in range(POSTS)]

    def post() -> int:
        return 1000 + draw.choices(range(POSTS), popularity)[0]

    def comment() -> Request:
        form = {"comment": f"{' '.join(draw.choices(words, k=20))} {draw.random()}", "author": draw.choice(words),
                "email": f"{draw.choice(words)}@localhost.example", "comment_post_ID": post(), "comment_parent": 0}
        return Request("/wp-comments-post.php", urlencode(form))

    kinds = [
        (45, lambda: Request(f"/?p={post()}")),
        (12, lambda: Request("/")),
        (8, lambda: Request(f"/?paged={draw.randint(2, 20)}")),
        (10, lambda: Request(f"/?cat={draw.randint(100, 99 + TERMS // 2)}")),
        (6, lambda: Request(f"/?tag=subject-{draw.randint(100 + TERMS // 2, 99 + TERMS)}")),
        (6, lambda: Request(f"/?m=20{draw.randint(20, 23)}{draw.randint(1, 12):02}")),
        (25 if writes else 7, lambda: Request(f"/?s={draw.choice(words)}")),
        (4, lambda: Request("/?feed=rss2")),
    ]
    if writes:
        kinds.append((25, comment))
    weights = [weight for weight, _ in kinds]
    return [draw.choices(kinds, weights)[0][1]() for _ in range(count)]
