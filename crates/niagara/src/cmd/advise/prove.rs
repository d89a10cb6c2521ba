//! The set that counting chose, proven by duels on the capture: start against start with the set, then the set with each index left
//! out in turn, as time allows; then a setting of the optimizer on top of what stays. Where statistics were stale, fresh ones are proven
//! first, and all that follows has them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use niagara_lab::lever::Change;
use niagara_lab::{
    Data, Found, Inventory, Load, Origin, Question, Session, StudyDescription, VariantRecipe,
    answer, load_of, study_key,
};
use niagara_load::workload_of_file;
use niagara_model::{Comparison, DigestFinding, Summary};
use niagara_origin::data::ChangeStatement;
use niagara_queries::{Advice, DigestTrial, IndexTrial, PlanSetting, Proof, Trial, schema};
use niagara_server::{Cancel, Cancelled};
use niagara_stats::LookPlan;

use crate::command_line::{VERSION, command_line, command_of_part};
use crate::progress::Terminal;

/// The engine of tables that name none: the data have theirs.
const ENGINE: &str = "InnoDB";
/// Duels in less time show nothing.
pub const SHORTEST: Duration = Duration::from_secs(20);
/// The error probability that all questions of an advice share.
const ALPHA: f64 = 0.05;

/// What the duels are about, and with what they are run.
pub struct ProofRun<'a> {
    /// The server's name or path.
    pub server: &'a str,
    /// The user's data and configuration.
    pub origin: &'a Origin,
    /// The capture.
    pub capture: &'a Path,
    /// Where the results of the duels are kept.
    pub folder: PathBuf,
    /// Further folders with servers.
    pub servers: &'a [PathBuf],
    /// The flag that stops it.
    pub cancel: &'a Cancel,
    /// The error probability of each question, of those that counting left ([`alpha`]).
    pub alpha: f64,
}

impl ProofRun<'_> {
    /// What duels show of the advice's set within `time`.
    ///
    /// # Errors
    /// Servers that cannot be set up; a capture whose replay shows nothing; stopped.
    pub fn prove(&self, advice: &Advice, time: Duration, terminal: &mut Terminal) -> Result<Proof> {
        let begun = Instant::now();
        let left = || time.saturating_sub(begun.elapsed());
        let load = self.load()?;
        let set = schema::set_statements(advice);
        let all = set_of(advice);
        let fresh = schema::statistics_statements(advice);
        let duel = |a: &[String], b: &[String], within: Duration, terminal: &mut Terminal| {
            // What fresh statistics bring is none of the indexes' doing.
            let sides = [a, b].map(|side| recipe(&[&fresh, side].concat()));
            self.compare(&load, sides, within, terminal)
        };
        // Whether the set pays comes before what each index adds. Duels that show it soon leave their time to those.
        let found = duel(&[], &all, left(), terminal)?;
        let mut proof = Proof {
            set: trial(&found),
            digests: digests(&found),
            indexes: Vec::new(),
            handed_over: None,
            seconds: 0.0,
        };
        // Fewer duels call nothing. What one took here has the set-up in it, as the next ones will.
        let fewest = LookPlan::fewest_duels(self.alpha).unwrap_or_default();
        let needed = begun
            .elapsed()
            .mul_f64(fewest as f64 / proof.set.duels.max(1) as f64)
            .max(SHORTEST);
        let mut kept: Vec<String> = Vec::new();
        for (place, (table, index, statement)) in set.iter().enumerate() {
            let alone = match set.len() {
                1 => Some(proof.set.clone()),
                count if proof.set.pays() => {
                    let without: Vec<String> = without(&all, place);
                    let share = left().div_f64((count - place + 1) as f64);
                    match left() >= needed {
                        true => Some(trial(&duel(&without, &all, share.max(needed), terminal)?))
                            .filter(|alone| !alone.is_open()),
                        false => None,
                    }
                }
                _ => None,
            };
            if !alone.as_ref().is_some_and(Trial::is_lost) {
                kept.push(statement.clone());
            }
            proof.indexes.push(IndexTrial {
                table: table.clone(),
                index: index.clone(),
                trial: alone,
            });
        }
        let is_part = !kept.is_empty() && kept.len() < all.len();
        if proof.set.pays() && is_part {
            let within = left().max(SHORTEST);
            proof.handed_over = Some(trial(&duel(&[], &kept, within, terminal)?));
        }
        proof.seconds = begun.elapsed().as_secs_f64();
        Ok(proof)
    }

    /// What duels show of fresh statistics, where some are stale, within `time`.
    ///
    /// # Errors
    /// As with [`Self::prove`].
    pub fn prove_statistics(
        &self,
        advice: &Advice,
        time: Duration,
        terminal: &mut Terminal,
    ) -> Result<Trial> {
        let fresh = schema::statistics_statements(advice);
        let sides = [recipe(&[]), recipe(&fresh)];
        Ok(trial(&self.compare(
            &self.load()?,
            sides,
            time,
            terminal,
        )?))
    }

    /// What duels show of the setting that saves most, with the advice's set there, within `time`.
    ///
    /// # Errors
    /// As with [`Self::prove`].
    pub fn prove_setting(
        &self,
        advice: &Advice,
        setting: &PlanSetting,
        time: Duration,
        terminal: &mut Terminal,
    ) -> Result<Trial> {
        let fresh = schema::statistics_statements(advice);
        let without = recipe(&[fresh, set_of(advice)].concat());
        let mut with = without.clone();
        with.change.config.clone_from(&setting.variables);
        let sides = [without, with];
        let found = self.compare(&self.load()?, sides, time, terminal)?;
        Ok(trial(&found))
    }

    /// The capture, to be replayed.
    fn load(&self) -> Result<Load> {
        load_of(workload_of_file(self.capture)?, [], ENGINE, 1)
    }

    /// One variant against another.
    fn compare(
        &self,
        load: &Load,
        sides: [VariantRecipe; 2],
        budget: Duration,
        terminal: &mut Terminal,
    ) -> Result<Comparison> {
        let question = StudyDescription {
            budget,
            alpha: self.alpha,
            // The same question in the same folder is the same study, whenever it is asked.
            seed: Some(1),
            origin: self.origin.clone(),
            ..StudyDescription::of(
                self.server.to_owned(),
                load.clone(),
                Question::Compare {
                    sides: Box::new(sides),
                    to_the_end: false,
                },
            )
        };
        let inventory = Inventory::open_in(None, self.servers, &[])?;
        let folder = self.folder.join(name_of(&question)?);
        let command = command_line();
        let session = Session {
            inventory: &inventory,
            cancel: self.cancel,
            name: "advise",
            folder: Some(&folder),
            command: &command,
            version: VERSION,
            command_of_part,
            fleet: None,
        };
        terminal.begin(budget);
        let answered = answer(&question, &session, terminal)?;
        if self.cancel.is_cancelled() {
            return Err(Cancelled.into());
        }
        match answered.found {
            Found::Summary(Summary::Compare(compare)) => Ok(compare.comparison),
            _ => bail!("the duels in {} are of another question", folder.display()),
        }
    }
}

/// The error probability of each question: whether fresh statistics pay, the set, each of its indexes, the setting.
///
/// It is shared before any duel, for what duels leave depends on them.
pub fn alpha(advice: &Advice) -> f64 {
    let indexes = match schema::set_statements(advice).len() {
        // Its own question is the set's.
        1 => 0,
        several => several,
    };
    let sets = usize::from(advice.screened.chosen().next().is_some());
    let settings = usize::from(advice.setting().is_some());
    let statistics = usize::from(!advice.statistics.is_empty());
    ALPHA / (statistics + sets + indexes + settings).max(1) as f64
}

/// The statements of the set.
fn set_of(advice: &Advice) -> Vec<String> {
    let set = schema::set_statements(advice).into_iter();
    set.map(|(_, _, statement)| statement).collect()
}

fn without(all: &[String], place: usize) -> Vec<String> {
    let others = all.iter().enumerate().filter(|(other, _)| *other != place);
    others.map(|(_, statement)| statement.clone()).collect()
}

fn recipe(statements: &[String]) -> VariantRecipe {
    let sql = statements.iter().map(|text| ChangeStatement {
        text: text.clone(),
        place: "schema.sql".to_owned(),
    });
    VariantRecipe {
        change: Change {
            sql: sql.collect(),
            ..Change::default()
        },
        ..VariantRecipe::default()
    }
}

/// A folder's name that no other question has.
fn name_of(question: &StudyDescription) -> Result<String> {
    // A study of another budget is another study.
    let key = study_key(&(question, question.budget))?;
    Ok(key.chars().take(12).collect())
}

/// A database that the duels need and that the advice has found out.
pub fn in_database(origin: &Origin, database: &str) -> Origin {
    let data = origin.data.as_ref().map(|data| Data {
        database: match database {
            "" => data.database.clone(),
            name => Some(name.to_owned()),
        },
        ..data.clone()
    });
    Origin {
        data,
        ..origin.clone()
    }
}

fn trial(found: &Comparison) -> Trial {
    let replay = found.replay.as_ref();
    Trial {
        throughput: found.throughput.estimate,
        verdict: found.throughput.verdict_by_all(),
        is_decidable: found.throughput.critical.is_some(),
        cpu: found.cpu_per_transaction,
        p99: found.latency_p99,
        duels: found.throughput.duels,
        other_answers: replay.map_or_else(Vec::new, |replay| replay.answers.clone()),
        poor_replay: replay
            .map(|replay| replay.verdict.shortcomings().to_vec())
            .unwrap_or_default(),
    }
}

/// Slower ones first, the slowest of them first; then the others by their share of the time.
fn digests(found: &Comparison) -> Vec<DigestTrial> {
    let Some(replay) = &found.replay else {
        return Vec::new();
    };
    let mut all: Vec<_> = replay.digests.iter().collect();
    all.sort_by(|one, other| {
        let is_slower = |finding: DigestFinding| finding == DigestFinding::Slower;
        let order = is_slower(other.finding).cmp(&is_slower(one.finding));
        order.then(other.share.total_cmp(&one.share))
    });
    let trials = all.into_iter().map(|one| DigestTrial {
        digest: one.digest.clone(),
        text: one.text.clone(),
        share: one.share,
        time: one.latency,
    });
    trials.collect()
}
