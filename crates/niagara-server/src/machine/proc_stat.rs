//! CPU time of the whole machine, from `/proc/stat`.

/// CPU time since boot, of all CPUs together, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuTimes {
    /// Nothing to run.
    pub idle: f64,
    /// Nothing to run, and some task waits for a disk.
    pub iowait: f64,
    /// Interrupts, hard and soft.
    pub interrupts: f64,
    /// Whether the kernel times interrupts apart from the tasks they interrupt (CONFIG_IRQ_TIME_ACCOUNTING). One that
    /// does not leaves hard interrupts at 0, and the clocks of processes run on through all interrupts.
    pub interrupts_apart: bool,
    /// Time the hypervisor gave to others while there was something to run.
    pub steal: f64,
    /// User and system time.
    pub busy: f64,
}

/// The first line of `/proc/stat`, with `hertz` ticks per second.
pub(crate) fn parse(text: &str, hertz: f64) -> Option<CpuTimes> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    let mut seconds = [0.0; 8];
    for slot in &mut seconds {
        // Kernels before 2.6.11 have fewer columns; what is missing did not happen.
        match words.next() {
            Some(word) => *slot = word.parse::<u64>().ok()? as f64 / hertz,
            None => break,
        }
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = seconds;
    Some(CpuTimes {
        idle,
        iowait,
        interrupts: irq + softirq,
        interrupts_apart: irq > 0.0,
        steal,
        busy: user + nice + system,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_whole_machine() {
        let text = "cpu  15040 2884 5702 235127 766 10 60 20 0 0\ncpu0 6446 1362 2102 119806 95 0 11 6 0 0\n";
        let times = parse(text, 100.0).expect("a valid line");
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
        near(times.busy, 236.26);
        near(times.idle, 2351.27);
        near(times.iowait, 7.66);
        near(times.interrupts, 0.7);
        near(times.steal, 0.2);
        assert!(times.interrupts_apart);
        assert_eq!(parse("intr 5", 100.0), None);
    }

    #[test]
    fn a_kernel_without_clocks_for_interrupts_shows_no_hard_ones() {
        let times = parse(
            "cpu  406758 218 223839 233059 5338 0 49655 451 0 0\n",
            100.0,
        );
        assert!(!times.expect("a valid line").interrupts_apart);
    }
}
