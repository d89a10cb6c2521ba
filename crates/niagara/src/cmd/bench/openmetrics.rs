//! A bench's figures as OpenMetrics text.

use niagara_report::OpenMetrics;

use super::result::{BenchResult, RunResult};

/// All runs; those of several rates have the label `rate`.
pub fn text(result: &BenchResult) -> String {
    let workload = result.workload.spelling();
    let threads = result.threads.to_string();
    let shared = [
        ("server", result.server.version.as_str()),
        ("workload", workload),
        ("threads", threads.as_str()),
    ];
    let mut out = OpenMetrics::default();
    let mut gauge =
        |name: &str, help: &str, values: &dyn Fn(&RunResult) -> Vec<(&'static str, f64)>| {
            out.family(name, help);
            for run in &result.runs {
                let rate = run.open_loop.as_ref().map(|open| open.schedule.as_str());
                for (quantile, value) in values(run) {
                    let mut labels = shared.to_vec();
                    labels.extend(rate.map(|rate| ("rate", rate)));
                    if !quantile.is_empty() {
                        labels.push(("quantile", quantile));
                    }
                    out.sample(name, &labels, value);
                }
            }
        };
    gauge(
        "niagara_bench_transactions_per_second",
        "Transactions per second of counted time.",
        &|run| vec![("", run.transactions_per_second)],
    );
    gauge(
        "niagara_bench_queries_per_second",
        "Statements per second of counted time.",
        &|run| vec![("", run.queries_per_second)],
    );
    gauge(
        "niagara_bench_latency_seconds",
        "Latency of transactions by quantile.",
        &|run| {
            let latency = &run.latency_ms;
            let quantiles = [
                ("0.5", latency.p50),
                ("0.95", latency.p95),
                ("0.99", latency.p99),
                ("0.999", latency.p99_9),
                ("1", latency.max),
            ];
            quantiles.map(|(name, ms)| (name, ms / 1000.0)).to_vec()
        },
    );
    gauge(
        "niagara_bench_errors",
        "Errors after which a transaction was begun again.",
        &|run| vec![("", run.errors.values().sum::<u64>() as f64)],
    );
    out.finish()
}
