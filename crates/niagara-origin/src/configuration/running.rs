//! The settings of a running server, asked of it: those that somebody gave it, with where they came from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use niagara_error::{anyhow, bail};
use niagara_load::{Admin, LoadError, Transport};

use super::differing::all_variables;
use super::kept_value::hidden;
use super::option_name::{PLUGINS, option_of};
use super::place::Place;
use super::release::series;
use super::running_malloc::malloc_of;
use super::source::{COMMAND_LINE, RunningConfig, RunningSetting, SET_GLOBAL, SET_PERSIST};

/// MariaDB: origins are COMPILE-TIME, AUTO, CONFIG (until 10.4 the command line's too), COMMAND-LINE, ENVIRONMENT, SQL. Which file a
/// setting is of, it says from 10.5 on.
const MARIADB: &str = "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, GLOBAL_VALUE_ORIGIN, {PATH} \
    FROM information_schema.SYSTEM_VARIABLES \
    WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO') AND GLOBAL_VALUE IS NOT NULL \
    AND READ_ONLY IN ('YES', 'NO') ORDER BY 1";
/// The column of the file, and whether a server has it.
const PATH: &str = "GLOBAL_VALUE_PATH";
const HAS_PATH: &str = "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema' \
    AND TABLE_NAME = 'SYSTEM_VARIABLES' AND COLUMN_NAME = 'GLOBAL_VALUE_PATH'";
/// MySQL: sources are COMPILED, GLOBAL, SERVER, EXPLICIT, EXTRA, USER, LOGIN, COMMAND_LINE, PERSISTED, DYNAMIC.
/// What was SET PERSIST since the start is DYNAMIC there.
const MYSQL: &str = "SELECT LOWER(VARIABLE_NAME), g.VARIABLE_VALUE, \
    IF(p.VARIABLE_VALUE IS NULL, VARIABLE_SOURCE, 'PERSISTED'), VARIABLE_PATH \
    FROM performance_schema.variables_info JOIN performance_schema.global_variables g USING (VARIABLE_NAME) \
    LEFT JOIN performance_schema.persisted_variables p USING (VARIABLE_NAME) \
    WHERE VARIABLE_SOURCE <> 'COMPILED' ORDER BY 1";

/// The origin of all that outlasts a restart and has not the last word.
const AN_OPTION_FILE: &str = "an option file";

/// The same of a MariaDB before 10.5, which tells the one from the other by nothing.
const FILE_OR_COMMAND_LINE: &str = "an option file or its command line";

/// The first release of MySQL that says where its settings come from, and that writes a binary log by itself.
const MYSQL_TELLS: (u32, u32) = (8, 0);

/// Asks the server behind `admin`, which is at `address`; its process too, where `transport` leads to one of this machine.
///
/// # Errors
/// It refuses a statement.
pub fn running_config(
    admin: &mut Admin,
    address: &str,
    transport: Option<&Transport>,
) -> Result<RunningConfig> {
    let version = admin.value("SELECT VERSION()")?.unwrap_or_default();
    let is_mariadb = version.contains("MariaDB");
    let is_new = series(&version) >= MYSQL_TELLS;
    let tells = is_mariadb || is_new;
    let (mut settings, variables) = match tells {
        true => (told(admin, address, &version, is_mariadb)?, BTreeMap::new()),
        false => (Vec::new(), all_variables(admin)?),
    };
    settings.extend(binary_log(admin, !is_mariadb && is_new)?);
    if tells {
        for setting in of_no_origin(admin, is_mariadb, &version)? {
            if settings.iter().all(|other| other.name != setting.name) {
                settings.push(setting);
            }
        }
    }
    let (loaded, installed) = plugins(admin)?;
    if !loaded.is_empty() {
        settings.push(RunningSetting {
            name: PLUGINS.to_owned(),
            value: loaded.join(";"),
            place: None,
            origin: AN_OPTION_FILE.to_owned(),
        });
    }
    let mut all = settings
        .iter()
        .map(|setting| (&setting.name, &setting.value))
        .chain(&variables);
    if let Some((name, _)) = all.find(|(name, value)| name.contains('\0') || value.contains('\0')) {
        bail!(
            "the server at {address} has a zero byte in its setting {}, which no option can have",
            name.replace('\0', "?");
            remedy: "check that it is a server of the MySQL family, or name its option file by --config"
        );
    }
    let config = RunningConfig {
        address: address.to_owned(),
        version,
        settings,
        installed,
        variables,
        compared_with: None,
        malloc: malloc_of(admin, transport),
    };
    Ok(config.compared_with_own(transport))
}

/// The settings of a server that says where they come from.
fn told(
    admin: &mut Admin,
    address: &str,
    version: &str,
    is_mariadb: bool,
) -> Result<Vec<RunningSetting>> {
    let has_path = is_mariadb && admin.value(HAS_PATH)?.as_deref() == Some("1");
    let asked = match (is_mariadb, has_path) {
        (true, true) => MARIADB.replace("{PATH}", PATH),
        (true, false) => MARIADB.replace("{PATH}", "NULL"),
        (false, _) => MYSQL.to_owned(),
    };
    let rows = match admin.rows(&asked) {
        Ok(rows) => rows,
        Err(error) => {
            // The statement says nothing to whoever asked.
            let said = match &error {
                LoadError::Query { code, message, .. } => format!("error {code}: {message}"),
                other => other.to_string(),
            };
            bail!(
                "the server at {address}, {version}, does not say where its settings come from ({said})";
                remedy: "MariaDB says it from 10.1 on, MySQL from 8.0 on with the performance schema; else name its option file by --config"
            )
        }
    };
    let settings = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let (name, value) = (option_of(cells.next()??), cells.next()??);
        let value = hidden(&name, value);
        let origin = cells.next()?.unwrap_or_default();
        let path = cells.next()?.filter(|path| !path.is_empty());
        Some(RunningSetting {
            name,
            value,
            place: path.clone().map(|path| Place {
                file: PathBuf::from(path),
                line: 0,
            }),
            origin: match origin.as_str() {
                "CONFIG" if is_mariadb && !has_path => FILE_OR_COMMAND_LINE,
                origin => said(origin, path.is_some()),
            }
            .to_owned(),
        })
    });
    Ok(settings.collect())
}

/// The libraries of active plugins: those that options load, and those that a statement installed. That an option loads them is in no
/// variable.
fn plugins(admin: &mut Admin) -> Result<(Vec<String>, Vec<String>)> {
    // The table is the data's, and not everybody may read it.
    let of_statements: Vec<String> = admin
        .rows("SELECT DISTINCT dl FROM mysql.plugin ORDER BY 1")
        .map_err(|error| {
            anyhow!(
                "which plugins were installed by a statement cannot be asked: {error}";
                remedy: "GRANT SELECT ON mysql.plugin to the account, or name its option file by --config"
            )
        })?
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let active = admin.rows(
        "SELECT DISTINCT PLUGIN_LIBRARY FROM information_schema.PLUGINS \
         WHERE PLUGIN_LIBRARY IS NOT NULL AND PLUGIN_STATUS = 'ACTIVE' ORDER BY 1",
    )?;
    let bare = |library: &str| library.trim_end_matches(".so").to_owned();
    let is_installed = |library: &String| {
        of_statements
            .iter()
            .any(|other| bare(other) == bare(library))
    };
    let (installed, loaded) = active
        .into_iter()
        .flatten()
        .flatten()
        .partition(is_installed);
    Ok((loaded, installed))
}

/// The binary log, which servers show by variables that are no settings: `log_bin` says whether there is one, wherever that was
/// said, and is of no origin. None where it is as the server has it by itself, which `writes_one` or does not.
fn binary_log(admin: &mut Admin, writes_one: bool) -> Result<Option<RunningSetting>> {
    let is_on = admin.value("SELECT @@GLOBAL.log_bin")?.as_deref() == Some("1");
    let (name, value) = match (writes_one, is_on) {
        (false, true) => {
            let base = admin.value("SELECT @@GLOBAL.log_bin_basename")?;
            let base = base.unwrap_or_default();
            let file = base.rsplit('/').next().unwrap_or_default().to_owned();
            ("log_bin", file)
        }
        (true, false) => ("skip_log_bin", String::new()),
        (true, true) | (false, false) => return Ok(None),
    };
    Ok(Some(RunningSetting {
        name: name.to_owned(),
        value,
        place: None,
        origin: AN_OPTION_FILE.to_owned(),
    }))
}

/// Variables that options set which are called otherwise or are none of theirs, so that servers tell no origin of them: those that are not
/// as the family and version have them by themselves.
fn of_no_origin(admin: &mut Admin, is_mariadb: bool, version: &str) -> Result<Vec<RunningSetting>> {
    // MariaDB 11.1 has both names, MySQL the new one alone.
    let isolation = match is_mariadb {
        true => "@@GLOBAL.tx_isolation",
        false => "@@GLOBAL.transaction_isolation",
    };
    let collations = own_collations(is_mariadb, version);
    let asked = [
        ("transaction_isolation", isolation, "REPEATABLE-READ"),
        ("autocommit", "@@GLOBAL.autocommit", "1"),
        (
            "character_set_server",
            "@@GLOBAL.character_set_server",
            collations.0,
        ),
        (
            "collation_server",
            "@@GLOBAL.collation_server",
            collations.1,
        ),
    ];
    let mut settings = Vec::new();
    for (name, variable, by_itself) in asked {
        let value = admin.value(&format!("SELECT {variable}"))?;
        if let Some(value) = value.filter(|value| value != by_itself) {
            settings.push(RunningSetting {
                name: name.to_owned(),
                value,
                place: None,
                origin: AN_OPTION_FILE.to_owned(),
            });
        }
    }
    Ok(settings)
}

/// Character set and collation of a server that nobody gave any: MySQL from 8.0 on, MariaDB until 11.5 and from 11.6 on.
fn own_collations(is_mariadb: bool, version: &str) -> (&'static str, &'static str) {
    match is_mariadb {
        false => ("utf8mb4", "utf8mb4_0900_ai_ci"),
        true if series(version) < (11, 6) => ("latin1", "latin1_swedish_ci"),
        true => ("utf8mb4", "utf8mb4_uca1400_ai_ci"),
    }
}

/// What set a variable, in words; MariaDB's CONFIG is a file where it has a path.
fn said(origin: &str, has_path: bool) -> &'static str {
    match origin {
        "SQL" | "DYNAMIC" => SET_GLOBAL,
        "PERSISTED" => SET_PERSIST,
        "COMMAND_LINE" | "COMMAND-LINE" => COMMAND_LINE,
        "CONFIG" if !has_path => COMMAND_LINE,
        _ => AN_OPTION_FILE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_set_a_variable_is_told_as_both_families_say_it() {
        for (origin, has_path, told) in [
            ("COMMAND-LINE", false, COMMAND_LINE),
            ("COMMAND_LINE", false, COMMAND_LINE),
            ("CONFIG", false, COMMAND_LINE),
            ("CONFIG", true, AN_OPTION_FILE),
            ("GLOBAL", true, AN_OPTION_FILE),
            ("SQL", false, SET_GLOBAL),
            ("DYNAMIC", false, SET_GLOBAL),
            ("PERSISTED", true, SET_PERSIST),
        ] {
            assert_eq!(said(origin, has_path), told, "{origin}");
        }
    }

    #[test]
    fn servers_have_the_collations_of_their_version_by_themselves() {
        for (is_mariadb, version, collation) in [
            (true, "10.11.19-MariaDB-deb12", "latin1_swedish_ci"),
            (true, "11.8.3-MariaDB", "utf8mb4_uca1400_ai_ci"),
            (false, "9.7.0", "utf8mb4_0900_ai_ci"),
        ] {
            assert_eq!(
                own_collations(is_mariadb, version).1,
                collation,
                "{version}"
            );
        }
    }
}
