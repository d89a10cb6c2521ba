//! Couples of slices with a view and without it: what it shows, and what it costs.

use anyhow::Result;
use niagara_error::bail;
use niagara_load::SliceStats;
use niagara_profile::result::Cost;
use niagara_stats::{Couple, Estimate, Weighing, duel_score, student};
use rand::{Rng, RngExt};

use super::stage::{Stage, couples};
use super::work::{Work, per_query};
use super::{ProfileOptions, View};
use crate::plans::observer::{Event, Observer};

/// Something that can be switched on for a slice of load.
pub(super) trait Switch {
    /// Before the load begins.
    fn on(&mut self) -> Result<()>;
    /// After the last transaction in flight has ended.
    fn off(&mut self) -> Result<()>;
}

/// The slices behind a view.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Transactions per second.
    couples: Vec<Couple>,
    /// CPU time of the server per query.
    cpu_couples: Vec<Couple>,
    /// Queries per second of each slice without it.
    pub queries_without: Vec<f64>,
    /// Transactions per second of each slice without it.
    pub transactions_without: Vec<f64>,
    /// Queries answered while it was on.
    pub queries: u64,
    /// CPU time of the server while it was on, in seconds.
    pub server_cpu: f64,
    /// Queries answered while it was off.
    pub queries_off: u64,
    /// CPU time of the server while it was off, in seconds.
    pub server_cpu_off: f64,
    /// How many couples there were, of how many that were wanted, where a capture had no more.
    pub cut_short: Option<(usize, usize)>,
}

impl Watched {
    /// Adds a couple: the slice without and the slice with, each with the CPU time it took.
    pub(super) fn add(&mut self, without: &(SliceStats, f64), with: &(SliceStats, f64)) {
        let rate = |stats: &SliceStats| per(stats.transactions, stats.seconds);
        self.couples
            .push(Couple::undisturbed(rate(&without.0), rate(&with.0)));
        let [a, b] = [without, with].map(|(stats, cpu)| {
            let queries = Some(stats.queries_whole as f64);
            per_query(*cpu, queries).unwrap_or(0.0)
        });
        self.cpu_couples.push(Couple {
            // A side without a query tells nothing about a query's cost.
            disturbed: [a <= 0.0, b <= 0.0],
            ..Couple::undisturbed(a, b)
        });
        self.transactions_without.push(rate(&without.0));
        self.queries_without
            .push(per(without.0.queries, without.0.seconds));
        self.queries += with.0.queries_whole;
        self.server_cpu += with.1;
        self.queries_off += without.0.queries_whole;
        self.server_cpu_off += without.1;
    }

    /// What its figures are divided by.
    pub(super) fn work(&self) -> Work {
        Work {
            queries: Some(self.queries as f64),
            cpu_us_per_query: per_query(self.server_cpu_off * 1e6, Some(self.queries_off as f64)),
        }
    }

    /// What it cost, in throughput and in the server's CPU time, which a busy machine disturbs less. `None` of fewer than
    /// three couples.
    pub(super) fn cost(&self, view: View) -> Option<Cost> {
        let (couples, throughput) = estimate(&self.couples)?;
        Some(Cost {
            view: view.name().to_owned(),
            couples,
            ratio: throughput.ratio,
            low: throughput.low,
            high: throughput.high,
            cpu: estimate(&self.cpu_couples).map(|(_, cpu)| [cpu.ratio, cpu.low, cpu.high]),
        })
    }
}

/// How many couples count, and the ratio within them with an interval of 95 % by Student's t: the coin was thrown for each
/// of them, so they are what chance has decided. `None` of fewer than three.
fn estimate(couples: &[Couple]) -> Option<(usize, Estimate)> {
    let score = duel_score(couples, Weighing::NONE)?;
    if score.used < 3 {
        return None;
    }
    let error = score.couple_sd / (score.used as f64).sqrt();
    let t = student::quantile(0.975, score.used as f64 - 1.0);
    Some((
        score.used,
        Estimate::from_log_std_err(score.score, error, t),
    ))
}

fn per(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// Couples of slices, one without the view and one with it, in random order: `slice` loads a server and is told which. Of a
/// capture that writes there are as many as it has segments for.
pub(super) fn watch_couples(
    stage: &mut Stage<'_>,
    options: &ProfileOptions,
    rng: &mut impl Rng,
    observer: &mut dyn Observer,
    mut slice: impl FnMut(&mut Stage<'_>, bool) -> Result<(SliceStats, f64)>,
) -> Result<Watched> {
    let wanted = couples(options);
    let all = stage.couples_of_next_view(wanted);
    if all == 0 {
        bail!(
            "the capture was over before: what it writes cannot be written twice";
            remedy: "a longer capture, or fewer views at a time (--views)"
        );
    }
    let mut seen = Watched {
        cut_short: (all < wanted).then_some((all, wanted)),
        ..Watched::default()
    };
    for number in 0..all {
        let mut slices = [None, None];
        let first: bool = rng.random();
        for with in [first, !first] {
            slices[usize::from(with)] = Some(slice(stage, with)?);
        }
        if let [Some(without), Some(with)] = &slices {
            seen.add(without, with);
        }
        observer.see(Event::SettingUp(&format!(
            "what observing costs: couple {} of {all}",
            number + 1
        )));
    }
    Ok(seen)
}

/// Couples on the stage's only server, the view switched on in one slice of each.
pub(super) fn watch(
    stage: &mut Stage<'_>,
    view: &mut dyn Switch,
    options: &ProfileOptions,
    rng: &mut impl Rng,
    observer: &mut dyn Observer,
) -> Result<Watched> {
    let length = options.slice_seconds;
    watch_couples(stage, options, rng, observer, |stage, with| {
        if with {
            view.on()?;
        }
        let slice = stage.slice(0, length)?;
        if with {
            view.off()?;
        }
        Ok(slice)
    })
}

/// Couples on two servers: side 0 as it is, side 1 with something that the view is switched on in.
pub(super) fn watch_beside(
    stage: &mut Stage<'_>,
    view: &mut dyn Switch,
    options: &ProfileOptions,
    rng: &mut impl Rng,
    observer: &mut dyn Observer,
) -> Result<Watched> {
    let length = options.slice_seconds;
    watch_couples(stage, options, rng, observer, |stage, with| {
        let side = usize::from(with);
        stage.thaw(side)?;
        if with {
            view.on()?;
        }
        let slice = stage.slice(side, length)?;
        if with {
            view.off()?;
        }
        stage.freeze(side)?;
        Ok(slice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_the_ratio_with_its_interval() {
        let mut seen = Watched::default();
        assert!(seen.cost(View::Cpu).is_none());
        for i in 0..12 {
            let base = 1000.0 + 50.0 * f64::from(i % 5);
            let with = base * (0.96 + 0.004 * f64::from(i % 3));
            seen.couples.push(Couple::undisturbed(base, with));
        }
        let cost = seen.cost(View::Cpu).expect("twelve couples");
        assert!(cost.low < cost.ratio && cost.ratio < cost.high);
        assert!((cost.ratio - 0.964).abs() < 0.003, "{cost:?}");
        assert_eq!(cost.cpu, None, "nothing was counted");
    }
}
