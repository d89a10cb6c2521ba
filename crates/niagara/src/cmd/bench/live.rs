//! A run while it runs: one line that lives on a terminal, else a line per interval. On standard error, so that
//! standard output holds the result alone.

use std::time::Duration;

use indicatif::ProgressBar;
use niagara_load::counted;

use super::result::IntervalResult;
use crate::clock::clock;
use crate::progress::living_line;

/// Shows intervals as they end.
pub struct Live {
    bar: ProgressBar,
    live: bool,
    length: Duration,
}

impl Live {
    /// For a run of `length`.
    pub fn new(length: Duration) -> Live {
        let (bar, live) = living_line();
        Live { bar, live, length }
    }

    /// Says what continues before the first interval.
    pub fn say(&self, text: &str) {
        if self.live {
            self.bar.set_message(text.to_owned());
        } else {
            tell!("{text}");
        }
    }

    /// Shows an interval.
    pub fn interval(&self, interval: &IntervalResult) {
        if self.live {
            self.bar.set_message(format!(
                "{} of {} · {}",
                clock(Duration::from_secs_f64(interval.end)),
                clock(self.length),
                line(interval)
            ));
        } else {
            tell!("{:8.1} s · {}", interval.end, line(interval));
        }
    }

    /// Takes the living line off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// `1843 tps · 29491 qps · p50 17.12 p95 18.90 p99 20.03 max 31.9 ms · 3 errors · 12 waiting`.
fn line(interval: &IntervalResult) -> String {
    let mut text = format!(
        "{:.0} tps · {:.0} qps",
        interval.transactions_per_second, interval.queries_per_second
    );
    if let Some(latency) = &interval.latency_ms {
        text += &format!(
            " · p50 {:.2} p95 {:.2} p99 {:.2} max {:.2} ms",
            latency.p50, latency.p95, latency.p99, latency.max
        );
    }
    let errors: u64 = interval.errors.values().sum();
    if errors > 0 {
        text += &format!(" · {}", counted(errors, "error"));
    }
    if interval.reconnects > 0 {
        text += &format!(" · {}", counted(interval.reconnects, "reconnect"));
    }
    if let Some(backlog) = interval.backlog {
        text += &format!(" · {backlog} waiting");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::bench::result::Latency;

    #[test]
    fn an_interval_in_one_line() {
        let mut interval = IntervalResult {
            end: 2.0,
            seconds: 1.0,
            transactions: 1843,
            queries: 29_491,
            transactions_per_second: 1843.2,
            queries_per_second: 29_491.2,
            latency_ms: None,
            errors: [(1213, 2), (1205, 1)].into(),
            reconnects: 0,
            arrivals: Some(1900),
            backlog: Some(12),
            client_cpu_seconds: 0.2,
            server: None,
            status: None,
        };
        assert_eq!(
            line(&interval),
            "1843 tps · 29491 qps · 3 errors · 12 waiting"
        );
        interval.latency_ms = Some(Latency {
            mean: 17.0,
            sd: 1.0,
            min: 2.0,
            p50: 17.123,
            p90: 18.0,
            p95: 18.9,
            p99: 20.0,
            p99_9: 25.0,
            p99_99: 30.0,
            max: 31.9,
        });
        assert!(line(&interval).contains("p50 17.12 p95 18.90 p99 20.00 max 31.90 ms"));
    }
}
