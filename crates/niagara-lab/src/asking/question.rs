//! What is asked of the machine, whoever asks it: the command line and study files both come to a [`StudyDescription`],
//! every default filled in, every name understood.

use std::time::Duration;

use niagara_model::{About, Finding, Goal};
use niagara_stats::{HALF_WEIGHT, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::asking::choose_levers::TuneQuestion;
use crate::asking::duel_defaults::{DuelOptions, duel_settings};
use crate::asking::level_sets::{MatrixQuestion, check_level};
use crate::asking::rate_choice::RateChoice;
use crate::asking::recipe::VariantRecipe;
use crate::asking::wanted_level::WantedLevel;
use crate::plans::spec::{DuelSettings, Load, Protocol};
use crate::variants::origin::Origin;

/// Left out of what a study is known by.
fn is_throughput(goal: &Goal) -> bool {
    *goal == Goal::Throughput
}

/// What a study asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StudyKind {
    /// Is B faster than A?
    Compare,
    /// What does each step add, in this order?
    Ladder,
    /// Which combination is best?
    Matrix,
    /// Where does it stop scaling, and why?
    Sweep,
    /// Which levers make it faster?
    #[serde(skip_deserializing)]
    Tune,
    /// How far apart are identical servers?
    #[serde(skip_deserializing)]
    Noise,
}

impl std::fmt::Display for StudyKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Compare => "compare",
            Self::Ladder => "ladder",
            Self::Matrix => "matrix",
            Self::Sweep => "sweep",
            Self::Tune => "tune",
            Self::Noise => "noise",
        })
    }
}

/// The size a study is run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StudySize {
    /// A laptop finishes it.
    Small,
    /// True to the original.
    Original,
}

impl std::fmt::Display for StudySize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Small => "small",
            Self::Original => "original",
        })
    }
}

/// One study in one size. What it serialises to decides what is measured, words aside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyDescription {
    /// Words for people: they decide nothing.
    #[serde(skip)]
    pub about: About,
    /// The server that `base` is.
    pub server: String,
    /// What of the user's own server is the start.
    #[serde(skip_serializing_if = "Origin::is_plain")]
    pub origin: Origin,
    /// Storage engine of the tables.
    pub engine: String,
    /// The loads, thread counts aside; a matrix may have several.
    pub workloads: Vec<StudyWorkload>,
    /// Connections, ascending.
    pub threads: Vec<u32>,
    /// How variants meet.
    pub protocol: Protocol,
    /// What decides.
    #[serde(skip_serializing_if = "is_throughput")]
    pub goal: Goal,
    /// The rate at which latencies are compared, where they are the goal.
    #[serde(skip)]
    pub rate: Option<RateChoice>,
    /// Error probability.
    pub alpha: f64,
    /// Smallest worthwhile gain, as a fraction.
    pub min_effect: f64,
    /// Seed asked for.
    #[serde(skip)]
    pub seed: Option<u64>,
    /// Time for all measurements, excluding setup.
    #[serde(skip)]
    pub budget: Duration,
    /// Most duels for one question.
    pub duels: usize,
    /// Couples in a duel, where given.
    pub couples: Option<u32>,
    /// Counted time of a slice, where given.
    pub slice: Option<Duration>,
    /// Longest warm-up of a side.
    pub warm_up: Duration,
    /// Share of the CPUs, taken by others, at which a couple of slices weighs half.
    pub disturbance: f64,
    /// The host that the load comes from, if not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_host: Option<String>,
    /// Whether a ladder or a matrix measures its controls first.
    #[serde(skip)]
    pub controls: bool,
    /// Whether the time that is left goes into a profile of what limits the final variant, or a sweep's variants where they
    /// stop scaling.
    #[serde(skip)]
    pub profile: bool,
    /// Time for building the servers of a ladder's rungs; none where they take what they take. The start's is built whatever it takes.
    #[serde(skip)]
    pub build_budget: Option<Duration>,
    /// What is known of the load before anything is measured.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// The question.
    pub question: Question,
}

/// Duels of a question at the most, where nobody said how many.
pub(crate) const MAX_DUELS: usize = 44;

impl StudyDescription {
    /// `question` asked of `server` under one load, with every default.
    pub fn of(server: String, load: Load, question: Question) -> Self {
        Self {
            about: About::default(),
            server,
            origin: Origin::default(),
            engine: load.engine.clone(),
            threads: vec![load.threads],
            workloads: vec![StudyWorkload {
                name: load.workload.name().to_owned(),
                trained: false,
                load,
            }],
            protocol: Protocol::Duel,
            goal: Goal::Throughput,
            rate: None,
            alpha: 0.05,
            min_effect: 0.005,
            seed: None,
            budget: Duration::from_secs(600),
            duels: MAX_DUELS,
            couples: None,
            slice: None,
            warm_up: Duration::from_secs(3),
            disturbance: HALF_WEIGHT,
            client_host: None,
            controls: true,
            profile: true,
            build_budget: None,
            findings: Vec::new(),
            question,
        }
    }

    /// Slices and warm-up, where nothing was said about them by the defaults.
    pub fn duel_settings(&self) -> DuelSettings {
        let writer = self
            .workloads
            .iter()
            .find(|workload| workload.load.workload.writes());
        // Of several loads the one that writes decides: its slices are the longer ones.
        let workload = writer.unwrap_or(&self.workloads[0]);
        let load = Load {
            threads: self.threads.iter().copied().max().unwrap_or(1),
            ..workload.load.clone()
        };
        let options = DuelOptions {
            slice: self.slice,
            couples: self.couples,
            disturbance: self.disturbance,
            warm_up: self.warm_up,
        };
        duel_settings(&options, &load, self.protocol, self.goal)
    }

    /// Its only load, or the first where a sweep or a matrix has several.
    pub fn first_load(&self) -> Load {
        self.load(0, self.threads[0])
    }

    /// Whether one of its loads is a capture.
    pub fn replays_a_capture(&self) -> bool {
        let mut workloads = self.workloads.iter();
        workloads.any(|workload| workload.load.workload.capture().is_some())
    }

    /// One of its loads, on this many connections: its own number gives way to it.
    pub(crate) fn load(&self, workload: usize, threads: u32) -> Load {
        Load {
            threads,
            ..self.workloads[workload].load.clone()
        }
    }

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
    /// When a comparison ends.
    pub(crate) fn rule(&self) -> Rule {
        Rule {
            // A comparison has no other question to leave its time to: it goes on while duels may decide anything.
            futility: match &self.question {
                Question::Compare { .. } => 0.0,
                _ => Rule::default().futility,
            },
            min_effect: self.min_effect,
            to_the_end: matches!(
                &self.question,
                Question::Compare {
                    to_the_end: true,
                    ..
                }
            ),
        }
    }

    /// Its words, where it has any: a question of the command line has none.
    pub(crate) fn words(&self) -> Option<About> {
        if self.about.asked.is_empty() {
            return None;
        }
        let mut words = self.about.clone();
        if let Question::Matrix(matrix) = &self.question
            && let Some(levels) = matrix.levels_in_words()
        {
            let part = format!("Part of the matrix: {levels}.");
            words.note = Some(match words.note.take() {
                Some(note) => format!("{note} {part}"),
                None => part,
            });
        }
        Some(words)
    }
}

/// A load of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyWorkload {
    /// As the file calls it.
    pub name: String,
    /// Whether builds were trained with it.
    pub trained: bool,
    /// Workload and engine; its threads are those of the study's first count.
    pub load: Load,
}

/// What is asked, with what.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Question {
    /// Is B faster than A?
    Compare {
        /// A, the baseline, and B, the candidate.
        sides: Box<[VariantRecipe; 2]>,
        /// Duels continue to the last one or the end of the budget even after a verdict.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        to_the_end: bool,
    },
    /// What does each step add?
    Ladder {
        /// What it starts from.
        start: Box<VariantRecipe>,
        /// The steps, in order.
        rungs: Vec<RungRecipe>,
    },
    /// Which combination is best?
    Matrix(MatrixQuestion),
    /// Where does it stop scaling?
    Sweep {
        /// Whose curves are drawn.
        variants: Vec<VariantRecipe>,
    },
    /// Which levers make it faster?
    Tune(TuneQuestion),
    /// How far apart are identical servers?
    Noise,
}

impl Question {
    /// Which of them it is.
    pub fn kind(&self) -> StudyKind {
        match self {
            Self::Compare { .. } => StudyKind::Compare,
            Self::Ladder { .. } => StudyKind::Ladder,
            Self::Matrix(_) => StudyKind::Matrix,
            Self::Sweep { .. } => StudyKind::Sweep,
            Self::Tune(_) => StudyKind::Tune,
            Self::Noise => StudyKind::Noise,
        }
    }
}

/// A rung of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RungRecipe {
    /// For people, and its name in the results.
    pub title: String,
    /// What the published study found.
    #[serde(skip)]
    pub published: Option<String>,
    /// What it is today.
    #[serde(skip)]
    pub why: Option<String>,
    /// Why it cannot be tried today, where it cannot.
    pub cannot: Option<String>,
    /// What it changes.
    pub recipe: VariantRecipe,
}
