//! Throughput over all time under load beside the median over slices that is judged: where they disagree, in a DBA's words.

use niagara_stats::{AllTime, Verdict};
use niagara_store::{Comparison, Goal, RungOutcome, Summary};

use crate::number;
use crate::wording::{capital, load};

/// Title of the figure.
pub(crate) const ALL_TIME: &str = "Throughput over all time";
/// How to read it.
pub(crate) const ALL_TIME_MEANS: &str = "all transactions over all time under load, standstills included; what is judged is the median over slices";

/// Share of slices from which standstills are worth a word.
const WORTH_A_WORD: f64 = 0.005;

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
pub(crate) fn cautions(summary: &Summary) -> Vec<String> {
    let ends = ["the start", "the final variant"];
    let main =
        |comparison: &Comparison, sides| caution(comparison, sides).map(|text| capital(&text));
    let of = |name: &str, comparison: &Comparison, sides| {
        caution(comparison, sides).map(|text| format!("{name}: {text}"))
    };
    let without_and_with = ["the server without it", "the server with it"];
    let all: Vec<Option<String>> =
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
fn caution(comparison: &Comparison, [a, b]: [&str; 2]) -> Option<String> {
    let judged = &comparison.throughput;
    let is_called = judged.verdict == Some(Verdict::Faster);
    let is_open = |found: &AllTime| is_called && found.estimate.ratio < 1.0;
    let found = comparison
        .all_time
        .filter(|found| found.disagrees || is_open(found))?;
    Some(format!(
        "{}. Over all time under load {b} served {} of what {a} did, by its median slice {}.{}",
        reason(&found, [a, b]),
        number::estimate(&found.estimate),
        number::estimate(&judged.estimate),
        match judged.verdict {
            _ if judged.withdrawn => {
                " So it is not called faster, and not handed over. In InnoDB it is mostly flushing, or a checkpoint of the redo log, that \
                 holds all connections up."
            }
            _ if comparison.goal != Goal::Throughput => "",
            Some(Verdict::Faster) if found.contradicts_faster() =>
                " By now it would not be called faster.",
            Some(Verdict::Faster) if found.estimate.low > 1.0 => {
                " It is faster over all time as well; what a day brings is nearer to the first figure."
            }
            Some(Verdict::Faster) => {
                " Whether it is faster over all time as well these duels leave open: more would tell."
            }
            _ => "",
        }
    ))
}

/// Which side it is, and what it does.
fn reason(found: &AllTime, sides: [&str; 2]) -> String {
    let b_loses = found.over_score.is_none_or(|over| over.ratio < 1.0);
    let (worse, better) = match b_loses {
        true => (1, 0),
        false => (0, 1),
    };
    let [more, less] = [worse, better].map(|side| found.slow[side]);
    let [who, other] = [worse, better].map(|side| sides[side]);
    match more > less && more >= WORTH_A_WORD {
        true => format!(
            "{who} stood still, or served less than half of what it usually does, in {} of its slices ({other} in {})",
            number::percent(more),
            number::percent(less)
        ),
        false => format!("{who} loses more by its slow slices than {other}"),
    }
}
