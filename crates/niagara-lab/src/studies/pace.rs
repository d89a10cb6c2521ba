//! How much longer duels take here than was planned.

use niagara_model::DuelRecord;

/// Seconds that a duel which counts takes beyond its plan, by the `last` ones; `planned` tells the seconds planned for so many
/// couples. What comes on top are copies, starts and the reading of data, which take what they take however many couples follow,
/// and the duels between that came to nothing. One duel as planned counts among them.
pub(crate) fn seconds_beyond(last: &[DuelRecord], planned: impl Fn(u32) -> f64) -> f64 {
    let counted = || last.iter().filter(|duel| duel.score.is_some());
    let took: f64 = last.iter().map(|duel| duel.wall_seconds).sum();
    let plan: f64 = counted().map(|duel| planned(duel.couples)).sum();
    (took - plan) / (counted().count() + 1) as f64
}

#[cfg(test)]
mod tests {
    use niagara_model::{Ending, Phase};

    use super::*;

    fn duel(couples: u32, wall_seconds: f64, counts: bool) -> DuelRecord {
        DuelRecord {
            seq: 0,
            phase: Phase::Screen,
            subject: String::new(),
            variants: ["a".into(), "b".into()],
            seed: 0,
            started_unix_ms: 0,
            wall_seconds,
            load_seconds: 1.0,
            score: counts.then_some(0.0),
            cpu_score: None,
            raw_score: None,
            latency_scores: None,
            p99_score: None,
            couples,
            dropped: [0, 0],
            ending: match counts {
                true => Ending::Scored,
                false => Ending::Disturbed,
            },
        }
    }

    /// Two seconds and one more for each couple.
    fn planned(couples: u32) -> f64 {
        2.0 + f64::from(couples)
    }

    #[test]
    fn slow_starts_cost_a_long_duel_no_more_than_a_short_one() {
        assert_eq!(seconds_beyond(&[], planned), 0.0);
        let short: Vec<DuelRecord> = (0..9).map(|_| duel(3, 35.0, true)).collect();
        assert_eq!(seconds_beyond(&short, planned), 27.0);
        let long: Vec<DuelRecord> = (0..9).map(|_| duel(30, 62.0, true)).collect();
        assert_eq!(seconds_beyond(&long, planned), 27.0);
    }

    #[test]
    fn duels_for_nothing_are_paid_by_those_that_count() {
        let mut duels = vec![duel(3, 5.0, true); 3];
        assert_eq!(seconds_beyond(&duels, planned), 0.0);
        duels.extend(vec![duel(3, 5.0, false); 2]);
        assert_eq!(seconds_beyond(&duels, planned), 2.5);
        let none = vec![duel(3, 5.0, false); 4];
        assert_eq!(seconds_beyond(&none, planned), 20.0);
    }
}
