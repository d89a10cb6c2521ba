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
    "upper limit for primes generator",
)];

const MEMORY: &[Definition] = &[
    option(
        "memory-block-size",
        Kind::Size,
        "1K",
        "size of memory block for test",
    ),
    option(
        "memory-total-size",
        Kind::Size,
        "100G",
        "total size of data to transfer",
    ),
    option(
        "memory-scope",
        Kind::Text,
        "global",
        "memory access scope {global,local}",
    ),
    option(
        "memory-hugetlb",
        Kind::Flag,
        "off",
        "allocate memory from HugeTLB pool",
    ),
    option(
        "memory-oper",
        Kind::Text,
        "write",
        "type of memory operations {read, write, none}",
    ),
    option(
        "memory-access-mode",
        Kind::Text,
        "seq",
        "memory access mode {seq,rnd}",
    ),
];

const THREADS: &[Definition] = &[
    option(
        "thread-yields",
        Kind::Integer,
        "1000",
        "number of yields to do per request",
    ),
    option(
        "thread-locks",
        Kind::Integer,
        "8",
        "number of locks per thread",
    ),
];

const MUTEX: &[Definition] = &[
    option(
        "mutex-num",
        Kind::Integer,
        "4096",
        "total size of mutex array",
    ),
    option(
        "mutex-locks",
        Kind::Integer,
        "50000",
        "number of mutex locks to do per thread",
    ),
    option(
        "mutex-loops",
        Kind::Integer,
        "10000",
        "number of empty loops to do outside mutex lock",
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
            MachineTest::Cpu => "CPU performance test",
            MachineTest::Memory => "Memory functions speed test",
            MachineTest::Threads => "Threads subsystem performance test",
            MachineTest::Mutex => "Mutex performance test",
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
