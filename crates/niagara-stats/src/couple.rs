//! A matched pair of slices, one of each side, side by side in time.

/// Two neighbouring slices, one of each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Couple {
    /// Rate of A, transactions per second.
    pub a: f64,
    /// Rate of B, transactions per second.
    pub b: f64,
    /// Whether A's slice, B's slice is of no use: the couple is dropped.
    pub disturbed: [bool; 2],
    /// Share of the machine's CPU time, 0 to 1, that the hypervisor and other processes took during A's slice, B's.
    pub taken: [f64; 2],
    /// CPU seconds a second that A, B used itself; 0 where that is not known.
    pub own: [f64; 2],
}

impl Couple {
    /// A couple of which nothing is known but its rates.
    pub fn undisturbed(a: f64, b: f64) -> Self {
        Self {
            a,
            b,
            disturbed: [false; 2],
            taken: [0.0; 2],
            own: [0.0; 2],
        }
    }

    /// The same couple with A called B.
    #[cfg(test)]
    pub(crate) fn swapped(&self) -> Self {
        let swap = |[one, other]: [f64; 2]| [other, one];
        Self {
            a: self.b,
            b: self.a,
            disturbed: [self.disturbed[1], self.disturbed[0]],
            taken: swap(self.taken),
            own: swap(self.own),
        }
    }

    /// Whether neither slice is to be dropped, and at least one of them did something.
    pub fn counts(&self) -> bool {
        self.disturbed == [false, false] && self.idle() != [true, true]
    }

    /// Which side did nothing at all, A, B.
    pub(crate) fn idle(&self) -> [bool; 2] {
        [self.a, self.b].map(|rate| rate.is_nan() || rate <= 0.0)
    }

    /// ln(b / a), at most ln 1000 either way; `None` where neither side did anything.
    pub fn log_ratio(&self) -> Option<f64> {
        match self.idle() {
            [true, true] => None,
            [true, _] => Some(MAX_LOG_RATIO),
            [_, true] => Some(-MAX_LOG_RATIO),
            _ => Some((self.b / self.a).ln().clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)),
        }
    }
}

/// No couple says more than this: a thousand times. It is what a couple counts in which one side did nothing, so that a
/// server that stalls loses by much, and the score stays a number.
pub(crate) const MAX_LOG_RATIO: f64 = 6.907_755_278_982_137; // ln 1000
