//! What the fold-over duels say of each lever.

use serde::{Deserialize, Serialize};

use super::{Factor, Observation, Pair, Row};
use crate::{Estimate, eigen, student};

/// Directions whose eigenvalue is below this part of the largest are not measured at all.
const RANK_TOLERANCE: f64 = 1e-9;

/// One level of one factor against the factor's base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Index of the factor.
    pub factor: usize,
    /// Its level, 1 or more.
    pub level: usize,
    /// ln(rate with it / rate with the base): positive where it is faster.
    pub log_effect: f64,
    /// Standard error of that; infinite (`null` in JSON) where nothing tells the noise yet.
    #[serde(with = "crate::unbounded")]
    pub std_err: f64,
    /// Duels that had this level on one side.
    pub duels: usize,
}

/// What two levels do together beyond the sum of what each does beside the other's base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// The two levels.
    pub pair: Pair,
    /// ln(rate with both · rate with neither / (rate with one · rate with the other)).
    pub log_effect: f64,
    /// Standard error of that.
    #[serde(with = "crate::unbounded")]
    pub std_err: f64,
}

/// The effects, and the noise they were measured in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// By factor, then level. Those that the duels cannot tell apart yet are absent.
    pub effects: Vec<Effect>,
    /// Of the pairs asked for, those that the duels can tell.
    pub interactions: Vec<Interaction>,
    /// Standard deviation of a duel's score; infinite (`null` in JSON) where nothing tells it yet.
    #[serde(with = "crate::unbounded")]
    pub residual_sd: f64,
    /// Degrees of freedom behind it.
    pub residual_df: f64,
}

impl Fit {
    /// The effect of this level of this factor, if the duels tell it.
    pub fn effect(&self, factor: usize, level: usize) -> Option<&Effect> {
        self.effects
            .iter()
            .find(|effect| (effect.factor, effect.level) == (factor, level))
    }

    /// The effect as a ratio with its interval at `confidence` (0.95), by the t quantile. One interval among many: no
    /// correction for testing several.
    pub fn interval(&self, effect: &Effect, confidence: f64) -> Estimate {
        let t = student::quantile(0.5 + confidence / 2.0, self.residual_df);
        Estimate::from_log_std_err(effect.log_effect, effect.std_err, t)
    }

    /// The same with a noise of at least `sd`, what the couples within the duels tell of a score's own error: whatever a fit
    /// leaves over by luck, a score cannot be more exact than that. Standard errors grow with it.
    ///
    /// With few residual degrees of freedom luck is large, and a screening that ends when something looks promising ends
    /// where it was lucky.
    #[must_use]
    pub fn with_noise_at_least(mut self, sd: f64) -> Self {
        let factor = sd / self.residual_sd;
        if !(factor.is_finite() && factor > 1.0) {
            return self;
        }
        self.residual_sd = sd;
        for effect in &mut self.effects {
            effect.std_err *= factor;
        }
        for interaction in &mut self.interactions {
            interaction.std_err *= factor;
        }
        self
    }
}

/// Least squares of d = Σ (1[B has level] − 1[A has level])·e over all levels but the bases, and over `pairs` of levels.
///
/// The effect of a level that is in no pair is an average over whatever else was set; of one that is, it holds beside
/// the base of the other.
///
/// Squares are weighted: a row and its score are multiplied by the root of its weight, so that `residual_sd` is that of a duel of
/// weight 1. Observations without a finite score are left out.
pub fn effects(factors: &[Factor], observations: &[Observation], pairs: &[Pair]) -> Fit {
    let columns: Vec<Column> = levels(factors)
        .into_iter()
        .map(Column::One)
        .chain(pairs.iter().copied().map(Column::Both))
        .collect();
    let told: Vec<&Observation> = observations
        .iter()
        .filter(|observation| observation.score.is_finite())
        .collect();
    let rows: Vec<Vec<f64>> = told
        .iter()
        .map(|observation| {
            let contrasts = columns
                .iter()
                .map(|column| column.contrast(&observation.row));
            contrasts.map(|x| observation.weighted(x)).collect()
        })
        .collect();
    let scores: Vec<f64> = told
        .iter()
        .map(|observation| observation.weighted(observation.score))
        .collect();
    let count = columns.len();

    let (normal, right) = normal_equations(&rows, &scores, count);
    let (values, vectors) = eigen::symmetric(normal);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let measured: Vec<usize> = (0..count)
        .filter(|&k| values[k] > RANK_TOLERANCE * largest)
        .collect();

    let mut solution = vec![0.0; count];
    for &k in &measured {
        let along: f64 = (0..count).map(|i| vectors[i][k] * right[i]).sum::<f64>() / values[k];
        for i in 0..count {
            solution[i] += along * vectors[i][k];
        }
    }
    let residual_squares = residual_squares(&rows, &scores, &solution);
    let residual_df = (scores.len() - measured.len()) as f64;
    let residual_sd = if residual_df > 0.0 {
        (residual_squares / residual_df).sqrt()
    } else {
        f64::INFINITY
    };

    let estimable = (0..count).filter(|&i| {
        // The unit vector of this effect lies within the measured directions.
        let within: f64 = measured.iter().map(|&k| vectors[i][k].powi(2)).sum();
        within > 1.0 - 1e-8
    });
    let (mut effects, mut interactions) = (Vec::new(), Vec::new());
    for i in estimable {
        let variance: f64 = measured
            .iter()
            .map(|&k| vectors[i][k].powi(2) / values[k])
            .sum();
        let (log_effect, std_err) = (solution[i], residual_sd * variance.sqrt());
        match columns[i] {
            Column::One((factor, level)) => effects.push(Effect {
                factor,
                level,
                log_effect,
                std_err,
                duels: rows.iter().filter(|row| row[i] != 0.0).count(),
            }),
            Column::Both(pair) => interactions.push(Interaction {
                pair,
                log_effect,
                std_err,
            }),
        }
    }
    Fit {
        effects,
        interactions,
        residual_sd,
        residual_df,
    }
}

/// The sum of squares that the solution leaves over.
fn residual_squares(rows: &[Vec<f64>], scores: &[f64], solution: &[f64]) -> f64 {
    rows.iter()
        .zip(scores)
        .map(|(row, score)| {
            let fitted: f64 = row.iter().zip(solution).map(|(x, e)| x * e).sum();
            (score - fitted).powi(2)
        })
        .sum()
}

/// XᵀX and Xᵀy of the contrasts and scores.
pub(super) fn normal_equations(
    rows: &[Vec<f64>],
    scores: &[f64],
    count: usize,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut normal = vec![vec![0.0; count]; count];
    let mut right = vec![0.0; count];
    for (row, score) in rows.iter().zip(scores) {
        // Most contrasts of a few levels among many are 0.
        for i in (0..count).filter(|&i| row[i] != 0.0) {
            right[i] += row[i] * score;
            for (sum, x) in normal[i][..=i].iter_mut().zip(row) {
                *sum += row[i] * x;
            }
        }
    }
    for i in 0..count {
        let (above, below) = normal.split_at_mut(i);
        for (j, row) in above.iter_mut().enumerate() {
            row[i] = below[0][j];
        }
    }
    (normal, right)
}

/// Every level but the bases, as (factor, level).
pub(super) fn levels(factors: &[Factor]) -> Vec<(usize, usize)> {
    factors
        .iter()
        .enumerate()
        .flat_map(|(factor, of)| (1..of.levels()).map(move |level| (factor, level)))
        .collect()
}

/// What a duel's score is explained by.
pub(super) enum Column {
    One((usize, usize)),
    Both(Pair),
}

impl Column {
    /// 1[B has it] − 1[A has it].
    pub(super) fn contrast(&self, row: &Row) -> f64 {
        let has =
            |side: &[usize], (factor, level): (usize, usize)| side.get(factor) == Some(&level);
        let of = |side: &[usize]| match self {
            Column::One(level) => has(side, *level),
            Column::Both(pair) => has(side, pair.one) && has(side, pair.other),
        };
        f64::from(u8::from(of(&row.b))) - f64::from(u8::from(of(&row.a)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foldover::{Row, design};

    /// Duels without noise.
    fn exact(rows: Vec<Row>, effect: impl Fn(usize, usize) -> f64) -> Vec<Observation> {
        let side = |levels: &[usize]| -> f64 {
            levels
                .iter()
                .enumerate()
                .map(|(factor, level)| effect(factor, *level))
                .sum()
        };
        rows.into_iter()
            .map(|row| Observation {
                score: side(&row.b) - side(&row.a),
                row,
                weight: 1.0,
            })
            .collect()
    }

    #[test]
    fn without_noise_effects_are_exact() {
        let factors = [
            Factor::Switch,
            Factor::Choice(4),
            Factor::Switch,
            Factor::Choice(3),
        ];
        let truth = |factor: usize, level: usize| 0.01 * (factor + 1) as f64 * level as f64;
        let observations = exact(design(&factors, 16, 1), truth);
        let fit = effects(&factors, &observations, &[]);
        assert_eq!(fit.effects.len(), 1 + 3 + 1 + 2);
        for effect in &fit.effects {
            let known = truth(effect.factor, effect.level);
            assert!((effect.log_effect - known).abs() < 1e-12, "{effect:?}");
        }
        assert!(fit.residual_sd < 1e-12 && fit.residual_df == 9.0);
    }

    #[test]
    fn what_cannot_be_told_apart_is_absent() {
        let factors = vec![Factor::Switch; 3];
        let row = |b: [usize; 3]| Row {
            a: b.iter().map(|level| 1 - level).collect(),
            b: b.to_vec(),
        };
        // The first two always go together; the third does not.
        let rows = vec![row([1, 1, 0]), row([1, 1, 1]), row([0, 0, 1])];
        let fit = effects(&factors, &exact(rows, |_, level| 0.01 * level as f64), &[]);
        assert_eq!(fit.effects.len(), 1);
        assert_eq!(fit.effects[0].factor, 2);
        assert!((fit.effects[0].log_effect - 0.01).abs() < 1e-12);
        assert_eq!(effects(&factors, &[], &[]).effects, []);
    }

    #[test]
    fn a_lever_set_aside_midway_keeps_what_was_seen_of_it() {
        let factors = vec![Factor::Switch; 3];
        let mut rows = design(&factors, 4, 1);
        rows.extend(crate::foldover::design_among(
            &[vec![0, 1], vec![0], vec![0, 1]],
            &[],
            8,
            2,
        ));
        let truth = |factor: usize, level: usize| level as f64 * [0.02, -0.7, 0.0][factor];
        let fit = effects(&factors, &exact(rows, truth), &[]);
        assert_eq!(fit.effect(1, 1).map(|effect| effect.duels), Some(4));
        assert_eq!(fit.effect(0, 1).map(|effect| effect.duels), Some(12));
        for effect in &fit.effects {
            assert!((effect.log_effect - truth(effect.factor, 1)).abs() < 1e-12);
        }
    }

    #[test]
    fn without_residuals_nothing_tells_the_noise() {
        let factors = vec![Factor::Switch; 4];
        let observations = exact(design(&factors, 4, 1), |_, level| 0.01 * level as f64);
        let blind = effects(&factors, &observations, &[]);
        assert!(
            blind
                .effects
                .iter()
                .all(|effect| effect.std_err.is_infinite())
        );
        let open = blind.interval(&blind.effects[0], 0.95);
        assert_eq!((open.low, open.high), (0.0, f64::INFINITY));
        let text = serde_json::to_string(&blind).expect("plain data");
        assert_eq!(
            serde_json::from_str::<Fit>(&text).expect("just written"),
            blind
        );
    }

    #[test]
    fn a_score_is_never_more_exact_than_its_couples() {
        let factors = vec![Factor::Switch; 3];
        let mut observations = exact(design(&factors, 8, 1), |_, level| 0.01 * level as f64);
        observations[0].score += 0.001;
        let lucky = effects(&factors, &observations, &[]);
        let honest = lucky.clone().with_noise_at_least(0.02);
        assert!(lucky.residual_sd < 0.001 && honest.residual_sd == 0.02);
        for (lucky, honest) in lucky.effects.iter().zip(&honest.effects) {
            assert_eq!(lucky.log_effect, honest.log_effect);
            assert!(
                (honest.std_err - 0.02 / 8f64.sqrt()).abs() < 1e-12,
                "{honest:?}"
            );
        }
        assert_eq!(honest.clone().with_noise_at_least(0.01), honest);
        assert_eq!(honest.clone().with_noise_at_least(f64::NAN), honest);
    }

    #[test]
    fn scores_that_are_no_numbers_are_left_out() {
        let factors = [Factor::Switch];
        let mut observations = exact(design(&factors, 6, 1), |_, level| 0.01 * level as f64);
        observations[2].score = f64::NAN;
        let fit = effects(&factors, &observations, &[]);
        assert_eq!(fit.effects[0].duels, 5);
        assert!((fit.effects[0].log_effect - 0.01).abs() < 1e-12);
    }
}
