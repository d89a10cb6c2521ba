//! A digest while candidates are judged: its samples, and its work before and with the set so far.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::TableName;
use crate::cause::Cause;
use crate::copy::DataCopy;
use crate::executable::Executable;
use crate::observe::{Observed, refusal};
use crate::plan::Plan;
use crate::work::{Counted, Work};

/// A statement that takes this share of its work is mended.
pub const MENDED: f64 = 0.5;

/// A digest while candidates are judged.
pub(crate) struct SampledDigest<'o> {
    pub(crate) observed: &'o Observed,
    pub(crate) executables: Vec<Executable>,
    /// So many of them are counted.
    pub(crate) samples: u64,
    pub(crate) tables: BTreeSet<TableName>,
    pub(crate) aliases: BTreeMap<String, TableName>,
    pub(crate) base: Work,
    /// Mean work with the set so far.
    pub(crate) now: Work,
}

impl SampledDigest<'_> {
    pub(crate) fn executions(&self) -> f64 {
        self.observed.info.count as f64
    }

    /// Work of all executions with the set so far.
    pub(crate) fn work(&self) -> f64 {
        self.now.total() * self.executions()
    }

    /// Whether something is wrong with it that an index may mend, and that none of the set has mended.
    pub(crate) fn has_cause(&self) -> bool {
        self.observed.causes.iter().any(Cause::is_of_reading)
            && self.now.total() > MENDED * self.base.total()
    }
}

/// Executes samples in turn, and counts the work of each; those that the server refuses are passed over.
pub(crate) fn counted<'a>(
    copy: &'a mut DataCopy,
    executables: &'a [Executable],
) -> impl Iterator<Item = Result<Counted>> + 'a {
    executables.iter().filter_map(|one| {
        let counted = refusal(copy.count(one));
        counted.map(Result::ok).transpose()
    })
}

/// A digest before and with the set, or without and with a setting of the optimizer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// The digest.
    pub digest: String,
    /// Mean work before, or without the setting.
    pub before: Work,
    /// Mean work with the set, or with the setting.
    pub after: Work,
    /// How the server executes it then; none where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}
