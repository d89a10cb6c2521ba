//! Throughput over all time under load beside the median over slices that is judged: where they disagree, in a DBA's words.

use niagara_model::{AllTimeMeaning, Comparison, Finding, Goal, RungOutcome, Summary, Warning};
use niagara_stats::{AllTime, Verdict};

use crate::load::load;
use crate::number;

/// Title of the figure.
pub(crate) const ALL_TIME: &str = "Throughput over all time";
/// How to read it.
pub(crate) const ALL_TIME_MEANS: &str = "all transactions over all time under load, standstills included; duels are judged by their typical slices";

/// What both figures of a comparison come to whose call of "faster" was taken back; `None` of every other.
pub(crate) fn withdrawn(comparison: &Comparison) -> Option<String> {
    let all_time = comparison
        .all_time
        .filter(|_| comparison.judged().withdrawn)?;
    Some(format!(
        "{} in the median slice, but {} over all time, standstills included",
        number::estimate(&comparison.judged().estimate),
        number::estimate(&all_time.estimate)
    ))
}

/// What a reader must know of the comparisons of a summary in which both figures disagree beyond chance.
pub(crate) fn cautions(summary: &Summary) -> Vec<Warning> {
    let ends = ["the start", "the final variant"];
    let main = |comparison: &Comparison, sides| caution(comparison, sides).map(Warning::from);
    let of = |name: &str, comparison: &Comparison, sides| {
        caution(comparison, sides).map(|finding| Warning::about(name, finding))
    };
    let without_and_with = ["the server without it", "the server with it"];
    let all: Vec<Option<Warning>> =
        match summary {
            Summary::Tune(tune) => {
                let total = tune.total.iter().map(|total| main(total, ends));
                // The claim of one rung is the total.
                let rungs = tune.rungs.iter().filter(|_| tune.rungs.len() > 1);
                total
                    .chain(rungs.map(|rung| {
                        of(&rung.screened.title, rung.claim.as_ref()?, without_and_with)
                    }))
                    .collect()
            }
            Summary::Compare(compare) => vec![main(&compare.comparison, ["A", "B"])],
            Summary::Ladder(ladder) => {
                let total = ladder.total.iter().map(|total| main(total, ends));
                let rungs = ladder.rungs.iter().map(|rung| match &rung.outcome {
                    RungOutcome::Kept { claim } | RungOutcome::NotKept { claim } => {
                        of(&rung.title, claim, without_and_with)
                    }
                    RungOutcome::NotTried { .. } => None,
                });
                total.chain(rungs).collect()
            }
            Summary::Matrix(matrix) => {
                let sides = ["the baseline", "it"];
                let place = |title: &str, workload: usize, threads: u32| {
                    format!(
                        "{title}, {}",
                        load(&matrix.workloads[workload].name, threads)
                    )
                };
                let confirmed = matrix.confirmed.iter().chain(&matrix.other_confirmations);
                let confirmed = confirmed.map(|one| {
                    let place = place(&one.title, one.workload, one.threads);
                    of(&format!("{place}, confirmed"), &one.comparison, sides)
                });
                let cells = matrix.cells.iter().map(|cell| {
                    let place = place(&cell.title, cell.workload, cell.threads);
                    of(&place, cell.comparison()?, sides)
                });
                confirmed.chain(cells).collect()
            }
            Summary::Sweep(_) => Vec::new(),
        };
    all.into_iter().flatten().collect()
}

/// Why the figures of A and B, called like this, are two things; `None` where they agree. What is called faster and did less over all
/// time is told of also where chance may have done it.
fn caution(comparison: &Comparison, sides: [&str; 2]) -> Option<Finding> {
    let judged = &comparison.throughput;
    let is_called = judged.verdict == Some(Verdict::Faster);
    let is_open = |found: &AllTime| is_called && found.estimate.ratio < 1.0;
    let found = comparison
        .all_time
        .filter(|found| found.disagrees || is_open(found))?;
    Some(Finding::AllTimeDisagrees {
        sides: sides.map(str::to_owned),
        all_time: found,
        median: judged.estimate,
        meaning: match judged.verdict {
            _ if judged.withdrawn => AllTimeMeaning::Withdrawn,
            _ if comparison.goal != Goal::Throughput => AllTimeMeaning::Nothing,
            Some(Verdict::Faster) if found.contradicts_faster() => {
                AllTimeMeaning::ContradictsFaster
            }
            Some(Verdict::Faster) if found.estimate.low > 1.0 => AllTimeMeaning::FasterToo,
            Some(Verdict::Faster) => AllTimeMeaning::Open,
            _ => AllTimeMeaning::Nothing,
        },
    })
}
