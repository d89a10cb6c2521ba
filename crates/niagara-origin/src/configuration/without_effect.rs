//! What servers say of their variables that do nothing any more.

/// Whether a variable's description says that it does nothing at all. Descriptions that speak of a condition ("ignored if
/// ... is not set") or of data that is ignored do not.
pub fn says_without_effect(description: &str) -> bool {
    let text = description.trim().trim_end_matches('.').to_lowercase();
    let deprecated_and_idle = text.contains("deprecated")
        && [
            "with no effect",
            "has no effect",
            "is ignored",
            "and ignored",
        ]
        .iter()
        .any(|words| text.ends_with(words) || text.ends_with(&format!("{words})")));
    deprecated_and_idle
        || text == "unused"
        || text.starts_with("unused,")
        || text.contains("does nothing")
        || text.ends_with("(ignored)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11.19 describes its variables.
    #[test]
    fn descriptions_of_idle_variables_are_told_from_others() {
        for idle in [
            "Deprecated parameter with no effect",
            "Should slave thread do foreign key constraint checks (deprecated, has no effect)",
            "Unused",
            "Unused, will be removed.",
            "The DATE format (ignored)",
            "It does nothing now and exists only for compatibility with old my.cnf files.",
        ] {
            assert!(says_without_effect(idle), "{idle}");
        }
        for working in [
            "To commit LOAD DATA transaction after every 10K rows inserted (deprecated)",
            "Alias for alter_algorithm. Deprecated. Use --alter-algorithm instead.",
            "The number of bytes to use when sorting BLOB or TEXT values (only the first max_sort_length bytes of each \
             value are used; the rest are ignored)",
            "When wsrep_gtid_mode is set, this value is used as gtid_domain_id for galera transactions. It is ignored, \
             otherwise.",
            "Tells the slave to write annotate rows events received from the master to its own binary log. Ignored if \
             log_slave_updates is not set",
            "Previously showed the size of large memory pages, unused since multiple page size support was added",
            "",
        ] {
            assert!(!says_without_effect(working), "{working}");
        }
    }
}
