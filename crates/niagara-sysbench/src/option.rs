//! sysbench's options as data: names, kinds, defaults. The descriptions are ours; those of the workloads come from
//! the load generator.

use niagara_load::{OptionGroup, OptionValue, SysbenchTest, WORKLOAD_OPTIONS};

/// What a value may look like, and how the help shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `on`, `true`, `1`, or nothing: on; `off`, `false`, `0`: off.
    Flag,
    /// A whole number that fits a C `int`.
    Integer,
    /// A whole number with an optional K, M, G or T.
    Size,
    /// A number.
    Number,
    /// Anything.
    Text,
    /// Values separated by commas.
    List,
    /// A file that is read where the option stands.
    File,
}

impl Kind {
    /// The form of the value, as it follows the name in a help text.
    pub fn form(self) -> &'static str {
        match self {
            Kind::Flag => "[=on|off]",
            Kind::Integer | Kind::Number => "=N",
            Kind::Size => "=SIZE",
            Kind::Text => "=STRING",
            Kind::List => "=[LIST,...]",
            Kind::File => "=FILENAME",
        }
    }
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Without the two dashes. `-` and `_` are the same to the parser.
    pub name: &'static str,
    pub kind: Kind,
    /// `None` where there is no value unless one is given.
    pub default: Option<&'static str>,
    pub help: &'static str,
}

const fn option(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    help: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        default,
        help,
    }
}

use Kind::{File, Flag, Integer, List, Number, Size, Text};

/// Options of every test.
pub(crate) const GENERAL: &[Definition] = &[
    option(
        "threads",
        Integer,
        Some("1"),
        "connections, each with one transaction at a time",
    ),
    option(
        "events",
        Integer,
        Some("0"),
        "stop after this many transactions, 0 for no limit",
    ),
    option(
        "time",
        Integer,
        Some("10"),
        "stop after this many seconds, 0 for no limit",
    ),
    option(
        "warmup-time",
        Integer,
        Some("0"),
        "seconds of load before anything is counted (sysbench 1.1)",
    ),
    option(
        "forced-shutdown",
        Text,
        Some("off"),
        "seconds after --time at which transactions in flight are given up, or N% of --time, or off",
    ),
    option(
        "thread-stack-size",
        Size,
        Some("64K"),
        "accepted; connections have no threads of their own",
    ),
    option(
        "rate",
        Integer,
        Some("0"),
        "transactions per second on average, 0 for as fast as possible",
    ),
    option(
        "report-interval",
        Integer,
        Some("0"),
        "seconds between intermediate lines, 0 for none",
    ),
    option(
        "report-checkpoints",
        List,
        Some(""),
        "seconds after the start at which to print a full report and count from zero again",
    ),
    option(
        "debug",
        Flag,
        Some("off"),
        "the greatest verbosity, and statistics of every connection",
    ),
    option(
        "validate",
        Flag,
        Some("off"),
        "accepted; the database tests have nothing to validate",
    ),
    option("help", Flag, Some("off"), "print this help and stop"),
    option("version", Flag, Some("off"), "print the version and stop"),
    option(
        "config-file",
        File,
        None,
        "file with options, one name=value a line",
    ),
    option(
        "luajit-cmd",
        Text,
        None,
        "what LuaJIT's compiler is told, as by luajit -j: on, off or flush",
    ),
    option("tx-rate", Integer, Some("0"), "old name of --rate"),
    option("max-requests", Integer, Some("0"), "old name of --events"),
    option("max-time", Integer, Some("0"), "old name of --time"),
    option("num-threads", Integer, Some("1"), "old name of --threads"),
];

/// The seed of random numbers; their other options are the workloads'.
pub const SEED: &[Definition] = &[option(
    "rand-seed",
    Integer,
    Some("0"),
    "seed of everything drawn, 0 for a fresh one",
)];

/// Options of the output.
pub const LOG: &[Definition] = &[
    option(
        "verbosity",
        Integer,
        Some("3"),
        "from 0, only what is fatal, to 5",
    ),
    option(
        "percentile",
        Integer,
        Some("95"),
        "percentile of the latency to report, 1 to 100, or 0 for none",
    ),
    option(
        "histogram",
        Flag,
        Some("off"),
        "print the histogram of the latency",
    ),
];

/// Options of databases in general.
pub const DATABASE: &[Definition] = &[
    option(
        "db-driver",
        Text,
        Some("mysql"),
        "kind of server; mysql is the only one",
    ),
    option("db-debug", Flag, Some("off"), "not supported"),
];

/// Options of the way to the server.
pub const MYSQL: &[Definition] = &[
    option(
        "mysql-host",
        List,
        Some("localhost"),
        "host; several are refused",
    ),
    option(
        "mysql-port",
        List,
        Some("3306"),
        "port; several are refused",
    ),
    option(
        "mysql-socket",
        List,
        None,
        "Unix socket; it goes before the host",
    ),
    option("mysql-user", Text, Some("sbtest"), "account"),
    option("mysql-password", Text, Some(""), "its password"),
    option("mysql-db", Text, Some("sbtest"), "database"),
    option(
        "mysql-ssl",
        Text,
        Some("off"),
        "encrypt connections: on, off, or a mode as required or verify_ca",
    ),
    option("mysql-ssl-key", Text, None, "file with the client's key"),
    option(
        "mysql-ssl-ca",
        Text,
        None,
        "file with the certificates that are trusted",
    ),
    option(
        "mysql-ssl-cert",
        Text,
        None,
        "file with the client's certificate",
    ),
    option(
        "mysql-ssl-cipher",
        Text,
        Some(""),
        "not supported: the strongest common cipher is taken",
    ),
    option("mysql-compression", Flag, Some("off"), "not supported"),
    option("mysql-debug", Flag, Some("off"), "not supported"),
    option(
        "mysql-ignore-errors",
        List,
        Some("1213,1020,1205"),
        "errors after which a transaction begins again, or all",
    ),
    option("mysql-dry-run", Flag, Some("off"), "not supported"),
];

/// Options of the other database that sysbench knows: they are recognised and, when set, refused.
pub(crate) const POSTGRES: &[Definition] = &[
    option("pgsql-host", Text, Some("localhost"), ""),
    option("pgsql-port", Integer, Some("5432"), ""),
    option("pgsql-user", Text, Some("sbtest"), ""),
    option("pgsql-password", Text, Some(""), ""),
    option("pgsql-db", Text, Some("sbtest"), ""),
    option("pgsql-sslmode", Text, Some("prefer"), ""),
];

/// An option that sysbench's OLTP tests have for the other database.
pub(crate) const OLTP_FOREIGN: &[Definition] = &[option("pgsql_variant", Text, None, "")];

/// The options that the load generator has for workloads, in these groups.
pub(crate) fn workload_options(groups: &[OptionGroup]) -> Vec<Definition> {
    WORKLOAD_OPTIONS
        .iter()
        .filter(|option| groups.contains(&option.group))
        .map(|option| Definition {
            name: option.name,
            kind: match option.value {
                OptionValue::Flag => Flag,
                OptionValue::Number | OptionValue::Real => Number,
                OptionValue::Text | OptionValue::Choice(_) => Text,
            },
            default: Some(option.default),
            help: option.help,
        })
        .collect()
}

/// The options that one workload brings beyond the general ones.
pub fn of_test(kind: SysbenchTest) -> Vec<Definition> {
    let mut groups = Vec::new();
    if kind != SysbenchTest::BulkInsert {
        groups.push(OptionGroup::Oltp);
    }
    match kind {
        SysbenchTest::SelectRandomPoints => groups.push(OptionGroup::RandomPoints),
        SysbenchTest::SelectRandomRanges => groups.push(OptionGroup::RandomRanges),
        _ => {}
    }
    let mut options = workload_options(&groups);
    options.sort_by_key(|option| option.name);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_defaults_fit_their_kind() {
        let mut seen = BTreeSet::new();
        let workloads = workload_options(&[
            OptionGroup::Oltp,
            OptionGroup::RandomPoints,
            OptionGroup::RandomRanges,
            OptionGroup::Random,
            OptionGroup::Database,
        ]);
        for group in [
            GENERAL,
            SEED,
            LOG,
            DATABASE,
            MYSQL,
            POSTGRES,
            OLTP_FOREIGN,
            &workloads,
        ] {
            for definition in group {
                assert!(
                    seen.insert(definition.name.replace('_', "-")),
                    "{definition:?}"
                );
                let Some(default) = definition.default else {
                    continue;
                };
                match definition.kind {
                    Kind::Flag => assert!(["on", "off"].contains(&default), "{definition:?}"),
                    Kind::Integer => assert!(default.parse::<i32>().is_ok(), "{definition:?}"),
                    Kind::Number => assert!(default.parse::<f64>().is_ok(), "{definition:?}"),
                    _ => {}
                }
            }
        }
    }
}
