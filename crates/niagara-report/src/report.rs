//! Everything a report is made from, read from the results.

use niagara_model::{
    Comparison, DuelRecord, Ending, Event, EventRecord, Goal, NodeAccount, Phase, RunTime,
    SliceRecord, StudyRecord, Summary, VariantRecord,
};
use niagara_store::Store;

use crate::{DiagnosedProfile, diagnosed_profiles, number};

/// One study as stored.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was asked, where, with what seed.
    pub study: StudyRecord,
    /// What it came to; `None` when it was stopped before the first result.
    pub summary: Option<Summary>,
    /// Variants launched.
    pub variants: Vec<VariantRecord>,
    /// Duels, in order.
    pub duels: Vec<DuelRecord>,
    /// What happened besides.
    pub events: Vec<EventRecord>,
    /// Time used.
    pub run_time: RunTime,
    /// What nodes were held for; `None` of a study on one machine.
    pub nodes_held: Option<NodeAccount>,
    /// Where time went at the study's end; without their stacks in the JSON.
    pub profiles: Vec<DiagnosedProfile>,
    /// Slices of all duels: in the CSV and in the results, too many for the JSON.
    pub slices: Vec<SliceRecord>,
}

impl Report {
    /// Reads a study.
    ///
    /// # Errors
    /// The results cannot be read.
    pub fn load(store: &Store) -> niagara_store::Result<Report> {
        Ok(Report {
            study: store.study()?,
            summary: store.summary()?,
            variants: store.variants()?,
            duels: store.duels()?,
            events: store.events()?,
            run_time: store.total_run_time()?,
            nodes_held: store.node_account()?,
            profiles: diagnosed_profiles(store)?,
            slices: store.slices(None)?,
        })
    }

    /// The one sentence that a reader takes home, whatever the study came to.
    pub fn headline(&self) -> String {
        if let Some(summary) = &self.summary {
            return crate::headline(summary);
        }
        let scores = gains(&self.scored(Phase::Noise, ""), Goal::Throughput);
        match niagara_stats::standard_deviation(&scores) {
            Some(sd) => format!(
                "Identical variants differ by a standard deviation of {} a duel on this machine \
                 ({})",
                number::percent(sd),
                number::count(scores.len(), "duel")
            ),
            None => "Stopped before the first result".to_owned(),
        }
    }

    /// The main settings of a tuning's start, in one line.
    pub(crate) fn start_settings(&self) -> Option<String> {
        let mut events = self.events.iter().map(|record| &record.event);
        let kept = events.find(|event| matches!(event, Event::StartSettings { .. }))?;
        kept.words().map(|(_, settings)| settings)
    }

    /// The scored duels that carry the headline, in order.
    pub(crate) fn main_duels(&self) -> Vec<&DuelRecord> {
        let subject = match &self.summary {
            // Of several confirmations the one that counts.
            Some(Summary::Matrix(matrix)) => {
                let confirmed = matrix.confirmed.as_ref();
                confirmed.map_or("", |confirmed| &confirmed.subject)
            }
            Some(Summary::Tune(tune)) => match &tune.total_of {
                Some(duels) => return self.scored(duels.phase, &duels.subject),
                None => "",
            },
            _ => "",
        };
        self.scored(self.main_phase(), subject)
    }

    /// Their scores, as they were judged.
    pub(crate) fn main_scores(&self, comparison: &Comparison) -> Vec<f64> {
        let duels = self.main_duels();
        match (comparison.goal, comparison.as_measured) {
            // Nothing was allowed for what others took.
            (Goal::Throughput, Some(_)) => duels.iter().filter_map(|duel| duel.raw_score).collect(),
            (goal, _) => gains(&duels, goal),
        }
    }

    /// The scored duels of one question, in order.
    pub(crate) fn scored(&self, phase: Phase, subject: &str) -> Vec<&DuelRecord> {
        self.duels
            .iter()
            .filter(|duel| duel.phase == phase && duel.subject == subject)
            .filter(|duel| duel.ending == Ending::Scored)
            .collect()
    }

    /// The phase whose duels carry the headline: the total of a `tune`, else the comparison.
    pub(crate) fn main_phase(&self) -> Phase {
        match &self.summary {
            Some(Summary::Tune(_)) => Phase::Total,
            Some(Summary::Compare(_)) => Phase::Compare,
            Some(Summary::Ladder(_) | Summary::Matrix(_)) => Phase::Total,
            Some(Summary::Sweep(_)) => Phase::Sweep,
            None => match self.study.kind.as_str() {
                "tune" | "ladder" | "matrix" => Phase::Total,
                "sweep" => Phase::Sweep,
                "noise" => Phase::Noise,
                _ => Phase::Compare,
            },
        }
    }

    /// The variants that were judged, and those that only the screening set up: one for every side of its duels, of
    /// interest to nobody who does not look for them.
    pub(crate) fn judged_and_screened(&self) -> (Vec<&VariantRecord>, Vec<&VariantRecord>) {
        self.variants.iter().partition(|variant| {
            let mut duels = self
                .duels
                .iter()
                .filter(|duel| duel.variants.contains(&variant.id));
            // One without a duel at all is listed with those that matter.
            duels.clone().next().is_none()
                || duels.any(|duel| !matches!(duel.phase, Phase::Screen | Phase::Search))
        })
    }

    /// How a person would call the variant.
    pub(crate) fn label<'a>(&'a self, id: &'a str) -> &'a str {
        self.variants
            .iter()
            .find(|variant| variant.id == id)
            .map_or(id, |variant| variant.label.as_str())
    }
}

/// What duels say of the goal.
fn gains(duels: &[&DuelRecord], goal: Goal) -> Vec<f64> {
    let scores = duels.iter().filter_map(|duel| goal.gain(duel));
    scores.filter(|score| score.is_finite()).collect()
}
