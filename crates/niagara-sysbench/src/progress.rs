//! From ticks of one second to intermediate lines and reports at checkpoints.

use crate::report::{Cumulative, Interval};
use crate::settings::Settings;
use crate::tally::Tally;
use niagara_load::SliceStats;

/// What is due while a run is under way.
pub enum Report {
    /// An intermediate line.
    Interval(Interval),
    /// The report at a checkpoint.
    Checkpoint(Box<Cumulative>),
}

/// A run under way.
pub struct Progress {
    threads: u32,
    percentile: Option<u32>,
    has_rate: bool,
    report_interval: Option<u32>,
    checkpoints: Vec<u32>,
    /// Ticks that are over.
    ticks: u32,
    /// All of them.
    total: Tally,
    /// Those since the last intermediate line.
    interval: Tally,
    /// `total` as it was at the last checkpoint.
    reported: Tally,
}

impl Progress {
    pub fn new(settings: &Settings) -> Self {
        Progress {
            threads: settings.threads,
            percentile: settings.percentile,
            has_rate: settings.rate.is_some(),
            report_interval: settings.report_interval,
            checkpoints: settings.checkpoints.clone(),
            ticks: 0,
            total: Tally::default(),
            interval: Tally::default(),
            reported: Tally::default(),
        }
    }

    /// Takes a tick in and returns what is to be reported after it.
    pub fn advance(&mut self, stats: &SliceStats) -> Vec<Report> {
        self.ticks += 1;
        self.total.add(stats);
        let mut reports = Vec::new();
        if let Some(every) = self.report_interval {
            self.interval.add(stats);
            if self.ticks.is_multiple_of(every) {
                let interval = std::mem::take(&mut self.interval);
                reports.push(Report::Interval(self.interval(&interval, stats.backlog)));
            }
        }
        if self.checkpoints.contains(&self.ticks) {
            let elapsed = self.total.seconds;
            let report = self.total.since(&self.reported);
            self.reported = self.total.clone();
            let report = report.report(elapsed, self.percentile);
            reports.push(Report::Checkpoint(Box::new(report)));
        }
        reports
    }

    fn interval(&self, tally: &Tally, backlog: u64) -> Interval {
        let percentile = self.percentile.unwrap_or(0);
        Interval {
            elapsed: self.total.seconds,
            seconds: tally.seconds,
            threads: self.threads,
            counts: tally.counts,
            percentile: (percentile, tally.buckets().percentile(percentile)),
            queue: self.has_rate.then(|| {
                // A thread that does not come back within an interval is counted when it does.
                let busy = tally.mean_busy().round() as u64;
                (backlog, busy.min(u64::from(self.threads)))
            }),
        }
    }

    /// What the whole run did since the last checkpoint.
    pub fn rest(&self, whole: &SliceStats) -> Tally {
        let mut tally = Tally::default();
        tally.add(whole);
        tally.since(&self.reported)
    }

    /// The same where the run did not come to its end, and the seconds it had come to.
    pub(crate) fn rest_of_ticks(&self) -> (Tally, f64) {
        (self.total.since(&self.reported), self.total.seconds)
    }
}
