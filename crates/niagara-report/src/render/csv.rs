//! Every slice as a line of comma-separated values.

use std::collections::HashMap;
use std::fmt::Write;

use crate::Report;

/// Names of the columns, in order, with the line's end.
pub const HEADER: &str = "duel,phase,subject,status,couple,side,variant,label,went_first,\
    started_unix_ms,seconds,transactions,queries,tps,errors,p50_us,p95_us,p99_us,p999_us,max_us,\
    server_cpu_seconds,client_cpu_seconds,transactions_whole,client_context_switches,\
    server_context_switches,steal,disturbed,taken,generator_busy\n";

/// All slices, in the order they were run; the histograms stay in the results file.
pub(crate) fn text(report: &Report) -> String {
    let duels: HashMap<u32, _> = report.duels.iter().map(|duel| (duel.seq, duel)).collect();
    let mut out = HEADER.to_owned();
    for slice in &report.slices {
        let Some(duel) = duels.get(&slice.duel) else {
            continue;
        };
        let variant = &duel.variants[usize::from(slice.side == 1)];
        let status = match duel.ending {
            niagara_model::Ending::Scored => "scored",
            niagara_model::Ending::Disturbed => "disturbed",
            niagara_model::Ending::Failed { .. } => "failed",
        };
        let [p50, p95, p99, p999, max] = slice.latency_us;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{status},{},{},{},{},{},{},{},{},{},{:.3},{},{p50},{p95},{p99},{p999},{max},\
             {},{},{},{},{},{},{},{},{}",
            slice.duel,
            duel.phase.word(),
            quoted(&duel.subject),
            slice.couple,
            if slice.side == 0 { 'A' } else { 'B' },
            quoted(variant),
            quoted(report.label(variant)),
            u8::from(slice.first),
            slice.started_unix_ms,
            slice.seconds,
            slice.transactions,
            slice.queries,
            slice.transactions as f64 / slice.seconds,
            slice.errors.values().sum::<u64>(),
            slice.server_cpu_seconds,
            slice.client_cpu_seconds,
            slice.transactions_whole,
            slice.client_context_switches,
            slice.server_context_switches,
            slice.steal,
            u8::from(slice.disturbed),
            slice.taken,
            slice.generator_busy,
        );
    }
    out
}

/// RFC 4180: quotes where a separator, a quote or a line break is inside.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
