//! What values of variables stand for.

/// What a variable's value stands for: none for this one is the system call of the same effect as `fsync` (MySQL before 8.0, MariaDB
/// before 10.6).
pub fn in_effect<'v>(name: &str, value: &'v str) -> &'v str {
    match (name, value) {
        ("innodb_flush_method", "") => "fsync",
        _ => value,
    }
}
