//! What servers, collectors and operators do to logs, a few inputs for each kind.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{import_all, options};
use niagara_capture::client::{ClientsOfUser, Knowledge};
use niagara_capture::dropped::Cause;
use niagara_capture::file::Summary;
use niagara_capture::trace::{CompileOptions, compile};
use niagara_capture::{CaptureError, Import, import};

/// What came of a log: the summary, and its events as lines.
struct Made {
    summary: Summary,
    lines: Vec<String>,
    /// The texts of its digests.
    digests: Vec<String>,
    _folder: tempfile::TempDir,
}

fn made(log: impl AsRef<[u8]>) -> Made {
    made_of(log, Vec::new()).unwrap()
}

fn made_of(log: impl AsRef<[u8]>, clients: Vec<ClientsOfUser>) -> Result<Made, CaptureError> {
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (folder.path().join("x.log"), folder.path().join("x.capture"));
    std::fs::write(&path, log).unwrap();
    let job = Import {
        files: vec![path],
        read: options(),
        output: output.clone(),
        replace: true,
        counted: None,
        stored: None,
        clients,
    };
    let summary = import(&job, &std::sync::atomic::AtomicBool::new(false), |_| {})?;
    Ok(Made {
        summary,
        lines: common::lines(&output),
        digests: common::digests(&output),
        _folder: folder,
    })
}

impl Made {
    fn has(&self, text: &str) -> bool {
        self.lines.iter().any(|line| line.contains(text))
    }

    fn dropped(&self, cause: Cause) -> u64 {
        self.summary.dropped.count(cause)
    }

    fn clients(&self) -> String {
        let shown = |one: &ClientsOfUser| {
            let user = one.user.as_deref().unwrap_or("*");
            format!(
                "{user}: {} {:?} {}",
                one.settings, one.known, one.statements
            )
        };
        let shown: Vec<String> = self.summary.clients.iter().map(shown).collect();
        shown.join("; ")
    }
}

/// An entry of Percona Server that ended `end_ms` after the hour and took `ms`; `more` is a further line of its header.
fn percona(end_ms: u64, ms: u64, more: &str, text: &str) -> String {
    let (second, rest) = (end_ms / 1000, end_ms % 1000);
    let more = match more {
        "" => String::new(),
        more => format!("{more}\n"),
    };
    format!(
        "# Time: 2026-11-20T08:00:{second:02}.{rest:03}000Z\n# User@Host: app[app] @ web [10.1.1.5]  Id:    11\n\
         # Schema: shop  Last_errno: 0  Killed: 0\n# Query_time: {}.{:03}000  Lock_time: 0.000003  Rows_sent: 1  Rows_examined: 1  \
         Rows_affected: 0  Bytes_sent: 60\n{more}SET timestamp={};\n{text};\n",
        ms / 1000,
        ms % 1000,
        1_795_161_600 + second
    )
}

/// An entry of MySQL.
fn mysql(second: u64, before: &str, text: &str) -> String {
    format!(
        "# Time: 2026-11-20T08:00:{second:02}.000000Z\n# User@Host: app[app] @ web [10.1.1.5]  Id:    11\n\
         # Query_time: 0.000400  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 1\n{before}SET timestamp={};\n{text};\n",
        1_795_161_600 + second
    )
}

#[test]
fn statements_whose_caller_is_logged_are_dropped() {
    let routine = "# Stored_routine: shop.f";
    for (caller, class) in [
        ("CALL f(7)", "a procedure"),
        ("SELECT shop.F(7)", "a function"),
        ("INSERT INTO t VALUES (1)", "a trigger, which is not named"),
        ("CALL other()", "one within another"),
    ] {
        let log = percona(100, 10, routine, "UPDATE a SET b = 1")
            + &percona(120, 5, routine, "DELETE FROM a")
            + &percona(150, 90, "", caller);
        let made = made(log);
        assert_eq!(made.dropped(Cause::Routine), 2, "{class}");
        assert_eq!(made.lines.len(), 1, "{class}: {:#?}", made.lines);
    }
}

#[test]
fn statements_whose_caller_is_not_logged_are_kept() {
    let routine = "# Stored_routine: shop.f";
    for (next, why) in [
        ("SELECT 1", "it calls nothing"),
        ("SELECT f(7)", "it began later"),
        ("INSERT INTO t VALUES (1)", "it began later"),
    ] {
        let log = percona(100, 10, routine, "UPDATE a SET b = 1")
            + &percona(120, 5, routine, "DELETE FROM a")
            + &percona(150, 10, "", next);
        let made = made(log);
        assert_eq!(
            (made.dropped(Cause::Routine), made.lines.len()),
            (0, 3),
            "{why}"
        );
    }
    // What the routine alone can run is a loss.
    let log =
        percona(100, 10, routine, "SELECT a INTO n FROM t") + &percona(150, 10, "", "SELECT 1");
    let made = made(log);
    assert_eq!(made.dropped(Cause::RoutineVariables), 1);
    assert_eq!(made.summary.loss().pieces, 1);
}

#[test]
fn general_logs_lose_what_shows_to_be_of_routines() {
    let log = "2026-11-20T08:00:01.000000Z\t    7 Query\tinsert into o values(1)\n\
        2026-11-20T08:00:01.000100Z\t    7 Query\tinsert into audit values(NEW.id)\n\
        2026-11-20T08:00:01.000200Z\t    7 Query\tupdate s set n = n + NAME_CONST('c',7)\n\
        2026-11-20T08:00:01.000300Z\t    7 Query\tselect sum(a) into total from o\n\
        2026-11-20T08:00:01.000400Z\t    7 Query\tselect a into @a from o\n";
    let made = made(log);
    assert_eq!((made.dropped(Cause::Routine), made.lines.len()), (3, 2));
}

#[test]
fn headers_with_unknown_lines_are_headers() {
    for (line, count) in [
        ("  Tmp_tables: 1  Tmp_disk_tables: 2", 1),
        ("# Some_new_field: 7", 1),
        (
            "# Warnings\n#   Level Code Message\n#   Warning 1292 Truncated\nincorrect 'x\nvalue",
            2,
        ),
        ("#", 0),
        ("# No InnoDB statistics available for this query", 0),
    ] {
        let made = made(percona(1000, 1, line, "SELECT 1") + &percona(2000, 1, "", "SELECT 2"));
        assert_eq!(made.lines.len(), 2, "{line}: {:#?}", made.lines);
        assert_eq!(made.dropped(Cause::UnknownHeaderLine), count, "{line}");
        assert_eq!(made.summary.loss().pieces, 0, "{line}");
    }
}

#[test]
fn the_database_of_entries_that_are_not_kept_counts() {
    for entry in [
        mysql(1, "use shop;\n", "# administrator command: Prepare"),
        mysql(1, "use shop;\n", "# administrator command: Close stmt"),
        mysql(1, "use shop;\n", "# administrator command: Binlog Dump"),
        mysql(
            1,
            "use shop;\n",
            "throttle:          5 'index not used' warning(s) suppressed.",
        ),
        mysql(1, "use shop;\n", "/* nothing */"),
        // One that was cut.
        mysql(1, "use shop;\n", "SELECT a FR").replace("FR;\n", "FR"),
        mysql(1, "use shop;\n", "SELECT 'a FR").replace("FR;\n", "FR\n"),
    ] {
        let text: String = (2..9)
            .map(|second| mysql(second, "", "SELECT 'x'"))
            .collect();
        let made = made(entry.clone() + &text);
        assert_eq!(made.lines.len(), 7, "{entry}: {:#?}", made.lines);
        assert!(
            made.lines.iter().all(|line| line.contains("d=shop")),
            "{entry}: {:#?}",
            made.lines
        );
    }
}

#[test]
fn what_stands_between_entries_is_counted() {
    let (first, second) = (mysql(1, "", "SELECT 'it''s'"), mysql(2, "", "SELECT 2"));
    let banner = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
        Tcp port: 3306  Unix socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n";
    for (between, cause, is_loss) in [
        ("somebody's note\n", Cause::StrayLines, true),
        (
            "2026-11-20T08:00:01.5Z 0 [Note] can't open \"x\n",
            Cause::StrayLines,
            true,
        ),
        (
            "# Query_time: 1.0  Lock_time: 0.0\nSET timestamp=1795161601;\nselect 'lost';\n",
            Cause::StrayLines,
            true,
        ),
        (
            "# User@Host: app[app] @ web [10.0",
            Cause::BrokenHeader,
            true,
        ),
        ("# rotated by logrotate\n-- x\n", Cause::CommentLines, false),
        ("\0\0\0\0", Cause::Blank, false),
    ] {
        let made = made(first.clone() + between + &second);
        assert_eq!(made.lines.len(), 2, "{between}: {:#?}", made.lines);
        assert_eq!(
            made.dropped(cause),
            1,
            "{between}: {:?}",
            made.summary.dropped
        );
        assert_eq!(made.summary.loss().pieces > 0, is_loss, "{between}");
    }
    let cut = mysql(3, "", "SELECT 'in the middle, b FROM t");
    let cut = cut.trim_end_matches(['t', ';', '\n']);
    for between in ["", "\n", "\0\0", banner] {
        let made = made(first.clone() + cut + between + &second + &first + &second + &first);
        assert_eq!(made.lines.len(), 5, "{between}: {:#?}", made.lines);
        assert!(!made.has("middle"), "{:#?}", made.lines);
        assert_eq!(
            made.dropped(Cause::CutEntry),
            1,
            "{between}: {:?}",
            made.summary.dropped
        );
    }
}

#[test]
fn character_sets_are_inferred_from_literals() {
    let session = |texts: &[&[u8]]| -> Vec<u8> {
        let mut log = Vec::new();
        for (second, text) in texts.iter().enumerate() {
            let entry = mysql(second as u64, "", "@");
            let at = entry.find('@').unwrap();
            let at = at + entry[at..].rfind('@').unwrap();
            log.extend_from_slice(&entry.as_bytes()[..at]);
            log.extend_from_slice(text);
            log.extend_from_slice(b";\n");
        }
        log
    };
    let told = |texts: &[&[u8]]| {
        let made = made(session(texts));
        (made.clients(), made.summary.unknown_charsets.join(","))
    };
    let latin1 = b"INSERT INTO p VALUES ('caf\xe9')";
    let utf8 = "INSERT INTO p VALUES ('caf\u{e9}')".as_bytes();
    let nothing = (String::new(), String::new());
    assert_eq!(
        told(&[latin1, b"SELECT 1"]),
        ("app: charset=latin1 Inferred 1".to_owned(), String::new())
    );
    assert_eq!(told(&[utf8]), nothing);
    assert_eq!(told(&[b"SET NAMES latin1", latin1]), nothing);
    assert_eq!(told(&[b"INSERT INTO p VALUES (_binary'caf\xe9')"]), nothing);
    assert_eq!(
        told(&[b"INSERT INTO p VALUES ('\xff\xd8\x01\xe9')"]),
        nothing
    );
    let unknown = (String::new(), "app".to_owned());
    assert_eq!(
        told(&[b"INSERT INTO p VALUES ('\xc4\xe3\xba\xc3')"]),
        unknown
    );
    assert_eq!(told(&[latin1, utf8]), unknown);
}

#[test]
fn what_was_said_of_clients_is_replayed() {
    let log = "2026-11-20T08:00:01.000000Z\t    7 Connect\tweb@h on shop using TCP/IP\n\
        2026-11-20T08:00:01.000100Z\t    7 Query\tselect 1; select 2\n";
    let inferred = made(log);
    assert_eq!(inferred.clients(), "web: flags=multi_statements Inferred 1");
    let given = |user: Option<&str>, settings: &str| ClientsOfUser {
        user: user.map(str::to_owned),
        settings: settings.parse().unwrap(),
        known: Knowledge::Given,
        statements: 0,
    };
    let clients = vec![
        given(Some("web"), "flags=none"),
        given(None, "charset=latin1"),
    ];
    let made = made_of(log, clients).unwrap();
    let path = made._folder.path().join("x.capture");
    // Without the flag there is nothing that can be replayed.
    assert!(compile(&path, CompileOptions::default()).is_err());
    let path = inferred._folder.path().join("x.capture");
    let trace = compile(&path, CompileOptions::default()).unwrap();
    assert_eq!(trace.facts.statements, 1);
    assert_eq!(trace.client(0).to_string(), "flags=multi_statements");
}

#[test]
fn recorded_logins_say_what_was_negotiated() {
    for (name, wanted) in [
        ("found-rows.pcap", "found_rows"),
        ("latin1.pcap", "charset=latin1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.capture");
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/recordings")
            .join(name);
        import_all(&[path], &output).unwrap();
        let trace = compile(&output, CompileOptions::default()).unwrap();
        let client = trace.client(0).to_string();
        assert!(client.contains(wanted), "{name}: {client}");
    }
}

#[test]
fn samples_of_sessions_are_whole() {
    let line = "# Log_slow_rate_type: session  Log_slow_rate_limit: 100";
    let made = made(percona(1000, 1, line, "SELECT 1"));
    assert_eq!(
        (made.summary.sampled, made.summary.sampled_sessions),
        (1, 100)
    );
}

#[test]
fn a_log_without_any_time_is_read() {
    let log = "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:\n\
        Tcp port: 34011  Unix socket: /srv/db/s\nTime\t\t    Id Command\tArgument\n\
        \t\t   105 Connect\troot@localhost on gl using Socket\n\t\t   105 Query\tselect 1\n";
    let made = made(log);
    assert_eq!(made.lines.len(), 2);
    assert!(!made.summary.sources[0].has_times);
    assert!(made.summary.first_us.unwrap() > 1_700_000_000_000_000);
}

/// All that was dropped.
fn dropped_in_all(made: &Made) -> u64 {
    made.summary
        .dropped
        .by_cause()
        .map(|(_, drops)| drops.count)
        .sum()
}

/// Files that are no log, with what they resemble.
#[test]
fn a_file_that_resembles_a_log_is_refused_by_its_name() {
    for (text, words) in [
        (
            "# Time: 071015 21:43:52\n# User@Host: app[app] @ web []\n# Query_time: 2  Lock_time: 0  Rows_sent: 1\nSELECT 1;\n",
            "no line SET timestamp",
        ),
        (
            "# Query_time: 0.5\n# Digest: 50a2\nSELECT 1;\n",
            "no line SET timestamp",
        ),
        (
            "051007 21:55:24     42 Connect     app@web on shop\n                    42 Query       SELECT 1\n",
            "blanks for tabs",
        ),
        ("a shopping list\n42 eggs\n", "none of its first"),
    ] {
        let Err(error) = made_of(text, Vec::new()) else {
            panic!("read: {text}");
        };
        let said = error.explanation();
        assert!(said.cause.contains(words), "{said}");
        assert_eq!(said.remedies.len(), 1, "{said}");
    }
}

#[test]
fn a_banner_may_name_its_program_by_a_relative_path() {
    for program in ["bin/mysqld", "./sql/mariadbd", "../8.0/bin/mysqld"] {
        let banner = format!(
            "{program}, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
             Tcp port: 3306  Unix socket: (null)\nTime                 Id Command    Argument\n"
        );
        let log = banner.clone() + &mysql(1, "", "SELECT 1") + &banner + &mysql(2, "", "SELECT 2");
        let made = made(log);
        assert_eq!(made.lines.len(), 2, "{program}: {:#?}", made.lines);
        assert_eq!(dropped_in_all(&made), 0, "{program}");
    }
}

/// A general log of the first releases of MySQL 5.7, which write no tab behind the time.
#[test]
fn general_logs_without_a_tab_behind_the_time_are_read() {
    let banner = "/usr/sbin/mysqld, Version: 5.7.12-log (MySQL Community Server (GPL)). started with:\n\
                  Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n";
    for (zone, threads) in [
        ("Z", [3, 4]),
        ("Z", [99_998, 123_456]),
        ("+01:00", [7, 31_519]),
    ] {
        let mut log = banner.to_owned();
        for (place, thread) in threads.into_iter().enumerate() {
            let time = format!("2016-06-07T19:07:02.55833{place}{zone}");
            log += &format!("{time}{thread:5} Connect\tapp@localhost on shop using Socket\n");
            log += &format!("{time}{thread:5} Query\tSELECT {thread}\nFROM t\n");
            log += &format!("{time}{thread:5} Quit\t\n");
        }
        let made = made(&log);
        let found: Vec<bool> = threads
            .iter()
            .map(|thread| made.has(&format!("SELECT {thread}")))
            .collect();
        assert_eq!(found, [true, true], "{zone} {threads:?}: {:#?}", made.lines);
        assert_eq!(dropped_in_all(&made), 0, "{zone}");
    }
}

/// Entries whose headers cannot be read are counted one by one, also where they stand together.
#[test]
fn headers_that_cannot_be_read_are_counted_each() {
    let whole = |second: u64| mysql(second, "", "SELECT 1");
    let broken = |change: &dyn Fn(String) -> String| -> String {
        (2..5).map(|second| change(whole(second))).collect()
    };
    let without_begin = |entry: String| {
        entry
            .replace("# Time: ", "# Tine: ")
            .replace("# User@Host: ", "# Usar@Host: ")
    };
    let without_stamp = |entry: String| entry.replace("SET timestamp=", "SET timestump=");
    let without_times = |entry: String| entry.replace("# Query_time: ", "# Querytime: ");
    for (middle, lost, why) in [
        (broken(&without_begin), 3, "no beginning is one"),
        (broken(&without_stamp), 3, "no time is one"),
        (broken(&without_times), 3, "no duration"),
        (without_begin(whole(2)), 1, "one alone"),
        (
            "# Time: 2026-11# Time: 2026-11-20T08:00:0# Time: 20".to_owned(),
            3,
            "cut within a line",
        ),
        ("# Time: 2026-11".to_owned(), 1, "one that was cut"),
        ("a note\nand another\n".to_owned(), 1, "no header at all"),
    ] {
        let made = made(whole(1) + &middle + &whole(7));
        assert_eq!(made.lines.len(), 2, "{why}: {:#?}", made.lines);
        assert_eq!(
            made.summary.loss().pieces,
            lost,
            "{why}: {:?}",
            made.summary.dropped
        );
    }
    // Heads of a general log in which blanks stand for tabs.
    let banner = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
                  Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n";
    let line = |second: u64| {
        format!("2026-11-20T08:00:{second:02}.000000Z\t    8 Query\tSELECT {second}\n")
    };
    let blanks = |second: u64| line(second).replace('\t', "   ").replace("Query", "Query ");
    let log = line(1) + banner + &blanks(2) + &blanks(3) + &line(4);
    let made = made(banner.to_owned() + &log);
    assert_eq!(made.lines.len(), 2, "{:#?}", made.lines);
    assert_eq!(made.summary.loss().pieces, 2, "{:?}", made.summary.dropped);
}

/// What MySQL writes when it opens its slow log.
const MYSQL_BANNER: &str = "/usr/sbin/mysqld, Version: 9.7.4 (MySQL Community Server - GPL). started with:\n\
    Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n";

/// An entry of MySQL, `second` seconds after the hour, of this user's session; `before` are lines before its second.
fn mysql_of(second: u64, (user, id): (&str, u64), before: &str, text: &str) -> String {
    format!(
        "# Time: 2026-11-30T23:{:02}:{:02}.000500Z\n# User@Host: {user}[{user}] @ localhost []  Id: {id:5}\n\
         # Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n{before}SET timestamp={};\n{text};\n",
        second / 60,
        second % 60,
        1_796_079_600 + second
    )
}

/// MySQL's slow log says a database where it is another one than the log said last, whoever's entry that was.
#[test]
fn a_database_that_is_not_said_is_the_one_that_the_log_said_last() {
    let log = [
        MYSQL_BANNER.to_owned(),
        mysql_of(1, ("web", 9), "use tenant_b;\n", "select 'first in b'"),
        mysql_of(2, ("web", 10), "use tenant_a;\n", "select 'other in a'"),
        // Its USE was too fast for the log.
        mysql_of(3, ("web", 9), "", "select 'first in a'"),
        MYSQL_BANNER.to_owned(),
        mysql_of(4, ("web", 9), "", "flush slow logs"),
        mysql_of(5, ("web", 11), "", "select 'in none'"),
    ];
    let made = made(log.concat());
    for [database, text] in [
        ["tenant_b", "first in b"],
        ["tenant_a", "other in a"],
        ["tenant_a", "first in a"],
        ["", "in none"],
    ] {
        let line = made.lines.iter().find(|line| line.contains(text)).unwrap();
        assert!(line.contains(&format!(" d={database} ")), "{line}");
    }
}

/// Numbers of sessions begin again with a restart, which no slow log says, and are given to others.
#[test]
fn sessions_end_with_their_server_and_their_user() {
    let of_before = mysql_of(
        1,
        ("web", 8),
        "",
        "SET sql_mode='ANSI_QUOTES', autocommit=0",
    );
    let secret = |second, user| {
        mysql_of(
            second,
            (user, 8),
            "",
            "select v from t where v = \"secret\"",
        )
    };
    let number = |made: &Made, text: &str| -> Vec<String> {
        let lines = made.lines.iter().filter(|line| line.contains(text));
        lines
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect()
    };
    for (between, user) in [(MYSQL_BANNER, "web"), ("", "root")] {
        let log = [
            MYSQL_BANNER,
            &of_before,
            between,
            &secret(9, user),
            &secret(10, user),
        ];
        let made = made(log.concat());
        assert_eq!(made.summary.sessions, 2, "{between}{user}");
        // In no transaction, and by the quotes of everybody.
        let lines: Vec<&String> = made
            .lines
            .iter()
            .filter(|line| line.contains("secret"))
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| !line.contains('T')), "{lines:?}");
        assert_eq!(number(&made, "secret"), ["1", "1"]);
        assert!(
            made.digests.iter().all(|digest| !digest.contains("secret")),
            "{:?}",
            made.digests
        );
    }
    // It was told to open its log.
    let flush = mysql_of(8, ("root", 7), "", "FLUSH SLOW LOGS");
    let after = mysql_of(9, ("web", 8), "", "select 2");
    let made = made([MYSQL_BANNER, &of_before, MYSQL_BANNER, &flush, &after].concat());
    assert_eq!(number(&made, "select 2"), ["0"]);
}

/// Entries of a client that sets its timestamp, as `mysqlbinlog | mysql` does, are of the time at which they were logged.
#[test]
fn a_timestamp_of_the_clients_is_no_time() {
    let hour = 1_796_079_600_i64;
    let extra = "# Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1 Start: 1970-01-01T00:16:40.000000Z \
        End: 1970-01-01T00:16:40.000500Z\n";
    let usual = "# Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n";
    let of_mysql = [
        MYSQL_BANNER.to_owned(),
        mysql_of(1, ("web", 8), "", "select 1"),
        mysql_of(2, ("web", 8), "", "select 2")
            .replace(usual, extra)
            .replace("SET timestamp=1796079602", "SET timestamp=1000"),
        mysql_of(3, ("web", 8), "", "select 3"),
    ];
    let of_mariadb = |second: i64, timestamp: i64| {
        format!(
            "# Time: 261130 23:00:{second:02}\n# User@Host: web[web] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
             # Query_time: 0.000500  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 60\n\
             SET timestamp={timestamp};\nselect {second};\n"
        )
    };
    // The first of them is a client's.
    let mariadb = [
        of_mariadb(1, 1000),
        of_mariadb(2, hour + 2),
        of_mariadb(3, 999),
    ];
    for log in [of_mysql.concat(), mariadb.concat()] {
        let made = made(log);
        assert_eq!(made.lines.len(), 3);
        for (place, line) in made.lines.iter().enumerate() {
            let start = line
                .split("s=")
                .nth(1)
                .and_then(|rest| rest.split(' ').next())
                .unwrap();
            let second = start.parse::<i64>().unwrap().div_euclid(1_000_000);
            assert_eq!(second, hour + 1 + place as i64, "{line}");
        }
    }
}
