//! Times, shares, sizes and thread counts as people write them, on the command line and in study files.

use std::time::Duration;

/// Most threads that a list of thread counts may name.
const MAX_THREADS: u32 = 16_384;

/// `90s`, `10m`, `1h30m`, `500ms`; a bare number is seconds.
///
/// # Errors
/// What was expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => text
            .parse::<jiff::SignedDuration>()
            .ok()
            .and_then(|signed| Duration::try_from(signed).ok()),
    };
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a duration such as 500ms, 90s, 10m or 1h30m".to_owned())
}

/// `1%` or `0.01`, as a fraction.
///
/// # Errors
/// What was expected.
pub fn share(text: &str) -> Result<f64, String> {
    let parsed = match text.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().map(|value| value / 100.0),
        None => text.parse::<f64>(),
    };
    parsed
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a share such as 0.5% or 0.005".to_owned())
}

/// A size: `64G`, `512M`, by powers of 1024; a bare number is bytes.
///
/// # Errors
/// What was expected.
pub fn bytes(text: &str) -> Result<u64, String> {
    let text = text
        .trim()
        .trim_end_matches(['B', 'b'])
        .trim_end_matches('i');
    // What servers overlook behind a unit is a slip here.
    let is_plain =
        text.parse::<f64>().is_ok() || !text.chars().rev().skip(1).any(|c| c.is_ascii_alphabetic());
    niagara_origin::configuration::number(text)
        .filter(|bytes| is_plain && (1.0..1e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "expected a size such as 512M, 16G or 16GiB".to_owned())
}

/// Thread counts: `1..256` doubles from the first to the last, `1,2,4,8` and mixtures of both are lists. Ascending,
/// each once.
///
/// # Errors
/// What was expected.
pub fn threads(text: &str) -> Result<Vec<u32>, String> {
    let expected =
        || format!("expected thread counts from 1 to {MAX_THREADS}, such as 8, 1,2,4,8 or 1..256");
    let number = |word: &str| {
        word.trim()
            .parse::<u32>()
            .ok()
            .filter(|count| (1..=MAX_THREADS).contains(count))
            .ok_or_else(expected)
    };
    let mut counts = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => counts.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(expected());
                }
                let doubled = std::iter::successors(Some(first), |count| count.checked_mul(2));
                counts.extend(doubled.take_while(|&count| count < last));
                counts.push(last);
            }
        }
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_shares_read_as_people_write_them() {
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2.5"), Ok(Duration::from_millis(2500)));
        assert!(duration("-3s").is_err());
        assert!(duration("soon").is_err());
        assert_eq!(share("2%"), Ok(0.02));
        assert_eq!(share("0.005"), Ok(0.005));
        assert!(share("200%").is_err());
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(bytes("500M"), Ok(500 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        assert_eq!(bytes("16GiB"), Ok(16 << 30));
        assert_eq!(bytes("17"), Ok(17));
        for wrong in ["", "0", "G", "2X", "2GX", "-1", "99999999999T", "1é"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn thread_counts_are_lists_and_doublings() {
        assert_eq!(threads("8"), Ok(vec![8]));
        assert_eq!(threads("8, 1,2,2"), Ok(vec![1, 2, 8]));
        assert_eq!(threads("1..16"), Ok(vec![1, 2, 4, 8, 16]));
        assert_eq!(threads("1..10"), Ok(vec![1, 2, 4, 8, 10]));
        assert_eq!(threads("4..4,6"), Ok(vec![4, 6]));
        for wrong in ["", "0", "8..2", "1..", "x", "1..20000", "-1"] {
            assert!(threads(wrong).is_err(), "{wrong}");
        }
    }
}
