//! The final variant of a ladder as something to install, in the terms of option files and systemd units.

use std::collections::BTreeMap;
use std::path::PathBuf;

use niagara_settings::{ProcessSettings, TransportKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Releases;

/// A malloc that the server is to be started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployMalloc {
    /// `jemalloc`.
    pub name: String,
    /// The Debian package that has it, where that is known.
    pub package: Option<String>,
    /// What `LD_PRELOAD` names: `libjemalloc.so.2`, or a path.
    pub soname: String,
}

/// What deploying the final variant takes, beside the words of the report. Kept with the summary, so that the files of
/// `deploy/` can be made again from the results alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// `mariadb`, `mysql` or `percona`.
    pub family: String,
    /// Server variables.
    pub config: BTreeMap<String, String>,
    /// Those of them that are given by their names alone: an empty value would mean something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Those of them that follow the machine, with their values on machines of other sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<TargetSize>,
    /// What the server's process is started with; its environment has what a malloc is asked by, and no path of a library.
    pub runtime: ProcessSettings,
    /// The library of its malloc, where it is preloaded.
    pub malloc: Option<DeployMalloc>,
    /// The buffer pool is on huge pages, which are to be reserved; also lifts the limit on locked memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub huge_pages: bool,
    /// What its process may have at the least, by systemd's names: `LimitNOFILE`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// How the application connected at the start.
    #[serde(default)]
    pub transport_before: TransportKind,
    /// Server variables, environment variables and settings of the process (`scheduling`, `server_cpus`) that each lever of the variant
    /// sets, by the lever's identifier.
    pub sets: BTreeMap<String, Vec<String>>,
    /// Settings of the host, in order: commands or sentences.
    pub host_steps: Vec<String>,
    /// What levers ask to be done by hand beside the files, in order: commands or sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What takes back the settings of the host and the steps by hand: commands or sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps_undo: Vec<String>,
    /// Statements that change the tables, in order, without their delimiters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<String>,
    /// Statements that take those back, in order; empty where nothing is known of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema_undo: Vec<String>,
    /// Statements that are sent in place of the application's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<DeployRewrite>,
    /// What the application needs, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<String>,
    /// What there is to know of it where nothing is to be done, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What of it was left out for a machine with other CPUs; none where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_for: Option<LeftOutPlacements>,
    /// The machine that it was measured on, one line.
    pub machine: String,
    /// The release of that machine's kernel (`6.1.0-13-amd64`); none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// CPUs of that machine; none where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The user's own configuration that the variables are a difference against; none where the start was a server as it
    /// comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<DeployStart>,
    /// The server itself, where it was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<DeployBuild>,
    /// The storage engine that its tables were in, where that is part of the variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The server that is given up for this one, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Titles of its levers by what they risk (`memory`, `durability`, `security`, `system`), those that risk nothing left
    /// out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub risks: BTreeMap<String, Vec<String>>,
    /// What whoever installs its levers has to know, a few words each: `long statements may hold others up`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// Changes of the variant that no lever makes, so that nothing is known of what they risk: `innodb_io_capacity=2000`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_changes: Vec<String>,
}

/// A statement that is sent in place of the application's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployRewrite {
    /// The digest's number.
    pub digest: String,
    /// The application's statement, `?1` for its first literal.
    pub before: String,
    /// What is sent in its place, with the same numbers.
    pub statement: String,
    /// What matches the application's statement, as a regular expression, and what takes its place there; none where a proxy
    /// cannot do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<[String; 2]>,
}

/// What a variable's value follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Follows {
    /// The machine's CPUs.
    Cpus,
    /// The memory that one server may have.
    Memory,
}

/// A variable whose value follows the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetSize {
    /// The variable.
    pub variable: String,
    /// What it follows.
    pub follows: Follows,
    /// The value that was measured.
    pub measured: String,
    /// The machine that this is for: CPUs, or bytes.
    pub here: u64,
    /// Values on machines of other sizes.
    pub at: Vec<TargetValue>,
    /// The value on the machine that it goes to, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetValue>,
}

/// A value on a machine of some size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetValue {
    /// CPUs, or bytes.
    pub size: u64,
    /// The value there.
    pub value: String,
}

/// A part of a deployment that is for the very CPUs that it was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CpuPlacement {
    /// The CPUs that the server runs on.
    ServerCpus,
    /// The CPUs that the application runs on.
    ClientCpus,
    /// How many arenas the C library's malloc has: a lever gives it one per CPU.
    MallocArenas,
}

/// What of a deployment was left out, for it goes to a machine with other CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutPlacements {
    /// CPUs of that machine.
    pub cpus: u32,
    /// The parts.
    pub placements: Vec<CpuPlacement>,
}

impl CpuPlacement {
    /// The environment variable that says how many arenas there are.
    pub const ARENAS: &'static str = "MALLOC_ARENA_MAX";

    const ALL: [Self; 3] = [Self::ServerCpus, Self::ClientCpus, Self::MallocArenas];

    fn is_in(self, runtime: &ProcessSettings) -> bool {
        match self {
            Self::ServerCpus => runtime.server_cpus.is_some(),
            Self::ClientCpus => runtime.client_cpus.is_some(),
            Self::MallocArenas => runtime.environment.contains_key(Self::ARENAS),
        }
    }

    fn remove_from(self, runtime: &mut ProcessSettings) {
        match self {
            Self::ServerCpus => runtime.server_cpus = None,
            Self::ClientCpus => runtime.client_cpus = None,
            Self::MallocArenas => {
                runtime.environment.remove(Self::ARENAS);
            }
        }
    }
}

/// The machine that a deployment goes to, as far as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetMachine {
    /// Its CPUs.
    pub cpus: Option<u32>,
    /// The bytes of memory that the server may have there.
    pub memory: Option<u64>,
}

impl TargetMachine {
    fn size(&self, follows: Follows) -> Option<u64> {
        match follows {
            Follows::Cpus => self.cpus.map(u64::from),
            Follows::Memory => self.memory,
        }
    }
}

impl Deployment {
    /// The transport that the application has to change to; none where it stays.
    pub fn new_transport(&self) -> Option<TransportKind> {
        let transport = self.runtime.transport.unwrap_or_default();
        (transport != self.transport_before).then_some(transport)
    }

    /// Whether the application has to change to the Unix socket.
    pub fn brings_socket(&self) -> bool {
        self.new_transport() == Some(TransportKind::Unix)
    }

    /// Whether what was encrypted goes in clear, and not through the Unix socket.
    pub fn gives_up_encryption(&self) -> bool {
        self.transport_before == TransportKind::Tls
            && self.new_transport() == Some(TransportKind::Tcp)
    }

    /// Whether anything of it is something else on a machine with other CPUs, or with other memory.
    pub fn follows(&self, what: Follows) -> bool {
        let is_placed = what == Follows::Cpus && !self.placements().is_empty();
        is_placed || self.sizes.iter().any(|size| size.follows == what)
    }

    /// What is for the very CPUs that it was measured on.
    pub fn placements(&self) -> Vec<CpuPlacement> {
        let all = CpuPlacement::ALL.into_iter();
        all.filter(|placement| placement.is_in(&self.runtime))
            .collect()
    }

    /// The same for another machine. Each value that follows CPUs or memory is worked out for it. What is for the
    /// CPUs here is left out where there are others: which of those are meant is not known.
    pub fn for_machine(mut self, machine: &TargetMachine) -> Self {
        let others = machine.cpus.filter(|cpus| self.cpus != Some(*cpus));
        let placements = self.placements();
        if let Some(cpus) = others.filter(|_| !placements.is_empty()) {
            for placement in &placements {
                placement.remove_from(&mut self.runtime);
            }
            self.left_out_for = Some(LeftOutPlacements { cpus, placements });
        }
        for size in &mut self.sizes {
            let Some(at) = machine.size(size.follows) else {
                continue;
            };
            size.target = size.at(at).or(size.target.take());
            self.config
                .insert(size.variable.clone(), size.installed().to_owned());
        }
        self
    }
}

impl TargetSize {
    /// The value on a machine of `size`: between two known ones in proportion, beyond the last one that of the last. `None` where
    /// values are no numbers, and this size is not among them.
    fn at(&self, size: u64) -> Option<TargetValue> {
        let of = |value: String| Some(TargetValue { size, value });
        if let Some(known) = self.at.iter().find(|at| at.size == size) {
            return of(known.value.clone());
        }
        let mut known: Vec<(u64, f64)> = (self.at.iter())
            .filter_map(|at| Some((at.size, at.value.parse().ok()?)))
            .collect();
        known.push((self.here, self.measured.parse().ok()?));
        known.sort_by_key(|(at, _)| *at);
        let above = known.iter().position(|(at, _)| *at >= size);
        let value = match above {
            None => known.last()?.1,
            Some(0) => known[0].1,
            Some(place) => {
                let ((from, low), (to, high)) = (known[place - 1], known[place]);
                let share = (size - from) as f64 / (to - from) as f64;
                low + share * (high - low)
            }
        };
        of(format!("{:.0}", value.round()))
    }

    /// What is installed on the machine that it goes to.
    pub fn installed(&self) -> &str {
        self.target
            .as_ref()
            .map_or(&self.measured, |target| &target.value)
    }
}

/// The user's own configuration, as far as what is installed touches it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployStart {
    /// What people call it: the file's path, or the server's address.
    pub from: String,
    /// Settings that are overridden, by variable.
    pub overrides: BTreeMap<String, Overridden>,
    /// Variables that are handed over as they are, for what set them does not outlast a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restated: Vec<String>,
    /// What is not handed over although the final variant has it.
    pub held_back: Vec<HeldBack>,
    /// What overrides every option file, and is to be taken away by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<StrongerSetting>,
    /// Where the option file has to be so that it is read after what it overrides; none where that is not known.
    pub file: Option<PathBuf>,
    /// The option file that has to include it at its end, where none of its folders does.
    pub included_by: Option<PathBuf>,
}

/// A variable of the final variant that is not handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum HeldBack {
    /// The server sizes it by the whole machine, of which it had a part here.
    SizedByServer {
        /// The variable.
        variable: String,
        /// What the final variant has.
        value: String,
        /// Where innodb_dedicated_server is set.
        place: String,
    },
    /// The user's value is higher than any that was tried here.
    NotLowered {
        /// The variable.
        variable: String,
        /// What the final variant has.
        value: String,
        /// The user's value.
        yours: String,
        /// Where that is set.
        place: String,
    },
}

/// A setting of the user's that overrides every option file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StrongerSetting {
    /// By SET PERSIST.
    Persisted {
        /// The variable.
        variable: String,
        /// Its value as SQL takes it.
        value: String,
    },
    /// On the server's command line.
    CommandLine {
        /// The variable.
        variable: String,
        /// Its value.
        value: String,
    },
}

/// A setting that is overridden.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overridden {
    /// What it is there.
    pub value: String,
    /// Where: `/etc/mysql/my.cnf line 12`.
    pub place: String,
}

/// A built server that is handed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployBuild {
    /// The folder that holds `usr` with everything that the server needs.
    pub prefix: PathBuf,
    /// The binary below it: `usr/sbin/mariadbd`.
    pub binary: PathBuf,
    /// `gcc, LTO thin, PGO on oltp_read_only`.
    pub one_line: String,
    /// What it was made from and how, as JSON: enough to build it again.
    pub recipe: String,
    /// Its release, and that of the server that it takes the place of; `None` of results that did not keep them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases: Option<Releases>,
    /// SHA-256 of the binary that was measured and checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(follows: Follows, here: (u64, &str), at: &[(u64, &str)]) -> TargetSize {
        let value = |(size, value): &(u64, &str)| TargetValue {
            size: *size,
            value: (*value).to_owned(),
        };
        TargetSize {
            variable: "v".to_owned(),
            follows,
            measured: here.1.to_owned(),
            here: here.0,
            at: at.iter().map(value).collect(),
            target: None,
        }
    }

    #[test]
    fn values_of_other_machines_are_in_proportion() {
        let counts = sizes(Follows::Cpus, (2, "4"), &[(1, "2"), (8, "16"), (16, "32")]);
        let value = |size: u64| counts.at(size).expect("numbers").value;
        assert_eq!(
            [1, 2, 8, 12, 64].map(value),
            ["2", "4", "16", "24", "32"].map(str::to_owned)
        );
        let words = sizes(Follows::Cpus, (2, "small"), &[(8, "large")]);
        assert_eq!(words.at(8).expect("known").value, "large");
        assert_eq!(words.at(9), None);
    }

    #[test]
    fn a_deployment_takes_the_values_of_the_machine_that_it_goes_to() {
        let pool = sizes(Follows::Memory, (8 << 30, "4294967296"), &[]);
        let counts = TargetSize {
            variable: "c".to_owned(),
            ..sizes(Follows::Cpus, (2, "2"), &[(8, "8")])
        };
        let found = Deployment {
            config: [("v", "4294967296"), ("c", "2")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            sizes: vec![pool, counts],
            ..Deployment::default()
        };
        let machine = TargetMachine {
            cpus: Some(8),
            memory: None,
        };
        let there = found.for_machine(&machine);
        assert_eq!(there.config["c"], "8");
        assert_eq!(there.config["v"], "4294967296");
        assert_eq!(there.sizes[1].installed(), "8");
        assert_eq!(there.sizes[0].target, None);
    }

    #[test]
    fn what_is_for_some_cpus_is_left_out_for_others() {
        let of = |name: &str| (name.to_owned(), "2".to_owned());
        let placed = Deployment {
            runtime: ProcessSettings {
                server_cpus: Some(vec![0]),
                client_cpus: Some(vec![1]),
                environment: ["MALLOC_ARENA_MAX", "MALLOC_CONF"].map(of).into(),
                ..ProcessSettings::default()
            },
            cpus: Some(2),
            ..Deployment::default()
        };
        assert!(placed.follows(Follows::Cpus) && !placed.follows(Follows::Memory));
        let on = |cpus| {
            let machine = TargetMachine { cpus, memory: None };
            placed.clone().for_machine(&machine)
        };
        assert_eq!(on(Some(2)), placed);
        assert_eq!(on(None), placed);
        let there = on(Some(64));
        let left = ProcessSettings {
            environment: [of("MALLOC_CONF")].into(),
            ..ProcessSettings::default()
        };
        assert_eq!(there.runtime, left);
        let left_out = there.left_out_for.as_ref().expect("left out");
        assert_eq!(
            serde_json::to_value(left_out).expect("data"),
            serde_json::json!({
                "cpus": 64,
                "placements": ["server-cpus", "client-cpus", "malloc-arenas"]
            })
        );
        assert_eq!(
            left_out.to_string(),
            "Left out for 64 CPUs, though part of what was measured: the server's CPUs, the application's CPUs, MALLOC_ARENA_MAX. \
             Measure again on such a machine."
        );
        assert!(there.remarks.is_empty());
        assert!(!there.follows(Follows::Cpus));
        // Of results that do not say how many there were.
        let unknown = Deployment {
            cpus: None,
            ..placed.clone()
        };
        let machine = TargetMachine {
            cpus: Some(2),
            memory: None,
        };
        assert_eq!(unknown.for_machine(&machine).runtime, left);
    }
}
