//! What has to be set so that a slow log has every statement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::codes::Miss;
use super::product::{Family, Product};
use super::value::{assignment, same};

/// The variable with the file of the slow log.
pub(super) const LOG_FILE: &str = "slow_query_log_file";

/// One variable for the time of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The variable.
    pub name: String,
    /// Its value before.
    pub from: String,
    /// Its value for the time of the capture.
    pub to: String,
    /// Why.
    pub purpose: Purpose,
}

/// Why a variable is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Statements that read few rows are logged.
    FewRows,
    /// Statements without an index are not dropped.
    WithoutIndex,
    /// Every statement is logged, not one in some.
    Sampled,
    /// Statements of administration are logged.
    Administration,
    /// No plan is kept out.
    FilteredPlans,
    /// Errors and exact starts are logged.
    ErrorsAndStarts,
    /// Sessions that are connected already follow.
    ConnectedSessions,
    /// No kind of statements is kept out.
    DisabledKinds,
    /// The log goes to a file and nowhere else.
    ToFile,
    /// That is a file of the capture's own.
    OwnFile,
    /// Every statement is logged, however short.
    EveryStatement,
    /// The log is written.
    LogOn,
}

impl Change {
    /// The statement that sets it.
    pub fn set(&self) -> String {
        assignment(&self.name, &self.to)
    }

    /// The statement that sets it back.
    pub fn unset(&self) -> String {
        assignment(&self.name, &self.from)
    }
}

/// What has to be set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The changes, in the order of their being made; they are undone in the opposite one. The log is switched on last.
    pub changes: Vec<Change>,
    /// What a capture misses all the same.
    pub misses: Vec<Miss>,
}

/// What has to be set on this server so that `file` has every statement.
pub fn wanted(product: &Product, file: &str) -> Wanted {
    let mut wanted = Wanted::default();
    for (name, to, purpose) in throttles(product) {
        wanted.change(product, name, to, purpose);
    }
    if product.family == Family::Percona
        && let Some(now) = product.variable(FOLLOWED)
    {
        wanted.change(
            product,
            FOLLOWED,
            &followed(now),
            Purpose::ConnectedSessions,
        );
    }
    if let Some(disabled) = product.variable("log_slow_disabled_statements") {
        // `sp` stays: a CALL is in the log, the statements of its procedure would be there a second time.
        let to = if disabled.split(',').any(|word| word == "sp") {
            "sp"
        } else {
            ""
        };
        wanted.change(
            product,
            "log_slow_disabled_statements",
            to,
            Purpose::DisabledKinds,
        );
    }
    // A table beside the file would keep every statement, and no limit counts it.
    wanted.change(product, "log_output", "FILE", Purpose::ToFile);
    wanted.change(product, LOG_FILE, file, Purpose::OwnFile);
    wanted.change(product, "long_query_time", "0", Purpose::EveryStatement);
    wanted.change(product, "slow_query_log", "ON", Purpose::LogOn);
    wanted.misses = misses(product);
    wanted
}

/// What keeps statements out of a slow log, and the value that does not.
fn throttles(product: &Product) -> Vec<(&'static str, &'static str, Purpose)> {
    let mut throttles = vec![
        ("min_examined_row_limit", "0", Purpose::FewRows),
        (
            "log_throttle_queries_not_using_indexes",
            "0",
            Purpose::WithoutIndex,
        ),
        ("log_slow_rate_limit", "1", Purpose::Sampled),
        ("log_slow_admin_statements", "ON", Purpose::Administration),
    ];
    match product.family {
        Family::Mariadb => throttles.push(("log_slow_filter", "", Purpose::FilteredPlans)),
        Family::Mysql => throttles.push(("log_slow_extra", "ON", Purpose::ErrorsAndStarts)),
        Family::Percona => throttles.push(("log_slow_filter", "", Purpose::FilteredPlans)),
    }
    throttles
}

/// The variable with the settings in which sessions that are connected follow the server.
const FOLLOWED: &str = "slow_query_log_use_global_control";

/// Those of them that a capture sets.
const FOLLOWED_IN: [&str; 4] = [
    "log_slow_filter",
    "log_slow_rate_limit",
    "long_query_time",
    "min_examined_row_limit",
];

/// The settings in which sessions follow now, and those of a capture. By their names: a server says `all` with other words than it was
/// told, and nobody would know the value again.
fn followed(now: &str) -> String {
    let names: Vec<&str> = now
        .split(',')
        .map(str::trim)
        .filter(|name| !matches!(*name, "" | "none"))
        .collect();
    if names.contains(&"all") {
        return now.to_owned();
    }
    let missing = FOLLOWED_IN.iter().filter(|name| !names.contains(name));
    let all: Vec<&str> = names.iter().chain(missing).copied().collect();
    all.join(",")
}

fn misses(product: &Product) -> Vec<Miss> {
    let mut misses = Vec::new();
    if product.family != Family::Percona {
        misses.push(Miss::ConnectedSessions);
    }
    misses.push(Miss::Logins);
    if product.family != Family::Mariadb {
        misses.push(Miss::SyntaxErrors);
    }
    misses
}

impl Wanted {
    fn change(&mut self, product: &Product, name: &str, to: &str, purpose: Purpose) {
        let Some(from) = product.variable(name) else {
            return;
        };
        if !same(from, to) {
            self.changes.push(Change {
                name: name.to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
                purpose,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_have_their_value_are_left_alone() {
        let server = Product::of(
            Family::Mariadb,
            &[
                ("slow_query_log", "OFF"),
                ("slow_query_log_file", "/a.log"),
                ("long_query_time", "10.000000"),
                ("log_output", "TABLE"),
                ("min_examined_row_limit", "0"),
                ("log_slow_rate_limit", "20"),
                ("log_slow_admin_statements", "ON"),
                ("log_slow_filter", "admin,full_scan"),
                ("log_slow_disabled_statements", "sp"),
            ],
        );
        let wanted = wanted(&server, "/b.log");
        let names: Vec<&str> = wanted
            .changes
            .iter()
            .map(|change| &change.name[..])
            .collect();
        assert_eq!(
            names,
            [
                "log_slow_rate_limit",
                "log_slow_filter",
                "log_output",
                "slow_query_log_file",
                "long_query_time",
                "slow_query_log"
            ]
        );
        assert_eq!(
            wanted.changes[0].unset(),
            "SET GLOBAL log_slow_rate_limit = 20"
        );
        assert_eq!(
            wanted.changes[3].set(),
            "SET GLOBAL slow_query_log_file = '/b.log'"
        );
    }

    #[test]
    fn a_log_that_is_on_gets_a_file_of_the_captures_own() {
        let server = Product::of(
            Family::Mysql,
            &[
                ("slow_query_log", "ON"),
                ("slow_query_log_file", "/a.log"),
                ("long_query_time", "0.5"),
                ("log_output", "FILE,TABLE"),
            ],
        );
        let names: Vec<String> = wanted(&server, "/b.log")
            .changes
            .into_iter()
            .map(|change| change.name)
            .collect();
        assert_eq!(
            names,
            ["log_output", "slow_query_log_file", "long_query_time"]
        );
    }

    /// What is read back is known again: as what a capture has set.
    #[test]
    fn sessions_follow_in_settings_that_the_server_names_alike() {
        let change = |now: &str| {
            let server = Product::of(Family::Percona, &[(FOLLOWED, now)]);
            let change = wanted(&server, "/b.log").changes.into_iter().next()?;
            Some([change.to, change.from])
        };
        let four = "log_slow_filter,log_slow_rate_limit,long_query_time,min_examined_row_limit";
        for now in [
            "",
            "none",
            "long_query_time",
            "log_slow_rate_limit,log_slow_filter",
        ] {
            let [to, from] = change(now).expect("a change");
            assert!(same(&to, four), "{now}: {to}");
            assert_eq!(from, now);
        }
        let [to, _] = change("log_slow_verbosity").expect("a change");
        assert!(same(&to, &format!("log_slow_verbosity,{four}")), "{to}");
        // As a server says that was started with `all`.
        for all in [
            "all",
            &format!("{four},log_slow_verbosity,log_query_errors")[..],
        ] {
            assert_eq!(change(all), None, "{all}");
        }
        let server = Product::of(Family::Mysql, &[(FOLLOWED, "")]);
        assert!(wanted(&server, "/b.log").changes.is_empty());
    }

    #[test]
    fn log_goes_to_a_file_alone() {
        let change = |output: &str| {
            let server = Product::of(Family::Mariadb, &[("log_output", output)]);
            let changes = wanted(&server, "/b.log").changes;
            changes.first().map(|change| {
                [change.set(), change.unset()].map(|sql| sql.replace("SET GLOBAL ", ""))
            })
        };
        for output in ["FILE", "file"] {
            assert_eq!(change(output), None, "{output}");
        }
        for output in ["FILE,TABLE", "TABLE", "FILE,NONE"] {
            let undo = format!("log_output = '{output}'");
            let expected = ["log_output = 'FILE'".to_owned(), undo];
            assert_eq!(change(output), Some(expected));
        }
    }
}
