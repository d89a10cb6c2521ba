//! One job on one side of a pair: a cold start, the steps, the counters.

use std::collections::BTreeMap;
use std::time::SystemTime;

use niagara_error::{Explain as _, Explanation};
use niagara_load::{Histogram, LoadError, StepTime, run_job};
use niagara_model::SliceRecord;

use crate::duels::arena::unix_ms;
use crate::duels::histogram;
use crate::duels::seat::{Trouble, is_the_ways, way_failed};
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::DuelSpec;
use niagara_server::{Cancelled, TlsSession};

/// A job that was done.
pub(crate) struct Done {
    /// The whole of it as one transaction.
    pub slice: SliceRecord,
    /// Its steps.
    pub steps: Vec<StepTime>,
    /// How its connections were encrypted, where they were.
    pub encryption: Option<TlsSession>,
}

/// Starts the side's variant on a fresh clone, nothing of it in memory, and does the job.
pub(crate) fn run(
    bench: &Workbench,
    spec: &DuelSpec,
    side: usize,
    first: bool,
    observer: &mut dyn Observer,
) -> Result<Done, Trouble> {
    bench.cancel().check()?;
    let variant = &spec.variants[side];
    let failed = |reason: Explanation| Trouble::Side { side, reason };
    bench.read_programs_anew(&[variant])?;
    let (server, _clone) = match bench.start_cold(variant) {
        Ok(started) => started,
        Err(error) => {
            bench.cancel().check()?;
            bench.check_disk()?;
            return Err(failed(error.explain()));
        }
    };
    let endpoint = bench.endpoint(&server, variant);
    let cpu_before = server.cpu_time()?;
    let switches_before = server.context_switches()?;
    let started = SystemTime::now();
    let letter = ["A", "B"][side.min(1)];
    let workload = &spec.load.workload;
    let cancel = bench.cancel().flag();
    let mut on_step = |name: &str, number: usize, of: usize| {
        observer.see(Event::SettingUp(&format!(
            "{letter}: step {number} of {of}, {name}"
        )));
    };
    let done = match bench.client() {
        None => run_job(&endpoint, workload, &cancel, &mut on_step),
        Some(client) => {
            let agent = client.agent();
            agent.run_job(&endpoint, workload, &cancel, &mut on_step)
        }
    };
    let steps = match done {
        Ok(done) if done.complete => done.steps,
        Ok(_) | Err(LoadError::Cancelled) => return Err(Cancelled.into()),
        // No side's failure.
        Err(
            error @ (LoadError::AgentLost { .. } | LoadError::Client(_) | LoadError::Invalid(_)),
        ) => return Err(Trouble::Fatal(error.into())),
        Err(error) if is_the_ways(bench, &error, &server) => {
            return Err(Trouble::Fatal(way_failed(bench, &error)));
        }
        Err(error) => {
            bench.check_disk()?;
            return Err(failed(error.explanation().detail(server.log_tail(20))));
        }
    };
    let seconds: f64 = steps.iter().map(|step| step.seconds).sum();
    let cpu = server.cpu_time()?.saturating_sub(cpu_before);
    let switches = server.context_switches()?.saturating_sub(switches_before);
    let encryption = server.tls().cloned();
    server.kill();
    let mut latency = Histogram::new_with_bounds(100, 3_600_000_000_000, 3)
        .map_err(|error| anyhow::anyhow!("a histogram: {error}"))?;
    latency.saturating_record((seconds * 1e9) as u64);
    let slice = SliceRecord {
        duel: spec.seq,
        couple: 0,
        side: side as u8,
        first,
        started_unix_ms: unix_ms(started),
        seconds,
        transactions: 1,
        queries: steps.len() as u64,
        errors: BTreeMap::new(),
        latency_us: [(seconds * 1e6) as u64; 5],
        server_cpu_seconds: cpu.as_secs_f64(),
        client_cpu_seconds: 0.0,
        transactions_whole: 1,
        client_context_switches: 0,
        server_context_switches: switches,
        steal: 0.0,
        taken: 0.0,
        generator_busy: 0.0,
        disturbed: false,
        histogram: histogram::encode(&latency)?,
    };
    observer.see(Event::Slice(&slice));
    Ok(Done {
        slice,
        steps,
        encryption,
    })
}
