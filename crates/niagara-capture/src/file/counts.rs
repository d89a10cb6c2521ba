//! What a server counts by itself (SHOW GLOBAL STATUS), as far as a replay is put beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The statement that asks for it.
pub(crate) const ASK: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_read_requests', \
                       'Innodb_buffer_pool_reads', 'Connections', 'Questions', 'Innodb_deadlocks', 'Uptime')";

/// Counters of a server: since its start, or between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerCounts {
    /// Pages of the buffer pool that were asked for.
    pub page_requests: u64,
    /// Of these, those that were read from disk or the page cache.
    pub page_reads: u64,
    /// Connections that were tried.
    pub connections: u64,
    /// Statements of clients.
    pub statements: u64,
    /// Deadlocks; none where the server does not count them so.
    pub deadlocks: Option<u64>,
    /// Seconds.
    pub seconds: u64,
}

impl ServerCounts {
    /// From the server's names of counters; none where it has no such counters.
    pub fn of(mut value: impl FnMut(&str) -> Option<u64>) -> Option<ServerCounts> {
        Some(ServerCounts {
            page_requests: value("Innodb_buffer_pool_read_requests")?,
            page_reads: value("Innodb_buffer_pool_reads")?,
            connections: value("Connections")?,
            statements: value("Questions")?,
            deadlocks: value("Innodb_deadlocks"),
            seconds: value("Uptime")?,
        })
    }

    /// What was counted since; none where the server was started anew, or its counters were set to 0.
    pub fn since(&self, before: &ServerCounts) -> Option<ServerCounts> {
        Some(ServerCounts {
            page_requests: self.page_requests.checked_sub(before.page_requests)?,
            page_reads: self.page_reads.checked_sub(before.page_reads)?,
            connections: self.connections.checked_sub(before.connections)?,
            statements: self.statements.checked_sub(before.statements)?,
            deadlocks: match (self.deadlocks, before.deadlocks) {
                (Some(now), Some(then)) => Some(now.checked_sub(then)?),
                _ => None,
            },
            seconds: self.seconds.checked_sub(before.seconds)?,
        })
    }

    /// Share of the pages asked for that were in the buffer pool, 0 to 1; none where hardly any were asked for.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.page_requests >= 1000).then(|| {
            1.0 - self.page_reads.min(self.page_requests) as f64 / self.page_requests as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pages: u64, reads: u64, seconds: u64) -> ServerCounts {
        ServerCounts::of(|name| {
            Some(match name {
                "Innodb_buffer_pool_read_requests" => pages,
                "Innodb_buffer_pool_reads" => reads,
                "Innodb_deadlocks" => return None,
                "Uptime" => seconds,
                _ => 5,
            })
        })
        .expect("all that is needed")
    }

    #[test]
    fn counters_are_taken_between_two_moments_of_one_start() {
        let grown = counts(30_000, 300, 70)
            .since(&counts(10_000, 100, 10))
            .expect("one start");
        assert_eq!(
            (grown.page_requests, grown.seconds, grown.deadlocks),
            (20_000, 60, None)
        );
        assert_eq!(grown.hit_rate(), Some(0.99));
        assert_eq!(counts(10, 1, 5).since(&counts(10_000, 100, 10)), None);
        assert_eq!(counts(10, 1, 5).hit_rate(), None);
        assert_eq!(ServerCounts::of(|_| None), None);
    }
}
