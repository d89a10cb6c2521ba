//! Pressure stall information: how long tasks waited for CPU, memory or I/O.

/// Time stalled since boot, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stall {
    /// At least one task waited.
    pub some: f64,
    /// All tasks waited.
    pub full: f64,
}

/// Text of `/proc/pressure/…`.
pub(crate) fn parse(text: &str) -> Option<Stall> {
    let mut stall = Stall::default();
    let mut found = false;
    for line in text.lines() {
        let total = line
            .split_ascii_whitespace()
            .find_map(|word| word.strip_prefix("total="));
        let Some(seconds) = total
            .and_then(|digits| digits.parse::<u64>().ok())
            .map(|us| us as f64 / 1e6)
        else {
            continue;
        };
        if line.starts_with("some") {
            stall.some = seconds;
            found = true;
        } else if line.starts_with("full") {
            stall.full = seconds;
        }
    }
    found.then_some(stall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_microseconds() {
        let text = "some avg10=0.05 avg60=0.29 avg300=0.41 total=6345130\nfull avg10=0.05 avg60=0.28 avg300=0.39 total=5979469\n";
        assert_eq!(
            parse(text),
            Some(Stall {
                some: 6.345_13,
                full: 5.979_469
            })
        );
        assert_eq!(
            parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"),
            Some(Stall {
                some: 7e-6,
                full: 0.0
            })
        );
        assert_eq!(parse(""), None);
    }
}
