//! What a run may take of its host: the arithmetic.

use anyhow::{Context, Result};
use niagara_error::bail;

use crate::machine::{Fingerprint, memory_available_bytes};

/// Two servers and a load generator do not fit into less.
const MIN_MEMORY: u64 = 512 << 20;

/// What a run may take of this host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostShare {
    /// Its CPUs, by their numbers.
    pub cpus: Vec<usize>,
    /// CPU seconds in a second: as many as it has CPUs, or a part of one.
    pub cpu_time: f64,
    /// Bytes of memory.
    pub memory: u64,
    /// CPUs that it is a share of.
    pub host_cpus: usize,
    /// Bytes of memory that the host has, available or not.
    pub host_memory: u64,
}

impl HostShare {
    /// This part, up to 1, of the CPUs of `host` that this process may use, and of the memory that is available now.
    ///
    /// # Errors
    /// That is too little memory for servers.
    pub fn of_host(part: f64, host: &Fingerprint) -> Result<Self> {
        let available = memory_available_bytes().context("the kernel does not say MemAvailable")?;
        let share = Self::of(part, host, available);
        if share.memory < MIN_MEMORY {
            bail!(
                "{} MB of memory are available, and a run that shares this host would have {} MB: two servers need {} MB",
                available >> 20,
                share.memory >> 20,
                MIN_MEMORY >> 20;
                remedy: "tune on another machine"
            );
        }
        Ok(share)
    }

    /// The last ones of the CPUs, which handle fewer interrupts than the first; neighbours stand together, so that both threads of a
    /// core are on the same side.
    fn of(part: f64, host: &Fingerprint, available: u64) -> Self {
        let cpus = host.cpu.numbers();
        let quota = host.limits.cpu_quota.unwrap_or(f64::INFINITY);
        let usable = quota.min(cpus.len() as f64);
        let time = part * usable;
        let whole = (time as usize).max(1).min(cpus.len());
        Self {
            cpus: cpus[cpus.len() - whole..].to_vec(),
            cpu_time: time.min(whole as f64),
            memory: steady((part * available as f64) as u64),
            host_cpus: host.usable_cpus(),
            host_memory: host.usable_memory(),
        }
    }
}

/// The largest size of 1, 1.5, 2, 3, 4, 6 and so on that is no larger. What is available changes from day to day, and sizes of servers
/// that follow from it are to be the same when a study is continued.
fn steady(bytes: u64) -> u64 {
    let Some(log) = bytes.checked_ilog2() else {
        return 0;
    };
    let power = 1_u64 << log;
    let larger = power + power / 2;
    if larger <= bytes { larger } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Place;

    const GIB: u64 = 1 << 30;

    fn host(cpus: usize, cpu_quota: Option<f64>) -> Fingerprint {
        let mut host = Fingerprint::default();
        let place = |cpu| Place {
            core: cpu,
            cpu,
            ..Place::default()
        };
        host.cpu.places = (0..cpus).map(place).collect();
        host.limits.cpu_quota = cpu_quota;
        host
    }

    #[test]
    fn a_share_is_of_whole_cpus_where_it_can() {
        let of = |part, cpus, quota| {
            let share = HostShare::of(part, &host(cpus, quota), 10 * GIB);
            (share.cpus, share.cpu_time)
        };
        assert_eq!(of(0.5, 2, None), (vec![1], 1.0));
        assert_eq!(of(0.5, 8, None), (vec![4, 5, 6, 7], 4.0));
        // The half of three is one: the live server has more than the half.
        assert_eq!(of(0.5, 3, None), (vec![2], 1.0));
        assert_eq!(of(0.25, 2, None), (vec![1], 0.5));
        assert_eq!(of(0.5, 1, None), (vec![0], 0.5));
        // A container sees the host's CPUs and may use two of them.
        assert_eq!(of(0.5, 64, Some(2.0)), (vec![63], 1.0));
    }

    #[test]
    fn a_size_of_memory_is_that_of_yesterday() {
        let of = |available| HostShare::of(0.5, &host(2, None), available).memory;
        assert_eq!(of(20 * GIB), 8 * GIB);
        assert_eq!(of(23 * GIB), 8 * GIB);
        assert_eq!(of(24 * GIB), 12 * GIB);
        assert_eq!(of(4 * GIB), 2 * GIB);
        assert_eq!(of(0), 0);
    }
}
