//! Settings of the optimizer, and how much of the work of the statements they save.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::proof::Trial;
use crate::sampled_digest::Effect;

/// Variables under which the optimizer may choose other plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanSetting {
    /// The lever that sets them, by its id.
    pub lever: String,
    /// Their values by their names.
    pub variables: BTreeMap<String, String>,
}

/// A setting that saves work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingEffect {
    /// The setting.
    #[serde(flatten)]
    pub setting: PlanSetting,
    /// Indexes of the set that were there while it was counted.
    pub with_indexes: usize,
    /// Share that it takes away of the work that those leave, 0 to 1.
    pub saves: f64,
    /// Each digest whose work it changes, those that save most first: without it, and with it.
    pub digests: Vec<Effect>,
    /// What duels showed of it, on top of the indexes that are handed over; none where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

impl SettingEffect {
    /// Digests that take more work with it.
    pub fn slower(&self) -> impl Iterator<Item = &Effect> {
        let digests = self.digests.iter();
        digests.filter(|one| one.after.total() > one.before.total())
    }

    /// Whether duels were enough, and did not show that it pays.
    pub fn is_lost(&self) -> bool {
        self.trial.as_ref().is_some_and(Trial::is_lost)
    }
}
