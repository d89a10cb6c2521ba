//! sysbench's options as data: names, kinds, defaults, and the labels that its help has for them, which programs and tests
//! compare. What the options of the workloads are comes from the load generator.

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
    /// On, off, or anything else: without a value it is on.
    Mode,
    /// Values separated by commas.
    List,
    /// A file that is read where the option stands.
    File,
}

impl Kind {
    /// The form of the value, as it follows the name in a help text.
    pub fn form(self) -> &'static str {
        match self {
            Kind::Flag | Kind::Mode => "[=on|off]",
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

use Kind::{File, Flag, Integer, List, Mode, Number, Size, Text};

/// Options of every test.
pub(crate) const GENERAL: &[Definition] = &[
    option("threads", Integer, Some("1"), "number of threads to use"),
    option(
        "events",
        Integer,
        Some("0"),
        "limit for total number of events",
    ),
    option(
        "time",
        Integer,
        Some("10"),
        "limit for total execution time in seconds",
    ),
    option(
        "forced-shutdown",
        Text,
        Some("off"),
        "number of seconds to wait after the --time limit before forcing shutdown, or 'off' to disable",
    ),
    option(
        "thread-stack-size",
        Size,
        Some("64K"),
        "size of stack per thread",
    ),
    option(
        "rate",
        Integer,
        Some("0"),
        "average transactions rate. 0 for unlimited rate",
    ),
    option(
        "report-interval",
        Integer,
        Some("0"),
        "periodically report intermediate statistics with a specified interval in seconds. 0 disables intermediate reports",
    ),
    option(
        "report-checkpoints",
        List,
        Some(""),
        "dump full statistics and reset all counters at specified points in time. The argument is a list of comma-separated \
         values representing the amount of time in seconds elapsed from start of test when report checkpoint(s) must be \
         performed. Report checkpoints are off by default.",
    ),
    option("debug", Flag, Some("off"), "print more debugging info"),
    option(
        "validate",
        Flag,
        Some("off"),
        "perform validation checks where possible",
    ),
    option("help", Flag, Some("off"), "print help and exit"),
    option("version", Flag, Some("off"), "print version and exit"),
    option(
        "config-file",
        File,
        None,
        "File containing command line options",
    ),
    option("tx-rate", Integer, Some("0"), "deprecated alias for --rate"),
    option(
        "max-requests",
        Integer,
        Some("0"),
        "deprecated alias for --events",
    ),
    option(
        "max-time",
        Integer,
        Some("0"),
        "deprecated alias for --time",
    ),
    option(
        "num-threads",
        Integer,
        Some("1"),
        "deprecated alias for --threads",
    ),
];

/// Options that sysbench 1.0.20 has not, or does not tell of.
pub const BEYOND: &[Definition] = &[
    option(
        "warmup-time",
        Integer,
        Some("0"),
        "seconds of load before anything is counted (sysbench 1.1)",
    ),
    option(
        "thread-init-timeout",
        Integer,
        Some("30"),
        "seconds after which a connection has to be there (sysbench 1.1)",
    ),
    option(
        "niagara-loops",
        Integer,
        Some("0"),
        "threads of the system that drive the connections; 0: as many as there usually are for this machine's CPUs",
    ),
    option(
        "luajit-cmd",
        Text,
        None,
        "what LuaJIT's compiler is told, as by luajit -j: on, off or flush",
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
];

/// The seed of random numbers; their other options are the workloads'.
pub const SEED: &[Definition] = &[option(
    "rand-seed",
    Integer,
    Some("0"),
    "seed for random number generator. When 0, the current time is used as a RNG seed.",
)];

/// Options of the output.
pub const LOG: &[Definition] = &[
    option(
        "verbosity",
        Integer,
        Some("3"),
        "verbosity level {5 - debug, 0 - only critical messages}",
    ),
    option(
        "percentile",
        Integer,
        Some("95"),
        "percentile to calculate in latency statistics (1-100). Use the special value of 0 to disable percentile calculations",
    ),
    option(
        "histogram",
        Flag,
        Some("off"),
        "print latency histogram in report",
    ),
];

/// Options of databases in general.
pub const DATABASE: &[Definition] = &[
    option(
        "db-driver",
        Text,
        Some("mysql"),
        "specifies database driver to use ('help' to get list of available drivers)",
    ),
    option(
        "db-debug",
        Flag,
        Some("off"),
        "print database-specific debug information",
    ),
];

/// Options of the way to the server.
pub const MYSQL: &[Definition] = &[
    option("mysql-host", List, Some("localhost"), "MySQL server host"),
    option("mysql-port", List, Some("3306"), "MySQL server port"),
    option("mysql-socket", List, None, "MySQL socket"),
    option("mysql-user", Text, Some("sbtest"), "MySQL user"),
    option("mysql-password", Text, Some(""), "MySQL password"),
    option("mysql-db", Text, Some("sbtest"), "MySQL database name"),
    option(
        "mysql-ssl",
        Mode,
        Some("off"),
        "use SSL connections, if available in the client library",
    ),
    option(
        "mysql-ssl-cipher",
        Text,
        Some(""),
        "use specific cipher for SSL connections",
    ),
    option(
        "mysql-compression",
        Flag,
        Some("off"),
        "use compression, if available in the client library",
    ),
    option(
        "mysql-debug",
        Flag,
        Some("off"),
        "trace all client library calls",
    ),
    option(
        "mysql-ignore-errors",
        List,
        Some("1213,1020,1205"),
        "list of errors to ignore, or \"all\"",
    ),
    option(
        "mysql-dry-run",
        Flag,
        Some("off"),
        "Dry run, pretend that all MySQL client API calls are successful without executing them",
    ),
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

/// The labels of those of them that sysbench's general help tells of.
const LABELS: &[(&str, &str)] = &[
    (
        "rand_type",
        "random numbers distribution {uniform,gaussian,special,pareto}",
    ),
    (
        "rand_spec_iter",
        "number of iterations used for numbers generation",
    ),
    (
        "rand_spec_pct",
        "percentage of values to be treated as 'special' (for special distribution)",
    ),
    (
        "rand_spec_res",
        "percentage of 'special' values to use (for special distribution)",
    ),
    ("rand_pareto_h", "parameter h for pareto distribution"),
    (
        "db_ps_mode",
        "prepared statements usage mode {auto, disable}",
    ),
];

/// Of the load generator's options in these groups, those that sysbench's general help tells of, with its labels and in its
/// order, and the others.
pub(crate) fn labelled_options(groups: &[OptionGroup]) -> (Vec<Definition>, Vec<Definition>) {
    let mut others = workload_options(groups);
    let mut known = Vec::new();
    for (name, help) in LABELS {
        if let Some(place) = others.iter().position(|option| option.name == *name) {
            known.push(Definition {
                help,
                ..others.remove(place)
            });
        }
    }
    (known, others)
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
            BEYOND,
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
