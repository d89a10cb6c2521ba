//! Whether a script changes data: its events are tried without a server, and its statements read.

use super::dry_run::Pretender;
use super::options::{general_options, own_options};
use super::program::{Program, Reply, Want};
use super::runtime::{ScriptOutput, ScriptRun, runtime};
use crate::engine::options::IgnoredErrors;
use crate::engine::script_watch::{Watch, Watched};
use crate::error::LoadError;
use crate::net::endpoint::{Endpoint, TlsOptions, Transport};
use crate::workload::CommonOptions;
use crate::workload::script::{ScriptInfo, ScriptSource};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events that are tried: one of a hundred that writes is missed once in seven scripts of that kind, which is why users can say
/// it themselves.
const EVENTS: u32 = 200;
/// A script that takes longer is left.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether all statements of some events, and of what comes before them, only read. A script that cannot be tried without a
/// server, because it computes with what its statements return, does not.
pub(crate) fn only_reads(
    source: &ScriptSource,
    info: &ScriptInfo,
    given: &BTreeMap<String, String>,
) -> bool {
    // What it does beside its statements would be done once more.
    if info.blocks || info.reaches_out {
        return false;
    }
    tried(source, info, given).unwrap_or(false)
}

fn tried(
    source: &ScriptSource,
    info: &ScriptInfo,
    given: &BTreeMap<String, String>,
) -> Result<bool, LoadError> {
    let endpoint = Endpoint {
        transport: Transport::Unix("/nonexistent".into()),
        user: String::new(),
        password: String::new(),
        database: String::new(),
        tls: TlsOptions::default(),
    };
    let mut options = general_options(&CommonOptions::default(), &endpoint, 1);
    options.extend(own_options(info, given)?);
    let run = ScriptRun {
        source: source.clone(),
        options,
        global_options: info.options.is_none(),
        words: Vec::new(),
        ignored: IgnoredErrors::default(),
        output: ScriptOutput::Nowhere,
        dry_run: false,
        command: "run".into(),
        threads: 1,
        seed: 1,
        unique_seed: 1,
        endpoint,
    };
    let threads = runtime()?.run(&run)?;
    let watch = Watch::new(&Arc::default())?;
    let deadline = Instant::now() + PATIENCE;
    watch.give_up_at(deadline);
    let mut pretender = Pretender::watching();
    let mut ask = |program: &mut dyn Program, mut reply: Reply| -> Result<Want, LoadError> {
        loop {
            match pretender.run(program, reply).map_err(LoadError::Script)?.0 {
                // Its rests are of no interest.
                Want::Sleep(_) if Instant::now() < deadline => reply = Reply::Go,
                want => return Ok(want),
            }
        }
    };
    ask(&mut Watched::new(threads.beginning()?, &watch), Reply::Go)?;
    let mut thread = Watched::new(threads.thread(0)?, &watch);
    let mut want = ask(&mut thread, Reply::Go)?;
    for _ in 0..EVENTS {
        if !matches!(want, Want::Event { .. }) || Instant::now() >= deadline {
            break;
        }
        want = ask(&mut thread, Reply::Event(true))?;
    }
    Ok(pretender.statements() > 0 && !pretender.wrote())
}
