//! The report and the intermediate lines, as sysbench 1.0.20 writes them: same lines, spaces, decimals and units.

use std::fmt::Write;

/// What happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions.
    pub events: u64,
    /// Statements that returned rows.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// Statements that did neither, `BEGIN` and `COMMIT` among them.
    pub other: u64,
    /// Errors that were ignored.
    pub errors: u64,
    pub reconnects: u64,
}

impl Counts {
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }
}

/// One intermediate report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Seconds since the start.
    pub elapsed: f64,
    /// Seconds that the counts are of.
    pub seconds: f64,
    pub threads: u32,
    pub counts: Counts,
    /// Which percentile of the latency, and its value in milliseconds.
    pub percentile: (u32, f64),
    /// Transactions that wait for a connection, and those that have one, where there is a rate.
    pub queue: Option<(u64, u64)>,
}

/// The intermediate report's line, or two where there is a rate.
pub fn interval(interval: &Interval) -> String {
    let Counts {
        events,
        reads,
        writes,
        other,
        errors,
        reconnects,
    } = interval.counts;
    let rate = |count: u64| per_second(count, interval.seconds);
    let time = timestamp(interval.elapsed);
    let mut text = format!(
        "{time}thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{}%): {:.2} err/s: {:.2} \
         reconn/s: {:.2}",
        interval.threads,
        rate(events),
        rate(interval.counts.queries()),
        rate(reads),
        rate(writes),
        rate(other),
        interval.percentile.0,
        interval.percentile.1,
        rate(errors),
        rate(reconnects),
    );
    if let Some((length, concurrency)) = interval.queue {
        // Writing to a string does not fail, here and below.
        let _ = write!(
            text,
            "\n{time}queue length: {length}, concurrency: {concurrency}"
        );
    }
    text
}

/// The same of a test that asks no server. With a rate, sysbench's second line has no comma here.
pub fn events_interval(interval: &Interval) -> String {
    let (percentile, value) = interval.percentile;
    let time = timestamp(interval.elapsed);
    let mut text = format!(
        "{time}thds: {} eps: {:.2} lat (ms,{percentile}%): {value:.2}",
        interval.threads,
        per_second(interval.counts.events, interval.seconds),
    );
    if let Some((length, concurrency)) = interval.queue {
        let _ = write!(
            text,
            "\n{time}queue length: {length} concurrency: {concurrency}"
        );
    }
    text
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// What stands before a line that belongs to a moment of the run.
pub fn timestamp(elapsed: f64) -> String {
    format!("[ {elapsed:.0}s ] ")
}

/// Latency in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    pub min: f64,
    pub avg: f64,
    pub max: f64,
    pub sum: f64,
}

/// What one connection did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share {
    pub events: u64,
    /// Seconds within transactions, with the time that they waited in the queue.
    pub seconds: f64,
    /// Of one transaction, in seconds; 0 where that is not known.
    pub shortest: f64,
    pub longest: f64,
}

/// The report at the end, or at a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cumulative {
    /// Seconds since the start.
    pub elapsed: f64,
    /// Seconds that the counts are of: since the start or the last checkpoint.
    pub seconds: f64,
    pub counts: Counts,
    pub latency: Latency,
    /// Which percentile of the latency, and its value in milliseconds; `None` where it is off.
    pub percentile: Option<(u32, f64)>,
    /// By connection.
    pub shares: Vec<Share>,
    /// Transactions that were given up at a forced shutdown; `None` at any other end.
    pub unfinished: Option<u64>,
    /// The test is about a server.
    pub asks_a_server: bool,
}

/// What was asked of the server.
fn sql_statistics(report: &Cumulative) -> String {
    let counts = &report.counts;
    let mut text = format!(
        "SQL statistics:\n    queries performed:\n        read:                            {}\n        \
         write:                           {}\n        other:                           {}\n        \
         total:                           {}\n",
        counts.reads,
        counts.writes,
        counts.other,
        counts.queries(),
    );
    for (name, count) in [
        ("transactions:   ", counts.events),
        ("queries:        ", counts.queries()),
        ("ignored errors: ", counts.errors),
        ("reconnects:     ", counts.reconnects),
    ] {
        let _ = writeln!(
            text,
            "    {name}                     {count:<6} ({:.2} per sec.)",
            per_second(count, report.seconds)
        );
    }
    if let Some(unfinished) = report.unfinished.filter(|&unfinished| unfinished > 0) {
        let _ = writeln!(
            text,
            "\nNumber of unfinished transactions on forced shutdown: {unfinished}"
        );
    }
    text
}

/// The whole report; without statements, as of a script that asks no server, there is nothing said of them.
pub fn cumulative(report: &Cumulative) -> String {
    let counts = &report.counts;
    let mut text = match report.asks_a_server {
        true => sql_statistics(report),
        false => String::new(),
    };
    let _ = write!(
        text,
        "\nGeneral statistics:\n    total time:                          {:.4}s\n    \
         total number of events:              {}\n\nLatency (ms):\n         min: {:39.2}\n         \
         avg: {:39.2}\n         max: {:39.2}\n",
        report.elapsed, counts.events, report.latency.min, report.latency.avg, report.latency.max,
    );
    let _ = match report.percentile {
        Some((percentile, value)) => {
            writeln!(text, "        {percentile:3}th percentile: {value:27.2}")
        }
        None => writeln!(text, "         percentile stats:               disabled"),
    };
    let (events, seconds): (Vec<f64>, Vec<f64>) = report
        .shares
        .iter()
        .map(|share| (share.events as f64, share.seconds))
        .unzip();
    let (events, events_deviation) = mean_and_deviation(&events);
    let (seconds, seconds_deviation) = mean_and_deviation(&seconds);
    let _ = write!(
        text,
        "         sum: {:39.2}\n\nThreads fairness:\n    events (avg/stddev):           \
         {events:.4}/{events_deviation:.2}\n    execution time (avg/stddev):   \
         {seconds:.4}/{seconds_deviation:.2}\n",
        report.latency.sum,
    );
    text
}

/// What each connection did, as `--debug` asks for it.
pub fn verbose(shares: &[Share]) -> Vec<String> {
    let mut lines = vec!["Verbose per-thread statistics:\n".to_owned()];
    for (index, share) in shares.iter().enumerate() {
        let mean = match share.events {
            0 => 0.0,
            events => share.seconds / events as f64,
        };
        lines.push(format!(
            "    thread #{index:3}: min: {:.4}s  avg: {mean:.4}s  max: {:.4}s  events: {}",
            share.shortest, share.longest, share.events
        ));
        lines.push(format!(
            "                 total time taken by event execution: {:.4}s",
            share.seconds
        ));
    }
    lines
}

/// Mean and standard deviation of all there is (not of a sample).
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    // A sum of nothing is -0.
    let mean = values.iter().sum::<f64>().abs() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>()
        .abs()
        / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected texts are what sysbench 1.0.20 printed; the figures were read off them.

    #[test]
    fn an_intermediate_line() {
        let mut it = Interval {
            elapsed: 1.0008,
            seconds: 1.00077,
            threads: 2,
            counts: Counts {
                events: 271,
                reads: 3822,
                writes: 1092,
                other: 544,
                errors: 0,
                reconnects: 0,
            },
            percentile: (99, 27.659),
            queue: None,
        };
        assert_eq!(
            interval(&it),
            "[ 1s ] thds: 2 tps: 270.79 qps: 5453.80 (r/w/o: 3819.06/1091.16/543.58) lat (ms,99%): 27.66 \
             err/s: 0.00 reconn/s: 0.00"
        );
        assert_eq!(
            events_interval(&it),
            "[ 1s ] thds: 2 eps: 270.79 lat (ms,99%): 27.66"
        );
        it.queue = Some((1, 0));
        assert!(interval(&it).ends_with("reconn/s: 0.00\n[ 1s ] queue length: 1, concurrency: 0"));
        assert_eq!(
            events_interval(&it),
            "[ 1s ] thds: 2 eps: 270.79 lat (ms,99%): 27.66\n[ 1s ] queue length: 1 concurrency: 0"
        );
    }

    #[test]
    fn a_report() {
        let report = Cumulative {
            elapsed: 2.0054,
            seconds: 2.005_705,
            counts: Counts {
                events: 1046,
                reads: 14_644,
                writes: 4184,
                other: 2092,
                errors: 0,
                reconnects: 0,
            },
            latency: Latency {
                min: 0.76,
                avg: 3.82,
                max: 58.15,
                sum: 3998.08,
            },
            percentile: Some((99, 31.37)),
            shares: vec![
                Share {
                    events: 843,
                    seconds: 1.9990,
                    shortest: 0.00076,
                    longest: 0.05815,
                },
                Share {
                    events: 203,
                    seconds: 1.9991,
                    shortest: 0.0011,
                    longest: 0.04,
                },
            ],
            unfinished: None,
            asks_a_server: true,
        };
        assert_eq!(
            verbose(&report.shares),
            [
                "Verbose per-thread statistics:\n",
                "    thread #  0: min: 0.0008s  avg: 0.0024s  max: 0.0582s  events: 843",
                "                 total time taken by event execution: 1.9990s",
                "    thread #  1: min: 0.0011s  avg: 0.0098s  max: 0.0400s  events: 203",
                "                 total time taken by event execution: 1.9991s",
            ]
        );
        assert_eq!(
            cumulative(&report),
            "\
SQL statistics:
    queries performed:
        read:                            14644
        write:                           4184
        other:                           2092
        total:                           20920
    transactions:                        1046   (521.51 per sec.)
    queries:                             20920  (10430.25 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0054s
    total number of events:              1046

Latency (ms):
         min:                                    0.76
         avg:                                    3.82
         max:                                   58.15
         99th percentile:                       31.37
         sum:                                 3998.08

Threads fairness:
    events (avg/stddev):           523.0000/320.00
    execution time (avg/stddev):   1.9990/0.00
"
        );
    }

    #[test]
    fn a_report_without_percentiles_after_a_forced_shutdown() {
        let report = Cumulative {
            elapsed: 2.0036,
            seconds: 2.0039,
            counts: Counts {
                events: 195,
                reads: 195,
                ..Counts::default()
            },
            unfinished: Some(2),
            asks_a_server: true,
            ..Cumulative::default()
        };
        let text = cumulative(&report);
        assert!(
            text.contains("    transactions:                        195    (97.31 per sec.)\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "reconnects:                          0      (0.00 per sec.)\n\n\
                 Number of unfinished transactions on forced shutdown: 2\n\nGeneral statistics:\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("         percentile stats:               disabled\n"),
            "{text}"
        );
        assert!(text.contains(" 0.0000/0.00\n"), "{text}");
        let nothing = cumulative(&Cumulative {
            asks_a_server: true,
            ..Cumulative::default()
        });
        assert!(nothing.contains("(0.00 per sec.)"), "{nothing}");
    }
}
