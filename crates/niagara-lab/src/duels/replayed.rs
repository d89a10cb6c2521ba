//! What a replay did, as it is kept.

use niagara_capture::file::ServerCounts;
use niagara_capture::trace::Trace;
use niagara_load::{ReplayTally, fidelity};
use niagara_model::{DigestRecord, ReplayRecord};
use niagara_server::RunningServer;

/// Digests that are kept of every duel: those that took most of the captured time.
const MAX_DIGESTS: usize = 200;
/// Most characters that are kept of a digest's text.
const MAX_TEXT: usize = 300;

/// What a server has counted since its start; none where it does not say.
pub(crate) fn counts(server: &RunningServer) -> Option<ServerCounts> {
    let status = server.status().ok()?;
    ServerCounts::of(|name| status.get(name)?.parse().ok())
}

/// What is kept of a replay on one side; `counted` is what the server counted meanwhile.
pub(crate) fn record(
    trace: &Trace,
    tally: &ReplayTally,
    counted: Option<&ServerCounts>,
) -> ReplayRecord {
    let mut digests: Vec<_> = trace.digests.iter().zip(&tally.digests).collect();
    digests.sort_by_key(|(digest, _)| std::cmp::Reverse((digest.captured_us, digest.statements)));
    let digests = digests.into_iter().take(MAX_DIGESTS);
    ReplayRecord {
        fidelity: fidelity(trace, tally, counted),
        only_reads: !trace.facts.writes,
        digests: digests
            .map(|(digest, counted)| DigestRecord {
                digest: digest.digest.to_string(),
                text: cut(&digest.text),
                volatile: digest.volatile,
                count: counted.count,
                errors: counted.errors,
                rows: counted.rows,
                seconds: counted.nanoseconds as f64 / 1e9,
                p95_us: counted.quantile_us(0.95),
                captured_us: (trace.facts.has_durations && digest.statements > 0)
                    .then(|| digest.captured_us as f64 / digest.statements as f64),
            })
            .collect(),
    }
}

/// A digest's text as it is kept.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
