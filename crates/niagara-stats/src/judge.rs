//! The sequential judgement, and the only place where a verdict is decided: what the duels' scores say so far, and
//! whether more are wanted. Whether a call of "faster" still stands on all duels is [`Judgement::shows_gain`].

use crate::all_time::AllTime;
use crate::evidence::Evidence;
use crate::looks::{Look, LookPlan, carried_over};
use crate::rule::Rule;
use crate::signed_rank::{interval_of, middle, signed_rank_sd, signed_rank_sum, walsh_averages};
use crate::{Estimate, Judgement, Verdict, normal};

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
    judge_evidence(Evidence::of(scores), plan, rule)
}

/// [`judge`] of scores from several machines: `nodes` numbers the machine of each. Every score weighs by the spread of its
/// own machine, whoever is called A (`node_weights`): what is ranked is the score in units of that spread, so that the
/// critical values stay those of the plan, and the interval comes from the same weights.
pub fn judge_on_nodes(scores: &[f64], nodes: &[usize], plan: &LookPlan, rule: &Rule) -> Judgement {
    judge_evidence(Evidence::on_nodes(scores, nodes), plan, rule)
}

fn judge_evidence(scores: Evidence<'_>, plan: &LookPlan, rule: &Rule) -> Judgement {
    let rule = rule.under_way();
    let passed = plan.looks.iter().filter(|look| look.duels <= scores.len());
    for look in passed {
        let mut judgement = at_look(scores.first(look.duels), look, plan);
        judgement.verdict = verdict(&judgement, plan, &rule);
        if judgement.verdict.is_some() {
            return judgement;
        }
    }
    under_way(scores, plan)
}

/// What all scores say at a look of the plan that is at just this many of them; `None` between looks, and where the look could call
/// nothing. A comparison may continue after its verdict until its interval is narrow enough, and end here. The interval
/// holds at every look (Jennison & Turnbull's repeated confidence intervals).
pub fn at_look_on_nodes(scores: &[f64], nodes: &[usize], plan: &LookPlan) -> Option<Judgement> {
    let mut looks = plan.looks.iter();
    let look = looks.find(|look| look.duels == scores.len() && look.critical.is_some())?;
    Some(at_look(Evidence::on_nodes(scores, nodes), look, plan))
}

/// [`judge`], when no more duels will come: the verdict is always there. Scores that ended before the plan's last look
/// get the look that [`LookPlan::ending_at`] allows them, and so an interval that is valid; of too few to call anything
/// the interval is the widest there is, with the confidence that it has.
pub fn judge_final(scores: &[f64], plan: &LookPlan, rule: &Rule) -> Judgement {
    final_of(Evidence::of(scores), plan, rule)
}

/// [`judge_final`] of scores from several machines, as [`judge_on_nodes`] weighs them.
pub fn judge_final_on_nodes(
    scores: &[f64],
    nodes: &[usize],
    plan: &LookPlan,
    rule: &Rule,
) -> Judgement {
    final_of(Evidence::on_nodes(scores, nodes), plan, rule)
}

fn final_of(scores: Evidence<'_>, plan: &LookPlan, rule: &Rule) -> Judgement {
    let so_far = judge_evidence(scores, plan, rule);
    if let (Some(_), false) = (so_far.verdict, rule.to_the_end) {
        let mut so_far = so_far;
        // Given up for futility at a look that could call nothing.
        if so_far.critical.is_none() {
            let duels = so_far.duels;
            widest(&mut so_far, scores.first(duels).scores());
        }
        return so_far;
    }
    let mut judgement = match so_far.verdict {
        Some(_) => so_far,
        None => at_the_last(scores, plan, &rule.under_way()).unwrap_or(so_far),
    };
    if rule.to_the_end {
        judgement = of_all(judgement, scores, plan, rule);
    }
    judgement.verdict = judgement.verdict.or(Some(Verdict::Undetected));
    judgement.next_look = None;
    if judgement.critical.is_none() {
        widest(&mut judgement, scores.scores());
    }
    judgement
}

/// The judgement at the look that the end of the scores makes.
fn at_the_last(scores: Evidence<'_>, plan: &LookPlan, rule: &Rule) -> Option<Judgement> {
    let ended = plan.ending_at(scores.len());
    let look = ended
        .looks
        .last()
        .filter(|look| look.duels == scores.len())?;
    let mut judgement = at_look(scores, look, &ended);
    judgement.verdict = verdict(&judgement, plan, rule);
    Some(judgement)
}

/// The judgement of all duels, also of those beyond the look at which a comparison would have stopped. A difference
/// called at any look stands: that is what the critical values allow for. Everything else is said of the last
/// interval, which covers as well as that of any look (Jennison & Turnbull's repeated confidence intervals).
fn of_all(
    mut judgement: Judgement,
    scores: Evidence<'_>,
    plan: &LookPlan,
    rule: &Rule,
) -> Judgement {
    if judgement.duels < scores.len() {
        let (verdict, called_at) = (judgement.verdict, judgement.duels);
        let ended = plan.ending_at(scores.len());
        if let Some(look) = ended.looks.last().filter(|look| look.critical.is_some()) {
            judgement = at_look(scores, look, &ended);
            judgement.verdict = verdict;
            judgement.called_at = Some(called_at);
        }
    }
    let called = matches!(judgement.verdict, Some(Verdict::Faster | Verdict::Slower));
    if !called && judgement.estimate.high < 1.0 + rule.min_effect {
        judgement.verdict = Some(Verdict::NotWorthwhile);
    }
    judgement
}

/// The smallest and the largest score: they hold the centre between them but for all scores on one side of it.
fn widest(judgement: &mut Judgement, scores: &[f64]) {
    let (low, high) = scores
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| {
            (low.min(*score), high.max(*score))
        });
    if scores.len() > 1 {
        let centre = judgement.estimate.ratio.ln();
        judgement.estimate = Estimate::from_log(centre, low, high);
        judgement.confidence = Some(1.0 - 2f64.powi(1 - scores.len() as i32));
    }
}

/// The one decision: what an interval says; `None` where it leaves open whether there is a difference.
fn call_of(estimate: &Estimate, rule: &Rule) -> Option<Verdict> {
    match estimate {
        Estimate { low, .. } if *low > 1.0 => Some(Verdict::Faster),
        Estimate { high, .. } if *high < 1.0 => Some(Verdict::Slower),
        Estimate { high, .. } if *high < 1.0 + rule.min_effect => Some(Verdict::NotWorthwhile),
        _ => None,
    }
}

/// The verdict at a look: what its interval says, or that more duels are not worth their time.
fn verdict(judgement: &Judgement, plan: &LookPlan, rule: &Rule) -> Option<Verdict> {
    call_of(&judgement.estimate, rule).or_else(|| {
        let is_futile = judgement.predictive_power < rule.futility;
        (is_futile || judgement.duels >= plan.max_duels()).then_some(Verdict::Undetected)
    })
}

/// What the same duels say of another figure, at the critical value of the judgement's last look
/// ([`Judgement::critical_for`]): for a figure that stands beside the one that was judged, and was not tested on the way.
pub fn judge_beside(scores: &[f64], judged: &Judgement, rule: &Rule) -> Judgement {
    let scores = &scores[..scores.len().min(judged.duels)];
    let walsh = walsh_averages(scores);
    let (low, high) = judged
        .critical_for(scores.len())
        .map_or((f64::NEG_INFINITY, f64::INFINITY), |critical| {
            interval_of(&walsh, critical)
        });
    let estimate = Estimate::from_log(middle(&walsh).unwrap_or(0.0), low, high);
    let verdict = judged.verdict;
    let verdict = verdict.map(|_| call_of(&estimate, rule).unwrap_or(Verdict::Undetected));
    Judgement {
        duels: scores.len(),
        verdict,
        estimate,
        w: signed_rank_sum(scores),
        called_at: None,
        confidence: None,
        withdrawn: false,
        ..judged.clone()
    }
}

/// Takes a call back whose better side (0 is A) did not survive its duels either, as `is_unsound` says of it; which side that was. It
/// makes no call, as [`hold_against_all_time`] makes none.
pub fn hold_against_failures(
    judgement: &mut Judgement,
    is_unsound: impl Fn(usize) -> bool,
) -> Option<usize> {
    let better = match judgement.verdict {
        Some(Verdict::Faster) => 1,
        Some(Verdict::Slower) => 0,
        _ => return None,
    };
    if !is_unsound(better) {
        return None;
    }
    judgement.verdict = Some(Verdict::Undetected);
    Some(better)
}

/// Takes a call of "faster" back that all transactions over all time contradict ([`AllTime::contradicts_faster`]): B stands still now
/// and then, which the median of its slices does not show. It makes no call and changes no other, so that the error probability of
/// the calls that are left is at most what it was.
pub fn hold_against_all_time(judgement: &mut Judgement, all_time: Option<&AllTime>) {
    let is_faster = judgement.verdict == Some(Verdict::Faster);
    if is_faster && all_time.is_some_and(AllTime::contradicts_faster) {
        judgement.verdict = Some(Verdict::Undetected);
        judgement.withdrawn = true;
    }
}

/// Takes any call back where the figures are two means without an interval: they decide nothing.
pub fn hold_without_interval(judgement: &mut Judgement) {
    judgement.verdict = None;
}

fn at_look(scores: Evidence<'_>, look: &Look, plan: &LookPlan) -> Judgement {
    describe(scores, look.critical, look.critical, plan)
}

fn under_way(scores: Evidence<'_>, plan: &LookPlan) -> Judgement {
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

fn describe(
    scores: Evidence<'_>,
    critical: Option<u32>,
    interval_critical: Option<u32>,
    plan: &LookPlan,
) -> Judgement {
    let walsh = scores.walsh_averages();
    let (low, high) = match interval_critical {
        Some(critical) => interval_of(&walsh, critical),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let centre = middle(&walsh).unwrap_or(0.0);
    let w = scores.signed_rank_sum();
    Judgement {
        duels: scores.len(),
        verdict: None,
        estimate: Estimate::from_log(centre, low, high),
        w,
        critical,
        predictive_power: predictive_power(w, scores.len(), plan),
        next_look: plan
            .looks
            .iter()
            .map(|look| look.duels)
            .find(|duels| *duels > scores.len()),
        alpha: plan.alpha,
        called_at: None,
        confidence: None,
        looks: plan
            .looks
            .iter()
            .filter(|look| look.duels <= scores.len())
            .copied()
            .collect(),
        one_sided: plan.one_sided,
        withdrawn: false,
    }
}

/// Φ((z − z_N√f)/√(1−f)), f = n/N: the probability of crossing at the last look, averaged over what the scores so far
/// leave open about the trend (the predictive power of Spiegelhalter, Freedman & Blackburn, *Controlled Clinical
/// Trials* 7, 1986). A two-sided plan asks about the side W is on, a one-sided one about a gain.
fn predictive_power(w: f64, n: usize, plan: &LookPlan) -> f64 {
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
    fn no_duels_give_no_verdict() {
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
        assert!(judgement.predictive_power < 0.05);
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
    fn beside_a_judgement_between_looks_the_interval_is_of_all_its_duels() {
        let plan = LookPlan::standard(0.05);
        let scores = around(0.004, 0.011, 11);
        let judgement = judge(&scores, &plan, &rule());
        assert_eq!((judgement.verdict, judgement.duels), (None, 11));
        assert_eq!(judgement.critical, Some(36), "of eight duels");
        // 36 of the 66 averages of 11 duels would leave out some 10 %: 36 is that many standard deviations for 8.
        let deviations = 36.0 / signed_rank_sd(8);
        let carried = (deviations * signed_rank_sd(11)).ceil() as u32;
        assert_eq!(judgement.critical_for(11), Some(carried));
        assert!(carried > 50, "{carried}");
        let beside = judge_beside(&scores, &judgement, &rule());
        assert_eq!(beside.estimate, judgement.estimate);
        // At a look it is the look's own, of a figure that some duels lack as well.
        let at_look = judge(&scores[..8], &plan, &rule());
        assert_eq!(at_look.critical_for(8), at_look.critical);
        let fewer = judge_beside(&scores[..7], &at_look, &rule()).estimate;
        assert!(fewer.low == 0.0 && fewer.high.is_infinite(), "{fewer:?}");
    }

    #[test]
    fn equal_scores_of_zero_are_no_difference() {
        let judgement = judge(&[0.0; 8], &LookPlan::standard(0.05), &rule());
        assert_eq!(judgement.verdict, Some(Verdict::NotWorthwhile));
    }

    fn to_the_end() -> Rule {
        Rule {
            to_the_end: true,
            ..Rule::default()
        }
    }

    fn at_the_end(scores: &[f64], max_duels: usize) -> (Verdict, Judgement) {
        let plan = LookPlan::for_duels(0.05, max_duels);
        let judgement = judge_final(scores, &plan, &to_the_end());
        assert_eq!(judgement.duels, scores.len(), "it speaks of all duels");
        (judgement.verdict.expect("no more will come"), judgement)
    }

    #[test]
    fn not_worthwhile_at_an_early_look_is_decided_again_from_all_duels() {
        // Tight around nothing, then wide: identical servers on a machine that became noisy.
        let scores: Vec<f64> = around(0.0, 0.002, 8)
            .into_iter()
            .chain(around(0.004, 0.02, 36))
            .collect();
        let plan = LookPlan::standard(0.05);
        let early = judge(&scores, &plan, &Rule::default());
        assert_eq!(
            (early.verdict, early.duels),
            (Some(Verdict::NotWorthwhile), 8)
        );
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert!(judgement.estimate.low < 1.0 && judgement.estimate.high > 1.005);
        assert_eq!(verdict, Verdict::Undetected);
    }

    #[test]
    fn undetected_at_an_early_look_is_decided_again_from_all_duels() {
        let scores: Vec<f64> = around(0.0, 0.03, 16)
            .into_iter()
            .chain(around(0.0, 0.0008, 28))
            .collect();
        let plan = LookPlan::standard(0.05);
        let early = judge(&scores, &plan, &Rule::default());
        assert_eq!(early.verdict, Some(Verdict::Undetected));
        assert!(early.duels < 44);
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert!(judgement.estimate.high < 1.005, "{judgement:?}");
        assert_eq!(verdict, Verdict::NotWorthwhile);
    }

    #[test]
    fn a_difference_that_shows_after_a_stop_for_futility_is_called() {
        let scores: Vec<f64> = around(0.0, 0.03, 16)
            .into_iter()
            .chain(around(0.05, 0.01, 28))
            .collect();
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert!(judgement.estimate.low > 1.0);
        assert_eq!(verdict, Verdict::Faster);
    }

    #[test]
    fn a_difference_once_called_stands() {
        let scores: Vec<f64> = around(0.05, 0.01, 8)
            .into_iter()
            .chain(around(0.0, 0.05, 22))
            .collect();
        let (verdict, judgement) = at_the_end(&scores, 44);
        assert_eq!(verdict, Verdict::Faster);
        assert!(judgement.estimate.low < 1.0 && judgement.estimate.high > 1.0);
    }

    #[test]
    fn too_few_duels_to_tell_are_undetected() {
        let scores: Vec<f64> = around(0.0, 0.001, 4);
        let (verdict, judgement) = at_the_end(&scores, 4);
        assert_eq!(verdict, Verdict::Undetected);
        // The widest interval there is, with the confidence that it has: 1 − 2/16.
        assert_eq!(judgement.confidence, Some(0.875));
        assert!(judgement.estimate.low < 1.0 && judgement.estimate.high.is_finite());
    }
}
