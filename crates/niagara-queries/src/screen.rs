//! Candidates judged by counting: each is built on the copy and shown to the optimizer alone; the set grows by the one that saves
//! most of the work that is left, within limits of number and space; one that the others make superfluous goes again.

use std::time::Duration;

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

use crate::candidate::{Candidate, Drop, IndexUse, Kept, KeptReason};
use crate::catalog::{Catalog, Index, IndexKind, IndexPart, TableName, folded, is_same_name};
use crate::copy::{Built, DataCopy};
use crate::count_settings::count_settings;
use crate::executable::Executable;
use crate::fate::Fate;
use crate::observe::{Change, Deadline, Observed, refusal};
use crate::plan::Plan;
use crate::request::{Limits, Request};
use crate::sampled_digest::{Effect, SampledDigest, counted};
use crate::setting::SettingEffect;
use crate::statement::Kind;
use crate::work::Work;
use crate::writes::with_triggers;

/// Executions of a digest that are counted for each candidate.
const SAMPLES: u64 = 8;
/// The same of one whose executions take longer than they may: each costs as much time as many others.
const CUT_SAMPLES: u64 = 2;
/// Share of the time in which candidates are judged alone, once one is found that pays; the rest is for the set.
const ALONE: f64 = 0.7;
/// An index has to save this share of the work that is left, with its cost taken off.
const WORTH: f64 = 0.01;
/// A statement for which no cause was found, or which is mended, counts only from this work on: about a third of a millisecond.
const CHEAP: f64 = 1000.0;
/// And what is saved of such statements counts only where it is this share of what is left, and a hundredth of what was there.
const WORTH_WITHOUT_CAUSE: f64 = 0.05;
/// One that the others make superfluous saves less than this share of what it saved alone.
const SUPERFLUOUS: f64 = 0.05;
/// Saving this share of what another one saves is nearly as much.
const NEARLY: f64 = 0.95;
/// Work that grows by this share is more.
const MORE: f64 = 0.01;
/// A statement that takes so much more with the set than before is named.
const SLOWER: f64 = 1.05;
/// An index entry that is written costs at least this much work: a page read and written.
const LEAST_ENTRY: f64 = 4.0;

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// Seconds that it took to build here; none of one that was not built, or is there and hidden.
    pub build_seconds: Option<f64>,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// The table could be written to meanwhile.
    pub online: bool,
    /// Work of the capture that it saves alone.
    pub saves_alone: f64,
    /// Work of the capture that it saves in the set, and that the set would lose without it.
    pub saves: f64,
    /// Work that the writes of the capture cost more with it.
    pub costs: f64,
    /// The digests that use it in the set.
    pub serves: Vec<String>,
    /// Whether it is in the set, and why not.
    pub fate: Fate,
}

/// What counting says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Screened {
    /// The candidates, those of the set first, in the order in which they came into it.
    pub judged: Vec<Judged>,
    /// Indexes that can go.
    pub drops: Vec<Drop>,
    /// Indexes that stay though they seem superfluous.
    pub kept: Vec<Kept>,
    /// Work of all executions of the capture that were counted, before.
    pub work_before: f64,
    /// The same with the set, what it costs to write included.
    pub work_after: f64,
    /// Each digest whose work the set changes.
    pub effects: Vec<Effect>,
    /// Digests that take more work with the set.
    pub slower: Vec<String>,
    /// Settings of the optimizer that save work, the one that saves most first.
    pub settings: Vec<SettingEffect>,
    /// The time ended before all was judged.
    pub out_of_time: bool,
}

/// Judges candidates on one copy.
struct Screen<'a, 'o> {
    copy: &'a mut DataCopy,
    digests: Vec<SampledDigest<'o>>,
    changes: Vec<Change>,
    until: Until,
    /// A candidate was found that pays.
    found: bool,
    /// What each candidate, judged alone, makes of the digests that use it.
    alone: Vec<Vec<(usize, Work)>>,
    /// Work of all executions before.
    before: f64,
}

/// Until when there is time, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Until {
    /// For the set.
    pub set: Deadline,
    /// For judging candidates alone while none is found that pays; not before `set`.
    pub none_pays: Deadline,
    /// How long counting with settings of the optimizer may take.
    pub settings: Duration,
}

/// Judges the candidates; those that are not in the set are hidden when this ends.
///
/// # Errors
/// The server is lost.
pub fn screen(
    copy: &mut DataCopy,
    catalog: &Catalog,
    observed: &[Observed],
    candidates: Vec<Candidate>,
    request: &Request<'_>,
    until: Until,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Screened> {
    let changes = observed.iter().flat_map(Observed::changes).collect();
    let changes = with_triggers(changes, catalog);
    let mut screen = Screen {
        copy,
        digests: Vec::new(),
        changes,
        until,
        found: false,
        alone: Vec::new(),
        before: 0.0,
    };
    for one in observed.iter().filter(|one| one.work.is_some()) {
        screen.add(one)?;
    }
    screen.before = screen.total();
    let mut screened = Screened {
        work_before: screen.before,
        ..Screened::default()
    };
    if !request.settings_with_set {
        screen.settings(request, 0, &mut screened, tell)?;
    }
    let total = candidates.len();
    let enough = until.set.part(ALONE);
    let mut judged = Vec::new();
    for (place, candidate) in candidates.into_iter().enumerate() {
        tell(&format!(
            "judging {total} indexes, {} %: {}{}",
            100 * place / total.max(1),
            candidate.table,
            crate::catalog::parts_in_words(&candidate.parts)
        ))?;
        let may_be_judged = match screen.found {
            true => !enough.is_over(),
            false => !until.none_pays.is_over(),
        };
        let (one, changed) = screen.judge_alone(candidate, may_be_judged)?;
        screen.found |= one.saves_alone > one.costs;
        screen.alone.push(changed);
        judged.push(one);
    }
    screen.grow(&mut judged, request.limits, tell)?;
    screen.thin(&mut judged)?;
    screened.out_of_time |= judged.iter().any(|one| one.fate == Fate::NoTime);
    judged.sort_by(|a, b| {
        let rank = |one: &Judged| u8::from(one.fate != Fate::Chosen);
        rank(a)
            .cmp(&rank(b))
            .then(b.saves.total_cmp(&a.saves))
            .then(b.saves_alone.total_cmp(&a.saves_alone))
    });
    tell("looking for indexes that can go")?;
    screen.drops(catalog, observed, &mut judged, &mut screened)?;
    screened.work_after = screen.total()
        + judged
            .iter()
            .filter(|one| one.fate == Fate::Chosen)
            .map(|one| one.costs)
            .sum::<f64>();
    for digest in &screen.digests {
        let (before, after) = (digest.base.total(), digest.now.total());
        if before != after {
            screened.effects.push(Effect {
                digest: digest.observed.info.digest.clone(),
                before: digest.base,
                after: digest.now,
                plan: plan(screen.copy, digest)?,
            });
        }
        if after > before * SLOWER + 1.0 {
            screened.slower.push(digest.observed.info.digest.clone());
        }
    }
    if request.settings_with_set {
        let chosen = judged.iter().filter(|one| one.fate == Fate::Chosen);
        screen.settings(request, chosen.count(), &mut screened, tell)?;
    }
    screened.judged = judged;
    Ok(screened)
}

impl<'o> Screen<'_, 'o> {
    fn add(&mut self, observed: &'o Observed) -> Result<()> {
        let executables: Vec<Executable> = observed
            .executables
            .iter()
            .take(SAMPLES as usize)
            .cloned()
            .collect();
        let most = match observed.was_cut {
            true => CUT_SAMPLES,
            false => SAMPLES,
        };
        // Where there was time for few, there is for few.
        let samples = most.min(observed.counted.max(1));
        let Some(base) = count(self.copy, &executables, samples)? else {
            return Ok(());
        };
        self.digests.push(SampledDigest {
            executables,
            samples,
            tables: observed.tables(),
            aliases: observed.aliases(),
            base,
            now: base,
            observed,
        });
        Ok(())
    }

    /// Work of all executions with the set so far.
    fn total(&self) -> f64 {
        self.digests.iter().map(SampledDigest::work).sum()
    }

    /// Counts with settings of the optimizer, while so many indexes of the set are there.
    fn settings(
        &mut self,
        request: &Request<'_>,
        with_indexes: usize,
        screened: &mut Screened,
        tell: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let counted = count_settings(
            self.copy,
            &self.digests,
            (request.settings, with_indexes),
            Deadline::after(self.until.settings),
            tell,
        )?;
        screened.settings = counted.effects;
        screened.out_of_time |= counted.out_of_time;
        Ok(())
    }

    /// Builds a candidate and counts what it saves alone, and the work of the digests that use it; it is hidden again.
    fn judge_alone(
        &mut self,
        candidate: Candidate,
        is_time_left: bool,
    ) -> Result<(Judged, Vec<(usize, Work)>)> {
        let mut judged = Judged {
            candidate,
            build_seconds: None,
            bytes: None,
            online: false,
            saves_alone: 0.0,
            saves: 0.0,
            costs: 0.0,
            serves: Vec::new(),
            fate: Fate::NoTime,
        };
        if !is_time_left {
            return Ok((judged, Vec::new()));
        }
        let candidate = &judged.candidate;
        let (table, add) = (candidate.table.clone(), candidate.add_clause());
        // For one that is there, writes pay already.
        let is_written =
            candidate.hidden.is_none() && self.changes.iter().any(|change| change.table == table);
        let before = match is_written {
            true => self.copy.removal_work(&table)?,
            false => None,
        };
        if candidate.hidden.is_some() {
            self.copy.show(&table, &candidate.name, &add, true)?;
            judged.online = true;
        } else {
            let built: Built = match self.copy.build(&table, &candidate.name, &add) {
                Ok(built) => built,
                Err(error) => {
                    let message = error.root_cause().to_string();
                    judged.fate = Fate::Refused { message };
                    return Ok((judged, Vec::new()));
                }
            };
            judged.build_seconds = Some(built.seconds);
            judged.bytes = built.bytes;
            judged.online = built.online;
        }
        if is_written {
            let entry = match (before, self.copy.removal_work(&table)?) {
                (Some(before), Some(after)) => (after.total() - before.total()).max(LEAST_ENTRY),
                _ => LEAST_ENTRY,
            };
            judged.costs = entry * self.entries(&judged.candidate);
        }
        let (saves, changed) = self.saving(&judged.candidate)?;
        let any_less = changed
            .iter()
            .any(|(place, work)| work.total() < self.digests[*place].now.total());
        judged.saves_alone = saves;
        self.copy
            .show(&table, &judged.candidate.name, &add, false)?;
        judged.fate = match saves {
            saves if saves <= 0.0 && any_less => Fate::NotNeeded,
            saves if saves <= 0.0 => Fate::SavesNothing,
            saves if saves <= judged.costs => Fate::CostsMore,
            _ => Fate::SavesLittle,
        };
        Ok((judged, changed))
    }

    /// Whether the set so far leaves the digests that use a candidate as they were when it was judged alone.
    fn is_as_alone(&self, place: usize) -> bool {
        let digests = self.alone[place].iter().map(|(at, _)| &self.digests[*at]);
        digests.into_iter().all(|digest| digest.now == digest.base)
    }

    /// Entries of an index that the writes of the capture change.
    fn entries(&self, candidate: &Candidate) -> f64 {
        let has = |column: &String| {
            candidate.parts.iter().any(|part| match &part.expression {
                None => is_same_name(&part.column, column),
                Some(expression) => folded(expression).contains(&folded(column)),
            })
        };
        let of_table = self
            .changes
            .iter()
            .filter(|change| change.table == candidate.table);
        of_table
            .map(|change| match change.kind {
                Kind::Insert | Kind::Delete => change.rows,
                // The old entry goes, the new one comes.
                Kind::Update if change.columns.iter().any(has) => 2.0 * change.rows,
                Kind::Update | Kind::Select => 0.0,
            })
            .sum()
    }

    /// What an index that is shown saves of the work with the set so far, and the work of the digests that use it.
    fn saving(&mut self, candidate: &Candidate) -> Result<(f64, Vec<(usize, Work)>)> {
        let (mut saves, mut saves_without_cause) = (0.0, 0.0);
        let mut changed = Vec::new();
        for (place, digest) in self.digests.iter().enumerate() {
            if !digest.tables.contains(&candidate.table)
                || !uses(self.copy, digest, &candidate.table, &candidate.name)?
            {
                continue;
            }
            if let Some(work) = count(self.copy, &digest.executables, digest.samples)? {
                let saved = (digest.now.total() - work.total()) * digest.executions();
                // A statement that finds what it needs is better left alone, unless much is won.
                if digest.has_cause() || saved < 0.0 {
                    saves += saved;
                } else if digest.now.total() >= CHEAP {
                    saves_without_cause += saved;
                }
                changed.push((place, work));
            }
        }
        if saves_without_cause >= (WORTH_WITHOUT_CAUSE * self.total()).max(WORTH * self.before) {
            saves += saves_without_cause;
        }
        Ok((saves, changed))
    }

    /// Adds the candidate that saves most of what is left, again and again.
    fn grow(
        &mut self,
        judged: &mut [Judged],
        limits: Limits,
        tell: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        // What a candidate saved last: with a larger set it seldom saves more, so that only the first of the list is counted again.
        let mut waiting: Vec<(f64, usize)> = (judged.iter().enumerate())
            .filter(|(_, one)| one.fate == Fate::SavesLittle)
            .map(|(place, one)| (one.saves_alone - one.costs, place))
            .collect();
        let (mut number, mut bytes) = (0, 0);
        loop {
            waiting.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let Some((_, place)) = pop_best(&mut waiting, judged) else {
                return Ok(());
            };
            let one = &mut judged[place];
            let size = one.bytes.unwrap_or(0);
            if number >= limits.indexes {
                one.fate = Fate::TooMany;
                continue;
            }
            if limits.bytes.is_some_and(|most| bytes + size > most) {
                one.fate = Fate::TooLarge;
                continue;
            }
            let (is_over, is_as_alone) = (self.until.set.is_over(), self.is_as_alone(place));
            if is_over && !is_as_alone {
                one.fate = Fate::NoTime;
                continue;
            }
            // No count of what is chosen by now: in a log it would read as the result.
            tell(&format!(
                "choosing indexes: {} candidates left",
                waiting.len() + 1
            ))?;
            let candidate = one.candidate.clone();
            let add = candidate.add_clause();
            self.copy
                .show(&candidate.table, &candidate.name, &add, true)?;
            // The first one was counted in an empty set already, and where the time is over that has to do for others that it leaves alone.
            let (saves, changed) = match is_as_alone && (number == 0 || is_over) {
                true => (one.saves_alone, self.alone[place].clone()),
                false => self.saving(&candidate)?,
            };
            let net = saves - one.costs;
            // One that was taken for being shorter is as good as the longer one.
            let next = waiting.last().map_or(f64::MIN, |(next, _)| *next);
            if net < NEARLY * next {
                // Another one may save more now.
                self.copy
                    .show(&candidate.table, &candidate.name, &add, false)?;
                // Where the set has taken all that it saved, it is not asked for again and again.
                match net > 0.0 {
                    true => waiting.push((net, place)),
                    false => one.fate = Fate::Superfluous,
                }
                continue;
            }
            if net < WORTH * self.total() || saves <= 0.0 {
                self.copy
                    .show(&candidate.table, &candidate.name, &add, false)?;
                one.fate = match (saves <= SUPERFLUOUS * one.saves_alone, saves <= one.costs) {
                    (true, _) => Fate::Superfluous,
                    (false, true) => Fate::CostsMore,
                    (false, false) => Fate::SavesLittle,
                };
                continue;
            }
            for (digest, work) in changed {
                self.digests[digest].now = work;
            }
            one.saves = saves;
            one.fate = Fate::Chosen;
            number += 1;
            bytes += size;
        }
    }

    /// Takes those out of the set that the others make superfluous.
    fn thin(&mut self, judged: &mut [Judged]) -> Result<()> {
        let chosen: Vec<usize> = (0..judged.len())
            .filter(|&place| judged[place].fate == Fate::Chosen)
            .collect();
        if chosen.len() < 2 {
            return Ok(());
        }
        for place in chosen {
            let candidate = judged[place].candidate.clone();
            let add = candidate.add_clause();
            let (loss, without) = self.loss(&candidate.table, &candidate.name, &add)?;
            if loss - judged[place].costs >= WORTH * self.total() {
                judged[place].saves = loss;
                self.copy
                    .show(&candidate.table, &candidate.name, &add, true)?;
                continue;
            }
            judged[place].fate = Fate::Superfluous;
            for (digest, work) in without {
                self.digests[digest].now = work;
            }
        }
        Ok(())
    }

    /// Hides an index; the work that the capture takes more without it, and the digests' work.
    fn loss(
        &mut self,
        table: &TableName,
        index: &str,
        add: &str,
    ) -> Result<(f64, Vec<(usize, Work)>)> {
        let mut users = Vec::new();
        for (place, digest) in self.digests.iter().enumerate() {
            if digest.tables.contains(table) && uses(self.copy, digest, table, index)? {
                users.push(place);
            }
        }
        self.copy.show(table, index, add, false)?;
        let mut loss = 0.0;
        let mut without = Vec::new();
        for place in users {
            let digest = &self.digests[place];
            if let Some(work) = count(self.copy, &digest.executables, digest.samples)? {
                loss += (work.total() - digest.now.total()) * digest.executions();
                without.push((place, work));
            }
        }
        Ok((loss, without))
    }

    /// Indexes that can go now that the set is there.
    fn drops(
        &mut self,
        catalog: &Catalog,
        observed: &[Observed],
        judged: &mut [Judged],
        screened: &mut Screened,
    ) -> Result<()> {
        let mut catalog = catalog.clone();
        for one in judged.iter().filter(|one| one.fate == Fate::Chosen) {
            let Some(table) = catalog.tables.get_mut(&one.candidate.table) else {
                continue;
            };
            let mut there = table.indexes.iter_mut();
            match there.find(|index| index.name == one.candidate.name) {
                Some(hidden) => hidden.visible = true,
                None => table.indexes.push(Index {
                    name: one.candidate.name.clone(),
                    unique: false,
                    kind: IndexKind::Ordered,
                    parts: one.candidate.parts.clone(),
                    visible: true,
                }),
            }
        }
        let mut index_use = IndexUse {
            touched: observed.iter().flat_map(Observed::tables).collect(),
            named: observed.iter().flat_map(Observed::named_indexes).collect(),
            used_before: observed.iter().flat_map(|one| one.uses.clone()).collect(),
            ..IndexUse::default()
        };
        for one in observed {
            let mut one = one.clone();
            one.explain(self.copy)?;
            let is_write_of_values = one.executables.is_empty() && !one.structures.is_empty();
            let is_unseen = one.plan.is_none() || one.has_unread_plan;
            index_use.unseen += u64::from(is_unseen && !is_write_of_values);
            for judged in judged
                .iter_mut()
                .filter(|judged| judged.fate == Fate::Chosen)
            {
                let index = (
                    judged.candidate.table.clone(),
                    judged.candidate.name.clone(),
                );
                if one.uses.contains(&index) {
                    judged.serves.push(one.info.digest.clone());
                }
            }
            index_use.used.extend(one.uses);
        }
        let (drops, kept) = crate::candidate::drops(&catalog, &index_use);
        screened.kept = kept;
        for drop in drops {
            // What was proposed just now is not dropped; it would not have been chosen.
            if judged.iter().any(|one| {
                one.candidate.table == drop.table && one.candidate.name == drop.index.name
            }) {
                continue;
            }
            if self.can_go(&drop)? {
                screened.drops.push(drop);
            } else {
                screened.kept.push(Kept {
                    table: drop.table,
                    index: drop.index.name,
                    reason: KeptReason::StillUseful,
                });
            }
        }
        Ok(())
    }

    /// Hides an index that seems superfluous; whether the capture takes no more work. Else it is shown again.
    fn can_go(&mut self, drop: &Drop) -> Result<bool> {
        // Where nothing uses it there is nothing to count, and it stays where it is.
        if drop.reason.is_by_use() {
            return Ok(true);
        }
        let parts: Vec<String> = drop.index.parts.iter().map(IndexPart::sql).collect();
        let unique = if drop.index.unique { "UNIQUE " } else { "" };
        let add = format!(
            "ADD {unique}INDEX {} ({})",
            crate::catalog::quote(&drop.index.name),
            parts.join(", ")
        );
        let (loss, without) = self.loss(&drop.table, &drop.index.name, &add)?;
        let of_table = self
            .digests
            .iter()
            .filter(|digest| digest.tables.contains(&drop.table));
        let work: f64 = of_table.map(SampledDigest::work).sum();
        if loss > MORE * work {
            self.copy.show(&drop.table, &drop.index.name, &add, true)?;
            return Ok(false);
        }
        for (digest, work) in without {
            self.digests[digest].now = work;
        }
        Ok(true)
    }
}

/// Takes the candidate that saves most; a shorter one of the same table in its place that saves nearly as much.
fn pop_best(waiting: &mut Vec<(f64, usize)>, judged: &[Judged]) -> Option<(f64, usize)> {
    let &(best, place) = waiting.last()?;
    let candidate = |place: usize| &judged[place].candidate;
    let as_good = waiting.iter().enumerate().filter(|(_, (net, other))| {
        *net >= NEARLY * best && candidate(*other).table == candidate(place).table
    });
    // Of those that are as short, the last one saves most.
    let shortest = as_good
        .min_by_key(|(at, (_, other))| (candidate(*other).parts.len(), std::cmp::Reverse(*at)));
    shortest.map(|(at, _)| at).map(|at| waiting.remove(at))
}

/// Whether any sample of a digest uses the index. One whose plan cannot be read may do so: its work then tells.
fn uses(
    copy: &mut DataCopy,
    digest: &SampledDigest<'_>,
    table: &TableName,
    index: &str,
) -> Result<bool> {
    for one in &digest.executables {
        let plan = match refusal(copy.plan(one))? {
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok(true),
            Err(_) => continue,
        };
        let mut aliases = digest.aliases.iter().filter(|(_, of)| *of == table);
        if aliases.any(|(alias, _)| plan.uses(alias, index)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How the server executes the first sample.
fn plan(copy: &mut DataCopy, digest: &SampledDigest<'_>) -> Result<Option<Plan>> {
    let Some(one) = digest.executables.first() else {
        return Ok(None);
    };
    Ok(refusal(copy.plan(one))?.ok().flatten())
}

/// Mean work of so many of the samples; none where none could be counted.
fn count(copy: &mut DataCopy, executables: &[Executable], samples: u64) -> Result<Option<Work>> {
    let (mut sum, mut number) = (Work::default(), 0);
    for one in counted(copy, executables).take(samples as usize) {
        sum += one?.work;
        number += 1;
    }
    Ok((number > 0).then(|| sum * (1.0 / f64::from(number))))
}
