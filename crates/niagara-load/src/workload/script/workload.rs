//! A script with its options.

use super::source::{ScriptInfo, ScriptSource};
use super::steps::NoPlan;
use crate::error::LoadError;
use crate::script::probe;
use crate::workload::common::CommonOptions;
use crate::workload::family::{Each, Family, Registered, takes_common};
use crate::workload::kind::WorkloadKind;
use crate::workload::option::WorkloadOption;
use crate::workload::template::Templates;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The script as a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptWorkload {
    /// Always `script`.
    kind: String,
    /// Its text.
    script: ScriptSource,
    /// What is known of it.
    script_info: ScriptInfo,
    /// Options that were given.
    script_options: BTreeMap<String, String>,
    /// Whether it only reads, where the user says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script_only_reads: Option<bool>,
}

/// Its kind in documents.
pub(in crate::workload) const KIND: &str = "script";

/// The option by which users say whether a script only reads. It is Niagara's own: the script does not see it.
const ONLY_READS: &str = "niagara_only_reads";

impl ScriptWorkload {
    /// A script that was read.
    pub fn new(script: ScriptSource, script_info: ScriptInfo) -> Self {
        ScriptWorkload {
            kind: KIND.into(),
            script,
            script_info,
            script_options: BTreeMap::new(),
            script_only_reads: None,
        }
    }

    /// The script's text.
    pub fn source(&self) -> &ScriptSource {
        &self.script
    }

    /// What is known of it.
    pub fn info(&self) -> &ScriptInfo {
        &self.script_info
    }

    /// The options that were given.
    pub fn options(&self) -> &BTreeMap<String, String> {
        &self.script_options
    }

    /// Gives an option a value.
    pub fn give(&mut self, name: &str, value: &str) {
        self.script_options
            .insert(name.replace('-', "_"), value.to_owned());
    }

    fn stem(&self) -> &str {
        Path::new(&self.script.path)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or(&self.script.path)
    }

    /// What decides its data, but for the number of threads: its text, what it has read, its options.
    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (path, text) in &self.script.modules {
            digest.update(path.as_bytes());
            digest.update([0]);
            digest.update(text.as_bytes());
            digest.update([0]);
        }
        digest.update(self.script.text.as_bytes());
        let digest: String = digest
            .finalize()
            .iter()
            .take(12)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{}-{digest} {:?}", self.stem(), self.script_options)
    }

    /// Whether its tables may depend on how many threads there are.
    fn depends_on_threads(&self) -> bool {
        let shared = self.script_info.commands.get("prepare") == Some(&true);
        let mut texts = self.script.modules.values().chain([&self.script.text]);
        !shared && texts.any(|text| text.contains("threads"))
    }
}

impl Family for ScriptWorkload {
    fn kind(&self) -> Option<WorkloadKind> {
        None
    }

    fn name(&self) -> &str {
        self.stem()
    }

    fn spelling(&self) -> &str {
        &self.script.path
    }

    fn content(&self) -> Option<String> {
        // Modules by their text alone: their paths say where they lie here.
        let mut texts: Vec<&str> = self.script.modules.values().map(String::as_str).collect();
        texts.sort_unstable();
        let mut digest = Sha256::new();
        for text in texts.into_iter().chain([self.script.text.as_str()]) {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text.as_bytes());
        }
        Some(hex::encode(&digest.finalize()[..16]))
    }

    fn writes(&self) -> bool {
        if let Some(only_reads) = self.script_only_reads {
            return !only_reads;
        }
        /// What was found of scripts that were tried.
        static TRIED: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
        let key = self.digest();
        let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        !*tried.entry(key).or_insert_with(|| {
            probe::only_reads(&self.script, &self.script_info, &self.script_options)
        })
    }

    fn takes(&self, option: &WorkloadOption) -> bool {
        takes_common(option, false) || self.knows(option.name)
    }

    fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        let knows = self.knows(option.name);
        if knows {
            self.give(option.name, value);
        }
        Ok(knows)
    }

    fn numbers(&self) -> Option<Vec<String>> {
        let options = self.script_info.options.iter().flatten();
        let own = std::iter::once(ONLY_READS.to_owned());
        Some(
            options
                .map(|option| option.name.clone())
                .chain(own)
                .collect(),
        )
    }

    fn set_text(&mut self, name: &str, value: &str) -> Option<Result<(), LoadError>> {
        if name.replace('-', "_") == ONLY_READS {
            let said = match value {
                "on" | "true" | "1" => true,
                "off" | "false" | "0" => false,
                _ => {
                    return Some(Err(LoadError::invalid(format!(
                        "{name} = {value}: must be on or off"
                    ))));
                }
            };
            self.script_only_reads = Some(said);
            return Some(Ok(()));
        }
        Some(if self.script_info.options.is_none() || self.knows(name) {
            self.give(name, value);
            Ok(())
        } else {
            Err(LoadError::invalid(format!(
                "{name}: {} has no such option; it has: {}",
                self.script.path,
                self.numbers().unwrap_or_default().join(", ")
            )))
        })
    }

    fn validate(&self) -> Result<(), LoadError> {
        Ok(())
    }

    fn table_names(&self, _threads: u32) -> Vec<String> {
        // Only the script knows.
        Vec::new()
    }

    fn data_in_words(&self, _threads: u32) -> String {
        format!("what `prepare` of {} makes", self.script.path)
    }

    fn data_key(&self, _common: &CommonOptions, threads: u32) -> String {
        let mut key = self.digest();
        if self.depends_on_threads() {
            key += &format!(" threads={threads}");
        }
        key
    }

    fn expected_rows(&self, _threads: u32) -> u64 {
        0
    }

    fn read_all_statements(&self, _database: &str, _threads: u32) -> Vec<String> {
        Vec::new()
    }

    fn fill(
        &self,
        _common: &CommonOptions,
        _threads: u32,
        _each: &mut Each<'_>,
    ) -> Result<(), LoadError> {
        // `prepare_tables` has the script do it.
        Ok(())
    }
}

impl ScriptWorkload {
    fn knows(&self, name: &str) -> bool {
        let name = name.replace('-', "_");
        let mut options = self.script_info.options.iter().flatten();
        options.any(|option| option.name == name)
    }
}

impl Registered for ScriptWorkload {
    type Script = NoPlan;
    type Transaction = NoPlan;

    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn named(_name: &str) -> Option<Self> {
        None
    }

    fn script(
        &self,
        _common: &CommonOptions,
        _threads: u32,
        _seed: u64,
        templates: &mut Templates,
    ) -> NoPlan {
        // In the order of the places in `steps`.
        templates.kind("read", "SELECT");
        templates.kind("write", "UPDATE");
        templates.kind("other", "");
        NoPlan
    }
}
