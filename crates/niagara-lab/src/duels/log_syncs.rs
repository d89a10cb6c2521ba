//! How often a server synced its log, by its own status.

use std::collections::BTreeMap;

/// Counters of syncs, best first: those of the binary log's groups, of InnoDB's log, of all of InnoDB's files, which is
/// what MariaDB 10.11 and 11.8 have.
const COUNTERS: [&str; 3] = [
    "Binlog_group_commits",
    "Innodb_os_log_fsyncs",
    "Innodb_data_fsyncs",
];

/// Syncs while the counters grew by `grown`, and the name of the counter that says so; `None` where none of them moved.
pub fn log_syncs(grown: &BTreeMap<String, i64>) -> Option<(&'static str, u64)> {
    COUNTERS.into_iter().find_map(|name| {
        let count = u64::try_from(*grown.get(name)?).ok()?;
        (count > 0).then_some((name, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_counter_that_moved_says_it() {
        let grown = |counters: &[(&str, i64)]| {
            let counters = counters.iter();
            log_syncs(
                &counters
                    .map(|(name, count)| ((*name).to_owned(), *count))
                    .collect(),
            )
        };
        let all = [("Innodb_data_fsyncs", 9), ("Innodb_os_log_fsyncs", 7)];
        assert_eq!(grown(&all), Some(("Innodb_os_log_fsyncs", 7)));
        assert_eq!(grown(&all[..1]), Some(("Innodb_data_fsyncs", 9)));
        let without_binary_log = [("Binlog_group_commits", 0), all[0]];
        assert_eq!(grown(&without_binary_log), Some(("Innodb_data_fsyncs", 9)));
        assert_eq!(grown(&[("Innodb_os_log_fsyncs", -3)]), None);
        assert_eq!(grown(&[]), None);
    }
}
