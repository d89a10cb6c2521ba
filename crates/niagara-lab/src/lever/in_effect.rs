//! What values of variables stand for.

use niagara_origin::configuration::number;
use niagara_server::is_switches;

/// What a variable's value stands for: none for this one is the system call of the same effect as `fsync` (MySQL before 8.0, MariaDB
/// before 10.6).
pub(crate) fn in_effect<'v>(name: &str, value: &'v str) -> &'v str {
    match (name, value) {
        ("innodb_flush_method", "") => "fsync",
        _ => value,
    }
}

/// Whether a variable that has the value `now` is so as somebody wrote it; of switches the written ones count.
pub fn is_set_so(name: &str, now: &str, written: &str) -> bool {
    if is_switches(name) {
        return written
            .split(',')
            .all(|one| now.split(',').any(|other| other == one.trim()));
    }
    let value = |text: &str| match text.to_ascii_uppercase().as_str() {
        "ON" | "YES" | "TRUE" => Some(1.0),
        "OFF" | "NO" | "FALSE" | "DISABLED" => Some(0.0),
        text => number(text),
    };
    match (value(now), value(written)) {
        (Some(now), Some(written)) => now == written,
        _ => in_effect(name, now).eq_ignore_ascii_case(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_however_written() {
        for (name, now, written, expected) in [
            ("a", "134217728", "128M", true),
            ("a", "ON", "1", true),
            ("a", "OFF", "0", true),
            ("a", "O_DIRECT", "o_direct", true),
            ("a", "1", "2", false),
            // As MySQL before 8.0 shows it.
            ("innodb_flush_method", "", "fsync", true),
            ("innodb_flush_method", "", "O_DIRECT", false),
            ("optimizer_switch", "x=on,y=off", "y=off", true),
            ("optimizer_switch", "x=on,y=off", "x=off", false),
        ] {
            assert_eq!(
                is_set_so(name, now, written),
                expected,
                "{name} {now} {written}"
            );
        }
    }
}
