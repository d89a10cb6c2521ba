//! Times as logs write them.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

const MICROS: i64 = 1_000_000;

/// Two or more digits as a number; none for anything else.
fn number(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0_i64, |sum, &digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + i64::from(digit - b'0'))
    })
}

/// Days since 1970 of a day of the proleptic Gregorian calendar.
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `2026-11-22T20:46:08.690874Z` or with an offset (`+01:00`), in microseconds since 1970, UTC.
pub(crate) fn parse_iso(text: &[u8]) -> Option<i64> {
    // Positions are the same in every line: this is read once an entry.
    if text.len() < 20 || text[4] != b'-' || text[7] != b'-' || !matches!(text[10], b'T' | b' ') {
        return None;
    }
    let part = |from: usize, to: usize| number(&text[from..to]);
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut rest = &text[19..];
    let mut micros = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut scale = MICROS / 10;
        for digit in &fraction[..length.min(6)] {
            micros += i64::from(digit - b'0') * scale;
            scale /= 10;
        }
        rest = &fraction[length..];
    }
    let offset = match rest.trim_ascii_end() {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), a, b, b':', c, d] => {
            let minutes = number(&[*a, *b])? * 60 + number(&[*c, *d])?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds =
        days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60;
    Some(seconds * MICROS + micros)
}

/// How far a log in the order of arrival may go back, in seconds.
const BACK: i64 = 60;

/// `261122 20:33:21`, local time of the server, in seconds since 1970, UTC. Hours below ten may have a space for a zero. Of the
/// hour that there is twice at the end of summer time the first one is meant, unless that is before the second `after`.
pub(super) fn parse_local(text: &[u8], zone: &TimeZone, after: Option<i64>) -> Option<i64> {
    if text.len() < 15 || text[6] != b' ' || text[9] != b':' || text[12] != b':' {
        return None;
    }
    let part = |from: usize, to: usize| {
        number(text[from..to].trim_ascii_start()).and_then(|n| i8::try_from(n).ok())
    };
    let year = 2000 + i16::from(part(0, 2)?);
    let date = Date::new(year, part(2, 4)?, part(4, 6)?).ok()?;
    let time = Time::new(part(7, 9)?, part(10, 12)?, part(13, 15)?, 0).ok()?;
    let ambiguous = zone.to_ambiguous_timestamp(DateTime::from_parts(date, time));
    let is_fold = ambiguous.is_ambiguous();
    let first = ambiguous.compatible().ok()?.as_second();
    if is_fold && after.is_some_and(|after| first + BACK < after) {
        return Some(ambiguous.later().ok()?.as_second());
    }
    Some(first)
}

/// More than any statement takes, in microseconds: servers whose clock was set back write how long it was below zero.
const BELOW_ZERO: u64 = 1 << 53;

/// `0.000231` seconds in microseconds; 0 for what is below zero.
pub(super) fn parse_seconds(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b""[..]),
    };
    let mut micros = u64::try_from(number(whole)?).ok()?.checked_mul(1_000_000)?;
    let mut scale = 100_000;
    for digit in fraction.iter().take(6) {
        if !digit.is_ascii_digit() {
            return None;
        }
        micros = micros.checked_add(u64::from(digit - b'0') * scale)?;
        scale /= 10;
    }
    Some(if micros < BELOW_ZERO { micros } else { 0 })
}

/// A count. Counters that wrapped below zero (MySQL after a reset of the session) are no count.
pub(super) fn parse_count(text: &[u8]) -> Option<u64> {
    number(text).and_then(|n| u64::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_two_hours_is_told_by_what_is_before() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let read = |text: &str, after| parse_local(text.as_bytes(), &zone, after);
        // 2026-10-25T00:58:13Z, in summer time.
        let first = read("261025  2:58:13", None).unwrap();
        assert_eq!(first, 1_792_889_893);
        for (text, after, expected) in [
            ("261025  2:00:14", Some(first), first + 121),
            ("261025  2:58:14", Some(first), first + 1),
            // A little back is the order of arrival, not another hour.
            ("261025  2:58:00", Some(first), first - 13),
            ("261025  3:00:18", Some(first), first + 3725),
            ("261025  2:00:14", None, first - 3479),
        ] {
            assert_eq!(read(text, after), Some(expected), "{text}");
        }
    }

    #[test]
    fn times_are_read() {
        let at = 1_795_380_368_690_874;
        assert_eq!(parse_iso(b"2026-11-22T20:46:08.690874Z"), Some(at));
        assert_eq!(parse_iso(b"2026-11-22T21:46:08.690874+01:00"), Some(at));
        assert_eq!(parse_iso(b"2026-11-22T15:16:08.690874-05:30"), Some(at));
        assert_eq!(parse_iso(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_iso(b"2026-11-22T20:46:08.690874"), None);
        assert_eq!(
            parse_iso(b"2026-11-22T20:46:08+00:00 db 2026-11-22T20:46:08Z"),
            None
        );
        assert_eq!(parse_iso(b"2026-13-22T20:46:08.690874Z"), None);
        assert_eq!(
            parse_local(b"261122 20:33:21", &TimeZone::UTC, None),
            Some(1_795_379_601)
        );
        assert_eq!(
            parse_local(b"261122  2:33:21", &TimeZone::UTC, None),
            Some(1_795_379_601 - 18 * 3600)
        );
        assert_eq!(parse_local(b"269922 20:33:21", &TimeZone::UTC, None), None);
        assert_eq!(parse_seconds(b"2.200236"), Some(2_200_236));
        assert_eq!(parse_seconds(b"7"), Some(7_000_000));
        assert_eq!(parse_seconds(b"18446744073709.550781"), Some(0));
        assert_eq!(parse_seconds(b"x"), None);
        assert_eq!(parse_count(b"18446744073709550129"), None);
        assert_eq!(parse_count(b"17"), Some(17));
    }
}
