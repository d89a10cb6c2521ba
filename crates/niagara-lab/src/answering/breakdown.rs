//! From the counters of a thread count to what holds it back there.

use niagara_model::{Bound, Breakdown, ResourceCounters};

use crate::duels::log_syncs::log_syncs;

/// With less than this share of the CPUs idle they are what everybody waits for.
const NO_CPU_LEFT: f64 = 0.08;
/// Of the load generator in the CPU time that is used: above it, it is as much in the way as the server.
const BUSY_CLIENT: f64 = 0.45;
/// A share of the time in which nothing could run for want of I/O that makes the disk the limit.
const STALLED: f64 = 0.2;
/// A share of the CPU time that waited for a disk that does so too.
const WAITING_FOR_DISK: f64 = 0.15;
/// Syncs of the log for a transaction, from which on it is the log that waits for the disk.
const MANY_SYNCS: f64 = 0.05;

/// The counters of several starts as one.
pub(crate) fn together(records: &[&ResourceCounters]) -> Option<ResourceCounters> {
    let mut sum = ResourceCounters {
        threads: records.first()?.threads,
        cpus: records.first()?.cpus,
        cpu_stall_seconds: Some(0.0),
        io_stall_seconds: Some(0.0),
        run_delay_seconds: Some(0.0),
        ..ResourceCounters::default()
    };
    let plus = |sum: &mut Option<f64>, more: Option<f64>| *sum = sum.zip(more).map(|(a, b)| a + b);
    for record in records {
        sum.seconds += record.seconds;
        sum.transactions += record.transactions;
        sum.server_cpu_seconds += record.server_cpu_seconds;
        sum.client_cpu_seconds += record.client_cpu_seconds;
        sum.idle_seconds += record.idle_seconds;
        sum.iowait_seconds += record.iowait_seconds;
        plus(&mut sum.cpu_stall_seconds, record.cpu_stall_seconds);
        plus(&mut sum.io_stall_seconds, record.io_stall_seconds);
        plus(&mut sum.run_delay_seconds, record.run_delay_seconds);
        for (mine, its) in sum.switches.iter_mut().zip(record.switches) {
            *mine += its;
        }
        for (name, value) in &record.status {
            *sum.status.entry(name.clone()).or_default() += value;
        }
    }
    Some(sum)
}

/// What the time of `counters` went into; `None` without time or transactions.
pub(crate) fn breakdown(counters: &ResourceCounters) -> Option<Breakdown> {
    let machine = counters.seconds * f64::from(counters.cpus);
    let connections = counters.seconds * f64::from(counters.threads);
    if machine <= 0.0 || connections <= 0.0 || counters.transactions == 0 {
        return None;
    }
    let transactions = counters.transactions as f64;
    let share = |seconds: f64| (seconds / machine).clamp(0.0, 1.0);
    let server = share(counters.server_cpu_seconds);
    let client = share(counters.client_cpu_seconds);
    let idle = share(counters.idle_seconds);
    let of_time = |seconds: f64| (seconds / connections).clamp(0.0, 1.0);
    let on_cpu = of_time(counters.server_cpu_seconds);
    let run_queue = counters.run_delay_seconds.map(of_time);
    // Only InnoDB counts them: without its counters nothing is known, with them an absent change is none.
    let counted = |name: &str| counters.status.get(name).copied();
    let innodb = counted("Innodb_buffer_pool_read_requests").is_some()
        || counted("Innodb_data_writes").is_some();
    let innodb_counter = |name: &str| match counted(name) {
        Some(value) => Some(value as f64),
        None => innodb.then_some(0.0),
    };
    let row_locks =
        innodb_counter("Innodb_row_lock_time").map(|milliseconds| of_time(milliseconds / 1000.0));
    let each = |value: f64| value / transactions;
    let known = on_cpu + run_queue.unwrap_or(0.0) + row_locks.unwrap_or(0.0);
    let mut found = Breakdown {
        threads: counters.threads,
        cpus: counters.cpus,
        server,
        client,
        idle,
        iowait: share(counters.iowait_seconds),
        other: (1.0 - server - client - idle).max(0.0),
        on_cpu,
        run_queue,
        row_locks,
        elsewhere: (1.0 - known).max(0.0),
        cpu_us: each(counters.server_cpu_seconds * 1e6),
        switches: counters.switches.map(|count| each(count as f64)),
        row_lock_waits: innodb_counter("Innodb_row_lock_waits").map(each),
        deadlocks: counted("Innodb_deadlocks").map(|count| each(count as f64)),
        log_syncs: log_syncs(&counters.status).map(|(_, count)| each(count as f64)),
        io_pressure: counters
            .io_stall_seconds
            .map(|seconds| (seconds / counters.seconds).clamp(0.0, 1.0)),
        cpu_pressure: counters
            .cpu_stall_seconds
            .map(|seconds| (seconds / counters.seconds).clamp(0.0, 1.0)),
        bound: Bound::Waits,
    };
    found.bound = bound(&found);
    Some(found)
}

fn bound(b: &Breakdown) -> Bound {
    let locks = b.row_locks.unwrap_or(0.0);
    let used = b.server + b.client;
    // Connections that wait for a CPU longer than for anything else find none, though one idles now and then.
    let longest = |queue: f64| queue > locks && queue > b.elsewhere;
    let no_cpu_left = b.idle <= NO_CPU_LEFT || b.run_queue.is_some_and(longest);
    if no_cpu_left {
        return match used > 0.0 && b.client / used >= BUSY_CLIENT {
            true => Bound::Client,
            false => Bound::Cpu,
        };
    }
    if locks >= Breakdown::MANY_ROW_LOCKS {
        return Bound::RowLocks;
    }
    if b.io_pressure.unwrap_or(0.0) >= STALLED || b.iowait >= WAITING_FOR_DISK {
        return match b.log_syncs.is_some_and(|syncs| syncs >= MANY_SYNCS) {
            true => Bound::Log,
            false => Bound::Disk,
        };
    }
    match b.threads < b.cpus {
        true => Bound::Connections,
        false => Bound::Waits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn counters(server: f64, client: f64, idle: f64, status: &[(&str, i64)]) -> ResourceCounters {
        ResourceCounters {
            seconds: 10.0,
            transactions: 1000,
            threads: 8,
            cpus: 2,
            server_cpu_seconds: server,
            client_cpu_seconds: client,
            idle_seconds: idle,
            run_delay_seconds: Some(16.0),
            io_stall_seconds: Some(0.0),
            cpu_stall_seconds: Some(9.0),
            status: status
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect::<BTreeMap<_, _>>(),
            ..ResourceCounters::default()
        }
    }

    #[test]
    fn used_up_cpus_are_named_with_their_users() {
        let found =
            breakdown(&counters(15.0, 4.0, 0.2, &[("Innodb_data_writes", 5)])).expect("time");
        assert_eq!(found.bound, Bound::Cpu);
        assert!((found.server - 0.75).abs() < 1e-9 && (found.on_cpu - 0.1875).abs() < 1e-9);
        assert_eq!((found.run_queue, found.row_locks), (Some(0.2), Some(0.0)));
        assert!(found.to_string().contains("server 75 %"), "{found}");
    }

    #[test]
    fn a_queue_for_the_cpus_is_what_everybody_waits_for_though_one_idles_now_and_then() {
        let mut found = counters(14.0, 3.0, 2.0, &[("Innodb_data_writes", 5)]);
        found.run_delay_seconds = Some(40.0);
        assert_eq!(breakdown(&found).expect("time").bound, Bound::Cpu);
        found.run_delay_seconds = Some(20.0);
        assert_eq!(breakdown(&found).expect("time").bound, Bound::Waits);
    }

    #[test]
    fn without_an_idle_cpu_row_locks_are_told_beside_it() {
        let status = [("Innodb_row_lock_time", 40_000), ("Innodb_data_writes", 5)];
        let found = breakdown(&counters(16.0, 3.0, 0.5, &status)).expect("time");
        assert_eq!(found.bound, Bound::Cpu);
        assert!(
            found
                .to_string()
                .contains("in 50 % they wait for row locks"),
            "{found}"
        );
    }

    #[test]
    fn row_locks_go_before_everything_else_while_a_cpu_idles() {
        let status = [
            ("Innodb_row_lock_time", 40_000),
            ("Innodb_row_lock_waits", 900),
            ("Innodb_data_writes", 5),
        ];
        let found = breakdown(&counters(4.0, 2.0, 12.0, &status)).expect("time");
        assert_eq!((found.bound, found.row_locks), (Bound::RowLocks, Some(0.5)));
        assert!(found.to_string().contains("0.90 waits"), "{found}");
    }

    #[test]
    fn what_the_engine_does_not_count_is_not_zero() {
        let found = breakdown(&counters(4.0, 2.0, 13.0, &[("Handler_read_key", 7)])).expect("time");
        assert_eq!((found.row_locks, found.log_syncs), (None, None));
        assert_eq!(found.bound, Bound::Waits);
        assert_eq!(breakdown(&ResourceCounters::default()), None);
    }

    #[test]
    fn a_slow_log_is_told_from_a_slow_disk() {
        let mut slow = counters(
            3.0,
            1.0,
            15.0,
            &[("Innodb_os_log_fsyncs", 800), ("Innodb_data_writes", 5)],
        );
        slow.io_stall_seconds = Some(6.0);
        assert_eq!(breakdown(&slow).expect("time").bound, Bound::Log);
        slow.status.remove("Innodb_os_log_fsyncs");
        assert_eq!(breakdown(&slow).expect("time").bound, Bound::Disk);
        // As MariaDB counts them.
        slow.status.insert("Innodb_data_fsyncs".to_owned(), 800);
        assert_eq!(breakdown(&slow).expect("time").bound, Bound::Log);
    }

    #[test]
    fn starts_add_up() {
        let one = counters(15.0, 4.0, 0.2, &[("a", 1)]);
        let mut other = one.clone();
        other.run_delay_seconds = None;
        let sum = together(&[&one, &other]).expect("two");
        assert_eq!((sum.transactions, sum.status["a"]), (2000, 2));
        assert_eq!(sum.run_delay_seconds, None);
        assert_eq!(together(&[]), None);
    }
}
