//! The format of a study file as data: what the checker, the JSON schema and the documentation share.

use niagara_build::{BoltProfile, Linker, Lto};

/// What a key's value must look like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Text, not empty.
    Text,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A whole number within bounds.
    Whole(u64, u64),
    /// `0.5%` or `0.005`, as text or number.
    Share,
    /// A probability from 0.0001 to 0.5.
    Probability,
    /// `90s`, `10m`.
    Duration,
    /// One thread count, a list of them, or `1..256`.
    Threads,
    /// true or false.
    YesNo,
    /// Text, number, true or false.
    Scalar,
    /// A list of texts.
    Texts,
    /// A table with these keys.
    Table(&'static Group),
    /// A list of such tables, `[[name]]`.
    Tables(&'static Group),
    /// Tables of that kind, each with a name of the author's: `[variants.NAME]`.
    Named(&'static Group),
    /// Keys of the author's, each with a text, number, true or false.
    Map,
    /// Words: a text, or a list of texts.
    Words,
    /// Workloads with their weights: words, or a table of whole numbers.
    Weights,
    /// A text, or a table with these keys.
    TextOr(&'static Group),
}

/// A weight of a [`Shape::Weights`].
pub(crate) const WEIGHT: Shape = Shape::Whole(1, u32::MAX as u64);

/// A key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    /// What it is for: the schema's description.
    pub help: &'static str,
    pub required: bool,
}

/// A table's keys.
#[derive(Debug)]
pub(crate) struct Group {
    /// How messages call it.
    pub name: &'static str,
    pub keys: &'static [Key],
}

impl Group {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

const fn key(name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key {
        name,
        shape,
        help,
        required: false,
    }
}

const fn required(name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key {
        required: true,
        ..key(name, shape, help)
    }
}

pub(crate) const KINDS: [&str; 4] = ["compare", "ladder", "matrix", "sweep"];
pub(crate) const SIZES: [&str; 2] = ["small", "original"];

const LEVERS: Key = key(
    "levers",
    Shape::Texts,
    "Levers in order, as on the command line: \"malloc=jemalloc\", \"transport=unix\", \"cfg.innodb_io_capacity=2000\"",
);
const CONFIG: Key = key(
    "config",
    Shape::Map,
    "Server variables: innodb_io_capacity = 2000; true is ON, an empty text is a flag",
);
const RUNTIME: Key = key(
    "runtime",
    Shape::Table(&RUNTIME_KEYS),
    "What surrounds the server's process",
);
const ENGINE: Key = key(
    "engine",
    Shape::Text,
    "Storage engine of the tables: InnoDB, Aria, MyISAM, RocksDB",
);
const TITLE: Key = key("title", Shape::Text, "For people");

const BUILD: Key = key(
    "build",
    Shape::Table(&BUILD_KEYS),
    "How the server is built (docs/builds.md)",
);

static BUILD_KEYS: Group = Group {
    name: "a build",
    keys: &[
        key(
            "source",
            Shape::Text,
            "A source tree, by its path from this file's folder; else the server's source package",
        ),
        key(
            "compiler",
            Shape::Text,
            "gcc, clang, or one of a version: clang-19",
        ),
        key(
            "flags",
            Shape::Words,
            "Flags for C and C++, behind the package's own",
        ),
        key("c_flags", Shape::Words, "Flags for C alone"),
        key("cxx_flags", Shape::Words, "Flags for C++ alone"),
        key("link_flags", Shape::Words, "Flags for linking"),
        key(
            "linker",
            Shape::Word(Linker::WORDS),
            "The linker; the compiler's own unless given",
        ),
        key(
            "cmake",
            Shape::Map,
            "Options of cmake: WITH_WSREP = \"OFF\"",
        ),
        key("lto", Shape::Word(Lto::WORDS), "Optimisation while linking"),
        key(
            "pgo",
            Shape::TextOr(&TRAINING),
            "Profile feedback: the workloads to train on, as in \"oltp_read_only:2/oltp_read_write\"",
        ),
        key(
            "bolt",
            Shape::TextOr(&TRAINING),
            "The finished binary laid out again by a profile: the workloads to train on",
        ),
        key(
            "bolt_profile",
            Shape::Word(BoltProfile::WORDS),
            "How BOLT's profile is taken",
        ),
        key("patches", Shape::Words, "Source changes, by name"),
        key(
            "static_libraries",
            Shape::Words,
            "Libraries linked in: cxx, ssl, zlib",
        ),
    ],
};

static TRAINING: Group = Group {
    name: "a training",
    keys: &[
        required(
            "workloads",
            Shape::Weights,
            "What to train on: { oltp_read_only = 2, oltp_read_write = 1 }",
        ),
        key("threads", Shape::Whole(1, 16_384), "Connections"),
        key("seconds", Shape::Whole(1, 86_400), "Seconds of load in all"),
        key("tables", Shape::Whole(1, 10_000), "Tables"),
        key(
            "table_size",
            Shape::Whole(1, u32::MAX as u64),
            "Rows of each table",
        ),
    ],
};

static RUNTIME_KEYS: Group = Group {
    name: "[runtime]",
    keys: &[
        key(
            "malloc",
            Shape::Text,
            "Memory allocator to preload: glibc, jemalloc, tcmalloc, mimalloc",
        ),
        key(
            "huge_pages_heap",
            Shape::YesNo,
            "Ask the malloc for transparent huge pages",
        ),
        key(
            "transport",
            Shape::Word(&["tcp", "unix"]),
            "How the load reaches the server",
        ),
        key(
            "server_cpus",
            Shape::Text,
            "CPUs of the server, as in 0-3,8",
        ),
        key(
            "client_cpus",
            Shape::Text,
            "CPUs of the load generator, as in 0-3,8",
        ),
        key(
            "environment",
            Shape::Map,
            "Environment of the server's process",
        ),
        key(
            "lock_memory",
            Shape::YesNo,
            "Keep the server's memory from being swapped",
        ),
    ],
};

static WORKLOAD: Group = Group {
    name: "a workload",
    keys: &[
        required(
            "name",
            Shape::Text,
            "A workload that Niagara knows, or the path of one of your own, from this file's folder: ./shop.toml",
        ),
        key(
            "title",
            Shape::Text,
            "What it is called in the report, without a comma; its name unless given",
        ),
        key(
            "options",
            Shape::Map,
            "Options by sysbench's names: table_size = 100000, point_selects = 5; of a workload from a file the numbers of its [scale]",
        ),
        key(
            "trained",
            Shape::YesNo,
            "Builds were trained with it: its results are shown apart from those of held-out workloads",
        ),
    ],
};

static VARIANT: Group = Group {
    name: "a variant",
    keys: &[
        TITLE,
        key(
            "server",
            Shape::Text,
            "Another server than the study's: a name of `niagara server list`, or a path",
        ),
        ENGINE,
        BUILD,
        LEVERS,
        CONFIG,
        RUNTIME,
    ],
};

static RUNG: Group = Group {
    name: "[[rungs]]",
    keys: &[
        required("title", Shape::Text, "What is changed, for people"),
        key(
            "published",
            Shape::Text,
            "What the published study found, as in \"+8.1 %\"",
        ),
        key(
            "why",
            Shape::Text,
            "What it is today, and what is expected of it",
        ),
        key(
            "cannot",
            Shape::Text,
            "Why this rung cannot be tried today: it stays in the report with this reason",
        ),
        BUILD,
        LEVERS,
        CONFIG,
        RUNTIME,
    ],
};

static LEVEL: Group = Group {
    name: "a level of an axis",
    keys: &[
        required("name", Shape::Text, "Short, for tables and charts"),
        BUILD,
        LEVERS,
        CONFIG,
        RUNTIME,
    ],
};

static AXIS: Group = Group {
    name: "[[axes]]",
    keys: &[
        required("name", Shape::Text, "What the levels are levels of"),
        required(
            "levels",
            Shape::Tables(&LEVEL),
            "The first is the baseline of this axis",
        ),
    ],
};

static SIZE: Group = Group {
    name: "a size",
    keys: &[
        key(
            "note",
            Shape::Text,
            "How this size differs from the other, for people",
        ),
        key("threads", Shape::Threads, "Connections in this size"),
        key(
            "budget",
            Shape::Duration,
            "Time for all measurements in this size, excluding setup",
        ),
        key(
            "duels",
            Shape::Whole(2, 128),
            "Most duels for one question (fresh starts at one thread count, in a sweep)",
        ),
        key(
            "couples",
            Shape::Whole(2, 200),
            "Couples of slices in a duel (windows of a run)",
        ),
        key("slice", Shape::Duration, "Counted time of a slice of load"),
        key("warm_up", Shape::Duration, "Longest warm-up of a side"),
        key(
            "options",
            Shape::Map,
            "Options of every workload that has them: table_size = 10000",
        ),
    ],
};

static SIZES_GROUP: Group = Group {
    name: "[size]",
    keys: &[
        key("small", Shape::Table(&SIZE), "A laptop finishes it"),
        key("original", Shape::Table(&SIZE), "True to the original"),
    ],
};

/// The whole file.
pub(crate) static FILE: Group = Group {
    name: "a study file",
    keys: &[
        required(
            "kind",
            Shape::Word(&KINDS),
            "What is asked: is B faster than A (compare), what does each step add (ladder), which combination is best (matrix), where does it stop scaling (sweep)",
        ),
        required("title", Shape::Text, "For people"),
        required(
            "asked",
            Shape::Text,
            "What was asked then, and what came out",
        ),
        required("changed", Shape::Text, "What has changed since"),
        required("measured", Shape::Text, "What is measured now"),
        key(
            "source",
            Shape::Text,
            "Where the published figures come from",
        ),
        key(
            "published",
            Shape::Text,
            "The published table, as text: shown beside the results",
        ),
        key(
            "server",
            Shape::Text,
            "The server as packaged: a name of `niagara server list`, or a path; mariadb-10.11 unless given",
        ),
        ENGINE,
        key("workload", Shape::Table(&WORKLOAD), "The load"),
        key(
            "workloads",
            Shape::Tables(&WORKLOAD),
            "Several loads: of a matrix",
        ),
        key(
            "threads",
            Shape::Threads,
            "Connections: 32, [1, 2, 4] or \"1..256\" (doubling); a list is for matrix and sweep; a job has one",
        ),
        key(
            "variants",
            Shape::Named(&VARIANT),
            "Variants by a name of yours, to be spoken of in a, b, start and sweep",
        ),
        key(
            "a",
            Shape::Text,
            "compare: the baseline, a variant's name or an expression such as base",
        ),
        key("b", Shape::Text, "compare: the candidate"),
        key(
            "start",
            Shape::Text,
            "ladder, matrix: what everything starts from; base unless given",
        ),
        key(
            "rungs",
            Shape::Tables(&RUNG),
            "ladder: the steps in order, each kept when proven",
        ),
        key(
            "axes",
            Shape::Tables(&AXIS),
            "matrix: what is combined with what",
        ),
        key(
            "combine",
            Shape::Word(&["all", "each"]),
            "matrix: every combination of levels (all), or one axis at a time beside the baseline (each)",
        ),
        key(
            "sweep",
            Shape::Texts,
            "sweep: the variants, names or expressions; base unless given",
        ),
        key(
            "protocol",
            Shape::Word(&["duel", "pair", "trimmed"]),
            "compare, ladder, matrix: how variants meet (docs/methodology.md); duel unless given, pair of jobs; trimmed is for compare alone",
        ),
        key(
            "goal",
            Shape::Word(&["throughput", "cpu", "p95", "p99"]),
            "compare: what decides; throughput unless given. p95 and p99 are latencies at a fixed rate of arrivals",
        ),
        key(
            "rate",
            Shape::Text,
            "compare by p95 or p99: transactions per second that arrive (\"2000\"), or a share of what A does under closed load (\"70%\", unless given)",
        ),
        key(
            "alpha",
            Shape::Probability,
            "Error probability; 0.05 unless given",
        ),
        key(
            "min_effect",
            Shape::Share,
            "Smallest gain that is worth the trouble; 0.5% unless given",
        ),
        key(
            "seed",
            Shape::Whole(0, i64::MAX as u64),
            "Seed of every random choice; a fresh one unless given",
        ),
        key(
            "budget",
            Shape::Duration,
            "Time for all measurements, excluding setup; 10m unless given",
        ),
        key(
            "duels",
            Shape::Whole(2, 128),
            "Most duels for one question (fresh starts at one thread count, in a sweep)",
        ),
        key(
            "couples",
            Shape::Whole(2, 200),
            "Couples of slices in a duel (windows of a run)",
        ),
        key("slice", Shape::Duration, "Counted time of a slice of load"),
        key(
            "warm_up",
            Shape::Duration,
            "Longest warm-up of a side; 3s unless given",
        ),
        key(
            "disturbance",
            Shape::Share,
            "Share of the CPUs, taken by others, at which a couple of slices weighs half; 5% unless given",
        ),
        key(
            "client_host",
            Shape::Text,
            "The host that the load comes from, over ssh (docs/two-machines.md): a name, user@name or an address; this one unless given",
        ),
        key(
            "size",
            Shape::Table(&SIZES_GROUP),
            "What differs between the small and the original size",
        ),
    ],
};
