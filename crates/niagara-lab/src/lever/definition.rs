//! A lever as its file defines it.

use std::collections::BTreeMap;

use niagara_server::{Family, Scheduling};
use niagara_toml::At;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::sized;
use super::condition::Condition;
use super::measured::Measured;
use super::range::Range;
use super::risk::Risk;
use super::template::Template;
use super::version_range::VersionRange;

/// A named change that may make a server faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Lever {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) factor: Option<String>,
    pub(crate) level: Option<String>,
    pub(crate) default_level: Option<String>,
    pub(crate) extends: Option<String>,
    pub(crate) theme: String,
    pub(crate) risk: Risk,
    pub(crate) role: Role,
    pub(crate) promise: Promise,
    pub(crate) only_named: bool,
    pub(crate) why: String,
    pub(crate) caution: Option<String>,
    pub(crate) source: String,
    pub(crate) when: When,
    pub(crate) elsewhere: Elsewhere,
    /// As written: ids, spellings, factors; known to exist once all levers are read.
    pub(crate) excludes: Vec<At<String>>,
    pub(crate) template: Template,
    pub(crate) range: Range,
    pub(crate) measured: Vec<Measured>,
    pub(crate) recovery: bool,
    pub(crate) deploy: Deploy,
    pub(crate) file: String,
}

impl Lever {
    /// The file's name without `.toml`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// For people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The same with a number that a search chose, which the lever's own title may contradict: 15 groups are no "two groups per CPU".
    pub(crate) fn searched_title(&self, variable: &str, value: u64) -> String {
        let number = format!("{variable} = {}", sized(value));
        match &self.range.title {
            Some(title) => format!("{title}, {number}"),
            None => number,
        }
    }

    /// The exclusive choice it is a level of; a lever on its own is its own factor.
    pub fn factor(&self) -> &str {
        self.factor.as_deref().unwrap_or(&self.id)
    }

    /// The malloc that it brings, by name; `None` where that stays.
    pub(crate) fn malloc(&self) -> Option<&str> {
        self.template.runtime.malloc.as_deref()
    }

    /// Its level of the factor; absent for a lever on its own.
    pub(crate) fn level(&self) -> Option<&str> {
        self.level.as_deref()
    }

    /// What the factor's untouched state is called, where it has a name: `tcp` of `transport`.
    pub(crate) fn default_level(&self) -> Option<&str> {
        self.default_level.as_deref()
    }

    /// The lever whose build this one's adds to, by its id.
    pub(crate) fn extends(&self) -> Option<&str> {
        self.extends.as_deref()
    }

    /// Under what it is listed.
    pub fn theme(&self) -> &str {
        &self.theme
    }

    /// What it costs beside speed.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// Lever, negative control or positive control.
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// How often it helps; the promising come first.
    pub(crate) fn promise(&self) -> Promise {
        self.promise
    }

    /// What it does, when it helps, when it hurts.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// What whoever installs it has to know, in a few words.
    pub fn caution(&self) -> Option<&str> {
        self.caution.as_deref()
    }

    /// Where the facts come from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it applies.
    pub fn when(&self) -> &When {
        &self.when
    }

    /// What its file says that it cannot be together with: levers and whole choices.
    pub fn excludes(&self) -> impl Iterator<Item = &str> {
        self.excludes.iter().map(|name| name.as_str())
    }

    /// Whether no server can have both: either's file excludes the other.
    pub(crate) fn is_apart_from(&self, other: &Lever) -> bool {
        let excluded =
            |one: &Lever, other: &Lever| one.excludes().any(|name| other.is_called(name));
        excluded(self, other) || excluded(other, self)
    }

    /// Whether it is meant by an id, a spelling or the name of its choice.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        name == self.id || name == self.factor() || name == self.spelling()
    }

    /// What it did where it was measured.
    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// Whether it touches what a server recovers from after a crash: logs, flushing, durability.
    pub(crate) fn touches_recovery(&self) -> bool {
        self.recovery || self.risk == Risk::Durability
    }

    /// What it builds, as [`niagara_build::Recipe::set`] takes it.
    pub fn build(&self) -> &BTreeMap<String, String> {
        &self.template.build
    }

    /// The server variables that it sets on some branch.
    pub fn variables(&self) -> impl Iterator<Item = &String> {
        let template = &self.template;
        let tables = [&template.config, &template.mariadb, &template.mysql];
        tables.into_iter().flat_map(|table| table.keys())
    }

    /// What deploying takes beyond variables.
    pub fn deploy(&self) -> &Deploy {
        &self.deploy
    }

    /// The file it was read from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether it takes from all other processes of the host: a higher priority, memory that is never given back, reserved pages.
    pub fn takes_from_others(&self) -> bool {
        let of_others = [Need::RaisePriority, Need::LockMemory, Need::Hugetlb];
        let needs = &self.when.needs;
        let sets_priority = matches!(self.template.runtime.scheduling, Some(Scheduling::Nice(_)));
        sets_priority || needs.iter().any(|need| of_others.contains(need))
    }

    /// Of no use to an application on another host.
    pub(crate) fn local_only(&self) -> bool {
        self.template.local_only()
    }

    /// Whether it has the application connect through the Unix socket.
    pub(crate) fn sets_socket(&self) -> bool {
        self.template.runtime.is_on_socket()
    }

    /// How it is written on the command line: `malloc=jemalloc`, or its id.
    pub fn spelling(&self) -> String {
        match &self.level {
            Some(level) => format!("{}={level}", self.factor()),
            None => self.id.clone(),
        }
    }
}

/// What a lever is in a study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// Hoped to help.
    #[default]
    Lever,
    /// Changes nothing that matters: shows what chance looks like.
    NegativeControl,
    /// Known to slow the server: shows that a real effect would be seen.
    PositiveControl,
}

/// How often a lever helps. Decides who is left out of a short budget, nothing else.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Promise {
    /// On many machines and workloads.
    High,
    /// On some.
    #[default]
    Medium,
    /// Rarely, and then often much.
    Low,
}

/// What a workload must do for a lever to be worth trying.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadKind {
    /// Anything.
    #[default]
    Any,
    /// Write.
    Writes,
}

/// Something the machine must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Transparent huge pages, on request at least.
    Thp,
    /// A pool of reserved huge pages.
    Hugetlb,
    /// More than one NUMA node.
    Numa,
    /// More than one thread on a core.
    Smt,
    /// The right to raise a process's priority.
    RaisePriority,
    /// The right to lock much memory.
    LockMemory,
}

/// Where a lever applies; what is absent does not restrict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct When {
    /// Versions of MariaDB.
    pub mariadb: Option<VersionRange>,
    /// Versions of MySQL, and of Percona Server unless named.
    pub mysql: Option<VersionRange>,
    /// Versions of Percona Server.
    pub percona: Option<VersionRange>,
    /// CPUs needed.
    pub min_cpus: Option<u64>,
    /// Bytes of memory needed.
    pub min_memory: Option<u64>,
    /// Bytes of data from which it matters.
    pub min_data: Option<u64>,
    /// What the workload must do.
    pub workload: WorkloadKind,
    /// Storage engines of the tables, lower case; none is any.
    pub engines: Vec<String>,
    /// What the machine must have.
    pub needs: Vec<Need>,
    /// Variables that the server must not have: it has another lever for the same there.
    pub lacks: Vec<String>,
    /// What variables of the server that the lever is put on must be, else the lever has nothing to act on: `log_bin` is
    /// `ON`. Known for sure only once that server has been started.
    pub variables: BTreeMap<String, Condition>,
}

impl When {
    /// The versions of a branch it applies to: `None` when it does not apply to the branch at all.
    pub(crate) fn range(&self, family: Family) -> Option<&VersionRange> {
        match family {
            Family::Mariadb => self.mariadb.as_ref(),
            Family::Mysql => self.mysql.as_ref(),
            Family::Percona => self.percona.as_ref().or(self.mysql.as_ref()),
        }
    }

    /// Whether it says anything about branches.
    pub(crate) fn names_families(&self) -> bool {
        self.mariadb.is_some() || self.mysql.is_some() || self.percona.is_some()
    }
}

/// Why a lever is not for a branch, or not for its other versions, in words for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Elsewhere {
    /// On MariaDB.
    pub mariadb: Option<String>,
    /// On MySQL, and on Percona Server unless named.
    pub mysql: Option<String>,
    /// On Percona Server.
    pub percona: Option<String>,
}

impl Elsewhere {
    /// The reasons as a file's several lines say them, each on one line.
    pub(crate) fn on_one_line(self) -> Self {
        let joined = |text: Option<String>| {
            text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        Self {
            mariadb: joined(self.mariadb),
            mysql: joined(self.mysql),
            percona: joined(self.percona),
        }
    }

    /// The reason for a branch.
    pub(crate) fn reason(&self, family: Family) -> Option<&str> {
        match family {
            Family::Mariadb => self.mariadb.as_deref(),
            Family::Mysql => self.mysql.as_deref(),
            Family::Percona => self.percona.as_deref().or(self.mysql.as_deref()),
        }
    }
}

/// What deploying a lever takes beyond the server's variables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deploy {
    /// Debian packages to install.
    pub packages: Vec<String>,
    /// What to know or do.
    pub note: Option<String>,
    /// What takes back what the note asks for.
    pub note_undo: Option<String>,
    /// Whom the note is for.
    pub note_for: NoteFor,
    /// Statements that take back those of `sql`, in the same order.
    pub undo: Vec<String>,
}

/// Whom the note of a lever's deployment is for, which decides where it is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoteFor {
    /// A step by hand beside the files that are handed over
    #[default]
    Server,
    /// A setting of the host
    Host,
    /// What the application needs
    Application,
    /// What there is to know where nothing is to be done
    Reader,
}
