//! CPU time of the kernel's own threads: writeback, journals, block and network work queues.

use std::fs;
use std::path::{Path, PathBuf};

/// The parent of all kernel threads; within a container this number may be anybody's, so its name is checked.
const KTHREADD: i32 = 2;
/// Threads beyond this are not read: at some 5 µs each they take as long as a pause between slices then. Machines with some hundred
/// CPUs have fewer.
const MAX_THREADS: usize = 8192;

/// Where the counters of kernel threads are.
#[derive(Debug)]
pub(crate) struct KernelThreads {
    proc: PathBuf,
    /// Those that work off soft interrupts, where these are accounted for as interrupts already.
    soft_interrupts: Vec<i32>,
}

/// CPU seconds used so far by every kernel thread that is alive, by process number, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelTimes(Vec<(i32, f64)>);

impl KernelThreads {
    /// `None` where they cannot be seen: in a container, or with a kernel built without scheduler statistics.
    /// `interrupts_apart`: the kernel times interrupts apart from tasks.
    pub fn find(proc: &Path, interrupts_apart: bool) -> Option<Self> {
        let mut threads = Self {
            proc: proc.to_owned(),
            soft_interrupts: Vec::new(),
        };
        if threads.name(KTHREADD)? != "kthreadd" {
            return None;
        }
        let mut all = threads.pids()?;
        all.retain(|pid| {
            interrupts_apart
                && threads
                    .name(*pid)
                    .is_some_and(|name| name.starts_with("ksoftirqd/"))
        });
        threads.soft_interrupts = all;
        (!threads.times()?.0.is_empty()).then_some(threads)
    }

    fn name(&self, pid: i32) -> Option<String> {
        let text = fs::read_to_string(self.proc.join(format!("{pid}/comm"))).ok()?;
        Some(text.trim_end().to_owned())
    }

    fn pids(&self) -> Option<Vec<i32>> {
        let children = self
            .proc
            .join(format!("{KTHREADD}/task/{KTHREADD}/children"));
        let text = fs::read_to_string(children).ok()?;
        let pids = text.split_ascii_whitespace();
        Some(pids.filter_map(|word| word.parse().ok()).collect())
    }

    /// Their counters now; `None` when there are too many of them to read, or none to be read.
    pub fn times(&self) -> Option<KernelTimes> {
        let pids = self.pids()?;
        if pids.len() > MAX_THREADS {
            return None;
        }
        // A work queue's thread may end between being listed and being read.
        let mut times: Vec<(i32, f64)> = pids
            .into_iter()
            .filter(|pid| !self.soft_interrupts.contains(pid))
            .filter_map(|pid| Some((pid, self.seconds(pid)?)))
            .collect();
        times.sort_unstable_by_key(|(pid, _)| *pid);
        Some(KernelTimes(times))
    }

    /// The first figure of `schedstat`: nanoseconds on a CPU, exact where ticks are sampled.
    fn seconds(&self, pid: i32) -> Option<f64> {
        let text = fs::read_to_string(self.proc.join(format!("{pid}/schedstat"))).ok()?;
        let nanoseconds: u64 = text.split_ascii_whitespace().next()?.parse().ok()?;
        Some(nanoseconds as f64 / 1e9)
    }
}

impl KernelTimes {
    #[cfg(test)]
    pub(crate) fn of(times: &[(i32, f64)]) -> Self {
        Self(times.to_vec())
    }

    /// CPU seconds since `earlier`. A thread that began since counts whole, one that ended since for nothing.
    pub fn since(&self, earlier: &Self) -> f64 {
        self.0
            .iter()
            .map(|(pid, after)| {
                let before = earlier
                    .0
                    .binary_search_by_key(pid, |(known, _)| *known)
                    .map_or(0.0, |index| earlier.0[index].1);
                // A number that was given again begins from nothing.
                if *after >= before {
                    after - before
                } else {
                    *after
                }
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proc(threads: &[(i32, &str, &str)]) -> tempfile::TempDir {
        let proc = tempfile::tempdir().expect("a temporary folder");
        let write = |path: String, text: &str| {
            let path = proc.path().join(path);
            fs::create_dir_all(path.parent().expect("not the root")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("2/comm".into(), "kthreadd\n");
        let children: Vec<String> = threads.iter().map(|(pid, ..)| pid.to_string()).collect();
        write("2/task/2/children".into(), &children.join(" "));
        for (pid, name, counters) in threads {
            write(format!("{pid}/comm"), name);
            if !counters.is_empty() {
                write(format!("{pid}/schedstat"), counters);
            }
        }
        proc
    }

    #[test]
    fn threads_are_listed_with_their_time() {
        // Soft interrupts are counted elsewhere; the last one ended in the meantime.
        let proc = proc(&[
            (12, "jbd2/vda-8\n", "1500000000 7 3\n"),
            (4, "kworker/1:0H-kblockd\n", "250000000 1 1\n"),
            (16, "ksoftirqd/0\n", "900000000 1 1\n"),
            (30, "kworker/u8:1\n", ""),
        ]);
        let threads = KernelThreads::find(proc.path(), true).expect("there");
        let times = threads.times().expect("readable");
        assert_eq!(times, KernelTimes::of(&[(4, 0.25), (12, 1.5)]));
        let threads = KernelThreads::find(proc.path(), false).expect("there");
        let times = threads.times().expect("readable");
        assert_eq!(times, KernelTimes::of(&[(4, 0.25), (12, 1.5), (16, 0.9)]));
    }

    #[test]
    fn a_process_of_that_number_that_is_not_the_kernels_has_none() {
        let proc = proc(&[(12, "jbd2/vda-8\n", "1500000000 7 3\n")]);
        fs::write(proc.path().join("2/comm"), "bash\n").expect("written");
        assert!(KernelThreads::find(proc.path(), true).is_none());
        assert!(KernelThreads::find(Path::new("/nowhere"), true).is_none());
    }

    #[test]
    fn threads_that_begin_and_end_are_counted_as_far_as_they_are_known() {
        let before = KernelTimes::of(&[(4, 1.0), (5, 9.0), (7, 3.0)]);
        // 5 ended; 6 began; 7 is another one by that number.
        let after = KernelTimes::of(&[(4, 1.5), (6, 0.25), (7, 0.125)]);
        assert!((after.since(&before) - 0.875).abs() < 1e-12);
        assert_eq!(before.since(&before), 0.0);
    }

    #[test]
    fn this_machines_threads_are_seen_or_known_not_to_be() {
        let Some(threads) = KernelThreads::find(Path::new("/proc"), false) else {
            eprintln!("skipped: kernel threads cannot be seen here");
            return;
        };
        let before = threads.times().expect("readable");
        let after = threads.times().expect("readable");
        assert!(after.since(&before) >= 0.0);
    }
}
