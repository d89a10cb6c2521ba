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
    let (name, times) = line(text.lines().next()?, hertz)?;
    (name == "cpu").then_some(times)
}

/// The same of some CPUs, from their own lines.
pub(crate) fn parse_some(text: &str, hertz: f64, cpus: &[usize]) -> Option<CpuTimes> {
    let is_one = |name: &str| {
        let number = name.strip_prefix("cpu").and_then(|text| text.parse().ok());
        number.is_some_and(|number: usize| cpus.contains(&number))
    };
    let lines = text.lines().map_while(|text| line(text, hertz));
    let mut found = lines
        .filter(|(name, _)| is_one(name))
        .map(|(_, times)| times);
    let first = found.next()?;
    Some(found.fold(first, |sum, one| CpuTimes {
        idle: sum.idle + one.idle,
        iowait: sum.iowait + one.iowait,
        interrupts: sum.interrupts + one.interrupts,
        interrupts_apart: sum.interrupts_apart || one.interrupts_apart,
        steal: sum.steal + one.steal,
        busy: sum.busy + one.busy,
    }))
}

/// A line of CPU times: whose they are, and they.
fn line(text: &str, hertz: f64) -> Option<(&str, CpuTimes)> {
    let mut words = text.split_ascii_whitespace();
    let name = words.next().filter(|name| name.starts_with("cpu"))?;
    let mut seconds = [0.0; 8];
    for slot in &mut seconds {
        // Kernels before 2.6.11 have fewer columns; what is missing did not happen.
        match words.next() {
            Some(word) => *slot = word.parse::<u64>().ok()? as f64 / hertz,
            None => break,
        }
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = seconds;
    let times = CpuTimes {
        idle,
        iowait,
        interrupts: irq + softirq,
        interrupts_apart: irq > 0.0,
        steal,
        busy: user + nice + system,
    };
    Some((name, times))
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
    fn some_cpus_are_those_lines_alone() {
        let text = "cpu  600 0 0 60 0 0 0 0\ncpu0 100 0 0 10 0 0 0 0\ncpu1 200 0 0 20 0 1 0 0\n\
                    cpu12 300 0 0 30 0 0 0 0\nintr 5\ncpu1 7\n";
        let times = parse_some(text, 100.0, &[1, 12]).expect("both are there");
        assert!((times.busy - 5.0).abs() < 1e-9, "{times:?}");
        assert!((times.idle - 0.5).abs() < 1e-9, "{times:?}");
        assert!(times.interrupts_apart);
        assert_eq!(parse_some(text, 100.0, &[2]), None);
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
