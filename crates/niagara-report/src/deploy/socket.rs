//! How an application is told to connect through the Unix socket, and how that is checked and undone.

use super::{DeployInput, plugins};
use crate::applying::scheduler_in_short;

/// What stands first where nothing else is to be done.
pub(super) const ALONE: &str = "**Nothing is installed on the server, and nothing restarts.** Change one line in the application: how it \
    connects. If the application uses the server's Unix socket already, you have this gain: stop here. In `SHOW PROCESSLIST` its `Host` is \
    then `localhost` without a port.\n\n";

/// What takes it back where nothing else is to be done.
const UNDO: &str = "Put the old host and port (as `127.0.0.1` and 3306) back into that line, and reload the application. The server \
    needs no restart. If the site shows a database error, restore the copy of the application's file. An account that was made for it goes by `DROP USER 'NAME'@'localhost'`.";

/// Where the path stands, and the line, for Debian's and Ubuntu's path.
const LINES: [(&str, &str); 12] = [
    (
        "WordPress, wp-config.php",
        "`define('DB_HOST', 'localhost');`, or, where PHP does not find the socket by itself, `'localhost:/run/mysqld/mysqld.sock'`",
    ),
    (
        "PHP with mysqli, php.ini (the host is `localhost`)",
        "`mysqli.default_socket = /run/mysqld/mysqld.sock`",
    ),
    (
        "PHP with PDO",
        "`new PDO('mysql:unix_socket=/run/mysqld/mysqld.sock;dbname=NAME', …)`",
    ),
    ("Laravel, .env", "`DB_SOCKET=/run/mysqld/mysqld.sock`"),
    (
        "Symfony, Shopware, .env",
        "`DATABASE_URL=\"mysql://NAME:PASSWORD@localhost/DATABASE?unix_socket=/run/mysqld/mysqld.sock\"`",
    ),
    (
        "Python (PyMySQL, mysqlclient, Connector/Python)",
        "`unix_socket=\"/run/mysqld/mysqld.sock\"`",
    ),
    (
        "Django, settings",
        "`\"HOST\": \"/run/mysqld/mysqld.sock\"`",
    ),
    (
        "Node.js (mysql2, mariadb)",
        "`socketPath: \"/run/mysqld/mysqld.sock\"`",
    ),
    (
        "Java, MariaDB's driver with the JNA library",
        "`jdbc:mariadb://localhost/NAME?localSocket=/run/mysqld/mysqld.sock`",
    ),
    (
        "Java, MySQL's Connector/J, which needs a library with a socket factory, such as junixsocket",
        "`socketFactory=org.newsclub.net.mysql.AFUNIXDatabaseSocketFactory&junixsocket.file=/run/mysqld/mysqld.sock`",
    ),
    (
        "Programs on the C client library",
        "the host `localhost` is the socket to most of them, `127.0.0.1` is TCP to all",
    ),
    (
        "In a container",
        "the socket's folder as a volume, `-v /run/mysqld:/run/mysqld`, and a line from above",
    ),
];

/// What to do, step by step.
pub(super) fn steps(input: &DeployInput) -> String {
    // It comes before a built server, which alone may need another account.
    let client = plugins::packaged(input);
    let program = input.program();
    let lines: String = LINES
        .iter()
        .map(|(place, line)| format!("   - {place}: {line}\n"))
        .collect();
    let others = match input.is_socket_alone() {
        true => "gain nothing",
        false => {
            "gain only what the other changes bring, which was not proven over TCP (`niagara tune --app remote` measures it)"
        }
    };
    format!(
        "The socket's gain comes only to applications on the server's machine that connect through it. Others continue over TCP and \
         {others}. This part restarts no server.\n\n\
         1. The account NAME that the application uses (WordPress: `DB_USER`). Over the socket it comes from `localhost`: \
         NAME@localhost or NAME@% works, one for `127.0.0.1` or another host alone is refused. One with `REQUIRE SSL` needs a client \
         that encrypts over the socket, too.\n   \
         ```sh\n   {client} -e 'SELECT user, host, ssl_type FROM mysql.user'\n   ```\n   \
         If NAME@localhost is missing, create it; NAME@% suffices where no account at `localhost` has an empty name. \
         In `{client}`, with the application's password: `CREATE USER 'NAME'@'localhost' IDENTIFIED BY 'PASSWORD';`. Then execute each \
         line that `SHOW GRANTS FOR 'NAME'@'HOST';` prints (HOST: the old account's), with `localhost` for HOST and `;` behind it. This has to \
         print 1: `{program} -h localhost -u NAME -p -e 'SELECT 1'`.\n\
         2. The socket's path. Debian's and Ubuntu's packages have /run/mysqld/mysqld.sock:\n   \
         ```sh\n   {client} -N -B -e 'SELECT @@socket'\n   ```\n\
         3. Keep a copy of the application's file, outside of the folder that the web server shows. Then write that path into the \
         file, in place of host and port:\n\n{lines}\
         4. Reload the application. PHP-FPM on Debian and Ubuntu: `sudo systemctl reload 'php*-fpm.service'`; others: their own \
         server.\n\
         5. Open a page of the site, and ask for the list of processes above again, until the application's row shows. Its `Host` has to \
         be `localhost`, without a port. If the site shows a database error, restore the copy.\n"
    )
}

/// Whether the application uses it.
pub(super) fn is_used(input: &DeployInput) -> String {
    format!(
        "Does the application use the socket? The column `Host` says it: `localhost` alone is the socket, `localhost:51734` or \
         `127.0.0.1:51734` is TCP. Your own {} shows as `localhost`, too. PHP's connections last milliseconds: repeat it, or look at \
         `DB_HOST`.\n\n```sh\n{} -e 'SHOW PROCESSLIST'\n```\n",
        input.client(),
        plugins::packaged(input)
    )
}

/// Everything from "Apply" on, where nothing else is to be done.
pub(super) fn sections_alone(input: &DeployInput) -> String {
    let notes = input.variant.application.iter();
    let notes: String = notes.map(|note| format!("{note}\n\n")).collect();
    format!(
        "## Apply\n\n{}\n{}\n{notes}## Check\n\n{}\n\
         {}\n## Undo\n\n{UNDO}\n",
        figures_before(input),
        steps(input),
        is_used(input),
        how_much(input)
    )
}

/// What has to be noted before anything is changed, for [`how_much`].
pub(super) fn figures_before(input: &DeployInput) -> String {
    let (socket, socket_is) = match input.own_place() {
        None => ("/run/mysqld/mysqld.sock", ""),
        Some(_) => ("SOCKET", " (SOCKET: what `SELECT @@socket` prints)"),
    };
    format!(
        "On a day before you change anything, in the hour in which pages are slow, note twice what this prints, at the beginning and at the \
         end of that hour: the server's CPU seconds and its statements, both since its start. \"Check\" compares them with those of later.\n\n{}\nNote some pages' times in that hour, too, eleven each, with their URLs: \
         `for i in $(seq 11); do curl -so /dev/null -w '%{{time_total}}\\n' URL; done | sort -n` (the sixth is the middle). Choose pages that no cache answers, such as a search. For a comparison by statement make a capture, with Niagara installed there, outside of that hour: `sudo niagara capture start \
         --socket {socket} --for 10m --output a.capture`{socket_is}. It holds customers' data: delete it once it was compared.\n",
        figures(input, &plugins::packaged(input))
    )
}

/// The commands that print them.
fn figures(input: &DeployInput, client: &str) -> String {
    format!(
        "```sh\nps -o cputimes= -p $(pidof -s {})\n{client} -N -B -e \"SHOW GLOBAL STATUS LIKE 'Questions'\"\n```\n",
        input.daemon(),
    )
}

/// How the gain is seen on the live server.
pub(super) fn how_much(input: &DeployInput) -> String {
    let client = plugins::administrator(input);
    // A built server may need another account than the one that was there.
    let again = match client == plugins::packaged(input) {
        true => String::new(),
        false => format!("{}\n", figures(input, &client)),
    };
    format!(
        "How much it helps: note CPU seconds and statements twice again, as before the change, at the same time of day. The CPU \
         seconds added, divided by the statements added, are the CPU time per statement.\n\n{again}{}Days differ by several per \
         cent: a change of less than 5 % shows no gain, and nothing then outweighs the risks: undo it{}. Only the database's share of a page's time gets shorter. CPU time does not show waiting: take the pages' times again, at that hour. Where the middle one is 10 % longer on two days, undo \
         it; the slowest of eleven differ by themselves. With a second \
         capture, `niagara compare --before a.capture --after b.capture` compares statement by statement{}.\n",
        expected(input),
        match input.variant.brings_socket() && !input.is_socket_alone() {
            true => " (the socket may stay)",
            false => "",
        },
        match input.brings_pool() {
            true => "; what waits in the pool's queue is in no log, nor in Threads_running",
            false => "",
        }
    )
}

/// What the figures after over those before should come to.
fn expected(input: &DeployInput) -> String {
    let Some(cpu) = &input.cpu else {
        return String::new();
    };
    let in_use = match (&input.cpu_over_socket, input.variant.brings_socket()) {
        (Some(cpu), true) => format!(" If the application used the socket before: {cpu}."),
        (None, true) => " If the application used the socket before, expect less.".to_owned(),
        (_, false) => String::new(),
    };
    let with_socket = match input.variant.brings_socket() && !input.is_socket_alone() {
        true => ", the socket's part included",
        false => "",
    };
    let alone = input.socket_alone_cpu.as_ref();
    let alone = alone.filter(|_| !with_socket.is_empty());
    let alone = alone.map_or(String::new(), |cpu| format!(" By the socket alone: {cpu}."));
    let in_use = match scheduler_in_short(&input.variant) {
        Some(_) => format!("{in_use} Without batch scheduling it was not measured."),
        None => in_use,
    };
    format!(
        "The measurement had, CPU time per transaction after over before: {cpu}{with_socket}; production will differ.{alone}{in_use} "
    )
}
