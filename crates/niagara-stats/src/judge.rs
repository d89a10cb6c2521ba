//! The sequential judgement: what the duels' scores say so far, and whether more are wanted.

use crate::looks::{Look, LookPlan};
use crate::signed_rank::{interval_of, signed_rank_sd, signed_rank_sum, walsh_averages};
use crate::{Estimate, Judgement, Verdict, normal};

/// When a comparison stops without a difference shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Smallest gain worth having, as a fraction: an interval wholly below it is [`Verdict::NotWorthwhile`].
    pub min_effect: f64,
    /// Stop when the probability of still reaching the last critical value falls below this.
    pub futility: f64,
}

impl Default for Rule {
    /// A gain of 0.5 %; a chance of 5 %.
    fn default() -> Self {
        Self {
            min_effect: 0.005,
            futility: 0.05,
        }
    }
}

/// Walks the looks that `scores` (ln(B/A), one per duel, in the order fought) have passed. The first verdict stands,
/// with the duels it was reached on. Without one, the judgement describes all scores, and `verdict` is `None`.
///
/// Between looks the interval is nominal: the last look's critical value (before the first: the first there is) carried
/// over on the scale of W's standard deviation. Only at a look does an interval carry the plan's guarantee.
///
/// On identical variants P(faster or slower) <= α, given that the scores' signs are fair and that their magnitudes come
/// in no particular order. Should the noise grow from every duel to the next the chance is 0.065 for α = 0.05, should
/// it shrink 0.034; a noise that doubles over the 44 duels makes it 0.052 (simulated).
pub fn judge(scores: &[f64], plan: &LookPlan, rule: &Rule) -> Judgement {
    let passed = plan.looks.iter().filter(|look| look.duels <= scores.len());
    for look in passed {
        let mut judgement = at_look(&scores[..look.duels], look, plan);
        judgement.verdict = verdict(&judgement, plan, rule);
        if judgement.verdict.is_some() {
            return judgement;
        }
    }
    under_way(scores, plan)
}

/// [`judge`], when no more duels will come: the verdict is always there. Scores that ended between looks get the look
/// that [`LookPlan::ending_at`] allows them, and so an interval that is valid.
pub fn judge_final(scores: &[f64], plan: &LookPlan, rule: &Rule) -> Judgement {
    let so_far = judge(scores, plan, rule);
    if so_far.verdict.is_some() {
        return so_far;
    }
    let ended = plan.ending_at(scores.len());
    let mut judgement = match ended.looks.last() {
        Some(look) if look.duels == scores.len() => at_look(scores, look, plan),
        _ => so_far,
    };
    let reached = verdict(&judgement, plan, rule);
    judgement.verdict = reached.or(Some(Verdict::Undetected));
    judgement.next_look = None;
    judgement
}

fn verdict(judgement: &Judgement, plan: &LookPlan, rule: &Rule) -> Option<Verdict> {
    let Estimate { low, high, .. } = judgement.estimate;
    if low > 1.0 {
        Some(Verdict::Faster)
    } else if high < 1.0 {
        Some(Verdict::Slower)
    } else if high < 1.0 + rule.min_effect {
        Some(Verdict::NotWorthwhile)
    } else if judgement.conditional_power < rule.futility || judgement.duels >= plan.max_duels() {
        Some(Verdict::Undetected)
    } else {
        None
    }
}

fn at_look(scores: &[f64], look: &Look, plan: &LookPlan) -> Judgement {
    describe(scores, look.critical, look.critical, plan)
}

fn under_way(scores: &[f64], plan: &LookPlan) -> Judgement {
    let last = plan.looks.iter().rfind(|look| look.duels <= scores.len());
    let nominal = last
        .filter(|look| look.critical.is_some())
        .or(plan.looks.iter().find(|look| look.critical.is_some()))
        .and_then(|look| carried_over(look, scores.len()));
    let exact = last.filter(|look| look.duels == scores.len());
    let critical = last.and_then(|look| look.critical);
    describe(
        scores,
        critical,
        exact.map_or(nominal, |look| look.critical),
        plan,
    )
}

/// The critical value of a look at another number of duels: as many standard deviations of W.
fn carried_over(look: &Look, n: usize) -> Option<u32> {
    let deviations = f64::from(look.critical?) / signed_rank_sd(look.duels);
    Some((deviations * signed_rank_sd(n)).ceil().max(1.0) as u32)
}

fn describe(
    scores: &[f64],
    critical: Option<u32>,
    interval_critical: Option<u32>,
    plan: &LookPlan,
) -> Judgement {
    let walsh = walsh_averages(scores);
    let (low, high) = match interval_critical {
        Some(critical) => interval_of(&walsh, critical),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let centre = crate::signed_rank::middle(&walsh).unwrap_or(0.0);
    let w = signed_rank_sum(scores);
    Judgement {
        duels: scores.len(),
        verdict: None,
        estimate: Estimate::from_log(centre, low, high),
        w,
        critical,
        conditional_power: conditional_power(w, scores.len(), plan),
        next_look: plan
            .looks
            .iter()
            .map(|look| look.duels)
            .find(|duels| *duels > scores.len()),
        alpha: plan.alpha,
    }
}

/// Φ((z − z_N√f)/√(1−f)), f = n/N: the probability of crossing at the last look, averaged over what the scores so far
/// leave open about the trend (the predictive power of Spiegelhalter, Freedman & Blackburn, *Controlled Clinical
/// Trials* 7, 1986). A two-sided plan asks about the side W is on, a one-sided one about a gain.
fn conditional_power(w: f64, n: usize, plan: &LookPlan) -> f64 {
    let Some(Look {
        duels,
        critical: Some(critical),
    }) = plan.looks.last().copied()
    else {
        return 0.0;
    };
    let towards = if plan.one_sided { w } else { w.abs() };
    if n >= duels {
        return f64::from(u8::from(towards >= f64::from(critical)));
    }
    let z = if n == 0 {
        0.0
    } else {
        towards / signed_rank_sd(n)
    };
    let goal = f64::from(critical) / signed_rank_sd(duels);
    let part = n as f64 / duels as f64;
    normal::cdf((z - goal * part.sqrt()) / (1.0 - part).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> Rule {
        Rule::default()
    }

    /// Scores around a centre, alternating by a width that differs from duel to duel.
    fn around(centre: f64, width: f64, n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| {
                let size = width * (1.0 + 0.1 * ((i * 7) % 11) as f64);
                centre + if i % 2 == 0 { size } else { -size }
            })
            .collect()
    }

    #[test]
    fn nothing_yet() {
        let plan = LookPlan::standard(0.05);
        let judgement = judge(&[], &plan, &rule());
        assert_eq!(judgement.verdict, None);
        assert_eq!(judgement.next_look, Some(8));
        assert_eq!(
            (judgement.estimate.low, judgement.estimate.high),
            (0.0, f64::INFINITY)
        );
        let ended = judge_final(&[], &plan, &rule());
        assert_eq!(ended.verdict, Some(Verdict::Undetected));
        assert_eq!(ended.next_look, None);
    }

    #[test]
    fn a_clear_gain_is_called_at_the_first_look() {
        let scores = around(0.05, 0.01, 8);
        let judgement = judge(&scores, &LookPlan::standard(0.05), &rule());
        assert_eq!(judgement.verdict, Some(Verdict::Faster));
        assert_eq!((judgement.w, judgement.critical), (36.0, Some(36)));
        assert!(judgement.estimate.low > 1.0 && judgement.estimate.ratio < judgement.estimate.high);
        let loss: Vec<f64> = scores.iter().map(|d| -d).collect();
        assert_eq!(
            judge(&loss, &LookPlan::standard(0.05), &rule()).verdict,
            Some(Verdict::Slower)
        );
        // At 0.01 eight duels cannot tell.
        let strict = judge(&scores, &LookPlan::standard(0.01), &rule());
        assert_eq!((strict.verdict, strict.critical), (None, None));
    }

    #[test]
    fn a_verdict_stands_whatever_follows() {
        let mut scores = around(0.05, 0.01, 8);
        scores.extend(around(-0.2, 0.01, 20));
        let judgement = judge(&scores, &LookPlan::standard(0.05), &rule());
        assert_eq!(
            (judgement.verdict, judgement.duels),
            (Some(Verdict::Faster), 8)
        );
    }

    #[test]
    fn between_looks_the_estimate_runs_and_stays_in_its_interval() {
        let plan = LookPlan::standard(0.05);
        for n in 1..44 {
            let judgement = judge(&around(0.006, 0.011, n), &plan, &rule());
            let Estimate { ratio, low, high } = judgement.estimate;
            assert!(low <= ratio && ratio <= high, "{judgement:?}");
            if judgement.verdict.is_none() {
                assert_eq!(judgement.duels, n);
                assert!(judgement.next_look.is_some_and(|next| next > n));
            }
        }
    }

    #[test]
    fn a_tight_interval_around_nothing_is_not_worthwhile() {
        let judgement = judge(&around(0.0, 0.0005, 12), &LookPlan::standard(0.05), &rule());
        assert_eq!(judgement.verdict, Some(Verdict::NotWorthwhile));
        assert!(judgement.estimate.high < 1.005);
    }

    #[test]
    fn a_wide_interval_around_nothing_ends_as_undetected() {
        let judgement = judge(&around(0.0, 0.03, 44), &LookPlan::standard(0.05), &rule());
        assert_eq!(judgement.verdict, Some(Verdict::Undetected));
        assert!(judgement.duels < 44, "futility stops it early");
        assert!(judgement.conditional_power < 0.05);
    }

    #[test]
    fn one_sided_plans_give_up_on_losses_sooner() {
        let scores = around(-0.004, 0.012, 8);
        let two_sided = judge(&scores, &LookPlan::standard(0.1), &rule());
        let one_sided = judge(&scores, &LookPlan::one_sided(0.05), &rule());
        assert_eq!(two_sided.verdict, None);
        assert_eq!(one_sided.verdict, Some(Verdict::Undetected));
    }

    #[test]
    fn when_time_ends_between_looks_the_verdict_is_valid_and_there() {
        let plan = LookPlan::standard(0.05);
        let mut scores = around(0.004, 0.011, 8);
        scores.extend(around(0.05, 0.01, 3));
        assert_eq!(judge(&scores, &plan, &rule()).verdict, None);
        let ended = judge_final(&scores, &plan, &rule());
        assert!(ended.verdict.is_some());
        assert_eq!((ended.duels, ended.next_look), (11, None));
        let critical = ended
            .critical
            .expect("eleven duels can tell at 0.05 · 11/44");
        assert!(ended.w.abs() < f64::from(critical) || ended.verdict == Some(Verdict::Faster));
    }

    #[test]
    fn equal_scores_of_zero_are_no_difference() {
        let judgement = judge(&[0.0; 8], &LookPlan::standard(0.05), &rule());
        assert_eq!(judgement.verdict, Some(Verdict::NotWorthwhile));
    }
}
