//! What a server is, its variables and its counters.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use niagara_load::Row;
use niagara_server::Family;

use super::reader::{Reader, Refusal, text};
use crate::facts::{Choices, Counters, Options, Server, Variables};

/// What the server is.
pub(super) fn identify(reader: &mut Reader<'_>) -> Result<Server> {
    let rows = reader.rows("SELECT VERSION(), @@GLOBAL.version_comment, @@GLOBAL.hostname")?;
    let row = rows
        .into_iter()
        .next()
        .context("the server does not say what it is")?;
    let version_string = text(&row, 0).to_owned();
    // MariaDB says so in its version, Percona Server in the comment.
    let family = Family::from_version_line(&format!("{version_string} {}", text(&row, 1)));
    let uptime = reader.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    Ok(Server {
        family,
        version: version_string.parse()?,
        version_string,
        package: text(&row, 1).to_owned(),
        host: text(&row, 2).to_owned(),
        uptime_seconds: uptime
            .first()
            .map_or(0.0, |row| super::reader::number(row, 1)),
    })
}

/// Its variables and its counters.
pub(super) fn settings(reader: &mut Reader<'_>) -> Result<(Variables, Counters), Refusal> {
    let counters = counters(reader, "GLOBAL")?;
    let rows = reader.rows("SHOW GLOBAL VARIABLES")?;
    let variables = rows
        .into_iter()
        .map(|row| (text(&row, 0).to_ascii_lowercase(), text(&row, 1).to_owned()));
    Ok((Variables(variables.collect()), counters))
}

/// The words that its variables take: MariaDB tells them.
pub(super) fn choices(reader: &mut Reader<'_>, family: Family) -> Result<Choices, Refusal> {
    if !family.is_mariadb() {
        return Ok(Choices::default());
    }
    let rows = reader.rows(
        "SELECT VARIABLE_NAME, ENUM_VALUE_LIST FROM information_schema.SYSTEM_VARIABLES \
         WHERE ENUM_VALUE_LIST IS NOT NULL",
    );
    let words = |row: Row| {
        let words = text(&row, 1).split(',').map(str::to_owned);
        (text(&row, 0).to_ascii_lowercase(), words.collect())
    };
    match rows {
        Ok(rows) => Ok(Choices(rows.into_iter().map(words).collect())),
        Err(lost @ Refusal::Lost(_)) => Err(lost),
        // A release before 10.1 has no such table, and a busy server has no time for it.
        Err(_) => Ok(Choices::default()),
    }
}

/// Counters of the server, or of this session.
pub(super) fn counters(reader: &mut Reader<'_>, scope: &str) -> Result<Counters, Refusal> {
    let rows = reader.rows(&format!("SHOW {scope} STATUS"))?;
    let counters = rows.into_iter().filter_map(|row| {
        let value = text(&row, 1).parse().ok()?;
        Some((text(&row, 0).to_ascii_lowercase(), value))
    });
    Ok(Counters(counters.collect::<BTreeMap<_, _>>()))
}

/// How its variables are set, as far as the server says it: MariaDB says which ones a start alone sets, and from 10.5 on the option
/// file of each; MySQL says the file from 8.0 on.
pub(super) fn options(reader: &mut Reader<'_>, server: &Server) -> Result<Options, Refusal> {
    let is_mariadb = server.family.is_mariadb();
    let asked = match (is_mariadb, server.version.is_before(10, 5)) {
        (true, false) => {
            "SELECT LOWER(VARIABLE_NAME), READ_ONLY, GLOBAL_VALUE_PATH FROM information_schema.SYSTEM_VARIABLES"
        }
        (true, true) => {
            "SELECT LOWER(VARIABLE_NAME), READ_ONLY, NULL FROM information_schema.SYSTEM_VARIABLES"
        }
        (false, _) => {
            "SELECT LOWER(VARIABLE_NAME), NULL, VARIABLE_PATH FROM performance_schema.variables_info"
        }
    };
    let rows = match reader.rows(asked) {
        Ok(rows) => rows,
        Err(refusal @ Refusal::Lost(_)) => return Err(refusal),
        // Nobody says it then: a remedy names neither file nor what a start alone sets.
        Err(_) => return Ok(Options::default()),
    };
    let start_alone: BTreeSet<String> = rows
        .iter()
        .filter(|row| text(row, 1) == "YES")
        .map(|row| text(row, 0).to_owned())
        .collect();
    let set_in = rows
        .iter()
        .map(|row| (text(row, 0).to_owned(), text(row, 2).to_owned()));
    Ok(Options {
        start_alone: is_mariadb.then_some(start_alone),
        // MySQL keeps what was SET PERSIST in a file of its own, which nobody edits.
        set_in: set_in
            .filter(|(_, file)| !file.is_empty() && !file.ends_with("mysqld-auto.cnf"))
            .collect(),
        usual: None,
    })
}
