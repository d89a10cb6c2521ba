//! What the queries of a capture need, as one document.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_capture::fidelity::Shortcoming;
use niagara_capture::info::{Info, info};
use niagara_capture::sql::Class;
use niagara_error::Explanation;
use niagara_server::{Install, RunningServer};
use schemars::JsonSchema;
use serde::Serialize;

use crate::candidate::{
    Asking, ColumnValues, Drop, DropReason, NotTried, Values, candidates, prefixes,
};
use crate::catalog::{Abilities, Catalog, Table, TableName, ValueKind, quote};
use crate::cause::Cause;
use crate::copy::DataCopy;
use crate::fate::Fate;
use crate::observe::{
    Deadline, FreshStatistics, Observed, Selection, is_looked_into, observe, refresh_statistics,
};
use crate::plan::Plan;
use crate::proof::{Proof, Trial};
use crate::request::Request;
use crate::sampled_digest::Effect;
use crate::screen::{Judged, Screened, Until, screen};
use crate::setting::SettingEffect;
use crate::statement::NotUnderstood;
use crate::work::Work;
use crate::writes::{Writer, not_counted, with_triggers};

/// Share of the time that there is for looking at statements; the rest is for judging candidates.
const LOOKING: f64 = 0.4;
/// Share of the time for settings of the optimizer.
const OF_SETTINGS: f64 = 0.1;
/// A statement may take this share of the time.
const OF_ONE: f64 = 0.02;
/// But so long in any case, and no longer than this.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);
/// Rows by which the values of columns are known.
const VALUE_ROWS: u64 = 5000;
/// Reading so many rows for each that is returned is far too many.
pub(crate) const FAR_TOO_MANY: f64 = 10.0;
/// Reading so many times the rows that the captured server examined takes another plan, not other data.
const OTHER_PLAN: f64 = 10.0;
/// Fewer rows than these are no matter.
const OTHER_PLAN_ROWS: f64 = 1000.0;
/// Statements of a kind that is not looked into are named from this share on.
const MUCH: f64 = 0.05;
/// A capture that is shorter than a day says little of what is never used.
const LONG_CAPTURE: f64 = 86_400.0;

/// What the queries of a capture need.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Advice {
    /// The server of the copy: `MariaDB 10.11.19`.
    pub server: String,
    /// How long the capture ran, in seconds.
    pub capture_seconds: f64,
    /// Statements in it.
    pub statements: u64,
    /// What stands out.
    pub finding: Finding,
    /// The digests that make up most of the time.
    pub digests: Vec<DigestAdvice>,
    /// The candidates as they were judged, and the indexes that can go.
    pub screened: Screened,
    /// What was thought of and not tried.
    pub not_tried: Vec<NotTried>,
    /// Tables whose statistics were stale.
    pub statistics: Vec<StatisticsAdvice>,
    /// What duels showed of gathering them, without the set; none where it was only counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics_trial: Option<Trial>,
    /// Tables that want another engine, or a key.
    pub tables: Vec<TableAdvice>,
    /// What the reader has to know.
    pub cautions: Vec<Caution>,
    /// What duels showed of the set; none where it was only counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What the server can do with indexes, and with statements.
    pub abilities: Abilities,
}

/// What stands out: the statements that read far more than they return, or the mean of all where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// How many statements read far more than they return; 0 for none, and what follows is of all.
    pub digests: usize,
    /// Their share, 0 to 1.
    pub share: f64,
    /// The share is of the time; else of the number of executions.
    pub of_time: bool,
    /// Rows that they read for each that they return or change.
    pub examined_per_row: f64,
}

/// A digest that matters.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DigestAdvice {
    /// Its number.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// Its share of the time, 0 to 1.
    pub share: f64,
    /// Executions in the capture.
    pub count: u64,
    /// Mean work of an execution, counted; none where it could not be counted.
    pub work: Option<Work>,
    /// Mean rows that an execution returns or changes.
    pub rows_returned: Option<f64>,
    /// Executions that were counted.
    pub counted: u64,
    /// Some were ended, for they took too long.
    pub was_cut: bool,
    /// Why it costs what it costs, the most important first.
    pub causes: Vec<Cause>,
    /// How the server executes it before; none where it does not say.
    pub plan: Option<Plan>,
    /// Why it has no structure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_understood: Option<NotUnderstood>,
    /// What the server said of what it refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl DigestAdvice {
    /// Rows that it reads for each that it returns or changes.
    pub fn examined_per_row(&self) -> Option<f64> {
        let work = self.work?;
        Some(work.rows / self.rows_returned.unwrap_or(1.0).max(1.0))
    }
}

impl DigestAdvice {
    /// Whether it reads far more rows than it returns, for a cause that an index or other statistics mend.
    fn reads_far_more(&self) -> bool {
        self.causes.iter().any(Cause::is_of_reading)
            && self
                .examined_per_row()
                .is_some_and(|ratio| ratio >= FAR_TOO_MANY)
    }
}

impl Advice {
    /// Indexes that `schema.sql` takes away: those that another one replaces, and after a day's capture those that it does not use.
    pub fn superfluous(&self) -> impl DoubleEndedIterator<Item = &Drop> {
        let drops = self.screened.drops.iter();
        drops.filter(|one| !self.is_only_unseen(one))
    }

    /// Indexes that a capture of less than a day does not use: they may serve what runs at other times.
    pub fn unseen(&self) -> impl Iterator<Item = &Drop> {
        let drops = self.screened.drops.iter();
        drops.filter(|one| self.is_only_unseen(one))
    }

    fn is_only_unseen(&self, one: &Drop) -> bool {
        one.reason.is_by_use() && self.capture_seconds < LONG_CAPTURE
    }

    /// The statement that takes most of those that read far more than they return; none where none does.
    pub fn leading(&self) -> Option<&DigestAdvice> {
        let mut far_more = self.digests.iter().filter(|one| one.reads_far_more());
        far_more.next().filter(|_| self.finding.digests > 0)
    }

    /// What the set does to a digest; none where its work stays the same.
    pub fn effect(&self, digest: &str) -> Option<&Effect> {
        let mut effects = self.screened.effects.iter();
        effects.find(|effect| effect.digest == digest)
    }

    /// The share of the counted work that the set takes away, 0 to 1.
    pub fn saved(&self) -> f64 {
        let Screened {
            work_before,
            work_after,
            ..
        } = self.screened;
        match work_before > 0.0 {
            true => 1.0 - work_after / work_before,
            false => 0.0,
        }
    }

    /// Adds what duels showed: indexes that are not shown to pay leave the set.
    pub fn take_proof(&mut self, proof: Proof) {
        let mut rejected: BTreeSet<(TableName, String)> = BTreeSet::new();
        for one in &mut self.screened.judged {
            if one.fate != Fate::Chosen {
                continue;
            }
            let table = one.candidate.table.to_string();
            if let Some(fate) = proof.against(&table, &one.candidate.name) {
                // The set takes more work without it: `saves` is what it would lose.
                self.screened.work_after += one.saves - one.costs;
                one.fate = fate;
                rejected.insert((one.candidate.table.clone(), one.candidate.name.clone()));
            }
        }
        // What was to go because of an index that does not come stays.
        self.screened.drops.retain(|drop| match &drop.reason {
            DropReason::Duplicate { of } | DropReason::LeftPrefix { of } => {
                !rejected.contains(&(drop.table.clone(), of.clone()))
            }
            DropReason::NotUsedBesideSet => rejected.is_empty(),
            DropReason::NeverUsed => true,
        });
        self.cautions
            .retain(|caution| !matches!(caution, Caution::NotProven));
        let last = proof.handed_over.as_ref().unwrap_or(&proof.set);
        if last.is_open() {
            self.cautions.push(match last.poor_replay.is_empty() {
                true => Caution::TooFewDuels { duels: last.duels },
                false => Caution::PoorReplay {
                    shortcomings: last.poor_replay.clone(),
                },
            });
        }
        let untried = proof.indexes.iter().filter(|one| one.trial.is_none());
        let untried = untried.count();
        if proof.set.pays() && untried > 0 {
            self.cautions
                .push(Caution::ProvenTogether { indexes: untried });
        }
        self.proof = Some(proof);
    }

    /// The setting of the optimizer that saves most; none where none saves enough.
    pub fn setting(&self) -> Option<&SettingEffect> {
        self.screened.settings.first()
    }

    /// The same where duels showed that it pays.
    pub fn proven_setting(&self) -> Option<&SettingEffect> {
        let is_proven = |one: &&SettingEffect| one.trial.as_ref().is_some_and(Trial::pays);
        self.setting().filter(is_proven)
    }

    /// Adds what duels showed of the setting that saves most.
    pub fn take_setting_trial(&mut self, trial: Trial) {
        if !trial.poor_replay.is_empty() && self.proof.is_none() {
            self.cautions.push(Caution::PoorReplay {
                shortcomings: trial.poor_replay.clone(),
            });
        }
        if let Some(setting) = self.screened.settings.first_mut() {
            setting.trial = Some(trial);
        }
    }

    /// Adds what duels showed of fresh statistics; those that are lost are not handed over, and nothing is measured on top of them.
    pub fn take_statistics_trial(&mut self, trial: Trial) {
        if trial.is_lost() {
            self.statistics.clear();
        }
        self.statistics_trial = Some(trial);
    }

    /// Notes that fresh statistics could have no duels.
    pub fn without_statistics_trial(&mut self, error: Explanation) {
        self.cautions.push(Caution::StatisticsProofFailed { error });
    }

    /// Notes that the setting could have no duels.
    pub fn without_setting_trial(&mut self, error: Explanation) {
        self.cautions.push(Caution::SettingProofFailed { error });
    }

    /// Notes that no duels could be had.
    pub fn without_proof(&mut self, error: Explanation) {
        self.cautions.push(Caution::ProofFailed { error });
    }
}

/// A table whose statistics were stale.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatisticsAdvice {
    /// The table.
    pub table: TableName,
    /// Digests that take less work since they were gathered.
    pub digests: usize,
    /// The share of those digests' work that is gone.
    pub saves: f64,
}

/// A table that wants another engine, or a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum TableAdvice {
    /// It has no primary key.
    NoPrimaryKey {
        /// The table.
        table: TableName,
    },
    /// Its engine locks the whole table for a write.
    TableLocks {
        /// The table.
        table: TableName,
        /// The engine.
        engine: String,
    },
}

/// What the reader has to know.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum Caution {
    /// The set is counted, not proven.
    NotProven,
    /// The set is counted: the time ended before there were duels enough to decide by.
    TooFewDuels {
        /// How many there were.
        duels: usize,
    },
    /// The set is proven, and so many indexes of it were not left out in turn.
    ProvenTogether {
        /// How many.
        indexes: usize,
    },
    /// The set is counted: the replay is not like the capture, so that duels decide nothing.
    PoorReplay {
        /// What speaks against a verdict by it.
        shortcomings: Vec<Shortcoming>,
    },
    /// No duels could be had.
    ProofFailed {
        /// Why.
        error: Explanation,
    },
    /// Fresh statistics could have no duels.
    StatisticsProofFailed {
        /// Why.
        error: Explanation,
    },
    /// The setting of the optimizer could have no duels.
    SettingProofFailed {
        /// Why.
        error: Explanation,
    },
    /// The budget ended.
    OutOfTime,
    /// The capture has no durations.
    NoDurations,
    /// Something writes to a table of the set, and is not counted.
    WritesNotCounted {
        /// The table.
        table: TableName,
        /// The kind of the writer.
        by: Writer,
        /// Its name.
        name: String,
    },
    /// Statements of a kind that is not looked into.
    NotLookedInto {
        /// Their kind.
        class: Class,
        /// The word that they begin with: `CALL`.
        word: String,
        /// Their share, 0 to 1.
        share: f64,
        /// The share is of the time; else of the number of executions.
        of_time: bool,
    },
    /// Statements that nobody here understands.
    NotUnderstood {
        /// How many digests.
        digests: usize,
        /// Their share.
        share: f64,
        /// Each of them, also of those that take little time.
        named: Vec<UnreadDigest>,
    },
    /// Statements that could not be executed.
    NotCounted {
        /// How many digests.
        digests: usize,
        /// Their share.
        share: f64,
    },
    /// Statements that were ended.
    Cut {
        /// How many digests.
        digests: usize,
    },
    /// Statements that take more work with the set.
    Slower {
        /// How many digests.
        digests: usize,
    },
    /// Statements that read far more rows on the copy than in the capture: the server that was captured finds them otherwise.
    OtherPlan {
        /// The one that reads most rows in all.
        digest: String,
        /// Rows that an execution of it reads on the copy.
        counted: f64,
        /// Rows that the server examined for an execution.
        captured: f64,
        /// How many digests.
        digests: usize,
    },
}

/// A digest that nobody here understands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnreadDigest {
    /// Its number.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// Why it is not understood.
    pub reason: NotUnderstood,
}

impl Screened {
    /// The set, in the order of what each saves.
    pub fn chosen(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter(|one| one.fate == Fate::Chosen)
    }
}

/// Finds out what the queries of a capture need, on a server with a copy of its data. `tell` hears what is done, and may stop it.
///
/// # Errors
/// The capture cannot be read; the server is lost; `tell` says so.
pub fn advise(
    server: &RunningServer,
    install: &Install,
    request: &Request<'_>,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Advice> {
    let begun = Instant::now();
    let of_settings = match request.settings.is_empty() {
        true => 0.0,
        false => OF_SETTINGS,
    };
    let deadline = Deadline::after(request.budget.mul_f64(1.0 - of_settings));
    let until = Until {
        set: deadline,
        none_pays: Deadline::after(request.none_pays.mul_f64(1.0 - of_settings)),
        settings: request.budget.mul_f64(of_settings),
    };
    tell("reading the capture")?;
    let info = info(request.capture)?;
    let longest = request.budget.mul_f64(OF_ONE).clamp(SHORTEST, LONGEST);
    let mut copy = DataCopy::of(server, install, longest)?;
    let catalog = copy.catalog()?;
    let looking = deadline.part(LOOKING);
    let mut observed = observe(
        &mut copy,
        &catalog,
        (request.capture, &info),
        request.database,
        Selection::default(),
        looking,
        tell,
    )?;
    let fresh = refresh_statistics(&mut copy, &catalog, &mut observed, looking, tell)?;
    let values = values(&mut copy, &catalog, &observed)?;
    let asking: Vec<Asking<'_>> = (observed.iter().enumerate())
        .filter(|(_, one)| one.work.is_some())
        .map(|(place, one)| Asking {
            digest: place,
            structures: one.structures.iter().collect(),
            weight: one.total_work(),
        })
        .collect();
    let (found, not_tried) = candidates(&asking, &catalog, &values, copy.abilities);
    drop(asking);
    let screened = screen(&mut copy, &catalog, &observed, found, request, until, tell)?;
    let digests: Vec<DigestAdvice> = observed
        .iter()
        .filter(|one| one.matters)
        .map(describe)
        .collect();
    Ok(Advice {
        server: format!("{} {}", install.family, install.version),
        capture_seconds: info.seconds,
        statements: info.summary.statements,
        finding: finding(&digests, &info),
        tables: table_advice(&catalog, &observed),
        cautions: cautions(&catalog, &observed, &screened, &info, copy.is_mariadb),
        statistics: statistics(fresh),
        statistics_trial: None,
        digests,
        screened,
        not_tried,
        proof: None,
        seconds: begun.elapsed().as_secs_f64(),
        abilities: copy.abilities,
    })
}

fn describe(one: &Observed) -> DigestAdvice {
    DigestAdvice {
        digest: one.info.digest.clone(),
        text: one.info.text.clone(),
        share: one.info.share,
        count: one.info.count,
        work: one.work,
        rows_returned: one.rows_returned,
        counted: one.counted,
        was_cut: one.was_cut,
        causes: one.causes.clone(),
        plan: one.plan.clone(),
        not_understood: one
            .not_understood
            .clone()
            .filter(|_| one.structures.is_empty()),
        refused: one.refused.clone().filter(|_| one.counted == 0),
    }
}

fn finding(digests: &[DigestAdvice], info: &Info) -> Finding {
    let of_time = info.statement_seconds.is_some();
    let reads_far_more: Vec<&DigestAdvice> = (digests.iter())
        .filter(|digest| digest.reads_far_more())
        .collect();
    let ratio = |digests: &[&DigestAdvice]| {
        let sum = |value: &dyn Fn(&DigestAdvice) -> f64| -> f64 {
            digests
                .iter()
                .map(|one| value(one) * one.count as f64)
                .sum()
        };
        let rows = sum(&|one| one.work.map_or(0.0, |work| work.rows));
        let returned = sum(&|one| {
            one.work
                .map_or(0.0, |_| one.rows_returned.unwrap_or(1.0).max(1.0))
        });
        rows / returned.max(1.0)
    };
    let share = |digests: &[&DigestAdvice]| digests.iter().map(|one| one.share).sum();
    let all: Vec<&DigestAdvice> = digests.iter().collect();
    // One that has most of it alone is named alone.
    let named = match &reads_far_more[..] {
        [first, others @ ..] if first.share >= 0.5 && first.share > share(others) => vec![*first],
        _ => reads_far_more,
    };
    let spoken_of = if named.is_empty() { &all } else { &named };
    Finding {
        digests: named.len(),
        share: share(spoken_of),
        of_time,
        examined_per_row: ratio(spoken_of),
    }
}

fn statistics(fresh: Vec<FreshStatistics>) -> Vec<StatisticsAdvice> {
    let advice = fresh.into_iter().map(|one| {
        let before: f64 = one.digests.iter().map(|(_, before, _)| before).sum();
        let after: f64 = one.digests.iter().map(|(_, _, after)| after).sum();
        StatisticsAdvice {
            table: one.table,
            digests: one.digests.len(),
            saves: 1.0 - after / before.max(1.0),
        }
    });
    advice.collect()
}

fn table_advice(catalog: &Catalog, observed: &[Observed]) -> Vec<TableAdvice> {
    let used: BTreeSet<TableName> = observed.iter().flat_map(Observed::tables).collect();
    let changes = observed.iter().flat_map(Observed::changes).collect();
    let written = with_triggers(changes, catalog).into_iter();
    let written: BTreeSet<TableName> = written.map(|change| change.table).collect();
    let mut advice = Vec::new();
    for table in used
        .iter()
        .filter_map(|name| catalog.tables.get(name))
        .filter(|table| !table.is_view())
    {
        let engine = table.engine.clone().unwrap_or_default();
        let locks_tables =
            ["myisam", "aria", "memory", "csv"].contains(&engine.to_lowercase().as_str());
        if locks_tables && written.contains(&table.name) {
            advice.push(TableAdvice::TableLocks {
                table: table.name.clone(),
                engine,
            });
        }
        if table.is_innodb() && table.primary().is_none() {
            advice.push(TableAdvice::NoPrimaryKey {
                table: table.name.clone(),
            });
        }
    }
    advice
}

/// Statements that the copy executes otherwise than the captured server did.
fn other_plans(observed: &[Observed], is_mariadb: bool) -> Option<Caution> {
    let rows = |one: &Observed| {
        // MySQL's Rows_examined lacks the rounds of a recursion, and rows that a query in place of a table reads and leaves out.
        let is_told_short = one
            .structures
            .iter()
            .any(|structure| structure.recursive || (structure.has_derived && !is_mariadb));
        if is_told_short {
            return None;
        }
        let counted = one.work?.rows;
        let captured = one.info.rows_examined? as f64 / one.info.count.max(1) as f64;
        let is_other =
            one.matters && counted >= OTHER_PLAN_ROWS && counted >= OTHER_PLAN * captured.max(1.0);
        is_other.then_some((counted, captured))
    };
    let others: Vec<(&Observed, f64, f64)> = (observed.iter())
        .filter_map(|one| rows(one).map(|(counted, captured)| (one, counted, captured)))
        .collect();
    let in_all = |(one, counted, _): &&(&Observed, f64, f64)| counted * one.info.count as f64;
    let (most, counted, captured) = others
        .iter()
        .max_by(|a, b| in_all(a).total_cmp(&in_all(b)))?;
    Some(Caution::OtherPlan {
        digest: most.info.digest.clone(),
        counted: *counted,
        captured: *captured,
        digests: others.len(),
    })
}

/// Kinds of statements that take time and are not looked into. Where nothing has a duration, only those that hide others count.
fn not_looked_into(info: &Info) -> Vec<Caution> {
    let of_time = info.statement_seconds.is_some();
    let mut kinds: Vec<(Class, String, f64)> = Vec::new();
    for digest in info.digests.iter().filter(|digest| !is_looked_into(digest)) {
        let word = digest.text.split(|c: char| !c.is_alphanumeric()).next();
        let word = word.unwrap_or_default().to_uppercase();
        let is_same = |(class, known, _): &&mut (Class, String, f64)| {
            (*class, known.as_str()) == (digest.class, word.as_str())
        };
        match kinds.iter_mut().find(is_same) {
            Some((_, _, share)) => *share += digest.share,
            None => kinds.push((digest.class, word, digest.share)),
        }
    }
    let kinds = kinds.into_iter().filter(|(class, word, share)| {
        let hides_others = matches!(class, Class::Call | Class::Prepared);
        *share >= MUCH && !word.is_empty() && (of_time || hides_others)
    });
    let cautions = kinds.map(|(class, word, share)| Caution::NotLookedInto {
        class,
        word,
        share,
        of_time,
    });
    cautions.collect()
}

/// What writes to the tables of the set and is not counted.
fn writes_not_counted(
    catalog: &Catalog,
    observed: &[Observed],
    screened: &Screened,
    info: &Info,
) -> Vec<Caution> {
    let changes = observed.iter().flat_map(Observed::changes).collect();
    let changes = with_triggers(changes, catalog);
    let made = screened
        .chosen()
        .filter(|one| one.candidate.hidden.is_none());
    let tables: BTreeSet<&TableName> = made.map(|one| &one.candidate.table).collect();
    let cautions = tables.into_iter().flat_map(|table| {
        let texts = info.digests.iter().map(|digest| digest.text.as_str());
        let writers = not_counted(table, &changes, texts, catalog);
        writers.into_iter().map(|one| Caution::WritesNotCounted {
            table: table.clone(),
            by: one.by,
            name: one.name,
        })
    });
    cautions.collect()
}

fn cautions(
    catalog: &Catalog,
    observed: &[Observed],
    screened: &Screened,
    info: &Info,
    is_mariadb: bool,
) -> Vec<Caution> {
    let mut cautions = Vec::new();
    if screened.chosen().next().is_some() {
        cautions.push(Caution::NotProven);
    }
    cautions.extend(writes_not_counted(catalog, observed, screened, info));
    if screened.out_of_time {
        cautions.push(Caution::OutOfTime);
    }
    if info.statement_seconds.is_none() {
        cautions.push(Caution::NoDurations);
    }
    cautions.extend(other_plans(observed, is_mariadb));
    cautions.extend(not_looked_into(info));
    let share = |digests: &[&Observed]| digests.iter().map(|one| one.info.share).sum();
    let not_understood: Vec<&Observed> = (observed.iter())
        .filter(|one| one.structures.is_empty() && one.not_understood.is_some())
        .collect();
    if !not_understood.is_empty() {
        let named = not_understood.iter().filter_map(|one| {
            Some(UnreadDigest {
                digest: one.info.digest.clone(),
                text: one.info.text.clone(),
                reason: one.not_understood.clone()?,
            })
        });
        cautions.push(Caution::NotUnderstood {
            digests: not_understood.len(),
            share: share(&not_understood),
            named: named.collect(),
        });
    }
    let not_counted: Vec<&Observed> = (observed.iter())
        .filter(|one| one.matters && one.work.is_none() && one.refused.is_some())
        .collect();
    if !not_counted.is_empty() {
        cautions.push(Caution::NotCounted {
            digests: not_counted.len(),
            share: share(&not_counted),
        });
    }
    let cut = observed.iter().filter(|one| one.was_cut).count();
    if cut > 0 {
        cautions.push(Caution::Cut { digests: cut });
    }
    if !screened.slower.is_empty() {
        cautions.push(Caution::Slower {
            digests: screened.slower.len(),
        });
    }
    cautions
}

/// How well columns that statements ask for tell rows apart, from the first rows of each table.
fn values(copy: &mut DataCopy, catalog: &Catalog, observed: &[Observed]) -> Result<Values> {
    let mut wanted: BTreeSet<(TableName, String)> = BTreeSet::new();
    for structure in observed
        .iter()
        .filter(|one| one.work.is_some())
        .flat_map(|one| &one.structures)
    {
        for block in &structure.blocks {
            let alternatives = block.alternatives.iter().flatten().flatten();
            let asked = block
                .terms
                .iter()
                .chain(alternatives)
                .map(|term| (term.table, &term.column));
            let sorted = block
                .order
                .iter()
                .chain(&block.groups)
                .map(|item| (item.table, &item.column));
            for (table, column) in asked.chain(sorted) {
                wanted.insert((block.uses[table].table.clone(), column.clone()));
            }
        }
    }
    let mut values = Values::new();
    let tables: BTreeSet<&TableName> = wanted.iter().map(|(table, _)| table).collect();
    for name in tables {
        let Some(table) = catalog.tables.get(name).filter(|table| table.is_innodb()) else {
            continue;
        };
        let columns: Vec<&String> = wanted
            .iter()
            .filter(|(table, _)| table == name)
            .map(|(_, column)| column)
            .collect();
        values_of(copy, table, &columns, &mut values)?;
    }
    Ok(values)
}

fn values_of(
    copy: &mut DataCopy,
    table: &Table,
    columns: &[&String],
    values: &mut Values,
) -> Result<()> {
    let mut asked = vec!["COUNT(*)".to_owned()];
    let mut meant: Vec<(&str, Option<u64>)> = Vec::new();
    for name in columns {
        let Some(column) = table.column(name) else {
            continue;
        };
        let quoted = quote(name);
        asked.push(format!("COUNT(DISTINCT {quoted})"));
        meant.push((name, None));
        if column.kind() == ValueKind::Text && (column.needs_prefix() || column.key_bytes() > 255) {
            for &length in prefixes() {
                asked.push(format!("COUNT(DISTINCT LEFT({quoted}, {length}))"));
                meant.push((name, Some(length)));
            }
        }
    }
    let names: Vec<String> = columns.iter().map(|name| quote(name)).collect();
    let rows = copy.rows(&format!(
        "SELECT {} FROM (SELECT {} FROM {} LIMIT {VALUE_ROWS}) AS few",
        asked.join(", "),
        names.join(", "),
        table.name.quoted()
    ))?;
    let mut numbers = rows.into_iter().flatten().map(|value| {
        value
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    });
    let all = numbers.next().unwrap_or(0.0).max(1.0);
    for ((name, prefix), number) in meant.into_iter().zip(numbers) {
        let known: &mut ColumnValues = values
            .entry((table.name.clone(), name.to_owned()))
            .or_default();
        match prefix {
            None => known.distinct = number / all,
            Some(length) => known.distinct_prefixes.push((length, number / all)),
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use niagara_server::HideClause;
    use niagara_stats::{Estimate, Verdict};

    use super::*;
    use crate::candidate::{Candidate, Purpose};
    use crate::catalog::{Index, IndexKind, IndexPart, StatementSetting};
    use crate::words::headline;

    fn item() -> TableName {
        TableName {
            database: "shop".to_owned(),
            table: "item".to_owned(),
        }
    }

    fn parts(columns: &[&str]) -> Vec<IndexPart> {
        columns.iter().map(|name| IndexPart::column(name)).collect()
    }

    /// A new index of `shop.item`.
    pub(crate) fn chosen(name: &str, columns: &[&str]) -> Judged {
        Judged {
            candidate: Candidate {
                table: item(),
                name: name.to_owned(),
                hidden: None,
                parts: parts(columns),
                purposes: BTreeSet::from([Purpose::Equality]),
                digests: BTreeSet::new(),
                replaces: Vec::new(),
            },
            build_seconds: Some(0.1),
            bytes: Some(1 << 20),
            online: true,
            saves_alone: 50.0,
            saves: 50.0,
            costs: 1.0,
            serves: Vec::new(),
            fate: Fate::Chosen,
        }
    }

    /// An index of `shop.item` that can go.
    pub(crate) fn superfluous(name: &str, columns: &[&str], reason: DropReason) -> Drop {
        Drop {
            table: item(),
            index: Index {
                name: name.to_owned(),
                unique: false,
                kind: IndexKind::Ordered,
                parts: parts(columns),
                visible: true,
            },
            reason,
        }
    }

    /// What a day's capture says, by counting alone.
    pub(crate) fn counted(
        hiding: Option<HideClause>,
        judged: Vec<Judged>,
        drops: Vec<Drop>,
    ) -> Advice {
        Advice {
            server: "MariaDB 10.11.19".to_owned(),
            capture_seconds: LONG_CAPTURE,
            statements: 1000,
            finding: Finding {
                digests: 0,
                share: 1.0,
                of_time: true,
                examined_per_row: 2.0,
            },
            digests: Vec::new(),
            screened: Screened {
                judged,
                drops,
                work_before: 100.0,
                work_after: 50.0,
                ..Screened::default()
            },
            not_tried: Vec::new(),
            statistics: Vec::new(),
            statistics_trial: None,
            tables: Vec::new(),
            cautions: vec![Caution::NotProven],
            proof: None,
            seconds: 1.0,
            abilities: Abilities {
                hiding,
                descending: true,
                functional: false,
                histograms: false,
                for_statement: Some(StatementSetting::SetStatement),
            },
        }
    }

    #[test]
    fn a_poor_replay_leaves_the_set_counted() {
        let set = Trial {
            throughput: Estimate {
                ratio: 1.5,
                low: 1.4,
                high: 1.6,
            },
            verdict: Some(Verdict::Faster),
            is_decidable: true,
            cpu: None,
            p99: None,
            duels: 8,
            other_answers: Vec::new(),
            poor_replay: vec![Shortcoming::Time { share: 0.4 }],
        };
        let judged = vec![chosen("idx_a", &["a"])];
        let mut advice = counted(Some(HideClause::Ignored), judged, Vec::new());
        advice.take_proof(Proof {
            set,
            digests: Vec::new(),
            indexes: Vec::new(),
            handed_over: None,
            seconds: 1.0,
        });
        assert_eq!(advice.screened.chosen().count(), 1);
        let headline = headline(&advice);
        assert!(
            headline.contains("Not proven: the replay is not good enough")
                && !headline.contains("Proven by duels"),
            "{headline}"
        );
        let [caution] = &advice.cautions[..] else {
            panic!("{:?}", advice.cautions);
        };
        let told = caution.to_string();
        assert!(
            told.contains("it is not proven")
                && told.contains("only 40 % of the captured time can be replayed"),
            "{told}"
        );
    }
}
