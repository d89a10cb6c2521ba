//! Why a lever, a rung, a cell or a control was not measured: codes and fields. Their English is in `words.rs`.

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PartFault, UndoneCheck};

/// The machine that a requirement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// The one that measures.
    Here,
    /// The one that was described as the target.
    Production,
}

/// A variable, with the place in the user's own configuration that sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The variable.
    pub variable: String,
    /// Its value; of one that the server ignores, what the server says of it.
    pub value: String,
    /// `/etc/mysql/my.cnf line 12`; `None` where the server's own default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// Why something was not measured, or not to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Reason {
    /// `--only` or `--without` leaves it out.
    NotRequested,
    /// Tried only when named.
    OnlyByName {
        /// The lever.
        lever: String,
        /// Whether it runs a server built from source.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        build: bool,
    },
    /// Its risk was not allowed.
    RiskNotAllowed {
        /// `durability`, `security` or `system`.
        risk: String,
    },
    /// It would take priority or memory from a live server of the same host.
    SharedHost,
    /// The application runs on another host than the server.
    RemoteApplication,
    /// The application connects through the Unix socket already.
    ApplicationOnSocket,
    /// The lever's own words on this family of servers.
    NotForServer {
        /// From `[elsewhere]` of its file.
        because: String,
    },
    /// Its conditions do not name this family of servers.
    NotForFamily {
        /// `MariaDB`, `MySQL`, `Percona Server`.
        family: String,
    },
    /// Its conditions name other versions of this family.
    NotForVersion {
        /// `MariaDB`, `MySQL`, `Percona Server`.
        family: String,
        /// `10.6 and later`.
        range: String,
        /// This server's version.
        version: String,
    },
    /// The server cannot be built from source.
    NotBuildable {
        /// Why.
        because: String,
    },
    /// The server has no such variable, by its own list.
    NoVariable {
        /// `MariaDB 10.2.11`.
        release: String,
        /// The variable.
        variable: String,
    },
    /// The server has another variable in the place of the one that the lever sets.
    OtherVariable {
        /// `MySQL 8.4.6`.
        release: String,
        /// That variable.
        variable: String,
    },
    /// The server has the variable, which does not take what the lever sets.
    NoValue {
        /// `MariaDB 10.11.19`.
        release: String,
        /// The variable.
        variable: String,
        /// What the lever sets.
        value: String,
    },
    /// The server does not use the malloc that the lever's settings are for.
    NotOwnMalloc {
        /// `MySQL 8.0.12`.
        release: String,
        /// The malloc that it is linked with.
        own: String,
    },
    /// The server uses this malloc already.
    OwnMalloc {
        /// `MySQL 8.0.12`.
        release: String,
        /// The malloc.
        own: String,
    },
    /// The server's malloc is compiled in, and cannot be replaced.
    MallocCompiledIn {
        /// `MySQL 8.0.12`.
        release: String,
        /// The malloc.
        own: String,
    },
    /// It matters to writes, and the workload has none.
    NoWrites,
    /// It is for tables in other engines.
    NotForEngine {
        /// Those engines.
        engines: Vec<String>,
        /// The tables' engine.
        engine: String,
    },
    /// It matters with more data.
    LittleData {
        /// The least that it matters with.
        least_bytes: u64,
        /// What there is.
        bytes: u64,
    },
    /// It needs more CPUs.
    FewCpus {
        /// The least.
        least: u64,
        /// What there are.
        cpus: u64,
        /// Whose.
        machine: Machine,
    },
    /// It names CPUs by number, and the target machine has other ones.
    CpuNumbers {
        /// CPUs here.
        here: usize,
        /// CPUs there.
        production: u64,
    },
    /// It needs more memory.
    LittleMemory {
        /// The least.
        least_bytes: u64,
        /// What there is.
        bytes: u64,
        /// Whose.
        machine: Machine,
    },
    /// Transparent huge pages are switched off.
    HugePagesOff {
        /// The kernel's mode; `None` where the kernel has none of them.
        mode: Option<String>,
    },
    /// No huge pages are reserved.
    NoHugePagesReserved,
    /// The machine has one NUMA node.
    OneNumaNode,
    /// The machine has one thread per core.
    OneThreadPerCore,
    /// Raising a priority needs root.
    NeedsRoot,
    /// The limit on locked memory is too low.
    LockedMemoryLimit {
        /// The limit.
        bytes: u64,
    },
    /// The limit on open files is too low: the server would make the cache smaller.
    OpenFilesLimit {
        /// Open files that the server asks for with it.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The malloc was not found for this server.
    MallocNotFound {
        /// `jemalloc`.
        malloc: String,
    },
    /// What it would set cannot be worked out on this machine.
    NotComputable {
        /// The expression's error.
        error: String,
    },
    /// It changes nothing here.
    ChangesNothing,
    /// It excludes a lever of the baseline.
    Excludes {
        /// That lever.
        lever: String,
    },
    /// The server does not start with it.
    DoesNotStart {
        /// The line of the server's log or of the error that says why.
        cause: String,
    },
    /// The server does not start with it and these others, and does with fewer of them.
    DoesNotStartTogether {
        /// The lever's title.
        title: String,
        /// Titles of the others, which stay.
        others: Vec<String>,
        /// The line that says why.
        cause: String,
    },
    /// The baseline has a setting that leaves it nothing to act on.
    NothingToActOn {
        /// The setting.
        setting: Setting,
        /// What it needs of the value: `= ON`, `< 2000`.
        wanted: String,
    },
    /// The server ignores what it sets, or had it before.
    Unchanged {
        /// Variables that the server calls without effect, with its words.
        ignored: Vec<Setting>,
        /// Variables that had the value before.
        same: Vec<Setting>,
    },
    /// It makes something larger by default and would make it smaller here.
    WouldLower {
        /// The setting.
        setting: Setting,
        /// What the lever would set.
        to: String,
    },
    /// Every server with it failed under this load.
    DidNotLast {
        /// The first line of the last failure.
        cause: String,
    },
    /// The screening set it aside for what it costs.
    Costly {
        /// Throughput with it over throughput without it.
        ratio: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end.
        high: f64,
        /// Duels behind it.
        duels: usize,
    },
    /// The budget is too short for this many levers.
    BudgetTooShort,
    /// The tuning that is continued began without it.
    BegunWithout,
    /// The tools or packages to build it are missing, or its build failed.
    CannotBuild {
        /// Why, in the first line.
        error: Box<Explanation>,
        /// Levers that were built together with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        together: Vec<String>,
    },
    /// It adds to a build that is not available.
    BaseBuildMissing {
        /// That build's lever.
        lever: String,
        /// Why, in the first line.
        error: Box<Explanation>,
    },
    /// Others of these builds are expected to bring more.
    TooManyBuildsToScreen {
        /// Builds that the duels of the budget tell apart.
        most: usize,
        /// The lever.
        lever: String,
    },
    /// The levers that build would need too many servers.
    TooManyServers {
        /// Servers that a tuning builds at most.
        most: usize,
    },
    /// Building it takes longer than the build budget has left.
    BuildBudget {
        /// Seconds that it takes; `None` where that is unknown.
        takes: Option<f64>,
        /// Seconds for building.
        budget: f64,
        /// Seconds left.
        left: f64,
    },
    /// The built server failed the check of its correctness.
    FailedCheck {
        /// What was found first; `None` where it is not told.
        fault: Option<PartFault>,
        /// The server's binary.
        server: String,
    },
    /// The correctness of the built server is unknown.
    Unchecked {
        /// Why it was not checked wholly, where that is known.
        undone: Option<UndoneCheck>,
        /// The server's binary.
        server: String,
    },
    /// The study file says why it cannot be tried today.
    NotToday {
        /// Its words.
        because: String,
    },
    /// What it needs is not available here: a server that cannot be fetched, a lever that does not apply.
    NotAvailable {
        /// The error.
        error: Box<Explanation>,
    },
    /// Its load was not set up.
    NoLoad,
    /// No part of the matrix asked for it yet.
    NotAskedFor,
    /// A part ended within it, after too few duels.
    CutShort,
    /// The study was stopped before it.
    StoppedBefore,
    /// The study was stopped within it.
    StoppedWithin,
    /// The time ended before it.
    TimeEnded,
    /// The time ended before the screening could tell it apart.
    NotToldApart,
    /// A side could not be measured.
    SideFailed(Failure),
    /// The time ended after a duel that failed.
    EndedAfterFailure(Failure),
    /// Every duel was too disturbed to count.
    AllDisturbed {
        /// Duels.
        duels: usize,
    },
}

/// A variant that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The variant's label.
    pub variant: String,
    /// The error of its last duel: the first line, and the cause that its log names.
    pub error: String,
}

impl Reason {
    /// Whether servers with it failed in duels: a server that does not start with it alone is found before.
    pub fn failed_in_duels(&self) -> bool {
        matches!(
            self,
            Self::DoesNotStartTogether { .. } | Self::DidNotLast { .. }
        )
    }

    /// Whether it is about the server's family or version.
    pub fn is_about_server(&self) -> bool {
        matches!(
            self,
            Self::NotForServer { .. }
                | Self::NotForFamily { .. }
                | Self::NotForVersion { .. }
                | Self::NotBuildable { .. }
                | Self::NoVariable { .. }
                | Self::OtherVariable { .. }
                | Self::NoValue { .. }
                | Self::NotOwnMalloc { .. }
                | Self::OwnMalloc { .. }
                | Self::MallocCompiledIn { .. }
        )
    }

    /// The failure of a side that was tried again and again.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::SideFailed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Whether the same question may be measured later: it was not asked yet, or the time ended before its verdict.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::NotAskedFor
                | Self::CutShort
                | Self::StoppedBefore
                | Self::StoppedWithin
                | Self::TimeEnded
                | Self::EndedAfterFailure(_)
                | Self::AllDisturbed { .. }
        )
    }
}
