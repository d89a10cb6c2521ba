//! How much a server's status counters grow per query, from some moment on.

use std::collections::BTreeMap;

/// Counters at the moment from which their growth counts, and the queries answered since.
#[derive(Debug, Default)]
pub(super) struct Growth {
    before: BTreeMap<String, f64>,
    queries: u64,
}

impl Growth {
    /// What is counted from now on, where the counters say this.
    pub(super) fn from(now: BTreeMap<String, f64>) -> Growth {
        Growth {
            before: now,
            queries: 0,
        }
    }

    /// So many queries more were answered.
    pub(super) fn count(&mut self, queries: u64) {
        self.queries += queries;
    }

    /// The growth of each counter that has grown, per query.
    pub(super) fn per_query(&self, now: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
        let queries = self.queries.max(1) as f64;
        let grown = now.into_iter().filter_map(|(name, value)| {
            let grown = value - self.before.get(&name).copied().unwrap_or(0.0);
            (grown > 0.0).then_some((name, grown / queries))
        });
        grown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_does_not_count() {
        let counters = |opened: f64| BTreeMap::from([("Opened_tables".to_owned(), opened)]);
        let mut growth = Growth::default();
        // A hundred connections open the table for the first time while the server warms up.
        growth.count(1000);
        assert_eq!(growth.per_query(counters(100.0))["Opened_tables"], 0.1);
        let mut growth = Growth::from(counters(100.0));
        growth.count(1000);
        assert!(growth.per_query(counters(100.0)).is_empty());
        assert_eq!(growth.per_query(counters(150.0))["Opened_tables"], 0.05);
    }
}
