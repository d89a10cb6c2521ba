//! Sizes and other numbers as option files write them.

/// The number that a value comes to: `512M`, `1073741824`, `1.5` as servers read them. Of a unit they look at the first letter:
/// `64GB` is `64G`.
pub fn number(value: &str) -> Option<f64> {
    let value = value.trim();
    if let Ok(number) = value.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let end = value.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = value.split_at(end);
    let shift = match unit.chars().next()?.to_ascii_uppercase() {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        'P' => 50,
        'E' => 60,
        _ => return None,
    };
    let whole = digits.parse::<u64>().ok()?;
    Some(whole as f64 * f64::from(shift).exp2())
}

/// Whether two values say the same: `1G` and `1073741824`, `ON` and `1`. `yes` is none of the words that servers know for ON.
pub fn same_value(one: &str, other: &str) -> bool {
    let word = |value: &str| match value.trim().to_ascii_lowercase().as_str() {
        "on" | "true" => "1".to_owned(),
        "off" | "false" => "0".to_owned(),
        other => other.to_owned(),
    };
    match (number(&word(one)), number(&word(other))) {
        (Some(one), Some(other)) => one == other,
        _ => word(one) == word(other),
    }
}

/// `1G` for 1073741824; a number that is no whole multiple as it is.
pub fn shown(bytes: u64) -> String {
    [(30, 'G'), (20, 'M'), (10, 'K')]
        .into_iter()
        .find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift))
        .map_or(bytes.to_string(), |(shift, unit)| {
            format!("{}{unit}", bytes >> shift)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_servers_read_them() {
        assert_eq!(number("1G"), Some(f64::from(1 << 30)));
        assert_eq!(number("16k"), Some(16384.0));
        assert_eq!(number("0.5"), Some(0.5));
        assert_eq!(number("fsync"), None);
        assert_eq!(number("G"), None);
        assert_eq!(number("2GB"), Some(2.0 * f64::from(1 << 30)));
        assert_eq!(number("1.5G"), None);
        assert!(!same_value("yes", "ON") && same_value("TRUE", "1"));
        assert!(same_value("128M", "134217728") && same_value("on", "1"));
        assert!(!same_value("1", "2") && same_value("O_DIRECT", "o_direct"));
        assert_eq!(shown(6 << 30), "6G");
        assert_eq!(shown(1000), "1000");
    }
}
