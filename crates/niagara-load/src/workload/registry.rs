//! All workloads: one line for each family at the end of this file.

use super::capture::{CAPTURE, CaptureWorkload};
use super::common::{self, CommonOptions};
use super::family::{Family, Registered, Script as _, Steps};
use super::file::FileWorkload;
use super::kind::WorkloadKind;
use super::option::WorkloadOption;
use super::parameters::Parameters;
use super::random_options;
use super::script::{self, ScriptWorkload};
use super::sysbench::{Sysbench, SysbenchTest};
use super::template::{Next, Templates, Unexpected};
use super::tpcc::Tpcc;
use crate::protocol::answer::Answer;
use crate::workload::draw::Rng;
use niagara_toml::did_you_mean;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

macro_rules! registry {
    ($($(#[$doc:meta])+ $name:ident($family:ty),)+) => {
        /// A workload: which one, and the options that only such a workload has.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Workload {
            $($(#[$doc])+ $name($family),)+
            /// What was captured from a server: replayed, not drawn.
            Capture(CaptureWorkload),
        }

        $(impl From<$family> for Workload {
            fn from(family: $family) -> Self {
                Workload::$name(family)
            }
        })+

        impl Workload {
            pub(crate) fn family(&self) -> &dyn Family {
                match self {
                    $(Workload::$name(family) => family,)+
                    Workload::Capture(family) => family,
                }
            }

            pub(super) fn family_mut(&mut self) -> &mut dyn Family {
                match self {
                    $(Workload::$name(family) => family,)+
                    Workload::Capture(family) => family,
                }
            }
        }

        /// What all connections of a load share, besides the templates.
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "there is one, and every statement asks it")]
        pub(super) enum Script {
            $($name(<$family as Registered>::Script),)+
        }

        /// Where one connection is in its transaction.
        #[derive(Debug)]
        pub(super) enum Transaction {
            $($name(<$family as Registered>::Transaction),)+
        }

        impl Workload {
            fn named(name: &str) -> Option<Workload> {
                $(if let Some(family) = <$family>::named(name) {
                    return Some(family.into());
                })+
                None
            }

            fn names() -> Vec<&'static str> {
                [$(<$family>::names(),)+].concat()
            }

            fn all_options() -> Vec<WorkloadOption> {
                [&common::OPTIONS, &random_options::OPTIONS as &[_], $(<$family>::OPTIONS,)+].concat()
            }

            /// Its own options as a document.
            pub(super) fn to_document(&self) -> serde_json::Result<Value> {
                match self {
                    $(Workload::$name(family) => serde_json::to_value(family),)+
                    Workload::Capture(family) => serde_json::to_value(family),
                }
            }

            /// The schemas of those documents, one for each family.
            pub(super) fn schemas(generator: &mut SchemaGenerator) -> Vec<Value> {
                let families = [
                    $(<$family>::json_schema(generator),)+
                    CaptureWorkload::json_schema(generator),
                ];
                let part = |mut family: Schema| {
                    // The options of all workloads stand with its own.
                    family.remove("additionalProperties");
                    family.to_value()
                };
                families.map(part).into()
            }

            /// The workload called `name` with the options of a document.
            pub(super) fn from_document(name: &str, options: Value) -> serde_json::Result<Workload> {
                $(if <$family>::names().contains(&name) {
                    return serde_json::from_value::<$family>(options).map(Workload::from);
                })+
                if name == CAPTURE {
                    return serde_json::from_value::<CaptureWorkload>(options).map(Workload::Capture);
                }
                if name == script::KIND {
                    return serde_json::from_value::<ScriptWorkload>(options).map(Workload::from);
                }
                // A file of the user's is known by no name.
                serde_json::from_value::<FileWorkload>(options).map(Workload::from)
            }

            /// Its statements, added to `templates`, and what decides their order. Not of a capture, which has no plan.
            pub(super) fn script(
                &self,
                common: &CommonOptions,
                threads: u32,
                seed: u64,
                templates: &mut Templates,
            ) -> Script {
                match self {
                    $(Workload::$name(family) => {
                        Script::$name(family.script(common, threads, seed, templates))
                    })+
                    Workload::Capture(_) => unreachable!("whoever makes a plan has looked for a capture"),
                }
            }
        }

        impl Script {
            pub(super) fn types(&self) -> Vec<String> {
                match self {
                    $(Script::$name(script) => script.types(),)+
                }
            }

            pub(super) fn transaction(&self, number: u32, rng: Rng) -> Transaction {
                match self {
                    $(Script::$name(script) => Transaction::$name(script.transaction(number, rng)),)+
                }
            }
        }

        /// The same for every family: the transaction and its script.
        macro_rules! each {
            ($transaction:expr, $script:expr, ($own:ident, $of:ident) => $do:expr) => {
                match ($transaction, $script) {
                    $((Transaction::$name($own), Script::$name($of)) => $do,)+
                    // A transaction is made by its own script.
                    _ => unreachable!("a transaction of another script"),
                }
            };
        }
    };
}

registry! {
    /// One of sysbench's.
    Sysbench(Sysbench),
    /// TPC-C.
    Tpcc(Tpcc),
    /// What a file says: one that is built in, or the user's own.
    File(FileWorkload),
    /// A script of sysbench's.
    Script(ScriptWorkload),
}

impl Transaction {
    #[inline]
    pub(super) fn draw(&mut self, script: &Script) {
        each!(self, script, (own, of) => own.draw(of));
    }

    pub(super) fn redraw(&mut self, script: &Script) {
        each!(self, script, (own, of) => own.redraw(of));
    }

    #[inline]
    pub(super) fn restart(&mut self, script: &Script) {
        each!(self, script, (own, _of) => own.restart());
    }

    #[inline]
    pub(super) fn current(&mut self, script: &Script) -> usize {
        each!(self, script, (own, of) => own.current(of))
    }

    #[inline]
    pub(super) fn peek(&self, script: &Script) -> usize {
        each!(self, script, (own, of) => own.peek(of))
    }

    #[inline]
    pub(super) fn encode(&mut self, script: &Script, template: usize, command: impl Parameters) {
        each!(self, script, (own, of) => own.encode(of, template, command));
    }

    pub(super) fn encode_text(&mut self, script: &Script, out: &mut Vec<u8>) -> bool {
        each!(self, script, (own, _of) => own.encode_text(out))
    }

    #[inline]
    pub(super) fn advance(&mut self, script: &Script, answer: &Answer) -> Result<Next, Unexpected> {
        each!(self, script, (own, of) => own.advance(of, answer))
    }

    pub(super) fn is_open(&self, script: &Script) -> bool {
        each!(self, script, (own, of) => own.is_open(of))
    }

    pub(super) fn pause(&mut self, script: &Script) -> Duration {
        each!(self, script, (own, of) => own.pause(of))
    }

    #[inline]
    pub(super) fn kind(&self, script: &Script) -> usize {
        each!(self, script, (own, _of) => own.kind())
    }

    pub(super) fn sql(&self, script: &Script) -> Option<String> {
        each!(self, script, (own, _of) => own.sql())
    }
}

impl WorkloadKind {
    /// All, family by family.
    pub fn all() -> impl Iterator<Item = WorkloadKind> {
        Workload::names().into_iter().map(WorkloadKind::new)
    }

    /// All their names.
    pub fn names() -> Vec<&'static str> {
        Workload::names()
    }
}

impl FromStr for WorkloadKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        WorkloadKind::all()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| {
                let known = WorkloadKind::names();
                let meant = did_you_mean(name, known.iter().copied());
                format!(
                    "no workload '{name}'; {meant}known are {}",
                    known.join(", ")
                )
            })
    }
}

impl From<CaptureWorkload> for Workload {
    fn from(capture: CaptureWorkload) -> Self {
        Workload::Capture(capture)
    }
}

impl From<SysbenchTest> for Workload {
    fn from(test: SysbenchTest) -> Self {
        Sysbench::from(test).into()
    }
}

impl From<WorkloadKind> for Workload {
    fn from(kind: WorkloadKind) -> Self {
        // A kind is made of a name that a family has; that every such name has a workload is tested.
        Workload::named(kind.name()).unwrap_or_else(|| Sysbench::default().into())
    }
}

/// All options of all workloads, by group, then by name.
pub static WORKLOAD_OPTIONS: LazyLock<Vec<WorkloadOption>> = LazyLock::new(|| {
    let mut options = Workload::all_options();
    options.sort_by_key(|option| (option.group, option.name));
    options
});

impl WorkloadOption {
    /// The option of this name, written with dashes or underscores.
    pub fn find(name: &str) -> Option<&'static WorkloadOption> {
        let name = name.replace('-', "_");
        WORKLOAD_OPTIONS.iter().find(|option| option.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in WorkloadKind::all() {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(
                serde_json::to_string(&kind).unwrap(),
                format!("\"{}\"", kind.name())
            );
            assert_eq!(Workload::from(kind).family().kind(), Some(kind));
            assert_eq!(Workload::from(kind).family().name(), kind.name());
        }
        let error = "oltp".parse::<WorkloadKind>().unwrap_err();
        assert!(error.contains("oltp_read_only"), "{error}");
    }

    #[test]
    fn every_file_that_is_built_in_is_a_workload() {
        for name in ["commit", "report"] {
            assert!(WorkloadKind::names().contains(&name), "{name}");
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/workloads");
        let files = std::fs::read_dir(folder).unwrap();
        for file in files {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(Workload::named(name).is_some(), "{name} has a mistake");
        }
    }

    #[test]
    fn options_of_each_workload() {
        let has = |name: &str, kind: &str| {
            let workload = Workload::from(kind.parse::<WorkloadKind>().unwrap());
            workload.family().takes(WorkloadOption::find(name).unwrap())
        };
        assert!(!has("tables", "bulk_insert"));
        assert!(has("db-ps-mode", "bulk_insert"));
        assert!(has("delta", "select_random_ranges"));
        assert!(!has("delta", "select_random_points"));
        assert!(has("random_points", "select_random_points"));
        assert!(has("warehouses", "tpcc"));
        assert!(!has("tables", "tpcc"));
        assert!(!has("warehouses", "oltp_read_only"));
    }
}
