//! Throughput over all time, from the slices of a duel.

mod common;

use common::{duel, slices};
use niagara_model::{DuelRecord, duel_totals};

#[test]
fn slices_of_couples_of_which_one_is_missing_do_not_count() {
    let duel = DuelRecord {
        score: Some(0.0),
        ..duel(3)
    };
    let mut own = slices(3);
    let whole = duel_totals(&duel, &own).expect("twenty couples");
    assert_eq!(whole.slices, [20, 20]);
    own.retain(|slice| (slice.couple, slice.side) != (19, 1));
    // Those of other duels neither.
    own.extend(slices(4));
    let cut_short = duel_totals(&duel, &own).expect("nineteen couples");
    assert_eq!(cut_short.slices, [19, 19]);
    let without_score = DuelRecord {
        score: None,
        ..duel
    };
    assert_eq!(duel_totals(&without_score, &own), None);
}
