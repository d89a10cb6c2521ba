//! The rules' data: level, evidence and limits of each, from `data/checkup/rules.toml`.

use niagara_toml::FileError;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::finding::{Finding, Level};

const TEXT: &str = include_str!("../../../data/checkup/rules.toml");
const HELP: &str = "the other rules of the file show the format";

/// A rule without its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Head<'r> {
    /// How bad its finding is.
    pub level: Level,
    /// Why it is a finding.
    pub why: &'r str,
    /// What it rests on.
    pub source: &'r str,
    /// Levers that change it.
    pub levers: &'r [String],
}

/// A rule.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule<L> {
    level: Level,
    why: String,
    source: String,
    #[serde(default)]
    levers: Vec<String>,
    /// From when on it fires.
    pub limits: L,
}

/// A rule that fires without a limit.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlainRule {
    level: Level,
    why: String,
    source: String,
    #[serde(default)]
    levers: Vec<String>,
}

impl<L> Rule<L> {
    fn head(&self) -> Head<'_> {
        Head {
            level: self.level,
            why: &self.why,
            source: &self.source,
            levers: &self.levers,
        }
    }
}

impl PlainRule {
    fn head(&self) -> Head<'_> {
        Head {
            level: self.level,
            why: &self.why,
            source: &self.source,
            levers: &self.levers,
        }
    }

    /// Levers that it looks for.
    pub(crate) fn levers(&self) -> &[String] {
        &self.levers
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident { $($field:ident),* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $(pub $field: f64),* }
    )*};
}

limits! {
    /// A share of something.
    ShareLimit { share }
    /// A number of bytes, and a share.
    BytesLimit { bytes, share }
    /// A number, and a share.
    CountLimit { count, share }
    /// Of the buffer pool.
    PoolLimit { times_read, miss_share }
    /// Of the redo log.
    RedoLimit { seconds, written }
    /// Of unused indexes.
    UnusedLimit { table_reads }
    /// Of statements.
    StatementLimit { rows_each, rows, time_share }
    /// Of threads.
    ThreadLimit { share, connections_per_second }
    /// Of the table cache.
    TableCacheLimit { share, opened_per_second }
    /// Of stale statistics.
    StaleLimit { times, rows }
    /// Of replication.
    LagLimit { seconds }
    /// Of the slow log.
    SlowLogLimit { seconds }
}

macro_rules! rules {
    ($($field:ident: $rule:ty => $variant:ident,)*) => {
        /// All rules, by the code of their finding.
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct Rules { $(pub $field: $rule,)* }

        impl Rules {
            /// The rule of a finding.
            pub fn of(&self, finding: &Finding) -> Head<'_> {
                match finding { $(Finding::$variant { .. } => self.$field.head(),)* }
            }

            /// All of them.
            #[cfg(test)]
            fn heads(&self) -> Vec<Head<'_>> {
                vec![$(self.$field.head(),)*]
            }
        }
    };
}

rules! {
    durability_off: PlainRule => DurabilityOff,
    memory_beyond_ram: Rule<ShareLimit> => MemoryBeyondRam,
    swapped: Rule<BytesLimit> => Swapped,
    engine_not_crash_safe: PlainRule => EngineNotCrashSafe,
    release_ended: PlainRule => ReleaseEnded,
    release_ended_upstream: PlainRule => ReleaseEndedUpstream,
    replica_stopped: PlainRule => ReplicaStopped,
    replica_lags: Rule<LagLimit> => ReplicaLags,
    replica_writable: PlainRule => ReplicaWritable,
    connections_refused: PlainRule => ConnectionsRefused,
    connections_near_limit: Rule<ShareLimit> => ConnectionsNearLimit,
    logins_failed: Rule<CountLimit> => LoginsFailed,
    clients_lost: Rule<CountLimit> => ClientsLost,
    pool_too_small: Rule<PoolLimit> => PoolTooSmall,
    redo_too_small: Rule<RedoLimit> => RedoTooSmall,
    log_buffer_waits: Rule<ShareLimit> => LogBufferWaits,
    query_cache_on: PlainRule => QueryCacheOn,
    temporary_tables_on_disk: Rule<CountLimit> => TemporaryTablesOnDisk,
    tables_without_key: PlainRule => TablesWithoutKey,
    duplicate_indexes: PlainRule => DuplicateIndexes,
    unused_indexes: Rule<UnusedLimit> => UnusedIndexes,
    statements_read_much: Rule<StatementLimit> => StatementsReadMuch,
    row_lock_waits: Rule<ShareLimit> => RowLockWaits,
    threads_not_cached: Rule<ThreadLimit> => ThreadsNotCached,
    table_cache_too_small: Rule<TableCacheLimit> => TableCacheTooSmall,
    statistics_stale: Rule<StaleLimit> => StatisticsStale,
    statements_not_recorded: Rule<SlowLogLimit> => StatementsNotRecorded,
}

impl Rules {
    /// The rules that are built in.
    ///
    /// # Errors
    /// A mistake in their file.
    pub fn built_in() -> Result<Rules, FileError> {
        niagara_toml::read("data/checkup/rules.toml (built in)", TEXT, HELP, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_their_evidence_and_known_levers() {
        let rules = Rules::built_in().expect("valid rules");
        let levers = niagara_lab::lever::load(&[]).expect("valid levers");
        for head in rules.heads() {
            assert!(!head.why.is_empty() && !head.source.is_empty(), "{head:?}");
            for name in head.levers {
                niagara_lab::lever::called(name, &levers).expect("a lever");
            }
            let pages = head.source.split([';', ' ']);
            for page in pages.filter(|word| word.starts_with("docs/") || word.starts_with("data/"))
            {
                let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
                assert!(std::path::Path::new(&path).exists(), "no {page}");
            }
        }
    }

    /// They may enlarge it, where its remedy is a smaller one.
    #[test]
    fn no_lever_for_too_little_memory_sets_the_pool() {
        let rules = Rules::built_in().expect("valid rules");
        let levers = niagara_lab::lever::load(&[]).expect("valid levers");
        let enlarge =
            niagara_lab::lever::meant("innodb_buffer_pool_size", &levers).expect("levers");
        for head in [rules.memory_beyond_ram.head(), rules.swapped.head()] {
            for name in head.levers {
                let lever = niagara_lab::lever::called(name, &levers).expect("a lever");
                let enlarges = enlarge.iter().any(|other| other.id() == lever.id());
                assert!(!enlarges, "{name}");
            }
        }
    }
}
