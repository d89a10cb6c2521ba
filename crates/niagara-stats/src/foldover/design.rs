//! Which levels the sides of each duel are set to.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::projection::{dot, extend};
use super::{Factor, Pair, Row};
use crate::hadamard::hadamard;

/// Random candidates among which the rows that fill up a design are chosen.
const CANDIDATES: usize = 64;
/// Attempts per duel to improve the choices of several levels.
const ATTEMPTS: usize = 100;

/// Rows for `duels` duels of all levels of all factors; see [`design_among`].
pub fn design(factors: &[Factor], duels: usize, seed: u64) -> Vec<Row> {
    let levels: Vec<Vec<usize>> = factors
        .iter()
        .map(|factor| (0..factor.levels()).collect())
        .collect();
    design_among(&levels, &[], duels, seed)
}

/// Rows for `duels` duels in which each factor takes the levels listed for it: both sides hold the only one (a lever
/// set aside, at its base); of two, B has the one that A has not; of more, the sides draw different ones, every
/// pair about equally often.
///
/// Two levels get a column each of a Hadamard matrix: the smallest with room for all effects, repeated with its
/// columns and rows reshuffled, the last repetition in a larger one where that fits, the remaining rows (fewer than
/// four, unless `duels` are too few for all effects) chosen for balance. Factors of more levels are then improved by
/// exchange, so that they are about orthogonal to the rest. Which side is A is a fair coin in each row. All effects can be
/// estimated when there are as many duels as levels beyond the bases; with fewer, those that can be told apart are.
///
/// Of the levels `apart` no side has both: where they would meet, a coin sends one of them to its base. So the duels have
/// either with the other and without it, and both can be told; each loses a part of its duels for it.
pub fn design_among(levels: &[Vec<usize>], apart: &[Pair], duels: usize, seed: u64) -> Vec<Row> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let two: Vec<usize> = with_levels(levels, |count| count == 2);
    let several: Vec<usize> = with_levels(levels, |count| count > 2);
    let effects: usize = levels.iter().map(|of| of.len().saturating_sub(1)).sum();

    let signs = sign_rows(two.len(), effects, duels, &mut rng);
    let counts: Vec<usize> = several.iter().map(|&factor| levels[factor].len()).collect();
    let drawn = draw_choices(&signs, &counts, duels, &mut rng);

    let base: Vec<usize> = levels
        .iter()
        .map(|of| of.first().copied().unwrap_or(0))
        .collect();
    (0..duels)
        .map(|duel| {
            let mut sides = [base.clone(), base.clone()];
            let swapped = usize::from(rng.random::<bool>());
            for (&factor, sign) in two.iter().zip(&signs[duel]) {
                for side in [0, 1] {
                    let on = (*sign > 0) == (side == 1);
                    sides[side ^ swapped][factor] = levels[factor][usize::from(on)];
                }
            }
            for (&factor, choice) in several.iter().zip(&drawn) {
                for side in [0, 1] {
                    sides[side ^ swapped][factor] = levels[factor][choice[duel][side]];
                }
            }
            for side in &mut sides {
                for pair in apart {
                    if [pair.one, pair.other]
                        .iter()
                        .all(|&(factor, level)| side[factor] == level)
                    {
                        let (factor, _) = if rng.random() { pair.one } else { pair.other };
                        side[factor] = base[factor];
                    }
                }
            }
            let [a, b] = sides;
            Row { a, b }
        })
        .collect()
}

fn with_levels(levels: &[Vec<usize>], wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..levels.len())
        .filter(|&factor| wanted(levels[factor].len()))
        .collect()
}

/// `duels` rows of `columns` signs.
fn sign_rows(columns: usize, effects: usize, duels: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<i8>> {
    let smallest = design_order(effects.max(4));
    let mut rows: Vec<Vec<i8>> = Vec::with_capacity(duels);
    while duels - rows.len() >= smallest {
        let left = duels - rows.len();
        let order = if left < 2 * smallest {
            order_to(left)
        } else {
            smallest
        };
        rows.extend(shuffled(
            hadamard(order).unwrap_or_default(),
            order,
            columns,
            rng,
        ));
    }
    let left = duels - rows.len();
    if left > 0 {
        let matrix = hadamard(smallest).unwrap_or_default();
        let so_far = products(&rows, columns);
        let candidates = (0..CANDIDATES).map(|_| shuffled(matrix.clone(), left, columns, rng));
        let best = candidates.min_by_key(|rest| imbalance(&so_far, rest));
        // There are candidates, so there is a best one.
        rows.extend(best.unwrap_or_default());
    }
    rows
}

/// The smallest number of duels whose design keeps two-level factors orthogonal, from `least` on: the next order of a
/// Hadamard matrix that is known. `least` is the effects to estimate and the residual degrees of freedom wanted.
pub fn design_order(least: usize) -> usize {
    // Doublings of what is known are always ahead.
    (least..)
        .find(|&order| hadamard(order).is_some())
        .unwrap_or(least)
}

/// The largest order up to `most` that is known.
fn order_to(most: usize) -> usize {
    (1..=most)
        .rev()
        .find(|&order| hadamard(order).is_some())
        .unwrap_or(1)
}

/// As many rows of a Hadamard matrix in random order, in random columns of random sign.
fn shuffled(
    mut matrix: Vec<Vec<i8>>,
    rows: usize,
    columns: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<i8>> {
    matrix.shuffle(rng);
    let mut places: Vec<usize> = (0..matrix.len()).collect();
    places.shuffle(rng);
    let flips: Vec<i8> = (0..columns)
        .map(|_| if rng.random::<bool>() { 1 } else { -1 })
        .collect();
    matrix
        .iter()
        .take(rows)
        .map(|row| {
            let chosen = places.iter().map(|&place| row[place]);
            chosen.zip(&flips).map(|(x, flip)| x * flip).collect()
        })
        .collect()
}

/// The products of all pairs of columns, those with the ones before it after each other: 0 where they are orthogonal.
fn products(rows: &[Vec<i8>], columns: usize) -> Vec<i32> {
    let mut products = vec![0; columns * columns.saturating_sub(1) / 2];
    for row in rows {
        let pairs = row.iter().enumerate();
        let of_row = pairs.flat_map(|(j, x)| row[..j].iter().map(move |y| i32::from(x * y)));
        products
            .iter_mut()
            .zip(of_row)
            .for_each(|(sum, of)| *sum += of);
    }
    products
}

/// Sum of the squared products of all pairs of columns when the `rest` follows the rows whose products are these.
fn imbalance(so_far: &[i32], rest: &[Vec<i8>]) -> i64 {
    let columns = rest.first().map_or(0, Vec::len);
    let of_rest = products(rest, columns);
    so_far
        .iter()
        .zip(of_rest)
        .map(|(before, more)| i64::from(before + more).pow(2))
        .sum()
}

/// For each factor of more than two levels, the levels (numbered from 0) of both sides in every duel.
fn draw_choices(
    signs: &[Vec<i8>],
    counts: &[usize],
    duels: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<[usize; 2]>> {
    let mut choices: Vec<Vec<[usize; 2]>> = counts
        .iter()
        .map(|&count| balanced_pairs(count, duels, rng))
        .collect();
    if counts.is_empty() || duels < 2 {
        return choices;
    }
    let basis = orthonormal(signs);
    let mut best = information(&basis, counts, &choices);
    for _ in 0..ATTEMPTS * duels {
        let factor = rng.random_range(0..counts.len());
        let (i, j) = (rng.random_range(0..duels), rng.random_range(0..duels));
        // Either two duels exchange their pairs, or one duel its sides; i = j is always the latter.
        let exchange = i != j && rng.random::<bool>();
        let change = |choices: &mut Vec<Vec<[usize; 2]>>| {
            if exchange {
                choices[factor].swap(i, j);
            } else {
                choices[factor][i].swap(0, 1);
            }
        };
        change(&mut choices);
        let attempt = information(&basis, counts, &choices);
        if attempt >= best {
            best = attempt;
        } else {
            change(&mut choices);
        }
    }
    choices
}

/// Pairs of different levels, every pair equally often but for what `duels` leave over, in random order and direction.
fn balanced_pairs(count: usize, duels: usize, rng: &mut ChaCha8Rng) -> Vec<[usize; 2]> {
    let mut pairs: Vec<[usize; 2]> = (0..count)
        .flat_map(|high| (0..high).map(move |low| [low, high]))
        .collect();
    pairs.shuffle(rng);
    let mut drawn: Vec<[usize; 2]> = pairs.into_iter().cycle().take(duels).collect();
    for pair in &mut drawn {
        if rng.random::<bool>() {
            pair.swap(0, 1);
        }
    }
    drawn.shuffle(rng);
    drawn
}

/// An orthonormal basis of the space that the columns of signs span: for each duel, what every vector of the basis has there.
fn orthonormal(signs: &[Vec<i8>]) -> Vec<Vec<f64>> {
    let columns = signs.first().map_or(0, Vec::len);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(columns);
    for column in 0..columns {
        extend(
            &mut basis,
            signs.iter().map(|row| f64::from(row[column])).collect(),
        );
    }
    (0..signs.len())
        .map(|duel| basis.iter().map(|q| q[duel]).collect())
        .collect()
}

/// log det of the information that is left about the choices when the two-level factors have taken theirs
/// (ZᵀZ − ZᵀQQᵀZ): the larger, the smaller are the standard errors of either.
fn information(basis: &[Vec<f64>], counts: &[usize], choices: &[Vec<[usize; 2]>]) -> f64 {
    let mut contrasts: Vec<Vec<f64>> = Vec::new();
    for (count, choice) in counts.iter().zip(choices) {
        for level in 1..*count {
            let of = |side: usize, pair: &[usize; 2]| f64::from(u8::from(pair[side] == level));
            contrasts.push(
                choice
                    .iter()
                    .map(|pair| of(1, pair) - of(0, pair))
                    .collect(),
            );
        }
    }
    let along: Vec<Vec<f64>> = contrasts.iter().map(|z| onto(basis, z)).collect();
    let n = contrasts.len();
    let mut left: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            (0..=i)
                .map(|j| dot(&contrasts[i], &contrasts[j]) - dot(&along[i], &along[j]))
                .collect()
        })
        .collect();
    // Cholesky; a little on the diagonal, so that too few duels still compare.
    let mut log_det = 0.0;
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| left[i][k] * left[j][k]).sum();
            let value = left[i][j] - known;
            if i == j {
                let pivot = value.max(0.0) + 1e-6;
                log_det += pivot.ln();
                left[i][i] = pivot.sqrt();
            } else {
                left[i][j] = value / left[j][j];
            }
        }
    }
    log_det
}

/// The products of a contrast with every vector of the basis.
fn onto(basis: &[Vec<f64>], contrast: &[f64]) -> Vec<f64> {
    let mut products = vec![0.0; basis.first().map_or(0, Vec::len)];
    for (at_duel, z) in basis.iter().zip(contrast).filter(|(_, z)| **z != 0.0) {
        for (product, q) in products.iter_mut().zip(at_duel) {
            *product += q * z;
        }
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foldover::{Observation, effects};
    use std::collections::BTreeMap;

    fn switches(count: usize) -> Vec<Factor> {
        vec![Factor::Switch; count]
    }

    fn sign(row: &Row, factor: usize) -> i64 {
        row.b[factor] as i64 - row.a[factor] as i64
    }

    #[test]
    fn switches_are_mirrored_and_orthogonal() {
        for (count, duels) in [(7, 8), (11, 12), (7, 32), (25, 28), (20, 44), (31, 64)] {
            let rows = design(&switches(count), duels, 1);
            assert_eq!(rows.len(), duels);
            for j in 0..count {
                assert!(rows.iter().all(|row| sign(row, j).abs() == 1));
                for k in 0..j {
                    let product: i64 = rows.iter().map(|row| sign(row, j) * sign(row, k)).sum();
                    assert_eq!(product, 0, "{count} in {duels}");
                }
            }
        }
    }

    #[test]
    fn other_numbers_of_duels_stay_near_orthogonal() {
        let rows = design(&switches(7), 30, 3);
        for j in 0..7 {
            for k in 0..j {
                let product: i64 = rows.iter().map(|row| sign(row, j) * sign(row, k)).sum();
                assert!(product.abs() <= 2);
            }
        }
        assert_eq!(design(&switches(7), 3, 3).len(), 3);
        assert_eq!(design(&switches(7), 0, 3).len(), 0);
        assert_eq!(design(&[], 5, 3).len(), 5);
    }

    #[test]
    fn sides_are_a_fair_coin_and_the_seed_decides() {
        let rows = design(&switches(1), 400, 5);
        let on_b = rows.iter().filter(|row| row.b[0] == 1).count();
        assert!((160..=240).contains(&on_b), "{on_b}");
        assert_eq!(rows, design(&switches(1), 400, 5));
        assert_ne!(rows, design(&switches(1), 400, 6));
    }

    #[test]
    fn choices_draw_different_levels_in_balance() {
        let rows = design(&[Factor::Choice(4), Factor::Switch], 24, 7);
        let mut pairs = BTreeMap::new();
        for row in &rows {
            let (a, b) = (row.a[0], row.b[0]);
            assert_ne!(a, b);
            *pairs.entry([a.min(b), a.max(b)]).or_insert(0) += 1;
        }
        assert_eq!(pairs.len(), 6);
        assert!(pairs.values().all(|times| *times == 4), "{pairs:?}");
    }

    /// A level of a choice with a switch, two switches, levels of two choices: no side has both, and every effect is told.
    #[test]
    fn levels_that_cannot_be_together_are_on_no_side_and_can_be_told() {
        let mut factors = vec![
            Factor::Choice(3),
            Factor::Switch,
            Factor::Switch,
            Factor::Switch,
            Factor::Choice(4),
        ];
        factors.extend(switches(20));
        let levels: Vec<Vec<usize>> = factors.iter().map(|f| (0..f.levels()).collect()).collect();
        let pair = |one, other| Pair { one, other };
        let mut apart = vec![pair((0, 2), (1, 1)), pair((2, 1), (3, 1))];
        apart.extend((1..4).map(|level| pair((0, 1), (4, level))));
        let has = |side: &[usize], (factor, level): (usize, usize)| side[factor] == level;
        for seed in 0..20 {
            let rows = design_among(&levels, &apart, 60, seed);
            for row in &rows {
                for pair in &apart {
                    for side in [&row.a, &row.b] {
                        assert!(!(has(side, pair.one) && has(side, pair.other)), "{row:?}");
                    }
                }
            }
            let observations: Vec<Observation> = rows
                .into_iter()
                .enumerate()
                .map(|(place, row)| Observation {
                    row,
                    score: if place % 2 == 0 { 0.01 } else { -0.01 },
                    weight: 1.0,
                })
                .collect();
            let fit = effects(&factors, &observations, &[]);
            assert_eq!(fit.effects.len(), 2 + 3 + 3 + 20, "all are told");
            let worst = fit.effects.iter().map(|effect| effect.std_err);
            let free = fit.effects.iter().filter(|effect| effect.factor >= 5);
            let usual = free.map(|effect| effect.std_err).fold(0.0, f64::max);
            assert!(worst.fold(0.0, f64::max) < 3.0 * usual, "{fit:?}");
        }
    }

    #[test]
    fn what_is_set_aside_stays_at_its_level() {
        let levels = vec![vec![0, 1], vec![0], vec![0, 2, 3], vec![0, 2]];
        for row in design_among(&levels, &[], 20, 9) {
            assert_eq!((row.a[1], row.b[1]), (0, 0));
            assert!(row.a[2] != 1 && row.b[2] != 1 && row.a[2] != row.b[2]);
            assert_eq!(row.a[3] + row.b[3], 2);
        }
    }
}
