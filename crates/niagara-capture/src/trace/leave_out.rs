//! Statements that a replay does not send, and why.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::MAX_STATEMENT;
use crate::sql::{Class, Traits, classify, digest_is_several};

/// Why a statement of a capture is not replayed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutCause {
    /// It switches the server's logs: of the capture, not of the traffic. Its time counts for nothing.
    Logging,
    /// It acts on the server: SET GLOBAL, KILL, SHUTDOWN, FLUSH, replication, writing files.
    Server,
    /// LOAD DATA and LOAD XML: the file is not part of a capture.
    LoadData,
    /// PREPARE, EXECUTE and DEALLOCATE as SQL: what they executed is there by itself.
    SqlPrepared,
    /// Several statements in one command, of a client that may not send them (without CLIENT_MULTI_STATEMENTS).
    Several,
    /// Longer than one packet of the protocol.
    TooLong,
    /// The client's own repetition of a transaction after a deadlock: the replay repeats by itself.
    Retried,
}

impl LeftOutCause {
    /// The cause in words.
    pub fn text(self) -> &'static str {
        match self {
            LeftOutCause::Logging => {
                "switching the server's logs, which is the capture's own work and not part of the captured time"
            }
            LeftOutCause::Server => {
                "acting on the server (SET GLOBAL, KILL, FLUSH, SHUTDOWN, replication, writing files)"
            }
            LeftOutCause::LoadData => "LOAD DATA and LOAD XML (their files are not captured)",
            LeftOutCause::SqlPrepared => "PREPARE, EXECUTE, DEALLOCATE as SQL",
            LeftOutCause::Several => {
                "several statements in one command, of clients without the flag multi_statements (--client-flags of `capture import`)"
            }
            LeftOutCause::TooLong => "longer than a packet of 16 MiB",
            LeftOutCause::Retried => {
                "of transactions that failed by a deadlock or lock wait timeout and that the client repeated"
            }
        }
    }

    /// Why a statement is not replayed; none if it is. `digest`: its text without literals. `several`: its client may send several
    /// in one command.
    pub(super) fn of(
        traits: Traits,
        digest: &[u8],
        length: usize,
        several: bool,
    ) -> Option<LeftOutCause> {
        match traits.class {
            _ if length > MAX_STATEMENT => Some(LeftOutCause::TooLong),
            Class::Server | Class::Set if switches_logs(digest) => Some(LeftOutCause::Logging),
            Class::Server => Some(LeftOutCause::Server),
            Class::Prepared => Some(LeftOutCause::SqlPrepared),
            _ if !several && digest_is_several(digest) => Some(LeftOutCause::Several),
            Class::Set if sets_global(digest) => Some(LeftOutCause::Server),
            _ if acts_within(digest) => Some(LeftOutCause::Server),
            Class::Write if digest.starts_with(b"load ") => Some(LeftOutCause::LoadData),
            _ => None,
        }
    }
}

/// Variables of the server's logs, by how their names begin.
const OF_LOGS: [&str; 9] = [
    "general_log",
    "slow_query_log",
    "slow_log",
    "long_query_time",
    "log_output",
    "log_slow_",
    "log_queries_not_using_indexes",
    "log_throttle_queries_not_using_indexes",
    "min_examined_row_limit",
];

/// Whether all that a statement does is to switch logs on, off, or to another file: `SET GLOBAL slow_query_log = ?`, `FLUSH SLOW LOGS`.
fn switches_logs(digest: &[u8]) -> bool {
    let text = String::from_utf8_lossy(digest);
    let text = text.trim_end_matches([';', ' ']);
    if let Some(rest) = text.strip_prefix("flush ") {
        let mut words = rest.split_whitespace().collect::<Vec<_>>();
        words.retain(|word| !matches!(*word, "local" | "no_write_to_binlog"));
        return matches!(words[..], ["slow" | "general", "logs"]);
    }
    let Some(rest) = text.strip_prefix("set ") else {
        return false;
    };
    let is_of_logs = |assigned: &str| {
        let Some((name, _)) = assigned.split_once('=') else {
            return false;
        };
        let name = name.trim_end_matches([':', ' ']);
        let Some(name) = (name.trim_start().strip_prefix("global "))
            .or_else(|| name.trim_start().strip_prefix("@@global."))
        else {
            return false;
        };
        let name = name.trim().trim_matches('`');
        OF_LOGS.iter().any(|known| name.starts_with(known))
    };
    rest.split(',').all(is_of_logs)
}

/// `SET a = ?, GLOBAL b = ?`: a global variable that is not the first one.
fn sets_global(digest: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(digest, word).is_some();
    [
        &b" global "[..],
        b"@@global.",
        b" persist ",
        b"@@persist",
        b" persist_only ",
    ]
    .into_iter()
    .any(has)
}

/// Whether one of several statements, or of a block, acts on the server.
fn acts_within(digest: &[u8]) -> bool {
    const BLOCK: &[u8] = b"begin not atomic ";
    if !digest.starts_with(BLOCK) && !digest_is_several(digest) {
        return false;
    }
    digest.split(|&b| b == b';').any(|part| {
        let part = part.trim_ascii_start();
        let part = part.strip_prefix(BLOCK).unwrap_or(part);
        classify(part).class == Class::Server || sets_global(part)
    })
}

/// What of a capture is not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeftOut {
    by_cause: BTreeMap<LeftOutCause, Amount>,
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Statements.
    pub statements: u64,
    /// Their time in the capture, in microseconds.
    pub captured_us: u64,
}

impl LeftOut {
    pub(super) fn add(&mut self, cause: LeftOutCause, duration_us: Option<u64>) {
        let amount = self.by_cause.entry(cause).or_default();
        amount.statements += 1;
        amount.captured_us += duration_us.unwrap_or(0);
    }

    pub(super) fn add_amount(&mut self, cause: LeftOutCause, more: Amount) {
        let amount = self.by_cause.entry(cause).or_default();
        amount.statements += more.statements;
        amount.captured_us += more.captured_us;
    }

    /// The same for a part of the capture that has such a share of it, from 0 to 1.
    pub(super) fn scaled(mut self, share: f64) -> LeftOut {
        let scaled = |number: u64| (number as f64 * share).round() as u64;
        for amount in self.by_cause.values_mut() {
            amount.statements = scaled(amount.statements);
            amount.captured_us = scaled(amount.captured_us);
        }
        self
    }

    /// How much for each cause.
    pub fn by_cause(&self) -> impl Iterator<Item = (LeftOutCause, Amount)> {
        self.by_cause
            .iter()
            .map(|(&cause, &amount)| (cause, amount))
    }

    /// How much of the traffic in all: without what the capture itself has done.
    pub fn of_traffic(&self) -> Amount {
        let mut all = self.all();
        let own = self.by_cause.get(&LeftOutCause::Logging);
        let own = own.copied().unwrap_or_default();
        all.statements -= own.statements;
        all.captured_us -= own.captured_us;
        all
    }

    /// How much in all.
    pub fn all(&self) -> Amount {
        let mut all = Amount::default();
        for amount in self.by_cause.values() {
            all.statements += amount.statements;
            all.captured_us += amount.captured_us;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::classify;

    #[test]
    fn what_is_left_out() {
        for (digest, cause) in [
            ("set global x = ?", Some(LeftOutCause::Server)),
            ("set global slow_query_log = ?", Some(LeftOutCause::Logging)),
            ("set global long_query_time=?", Some(LeftOutCause::Logging)),
            ("set global slow_query_log=on;", Some(LeftOutCause::Logging)),
            (
                "set @@global.general_log = ?, @@global.log_output = ?",
                Some(LeftOutCause::Logging),
            ),
            (
                "set global log_slow_verbosity = ?",
                Some(LeftOutCause::Logging),
            ),
            ("flush local slow logs", Some(LeftOutCause::Logging)),
            ("flush tables", Some(LeftOutCause::Server)),
            ("flush slow logs, tables", Some(LeftOutCause::Server)),
            (
                "set global slow_query_log = ?, global max_connections = ?",
                Some(LeftOutCause::Server),
            ),
            (
                "set global log_bin_trust_function_creators = ?",
                Some(LeftOutCause::Server),
            ),
            ("set long_query_time = ?", None),
            ("set @a = ?,global x = ?", None),
            ("set @a = ?, global x = ?", Some(LeftOutCause::Server)),
            ("set names utf8mb4", None),
            ("kill ?", Some(LeftOutCause::Server)),
            ("shutdown", Some(LeftOutCause::Server)),
            ("flush tables", Some(LeftOutCause::Server)),
            (
                "load data local infile ? into table t",
                Some(LeftOutCause::LoadData),
            ),
            ("execute s using @a", Some(LeftOutCause::SqlPrepared)),
            ("select ?; select ?", Some(LeftOutCause::Several)),
            ("select ?;", None),
            (
                "create procedure p(a int) begin select ?; select a; end",
                None,
            ),
            (
                "create definer = a@b trigger t after insert on x for each row begin set @a = ?; set @b = ?; end",
                None,
            ),
            ("begin not atomic select ?; select ?; end", None),
            (
                "create table event(a int); insert into event values(...)",
                Some(LeftOutCause::Several),
            ),
            ("insert into t values(...)", None),
        ] {
            let traits = classify(digest.as_bytes());
            let found = LeftOutCause::of(traits, digest.as_bytes(), digest.len(), false);
            assert_eq!(found, cause, "{digest}");
        }
        let long = LeftOutCause::of(classify(b"select ?"), b"select ?", MAX_STATEMENT + 1, false);
        let of_several = |digest: &str| {
            let digest = digest.as_bytes();
            LeftOutCause::of(classify(digest), digest, digest.len(), true)
        };
        assert_eq!(of_several("select ?; select ?"), None);
        for acts in [
            "select ?; set global max_connections = ?",
            "select ?; flush tables",
            "begin; set global a = ?; commit",
            "set session a = ?; set global b = ?",
            "select ?; set a = ?, global b = ?",
            "select ?; select * from t into outfile ?",
            "insert into t values(...); kill ?",
            "begin not atomic set global a = ?; end",
        ] {
            assert_eq!(of_several(acts), Some(LeftOutCause::Server), "{acts}");
        }
        assert_eq!(long, Some(LeftOutCause::TooLong));
    }
}
