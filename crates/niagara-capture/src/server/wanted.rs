//! What has to be set so that a slow log has every statement.

use serde::{Deserialize, Serialize};

use super::product::{Family, Product};
use super::value::{assignment, same};

/// One variable for the time of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The variable.
    pub name: String,
    /// Its value before.
    pub from: String,
    /// Its value for the time of the capture.
    pub to: String,
    /// Why.
    pub why: String,
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
    pub misses: Vec<String>,
}

/// What has to be set on this server so that `file` has every statement.
pub fn wanted(product: &Product, file: &str) -> Wanted {
    let mut wanted = Wanted::default();
    for (name, to, why) in throttles(product) {
        wanted.change(product, name, to, why);
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
            "kinds of statements that are kept out",
        );
    }
    let output = product.variable("log_output").unwrap_or("FILE");
    if !output
        .split(',')
        .any(|word| word.eq_ignore_ascii_case("FILE"))
    {
        wanted.change(product, "log_output", "FILE", "the log goes to a file");
    }
    wanted.change(
        product,
        "slow_query_log_file",
        file,
        "a file of the capture's own",
    );
    wanted.change(
        product,
        "long_query_time",
        "0",
        "every statement, however short",
    );
    wanted.change(product, "slow_query_log", "ON", "the log is written");
    wanted.misses = misses(product);
    wanted
}

/// What keeps statements out of a slow log, and the value that does not.
fn throttles(product: &Product) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut throttles = vec![
        (
            "min_examined_row_limit",
            "0",
            "statements that read few rows",
        ),
        (
            "log_throttle_queries_not_using_indexes",
            "0",
            "drops statements without an index, also where all are logged",
        ),
        (
            "log_slow_rate_limit",
            "1",
            "one statement in this many is logged",
        ),
        (
            "log_slow_admin_statements",
            "ON",
            "ALTER, ANALYZE, OPTIMIZE and the like",
        ),
    ];
    match product.family {
        Family::Mariadb => throttles.push(("log_slow_filter", "", "plans that are kept out")),
        Family::Mysql => throttles.push(("log_slow_extra", "ON", "errors and exact starts")),
        Family::Percona => {
            throttles.push(("log_slow_filter", "", "plans that are kept out"));
            throttles.push((
                "slow_query_log_use_global_control",
                "all",
                "sessions that are connected already follow too",
            ));
        }
    }
    throttles
}

fn misses(product: &Product) -> Vec<String> {
    let mut misses = Vec::new();
    if product.family != Family::Percona {
        misses.push(
            "sessions that are connected already: long_query_time is a session's own once it is connected. They appear in the \
             capture when they connect again (restart the application's pool, or let it recycle its connections)"
                .to_owned(),
        );
    }
    misses.push(
        "logins and, on MariaDB, ends of sessions: no slow log has them; a general log does (general_log, at a higher cost)"
            .to_owned(),
    );
    if product.family != Family::Mariadb {
        misses.push("statements with a syntax error, and which statements were prepared: this server's slow log does not say".to_owned());
    }
    misses
}

impl Wanted {
    fn change(&mut self, product: &Product, name: &str, to: &str, why: &str) {
        let Some(from) = product.variable(name) else {
            return;
        };
        if !same(from, to) {
            self.changes.push(Change {
                name: name.to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
                why: why.to_owned(),
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
        assert_eq!(names, ["slow_query_log_file", "long_query_time"]);
    }
}
