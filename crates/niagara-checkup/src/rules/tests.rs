//! Each rule on facts: planted one by one into a server with nothing wrong.

use std::collections::BTreeMap;

use jiff::civil::date;
use niagara_server::machine::Fingerprint;
use niagara_server::{Family, Version};

use super::findings;
use crate::facts::{
    Catalog, Channel, Choices, Counters, Digest, Facts, Host, Index, IndexReads, Options, Part,
    ReplicaThread, Server, Statements, Table, TableName, TableStatistics, Variables, Window,
};
use crate::finding::{Finding, Level, Likeness, StoppedPart};
use crate::release::Releases;
use crate::rule::Rules;

const MIB: f64 = 1024.0 * 1024.0;

fn table(name: &str) -> Table {
    Table {
        name: name_of(name),
        engine: "InnoDB".to_owned(),
        indexes: vec![index("PRIMARY", &["id"])],
        ..Table::default()
    }
}

fn name_of(table: &str) -> TableName {
    TableName {
        schema: "shop".to_owned(),
        table: table.to_owned(),
    }
}

fn index(name: &str, columns: &[&str]) -> Index {
    let part = |column: &&str| Part {
        column: (*column).to_owned(),
        ..Part::default()
    };
    Index {
        name: name.to_owned(),
        unique: name == "PRIMARY",
        kind: Some("BTREE".to_owned()),
        hidden: false,
        parts: columns.iter().map(part).collect(),
    }
}

/// A server with nothing wrong.
pub(crate) fn quiet() -> Facts {
    let variables = [
        ("innodb_buffer_pool_size", "134217728"),
        ("innodb_page_size", "16384"),
        ("innodb_log_file_size", "100663296"),
        ("innodb_log_buffer_size", "16777216"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("sync_binlog", "0"),
        ("log_bin", "OFF"),
        ("key_buffer_size", "134217728"),
        ("query_cache_type", "OFF"),
        ("query_cache_size", "1048576"),
        ("max_connections", "151"),
        ("table_open_cache", "2000"),
        ("slow_query_log", "ON"),
        ("long_query_time", "1.000000"),
        ("performance_schema", "OFF"),
    ];
    let counters = [
        ("connections", 1000.0),
        ("max_used_connections", 20.0),
        ("connection_errors_max_connections", 0.0),
        ("aborted_connects", 0.0),
        ("aborted_clients", 0.0),
        ("threads_created", 30.0),
        ("created_tmp_tables", 1000.0),
        ("created_tmp_disk_tables", 10.0),
        ("innodb_pages_read", 1000.0),
        ("innodb_buffer_pool_read_requests", 1e7),
        ("innodb_log_waits", 0.0),
        ("innodb_log_writes", 1e5),
        ("open_tables", 100.0),
        ("com_insert", 1e5),
    ];
    let growth = [
        ("connections", 1.0),
        ("innodb_os_log_written", 1e5),
        ("innodb_pages_read", 0.0),
        ("innodb_row_lock_time", 0.0),
        ("opened_tables", 0.0),
    ];
    Facts {
        address: "/run/mysqld/mysqld.sock".to_owned(),
        login: Vec::new(),
        server: Server {
            family: Family::Mariadb,
            version: Version {
                major: 10,
                minor: 11,
                patch: 14,
            },
            version_string: "10.11.14-MariaDB".to_owned(),
            package: "Debian 12".to_owned(),
            host: "db1".to_owned(),
            uptime_seconds: 86_400.0,
        },
        variables: Variables(
            variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        ),
        choices: Choices::default(),
        options: Options::default(),
        since_start: counters_of(&counters),
        window: Window {
            seconds: 10.0,
            growth: counters_of(&growth),
            ..Window::default()
        },
        needs_root: true,
        host: Some(Host {
            pid: 7,
            program: Some("/usr/sbin/mariadbd".to_owned()),
            resident_bytes: 400 << 20,
            swapped_bytes: 0,
            memory_bytes: Some(8 << 30),
            cpus: 4,
            other_servers: 0,
            machine: Fingerprint::default(),
        }),
        catalog: Some(Catalog {
            tables: vec![table("customer")],
            innodb_bytes: Some(64 << 20),
            index_reads: None,
        }),
        statements: None,
        channels: Vec::new(),
        today: date(2026, 11, 28),
        gaps: Vec::new(),
    }
}

fn counters_of(pairs: &[(&str, f64)]) -> Counters {
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    Counters(pairs.collect())
}

/// What is found in a quiet server with a change.
fn found(plant: impl FnOnce(&mut Facts)) -> Vec<Finding> {
    let mut facts = quiet();
    plant(&mut facts);
    let rules = Rules::built_in().expect("valid rules");
    let levers = niagara_lab::lever::load(&[]).expect("valid levers");
    let releases = Releases::built_in().expect("valid releases");
    findings(&facts, &rules, &releases, &levers)
}

/// The same as its only finding.
fn one(plant: impl FnOnce(&mut Facts)) -> Finding {
    let mut found = found(plant);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn set(facts: &mut Facts, name: &str, value: &str) {
    facts.variables.0.insert(name.to_owned(), value.to_owned());
}

fn count(facts: &mut Facts, name: &str, value: f64) {
    facts.since_start.0.insert(name.to_owned(), value);
}

fn grow(facts: &mut Facts, name: &str, value: f64) {
    facts.window.growth.0.insert(name.to_owned(), value);
}

fn tables(facts: &mut Facts) -> &mut Vec<Table> {
    &mut facts.catalog.as_mut().expect("a catalog").tables
}

#[test]
fn a_server_with_nothing_wrong_has_no_finding() {
    assert_eq!(found(|_| ()), []);
}

#[test]
fn commits_that_are_not_synced_are_found() {
    for (value, lever) in [("2", "log-flush=os"), ("0", "log-flush=second")] {
        let found = one(|facts| set(facts, "innodb_flush_log_at_trx_commit", value));
        let Finding::DurabilityOff { lever: found, .. } = found else {
            panic!("{found:?}");
        };
        assert_eq!(found, lever);
    }
    let unsynced = one(|facts| set(facts, "log_bin", "ON"));
    assert!(
        matches!(unsynced, Finding::DurabilityOff { variable, .. } if variable == "sync_binlog")
    );
}

#[test]
fn only_buffers_larger_than_memory_are_found() {
    let pool =
        |bytes: &'static str| move |facts: &mut Facts| set(facts, "innodb_buffer_pool_size", bytes);
    assert!(matches!(
        one(pool("17179869184")),
        Finding::MemoryBeyondRam { .. }
    ));
    assert_eq!(found(pool("6442450944")), []);
    let unseen = found(|facts| {
        pool("17179869184")(facts);
        facts.host.as_mut().expect("a host").memory_bytes = None;
    });
    assert_eq!(unseen, []);
}

#[test]
fn swap_counts_from_a_share_of_the_server() {
    let swapped = |mib: u64| {
        move |facts: &mut Facts| {
            facts.host.as_mut().expect("a host").swapped_bytes = mib << 20;
        }
    };
    assert!(matches!(one(swapped(200)), Finding::Swapped { .. }));
    assert_eq!(found(swapped(10)), []);
}

#[test]
fn myisam_is_found_where_it_is_written() {
    let myisam = |written: Option<bool>| {
        move |facts: &mut Facts| {
            tables(facts)[0].engine = "MyISAM".to_owned();
            tables(facts)[0].is_written = written;
        }
    };
    assert!(matches!(
        one(myisam(Some(true))),
        Finding::EngineNotCrashSafe { .. }
    ));
    assert_eq!(found(myisam(Some(false))), []);
    assert_eq!(found(myisam(None)), []);
}

#[test]
fn a_series_is_ended_after_its_last_day() {
    assert_eq!(found(|facts| facts.today = date(2028, 2, 16)), []);
    let of_debian = one(|facts| facts.today = date(2028, 2, 17));
    assert!(matches!(of_debian, Finding::ReleaseEndedUpstream { .. }));
    let own = one(|facts| {
        facts.today = date(2028, 2, 17);
        facts.server.package = "mariadb.org binary distribution".to_owned();
    });
    let Finding::ReleaseEnded { series } = own else {
        panic!("{own:?}");
    };
    assert_eq!(
        (&*series.series, &*series.newest),
        ("mariadb-10.11", "mariadb-11.8")
    );
    // No date is known of it.
    assert_eq!(found(|facts| facts.server.version.major = 99), []);
}

#[test]
fn replicas_stand_still_lag_or_take_writes() {
    let channel = |receives: bool, lag: Option<f64>, read_only: &'static str| {
        move |facts: &mut Facts| {
            set(facts, "read_only", read_only);
            let thread = |runs| ReplicaThread {
                runs,
                error: if runs { 0 } else { 2003 },
            };
            facts.channels = vec![Channel {
                source: "db0:3306".to_owned(),
                receiver: thread(receives),
                applier: thread(true),
                lag_seconds: lag,
                ..Channel::default()
            }];
        }
    };
    assert_eq!(found(channel(true, Some(1.0), "ON")), []);
    let stopped = one(channel(false, None, "ON"));
    let Finding::ReplicaStopped { channels } = &stopped else {
        panic!("{stopped:?}");
    };
    assert_eq!(channels[0].part, StoppedPart::Receiver);
    assert!(matches!(
        one(channel(true, Some(90.0), "ON")),
        Finding::ReplicaLags { .. }
    ));
    assert!(matches!(
        one(channel(true, Some(1.0), "OFF")),
        Finding::ReplicaWritable { .. }
    ));
    assert_eq!(found(|facts| set(facts, "read_only", "OFF")), []);
}

#[test]
fn writes_of_a_replica_are_counted() {
    let written = |plant: fn(&mut Facts)| {
        let found = one(|facts| {
            set(facts, "read_only", "OFF");
            let thread = ReplicaThread {
                runs: true,
                error: 0,
            };
            facts.channels = vec![Channel {
                receiver: thread,
                applier: thread,
                ..Channel::default()
            }];
            count(facts, "com_insert", 0.0);
            plant(facts);
        });
        match found {
            Finding::ReplicaWritable {
                writes, in_cluster, ..
            } => (writes, in_cluster),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(written(|_| ()), (0, false));
    assert_eq!(
        written(|facts| count(facts, "com_update_multi", 5.0)),
        (5, false)
    );
    assert_eq!(written(|facts| grow(facts, "com_load", 1.0)), (1, false));
    assert_eq!(written(|facts| set(facts, "wsrep_on", "OFF")), (0, false));
    assert_eq!(
        written(|facts| set(facts, "wsrep_provider", "none")),
        (0, false)
    );
    assert_eq!(written(|facts| set(facts, "wsrep_on", "ON")), (0, true));
    let library = |facts: &mut Facts| set(facts, "wsrep_provider", "/usr/lib/libgalera_smm.so");
    assert_eq!(written(library), (0, true));
}

#[test]
fn refused_connections_come_before_nearly_refused_ones() {
    let refused = one(|facts| {
        count(facts, "connection_errors_max_connections", 3.0);
        count(facts, "max_used_connections", 152.0);
    });
    assert!(matches!(
        refused,
        Finding::ConnectionsRefused {
            refused: 3,
            max_connections: 151
        }
    ));
    let near = one(|facts| count(facts, "max_used_connections", 140.0));
    assert!(matches!(
        near,
        Finding::ConnectionsNearLimit { most_used: 140, .. }
    ));
}

#[test]
fn failures_count_from_a_number_and_a_share() {
    assert!(matches!(
        one(|facts| count(facts, "aborted_connects", 50.0)),
        Finding::LoginsFailed { failed: 50, .. }
    ));
    assert_eq!(found(|facts| count(facts, "aborted_connects", 9.0)), []);
    assert!(matches!(
        one(|facts| count(facts, "aborted_clients", 50.0)),
        Finding::ClientsLost { .. }
    ));
    assert_eq!(found(|facts| count(facts, "aborted_clients", 49.0)), []);
}

#[test]
fn a_pool_is_too_small_where_pages_are_read_again() {
    let data = |facts: &mut Facts, read_mib: f64| {
        facts.catalog.as_mut().expect("a catalog").innodb_bytes = Some(1 << 30);
        count(facts, "innodb_pages_read", read_mib * MIB / 16384.0);
    };
    assert!(matches!(
        one(|facts| data(facts, 4096.0)),
        Finding::PoolTooSmall { .. }
    ));
    // It has just started: all that was read was read once.
    assert_eq!(found(|facts| data(facts, 1000.0)), []);
    // What was read again fits: by dropped tables.
    assert_eq!(found(|facts| count(facts, "innodb_pages_read", 1e6)), []);
}

#[test]
fn a_redo_log_is_too_small_that_is_soon_written_round() {
    let found_at =
        |per_second: f64| found(|facts| grow(facts, "innodb_os_log_written", per_second * 10.0));
    assert!(matches!(found_at(1e6)[..], [Finding::RedoTooSmall { .. }]));
    assert_eq!(found_at(1e5), []);
}

#[test]
fn caches_are_found_by_what_they_do() {
    assert!(matches!(
        one(|facts| set(facts, "query_cache_type", "ON")),
        Finding::QueryCacheOn { .. }
    ));
    assert!(matches!(
        one(|facts| count(facts, "created_tmp_disk_tables", 400.0)),
        Finding::TemporaryTablesOnDisk { .. }
    ));
    assert!(matches!(
        one(|facts| count(facts, "innodb_log_waits", 500.0)),
        Finding::LogBufferWaits { .. }
    ));
    assert!(matches!(
        one(|facts| {
            count(facts, "open_tables", 2000.0);
            grow(facts, "opened_tables", 100.0);
        }),
        Finding::TableCacheTooSmall { .. }
    ));
    assert!(matches!(
        one(|facts| {
            count(facts, "threads_created", 900.0);
            grow(facts, "connections", 100.0);
        }),
        Finding::ThreadsNotCached { .. }
    ));
}

#[test]
fn a_unique_index_without_null_is_a_key() {
    let keyed = |nullable: bool| {
        move |facts: &mut Facts| {
            let mut unique = index("u", &["a"]);
            unique.unique = true;
            unique.parts[0].nullable = nullable;
            tables(facts)[0].indexes = vec![unique];
        }
    };
    assert!(matches!(one(keyed(true)), Finding::TablesWithoutKey { .. }));
    assert_eq!(found(keyed(false)), []);
}

#[test]
fn duplicates_are_beginnings_that_enforce_nothing() {
    let pairs = |indexes: Vec<Index>| {
        let found = found(|facts| tables(facts)[0].indexes.extend(indexes));
        let pairs = found.into_iter().flat_map(|finding| match finding {
            Finding::DuplicateIndexes { indexes, .. } => indexes,
            other => panic!("{other:?}"),
        });
        let pairs: Vec<String> = pairs
            .map(|pair| {
                let sign = match pair.likeness {
                    Likeness::Equal => '=',
                    Likeness::Beginning => '<',
                    Likeness::WholeRows => '!',
                };
                format!("{}{sign}{}", pair.index, pair.covered_by)
            })
            .collect();
        pairs.join(" ")
    };
    let unique = |name: &str, columns: &[&str]| Index {
        unique: true,
        ..index(name, columns)
    };
    assert_eq!(
        pairs(vec![index("a", &["a"]), index("ab", &["a", "b"])]),
        "a<ab"
    );
    assert_eq!(
        pairs(vec![index("b", &["b"]), index("ab", &["a", "b"])]),
        ""
    );
    assert_eq!(pairs(vec![index("a", &["a"]), index("a2", &["a"])]), "a2=a");
    assert_eq!(
        pairs(vec![unique("u", &["a"]), index("ab", &["a", "b"])]),
        ""
    );
    assert_eq!(pairs(vec![index("a", &["a"]), unique("u", &["a"])]), "a=u");
    // Of two that cover it, the equal one is named.
    assert_eq!(
        pairs(vec![
            index("a", &["a"]),
            index("ab", &["a", "b"]),
            unique("u", &["a"])
        ]),
        "a=u"
    );
    // The primary key is the table itself.
    assert_eq!(pairs(vec![index("i", &["id"])]), "i!PRIMARY");
    let mut prefix = index("p", &["a"]);
    prefix.parts[0].prefix = Some(10);
    assert_eq!(pairs(vec![index("a", &["a"]), prefix]), "");
    let mut words = index("w", &["a"]);
    words.kind = Some("FULLTEXT".to_owned());
    assert_eq!(pairs(vec![words, index("ab", &["a", "b"])]), "");
    // Of tables that were not opened.
    let unknown = |name: &str, columns: &[&str]| Index {
        kind: None,
        ..index(name, columns)
    };
    assert_eq!(pairs(vec![unknown("a", &["a"]), unknown("a2", &["a"])]), "");
}

#[test]
fn a_hidden_index_replaces_no_other() {
    let pairs = |hidden: &str, names: [(&str, &[&str]); 2]| {
        let found = found(|facts| {
            tables(facts)[0]
                .indexes
                .extend(names.map(|(name, columns)| Index {
                    hidden: name == hidden,
                    ..index(name, columns)
                }));
        });
        match found.as_slice() {
            [] => String::new(),
            [Finding::DuplicateIndexes { indexes, .. }] => {
                format!("{}<{}", indexes[0].index, indexes[0].covered_by)
            }
            other => panic!("{other:?}"),
        }
    };
    let longer: [(&str, &[&str]); 2] = [("a", &["a"]), ("ab", &["a", "b"])];
    assert_eq!(pairs("", longer), "a<ab");
    assert_eq!(pairs("ab", longer), "");
    let equal: [(&str, &[&str]); 2] = [("a", &["a"]), ("a2", &["a"])];
    assert_eq!(pairs("", equal), "a2<a");
    assert_eq!(pairs("a2", equal), "a2<a");
    assert_eq!(pairs("a", equal), "a<a2");
    // A beginning that is hidden already.
    assert_eq!(pairs("a", longer), "");
}

#[test]
fn duplicates_tell_whether_the_server_hides_indexes() {
    for (family, version, expected) in [
        (Family::Mariadb, "10.11.6", true),
        (Family::Mariadb, "10.5.2", false),
        (Family::Mysql, "8.0.36", true),
        (Family::Mysql, "5.7.40", false),
    ] {
        let found = found(|facts| {
            facts.server.family = family;
            facts.server.version = version.parse().expect("a version");
            tables(facts)[0]
                .indexes
                .extend([index("a", &["a"]), index("ab", &["a", "b"])]);
        });
        let told = found.iter().find_map(|finding| match finding {
            Finding::DuplicateIndexes { can_hide, .. } => Some(*can_hide),
            _ => None,
        });
        assert_eq!(told, Some(expected), "{version}");
    }
}

#[test]
fn an_index_is_unused_where_its_table_is_read() {
    let reads = |table_reads: f64, foreign: bool, hidden: bool| {
        move |facts: &mut Facts| {
            tables(facts)[0].indexes.push(Index {
                hidden,
                ..index("old", &["note"])
            });
            if foreign {
                tables(facts)[0].foreign_keys.push("note".to_owned());
            }
            let of_table = [("PRIMARY", table_reads), ("old", 0.0)];
            let of_table: BTreeMap<String, f64> = of_table
                .map(|(name, reads)| (name.to_owned(), reads))
                .into();
            facts.catalog.as_mut().expect("a catalog").index_reads = Some(IndexReads {
                of_table: [(name_of("customer"), of_table)].into(),
                ..IndexReads::default()
            });
        }
    };
    assert!(matches!(
        one(reads(5000.0, false, false)),
        Finding::UnusedIndexes { .. }
    ));
    assert_eq!(found(reads(5.0, false, false)), []);
    assert_eq!(found(reads(5000.0, true, false)), []);
    // Statements cannot read it.
    assert_eq!(found(reads(5000.0, false, true)), []);
}

#[test]
fn no_column_loses_all_its_indexes() {
    let unused = |columns: [&[&str]; 2], read: &str| {
        let found = found(|facts| {
            let names = ["k", "k2"];
            let indexes = names.iter().zip(columns);
            let indexes = indexes.map(|(name, columns)| index(name, columns));
            tables(facts)[0].indexes.extend(indexes);
            let of_table = BTreeMap::from([(read.to_owned(), 5000.0)]);
            facts.catalog.as_mut().expect("a catalog").index_reads = Some(IndexReads {
                of_table: [(name_of("customer"), of_table)].into(),
                ..IndexReads::default()
            });
        });
        let unused = found.into_iter().filter_map(|finding| match finding {
            Finding::UnusedIndexes { indexes, .. } => Some(indexes),
            _ => None,
        });
        let names = unused.flatten().map(|one| one.index);
        names.collect::<Vec<_>>().join(" ")
    };
    // The optimizer takes the beginning, which is the one to go, or the other of two that are equal.
    assert_eq!(unused([&["a"], &["a", "b"]], "k"), "");
    assert_eq!(unused([&["a"], &["a"]], "k2"), "");
    // One that is to be dropped or hidden already.
    assert_eq!(unused([&["a"], &["a", "b"]], "k2"), "");
    // Nothing reads either of them.
    assert_eq!(unused([&["a"], &["a", "b"]], "PRIMARY"), "k2");
    assert_eq!(unused([&["a"], &["b"]], "k"), "k2");
}

#[test]
fn statements_count_by_rows_and_time() {
    let statement = |returned: f64, seconds: f64| {
        move |facts: &mut Facts| {
            set(facts, "performance_schema", "ON");
            facts.statements = Some(Statements {
                seconds: 100.0,
                digests: vec![Digest {
                    text: "SELECT * FROM `t` WHERE `a` = ?".to_owned(),
                    count: 10.0,
                    seconds,
                    rows_examined: 1e6,
                    rows_returned: returned,
                    ..Digest::default()
                }],
            });
        }
    };
    assert!(matches!(
        one(statement(10.0, 50.0)),
        Finding::StatementsReadMuch { .. }
    ));
    assert_eq!(found(statement(1e6, 50.0)), []);
    assert_eq!(found(statement(10.0, 1.0)), []);
}

#[test]
fn waits_and_missing_records_are_found() {
    assert!(matches!(
        one(|facts| grow(facts, "innodb_row_lock_time", 4000.0)),
        Finding::RowLockWaits { .. }
    ));
    assert!(matches!(
        one(|facts| set(facts, "slow_query_log", "OFF")),
        Finding::StatementsNotRecorded {
            slow_log: false,
            ..
        }
    ));
    assert!(matches!(
        one(|facts| set(facts, "long_query_time", "10.000000")),
        Finding::StatementsNotRecorded { slow_log: true, .. }
    ));
    assert_eq!(
        found(|facts| {
            set(facts, "slow_query_log", "OFF");
            set(facts, "performance_schema", "ON");
        }),
        []
    );
}

#[test]
fn statistics_are_stale_once_a_table_has_doubled() {
    let statistics = |rows: f64, before_start: bool| {
        move |facts: &mut Facts| {
            tables(facts)[0].statistics = Some(TableStatistics {
                rows,
                inserted: 5000.0,
                before_start,
            });
        }
    };
    assert!(matches!(
        one(statistics(100.0, true)),
        Finding::StatisticsStale { .. }
    ));
    assert_eq!(found(statistics(100.0, false)), []);
    assert_eq!(found(statistics(9000.0, true)), []);
}

#[test]
fn the_worst_finding_comes_first() {
    let found = found(|facts| {
        set(facts, "slow_query_log", "OFF");
        set(facts, "query_cache_type", "ON");
        set(facts, "innodb_flush_log_at_trx_commit", "0");
        count(facts, "connection_errors_max_connections", 3.0);
    });
    let rules = Rules::built_in().expect("valid rules");
    let levels: Vec<Level> = found.iter().map(|one| rules.of(one).level).collect();
    assert_eq!(
        levels,
        [Level::Danger, Level::Fault, Level::Cost, Level::Note]
    );
}
