//! Tables whose rows are on other servers or in files outside of the data: a private copy that had them would read and write
//! what is the user's.

use anyhow::Result;
use niagara_error::bail;
use niagara_load::counted;
use niagara_server::{Config, Install, RunningServer};

use super::statement::{not_system, quoted};

/// Their engines, as servers and statements write them.
const ENGINES: [&str; 5] = ["FEDERATED", "SPIDER", "CONNECT", "S3", "SPHINX"];
/// How the names of plugins begin that bring them, or that join other servers.
const PLUGINS: [&str; 6] = [
    "ha_federated",
    "ha_spider",
    "ha_connect",
    "ha_s3",
    "ha_sphinx",
    "group_replication",
];
/// Tables that are named one by one.
const NAMED: usize = 5;

/// The engines as texts, for `IN (…)`.
pub(crate) fn engines() -> String {
    quoted(&ENGINES)
}

/// Whether a plugin's library, as option files name it, brings such an engine.
pub(crate) fn is_plugin(library: &str) -> bool {
    PLUGINS
        .iter()
        .any(|beginning| library.to_ascii_lowercase().starts_with(beginning))
}

/// Options that keep the engines away, for servers that have them built in or load them before anybody can forget their plugins.
/// CONNECT has none here: without its plugin a server takes `connect` for `connect_timeout`.
pub(crate) fn options() -> Config {
    ["federated", "spider", "s3", "sphinx"]
        .iter()
        .map(|name| (format!("loose_{name}"), "OFF".to_owned()))
        .collect()
}

/// Forgets the plugins, the addresses of other servers, and functions of shared libraries, which may do anything. What a copy
/// is without, in words.
///
/// # Errors
/// The server refuses a statement.
pub(crate) fn forget(server: &RunningServer) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let tables = tables(server)?;
    if !tables.is_empty() {
        let named = tables.iter().take(NAMED).cloned().collect::<Vec<_>>();
        let more = match tables.len() > NAMED {
            true => ", …",
            false => "",
        };
        told.push(format!(
            "the copy is without {} whose rows are on other servers or in files outside of the data ({}{more}): statements on \
             them fail with error 1286",
            counted(tables.len() as u64, "table"),
            named.join(", ")
        ));
    }
    let plugins: Vec<String> = PLUGINS
        .iter()
        .map(|beginning| format!("dl LIKE '{beginning}%'"))
        .collect();
    server.query(&format!(
        "DELETE FROM mysql.plugin WHERE {}",
        plugins.join(" OR ")
    ))?;
    server.query("DELETE FROM mysql.servers")?;
    let functions = server.query("SELECT name FROM mysql.func ORDER BY name")?;
    let functions: Vec<String> = functions.into_iter().flatten().collect();
    if !functions.is_empty() {
        server.query("DELETE FROM mysql.func")?;
        told.push(format!(
            "the copy is without {} of shared libraries, which may reach out of it ({}): statements with them fail with error 1305",
            counted(functions.len() as u64, "function"),
            functions.join(", ")
        ));
    }
    Ok(told)
}

/// Refuses data of MySQL of which files lie elsewhere, as its data dictionary says: only a server reads that, and it has opened none
/// of them for writing yet.
///
/// # Errors
/// There are such files; the server refuses the statement.
pub(crate) fn refuse_files_outside(server: &RunningServer, install: &Install) -> Result<()> {
    // MariaDB has a file beside the data for each of them (`.isl`), which is looked for before.
    if install.family.is_mariadb() {
        return Ok(());
    }
    let files = match install.version.major {
        ..=7 => "innodb_sys_datafiles",
        _ => "innodb_datafiles",
    };
    let rows = server.query(&format!(
        "SELECT path FROM information_schema.{files} WHERE path LIKE '/%' ORDER BY path"
    ))?;
    let paths: Vec<String> = rows.into_iter().flatten().collect();
    if let [first, ..] = &paths[..] {
        bail!(
            "{} outside of the data directory, {first} first: a server on a copy would write to the original",
            match paths.len() {
                1 => "a file of the data lies".to_owned(),
                count => format!("{count} files of the data lie"),
            };
            remedy: "take a dump (mysqldump, mydumper), which has all in one place"
        );
    }
    Ok(())
}

/// The tables that are elsewhere.
fn tables(server: &RunningServer) -> Result<Vec<String>> {
    let rows = server.query(&format!(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE engine IN ({}) AND {} \
         ORDER BY 1",
        engines(),
        not_system("table_schema")
    ))?;
    Ok(rows.into_iter().flatten().collect())
}

/// Refuses a statement of a dump that makes such a table: the server would connect at once.
///
/// # Errors
/// It does.
pub(crate) fn refuse(statement: &[u8]) -> Result<()> {
    let Some((table, engine)) = table_elsewhere(statement) else {
        return Ok(());
    };
    bail!(
        "the table {table} is of the engine {engine}: its rows are on another server or in files outside of the dump, which a \
         private copy must not reach";
        remedy: "dump without it: mariadb-dump or mysqldump --ignore-table=DATABASE.{table} (with the views on it), mydumper \
         --omit-from-file"
    )
}

/// The table that `CREATE TABLE` or `ALTER TABLE` puts into such an engine, and the engine.
pub(crate) fn table_elsewhere(statement: &[u8]) -> Option<(String, &'static str)> {
    let words = code_words(statement);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    if !matches!(word(0), "CREATE" | "ALTER") {
        return None;
    }
    let at = words.iter().take(6).position(|word| word == "TABLE")?;
    let mut name = at + 1;
    if word(name) == "IF" {
        name += if word(name + 1) == "NOT" { 3 } else { 2 };
    }
    let engine = words.windows(2).find_map(|pair| match pair {
        [key, value] if key == "ENGINE" => ENGINES.into_iter().find(|engine| engine == value),
        _ => None,
    })?;
    // Its name as it stands there, which the words have in upper case.
    Some((name_of(statement, word(name)), engine))
}

/// The words of a statement in upper case, without strings, comments, and what stands between words but for dots; quoted names are
/// words.
pub(crate) fn code_words(statement: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = statement;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'\'' | b'"' => behind(after, byte, true).1,
            b'`' => {
                let (inside, after) = behind(after, byte, false);
                words.push(String::from_utf8_lossy(inside).to_uppercase());
                after
            }
            b'#' => behind_line(after),
            b'-' if after.first() == Some(&b'-')
                && after.get(1).is_none_or(u8::is_ascii_whitespace) =>
            {
                behind_line(after)
            }
            // What servers execute is code, behind its version.
            b'/' if after.starts_with(b"*!") => behind_digits(&after[2..]),
            b'/' if after.starts_with(b"*M!") => behind_digits(&after[3..]),
            b'/' if after.first() == Some(&b'*') => {
                let end = memchr::memmem::find(after, b"*/").map_or(after.len(), |at| at + 2);
                &after[end..]
            }
            b'.' => {
                words.push(".".to_owned());
                after
            }
            byte if is_word(byte) => {
                let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
                words.push(String::from_utf8_lossy(&rest[..length]).to_uppercase());
                &rest[length..]
            }
            _ => after,
        };
    }
    words
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// What is quoted, and what follows it.
fn behind(text: &[u8], quote: u8, escapes: bool) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'\\' && escapes {
            at += 2;
        } else if byte == quote {
            return (&text[..at], &text[at + 1..]);
        } else {
            at += 1;
        }
    }
    (text, &[])
}

fn behind_digits(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &text[digits..]
}

fn behind_line(text: &[u8]) -> &[u8] {
    memchr::memchr(b'\n', text).map_or(&[], |end| &text[end + 1..])
}

/// A name as the statement has it.
fn name_of(statement: &[u8], upper: &str) -> String {
    let text = String::from_utf8_lossy(statement);
    text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | '.'))
        .find(|word| word.to_uppercase() == upper)
        .unwrap_or(upper)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn tables_of_other_servers_are_told_by_their_engines() {
        let of = |text: &str| table_elsewhere(text.as_bytes());
        let found = |table: &str, engine| Some((table.to_owned(), engine));
        for (text, expected) in [
            (
                "-- a table\nCREATE TABLE `Away` (\n  `id` int NOT NULL\n) ENGINE=FEDERATED DEFAULT CHARSET=latin1 CONNECTION='far/t'",
                found("Away", "FEDERATED"),
            ),
            (
                "/*!40101 CREATE TABLE IF NOT EXISTS sharded (id INT) ENGINE = Spider COMMENT='wrapper \"mysql\"' */",
                found("sharded", "SPIDER"),
            ),
            (
                "CREATE OR REPLACE TABLE t (a INT) engine CONNECT table_type=CSV file_name='/srv/x.csv'",
                found("t", "CONNECT"),
            ),
            ("ALTER TABLE old ENGINE=S3", found("old", "S3")),
            (
                "CREATE TABLE t (a INT COMMENT 'ENGINE=FEDERATED', `ENGINE` INT) ENGINE=InnoDB COMMENT='it''s ENGINE=SPIDER'",
                None,
            ),
            (
                "INSERT INTO t VALUES ('CREATE TABLE x ENGINE=SPIDER')",
                None,
            ),
            ("CREATE TABLE t (a INT) /* ENGINE=S3 */ ENGINE=Aria", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        let refused = refuse(b"CREATE TABLE a (b INT) ENGINE=FEDERATED").expect_err("elsewhere");
        let refused = refused.explain().to_string();
        assert!(
            refused.contains("the table a is of the engine FEDERATED")
                && refused.contains("--ignore-table=DATABASE.a"),
            "{refused}"
        );
    }

    #[test]
    fn plugins_are_told_by_their_libraries() {
        for library in [
            "ha_federatedx",
            "ha_federatedx.so",
            "ha_spider",
            "HA_CONNECT",
        ] {
            assert!(is_plugin(library), "{library}");
        }
        for library in ["ha_rocksdb", "server_audit", "provider_lz4"] {
            assert!(!is_plugin(library), "{library}");
        }
    }
}
