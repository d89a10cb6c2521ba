//! Numbers for people: a ratio is never printed without its interval.

use niagara_stats::{Estimate, outwards};

/// A space at which no line is broken.
const NO_BREAK: char = '\u{a0}';
/// What stands where there is no number.
pub const NOTHING: &str = "–";

/// `× 1.312 [1.281, 1.341]`, with as many digits as the interval is worth.
pub fn estimate(e: &Estimate) -> String {
    estimate_in(e, decimals(e))
}

/// The same with this many decimals. An end that leaves out 1 may have more.
pub fn estimate_in(e: &Estimate, digits: usize) -> String {
    format!("{} {}", ratio_in(e, digits), interval_in(e, digits))
}

/// `95`, of an error probability of 0.05: what an interval covers, in per cent.
pub fn confidence(alpha: f64) -> String {
    let covered = (1.0 - alpha) * 100.0;
    let in_digits = |digits: usize| format!("{covered:.digits$}");
    // Never more than it is.
    let text = (1..6)
        .map(in_digits)
        .find(|text| alpha <= 0.0 || !text.starts_with("100"));
    let text = text.unwrap_or_else(|| in_digits(6));
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// `× 1.312`.
pub fn ratio(e: &Estimate) -> String {
    ratio_in(e, decimals(e))
}

fn ratio_in(e: &Estimate, digits: usize) -> String {
    match e.ratio.is_finite() && !e.is_of_nothing() {
        true => format!("× {:.digits$}", e.ratio),
        false => format!("× {NOTHING}"),
    }
}

/// `[1.281, 1.341]`, rounded [`outwards`]; an end that nothing bounds is `0` or `∞`, and where nothing bounds either there is no interval.
pub fn interval(e: &Estimate) -> String {
    interval_in(e, decimals(e))
}

/// The same with this many decimals.
pub fn interval_in(e: &Estimate, digits: usize) -> String {
    if e.low <= 0.0 && e.high.is_infinite() {
        return "(no interval)".to_owned();
    }
    let end = |side: usize| match [e.low, e.high][side] {
        end if end <= 0.0 => "0".to_owned(),
        end if end.is_infinite() => "∞".to_owned(),
        end => {
            let rounded = |digits: usize| outwards([e.low, e.high], digits)[side];
            // An interval that leaves 1 out does not end at 1 in print.
            let tells_it_from_1 = |digits: &usize| end == 1.0 || rounded(*digits) != 1.0;
            let digits = (digits..MAX_DECIMALS)
                .find(tells_it_from_1)
                .unwrap_or(MAX_DECIMALS);
            format!("{:.digits$}", rounded(digits))
        }
    };
    format!("[{}, {}]", end(0), end(1))
}

/// Decimals of an end at the most, which would otherwise be printed as the 1 that it excludes.
const MAX_DECIMALS: usize = 5;

/// Two decimals for wide intervals, three for narrow ones.
fn decimals(e: &Estimate) -> usize {
    let half_width = (e.high - e.low) / 2.0;
    if half_width < 0.02 { 3 } else { 2 }
}

/// `+1.3 %` for the ratio 1.013, with a proper minus sign.
pub fn gain(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOTHING.to_owned();
    }
    let percent = (ratio - 1.0) * 100.0;
    signed(percent, decimals_of_percent(ratio - 1.0))
}

/// Decimals that a share has in per cent: 0.042 is `4.2 %`, 0.42 is `42 %`.
pub fn decimals_of_percent(share: f64) -> usize {
    match (share * 100.0).abs() < 9.95 {
        true => 1,
        false => 0,
    }
}

/// The gains at the ends of an interval, rounded [`outwards`]: `−0.4 %` and `+0.2 %`.
pub fn gains(ends: [f64; 2]) -> [String; 2] {
    [0, 1].map(|side| {
        let decimals = 2 + decimals_of_percent(ends[side] - 1.0);
        gain(outwards(ends, decimals)[side])
    })
}

/// `+9 %` for × 1.09 [1.07, 1.13]: no digit that the ratio is not shown with.
pub fn gain_of(e: &Estimate) -> String {
    match decimals(e) {
        2 if e.ratio.is_finite() && (e.ratio - 1.0).abs() >= 0.005 => {
            signed((e.ratio - 1.0) * 100.0, 0)
        }
        _ => gain(e.ratio),
    }
}

fn signed(percent: f64, digits: usize) -> String {
    let size = format!("{:.digits$}", percent.abs());
    let sign = if size.chars().all(|c| c == '0' || c == '.') {
        ""
    } else if percent < 0.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{size} %")
}

/// `1.2 %` for 0.012.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NOTHING.to_owned();
    }
    let digits = decimals_of_percent(share);
    format!("{:.digits$} %", share * 100.0)
}

/// `1 h 58 min`, `12 min 30 s`, `45 s`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NOTHING.to_owned();
    }
    let all = seconds.round() as u64;
    let (hours, minutes, rest) = (all / 3600, all / 60 % 60, all % 60);
    match (hours, minutes, rest) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// `0.1 s`, `0.25 s`, `5.2 s`, `30 s`.
pub fn seconds(seconds: f64) -> String {
    let digits = match seconds {
        tenths if tenths < 1.0 && (tenths * 10.0).fract().abs() < 1e-6 => 1,
        few if few < 1.0 => 2,
        some if some < 10.0 && some.fract().abs() > 1e-6 => 1,
        _ => 0,
    };
    format!("{seconds:.digits$} s")
}

/// A rate, by the second: `12 340`, of a slow job `0.052`; nothing where nothing was measured.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second <= 0.0 {
        return NOTHING.to_owned();
    }
    match per_second {
        slow if slow < 0.995 => {
            let digits = (1.0 - slow.log10().floor()) as usize;
            format!("{slow:.digits$}")
        }
        slow if slow < 9.95 => format!("{slow:.1}"),
        _ => grouped(per_second),
    }
}

/// `12 340`: thousands apart, no decimals.
pub fn grouped(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    if value <= -0.5 {
        format!("−{out}")
    } else {
        out
    }
}

/// `1 duel`, `12 duels`, `1 200 duels`.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        let ending = match one.ends_with(['s', 'x']) {
            true => "es",
            false => "s",
        };
        format!("{} {one}{ending}", grouped(n as f64))
    }
}

/// A value of a server variable: `1G` for 1073741824, `1000` for 1000.
pub fn sized(number: u64) -> String {
    let units = [("G", 1_u64 << 30), ("M", 1 << 20)];
    let whole = units
        .iter()
        .find(|(_, bytes)| number >= *bytes && number.is_multiple_of(*bytes));
    match whole {
        Some((unit, bytes)) => format!("{}{unit}", number / bytes),
        None => number.to_string(),
    }
}

/// Units that stay on the line of their number.
const UNITS: [&str; 9] = ["%", "s", "ms", "µs", "min", "MB", "MiB", "GB", "GiB"];

/// Keeps `× 1.31 [1.28, 1.34]`, and `2.7 %`, on one line.
pub fn unbroken(text: &str) -> String {
    let mut inside = false;
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        let rest = &text[i + c.len_utf8()..];
        // Other brackets (those of a terminal's colours, of a file's tables) are no intervals.
        let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        inside = (inside || (c == '[' && before == NO_BREAK && is_number(rest))) && c != ']';
        let interval = rest.strip_prefix('[').is_some_and(is_number);
        let unit = rest.split(|c: char| !c.is_alphabetic() && c != '%').next();
        let is_unit = before.is_ascii_digit() && unit.is_some_and(|unit| UNITS.contains(&unit));
        let glued = inside || before == '×' || interval || is_unit;
        before = if c == ' ' && glued { NO_BREAK } else { c };
        out.push(before);
    }
    out
}

/// With ordinary spaces in place of those at which no line is broken.
pub fn breakable(text: &str) -> String {
    text.replace(NO_BREAK, " ")
}

/// `2026-09-21 14:13 UTC`.
pub fn moment(unix_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(unix_ms)
        .map(|time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_default()
}

/// The sentence with a capital letter.
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |letter| {
        letter.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ratio: f64, low: f64, high: f64) -> String {
        estimate(&Estimate { ratio, low, high })
    }

    #[test]
    fn confidences_have_no_more_digits_than_they_need() {
        assert_eq!(
            [0.05, 0.01, 0.07, 0.005, 0.000_3].map(confidence),
            ["95", "99", "93", "99.5", "99.97"]
        );
    }

    #[test]
    fn only_intervals_are_kept_on_a_line() {
        let glued =
            unbroken("it is × 1.31 [1.28, 1.34] \u{1b}[31mfaster\u{1b}[0m in [[rungs]] of a file");
        let words: Vec<&str> = glued.split(' ').collect();
        assert_eq!(
            words,
            [
                "it",
                "is",
                &"× 1.31 [1.28, 1.34]".replace(' ', &NO_BREAK.to_string()),
                "\u{1b}[31mfaster\u{1b}[0m",
                "in",
                "[[rungs]]",
                "of",
                "a",
                "file"
            ]
        );
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(of(1.312, 1.281, 1.341), "× 1.31 [1.28, 1.35]");
        assert_eq!(of(1.0163, 1.0071, 1.0254), "× 1.016 [1.007, 1.026]");
        assert_eq!(of(1.455, 1.4257, 1.4861), "× 1.46 [1.42, 1.49]");
        // Ends beside 1: that one has more digits where it excludes 1.
        assert_eq!(of(1.009, 1.0004, 1.0178), "× 1.009 [1.0004, 1.018]");
        assert_eq!(of(1.00904, 0.99999, 1.01817), "× 1.009 [0.999, 1.019]");
        assert_eq!(of(0.93, 0.85, 1.003), "× 0.93 [0.85, 1.01]");
        assert_eq!(of(0.99, 0.98, 1.0), "× 0.990 [0.980, 1.000]");
        assert_eq!(of(1.02, 0.0, f64::INFINITY), "× 1.02 (no interval)");
        // Of no duel.
        assert_eq!(of(1.0, 0.0, f64::INFINITY), "× – (no interval)");
        assert_eq!(of(f64::NAN, 0.0, f64::INFINITY), "× – (no interval)");
    }

    #[test]
    fn an_end_that_excludes_1_is_not_printed_as_1() {
        assert_eq!(of(1.03, 1.0004, 1.06), "× 1.03 [1.0004, 1.06]");
        assert_eq!(of(1.03, 1.0, 1.06), "× 1.03 [1.00, 1.06]");
    }

    #[test]
    fn a_gain_has_no_digit_that_its_ratio_lacks() {
        let gain_of = |ratio, low, high| gain_of(&Estimate { ratio, low, high });
        assert_eq!(gain_of(1.092, 1.07, 1.13), "+9 %");
        assert_eq!(gain_of(1.034, 1.029, 1.039), "+3.4 %");
        assert_eq!(gain_of(1.004, 0.9, 1.1), "+0.4 %");
    }

    #[test]
    fn gains_durations_and_counts() {
        assert_eq!(gain(1.0134), "+1.3 %");
        assert_eq!(gain(0.3), "−70 %");
        assert_eq!(gain(1.0001), "0.0 %");
        assert_eq!(gains([0.9964, 1.0021]), ["−0.4 %", "+0.3 %"]);
        assert_eq!(gains([1.4257, 1.486]), ["+42 %", "+49 %"]);
        assert_eq!(duration(7080.0), "1 h 58 min");
        assert_eq!(duration(59.7), "1 min");
        assert_eq!(duration(f64::NAN), NOTHING);
        assert_eq!(
            [0.1, 0.11, 0.5, 1.0, 5.2, 30.0].map(seconds),
            ["0.1 s", "0.11 s", "0.5 s", "1 s", "5.2 s", "30 s"]
        );
        assert_eq!(grouped(1_234_567.0), "1\u{2009}234\u{2009}567");
        assert_eq!(grouped(999.6), "1\u{2009}000");
        assert_eq!(count(1, "duel"), "1 duel");
    }

    #[test]
    fn rates_of_servers_and_of_jobs() {
        assert_eq!(rate(23_043.2), "23\u{2009}043");
        assert_eq!(rate(9.96), "10");
        assert_eq!(rate(3.2), "3.2");
        assert_eq!(rate(0.5), "0.50");
        assert_eq!(rate(0.0521), "0.052");
        assert_eq!(rate(0.0), NOTHING);
    }
}
