//! `niagara doctor`: is this machine fit to measure on, and what to do about it.

use std::fmt::Write as _;

use console::Style;
use niagara_profile::kernel::{Access, Reach};
use niagara_report::{ink, number};
use niagara_server::machine::{Fingerprint, MachineState, Tools};
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::{Document, Printed};
use crate::ordinary_user::what_root_would_add;

/// Share of the CPUs taken by others that slices are still kept with.
const TOLERABLE: f64 = 0.05;
const GIB: u64 = 1 << 30;

/// How one thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Advice,
    Problem,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Check {
    /// What was looked at.
    name: &'static str,
    /// How it was found.
    state: State,
    /// What was found, in words.
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// What identical servers showed, and what follows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Prospect {
    /// Duels that were scored.
    pub duels: usize,
    /// Standard deviation of a duel's ln ratio.
    pub sd_duel: f64,
    /// Couples of such a duel.
    pub couples: u32,
    /// The difference that is seen 4 times in 5 in ten minutes, as a fraction; none where too few duels fit in.
    pub detectable_10_minutes: Option<f64>,
    /// The same in an hour.
    pub detectable_1_hour: Option<f64>,
}

/// The checklist, with everything it was made from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checklist<'a> {
    /// The machine.
    machine: &'a Fingerprint,
    /// What it does at the moment.
    now: &'a MachineState,
    /// Programs that are used where they are there.
    tools: &'a Tools,
    /// What was looked at, one by one.
    checks: Vec<Check>,
    /// With `--noise`: what identical servers showed; `null` where too few duels could be scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Option<Prospect>>,
}

impl Printed for Checklist<'_> {
    const DOCUMENT: Document = Document::Doctor;
}

impl<'a> Checklist<'a> {
    /// What these say.
    pub fn of(machine: &'a Fingerprint, now: &'a MachineState, tools: &'a Tools) -> Self {
        Self {
            machine,
            now,
            tools,
            checks: checks(machine, now, tools),
            noise: None,
        }
    }

    /// For people.
    pub fn text(&self, colour: bool) -> String {
        text(self.machine, &self.checks, colour)
    }
}

fn text(fingerprint: &Fingerprint, checks: &[Check], colour: bool) -> String {
    let style = |style: Style| style.force_styling(colour);
    let bold = style(Style::new().bold());
    let mut out = format!("{}\n\n", bold.apply_to(fingerprint.one_line()));
    for check in checks {
        let (word, word_style) = match check.state {
            State::Ok => ("ok", style(Style::new().color256(ink::GOOD))),
            State::Advice => ("advice", style(Style::new().color256(ink::BAD))),
            State::Problem => ("problem", style(Style::new().color256(ink::BAD).bold())),
        };
        // Writing into a String does not fail.
        let _ = writeln!(
            out,
            "  {}  {:<16}{}",
            word_style.apply_to(format!("{word:<7}")),
            check.name,
            check.found
        );
        if let Some(remedy) = &check.remedy {
            let _ = writeln!(out, "{:27}→ {remedy}", "");
        }
    }
    if let Some(text) = what_root_would_add(fingerprint) {
        let _ = writeln!(out, "\n  {text}");
    }
    let _ = writeln!(out, "\n{}", bold.apply_to(verdict(checks)));
    out
}

/// The machine, what stands in the way of measuring on it, and the verdict.
pub fn in_short(
    fingerprint: &Fingerprint,
    now: &MachineState,
    tools: &Tools,
    colour: bool,
) -> String {
    let problem = Style::new().color256(ink::BAD).bold().force_styling(colour);
    let checks = checks(fingerprint, now, tools);
    let mut out = format!("{}\n", fingerprint.one_line());
    for check in checks.iter().filter(|check| check.state == State::Problem) {
        let remedy = check.remedy.as_deref().unwrap_or("");
        let _ = writeln!(
            out,
            "  {}  {}: {} → {remedy}",
            problem.apply_to("problem"),
            check.name,
            check.found
        );
    }
    let _ = writeln!(out, "{} (niagara doctor tells more)", verdict(&checks));
    out
}

fn verdict(checks: &[Check]) -> String {
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    match (count(State::Problem), count(State::Advice)) {
        (0, 0) => "Fit to measure on.".to_owned(),
        (0, advice) => format!(
            "Fit to measure on; {} of advice.",
            number::count(advice, "piece")
        ),
        (1, _) => "One problem to solve before measuring.".to_owned(),
        (problems, _) => format!("{problems} problems to solve before measuring."),
    }
}

fn checks(machine: &Fingerprint, now: &MachineState, tools: &Tools) -> Vec<Check> {
    let mut list = Vec::new();
    cpus(machine, &mut list);
    quiet(machine, now, &mut list);
    memory(machine, now, &mut list);
    disk(machine, now, &mut list);
    limits(machine, &mut list);
    obtaining(tools, &mut list);
    profiling(machine, tools, &mut list);
    list
}

fn ok(name: &'static str, found: String) -> Check {
    Check {
        name,
        state: State::Ok,
        found,
        remedy: None,
    }
}

fn advice(name: &'static str, found: String, remedy: &str) -> Check {
    Check {
        name,
        state: State::Advice,
        found,
        remedy: Some(remedy.to_owned()),
    }
}

fn problem(name: &'static str, found: String, remedy: &str) -> Check {
    Check {
        name,
        state: State::Problem,
        found,
        remedy: Some(remedy.to_owned()),
    }
}

fn cpus(machine: &Fingerprint, list: &mut Vec<Check>) {
    let cpu = &machine.cpu;
    let found = format!(
        "{} on {} in {}, {}",
        number::count(cpu.threads, "CPU"),
        number::count(cpu.cores, "core"),
        number::count(cpu.sockets, "socket"),
        number::count(cpu.numa_nodes, "NUMA node"),
    );
    list.push(if cpu.threads < 2 {
        advice(
            "CPUs",
            found,
            "server and load share one CPU: judge by CPU time per transaction, not by rate",
        )
    } else {
        ok("CPUs", found)
    });
    if let Some(quota) = machine
        .limits
        .cpu_quota
        .filter(|quota| *quota < cpu.threads as f64)
    {
        list.push(advice(
            "CPU quota",
            format!("{quota:.1} CPUs' worth of time"),
            "a quota stops everything in bursts: give this control group whole CPUs (cpuset) instead",
        ));
    }
    let turbo = match cpu.turbo {
        Some(true) => ", turbo on",
        Some(false) => ", turbo off",
        None => "",
    };
    match cpu.governor.as_deref() {
        Some("performance") => list.push(ok("clock speed", format!("governor performance{turbo}"))),
        Some(governor) => list.push(advice(
            "clock speed",
            format!("governor {governor}{turbo}"),
            "cpupower frequency-set -g performance",
        )),
        None => list.push(ok(
            "clock speed",
            format!("not shown by this machine{turbo}"),
        )),
    }
    if let Some(source) = machine
        .system
        .clock_source
        .as_deref()
        .filter(|name| ["hpet", "acpi_pm", "jiffies"].contains(name))
    {
        list.push(advice(
            "clock source",
            source.to_owned(),
            "every time stamp is a slow read: boot with clocksource=tsc where the CPU allows",
        ));
    }
}

fn quiet(machine: &Fingerprint, now: &MachineState, list: &mut Vec<Check>) {
    let found = format!(
        "other processes use {:.0} % of the CPUs, load {:.1}",
        now.foreign * 100.0,
        now.load
    );
    let remedy =
        "stop what runs beside: slices that it disturbs count for less, so intervals are wider";
    list.push(match now.foreign {
        share if share > 4.0 * TOLERABLE => problem("quiet", found, remedy),
        share if share > TOLERABLE => advice("quiet", found, remedy),
        _ => ok("quiet", found),
    });
    if let Some(host) = &machine.system.virtualisation {
        let found = format!("{:.1} % ({host})", now.steal * 100.0);
        let remedy = "the host is shared: use dedicated CPUs, or measure at a quieter time";
        list.push(match now.steal {
            share if share > TOLERABLE => problem("stolen time", found, remedy),
            share if share > 0.01 => advice("stolen time", found, remedy),
            _ => ok("stolen time", found),
        });
    }
    if !machine.system.pressure {
        list.push(advice(
            "pressure",
            "not told by this kernel".to_owned(),
            "boot with psi=1: memory stalls can then be told from slow variants",
        ));
    }
}

fn memory(machine: &Fingerprint, now: &MachineState, list: &mut Vec<Check>) {
    let usable = machine.usable_memory();
    let mut found = format!(
        "{} available of {}",
        size(now.memory_available_bytes),
        size(usable)
    );
    if machine
        .limits
        .memory_bytes
        .is_some_and(|limit| limit < machine.memory.bytes)
    {
        found.push_str(" (limit of the control group)");
    }
    let remedy = "two servers are alive in a duel: free memory, or use --protocol pair";
    list.push(match now.memory_available_bytes.min(usable) {
        bytes if bytes < GIB => problem("memory", found, remedy),
        bytes if bytes < 2 * GIB => advice("memory", found, remedy),
        _ => ok("memory", found),
    });
    list.push(match machine.memory.thp.as_deref() {
        Some("never") => advice(
            "huge pages",
            "transparent ones are off".to_owned(),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, to try malloc=glibc-huge",
        ),
        mode => {
            let pool = match machine.memory.huge_pool_free_bytes() {
                0 => "none reserved".to_owned(),
                bytes => format!("{} reserved", size(bytes)),
            };
            ok(
                "huge pages",
                format!(
                    "transparent: {}, {pool}",
                    mode.unwrap_or("not in this kernel")
                ),
            )
        }
    });
}

fn disk(machine: &Fingerprint, now: &MachineState, list: &mut Vec<Check>) {
    let disk = &machine.disk;
    // Virtual disks call themselves spinning whatever they are made of.
    let rotational = disk
        .rotational
        .filter(|_| machine.system.virtualisation.is_none());
    let kind = match rotational {
        Some(true) => "spinning",
        Some(false) => "solid state",
        None => "",
    };
    let clones = match ["btrfs", "xfs"].contains(&disk.filesystem.as_str()) {
        true => "clones share blocks",
        false => "",
    };
    let free = format!("{} free", size(now.disk_free_bytes));
    // A fresh root does not tell its file system.
    let told = [free.as_str(), disk.filesystem.as_str(), kind, clones].map(str::to_owned);
    let told: Vec<String> = told.into_iter().filter(|part| !part.is_empty()).collect();
    let found = told.join(", ");
    list.push(if now.disk_free_bytes < 2 * GIB {
        problem(
            "disk",
            found,
            "each duel clones the data twice: free space, or name another folder with NIAGARA_WORK=",
        )
    } else if disk.filesystem == "tmpfs" {
        advice(
            "disk",
            found,
            "data in memory: nothing learnt here about writes holds on a disk",
        )
    } else if disk.filesystem == "overlay" {
        advice(
            "disk",
            found,
            "a container's overlay is slow to write: mount a volume and name it with NIAGARA_WORK=",
        )
    } else if rotational == Some(true) {
        advice(
            "disk",
            found,
            "expect write-heavy workloads to be noisy; read-only ones in memory are not affected",
        )
    } else if now.disk_free_bytes < 10 * GIB {
        advice(
            "disk",
            found,
            "each duel clones the data twice: enough for small data only",
        )
    } else {
        ok("disk", found)
    });
}

fn limits(machine: &Fingerprint, list: &mut Vec<Check>) {
    let limits = &machine.limits;
    match limits.open_files {
        Some(files) if files < 4096 => list.push(advice(
            "open files",
            format!("at most {files}"),
            "ulimit -n 65536 (LimitNOFILE= in systemd), or many connections fail",
        )),
        files => list.push(ok(
            "open files",
            files.map_or_else(|| "no limit".to_owned(), |files| format!("at most {files}")),
        )),
    }
    let locked = limits.locked_memory_bytes.map_or_else(
        || "no limit".to_owned(),
        |bytes| format!("at most {}", size(bytes)),
    );
    list.push(ok(
        "locked memory",
        if limits.root {
            format!("{locked} (root may exceed it)")
        } else {
            locked
        },
    ));
    if let Some(pids) = limits.pids.filter(|pids| *pids < 2048) {
        list.push(advice(
            "threads",
            format!("at most {pids}"),
            "raise pids.max of the control group, or many connections fail",
        ));
    }
    if let Some(kind) = &machine.system.container {
        list.push(ok("container", kind.clone()));
    }
}

fn obtaining(tools: &Tools, list: &mut Vec<Check>) {
    let missing: Vec<&str> = ["apt-get", "dpkg"]
        .into_iter()
        .filter(|program| !tools.has(program))
        .collect();
    if !missing.is_empty() {
        list.push(advice(
            "packages",
            format!("{} not found", missing.join(" and ")),
            "servers cannot be fetched here: name the path of a server's binary instead",
        ));
    } else if tools.keyrings.is_empty() {
        list.push(advice(
            "packages",
            "apt-get, dpkg, but no archive's keyring".to_owned(),
            "apt-get install debian-archive-keyring, to verify what is fetched",
        ));
    } else {
        list.push(ok("packages", "apt-get, dpkg, keyring".to_owned()));
    }
    list.push(if tools.has("patchelf") {
        ok("patchelf", "found".to_owned())
    } else {
        advice(
            "patchelf",
            "not found".to_owned(),
            "apt-get install patchelf, to run servers of newer releases",
        )
    });
    let mallocs = if tools.mallocs.is_empty() {
        "none in the system".to_owned()
    } else {
        tools.mallocs.join(", ")
    };
    list.push(ok(
        "allocators",
        format!("{mallocs}; memory allocators of fetched servers come with them"),
    ));
}

fn profiling(machine: &Fingerprint, tools: &Tools, list: &mut Vec<Check>) {
    let perf = &machine.perf;
    let counters = if perf.hardware_counters {
        "hardware counters"
    } else {
        "no hardware counters (clock sampling works)"
    };
    let check = match perf.paranoid {
        None => advice(
            "perf",
            "no perf events in this kernel".to_owned(),
            "profile elsewhere; measuring does not need them",
        ),
        Some(level) if level > 1 && !machine.limits.root => advice(
            "perf",
            format!("perf_event_paranoid is {level}"),
            "sysctl kernel.perf_event_paranoid=1, to profile as this user",
        ),
        // What counts is what the kernel grants: a container's may refuse even root.
        Some(_) if Access::probe().reach == Reach::Nothing => advice(
            "perf",
            "the kernel refuses perf events".to_owned(),
            "in a container allow perf_event_open (its seccomp profile, CAP_PERFMON), to profile; measuring does not need them",
        ),
        Some(_) if !tools.has("perf") => advice(
            "perf",
            format!("program not found, {counters}"),
            "apt-get install linux-perf, to profile",
        ),
        Some(_) => ok("perf", counters.to_owned()),
    };
    list.push(check);
    if !perf.tracefs {
        list.push(advice(
            "tracefs",
            "not mounted".to_owned(),
            "mount -t tracefs tracefs /sys/kernel/tracing, for lock and system call profiles",
        ));
    }
}

/// `512 MiB`, `23.4 GiB`.
fn size(bytes: u64) -> String {
    if bytes >= GIB {
        format!("{:.1} GiB", bytes as f64 / GIB as f64)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine about which there is nothing to say.
    fn good() -> (Fingerprint, MachineState, Tools) {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 4;
        machine.cpu.cores = 4;
        machine.cpu.sockets = 1;
        machine.cpu.numa_nodes = 1;
        machine.cpu.governor = Some("performance".to_owned());
        machine.memory.bytes = 16 * GIB;
        machine.memory.thp = Some("madvise".to_owned());
        machine.disk.filesystem = "xfs".to_owned();
        machine.disk.rotational = Some(false);
        machine.perf.paranoid = Some(1);
        machine.perf.hardware_counters = true;
        machine.perf.tracefs = true;
        machine.system.pressure = true;
        let now = MachineState {
            memory_available_bytes: 12 * GIB,
            disk_free_bytes: 100 * GIB,
            foreign: 0.01,
            ..MachineState::default()
        };
        let tools = Tools {
            programs: ["apt-get", "dpkg", "patchelf", "perf"]
                .map(str::to_owned)
                .to_vec(),
            mallocs: vec!["jemalloc".to_owned()],
            keyrings: vec!["/usr/share/keyrings/debian-archive-keyring.gpg".into()],
        };
        (machine, now, tools)
    }

    #[test]
    fn a_good_machine_is_fit() {
        let (machine, now, tools) = good();
        let text = Checklist::of(&machine, &now, &tools).text(false);
        assert!(text.ends_with("\nFit to measure on.\n"), "{text}");
        assert!(
            text.contains(
                "  ok       CPUs            4 CPUs on 4 cores in 1 socket, 1 NUMA node\n"
            ),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "no colour was asked for");
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_do() {
        let (mut machine, mut now, mut tools) = good();
        machine.cpu.governor = Some("powersave".to_owned());
        machine.system.virtualisation = Some("KVM".to_owned());
        machine.limits.cpu_quota = Some(1.5);
        now.foreign = 0.5;
        now.steal = 0.1;
        now.disk_free_bytes = GIB;
        tools.programs.retain(|program| program != "patchelf");
        let text = Checklist::of(&machine, &now, &tools).text(false);
        for part in [
            "advice   clock speed     governor powersave\n                           → cpupower",
            "problem  quiet           other processes use 50 % of the CPUs",
            "problem  stolen time     10.0 % (KVM)",
            "problem  disk            1.0 GiB free",
            "advice   CPU quota       1.5 CPUs' worth",
            "→ apt-get install patchelf",
            "3 problems to solve before measuring.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn json_holds_what_was_read_and_what_was_concluded() {
        let (machine, now, tools) = good();
        let value =
            serde_json::to_value(Checklist::of(&machine, &now, &tools)).expect("plain data");
        assert_eq!(value["machine"]["cpu"]["threads"], 4);
        assert_eq!(value["checks"][0]["name"], "CPUs");
        assert_eq!(value["checks"][0]["state"], "ok");
        assert!(value["checks"][0].get("remedy").is_none());
        assert!(value.get("noise").is_none());
    }
}
