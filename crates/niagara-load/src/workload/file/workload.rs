//! What a file describes as a workload: one that is built in, or the user's own.

use super::definition::Definition;
use super::load::load;
use super::read::read;
use super::source::WorkloadFile;
use super::transaction::{FileScript, FileTransaction};
use crate::counted;
use crate::error::LoadError;
use crate::workload::common::CommonOptions;
use crate::workload::family::{Each, Family, Measure, Registered, takes_common};
use crate::workload::kind::WorkloadKind;
use crate::workload::option::WorkloadOption;
use crate::workload::template::Templates;
use include_dir::{Dir, include_dir};
use niagara_error::Explanation;
use niagara_toml::FileError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The files that are built in.
static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data/workloads");

/// What they say; a file with a mistake is not among them, which a test would see.
static BUILT_IN: LazyLock<Vec<FileWorkload>> = LazyLock::new(|| {
    let mut all: Vec<FileWorkload> = FOLDER
        .files()
        .filter_map(|file| {
            let name = file.path().file_stem()?.to_str()?;
            let source = WorkloadFile {
                path: format!("data/workloads/{name}.toml"),
                text: file.contents_utf8()?.to_owned(),
            };
            FileWorkload::new(Some(WorkloadKind::new(name)), source, BTreeMap::new()).ok()
        })
        .collect();
    all.sort_by_key(|one| one.built_in.map(WorkloadKind::name));
    all
});

/// A workload that a file describes, read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct FileWorkload {
    /// Its name, if it is one that is built in.
    built_in: Option<WorkloadKind>,
    source: WorkloadFile,
    /// Numbers that are set otherwise than the file says.
    scale: BTreeMap<String, u64>,
    /// What all that comes to.
    definition: Arc<Definition>,
}

impl PartialEq for FileWorkload {
    fn eq(&self, other: &Self) -> bool {
        // The definition follows from the others.
        (self.built_in, &self.source, &self.scale) == (other.built_in, &other.source, &other.scale)
    }
}

/// The workload as a document.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Stored {
    /// Its name, or `own`.
    kind: String,
    /// `None`: it is built in.
    #[serde(default)]
    own: Option<WorkloadFile>,
    /// Numbers that are set otherwise than the file says.
    #[serde(default)]
    scale: BTreeMap<String, u64>,
}

/// The kind of a file of the user's in documents.
const OWN: &str = "own";

impl From<FileWorkload> for Stored {
    fn from(workload: FileWorkload) -> Self {
        Stored {
            kind: workload.built_in.map_or(OWN, WorkloadKind::name).to_owned(),
            own: workload.built_in.is_none().then_some(workload.source),
            scale: workload.scale,
        }
    }
}

impl TryFrom<Stored> for FileWorkload {
    type Error = Explanation;

    fn try_from(stored: Stored) -> Result<Self, Explanation> {
        match (FileWorkload::named(&stored.kind), stored.own) {
            (Some(mut workload), _) => {
                workload
                    .set_numbers(&stored.scale)
                    .map_err(|error| error.explanation())?;
                Ok(workload)
            }
            (None, Some(source)) if stored.kind == OWN => {
                Ok(FileWorkload::new(None, source, stored.scale)?)
            }
            (None, _) if stored.kind == OWN => Err("a custom workload without its file".into()),
            (None, _) => Err(format!("no workload '{}'", stored.kind).into()),
        }
    }
}

impl FileWorkload {
    /// The user's own.
    ///
    /// # Errors
    /// A mistake in the file, with its place and what to do.
    pub fn read(source: WorkloadFile) -> Result<Self, LoadError> {
        FileWorkload::new(None, source, BTreeMap::new()).map_err(LoadError::invalid)
    }

    fn new(
        built_in: Option<WorkloadKind>,
        source: WorkloadFile,
        scale: BTreeMap<String, u64>,
    ) -> Result<Self, FileError> {
        let definition = read(&source.path, &source.text, &scale)?;
        Ok(FileWorkload {
            built_in,
            source,
            scale,
            definition: Arc::new(definition),
        })
    }

    /// What the file says.
    pub(crate) fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// Numbers that are set otherwise than the file says.
    pub fn scale(&self) -> &BTreeMap<String, u64> {
        &self.scale
    }
}

impl Family for FileWorkload {
    fn kind(&self) -> Option<WorkloadKind> {
        self.built_in
    }

    fn name(&self) -> &str {
        match self.built_in {
            Some(kind) => kind.name(),
            None => self.source.stem(),
        }
    }

    fn spelling(&self) -> &str {
        match self.built_in {
            Some(kind) => kind.name(),
            None => &self.source.path,
        }
    }

    fn content(&self) -> Option<String> {
        let digest = Sha256::digest(self.source.text.as_bytes());
        self.built_in.is_none().then(|| hex::encode(&digest[..16]))
    }

    fn title(&self) -> Option<&str> {
        Some(&self.definition.title)
    }

    fn writes(&self) -> bool {
        self.definition.writes()
    }

    fn is_job(&self) -> bool {
        self.definition.job
    }

    fn measure(&self) -> Measure {
        self.definition.measure
    }

    fn takes(&self, option: &WorkloadOption) -> bool {
        takes_common(option, false)
    }

    fn set(&mut self, _option: &WorkloadOption, _value: &str) -> Result<bool, LoadError> {
        Ok(false)
    }

    fn numbers(&self) -> Option<Vec<String>> {
        Some(self.definition.scale.clone())
    }

    fn set_numbers(&mut self, numbers: &BTreeMap<String, u64>) -> Result<(), LoadError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut scale = self.scale.clone();
        scale.extend(numbers.iter().map(|(name, number)| (name.clone(), *number)));
        *self = FileWorkload::new(self.built_in, self.source.clone(), scale)
            .map_err(LoadError::invalid)?;
        Ok(())
    }

    fn validate(&self) -> Result<(), LoadError> {
        // What is wrong was said when it was read.
        Ok(())
    }

    fn table_names(&self, _threads: u32) -> Vec<String> {
        let tables = self.definition.tables.iter();
        tables.map(|table| table.name.clone()).collect()
    }

    /// A column of the table is a word of the statement that makes it.
    fn has_column(&self, table: &str, column: &str) -> Option<bool> {
        let mut tables = self.definition.tables.iter();
        let table = tables.find(|one| one.name == table)?;
        let made = std::iter::once(&table.create).chain(&table.after);
        let mut words = made
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$'));
        Some(words.any(|word| word.eq_ignore_ascii_case(column)))
    }

    fn data_in_words(&self, threads: u32) -> String {
        format!(
            "{} of {} rows in all",
            counted(self.definition.tables.len() as u64, "table"),
            self.expected_rows(threads)
        )
    }

    fn data_key(&self, _common: &CommonOptions, _threads: u32) -> String {
        let digest = hex::encode(&Sha256::digest(self.source.text.as_bytes())[..12]);
        format!("{}-{digest} {:?}", self.name(), self.scale)
    }

    fn expected_rows(&self, _threads: u32) -> u64 {
        self.definition.tables.iter().map(|table| table.rows).sum()
    }

    fn read_all_statements(&self, database: &str, threads: u32) -> Vec<String> {
        // A checksum is of every row, whatever columns and indexes there are.
        let sum = |table: &String| format!("CHECKSUM TABLE {database}.`{table}`");
        self.table_names(threads).iter().map(sum).collect()
    }

    fn fill(
        &self,
        common: &CommonOptions,
        _threads: u32,
        each: &mut Each<'_>,
    ) -> Result<(), LoadError> {
        load(&self.definition, &common.mysql_storage_engine, each)
    }
}

impl Registered for FileWorkload {
    // Boxed: connections of other workloads need not be as large.
    type Script = Box<FileScript>;
    type Transaction = Box<FileTransaction>;

    fn names() -> Vec<&'static str> {
        let kinds = BUILT_IN.iter().filter_map(|one| one.built_in);
        kinds.map(WorkloadKind::name).collect()
    }

    fn named(name: &str) -> Option<Self> {
        let mut all = BUILT_IN.iter();
        all.find(|one| one.name() == name).cloned()
    }

    fn script(
        &self,
        common: &CommonOptions,
        threads: u32,
        seed: u64,
        templates: &mut Templates,
    ) -> Box<FileScript> {
        let definition = Arc::clone(&self.definition);
        Box::new(FileScript::new(
            definition,
            common.as_text(),
            threads,
            seed,
            templates,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_those_of_the_file() {
        let named = |name| FileWorkload::named(name).unwrap();
        let (commit, mut report) = (named("commit"), named("report"));
        assert!(!commit.is_job() && commit.writes());
        assert_eq!(commit.measure(), Measure::Commits);
        assert!(report.is_job());
        assert_eq!(report.numbers().unwrap(), ["rows", "pool_factor"]);
        assert_eq!(report.expected_rows(1), 2_000_000);
        report
            .set_numbers(&BTreeMap::from([("pool_factor".to_owned(), 2)]))
            .unwrap();
        assert_eq!(report.expected_rows(1), 2 * (128 << 20) / 256);
        report
            .set_numbers(&BTreeMap::from([("pool_factor".to_owned(), u64::MAX)]))
            .unwrap();
        assert_eq!(report.expected_rows(1), i32::MAX as u64);
    }
}
