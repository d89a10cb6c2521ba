//! The end of a load that was told to stop and does not come to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the request to stop is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Sets `give_up` ([`DriverOptions::cancel`](crate::DriverOptions::cancel)) after `interrupt` was set: transactions in flight get as long
/// as `patience` then says, and the load ends without them.
pub fn give_up_after(
    interrupt: Arc<AtomicBool>,
    patience: impl FnOnce() -> Duration + Send + 'static,
    give_up: Arc<AtomicBool>,
) {
    std::thread::spawn(move || {
        while !interrupt.load(Ordering::Relaxed) {
            std::thread::sleep(POLL_INTERVAL);
        }
        std::thread::sleep(patience());
        give_up.store(true, Ordering::Relaxed);
    });
}
