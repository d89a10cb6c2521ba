//! Which screened levers go into the final variant. Promotion is no claim: fresh duels judge what it chose.

use crate::Estimate;

/// A lever is promoted when its gain is this many standard errors above nothing.
const SURE: f64 = 2.0;
/// The same of a lever that surely helped elsewhere: it is hardly ever the luck of one among fifty. By simulation of 26 to 72 duels for 47
/// to 51 levers, six of which helped elsewhere and do nothing here: final variants are faster by 2 to 3 % where a duel spreads by 30 to
/// 40 %, by 1 % otherwise, and hold one lever more that does nothing. The same for all levers would add three such.
const SURE_OF_KNOWN: f64 = 1.5;
/// At so many it is likely to help: a duel of its own decides sooner than those of a group.
const LIKELY: f64 = 3.0;
/// The same where none is so sure: fresh duels judge what comes of it, and no answer is the worst one.
const HOPEFUL: f64 = 1.0;
/// Standard errors (of screening and expectation together) that a screened effect may lie from what was expected of it. What lies farther
/// was measured in other circumstances elsewhere, such as data that fit into the buffer pool: one of 370 does so by chance.
const FARTHEST: f64 = 3.0;
/// Standard errors to each side that hold 95 % of a normal distribution.
const HALF_WIDTH: f64 = 1.96;

/// What earlier measurements make one expect of a lever's log effect here: a normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Its mean.
    pub log_effect: f64,
    /// Its standard deviation: how far machines and workloads differ, not how exactly it was measured there.
    pub std_err: f64,
    /// Whether it surely helped: the interval of a measurement lay above nothing.
    pub helped: bool,
}

/// What a screening says of a lever, beside what was known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScreenedEffect {
    /// ln(gain), as screened.
    pub log_effect: f64,
    /// Standard error of that.
    pub std_err: f64,
    /// What is known of the lever from elsewhere.
    pub prior: Option<Prior>,
}

impl ScreenedEffect {
    /// The log effect and its standard error by what was screened and what was known, each with the weight of its
    /// precision. What was known is as inexact as the screening shows it to be at the least.
    pub fn expected(&self) -> (f64, f64) {
        let Some(prior) = self.prior else {
            return (self.log_effect, self.std_err);
        };
        let screened = self.std_err.powi(2);
        let apart = (self.log_effect - prior.log_effect) / FARTHEST;
        let known = prior.std_err.powi(2).max(apart.powi(2) - screened);
        let weights = [screened.recip(), known.recip()];
        let precision: f64 = weights.iter().sum();
        let mean = (weights[0] * self.log_effect + weights[1] * prior.log_effect) / precision;
        (mean, precision.powf(-0.5))
    }

    /// The same as a ratio, with its interval of 95 %.
    pub fn expected_ratio(&self) -> Estimate {
        let (log_effect, std_err) = self.expected();
        Estimate::from_log_std_err(log_effect, std_err, HALF_WIDTH)
    }

    /// Whether the lever would be promoted for its own gain, of which `worthwhile` (log) is the least that is worth the trouble.
    pub fn is_sure(&self, worthwhile: f64) -> bool {
        let (log_effect, std_err) = self.expected();
        is_promising(log_effect, std_err, worthwhile, self.sure(worthwhile))
    }

    /// Whether it helps beyond what chance makes of fifty levers that do nothing: in about 7 of 100 screenings one of them looks like this.
    pub fn is_likely(&self) -> bool {
        let (log_effect, std_err) = self.expected();
        log_effect >= LIKELY * std_err
    }

    /// Standard errors above nothing at which it is promoted.
    fn sure(&self, worthwhile: f64) -> f64 {
        let helped = |prior: Prior| prior.helped && prior.log_effect >= worthwhile;
        match self.prior.is_some_and(helped) {
            true => SURE_OF_KNOWN,
            false => SURE,
        }
    }
}

/// A lever as the screening left it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prospect {
    /// Index of the candidate.
    pub index: usize,
    /// Of levers with the same factor at most one continues.
    pub factor: usize,
    /// What it does.
    pub effect: ScreenedEffect,
    /// Indices of the candidates with which it cannot continue.
    pub apart: Vec<usize>,
}

impl Prospect {
    /// Whether both can be in a final variant.
    fn goes_with(&self, other: &Prospect) -> bool {
        self.factor != other.factor
            && !self.apart.contains(&other.index)
            && !other.apart.contains(&self.index)
    }
}

/// What two levers do together beyond their sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Bond {
    /// Indices of the candidates.
    pub levers: [usize; 2],
    /// ln(gain with both over the product of their gains).
    pub log_effect: f64,
    /// Standard error of that.
    pub std_err: f64,
}

/// Whether a log effect is worth the fresh duels that judge it.
fn is_promising(log_effect: f64, std_err: f64, worthwhile: f64, std_errs: f64) -> bool {
    log_effect >= worthwhile && log_effect >= std_errs * std_err
}

/// The levers that continue, best first, each by what it adds to those before it: those two standard errors above nothing, one and
/// a half where they helped elsewhere. Where none does, those that stand one above, or the best one with a gain: what fresh duels make
/// of it is an answer.
pub fn promote(prospects: &[Prospect], bonds: &[Bond], worthwhile: f64) -> Vec<usize> {
    let sure = promote_at(prospects, bonds, worthwhile, |effect| {
        effect.sure(worthwhile)
    });
    if !sure.is_empty() {
        return sure;
    }
    let hopeful = promote_at(prospects, bonds, worthwhile, |_| HOPEFUL);
    if !hopeful.is_empty() {
        return hopeful;
    }
    let ranked = prospects.iter().map(|prospect| {
        let (log_effect, std_err) = prospect.effect.expected();
        (prospect.index, log_effect, log_effect / std_err)
    });
    let gains = ranked.filter(|(_, log_effect, _)| *log_effect >= worthwhile);
    let best = gains.max_by(|x, y| x.2.total_cmp(&y.2));
    best.map(|(index, ..)| index).into_iter().collect()
}

fn promote_at(
    prospects: &[Prospect],
    bonds: &[Bond],
    worthwhile: f64,
    std_errs: impl Fn(&ScreenedEffect) -> f64,
) -> Vec<usize> {
    let mut chosen: Vec<&Prospect> = Vec::new();
    loop {
        let best = prospects
            .iter()
            .filter(|prospect| chosen.iter().all(|other| prospect.goes_with(other)))
            .map(|prospect| (prospect, beside(prospect, &chosen, bonds)))
            .filter(|(prospect, (log_effect, std_err))| {
                is_promising(
                    *log_effect,
                    *std_err,
                    worthwhile,
                    std_errs(&prospect.effect),
                )
            })
            .max_by(|x, y| x.1.0.total_cmp(&y.1.0));
        match best {
            Some((prospect, _)) => chosen.push(prospect),
            None => return chosen.iter().map(|prospect| prospect.index).collect(),
        }
    }
}

/// The log effect of a lever beside others, and its standard error (as if the parts were independent; they are
/// correlated negatively, so that it is rather less).
fn beside(prospect: &Prospect, others: &[&Prospect], bonds: &[Bond]) -> (f64, f64) {
    let held = bonds.iter().filter(|bond| {
        let [one, other] = bond.levers;
        let partner = match prospect.index {
            index if index == one => other,
            index if index == other => one,
            _ => return false,
        };
        others.iter().any(|chosen| chosen.index == partner)
    });
    let (alone, std_err) = prospect.effect.expected();
    let (log_effect, variance) =
        held.fold((alone, std_err.powi(2)), |(log_effect, variance), bond| {
            (
                log_effect + bond.log_effect,
                variance + bond.std_err.powi(2),
            )
        });
    (log_effect, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screened(log_effect: f64, std_err: f64, prior: Option<Prior>) -> ScreenedEffect {
        ScreenedEffect {
            log_effect,
            std_err,
            prior,
        }
    }

    fn lever(index: usize, factor: usize, log_effect: f64) -> Prospect {
        Prospect {
            index,
            factor,
            effect: screened(log_effect, 0.007, None),
            apart: Vec::new(),
        }
    }

    #[test]
    fn the_best_first_and_one_of_a_choice() {
        let prospects = [
            lever(0, 0, 0.02),
            lever(1, 1, 0.05),
            lever(2, 1, 0.07),
            lever(3, 2, 0.01),
            lever(4, 3, -0.1),
        ];
        assert_eq!(promote(&prospects, &[], 0.005), [2, 0]);
    }

    #[test]
    fn of_two_that_cannot_be_together_the_better_one_continues() {
        let mut prospects = [lever(0, 0, 0.04), lever(1, 1, 0.05), lever(2, 2, 0.03)];
        prospects[0].apart = vec![1];
        assert_eq!(promote(&prospects, &[], 0.005), [1, 2]);
        prospects[1].effect.log_effect = 0.01;
        assert_eq!(promote(&prospects, &[], 0.005), [0, 2]);
    }

    #[test]
    fn what_hurts_beside_a_better_one_stays_out() {
        let prospects = [lever(0, 0, 0.03), lever(1, 1, 0.05), lever(2, 2, 0.04)];
        let bond = Bond {
            levers: [0, 1],
            log_effect: -0.24,
            std_err: 0.03,
        };
        assert_eq!(promote(&prospects, &[bond], 0.005), [1, 2]);
    }

    #[test]
    fn what_helps_only_beside_another_one_goes_in() {
        let prospects = [lever(0, 0, -0.01), lever(1, 1, 0.05)];
        let bond = Bond {
            levers: [0, 1],
            log_effect: 0.1,
            std_err: 0.02,
        };
        assert_eq!(promote(&prospects, &[bond], 0.005), [1, 0]);
    }

    #[test]
    fn where_none_is_sure_the_most_promising_is_judged_all_the_same() {
        let hopeful = [lever(0, 0, 0.009), lever(1, 1, 0.006), lever(2, 2, -0.1)];
        assert_eq!(promote(&hopeful, &[], 0.005), [0]);
        let faint = [lever(0, 0, 0.0055), lever(1, 1, 0.006)];
        assert_eq!(promote(&faint, &[], 0.005), [1]);
        assert_eq!(promote(&[lever(0, 0, 0.004)], &[], 0.005), [] as [usize; 0]);
    }

    #[test]
    fn what_is_known_from_elsewhere_weighs_by_its_precision() {
        let prior = Prior {
            log_effect: 0.15,
            std_err: 0.05,
            helped: true,
        };
        let beside_sure = |effect: ScreenedEffect| {
            let known = Prospect {
                effect,
                ..lever(0, 0, 0.0)
            };
            promote(&[known, lever(1, 1, 0.08)], &[], 0.005)
        };
        let rough = screened(-0.02, 0.1, Some(prior));
        let (log_effect, std_err) = rough.expected();
        assert!((log_effect - 0.116).abs() < 1e-9, "{log_effect}");
        assert!((std_err - 0.002_f64.sqrt()).abs() < 1e-9, "{std_err}");
        assert!(rough.is_sure(0.005));
        assert_eq!(beside_sure(rough), [0, 1]);
        // Of what helped elsewhere less has to be seen.
        assert_eq!(beside_sure(screened(0.0, 0.03, Some(prior))), [1, 0]);
        assert_eq!(beside_sure(screened(0.05, 0.03, None)), [1]);
        // What may have been nothing there as well is like any other.
        let unsure = Prior {
            helped: false,
            ..prior
        };
        assert_eq!(beside_sure(screened(0.0, 0.03, Some(unsure))), [1]);
        // Measured well here, what was seen elsewhere counts for little.
        assert_eq!(beside_sure(screened(-0.02, 0.005, Some(prior))), [1]);
    }

    /// It was another load there.
    #[test]
    fn a_screening_that_contradicts_what_is_known_by_far_is_believed() {
        let useless = Prior {
            log_effect: -0.004,
            std_err: 0.012,
            helped: false,
        };
        let found = screened(0.116, 0.023, Some(useless));
        let (log_effect, std_err) = found.expected();
        assert!(log_effect > 0.07 && log_effect < 0.08, "{log_effect}");
        assert!(std_err > 0.018 && std_err < 0.023, "{std_err}");
        assert!(found.is_sure(0.005));
        assert!(!screened(0.05, 0.023, Some(useless)).is_sure(0.005));
    }
}
