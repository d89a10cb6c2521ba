//! What the duels of a comparison say of a capture's digests: which are slower on B, which are faster, whose answers differ.

use std::collections::BTreeMap;

use niagara_model::{
    AnswerCount, AnswerDifference, DigestComparison, DigestFinding, DigestRecord, ReplayRecord,
    ReplaySummary,
};
use niagara_stats::{Estimate, holm, p_of_zero_mean, standard_deviation, student};

/// Executions on either side of a duel below which its mean says nothing.
const MIN_COUNT: u64 = 5;
/// Where a trace writes, rows may differ by what ran at the same time: up to this share, and by this many.
const ROWS_MAY_DIFFER: (f64, f64) = (0.01, 20.0);

/// Puts the records of duels together: by duel those of A and of B. None where nothing was replayed.
pub(crate) fn replay_summary(duels: &[[&ReplayRecord; 2]], alpha: f64) -> Option<ReplaySummary> {
    let [last, _] = duels.last()?;
    let mut records = duels.iter().flatten();
    let poor = records.find(|record| !record.fidelity.is_good());
    let mut by_digest: BTreeMap<&str, Vec<[&DigestRecord; 2]>> = BTreeMap::new();
    for [a, b] in duels {
        let of_b: BTreeMap<&str, &DigestRecord> = b
            .digests
            .iter()
            .map(|one| (one.digest.as_str(), one))
            .collect();
        for one in &a.digests {
            if let Some(other) = of_b.get(one.digest.as_str()) {
                by_digest.entry(&one.digest).or_default().push([one, other]);
            }
        }
    }
    let all_seconds: f64 = by_digest.values().flatten().map(|[a, _]| a.seconds).sum();
    let mut digests: Vec<DigestComparison> = by_digest
        .values()
        .filter_map(|pairs| compared(pairs, all_seconds))
        .collect();
    call(&mut digests, alpha);
    let only_reads = last.only_reads;
    let answers = by_digest
        .values()
        .filter_map(|pairs| differing(pairs, only_reads));
    Some(ReplaySummary {
        verdict: poor.unwrap_or(last).fidelity.verdict(),
        fidelity: last.fidelity.clone(),
        answers: answers.collect(),
        identical: None,
        same_answers: None,
        alpha,
        duels: duels.len(),
        digests,
    })
}

/// One digest over all duels; none that was hardly executed.
fn compared(pairs: &[[&DigestRecord; 2]], all_seconds: f64) -> Option<DigestComparison> {
    let mean = |record: &DigestRecord| record.seconds / record.count as f64;
    let usable = |[a, b]: &&[&DigestRecord; 2]| {
        a.count.min(b.count) >= MIN_COUNT && a.seconds > 0.0 && b.seconds > 0.0
    };
    let logs: Vec<f64> = pairs
        .iter()
        .filter(usable)
        .map(|[a, b]| (mean(b) / mean(a)).ln())
        .collect();
    let [last, _] = pairs.last()?;
    let sum = |of: fn(&DigestRecord) -> u64| {
        [0, 1].map(|side| pairs.iter().map(|pair| of(pair[side])).sum::<u64>())
    };
    let seconds = [0, 1].map(|side| pairs.iter().map(|pair| pair[side].seconds).sum::<f64>());
    let count = sum(|record| record.count);
    if logs.is_empty() {
        return None;
    }
    let n = logs.len() as f64;
    let centre = logs.iter().sum::<f64>() / n;
    let half = match standard_deviation(&logs) {
        Some(sd) => student::quantile(0.975, n - 1.0) * sd / n.sqrt(),
        None => f64::INFINITY,
    };
    Some(DigestComparison {
        digest: last.digest.clone(),
        text: last.text.clone(),
        share: seconds[0] / all_seconds.max(1e-12),
        latency: Estimate::from_log(centre, centre - half, centre + half),
        p: p_of_zero_mean(&logs),
        finding: DigestFinding::Undetected,
        mean_us: [0, 1].map(|side| seconds[side] / count[side].max(1) as f64 * 1e6),
        p95_us: pairs.last()?.map(|record| record.p95_us),
        captured_us: last.captured_us,
        count,
        errors: sum(|record| record.errors),
        rows: sum(|record| record.rows),
    })
}

/// Adjusts the p values for how many there are, calls what they allow, and puts slower ones first.
fn call(digests: &mut [DigestComparison], alpha: f64) {
    let with_p: Vec<usize> = (0..digests.len())
        .filter(|&place| digests[place].p.is_some())
        .collect();
    let values: Vec<f64> = with_p
        .iter()
        .filter_map(|&place| digests[place].p)
        .collect();
    for (&place, adjusted) in with_p.iter().zip(holm(&values)) {
        let digest = &mut digests[place];
        digest.p = Some(adjusted);
        digest.finding = match adjusted <= alpha {
            true if digest.latency.ratio > 1.0 => DigestFinding::Slower,
            true => DigestFinding::Faster,
            false => DigestFinding::Undetected,
        };
    }
    let rank = |finding: DigestFinding| match finding {
        DigestFinding::Slower => 0,
        DigestFinding::Faster => 1,
        DigestFinding::Undetected => 2,
    };
    // Among the called ones those first that weigh most: share of the time by how much of it was lost or won.
    let weight = |digest: &DigestComparison| digest.share * digest.latency.ratio.ln().abs();
    digests.sort_by(|a, b| {
        let by_weight = match a.finding {
            DigestFinding::Undetected => b.share.total_cmp(&a.share),
            _ => weight(b).total_cmp(&weight(a)),
        };
        rank(a.finding).cmp(&rank(b.finding)).then(by_weight)
    });
}

/// Says how the answers of a digest differ between A and B, if they do.
fn differing(pairs: &[[&DigestRecord; 2]], only_reads: bool) -> Option<AnswerDifference> {
    let [first, _] = pairs.first()?;
    let per_execution = |record: &DigestRecord| record.rows as f64 / record.count.max(1) as f64;
    let differs = |[a, b]: &&[&DigestRecord; 2]| {
        if a.count == 0 || b.count == 0 || a.volatile {
            return false;
        }
        // Of the same number of executions of a trace that only reads, every row must be there.
        if only_reads && a.count == b.count {
            return a.rows != b.rows || a.errors != b.errors;
        }
        let (share, least) = ROWS_MAY_DIFFER;
        let expected = per_execution(a) * b.count as f64;
        let off = (b.rows as f64 - expected).abs();
        let errors = a.errors.abs_diff(b.errors) as f64;
        off > (share * expected).max(least) || errors > (share * b.count as f64).max(least)
    };
    // Once may be what ran at the same time; every time is the server's.
    let found = pairs.iter().filter(differs).count();
    (found > 0 && 2 * found > pairs.len()).then(|| {
        let sum = |side: usize, of: fn(&DigestRecord) -> u64| {
            pairs.iter().map(|pair| of(pair[side])).sum::<u64>()
        };
        AnswerDifference::Counts {
            digest: first.digest.clone(),
            text: first.text.clone(),
            sides: [0, 1].map(|side| AnswerCount {
                rows: sum(side, |record| record.rows),
                errors: sum(side, |record| record.errors),
                executions: sum(side, |record| record.count),
            }),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(name: &str, seconds: f64, rows: u64) -> DigestRecord {
        DigestRecord {
            digest: name.into(),
            text: format!("select {name}"),
            volatile: false,
            count: 100,
            errors: 0,
            rows,
            seconds,
            p95_us: Some(1.0),
            captured_us: None,
        }
    }

    fn side(digests: Vec<DigestRecord>) -> ReplayRecord {
        ReplayRecord {
            only_reads: true,
            digests,
            ..ReplayRecord::default()
        }
    }

    fn summary(duels: &[[ReplayRecord; 2]]) -> ReplaySummary {
        let duels: Vec<[&ReplayRecord; 2]> = duels.iter().map(|[a, b]| [a, b]).collect();
        replay_summary(&duels, 0.05).expect("something was replayed")
    }

    #[test]
    fn what_became_slower_comes_first() {
        let duels: Vec<[ReplayRecord; 2]> = (0..6)
            .map(|n| {
                let noise = 1.0 + 0.01 * f64::from(n % 3);
                [
                    side(vec![
                        digest("scan", 1.0, 100),
                        digest("lookup", 5.0 * noise, 100),
                        digest("insert", 2.0, 100),
                    ]),
                    side(vec![
                        digest("scan", 3.0 * noise, 100),
                        digest("lookup", 5.0, 100),
                        digest("insert", 1.8 * noise, 100),
                    ]),
                ]
            })
            .collect();
        let summary = summary(&duels);
        let found: Vec<_> = summary
            .digests
            .iter()
            .map(|one| (one.digest.as_str(), one.finding))
            .collect();
        assert_eq!(found[0], ("scan", DigestFinding::Slower));
        assert_eq!(found[1], ("insert", DigestFinding::Faster));
        assert_eq!(found[2].0, "lookup");
        assert!((summary.digests[0].latency.ratio - 3.03).abs() < 0.05);
        assert!(summary.answers.is_empty(), "{:?}", summary.answers);
    }

    #[test]
    fn chance_is_not_called_however_many_digests_there_are() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        let mut called = 0;
        for _ in 0..200 {
            let duels: Vec<[ReplayRecord; 2]> = (0..8)
                .map(|_| {
                    [0, 1].map(|_| {
                        let names = (0..40).map(|n| {
                            let seconds = 1.0 + 0.1 * (rng.random::<f64>() + rng.random::<f64>());
                            digest(&format!("d{n}"), seconds, 100)
                        });
                        side(names.collect())
                    })
                })
                .collect();
            let found = summary(&duels).digests;
            called += u32::from(found[0].finding != DigestFinding::Undetected);
        }
        // At α = 5 % ten of 200 are expected at most; 22 would be 4 standard deviations more.
        assert!(called <= 22, "{called}");
    }

    #[test]
    fn answers_that_differ_are_named() {
        let duel = || {
            [
                side(vec![digest("a", 1.0, 100), digest("b", 1.0, 100)]),
                side(vec![digest("a", 1.0, 100), digest("b", 1.0, 99)]),
            ]
        };
        let summary = summary(&[duel(), duel()]);
        assert_eq!(summary.answers.len(), 1);
        assert!(
            summary.answers[0]
                .to_string()
                .starts_with("b select b: A 200 rows"),
            "{:?}",
            summary.answers
        );
    }
}
