//! How far a long work is, and how long it will take.

use std::time::{Duration, Instant};

/// Between two words of it.
const INTERVAL: Duration = Duration::from_millis(500);

/// Tells how far a work on bytes is.
pub(crate) struct Progress<'p> {
    what: &'static str,
    total: u64,
    began: Instant,
    told: Option<Instant>,
    tell: &'p mut dyn FnMut(&str),
}

impl<'p> Progress<'p> {
    /// A work on `total` bytes that begins now.
    pub(crate) fn of(what: &'static str, total: u64, tell: &'p mut dyn FnMut(&str)) -> Self {
        Self {
            what,
            total,
            began: Instant::now(),
            told: None,
            tell,
        }
    }

    /// `done` bytes are done.
    pub(crate) fn at(&mut self, done: u64) {
        if self.told.is_some_and(|told| told.elapsed() < INTERVAL) {
            return;
        }
        self.told = Some(Instant::now());
        (self.tell)(&words(self.what, done, self.total, self.began.elapsed()));
    }
}

fn words(what: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let percent = 100.0 * done as f64 / total.max(1) as f64;
    let left = elapsed.as_secs_f64() * total.saturating_sub(done) as f64 / done.max(1) as f64;
    // The first seconds tell nothing about the rest.
    let left = match elapsed.as_secs() {
        0 | 1 => String::new(),
        _ if left < 90.0 => format!(", {left:.0} s left"),
        _ => format!(", {:.0} min left", left / 60.0),
    };
    format!(
        "{what} {:.0} of {:.0} MB ({percent:.0} %){left}",
        megabytes(done),
        megabytes(total)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_once_it_is_known() {
        let at =
            |done, seconds| words("copying", done, 4_000_000_000, Duration::from_secs(seconds));
        assert_eq!(at(0, 0), "copying 0 of 4000 MB (0 %)");
        assert_eq!(
            at(1_000_000_000, 20),
            "copying 1000 of 4000 MB (25 %), 60 s left"
        );
        assert_eq!(
            at(1_000_000_000, 600),
            "copying 1000 of 4000 MB (25 %), 30 min left"
        );
    }
}
