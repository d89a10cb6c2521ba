//! How far ninja is, by its own `[n/m]`, and how long the rest will take.

/// What ninja's status line begins with: `NINJA_STATUS` is set to this form.
pub(crate) const STATUS: &str = "[%f/%t] ";

/// Steps finished and steps in all, from a line of ninja's.
pub(crate) fn steps(line: &str) -> Option<(u32, u32)> {
    let (numbers, _) = line.strip_prefix('[')?.split_once(']')?;
    let (done, all) = numbers.split_once('/')?;
    Some((done.trim().parse().ok()?, all.trim().parse().ok()?))
}

/// The share of a build's time that its last step takes where the whole program is optimised in it: MariaDB 10.11 with gcc's
/// LTO in parts and profile feedback linked for 190 s of the 1600 s that the build took on 2 CPUs, which had other work too.
const LTO_LINK: f64 = 0.12;

/// The share (0 to 1) of a build that is done with these steps of ninja's.
pub(crate) fn share_done(done: u32, all: u32, lto: bool) -> f64 {
    let (done, all) = (f64::from(done), f64::from(all.max(1)));
    if lto && done < all {
        done / (all - 1.0).max(1.0) * (1.0 - LTO_LINK)
    } else {
        (done / all).min(1.0)
    }
}

/// Seconds left, from the share done (0 to 1), the seconds that took, and what an earlier build like it took in all.
///
/// What was seen gains weight as the build continues: the first steps are small files, and the last is the link.
pub(crate) fn seconds_left(share: f64, elapsed: f64, typical: Option<f64>) -> Option<f64> {
    let share = share.clamp(0.0, 1.0);
    let seen = (share > 0.02).then(|| elapsed * (1.0 - share) / share);
    let expected = typical.map(|all| (all * (1.0 - share)).max(0.0));
    match (seen, expected) {
        (Some(seen), Some(expected)) => Some(share * seen + (1.0 - share) * expected),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninjas_own_count_is_read() {
        assert_eq!(
            steps("[12/902] Building CXX object sql/handler.cc.o"),
            Some((12, 902))
        );
        assert_eq!(
            steps("[902/902] Linking CXX executable sql/mariadbd"),
            Some((902, 902))
        );
        for line in [
            "FAILED: a.o",
            "[a/b] x",
            "[12/902",
            "ninja: no work to do.",
            "[1] note",
        ] {
            assert_eq!(steps(line), None, "{line}");
        }
    }

    #[test]
    fn the_last_step_of_lto_is_no_step_like_others() {
        assert_eq!(share_done(0, 0, false), 0.0);
        assert_eq!(share_done(452, 904, false), 0.5);
        assert_eq!(share_done(903, 904, true), 1.0 - LTO_LINK);
        assert_eq!(share_done(904, 904, true), 1.0);
        assert_eq!(share_done(0, 1, true), 0.0);
    }

    #[test]
    fn observed_progress_gains_weight() {
        assert_eq!(seconds_left(0.0, 1.0, None), None);
        assert_eq!(seconds_left(0.0, 1.0, Some(400.0)), Some(400.0));
        assert_eq!(seconds_left(0.5, 300.0, None), Some(300.0));
        assert_eq!(seconds_left(0.5, 300.0, Some(400.0)), Some(250.0));
        assert_eq!(seconds_left(1.0, 500.0, Some(400.0)), Some(0.0));
    }
}
