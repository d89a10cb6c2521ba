//! Sizes as sysbench's options have them.

/// Bytes: digits, and behind them K, M, G or T in either case, in units of 1,024. What often follows that letter, `B` or `iB`, changes
/// nothing, as with sysbench, which reads no further. `None`: it is no size.
pub fn size_in_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let power = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1024_u64.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_of_1024_bytes_however_they_are_written() {
        for (text, size) in [
            ("0", 0),
            ("512", 512),
            ("1m", 1 << 20),
            ("16KB", 16 << 10),
            ("2GiB", 2 << 30),
            ("1tb", 1 << 40),
        ] {
            assert_eq!(size_in_bytes(text), Some(size), "{text}");
        }
        for text in ["", "K", "1.5K", "-1", "12B", "1KB/s", "99999999999T"] {
            assert_eq!(size_in_bytes(text), None, "{text}");
        }
    }
}
