//! The result as one screen of text.

use console::{Style, measure_text_width};
use niagara_report::number;

use niagara_capture::fidelity::Fidelity;
use niagara_load::Finding;

use super::consistency;
use super::cost::Cost;
use super::result::Commits;
use super::result::{BenchResult, Latency, RunResult};
use super::status::{Delta, Unit};

/// Names of the server's errors that belong to a load's life, by their numbers.
const KNOWN_ERRORS: [(u16, &str); 4] = [
    (1020, "record changed since it was read"),
    (1062, "duplicate key"),
    (1205, "lock wait timeout"),
    (1213, "deadlock"),
];

/// Figures of the server's counters worth a line of the screen, with what they are called there.
const SHOWN: [(&str, &str); 18] = [
    ("rows_read", "rows read"),
    ("rows_inserted", "rows inserted"),
    ("rows_updated", "rows updated"),
    ("rows_deleted", "rows deleted"),
    ("sorted_rows", "rows sorted"),
    ("temporary_tables", "temporary tables"),
    ("temporary_tables_on_disk", "  on disk"),
    ("row_lock_waits", "row lock waits"),
    ("row_lock_time", "row lock time"),
    ("deadlocks", "deadlocks"),
    ("log_writes", "log writes"),
    ("log_fsyncs", "log fsyncs"),
    ("log_written", "log written"),
    ("data_reads", "data reads"),
    ("data_writes", "data writes"),
    ("data_fsyncs", "data fsyncs"),
    ("data_written", "data written"),
    ("buffer_pool_misses", "buffer pool misses"),
];

/// The whole report; ANSI colours only if asked for.
pub fn report(result: &BenchResult, colour: bool) -> String {
    let mut page = Page {
        out: String::new(),
        colour,
    };
    for run in &result.runs {
        if let Some(limit) = &run.generator_limit {
            page.warning(limit);
        }
        page.run(run, result.replay.as_ref());
    }
    if result.runs.len() > 1 {
        page.steps(result);
    }
    if let Some(findings) = &result.consistency {
        page.consistency(findings);
    }
    if let Some(fidelity) = &result.replay {
        page.replay(fidelity);
    }
    if result.interrupted {
        page.warning("stopped by Ctrl-C: this is what was measured until then");
    }
    page.out
}

struct Page {
    out: String,
    colour: bool,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn paint(&self, text: &str, style: Style) -> String {
        style.force_styling(self.colour).apply_to(text).to_string()
    }

    fn heading(&mut self, text: &str) {
        let text = self.paint(text, Style::new().bold());
        self.line("");
        self.line(&text);
    }

    fn warning(&mut self, text: &str) {
        let text = self.paint(&format!("! {text}"), Style::new().bold());
        self.line("");
        self.line(&text);
    }

    /// Columns as wide as they need; the first to the left, the others to the right.
    fn table(&mut self, rows: &[Vec<String>]) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                rows.iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| measure_text_width(cell))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for row in rows {
            let mut text = String::from("  ");
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - measure_text_width(cell));
                if column == 0 {
                    text += &format!("{cell}{gap}");
                } else {
                    text += &format!("  {gap}{cell}");
                }
            }
            self.line(&text);
        }
    }

    fn run(&mut self, run: &RunResult, replay: Option<&Fidelity>) {
        if let Some(open) = &run.open_loop {
            self.heading(&format!("Open loop, {} transactions/s", open.schedule));
            self.line(&format!(
                "  {} arrived ({} per second), {} still waited for a connection at the end: the server {}",
                number::grouped(open.arrivals as f64),
                number::grouped(open.arrivals_per_second),
                number::grouped(open.backlog as f64),
                if open.kept_up { "kept up" } else { "did not keep up" }
            ));
        }
        self.heading("Throughput");
        self.line(&format!(
            "  {} transactions/s, {} queries/s  ({} transactions, {} queries in {:.1} s)",
            rate(run.transactions_per_second),
            rate(run.queries_per_second),
            number::grouped(run.transactions as f64),
            number::grouped(run.queries as f64),
            run.seconds
        ));
        if let Some(rate) = run.new_orders_per_minute {
            self.line(&format!(
                "  {} new-order transactions per minute (tpmC; not an audited TPC-C result)",
                number::grouped(rate)
            ));
        }
        if let Some(commit) = &run.commits {
            self.commits(commit);
        }
        self.latency(run);
        self.errors(run, replay);
        let fairness = &run.fairness;
        self.line(&format!(
            "  per connection (mean ± sd): {:.1} ± {:.1} transactions, {:.2} ± {:.2} s within them",
            fairness.transactions_mean,
            fairness.transactions_sd,
            fairness.seconds_mean,
            fairness.seconds_sd
        ));
        self.cost(&run.cost);
    }

    fn commits(&mut self, commits: &Commits) {
        self.line(&format!(
            "  {} transactions per minute, {} ms on average",
            number::grouped(commits.transactions_per_minute),
            milliseconds(commits.mean_ms)
        ));
        if let (Some(syncs), Some(group), Some(counter)) = (
            commits.syncs_per_second,
            commits.commits_per_sync,
            &commits.counter,
        ) {
            self.line(&format!(
                "  {} syncs/s, {group:.1} commits to a sync (by {counter})",
                rate(syncs)
            ));
        }
    }

    fn latency(&mut self, run: &RunResult) {
        self.heading("Latency, ms");
        let head = [
            "", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean", "count",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.push(latency_row(
            "transaction",
            &run.latency_ms,
            run.transactions,
        ));
        for one in &run.types {
            let name = format!(
                "  {}, {:.1} %",
                one.name.replace('_', "-"),
                100.0 * one.share
            );
            rows.push(latency_row(&name, &one.latency_ms, one.count));
        }
        for statement in &run.statements {
            let name = format!("  {}", statement.name.replace('_', " "));
            rows.push(latency_row(&name, &statement.latency_ms, statement.count));
        }
        self.table(&rows);
    }

    fn errors(&mut self, run: &RunResult, replay: Option<&Fidelity>) {
        self.heading("Errors and connections");
        // A replay does not begin what fails again, but for conflicts.
        let failed = replay.map(|replay| &replay.errors);
        for (code, count) in failed.into_iter().flatten() {
            self.line(&format!(
                "  error {code}: {}, not in the capture",
                number::count(*count as usize, "statement")
            ));
        }
        if run.errors.is_empty() && failed.is_none_or(|failed| failed.is_empty()) {
            self.line("  no errors");
        }
        for (code, count) in &run.errors {
            let meaning = KNOWN_ERRORS
                .iter()
                .find(|(known, _)| known == code)
                .map_or(String::new(), |(_, words)| format!(" ({words})"));
            self.line(&format!(
                "  error {code}{meaning}: {} begun again",
                number::count(*count as usize, "transaction")
            ));
        }
        if run.reconnects > 0 {
            self.line(&format!(
                "  {} lost and made again",
                number::count(run.reconnects as usize, "connection")
            ));
        }
        if run.renewals > 0 {
            self.line(&format!(
                "  {} re-established as the workload asks",
                number::count(run.renewals as usize, "connection")
            ));
        }
    }

    fn cost(&mut self, cost: &Cost) {
        self.heading(&format!(
            "What it cost  (load of {:.1} s from the first statement to the last answer, {} transactions)",
            cost.window.seconds,
            number::grouped(cost.window.transactions as f64)
        ));
        let mut rows = vec![
            ["", "per transaction", "in all"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(usage_rows(cost));
        if let Some(status) = &cost.status {
            rows.extend(status_rows(status, cost.window.transactions));
        }
        self.table(&rows);
        let client = &cost.client;
        self.line(&format!(
            "  load generator: {:.2} µs of CPU and {:.2} context switches per query; the busiest of its {} used {:.0} % of a CPU",
            client.cpu_us_per_query,
            client.context_switches_per_query,
            number::count(client.loops, "loop"),
            client.busiest_loop * 100.0
        ));
        if let Some(status) = &cost.status {
            for prefix in ["Com_", "Handler_"] {
                let found = status.starting_with(prefix);
                if !found.is_empty() {
                    self.line(&format!("  {prefix}*: {}", listed(&found)));
                }
            }
        }
        if let Some(reason) = &cost.server_unknown {
            self.line(&format!("  the server's CPU is not known: {reason}"));
        }
        if let Some(reason) = &cost.status_unknown {
            self.line(&format!("  the server's counters are not known: {reason}"));
        }
    }

    fn consistency(&mut self, findings: &[Finding]) {
        self.heading("Consistency");
        let broken: Vec<&Finding> = findings.iter().filter(|one| !one.holds()).collect();
        if broken.is_empty() {
            self.line(&format!(
                "  all {} conditions hold that the specification has for any time",
                findings.len()
            ));
        }
        for finding in broken {
            self.warning(&consistency::line(finding));
        }
    }

    fn replay(&mut self, fidelity: &Fidelity) {
        self.heading("The replay beside the capture");
        for fact in fidelity.facts() {
            self.line(&format!("  {fact}"));
        }
        let verdict = fidelity.verdict().to_string();
        match fidelity.is_good() {
            true => self.line(&format!("  {verdict}")),
            false => self.warning(&verdict),
        }
    }

    fn steps(&mut self, result: &BenchResult) {
        self.heading("Rates");
        let head = [
            "asked",
            "arrived/s",
            "done/s",
            "p50 ms",
            "p99 ms",
            "max ms",
            "waiting",
            "",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for run in &result.runs {
            let Some(open) = &run.open_loop else { continue };
            rows.push(vec![
                open.schedule.clone(),
                rate(open.arrivals_per_second),
                rate(run.transactions_per_second),
                milliseconds(run.latency_ms.p50),
                milliseconds(run.latency_ms.p99),
                milliseconds(run.latency_ms.max),
                number::grouped(open.backlog as f64),
                if open.kept_up { "kept up" } else { "did not" }.to_owned(),
            ]);
        }
        self.table(&rows);
        let verdict = match result.highest_sustained_rate {
            Some(rate) => format!("the server kept up with {rate} transactions/s"),
            None => "the server kept up with none of these rates".to_owned(),
        };
        self.line(&format!("  {verdict}"));
    }
}

fn latency_row(name: &str, latency: &Latency, count: u64) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(
        [
            latency.p50,
            latency.p90,
            latency.p95,
            latency.p99,
            latency.p99_9,
            latency.p99_99,
            latency.max,
            latency.mean,
        ]
        .map(milliseconds),
    );
    row.push(number::grouped(count as f64));
    row
}

/// What the server's process used, by the kernel's counters.
fn usage_rows(cost: &Cost) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let (Some(usage), Some(each)) = (&cost.server, &cost.server_per_transaction) {
        let mut row = |name: &str, each: String, all: String| {
            rows.push(vec![name.to_owned(), each, all]);
        };
        let seconds = |seconds: f64| format!("{seconds:.3} s");
        let microseconds = |us: f64| format!("{us:.1} µs");
        let times = |count: f64| format!("{count:.2}");
        let all = |count: u64| number::grouped(count as f64);
        row(
            "server CPU",
            microseconds(each.cpu_us),
            seconds(usage.cpu_seconds),
        );
        row(
            "  user",
            microseconds(each.user_us),
            seconds(usage.user_seconds),
        );
        row(
            "  system",
            microseconds(each.system_us),
            seconds(usage.system_seconds),
        );
        row(
            "context switches, voluntary",
            times(each.voluntary_switches),
            all(usage.voluntary_switches),
        );
        row(
            "  involuntary",
            times(each.involuntary_switches),
            all(usage.involuntary_switches),
        );
        row(
            "page faults, minor",
            times(each.minor_faults),
            all(usage.minor_faults),
        );
        row("  major", times(each.major_faults), all(usage.major_faults));
        if let Some(io) = &usage.io {
            row(
                "read from disk",
                bytes(each.disk_read_bytes.unwrap_or(0.0)),
                bytes(io.disk_read_bytes as f64),
            );
            row(
                "written to disk",
                bytes(each.disk_write_bytes.unwrap_or(0.0)),
                bytes(io.disk_write_bytes as f64),
            );
        }
    }
    rows
}

fn status_rows(status: &Delta, transactions: u64) -> Vec<Vec<String>> {
    SHOWN
        .iter()
        .filter_map(|(key, name)| {
            let figure = status.figures.get(*key)?;
            // What did not happen at all is left out, except lock waits and deadlocks: that there were none is worth knowing.
            if figure.value == 0 && !["row_lock_waits", "deadlocks"].contains(key) {
                return None;
            }
            let all = figure.value as f64;
            let each = if transactions > 0 {
                all / transactions as f64
            } else {
                0.0
            };
            let words = |value: f64, is_total: bool| match figure.unit {
                Unit::Bytes => bytes(value),
                Unit::Milliseconds => format!("{value:.2} ms"),
                Unit::Count if is_total => number::grouped(value),
                Unit::Count => format!("{value:.2}"),
            };
            Some(vec![
                (*name).to_owned(),
                words(each, false),
                words(all, true),
            ])
        })
        .collect()
}

/// `select 140 000, begin 10 000`: the most frequent ones.
fn listed(counters: &[(&str, i64)]) -> String {
    const MOST: usize = 10;
    let mut words: Vec<String> = counters
        .iter()
        .take(MOST)
        .map(|(name, count)| format!("{name} {}", number::grouped(*count as f64)))
        .collect();
    if counters.len() > MOST {
        words.push(format!("{} more in --json", counters.len() - MOST));
    }
    words.join(", ")
}

/// Three significant digits where they are few, else whole.
fn rate(per_second: f64) -> String {
    if per_second < 100.0 {
        format!("{per_second:.2}")
    } else {
        number::grouped(per_second)
    }
}

fn milliseconds(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// `812 B`, `12.3 kB`, `4.56 MB`: powers of ten.
fn bytes(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_are_worth() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(812.4), "812 B");
        assert_eq!(bytes(12_345.0), "12.3 kB");
        assert_eq!(bytes(4_560_000.0), "4.56 MB");
        assert_eq!(bytes(999_999.0), "1.00 MB");
        assert_eq!(milliseconds(0.0421), "0.042");
        assert_eq!(milliseconds(17.123), "17.1");
        assert_eq!(rate(12.345), "12.35");
        assert_eq!(rate(1843.2), "1\u{2009}843");
    }

    #[test]
    fn a_table_keeps_its_columns() {
        let mut page = Page {
            out: String::new(),
            colour: false,
        };
        let rows = [["", "per"], ["server CPU", "1.0 µs"]];
        page.table(&rows.map(|row| row.map(str::to_owned).to_vec()));
        assert_eq!(page.out, "                 per\n  server CPU  1.0 µs\n");
    }
}
