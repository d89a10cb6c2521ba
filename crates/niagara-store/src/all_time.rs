//! Throughput over all time under load, from the slices of the duels: for whoever judges, and for results that were written before it was
//! told.

use std::collections::BTreeMap;

use niagara_stats::{AllTime, Batch, DuelTotals, Rule, hold_against_all_time};

use crate::{
    Comparison, DuelRecord, Ending, Goal, LadderRung, Phase, Result, RungOutcome, SliceRecord,
    Store, Summary, TuneSummary,
};

/// What the slices of a scored duel come to over all time, beside its score. All couples count of which both slices are there, also those
/// that the score leaves out because the machine waited for memory: whoever brought that about served nothing meanwhile. `None` of a
/// duel without a score, and of one that is a single slice on either side.
pub fn duel_totals<'s>(
    duel: &DuelRecord,
    slices: impl IntoIterator<Item = &'s SliceRecord>,
) -> Option<DuelTotals> {
    let mut couples: BTreeMap<u32, [Option<Batch>; 2]> = BTreeMap::new();
    for slice in slices.into_iter().filter(|slice| slice.duel == duel.seq) {
        let batch = Batch {
            transactions: slice.transactions as f64,
            seconds: slice.seconds,
        };
        couples.entry(slice.couple).or_default()[usize::from(slice.side == 1)] = Some(batch);
    }
    let (a, b): (Vec<Batch>, Vec<Batch>) = couples
        .into_values()
        .filter_map(|[a, b]| Some((a?, b?)))
        .unzip();
    DuelTotals::of(duel.score?, [&a, &b])
}

impl Store {
    /// The newest summary, in which every comparison has its throughput over all time, as far as its slices have it: also one that was
    /// written before that was told. What such results called faster and is contradicted by it is no longer called so, and not
    /// handed over. `None` before the first.
    ///
    /// # Errors
    /// The results cannot be read.
    pub fn summary_over_all_time(&self) -> Result<Option<Summary>> {
        let Some(mut summary) = self.summary()? else {
            return Ok(None);
        };
        if untold(&mut summary).is_empty() {
            return Ok(Some(summary));
        }
        let min_effect = self
            .study()?
            .plan
            .get("min_effect")
            .and_then(|effect| effect.as_f64());
        let rule = Rule {
            min_effect: min_effect.unwrap_or(Rule::default().min_effect),
            ..Rule::default()
        };
        tell_all_time(&mut summary, &self.duels()?, &self.slices(None)?, &rule);
        Ok(Some(summary))
    }
}

/// A comparison of a summary, and by what its duels are known.
struct Known<'s> {
    phase: Phase,
    subject: String,
    comparison: &'s mut Comparison,
    /// Whether its verdict may be taken back: not that of a rung that was kept, for later ones began from it.
    is_open: bool,
}

impl<'s> Known<'s> {
    fn new(phase: Phase, subject: &str, comparison: &'s mut Comparison) -> Self {
        Self {
            phase,
            subject: subject.to_owned(),
            comparison,
            is_open: true,
        }
    }
}

/// The comparisons of a summary that have no such figure and could have one. Of a matrix the confirmations alone: the duels of a cell may be
/// of several parts, of which one counts.
fn untold(summary: &mut Summary) -> Vec<Known<'_>> {
    let mut all = match summary {
        Summary::Tune(tune) => of_tuning(tune),
        Summary::Compare(compare) => {
            vec![Known::new(Phase::Compare, "", &mut compare.comparison)]
        }
        Summary::Ladder(ladder) => {
            let total = ladder.total.iter_mut();
            total
                .map(|total| Known::new(Phase::Total, "", total))
                .chain(ladder.rungs.iter_mut().filter_map(of_rung))
                .collect()
        }
        Summary::Matrix(matrix) => matrix
            .confirmed
            .iter_mut()
            .chain(&mut matrix.other_confirmations)
            .map(|one| Known::new(Phase::Total, &one.subject, &mut one.comparison))
            .collect(),
        Summary::Sweep(_) => Vec::new(),
    };
    all.retain(|one| one.comparison.all_time.is_none() && one.comparison.rate.is_none());
    all
}

fn of_tuning(tune: &mut TuneSummary) -> Vec<Known<'_>> {
    // The claim of one rung is the total.
    let is_alone = tune.rungs.len() == 1;
    let claims = tune.rungs.iter_mut().filter_map(|rung| {
        let lever = rung.screened.lever.as_str();
        let (phase, subject) = match is_alone {
            true => (Phase::Total, ""),
            false => (Phase::Claim, lever),
        };
        Some(Known::new(phase, subject, rung.claim.as_mut()?))
    });
    let total = tune.total.iter_mut();
    total
        .map(|total| Known::new(Phase::Total, "", total))
        .chain(claims)
        .collect()
}

fn of_rung(rung: &mut LadderRung) -> Option<Known<'_>> {
    let (claim, is_open) = match &mut rung.outcome {
        RungOutcome::Kept { claim } => (claim, false),
        RungOutcome::NotKept { claim } => (claim, true),
        RungOutcome::NotTried { .. } => return None,
    };
    Some(Known {
        is_open,
        ..Known::new(Phase::Claim, &rung.title, claim)
    })
}

fn tell_all_time(summary: &mut Summary, duels: &[DuelRecord], slices: &[SliceRecord], rule: &Rule) {
    for known in untold(summary) {
        let goal = known.comparison.goal;
        let judged = known.comparison.judged().clone();
        let scored: Vec<&DuelRecord> = duels
            .iter()
            .filter(|duel| (duel.phase, &duel.subject) == (known.phase, &known.subject))
            .filter(|duel| duel.ending == Ending::Scored && goal.gain(duel).is_some())
            .take(judged.duels)
            .collect();
        // Fewer than were judged are others.
        if scored.len() < judged.duels {
            continue;
        }
        let totals: Vec<DuelTotals> = scored
            .into_iter()
            .filter_map(|duel| {
                let first = slices.partition_point(|slice| slice.duel < duel.seq);
                let own = slices[first..].iter();
                duel_totals(duel, own.take_while(|slice| slice.duel == duel.seq))
            })
            .collect();
        let found = AllTime::of(&totals, &judged, rule);
        known.comparison.all_time = found;
        if known.is_open && goal == Goal::Throughput {
            hold_against_all_time(&mut known.comparison.throughput, found.as_ref());
        }
    }
    let is_withdrawn = |comparison: Option<&Comparison>| {
        comparison.is_some_and(|comparison| comparison.judged().withdrawn)
    };
    let handed_over = match summary {
        Summary::Tune(tune) if is_withdrawn(tune.total.as_ref()) => &mut tune.deployment,
        Summary::Compare(compare) if is_withdrawn(Some(&compare.comparison)) => {
            &mut compare.deployment
        }
        Summary::Ladder(ladder) if is_withdrawn(ladder.total.as_ref()) => &mut ladder.deployment,
        Summary::Matrix(matrix)
            if is_withdrawn(matrix.confirmed.as_ref().map(|best| &best.comparison)) =>
        {
            &mut matrix.deployment
        }
        _ => return,
    };
    *handed_over = None;
}
