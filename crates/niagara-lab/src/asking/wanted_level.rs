//! Part of a matrix: some of the levels of some of its axes. Builds take minutes to hours each, and a matrix multiplies
//! them: what there is no time for now can be left for later, since builds are kept.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::asking::level_sets::AxisRecipe;
use crate::asking::question::{Question, StudyDescription};
use niagara_server::did_you_mean;

/// A level that is wanted, as `AXIS=LEVEL`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WantedLevel {
    /// The axis, by its name.
    pub axis: String,
    /// The level, by its name.
    pub level: String,
}

impl std::fmt::Display for WantedLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.axis, self.level)
    }
}

impl FromStr for WantedLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((axis, level)) if !axis.trim().is_empty() && !level.trim().is_empty() => {
                Ok(Self {
                    axis: axis.trim().to_owned(),
                    level: level.trim().to_owned(),
                })
            }
            _ => Err("write AXIS=LEVEL, as in \"options=PGO + LTO\"".to_owned()),
        }
    }
}

impl StudyDescription {
    /// Leaves out the combinations of a matrix that are not wanted: of an axis that is named its baseline and the levels named are
    /// measured, of one that is not all. It replaces what the file says of that; without any wanted level nothing changes.
    ///
    /// # Errors
    /// The study is no matrix, or has no such axis or level; nothing beside the baseline would be measured.
    pub fn keep_levels(&mut self, wanted: &[WantedLevel]) -> Result<(), String> {
        if wanted.is_empty() {
            return Ok(());
        }
        for one in wanted {
            self.check_level(one)?;
        }
        let Question::Matrix(matrix) = &mut self.question else {
            return Ok(());
        };
        matrix.part = wanted.to_vec();
        let sets = matrix.sets();
        // Variants beside the combinations are measured with any part.
        if sets.iter().skip(1).all(|set| set.is_left) {
            return Err("nothing but the baseline would be measured".to_owned());
        }
        Ok(())
    }

    /// Whether it is a matrix with that level of that axis.
    ///
    /// # Errors
    /// Why not, with the nearest known name.
    pub(crate) fn check_level(&self, wanted: &WantedLevel) -> Result<(), String> {
        let Question::Matrix(matrix) = &self.question else {
            return Err(format!(
                "this study is a {}: only a matrix has axes with levels",
                self.question.kind()
            ));
        };
        check_level(&matrix.axes, wanted)
    }
}

/// Whether there is such an axis, with such a level.
///
/// # Errors
/// What is not there, with the nearest known name.
pub(crate) fn check_level(axes: &[AxisRecipe], wanted: &WantedLevel) -> Result<(), String> {
    let Some(axis) = axes.iter().find(|axis| axis.name == wanted.axis) else {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        return Err(unknown("axis", &wanted.axis, &names));
    };
    if axis.levels.iter().any(|level| level.name == wanted.level) {
        return Ok(());
    }
    let names: Vec<&str> = axis
        .levels
        .iter()
        .map(|level| level.name.as_str())
        .collect();
    let what = format!("level of the axis {}", axis.name);
    Err(unknown(&what, &wanted.level, &names))
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!(
        "no {what} is called `{name}`: {}there are {}",
        did_you_mean(name, known.iter().copied()),
        known.join(", ")
    )
}
