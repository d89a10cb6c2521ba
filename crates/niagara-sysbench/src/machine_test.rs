//! The tests of the machine rather than of a server, and their options.

use crate::option::{Definition, Kind};

const fn option(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        default: Some(default),
        help,
    }
}

const CPU: &[Definition] = &[option(
    "cpu-max-prime",
    Kind::Integer,
    "10000",
    "each event finds the primes up to this number",
)];

const MEMORY: &[Definition] = &[
    option(
        "memory-block-size",
        Kind::Size,
        "1K",
        "bytes that an event reads or writes",
    ),
    option(
        "memory-total-size",
        Kind::Size,
        "100G",
        "bytes after which the test ends",
    ),
    option(
        "memory-scope",
        Kind::Text,
        "global",
        "one block for all threads (global), or one for each (local)",
    ),
    option("memory-hugetlb", Kind::Flag, "off", "not supported"),
    option(
        "memory-oper",
        Kind::Text,
        "write",
        "what an event does: read, write or none",
    ),
    option(
        "memory-access-mode",
        Kind::Text,
        "seq",
        "from the first word to the last (seq), or in any order (rnd)",
    ),
];

const THREADS: &[Definition] = &[
    option(
        "thread-yields",
        Kind::Integer,
        "1000",
        "how often an event takes a lock, yields and gives the lock back",
    ),
    option(
        "thread-locks",
        Kind::Integer,
        "8",
        "how many locks there are",
    ),
];

const MUTEX: &[Definition] = &[
    option(
        "mutex-num",
        Kind::Integer,
        "4096",
        "how many mutexes there are",
    ),
    option(
        "mutex-locks",
        Kind::Integer,
        "50000",
        "how often a thread locks one",
    ),
    option(
        "mutex-loops",
        Kind::Integer,
        "10000",
        "empty rounds before each lock",
    ),
];

/// A test of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineTest {
    Cpu,
    Memory,
    Threads,
    Mutex,
}

impl MachineTest {
    pub const ALL: [MachineTest; 4] = [
        MachineTest::Cpu,
        MachineTest::Memory,
        MachineTest::Threads,
        MachineTest::Mutex,
    ];

    pub fn name(self) -> &'static str {
        match self {
            MachineTest::Cpu => "cpu",
            MachineTest::Memory => "memory",
            MachineTest::Threads => "threads",
            MachineTest::Mutex => "mutex",
        }
    }

    /// What it is in a few words.
    pub fn title(self) -> &'static str {
        match self {
            MachineTest::Cpu => "primes: how fast the processor computes",
            MachineTest::Memory => "how fast memory is read or written",
            MachineTest::Threads => "how fast the scheduler switches between threads",
            MachineTest::Mutex => "how fast mutexes are locked",
        }
    }

    /// Its options.
    pub fn options(self) -> &'static [Definition] {
        match self {
            MachineTest::Cpu => CPU,
            MachineTest::Memory => MEMORY,
            MachineTest::Threads => THREADS,
            MachineTest::Mutex => MUTEX,
        }
    }
}
