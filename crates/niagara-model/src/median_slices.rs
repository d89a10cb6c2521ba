//! What both sides of duels did in their median slices: absolute figures, for orientation only.

use niagara_stats::{geometric_means, median};

use crate::{DuelRecord, SliceRecord};

/// A figure of both sides: the geometric mean over the duels of each duel's median slice. Disturbed slices count only in a duel that has no
/// others. The quotient of both is a mean of the duels' ratios. `None` where no duel has the figure on both sides.
pub fn of_median_slices(
    duels: &[&DuelRecord],
    slices: &[SliceRecord],
    figure: impl Fn(&SliceRecord) -> f64,
) -> Option<[f64; 2]> {
    let of_side = |duel: &DuelRecord, side: u8| {
        let of = |disturbed: bool| {
            let own = slices.iter().filter(|slice| {
                (slice.duel, slice.side) == (duel.seq, side) && slice.disturbed == disturbed
            });
            median(&own.map(&figure).collect::<Vec<_>>())
        };
        of(false).or_else(|| of(true)).unwrap_or(f64::NAN)
    };
    let of_duels = duels
        .iter()
        .map(|duel| [0, 1].map(|side| of_side(duel, side)));
    geometric_means(of_duels)
}
