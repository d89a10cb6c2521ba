//! How much longer duels take here than was planned.

use niagara_model::DuelRecord;

use crate::plans::duel_plan::DuelShape;

/// Seconds that a duel which counts takes beyond its plan, by the `last` ones; `planned` tells the seconds planned for one of a
/// shape. What comes on top are copies, starts and the reading of data, which take what they take however many couples follow,
/// and the duels between that came to nothing. One duel as planned counts among them.
pub(crate) fn seconds_beyond(
    last: &[(&DuelRecord, DuelShape)],
    planned: impl Fn(DuelShape) -> f64,
) -> f64 {
    let counted = || last.iter().filter(|(duel, _)| duel.score.is_some());
    let took: f64 = last.iter().map(|(duel, _)| duel.wall_seconds).sum();
    let plan: f64 = counted().map(|&(_, shape)| planned(shape)).sum();
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

    /// Two seconds and, for each couple, two slices of half a second or as the shape says.
    fn planned(shape: DuelShape) -> f64 {
        2.0 + f64::from(shape.couples) * 2.0 * shape.slice_seconds.unwrap_or(0.5)
    }

    fn beyond(duels: &[DuelRecord]) -> f64 {
        let all: Vec<(&DuelRecord, DuelShape)> = (duels.iter())
            .map(|duel| (duel, duel.couples.into()))
            .collect();
        seconds_beyond(&all, planned)
    }

    #[test]
    fn longer_slices_are_not_taken_for_slow_starts() {
        let long = duel(4, 10.0, true);
        let shape = DuelShape {
            couples: 4,
            slice_seconds: Some(1.0),
        };
        assert_eq!(seconds_beyond(&[(&long, shape)], planned), 0.0);
    }

    #[test]
    fn slow_starts_cost_a_long_duel_no_more_than_a_short_one() {
        assert_eq!(beyond(&[]), 0.0);
        let short: Vec<DuelRecord> = (0..9).map(|_| duel(3, 35.0, true)).collect();
        assert_eq!(beyond(&short), 27.0);
        let long: Vec<DuelRecord> = (0..9).map(|_| duel(30, 62.0, true)).collect();
        assert_eq!(beyond(&long), 27.0);
    }

    #[test]
    fn duels_for_nothing_are_paid_by_those_that_count() {
        let mut duels = vec![duel(3, 5.0, true); 3];
        assert_eq!(beyond(&duels), 0.0);
        duels.extend(vec![duel(3, 5.0, false); 2]);
        assert_eq!(beyond(&duels), 2.5);
        let none = vec![duel(3, 5.0, false); 4];
        assert_eq!(beyond(&none), 20.0);
    }
}
