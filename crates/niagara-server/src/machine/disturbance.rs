//! Who else used the machine during a slice.
//!
//! A slice is disturbed by what is *not* part of the measurement:
//! - **steal**: CPU time that the hypervisor gave to other machines;
//! - **foreign CPU**: CPU time of processes that are neither the load generator nor a server under test, the kernel's own
//!   threads aside: what writeback, the file system's journal and the block layer do is mostly done for the server, and a
//!   workload that writes has a share of it that no other process took;
//! - **memory stall**: time in which nobody could run for want of memory (reclaim, swapping).
//!
//! What the measurement does to itself is no disturbance. CPU pressure is high by nature with 32
//! connections on 2 CPUs, and I/O pressure with a workload that writes: both are recorded, neither is judged.
//! Interrupt time is left out of foreign CPU too, for it is mostly the measured traffic's own: a kernel that times
//! interrupts apart shows it, and with any other it is in the time of the processes that were interrupted, ours mostly.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

use super::cpu::confined_to;
use super::kernel_threads::{KernelThreads, KernelTimes};
use super::limits::tightest_group;
use super::pressure::{self, Stall};
use super::proc_stat::{self, CpuTimes};
use super::root::Root;

/// Reads the kernel's counters; files stay open, so that a sample takes microseconds.
#[derive(Debug)]
pub struct DisturbanceMeter {
    stat: File,
    cpu: Option<File>,
    memory: Option<File>,
    io: Option<File>,
    kernel: Option<KernelThreads>,
    own: Vec<(u32, ClockId)>,
    hertz: f64,
    cpus: usize,
    /// The CPUs that this process may run on, where those are not all: what others do elsewhere takes nothing from it.
    confined_to: Option<Vec<usize>>,
}

/// The counters at one moment.
#[derive(Debug, Clone)]
pub struct Sample {
    /// When it was taken.
    pub at: Instant,
    /// The whole machine.
    pub cpu: CpuTimes,
    /// Tasks waiting for a CPU.
    pub cpu_stall: Option<Stall>,
    /// Tasks waiting for memory.
    pub memory_stall: Option<Stall>,
    /// Tasks waiting for I/O.
    pub io_stall: Option<Stall>,
    /// The kernel's own threads, where they can be seen.
    pub kernel: Option<KernelTimes>,
    /// CPU seconds used so far by each of the measurement's own processes that is alive.
    pub own: Vec<(u32, f64)>,
    /// Online CPUs.
    pub cpus: usize,
    /// Seconds in which `cpu` counts: nothing shorter shows.
    pub tick: f64,
}

/// What happened between two samples. Shares are of the machine's CPUs or of the time, 0 to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Online CPUs.
    pub cpus: usize,
    /// Share of all CPU time that the kernel's counters cannot tell from none: they count in ticks, of which one may be left
    /// over at either end.
    pub resolution: f64,
    /// Share of all CPU time that the hypervisor gave to others.
    pub steal: f64,
    /// CPU seconds used by the kernel's own threads; where they cannot be seen they are part of what is foreign.
    pub kernel_cpu_seconds: Option<f64>,
    /// CPU seconds used by processes that are not part of the measurement.
    pub foreign_cpu_seconds: f64,
    /// The same as a share of all CPU time.
    pub foreign: f64,
    /// CPU seconds that the kernel counted neither as idle nor as anybody's. Negative where its ticks, by which it samples who was
    /// busy, counted more than there was: over a second or two they are that inexact.
    pub unaccounted_cpu_seconds: f64,
    /// Share of the time in which some task waited for a CPU.
    pub cpu_pressure_some: Option<f64>,
    /// Share of the time in which all tasks waited for memory.
    pub memory_pressure_full: Option<f64>,
    /// Share of the time in which all tasks waited for I/O.
    pub io_pressure_full: Option<f64>,
}

/// From where on an interval counts as disturbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    /// Steal, share of all CPU time.
    pub steal: f64,
    /// Foreign CPU, share of all CPU time.
    pub foreign: f64,
    /// Memory stall of all tasks, share of the time.
    pub memory_full: f64,
}

impl Default for Thresholds {
    /// 5 % of the machine taken by others shifts a rate by about as much: four times the noise of a
    /// duel. A memory stall is never part of
    /// a workload that fits, so 1 % is allowed for the start of a clone.
    fn default() -> Self {
        Self {
            steal: 0.05,
            foreign: 0.05,
            memory_full: 0.01,
        }
    }
}

impl DisturbanceMeter {
    /// A meter for a measurement made of this process and the processes `own`.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn new(own: Vec<u32>) -> Result<Self> {
        let stat = File::open("/proc/stat").context("opening /proc/stat")?;
        let pressure = |name: &str| File::open(Path::new("/proc/pressure").join(name)).ok();
        let mut clocks = vec![(std::process::id(), ClockId::CLOCK_PROCESS_CPUTIME_ID)];
        for pid in own {
            // A process that has already ended has no clock and uses no CPU.
            if let Ok(clock) = clock_getcpuclockid(Pid::from_raw(pid as i32)) {
                clocks.push((pid, clock));
            }
        }
        let online = |variable| sysconf(variable).ok().flatten().filter(|n| *n > 0);
        let mut meter = Self {
            stat,
            cpu: pressure("cpu"),
            memory: group_pressure().or_else(|| pressure("memory")),
            io: pressure("io"),
            kernel: None,
            own: clocks,
            hertz: online(SysconfVar::CLK_TCK).unwrap_or(100) as f64,
            cpus: online(SysconfVar::_NPROCESSORS_ONLN).unwrap_or(1) as usize,
            confined_to: confined_to(),
        };
        if let Some(cpus) = &meter.confined_to {
            meter.cpus = cpus.len();
        }
        let apart = meter.cpu_times()?.interrupts_apart;
        // Of all CPUs, for where a kernel's thread ran is not known: a little of what others take may be overlooked by that.
        meter.kernel = KernelThreads::find(Path::new("/proc"), apart);
        Ok(meter)
    }

    fn cpu_times(&self) -> Result<CpuTimes> {
        let mut buffer = [0_u8; 512];
        let Some(cpus) = &self.confined_to else {
            let length = self
                .stat
                .read_at(&mut buffer, 0)
                .context("reading /proc/stat")?;
            let text = String::from_utf8_lossy(&buffer[..length]);
            return proc_stat::parse(&text, self.hertz)
                .context("/proc/stat does not begin with the CPU times");
        };
        // A line of each CPU; what follows them is long, and not wanted.
        let mut lines = vec![0_u8; 512 * (cpus.iter().max().unwrap_or(&0) + 2)];
        let mut length = 0;
        while length < lines.len() {
            let read = self
                .stat
                .read_at(&mut lines[length..], length as u64)
                .context("reading /proc/stat")?;
            if read == 0 {
                break;
            }
            length += read;
        }
        let text = String::from_utf8_lossy(&lines[..length]);
        proc_stat::parse_some(&text, self.hertz, cpus)
            .context("/proc/stat has no times of this process's CPUs")
    }

    /// The counters now.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read any more.
    pub fn sample(&self) -> Result<Sample> {
        let cpu = self.cpu_times()?;
        let at = Instant::now();
        let own = self
            .own
            .iter()
            .filter_map(|&(pid, clock)| Some((pid, seconds(clock_gettime(clock).ok()?))))
            .collect();
        Ok(Sample {
            at,
            cpu,
            cpu_stall: stall(self.cpu.as_ref()),
            memory_stall: stall(self.memory.as_ref()),
            io_stall: stall(self.io.as_ref()),
            kernel: self.kernel.as_ref().and_then(KernelThreads::times),
            own,
            cpus: self.cpus,
            tick: 1.0 / self.hertz,
        })
    }
}

/// Stalls for memory of the control group whose limit binds, where there is one: the machine's own are few while a container
/// thrashes at its limit.
fn group_pressure() -> Option<File> {
    let group = tightest_group(&Root::machine())?;
    File::open(Path::new("/").join(group.folder).join("memory.pressure")).ok()
}

fn seconds(time: TimeSpec) -> f64 {
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

fn stall(file: Option<&File>) -> Option<Stall> {
    let mut buffer = [0_u8; 256];
    let length = file?.read_at(&mut buffer, 0).ok()?;
    pressure::parse(&String::from_utf8_lossy(&buffer[..length]))
}

impl Sample {
    /// What happened since `earlier`.
    pub fn since(&self, earlier: &Self) -> Interval {
        let seconds = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        // Never divides by nothing: two samples at once are a microsecond apart.
        let length = seconds.max(1e-6);
        let machine = length * self.cpus as f64;
        let unused = |times: &CpuTimes| {
            // Taken off twice, for it is in our processes' time too, it would hide as much of what others use.
            let interrupts = if times.interrupts_apart {
                times.interrupts
            } else {
                0.0
            };
            times.idle + times.iowait + times.steal + interrupts
        };
        let own: f64 = self
            .own
            .iter()
            .filter_map(|(pid, after)| {
                let before = earlier.own.iter().find(|(known, _)| known == pid)?.1;
                Some(after - before)
            })
            .sum();
        // From idle time, which tickless kernels keep exactly, not from busy time, which they sample.
        let used = machine - (unused(&self.cpu) - unused(&earlier.cpu));
        let kernel = self.kernel.as_ref().zip(earlier.kernel.as_ref());
        let kernel_cpu_seconds = kernel.map(|(after, before)| after.since(before));
        let foreign_cpu_seconds =
            (used - own - kernel_cpu_seconds.unwrap_or(0.0)).clamp(0.0, machine);
        let accounted = |times: &CpuTimes| {
            times.idle + times.iowait + times.interrupts + times.steal + times.busy
        };
        let share = |after: Option<Stall>, before: Option<Stall>, of: fn(Stall) -> f64| {
            Some(((of(after?) - of(before?)) / length).clamp(0.0, 1.0))
        };
        Interval {
            seconds,
            cpus: self.cpus,
            resolution: 2.0 * self.tick / machine,
            steal: ((self.cpu.steal - earlier.cpu.steal) / machine).clamp(0.0, 1.0),
            kernel_cpu_seconds,
            foreign_cpu_seconds,
            foreign: foreign_cpu_seconds / machine,
            unaccounted_cpu_seconds: machine - (accounted(&self.cpu) - accounted(&earlier.cpu)),
            cpu_pressure_some: share(self.cpu_stall, earlier.cpu_stall, |stall| stall.some),
            memory_pressure_full: share(self.memory_stall, earlier.memory_stall, |stall| {
                stall.full
            }),
            io_pressure_full: share(self.io_stall, earlier.io_stall, |stall| stall.full),
        }
    }
}

/// CPU seconds from which on the kernel's ticks, which sample who was busy, tell what nobody took. They are 1,000 ticks of 4 ms, which
/// where CPUs are half idle are off by 16 (binomial deviation): 1.6 % of the time.
const TOLD_FROM_CPU_SECONDS: f64 = 4.0;

/// The intervals of one server's load, without what nobody took: a CPU that goes idle and wakes up thousands of times a second, as
/// for a connection that waits for the disk, spends microseconds on it each time that are neither idle nor anybody's, and a
/// twentieth of the time may be gone by that (measured: one connection that commits, Linux 6.18 under KVM). Since who was
/// busy is sampled, all intervals together are asked how much it was, and less than four seconds of CPU time are left as they are. A CPU that
/// is never idle loses nothing in that way.
pub fn without_unaccounted(intervals: &[Interval]) -> Vec<Interval> {
    let all = |of: fn(&Interval) -> f64| intervals.iter().map(of).sum::<f64>();
    let machine = all(|interval| interval.seconds * interval.cpus as f64);
    if machine < TOLD_FROM_CPU_SECONDS {
        return intervals.to_vec();
    }
    let unaccounted = all(|interval| interval.unaccounted_cpu_seconds);
    let share = (unaccounted / machine).max(0.0);
    let net = |interval: &Interval| {
        let foreign = (interval.foreign - share).max(0.0);
        Interval {
            foreign,
            foreign_cpu_seconds: foreign * interval.seconds * interval.cpus as f64,
            ..interval.clone()
        }
    };
    intervals.iter().map(net).collect()
}

/// Whether something that is not part of the measurement took a share worth dropping the slice for.
pub fn disturbed(interval: &Interval, thresholds: &Thresholds) -> bool {
    let stalled = interval.memory_pressure_full.unwrap_or(0.0);
    interval.steal > thresholds.steal + interval.resolution
        || interval.foreign > thresholds.foreign + interval.resolution
        || stalled > thresholds.memory_full
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn sample(at: Instant, idle: f64, steal: f64, own: &[(u32, f64)]) -> Sample {
        Sample {
            at,
            cpu: CpuTimes {
                idle,
                steal,
                ..CpuTimes::default()
            },
            cpu_stall: Some(Stall {
                some: 0.0,
                full: 0.0,
            }),
            memory_stall: None,
            io_stall: None,
            kernel: None,
            own: own.to_vec(),
            cpus: 2,
            tick: 0.0,
        }
    }

    #[test]
    fn one_tick_of_a_short_interval_is_no_disturbance() {
        let start = Instant::now();
        let of = |milliseconds: u64, stolen: f64| {
            let length = milliseconds as f64 / 1e3;
            let [mut before, mut after] = [
                sample(start, 1.0, 0.0, &[]),
                sample(
                    start + Duration::from_millis(milliseconds),
                    1.0 + 2.0 * length - stolen,
                    stolen,
                    &[],
                ),
            ];
            before.tick = 0.01;
            after.tick = 0.01;
            disturbed(&after.since(&before), &Thresholds::default())
        };
        // A tenth of a second of two CPUs is twenty ticks.
        assert!(!of(100, 0.01) && !of(100, 0.03));
        assert!(of(100, 0.04));
        assert!(!of(1000, 0.11));
        assert!(of(1000, 0.13));
    }

    #[test]
    fn what_is_used_but_not_by_us_is_foreign() {
        let start = Instant::now();
        let before = sample(start, 10.0, 1.0, &[(1, 0.5), (2, 3.0)]);
        // One second of two CPUs: 0.5 s idle, 0.1 s stolen, our processes used 1.2 s, so others used 0.2 s.
        let after = sample(
            start + Duration::from_secs(1),
            10.5,
            1.1,
            &[(1, 1.0), (2, 3.7)],
        );
        let interval = after.since(&before);
        assert!(
            (interval.foreign_cpu_seconds - 0.2).abs() < 1e-9,
            "{interval:?}"
        );
        assert!((interval.foreign - 0.1).abs() < 1e-9);
        assert!((interval.steal - 0.05).abs() < 1e-9);
        let thresholds = |steal, foreign| Thresholds {
            steal,
            foreign,
            ..Thresholds::default()
        };
        assert!(disturbed(&interval, &thresholds(0.06, 0.09)));
        assert!(disturbed(&interval, &thresholds(0.04, 0.11)));
        assert!(!disturbed(&interval, &thresholds(0.06, 0.11)));
    }

    #[test]
    fn interrupts_are_not_taken_off_twice() {
        let start = Instant::now();
        let mut before = sample(start, 10.0, 0.0, &[(1, 0.5)]);
        let mut after = sample(start + Duration::from_secs(1), 10.0, 0.0, &[(1, 2.3)]);
        // Two busy CPUs for a second, of which ours took 1.8 s, 0.3 s of that in interrupts; others took 0.2 s.
        after.cpu.interrupts = 0.3;
        assert!((after.since(&before).foreign_cpu_seconds - 0.2).abs() < 1e-9);
        // The same where interrupts are timed apart: ours took 1.5 s beside them.
        for sample in [&mut before, &mut after] {
            sample.cpu.interrupts_apart = true;
        }
        after.own = vec![(1, 2.0)];
        assert!((after.since(&before).foreign_cpu_seconds - 0.2).abs() < 1e-9);
    }

    #[test]
    fn what_the_kernels_threads_do_is_not_foreign() {
        let start = Instant::now();
        let mut before = sample(start, 10.0, 0.0, &[(1, 0.5)]);
        let mut after = sample(start + Duration::from_secs(1), 10.5, 0.0, &[(1, 1.7)]);
        // One second of two CPUs: 0.5 s idle, ours 1.2 s; of the other 0.3 s a journal and a work queue used 0.25 s.
        assert!(disturbed(&after.since(&before), &Thresholds::default()));
        before.kernel = Some(KernelTimes::of(&[(40, 7.0)]));
        after.kernel = Some(KernelTimes::of(&[(40, 7.15), (41, 0.1)]));
        let interval = after.since(&before);
        assert!(
            (interval.foreign_cpu_seconds - 0.05).abs() < 1e-9,
            "{interval:?}"
        );
        assert_eq!(
            interval.kernel_cpu_seconds.map(|s| (s * 1e6).round()),
            Some(250_000.0)
        );
        assert!(!disturbed(&interval, &Thresholds::default()));
        // A process that takes as much beside it still is.
        after.cpu.idle -= 0.2;
        assert!(disturbed(&after.since(&before), &Thresholds::default()));
    }

    #[test]
    fn what_is_lost_between_idle_and_busy_is_nobodys() {
        let start = Instant::now();
        let at = |second: u64, idle: f64, busy: f64, own: f64| {
            let mut sample = sample(start + Duration::from_secs(second), idle, 0.0, &[(1, own)]);
            sample.cpu.busy = busy;
            sample
        };
        let between = |samples: [Sample; 3]| -> Vec<Interval> {
            let pairs = samples.windows(2);
            pairs.map(|pair| pair[1].since(&pair[0])).collect()
        };
        // Two seconds of two CPUs: ours used 0.7 s in each, 1.18 s of each were idle, and 0.12 s are nowhere. Ticks saw one of ours
        // less in the first second and one more in the other.
        let seconds = between([
            at(0, 10.0, 5.0, 3.0),
            at(1, 11.18, 5.6, 3.7),
            at(2, 12.36, 6.4, 4.4),
        ]);
        let is_disturbed = |interval: &Interval| disturbed(interval, &Thresholds::default());
        assert!(seconds.iter().all(is_disturbed), "{seconds:?}");
        let net = without_unaccounted(&seconds);
        assert!(!net.iter().any(is_disturbed), "{net:?}");
        // What a process took beside them stays: ticks see it.
        let beside = between([
            at(0, 10.0, 5.0, 3.0),
            at(1, 10.88, 5.9, 3.7),
            at(2, 11.76, 7.0, 4.4),
        ]);
        let net = without_unaccounted(&beside);
        assert!(net.iter().all(is_disturbed), "{net:?}");
        assert!((net[0].foreign_cpu_seconds - 0.3).abs() < 1e-9, "{net:?}");
        // Ticks of one second say too little.
        assert_eq!(without_unaccounted(&seconds[..1]), seconds[..1]);
        assert_eq!(without_unaccounted(&[]), []);
    }

    #[test]
    fn cpu_pressure_alone_disturbs_nobody() {
        let busy = Interval {
            seconds: 0.5,
            cpus: 2,
            cpu_pressure_some: Some(0.99),
            io_pressure_full: Some(0.6),
            ..Interval::default()
        };
        assert!(!disturbed(&busy, &Thresholds::default()));
        let swapping = Interval {
            memory_pressure_full: Some(0.2),
            ..busy
        };
        assert!(disturbed(&swapping, &Thresholds::default()));
    }

    #[test]
    fn a_process_that_ends_counts_for_nothing() {
        let start = Instant::now();
        let before = sample(start, 0.0, 0.0, &[(1, 0.0), (2, 9.0)]);
        let after = sample(start + Duration::from_secs(1), 2.0, 0.0, &[(1, 0.0)]);
        assert_eq!(after.since(&before).foreign_cpu_seconds, 0.0);
    }

    #[test]
    fn own_work_is_not_foreign_and_sampling_is_cheap() {
        let meter = DisturbanceMeter::new(Vec::new()).expect("Linux");
        let before = meter.sample().expect("readable");
        let start = Instant::now();
        let mut count = 0_u32;
        while start.elapsed() < Duration::from_millis(300) {
            count = count.wrapping_add(1);
        }
        std::hint::black_box(count);
        let after = meter.sample().expect("readable");
        let (_, mine_before) = before.own[0];
        let (_, mine_after) = after.own[0];
        assert!(mine_after > mine_before, "this process worked");
        let interval = after.since(&before);
        assert!(interval.foreign_cpu_seconds <= interval.seconds * interval.cpus as f64);
        let start = Instant::now();
        for _ in 0..100 {
            std::hint::black_box(meter.sample().expect("readable"));
        }
        // Loose, for tests share the machine; alone, a sample takes 20 µs and some 5 µs for each kernel thread.
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "{:?} for 100 samples",
            start.elapsed()
        );
    }
}
