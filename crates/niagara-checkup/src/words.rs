//! What is found, in English. Nothing else in this crate makes sentences, and nothing reads them back.

use std::fmt::Display;

use niagara_model::Reason;
use niagara_report::number::{count, duration, grouped, percent, rate};

use crate::busy::{Busy, BusyPlace, MeasuredBy};
use crate::facts::{Activity, Digest, Host, ReadsSource, Server};
use crate::finding::{DuplicateIndex, Finding, Level, Likeness, StoppedChannel, StoppedPart};
use crate::gap::{Gap, GapCause, MissingPart};
use crate::levers::{LeverFact, LeverState};
use crate::proof::Shows;
use crate::remedy::{Caution, NewSetting, Remedy, UnknownMemory};

/// Names of a list that are shown.
const NAMES: usize = 3;

/// A finding in one sentence or two.
pub(crate) fn finding(finding: &Finding) -> String {
    match finding {
        Finding::DurabilityOff {
            variable,
            value,
            risk,
            ..
        } => format!("{variable} is {value}: {}", first_sentences(risk, 2)),
        Finding::MemoryBeyondRam {
            buffer_bytes,
            memory_bytes,
        } => format!(
            "The buffers that the server takes once are {}, the memory is {}.",
            bytes(*buffer_bytes),
            bytes(*memory_bytes)
        ),
        Finding::Swapped {
            swapped_bytes,
            resident_bytes,
            pages_read,
        } => format!(
            "{} of the server are in swap space, {} in memory; {} read from swap space meanwhile.",
            bytes(*swapped_bytes),
            bytes(*resident_bytes),
            counted(*pages_read, "page")
        ),
        Finding::EngineNotCrashSafe { tables } => format!(
            "{} in MyISAM, which a crash may damage, {} written since the start: {}.",
            counted(tables.len() as u64, "table"),
            was(tables.len()),
            names(tables)
        ),
        Finding::ReleaseEnded { series } => format!(
            "The project released its last fixes of {} on {} or before.",
            series.series, series.ended
        ),
        Finding::ReleaseEndedUpstream { series, package } => format!(
            "The project released its last fixes of {} on {} or before; ask whoever made this package ({package}) until when it is mended.",
            series.series, series.ended
        ),
        Finding::ReplicaStopped { channels } => {
            let channels: Vec<String> = channels.iter().map(stopped_channel).collect();
            format!("The replica stands still: {}.", names(&channels))
        }
        Finding::ReplicaLags { source, seconds } => {
            format!("The replica is {} behind {source}.", duration(*seconds))
        }
        Finding::ReplicaWritable {
            sources,
            writes,
            in_cluster,
        } => format!(
            "The server is a replica of {}, and read_only is off: it takes writes of its own. {}",
            names(sources),
            replica_writes(*writes, *in_cluster)
        ),
        Finding::ConnectionsRefused {
            refused,
            max_connections,
        } => format!(
            "{} refused since the start, for all {} were in use (max_connections).",
            counted(*refused, "connection"),
            grouped(*max_connections as f64)
        ),
        Finding::ConnectionsNearLimit {
            most_used,
            max_connections,
        } => format!(
            "Up to {} were in use at the same time; max_connections is {}.",
            counted(*most_used, "connection"),
            grouped(*max_connections as f64)
        ),
        Finding::LoginsFailed {
            failed,
            connections,
        } => format!(
            "{} of {} failed before they were done: wrong password, no privilege, broken handshake (Aborted_connects).",
            grouped(*failed as f64),
            counted(*connections, "connection")
        ),
        Finding::ClientsLost { lost, connections } => format!(
            "{} of {} ended without being closed (Aborted_clients).",
            grouped(*lost as f64),
            counted(*connections, "connection")
        ),
        Finding::PoolTooSmall {
            pool_bytes,
            data_bytes,
            read_bytes,
            pages_per_second,
            ..
        } => format!(
            "The buffer pool is {}, the data are {}, and {} were read from disk since the start: pages are read again. \
             {} pages a second are read now.",
            bytes(*pool_bytes),
            bytes(*data_bytes),
            bytes(*read_bytes),
            rate_or_none(*pages_per_second)
        ),
        Finding::RedoTooSmall {
            capacity_bytes,
            bytes_per_second,
            round_seconds,
            in_use,
        } => format!(
            "The redo log of {} is written round every {} ({} a second){}.",
            bytes(*capacity_bytes),
            duration(round_seconds.max(1.0)),
            bytes(*bytes_per_second as u64),
            in_use.map_or(String::new(), |share| format!(
                ", up to {} of it were in use",
                percent(share)
            ))
        ),
        Finding::LogBufferWaits {
            waits,
            buffer_bytes,
        } => format!(
            "{} for space in the log buffer of {} since the start.",
            counted(*waits, "wait"),
            bytes(*buffer_bytes)
        ),
        Finding::QueryCacheOn {
            bytes: size,
            hits,
            selects,
            prunes,
        } => format!(
            "The query cache is on ({}): it answered {} of {}, and dropped {} for want of space.",
            bytes(*size),
            grouped(*hits as f64),
            counted(hits + selects, "SELECT"),
            counted(*prunes, "result")
        ),
        Finding::TemporaryTablesOnDisk { on_disk, all } => format!(
            "{} of {} were written to disk since the start.",
            grouped(*on_disk as f64),
            counted(*all, "temporary table")
        ),
        Finding::TablesWithoutKey { tables } => format!(
            "{} without a primary key: {}.",
            counted(tables.len() as u64, "table"),
            names(tables)
        ),
        Finding::DuplicateIndexes { indexes, can_hide } => {
            let pairs: Vec<String> = indexes.iter().map(duplicate_index).collect();
            let all_equal = indexes.iter().all(|one| one.likeness == Likeness::Equal);
            let advice = match *can_hide {
                true => "Hide a beginning before you drop it",
                false => "Keep a beginning, or try its drop on a copy first",
            };
            let beginnings = match all_equal {
                true => String::new(),
                false => format!(
                    " {advice}: it is smaller, and InnoDB sorts rows of equal values in it by the primary key."
                ),
            };
            format!(
                "{} equal to another one or its beginning: {}.{beginnings}",
                indexes_in_words(indexes.len()),
                names(&pairs)
            )
        }
        Finding::UnusedIndexes {
            indexes,
            since_seconds,
            counted_by,
        } => {
            let all: Vec<String> = indexes
                .iter()
                .map(|one| format!("{}.{}", one.table, one.index))
                .collect();
            let by = match counted_by {
                ReadsSource::PerformanceSchema => "performance schema",
                ReadsSource::UserStatistics => "user statistics",
            };
            format!(
                "{} not read since the start {} ago ({by}): {}. Jobs that have not run since are not counted.",
                indexes_in_words(indexes.len()),
                days(*since_seconds),
                names(&all)
            )
        }
        Finding::StatementsReadMuch {
            digests,
            time_share,
        } => {
            let worst = digests.first().map(|digest| {
                format!(
                    "{} for each: {}",
                    grouped(rows_each(digest)),
                    shortened(&digest.text, 90)
                )
            });
            format!(
                "{} of the statements' time is in {} with far more rows read than returned, the first with {}",
                percent(*time_share),
                counted(digests.len() as u64, "statement"),
                worst.unwrap_or_default()
            )
        }
        Finding::RowLockWaits {
            seconds,
            window_seconds,
        } => format!(
            "Transactions waited {seconds:.1} s for rows that others had locked, in {window_seconds:.1} s."
        ),
        Finding::ThreadsNotCached {
            created,
            connections,
            connections_per_second,
        } => format!(
            "{} for {}: the thread cache misses; {} new connections a second now.",
            counted(*created, "thread"),
            counted(*connections, "connection"),
            rate(*connections_per_second)
        ),
        Finding::TableCacheTooSmall {
            opened_per_second,
            open,
            limit,
        } => format!(
            "{} are opened a second; {} of {} places in the table cache are taken.",
            rate(*opened_per_second),
            grouped(*open as f64),
            grouped(*limit as f64)
        ),
        Finding::StatisticsStale { tables } => {
            let all: Vec<String> = tables
                .iter()
                .map(|one| {
                    format!(
                        "{} ({} by the statistics, {} inserted since)",
                        one.table,
                        grouped(one.rows),
                        grouped(one.inserted)
                    )
                })
                .collect();
            format!(
                "Stale statistics of {}: {}.",
                counted(tables.len() as u64, "table"),
                names(&all)
            )
        }
        Finding::StatementsNotRecorded {
            slow_log,
            long_query_time,
        } => format!(
            "Nothing says what the statements do: the performance schema is off, and the slow log {}. \
             SET GLOBAL slow_query_log = 1, long_query_time = 0.5 records those above half a second.",
            match slow_log {
                true => format!("records those above {long_query_time} s alone"),
                false => "is off".to_owned(),
            }
        ),
    }
}

/// Whether clients write to a replica, and what that says of `read_only`.
fn replica_writes(writes: u64, in_cluster: bool) -> String {
    match (in_cluster, writes) {
        (true, _) => {
            "It is a node of a Galera cluster: with read_only it refuses the writes of the application.".to_owned()
        }
        (false, 0) => "No statement wrote here since the start.".to_owned(),
        (false, writes) => format!(
            "{} wrote here since the start; those of its source may be among them. \
             Set read_only only if no client writes here: two servers that replicate each other both need it off.",
            counted(writes, "statement")
        ),
    }
}

fn duplicate_index(one: &DuplicateIndex) -> String {
    let is = match one.likeness {
        Likeness::Equal => "equals",
        Likeness::Beginning | Likeness::WholeRows => "begins",
    };
    format!("{}.{} {is} {}", one.table, one.index, one.covered_by)
}

fn stopped_channel(channel: &StoppedChannel) -> String {
    let part = match channel.part {
        StoppedPart::Receiver => "nothing arrives from",
        StoppedPart::Applier => "nothing is applied that arrives from",
        StoppedPart::Both => "nothing arrives or is applied from",
    };
    let error = match channel.error {
        0 => String::new(),
        number => format!(" (error {number}, see SHOW REPLICA STATUS)"),
    };
    format!("{part} {}{error}", channel.source)
}

/// What to change.
pub(crate) fn remedy(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Settings {
            settings,
            option_file,
        } => new_settings(settings, option_file.as_deref()),
        Remedy::Statements {
            statements,
            caution,
        } => {
            let first = statements.iter().take(NAMES).cloned();
            let more = statements.len().saturating_sub(NAMES);
            let more = (more > 0).then(|| format!("and {more} more (--json has all)"));
            let caution = caution.map(|caution| match caution {
                Caution::LaterStatementsWait => {
                    "(at a quiet hour: while a long statement uses the table, later ones wait)"
                        .to_owned()
                }
            });
            first
                .chain(more)
                .chain(caution)
                .collect::<Vec<_>>()
                .join(" ")
        }
        Remedy::Upgrade { series } => {
            format!("an upgrade, to {series} or another series with fixes")
        }
        Remedy::LargerPool {
            wanted_bytes,
            memory_share,
            unknown,
        } => {
            let (wanted, share) = (bytes(*wanted_bytes), percent(*memory_share));
            match unknown {
                UnknownMemory::NotSeen => format!(
                    "innodb_buffer_pool_size of up to {wanted}, and of at most {share} of the host's memory, which cannot be seen from here"
                ),
                UnknownMemory::Shared => format!(
                    "innodb_buffer_pool_size of up to {wanted}; the pools of all servers here may take {share} of the memory together"
                ),
            }
        }
    }
}

/// `now: SET GLOBAL read_only = ON; to keep it: read_only=ON under [mysqld] in the option file`.
fn new_settings(settings: &[NewSetting], option_file: Option<&str>) -> String {
    let lines: Vec<String> = settings
        .iter()
        .map(|one| format!("{}={}", one.variable, one.value))
        .collect();
    let kept = format!(
        "{} under [mysqld] in {}",
        lines.join(", "),
        option_file.unwrap_or("the option file")
    );
    let statements: Option<Vec<&str>> = settings
        .iter()
        .map(|one| one.statement.as_deref())
        .collect();
    match statements {
        Some(statements) => format!("now: {} to keep it: {kept}", statements.join(" ")),
        None => format!("{kept}, then a restart"),
    }
}

/// What a command shows, as one word.
pub(crate) fn shows(shows: Shows) -> &'static str {
    match shows {
        Shows::Proof => "prove",
        Shows::Price => "price",
    }
}

/// The same on a page.
pub(crate) fn shows_on_page(shows: Shows) -> &'static str {
    match shows {
        Shows::Proof => "To prove it:",
        Shows::Price => "What the safe setting costs:",
    }
}

/// How a line is proven.
pub(crate) const HOW_TO_PROVE: &str = "No line promises a gain. Make a pack on the server's machine, copy it to another machine, and run a \
                                       line's command there. `price:` shows what a safe setting costs. `advise` looks for indexes, `tune` tries all settings.";

/// Whether a finding is bad, as one word.
pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::Danger => "danger",
        Level::Fault => "fault",
        Level::Cost => "cost",
        Level::Note => "note",
    }
}

/// What the server is.
pub(crate) fn server(server: &Server, host: Option<&Host>) -> String {
    let machine = host.map(|host| {
        let memory = host.memory_bytes;
        format!(
            ", {}{}",
            counted(host.cpus as u64, "CPU"),
            memory.map_or(String::new(), |size| format!(", {} of memory", bytes(size)))
        )
    });
    format!(
        "{} {} on {}, up {}{}",
        server.family,
        server.version,
        server.host,
        days(server.uptime_seconds),
        machine.unwrap_or_default()
    )
}

/// Where the time went.
pub(crate) fn busy(busy: &Busy) -> String {
    let how = match busy.measured_by {
        MeasuredBy::Sum => "",
        MeasuredBy::Samples => ", by samples",
    };
    let seconds = format!(
        "on average {} were running, over {:.1} s{how}",
        statements_running(busy.running()),
        busy.window_seconds
    );
    let place = match busy.place {
        BusyPlace::Nowhere => {
            format!("The database is hardly busy ({seconds}): what is slow now waits elsewhere.")
        }
        BusyPlace::Statements => format!("The database is busy ({seconds})."),
        BusyPlace::Queries => format!("The time is in queries ({seconds})."),
        BusyPlace::Commits => format!("The time is in commits ({seconds})."),
        BusyPlace::TableLocks => format!("The time is in waits for locks on tables ({seconds})."),
        BusyPlace::Logins => format!("The time is in logins ({seconds})."),
    };
    match busy.place != BusyPlace::Nowhere && busy.is_mostly_idle() {
        true => format!("{place} Most of the time nothing runs."),
        false => place,
    }
}

/// `2.9 statements`, of a mean.
fn statements_running(running: f64) -> String {
    match running {
        running if running >= 9.95 => format!("{} statements", grouped(running)),
        running if running >= 0.095 => format!("{running:.1} statements"),
        running => format!("{running:.2} statements"),
    }
}

/// The figures behind it.
pub(crate) fn busy_figures(busy: &Busy) -> String {
    let mut parts = Vec::new();
    if let Some(shares) = &busy.shares {
        let shares = shares.iter().map(|(activity, share)| {
            let name = match activity {
                Activity::Query => "queries",
                Activity::Commit => "commits",
                Activity::TableLock => "locks on tables",
                Activity::Login => "logins",
            };
            format!("{name} {}", percent(*share))
        });
        parts.extend(shares);
    }
    if let Some(seconds) = busy.cpu_seconds {
        let cpus = busy.cpus.unwrap_or(1) as f64;
        parts.push(format!(
            "CPUs {}",
            percent(seconds / (busy.window_seconds * cpus).max(f64::EPSILON))
        ));
    }
    parts.push(format!(
        "{} statements and {} new connections a second",
        rate_or_none(busy.statements_per_second),
        rate_or_none(busy.connections_per_second)
    ));
    parts.join(", ")
}

/// What is missing and how to get it.
pub(crate) fn gap(gap: &Gap) -> String {
    let part = match gap.part {
        MissingPart::Host => "CPU time, memory and swap of the server",
        MissingPart::Memory => "memory that the server may take",
        MissingPart::Tables => "tables and indexes",
        MissingPart::OtherTables => "tables on which the account has no privilege",
        MissingPart::SimilarIndexes => "tables with similar indexes",
        MissingPart::DataSize => "the size of InnoDB's data",
        MissingPart::IndexReads => "reads of indexes",
        MissingPart::Statements => "statements by digest",
        MissingPart::Connections => "what connections of other accounts do",
        MissingPart::Writes => "writes of tables in MyISAM",
        MissingPart::Replication => "replication",
        MissingPart::Statistics => "statistics of tables",
    };
    let cause = match &gap.cause {
        GapCause::Privilege { grant } => grant.clone(),
        GapCause::TooManyTables { tables, most } => format!(
            "{} are many; up to {} are read",
            counted(*tables, "table"),
            grouped(*most as f64)
        ),
        GapCause::NoTimeLimit => {
            "this release ends no statement that takes too long; MySQL 5.7 and MariaDB 10.1 do".to_owned()
        }
        GapCause::NoTime => "the server took too long; try again when it is less busy".to_owned(),
        GapCause::NotCounted { option } => {
            format!("not counted; the server counts it with {option}")
        }
        GapCause::Lost => {
            "the counters overflowed; raise performance_schema_max_index_stat".to_owned()
        }
        GapCause::NotSeen { message } => {
            format!("{message}; run it on the server's host, as root or its user")
        }
        GapCause::GroupNotSeen => {
            "its control group is not visible from here; run it on the server's host, outside a container".to_owned()
        }
        GapCause::Refused { error, message } => format!("server error {error}: {message}"),
    };
    format!("{part}: {cause}")
}

/// How many levers are in which state.
pub(crate) fn levers(levers: &[LeverFact]) -> String {
    let count = |is: fn(&LeverState) -> bool| levers.iter().filter(|one| is(&one.state)).count();
    format!(
        "{} set so already, {} that `niagara tune` tries, {} that it tries on demand, {} without effect here",
        count(|state| matches!(state, LeverState::AlreadySo { .. })),
        count(|state| matches!(state, LeverState::Tried { .. })),
        count(|state| matches!(state, LeverState::OnDemand { .. })),
        count(|state| matches!(state, LeverState::NoEffect { .. }))
    )
}

/// How a server is set, as a lever sees it.
pub(crate) fn lever_state(state: &LeverState) -> String {
    let (word, settings) = match state {
        LeverState::AlreadySo { settings } => ("set so", settings),
        LeverState::Tried { settings } => ("can be tried", settings),
        LeverState::OnDemand { settings, .. } => ("on demand", settings),
        LeverState::NoEffect {
            reason:
                Reason::LittleData {
                    least_bytes,
                    bytes: there,
                },
        } => {
            return format!(
                "no effect: matters from {} of tables and indexes; there are {}",
                bytes(*least_bytes),
                bytes(*there)
            );
        }
        LeverState::NoEffect { reason } => return format!("no effect: {}", reason.detail()),
    };
    let settings: Vec<String> = settings
        .iter()
        .map(|setting| match (&setting.lever, state) {
            (Some(lever), LeverState::Tried { .. } | LeverState::OnDemand { .. }) => {
                format!("{} {} → {lever}", setting.variable, setting.now)
            }
            _ => format!("{} {}", setting.variable, setting.now),
        })
        .collect();
    format!("{word}: {}", settings.join(", "))
}

/// Rows read for each that is returned.
pub(crate) fn rows_each(digest: &Digest) -> f64 {
    digest.rows_examined / digest.rows_returned.max(digest.count).max(1.0)
}

/// Bytes for people.
pub(crate) fn bytes(bytes: u64) -> String {
    let scaled = |shift: u32| bytes as f64 / (1_u64 << shift) as f64;
    match bytes {
        bytes if bytes >= 1 << 30 => format!("{:.1} GiB", scaled(30)),
        bytes if bytes >= 1 << 20 => format!("{:.0} MiB", scaled(20)),
        _ => format!("{:.0} KiB", scaled(10)),
    }
}

/// A statement on one line of so many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// `12 days`, `3 h 20 min`.
fn days(seconds: f64) -> String {
    match seconds / 86_400.0 {
        days if days >= 2.0 => format!("{days:.0} days"),
        _ => duration(seconds),
    }
}

fn counted(number: u64, one: &str) -> String {
    count(number as usize, one)
}

fn indexes_in_words(number: usize) -> String {
    match number {
        1 => "1 index".to_owned(),
        many => format!("{many} indexes"),
    }
}

fn was(number: usize) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

fn rate_or_none(per_second: f64) -> String {
    if per_second > 0.0 {
        rate(per_second)
    } else {
        "0".to_owned()
    }
}

/// The first names of a list, and how many more there are.
fn names(all: &[impl Display]) -> String {
    let first: Vec<String> = all.iter().take(NAMES).map(ToString::to_string).collect();
    let more = match all.len().saturating_sub(NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// The beginning of a text, whole sentences.
fn first_sentences(text: &str, most: usize) -> String {
    let sentences: Vec<&str> = text.split_inclusive(". ").take(most).collect();
    let text = sentences.concat();
    format!("{}.", text.trim_end().trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::TableName;

    #[test]
    fn a_setting_is_made_at_once_where_the_server_can() {
        let one = |statement: Option<&str>| NewSetting {
            variable: "innodb_buffer_pool_size".to_owned(),
            value: "256M".to_owned(),
            statement: statement.map(str::to_owned),
        };
        let at_once = one(Some("SET GLOBAL innodb_buffer_pool_size = 268435456;"));
        assert_eq!(
            new_settings(&[at_once], Some("/etc/my.cnf")),
            "now: SET GLOBAL innodb_buffer_pool_size = 268435456; to keep it: \
             innodb_buffer_pool_size=256M under [mysqld] in /etc/my.cnf"
        );
        assert_eq!(
            new_settings(&[one(None)], None),
            "innodb_buffer_pool_size=256M under [mysqld] in the option file, then a restart"
        );
    }

    #[test]
    fn only_a_server_that_hides_indexes_is_told_to() {
        let told = |likeness: Likeness, can_hide: bool| {
            let one = DuplicateIndex {
                table: TableName {
                    schema: "shop".to_owned(),
                    table: "t".to_owned(),
                },
                index: "a".to_owned(),
                covered_by: "ab".to_owned(),
                likeness,
            };
            finding(&Finding::DuplicateIndexes {
                indexes: vec![one],
                can_hide,
            })
        };
        let beginning = told(Likeness::Beginning, true);
        assert!(
            beginning.contains(" Hide a beginning before"),
            "{beginning}"
        );
        let beginning = told(Likeness::Beginning, false);
        assert!(
            beginning.contains(" Keep a beginning, or try its drop on a copy first: "),
            "{beginning}"
        );
        assert!(!beginning.contains("Hide"), "{beginning}");
        let equal = told(Likeness::Equal, false);
        assert!(!equal.contains("a beginning"), "{equal}");
    }

    #[test]
    fn a_caution_follows_the_statements() {
        let statements = vec!["ANALYZE NO_WRITE_TO_BINLOG TABLE `shop`.`t`;".to_owned()];
        let cautious = Remedy::Statements {
            statements,
            caution: Some(Caution::LaterStatementsWait),
        };
        assert_eq!(
            remedy(&cautious),
            "ANALYZE NO_WRITE_TO_BINLOG TABLE `shop`.`t`; (at a quiet hour: while a long statement uses the table, later ones wait)"
        );
    }

    #[test]
    fn an_unknown_memory_bounds_the_pool() {
        let bounded = |unknown: UnknownMemory| {
            remedy(&Remedy::LargerPool {
                wanted_bytes: 200 << 30,
                memory_share: 0.5,
                unknown,
            })
        };
        assert_eq!(
            bounded(UnknownMemory::NotSeen),
            "innodb_buffer_pool_size of up to 200.0 GiB, and of at most 50 % of the host's memory, which cannot be seen from here"
        );
        assert_eq!(
            bounded(UnknownMemory::Shared),
            "innodb_buffer_pool_size of up to 200.0 GiB; the pools of all servers here may take 50 % of the memory together"
        );
    }

    #[test]
    fn load_is_told_in_statements() {
        assert_eq!(statements_running(2.87), "2.9 statements");
        assert_eq!(statements_running(0.004), "0.00 statements");
        assert_eq!(statements_running(12.2), "12 statements");
    }

    #[test]
    fn lists_are_cut_and_counted() {
        assert_eq!(names(&["a", "b"]), "a, b");
        assert_eq!(names(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        assert_eq!(shortened("SELECT\n a", 20), "SELECT a");
        assert_eq!(shortened("SELECT ä", 7), "SELECT …");
        assert_eq!(first_sentences("One. Two. Three.", 2), "One. Two.");
        assert_eq!(first_sentences("lost", 2), "lost.");
        assert_eq!(
            (bytes(5 << 20).as_str(), bytes(3 << 29).as_str()),
            ("5 MiB", "1.5 GiB")
        );
    }
}
