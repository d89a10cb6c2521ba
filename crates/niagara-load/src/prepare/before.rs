//! Data of the middle of a capture: what stands before a part of it is replayed once, and what that leaves is kept.

use crate::engine::driver::Driver;
use crate::engine::options::{DriverOptions, RunOptions};
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::workload::WorkloadSpec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How often whoever waits hears of it.
const INTERVAL: Duration = Duration::from_secs(1);

/// Replays what the part of a capture that `spec` is begins behind, once, as fast as its order allows, so that the data are
/// those that its first transaction found. Nothing to do for every other workload, and where what is before changes
/// nothing. `on_progress` hears the statements replayed so far, and of how many.
///
/// # Errors
/// The capture cannot be read; the server is lost; cancelled.
pub fn replay_before(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    cancel: &Arc<AtomicBool>,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(), LoadError> {
    let Some(before) = spec.capture().map(|capture| capture.before()).transpose()? else {
        return Ok(());
    };
    let Some(before) = before else {
        return Ok(());
    };
    let all = before.trace()?.facts.statements;
    let options = DriverOptions {
        cancel: Arc::clone(cancel),
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(
        std::slice::from_ref(endpoint),
        &WorkloadSpec::of(before),
        &options,
    )?;
    let run = RunOptions {
        // It ends by itself: what writes is not begun again.
        duration: None,
        interval: Some(INTERVAL),
        ..RunOptions::default()
    };
    let mut done = 0;
    on_progress(0, all);
    driver.run(0, &run, &mut |interval| {
        done += interval.queries;
        on_progress(done.min(all), all);
        true
    })?;
    driver.disconnect();
    Ok(())
}
