//! Part of a matrix: some of the levels of some of its axes. Builds take minutes to hours each, and a matrix multiplies
//! them: what there is no time for now can be left for later, since builds are kept.

use std::str::FromStr;

use crate::asking::level_sets::AxisRecipe;
use crate::asking::question::{Question, StudyDescription};
use niagara_server::did_you_mean;

/// A level that is wanted, as `AXIS=LEVEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedLevel {
    /// The axis, by its name.
    pub axis: String,
    /// The level, by its name.
    pub level: String,
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
    /// Leaves out the levels of a matrix that are not wanted: an axis that is named keeps its baseline and the levels named,
    /// one that is not keeps all. The study's note says so. Without any wanted level nothing changes.
    ///
    /// # Errors
    /// The study is no matrix; it has no such axis or level; nothing beside the baseline is left.
    pub fn keep_levels(&mut self, wanted: &[WantedLevel]) -> Result<(), String> {
        if wanted.is_empty() {
            return Ok(());
        }
        let kind = self.question.kind();
        let Question::Matrix { axes, .. } = &mut self.question else {
            return Err(format!(
                "this study is a {kind}: only a matrix has axes with levels\n\
                 remedy: leave --level out, or give a file of kind = \"matrix\""
            ));
        };
        for one in wanted {
            known(axes, one)?;
        }
        for axis in axes.iter_mut() {
            let names: Vec<&str> = wanted
                .iter()
                .filter(|one| one.axis == axis.name)
                .map(|one| one.level.as_str())
                .collect();
            if !names.is_empty() {
                let mut index = 0;
                axis.levels.retain(|level| {
                    index += 1;
                    index == 1 || names.contains(&level.name.as_str())
                });
            }
        }
        if axes.iter().all(|axis| axis.levels.len() < 2) {
            return Err("only the baseline is left: name a level beside it".to_owned());
        }
        let kept: Vec<String> = axes.iter().map(kept).collect();
        let part = format!("Part of the matrix: {}.", kept.join("; "));
        self.about.note = Some(match self.about.note.take() {
            Some(note) => format!("{note} {part}"),
            None => part,
        });
        Ok(())
    }
}

fn known(axes: &[AxisRecipe], wanted: &WantedLevel) -> Result<(), String> {
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

fn kept(axis: &AxisRecipe) -> String {
    let levels: Vec<&str> = axis
        .levels
        .iter()
        .map(|level| level.name.as_str())
        .collect();
    format!("{} {}", axis.name, levels.join(", "))
}
