//! The settings of a deployed server's process beside its environment, as systemd has them.

use niagara_model::Deployment;
use niagara_settings::{ProcessSettings, Scheduling, format_cpu_list};

/// A setting of the process.
pub(crate) struct Directive {
    /// Its line of the drop-in, which `systemctl show` prints so, too.
    pub line: String,
    /// What `systemctl show` prints where that is something else.
    shown: Option<String>,
    /// What stands above the line.
    pub comment: Option<String>,
    /// The field of the process's settings that it is, which a lever sets.
    pub setting: Option<&'static str>,
    /// What it is called among the parts of a drop-in: `scheduling policy`; nothing of what follows from another part.
    pub part: Option<&'static str>,
    /// What it is called with its value where it cannot be set: `the niceness -5`.
    pub in_words: Option<String>,
}

impl Directive {
    /// What `systemctl show` prints.
    pub fn shown(self) -> String {
        self.shown.unwrap_or(self.line)
    }
}

/// The settings of the process. What is no line of a drop-in has its reason here.
pub(crate) fn directives(variant: &Deployment) -> Vec<Directive> {
    let ProcessSettings {
        server_cpus,
        scheduling,
        // In the environment: what a malloc is asked by, and the libraries that are preloaded.
        malloc: _,
        huge_pages_heap: _,
        huge_pages_text: _,
        environment: _,
        // In the option file; it needs a limit, below.
        lock_memory: _,
        // The application's, whose unit nobody knows: README.md tells them.
        client_cpus: _,
        transport: _,
    } = &variant.runtime;
    let cpus = server_cpus.as_deref().map(|cpus| affinity(cpus, variant));
    let scheduling = scheduling.map(policy);
    let limits = variant.limits.iter().map(limit);
    // By default systemd lets a service lock 8 MiB.
    let memory = locks_memory(variant).then(|| Directive {
        line: "LimitMEMLOCK=infinity".to_owned(),
        shown: None,
        comment: Some("The server locks memory: huge pages, or all of it.".to_owned()),
        setting: None,
        part: None,
        in_words: None,
    });
    let all = cpus.into_iter().chain(scheduling);
    all.chain(memory).chain(limits).collect()
}

fn affinity(cpus: &[usize], variant: &Deployment) -> Directive {
    let cpus = format_cpu_list(cpus).replace(',', " ");
    Directive {
        line: format!("CPUAffinity={cpus}"),
        shown: None,
        comment: Some(format!(
            "CPU numbers of the machine it was measured on ({}): where CPUs are others, work them out again.",
            variant.machine
        )),
        setting: Some("server_cpus"),
        part: Some("the CPUs it runs on"),
        in_words: Some(format!("the CPUs {cpus}")),
    }
}

fn policy(scheduling: Scheduling) -> Directive {
    let (line, shown, in_words) = match scheduling {
        // A policy is printed as the number that the kernel has for it (sched.h).
        Scheduling::Batch => (
            "CPUSchedulingPolicy=batch".to_owned(),
            Some("CPUSchedulingPolicy=3".to_owned()),
            "the scheduling policy batch".to_owned(),
        ),
        Scheduling::Nice(nice) => (format!("Nice={nice}"), None, format!("the niceness {nice}")),
    };
    Directive {
        line,
        shown,
        comment: None,
        setting: Some("scheduling"),
        part: Some("scheduling policy"),
        in_words: Some(in_words),
    }
}

fn limit((name, least): (&String, &u64)) -> Directive {
    Directive {
        line: format!("{name}={least}"),
        shown: None,
        comment: Some("Where the unit allows more already, leave this line out.".to_owned()),
        setting: None,
        part: Some("its limits"),
        in_words: Some(format!("the limit {name}={least}")),
    }
}

/// Whether the server locks memory.
fn locks_memory(variant: &Deployment) -> bool {
    variant.huge_pages || variant.config.contains_key("memlock")
}
