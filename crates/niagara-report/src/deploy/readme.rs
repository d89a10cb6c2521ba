//! How to apply, to check and to undo it.

use std::fmt::Write;

use niagara_model::{
    CpuPlacement, DeployMalloc, Follows, TargetSize, UNPROVEN_OVER_TCP, remains_over_socket,
};
use niagara_settings::{Scheduling, TransportKind, format_cpu_list};

use super::{
    ARCHIVE, DeployInput, HUGE_PAGES, MAIN, PAGES_BEFORE, PLACE, RECIPE, TEXT_LIBRARY,
    TEXT_LIBRARY_PLACE, host, option_file, plugins, socket, statements, unit,
};
use crate::applying::{scheduler_in_short, scheduler_of};
use crate::host::{TRANSPARENT, transparent_pages};
use crate::number::{self, capital};
use crate::wording::{checks_told, paragraph};

/// Variables whose own names begin with `skip_`: of all others `skip_x` switches `x` off.
const SKIPS: [&str; 8] = [
    "skip_external_locking",
    "skip_name_resolve",
    "skip_networking",
    "skip_parallel_replication",
    "skip_replica_start",
    "skip_replication",
    "skip_show_database",
    "skip_slave_start",
];

/// The variable in which an option shows, and whether the option switches it off: `skip_log_bin` shows in `log_bin`.
fn shown_as(option: &str) -> (String, bool) {
    let name = option.replace('-', "_").to_ascii_lowercase();
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    match name.strip_prefix("skip_") {
        Some(off) if !SKIPS.contains(&name) => (off.to_owned(), true),
        _ if name == "memlock" => ("locked_in_memory".to_owned(), false),
        _ => (name.to_owned(), false),
    }
}

/// Whether a variable is an amount of memory or of disk, or a number of things that are kept: a server may well have more of it
/// than the one that was measured.
fn is_size(name: &str) -> bool {
    let name = shown_as(name).0;
    match name.as_str() {
        "innodb_redo_log_capacity"
        | "net_buffer_length"
        | "table_definition_cache"
        | "table_open_cache"
        | "temptable_max_ram" => true,
        "thread_pool_size" => false,
        other => other.ends_with("_size"),
    }
}

/// Variables whose values are for a number of CPUs, where the study does not say so.
const COUNTS: [&str; 4] = [
    "innodb_buffer_pool_instances",
    "innodb_thread_concurrency",
    "key_cache_segments",
    "thread_pool_size",
];

/// What to do on a machine with another number of CPUs; nothing where all is right on any. What was worked out for the machine
/// that it goes to is told apart from what is still for the measured one.
fn other_cpus(input: &DeployInput) -> Option<String> {
    let variant = &input.variant;
    let sizes = variant.sizes.iter().filter(|size| {
        size.follows == Follows::Cpus && variant.config.contains_key(&size.variable)
    });
    let sizes: Vec<&TargetSize> = sizes.collect();
    let measured = variant.cpus.map(u64::from);
    let measured = measured.or_else(|| sizes.first().map(|size| size.here));
    let elsewhere = sizes.iter().copied().find_map(target_size);
    let elsewhere = elsewhere.filter(|cpus| Some(*cpus) != measured);
    let (resized, known): (Vec<&TargetSize>, Vec<&TargetSize>) = (sizes.iter().copied())
        .partition(|size| elsewhere.is_some() && target_size(size) == elsewhere);
    let names = variant.config.keys().map(String::as_str);
    let counts = names.filter(|name| {
        let shown = shown_as(name).0;
        let is_known = sizes.iter().any(|size| size.variable == *name);
        !is_known && COUNTS.contains(&shown.as_str())
    });
    let counts: Vec<&str> = counts.collect();
    let (mut process, mut application) = (Vec::new(), Vec::new());
    for placement in variant.placements() {
        match placement {
            CpuPlacement::ServerCpus => process.push("CPUAffinity"),
            CpuPlacement::MallocArenas => process.push(CpuPlacement::ARENAS),
            CpuPlacement::ClientCpus => application.push("CPUAffinity"),
        }
    }
    let again = |sizes: &[&TargetSize]| {
        let names = sizes.iter().map(|size| size.variable.as_str());
        let names: Vec<&str> = names.collect();
        remedy(
            &names,
            "make these files again, in the study's folder (the one above this): `niagara report . --format files --cpus N`",
        )
    };
    let in_proportion = format!("change the value in {} in proportion", option_file::NAME);
    let deleted = format!("delete from {}", unit::NAME);
    let rest = [
        again(&known),
        remedy(&counts, &in_proportion),
        remedy(&process, &deleted),
        remedy(&application, "leave it out of the application's unit"),
    ];
    let count = |cpus: u64| number::count(cpus as usize, "CPU");
    let of_measured = measured.map_or("the CPUs of the machine above".to_owned(), count);
    let first = match elsewhere {
        Some(cpus) => format!("These files are for {}.", count(cpus)),
        None => format!("These files are for {of_measured}."),
    };
    let second = format!("The following is still for {of_measured}, as measured.");
    let (first, second) = match elsewhere {
        Some(_) => (
            unless_alike(&first, &again(&resized)),
            unless_alike(&second, &rest.concat()),
        ),
        None => (unless_alike(&first, &rest.concat()), None),
    };
    let told: Vec<String> = first.into_iter().chain(second).collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// What to do about batch scheduling where the kernel's scheduler is another one than it was measured with.
fn other_kernel(input: &DeployInput) -> String {
    let is_alone = input.variant.built.is_none() && unit::shown(&input.variant).len() == 1;
    format!(
        "   `uname -r` prints the kernel's release. {}. To leave it out, {}.",
        capital(&scheduler_of(&input.variant)),
        match is_alone {
            true => "skip this step, and what \"Check\" and \"Undo\" say of it".to_owned(),
            false => format!("delete its line from {} first", unit::NAME),
        }
    )
}

/// The size of the machine that a value was worked out for, where that was told.
fn target_size(size: &TargetSize) -> Option<u64> {
    size.target.as_ref().map(|target| target.size)
}

/// A line of what is to be done about these; nothing where there are none.
fn remedy(names: &[&str], what: &str) -> String {
    match names.is_empty() {
        true => String::new(),
        false => format!("- `{}`: {what}.\n", names.join("`, `")),
    }
}

/// For which CPUs something is, and what to do where the server has others.
fn unless_alike(is_for: &str, remedies: &str) -> Option<String> {
    (!remedies.is_empty()).then(|| {
        format!(
            "**{is_for}** Where `nproc` on the server prints another number, do this before you copy:\n\n{remedies}"
        )
    })
}

/// Why the socket comes first: its gain would hide that the rest brings nothing.
const ONE_AT_A_TIME: &str = "Where the application was on TCP until now: \"Check\" first, for some days. Then take the figures of \"Before\" again, over the \
                             socket, and go on here. Changed together, the socket's gain hides what the rest does.";

/// What of the check is about the server's changes alone.
const AFTER_SOCKET_ALONE: &str = "After the socket alone nothing of the server has changed: begin at \"How much it helps\", with the commands of \"Before\".";

/// For the person who installs it.
pub fn readme(input: &DeployInput) -> String {
    let is_alone = input.is_socket_alone();
    let first = if is_alone { socket::ALONE } else { "" };
    let mut page = format!(
        "# Changes found by Niagara for {}\n\n{first}{}\n\n",
        input.server, input.evidence
    );
    if input.variant.brings_socket() && !is_alone {
        let remains = remains_over_socket(input.over_socket.as_deref());
        page.push_str(&format!("**{remains}**\n\n**{UNPROVEN_OVER_TCP}**\n\n"));
    }
    if let Some(kernel) = scheduler_in_short(&input.variant) {
        page.push_str(&format!("**{kernel}**\n\n"));
    }
    page.extend(older_build(input));
    if let Some(risk) = &input.risk {
        let (first, notes) = risk.split_once('\n').unwrap_or((risk, ""));
        page.push_str(&format!("**Risk.** {first}\n\n"));
        page.extend(notes.lines().map(|note| format!("- {note}\n")));
        if !notes.is_empty() {
            page.push('\n');
        }
    }
    page.extend(no_more_updates(input));
    page.push_str(match (is_alone, has_options(input)) {
        (true, _) => {
            "**This was measured on one machine with one workload.** Elsewhere the gain may be smaller, absent or negative: try it with a test copy \
             of the application first, and measure again."
        }
        (false, true) => {
            "**This was measured on one machine with one workload**, and sizes and counts are for its memory and its CPUs. Elsewhere the \
             gains may be smaller, absent or negative."
        }
        (false, false) => {
            "**This was measured on one machine with one workload.** Elsewhere the gains may be smaller, absent or negative."
        }
    });
    if !is_alone {
        page.push_str(TRY_FIRST);
    }
    if let Some(conditions) = &input.conditions {
        page.push_str(&format!(" It was measured with {conditions}."));
    }
    page.push_str("\n\n");
    page.extend(checked(input));
    let mut out = Sections(page);
    out.rungs(input);
    if is_alone {
        out.line(socket::sections_alone(input).trim_end());
        return out.0;
    }
    out.overrides(input);
    out.apply(input);
    if !input.variant.brings_socket() {
        out.application(input);
    }
    out.check(input);
    out.undo(input);
    out.0
}

/// Whether it was checked: whoever installs it has this page alone.
fn checked(input: &DeployInput) -> Option<String> {
    let told = checks_told(&input.checks)?;
    let all_done = input.checks.iter().all(|check| check.passed.is_some());
    Some(match all_done {
        true => format!("Checked: {told}\n\n"),
        false => format!("**Not all of it could be checked.** {told}\n\n"),
    })
}

/// What stands first where the built server is of an older release than the one that it takes the place of.
fn older_build(input: &DeployInput) -> Option<String> {
    let releases = input.variant.built.as_ref()?.releases.as_ref()?;
    let newer = releases.newer_beside()?;
    Some(format!(
        "**The built server is {}, an older release than {newer}, which it was measured against.** What was fixed between \
         them is missing, security fixes among it; the gain is that of two releases, too; and a server that is older than the \
         one that wrote its data may refuse them{}. `niagara server build {} --refresh-source` asks the archive for the newer \
         source (a tree of your own: `--source`); then measure again.\n\n",
        releases.built,
        match input.is_mariadb() {
            true => "",
            false => " (not within an LTS series of MySQL)",
        },
        input.server
    ))
}

/// What a built server means for the years to come.
fn no_more_updates(input: &DeployInput) -> Option<String> {
    input.variant.built.as_ref()?;
    Some(format!(
        "**The package's updates no longer reach the running server**, whatever `apt` says: the drop-in starts the one below {PLACE}. \
         Undo it before the package goes to another series, or the distribution is upgraded. A profile of AppArmor's for the packaged \
         binary (Ubuntu has one) does not confine this one.\n\n"
    ))
}

/// Whether a malloc is the C library's, which every process has: that it is there proves nothing.
fn is_c_library(malloc: &DeployMalloc) -> bool {
    malloc.soname.rsplit('/').next() == Some("libc.so.6")
}

/// Variables that show in no `SHOW VARIABLES`, for they are options of the start alone.
fn is_shown(name: &str) -> bool {
    let name = shown_as(name).0;
    !name.starts_with("performance_schema_consumer_") && name != "performance_schema_instrument"
}

/// Whether transactions on tables in this engine are whole or not there at all, whatever happens to the server.
fn is_transactional(engine: &str) -> bool {
    ["InnoDB", "ROCKSDB"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(engine))
}

/// What the steps begin with that the built server alone needs.
const BUILD: &str = "*(build)*";

/// Where changes of a server are tried before, and what that shows.
const TRY_FIRST: &str = " Measure again on a test server, or try it on a replica first: that shows that the server takes the files, starts and \
    keeps up. Without the application's traffic a replica's figures say nothing of the gain. With one server alone, apply at a quiet hour, \
    look at the application afterwards, and have \"Undo\" at hand.";

/// Where the steps keep what the variables were before.
const VARIABLES_BEFORE: &str = "variables-before";

struct Sections(String);

impl Sections {
    fn rungs(&mut self, input: &DeployInput) {
        if input.rungs.is_empty() {
            return;
        }
        self.line("## What is in it\n");
        for rung in &input.rungs {
            let why = paragraph(&rung.why);
            self.line(format!("- **{}**: {}. {why}", rung.title, rung.effect).trim_end());
        }
        self.line(
            "\n× 1.10 is 10 % more. Brackets: in that run the gain was at least the lower figure, with 95 % confidence or more; for latency and CPU time, lower is \
             better: at most the upper figure. n: duels behind the figure; a duel starts both servers afresh and loads them in turn. Only what is called \"proven\" was shown by duels of its own.\n",
        );
        if let Some([totals, levers]) = &input.slices {
            self.line(format!(
                "Single levers were measured in slices of {levers}, beside those that were kept or undecided then; totals in slices of \
                 {totals}. **The totals are the figures to quote.**\n"
            ));
        }
        let is_one_beside_socket = input.rungs.len() == 2 && input.variant.brings_socket();
        if let Some(effect) = input.socket_alone.as_ref().filter(|_| is_one_beside_socket) {
            self.line(format!(
                "The least that can be done is the socket alone: {effect}. It restarts no server (\"In the application\").\n"
            ));
        } else if input.rungs.len() > 1 && !input.variant.config.is_empty() {
            self.line(format!(
                "To leave a change out, delete its lines in {}{}: they stand beneath its name. What the others bring without it was \
                 not measured{}.\n",
                match has_unit(input) {
                    true => format!("{} or ", unit::NAME),
                    false => String::new(),
                },
                option_file::NAME,
                match &input.socket_alone {
                    Some(effect) => format!(
                        "; the socket alone was, {effect}, which restarts no server (\"In the application\")"
                    ),
                    None => String::new(),
                }
            ));
        }
        for remark in &input.variant.remarks {
            self.line(format!("{remark}\n"));
        }
        if let Some(left_out) = &input.variant.left_out_for {
            self.line(format!("{left_out}\n"));
        }
    }

    /// What becomes of the user's own lines.
    fn overrides(&mut self, input: &DeployInput) {
        let Some(start) = &input.variant.start else {
            return;
        };
        self.line("## What it changes of your configuration\n");
        self.line(format!(
            "It is a difference against {}, which stays as it is: what is not named here is not touched.\n",
            start.from
        ));
        for (name, value) in &input.variant.config {
            let to = match value.is_empty() {
                true => format!("`{name}`"),
                false => format!("`{name} = {value}`"),
            };
            self.line(match start.overrides.get(name) {
                None if start.restated.contains(name) => {
                    format!("- {to} is what SET GLOBAL made it, which a restart forgets: it is part of what was measured")
                }
                Some(there) => format!("- {to} {}", option_file::overrides(there)),
                None => format!("- {to} is new: your configuration does not say it"),
            });
        }
        if input.variant.config.is_empty() {
            self.line("- no variable");
        }
        for held_back in &start.held_back {
            self.line(format!("- {held_back}"));
        }
        if let Some((main, _)) = input
            .including()
            .filter(|(main, _)| !main.starts_with("/etc/"))
        {
            self.line(format!(
                "\n**{main} has to be the file that the server reads.** Where it is a copy, do the same with the original in its place."
            ));
        }
        self.line("");
    }

    fn apply(&mut self, input: &DeployInput) {
        let service = input.service();
        let (config, process) = (has_options(input), has_unit(input));
        let mut step = Numbers(0);
        self.line("## Before\n");
        if input.own_place().is_none() {
            self.line(format!(
                "Where you are root and there is no `sudo`, leave it out. Where root has a password in the server, write `sudo {client} -p` for `sudo {client}` in the commands below{}.\n",
                match input.variant.built.is_some() && !input.is_mariadb() {
                    true => ", except before `--defaults-file`",
                    false => "",
                },
                client = input.client()
            ));
        }
        if input.variant.brings_socket() {
            self.line(socket::is_used(input));
        }
        if let Some(remedies) = other_cpus(input) {
            self.line(remedies);
        }
        // Into a folder that is there `scp` would copy `deploy`, beside the files of an earlier round.
        self.line(
            "Copy this folder to the server's machine, here called SERVER. From the study's folder, the one above this: `ssh SERVER \
             test ! -e niagara-deploy && scp -r deploy SERVER:niagara-deploy`. Where that copies nothing, an earlier round's folder is \
             there: do the \"Undo\" in it, or rename it to keep that round; delete it if nothing of it was applied. Work in the new one: `ssh SERVER`, then `cd niagara-deploy`. \
             Where Niagara ran on the server itself, `test ! -e ~/niagara-deploy && cp -r deploy ~/niagara-deploy` does it.\n",
        );
        self.line(match input.own_place() {
            None if config && !has_known_place(input) => format!(
                "Paths are those of Debian's and Ubuntu's packages ({service}.service). On Red Hat's the option \
                 file goes to /etc/my.cnf.d/{}. Where /etc/my.cnf there has no line `!includedir`, add \
                 `!include /etc/my.cnf.d/{}` at its end, and take that out to undo it.\n",
                match input.is_mariadb() {
                    true => "",
                    false => " and the service may be called mysqld",
                },
                option_file::LAST_NAME
            ),
            None if input.is_mariadb() => {
                format!("The service is that of the packages, {service}.service.\n")
            }
            None => format!(
                "The service is that of Debian's and Ubuntu's packages, {service}.service. On Red Hat's it may be called mysqld.\n"
            ),
            Some(_) => format!(
                "The server is `{server}`. `systemctl status $(pidof -s {daemon})` names its service: where that is not \
                 {service}.service, write its name in place of {service}. `{client}` asks for root's password; where root has \
                 none, leave out `-p`.\n",
                server = input.server,
                daemon = input.daemon(),
                client = input.client(),
            ),
        });
        self.line(socket::figures_before(input));
        // The socket comes first, for it restarts nothing and can be taken back at once.
        if input.variant.brings_socket() {
            self.application(input);
            self.line(format!("## Apply\n\n{ONE_AT_A_TIME}\n"));
        } else {
            self.line("## Apply\n");
        }
        self.what_is_there(input, &mut step);
        self.built_server(input, &mut step);
        let steps = input.variant.steps_by_hand();
        for text in input.variant.host_steps.iter().chain(&steps) {
            self.line(format!("{} {}", step.next(), text.replace('\n', "\n   ")));
        }
        self.tables(input, &mut step);
        if let Some(malloc) = &input.variant.malloc {
            self.line(format!(
                "{} The memory allocator ({}):",
                step.next(),
                malloc.name
            ));
            match &malloc.package {
                Some(package) => self.code(&[format!("sudo apt-get install {package}")]),
                None => self.line(format!(
                    "   Install the package that has {}.",
                    malloc.soname
                )),
            }
        }
        self.text_library(input, &mut step);
        if input.variant.huge_pages {
            self.line(format!(
                "{} Huge pages. How many are reserved now, for the undo:",
                step.next()
            ));
            // Applied again, it stays what it was before the first time.
            self.code(&[format!(
                "test -e {PAGES_BEFORE} || sysctl -n vm.nr_hugepages | tee {PAGES_BEFORE}"
            )]);
            self.line(format!("   Then: {HUGE_PAGES}."));
            match host::reserve(input) {
                Some(commands) => {
                    if host::sets_pool(input) && input.variant.start.is_none() {
                        self.line(format!(
                            "   Where your own buffer pool stays, put `pages=$({})` in place of `pages=` and its number.",
                            host::ask_pages(input)
                        ));
                    }
                    self.code(&commands);
                }
                None => {
                    self.line(format!(
                        "   No file has their number, for your configuration says how large the buffer pool is. Add what this prints to what \
                         is reserved for others. Write the sum as `vm.nr_hugepages` into {}, and run `sudo sysctl --system`.",
                        host::SYSCTL_PLACE
                    ));
                    self.code(&[host::ask_pages(input)]);
                }
            }
        }
        if let Some(commands) = host::give_transparent(input) {
            self.line(format!(
                "{} Transparent huge pages. How they are given now, for the undo; where that is too few, a file changes it now and whenever \
                 the machine starts:",
                step.next()
            ));
            self.code(&commands);
        }
        let mut silent = Vec::new();
        if config {
            self.option_file(input, &mut step);
            silent.push(step.0);
        }
        // Before anything that a restart would take up: what fails here leaves the packaged server as it was.
        if let Some(built) = &input.variant.built {
            self.line(format!(
                "{} {BUILD} Whether the built server takes the option files that are here, the packages' own among them. It is asked \
                 and not started; where it ends with an `unknown variable`, a file names a plugin that it has not. It has to \
                 print what the packaged server has told above ({}). The last command prints the options that either server reads: its \
                 two lines have to be the same:",
                step.next(),
                match input.is_mariadb() {
                    true => "datadir and socket",
                    false => {
                        "datadir, socket and secure-file-priv, which is `(No default value)` where it was empty"
                    }
                }
            ));
            self.code(&plugins::would_start(input, built));
            self.line(
                "   **Where it fails, or prints something else, go no further**: the running server is still the packaged one. Remove the \
                 cause and ask again. Or take back what is there: do \"Undo\" without its restart. What it does not find was not \
                 installed yet.",
            );
        }
        if process {
            let limits = input.variant.limits.keys().cloned();
            let limits: Vec<String> = limits.collect();
            self.line(format!(
                "{} The server's process{}:",
                step.next(),
                match limits.is_empty() {
                    true => String::new(),
                    false => format!(
                        ". `systemctl show {service} -p {}` prints its limits now. **Where one is larger than that of {}, or `infinity`, \
                         delete the line there.** Then",
                        limits.join(","),
                        unit::NAME
                    ),
                }
            ));
            if input.variant.runtime.scheduling == Some(Scheduling::Batch) {
                self.line(other_kernel(input));
            }
            silent.push(step.0);
            let folder = format!("/etc/systemd/system/{service}.service.d");
            let path = format!("{folder}/{}", unit::NAME);
            self.code(&[unless_there(
                &path,
                "of this round? Then go on. Else undo that round first, or put the lines of both into it",
                &[
                    format!("sudo install -D -m 644 {} {path}", unit::NAME),
                    "sudo systemctl daemon-reload".to_owned(),
                ],
            )]);
        }
        if config || process {
            if !process && input.variant.flags.is_empty() && !is_pool_alone(input) {
                self.line(format!("{} {}", step.next(), try_before_the_restart(input)));
            }
            let silent: Vec<String> = silent.iter().map(u32::to_string).collect();
            self.line(format!(
                "{} Restart **only if step {} named no trouble**. Choose a quiet hour: it interrupts every connection, for seconds, or for \
                 minutes where a large buffer pool is written first; afterwards the caches are cold. The first command prints the file of the \
                 server's errors; nothing or `stderr` means the journal, `sudo journalctl -u {service} -n 50`. Where the server does not start, \
                 look there, and do \"Undo\".",
                step.next(),
                silent.join(" and step ")
            ));
            self.code(&[
                format!("sudo {} -N -B -e 'SELECT @@log_error'", input.client()),
                format!("sudo systemctl restart {service}"),
            ]);
        }
        if let Some(engine) = &input.variant.engine {
            self.line(format!(
                "{} The tables, each of them; every one is copied, and written by nobody else meanwhile:",
                step.next()
            ));
            self.code(&[format!(
                "{} -e 'ALTER TABLE DATABASE.TABLE ENGINE = {engine}'",
                plugins::administrator(input)
            )]);
            if !is_transactional(engine) {
                self.line(format!(
                    "   **{engine} has no transactions**: ROLLBACK takes nothing back, and what is written when the server or the machine \
                     dies may be lost, or be there by half. Convert only tables whose application can do without."
                ));
            }
        }
        if step.0 == 0 {
            self.line("There is nothing to install.");
        }
        self.line("");
        self.where_it_may_fail(input, process);
    }

    /// The step that puts the library in place which puts the server's code in 2 MB pages.
    fn text_library(&mut self, input: &DeployInput, step: &mut Numbers) {
        if input.variant.runtime.has_huge_text() {
            self.line(format!(
                "{} The library that puts the server's code in 2 MB pages (huge pages) when it starts:",
                step.next()
            ));
            self.code(&[format!(
                "sudo install -D -m 644 {TEXT_LIBRARY} {TEXT_LIBRARY_PLACE}"
            )]);
        }
    }

    /// What may keep what is preloaded from taking effect, and where that is told.
    fn where_it_may_fail(&mut self, input: &DeployInput, process: bool) {
        if process && input.variant.malloc.is_some() {
            self.line(
                "If the server does not start with the allocator, AppArmor or SELinux may forbid it to load the \
                 library: `journalctl -k | grep -i denied` names it.\n",
            );
        }
        if input.variant.runtime.has_huge_text() {
            self.line(format!(
                "Where the code cannot go into such pages, the server starts as without the library and says why: \
                 `journalctl -u {} | grep niagara_text`. Under SELinux or with `MemoryDenyWriteExecute=` in the \
                 unit the system may let no copied code run.\n",
                input.service()
            ));
        }
    }

    /// The step that puts the option file where it is read.
    fn option_file(&mut self, input: &DeployInput, step: &mut Numbers) {
        self.line(format!("{} The server's variables:", step.next()));
        let path = input.option_path();
        let install = format!("sudo install -m 644 {} {path}", option_file::NAME);
        let mut include = None;
        // What it overrides is read after all folders: so has to be this. Another file of that name is not to be read by it.
        if let Some((main, line)) = input.including() {
            include = Some(format!(
                "printf '\\n%s\\n' '{line}' | sudo tee -a {main} > /dev/null"
            ));
        }
        let commands: Vec<String> = std::iter::once(install).chain(include).collect();
        let install = unless_there(
            &path,
            "of this round? Then go on. Else choose a name that sorts behind it, here and to undo it",
            &[commands.join(" && ")],
        );
        // A built server is asked in a step of its own.
        let asks = input.variant.built.is_none();
        let asked = asks.then(|| would_start(input));
        self.code(&[install]);
        if let Some(ask) = asked {
            self.line("   Ask the server in place whether it takes its option files; that starts nothing:");
            self.code(&[ask]);
            self.line(format!(
                "   It prints nothing where all is well. Where it names an unknown variable, delete that line in {path} and ask again.{}",
                match input.may_be_too_old_to_validate() {
                    true => " A MySQL before 8.0.16 is asked with `--verbose --help` in place of `--validate-config`.",
                    false => "",
                }
            ));
        }
        if input.own_place().is_some() && !has_known_place(input) {
            self.line(format!(
                "   Where the server is started with `--defaults-file`, that is the only file it reads; else those that \
                 `{} --verbose --help` names, in their order: where {MAIN} is not the last of them that is there, write the last in its place.",
                input.binary()
            ));
        }
    }

    /// The step that keeps what the server has now, where nobody has told Niagara.
    fn what_is_there(&mut self, input: &DeployInput, step: &mut Numbers) {
        if input.variant.start.is_some() || !has_options(input) {
            return;
        }
        let sizes = input.variant.config.keys().filter(|name| is_size(name));
        let sizes: Vec<&str> = sizes.map(String::as_str).collect();
        self.line(format!(
            "{} What the server has now. The gain is over a server with its compiled-in defaults.{} With your option file \
             (`niagara tune --config`) the measurement begins where you are.",
            step.next(),
            match sizes.is_empty() {
                true => String::new(),
                false => format!(
                    " Sizes were worked out for the machine that it was measured on: **where your `{}` is larger than that of {}, \
                     delete the line there**.",
                    sizes.join("` or `"),
                    option_file::NAME
                ),
            }
        ));
        if let Some(ask) = ask_variables(input, &format!("sudo {}", input.client())) {
            // Done again after the change, it keeps what was before.
            self.code(&[format!(
                "test -s {VARIABLES_BEFORE} || {ask} | tee {VARIABLES_BEFORE}"
            )]);
        }
    }

    /// The steps that put a built server where it runs.
    fn built_server(&mut self, input: &DeployInput, step: &mut Numbers) {
        if let Some(built) = &input.variant.built {
            self.release_in_place(input, step);
            let (text, commands) = plugins::before(input);
            self.line(format!("{} {BUILD} {text}", step.next()));
            self.code(&commands);
            self.line(format!("   {}", plugins::remedy(input)));
            if let Some((text, commands)) = plugins::account(input) {
                self.line(format!("{} {BUILD} {text}", step.next()));
                self.code(&commands);
            }
            self.line(format!(
                "{} {BUILD} The built server ({}{}). It runs with the libraries of the machine it was built on: install it there, or where \
                 the same release of the same distribution runs{}. {RECIPE} tells what it was made from and how.",
                step.next(),
                built.one_line,
                match &built.releases {
                    Some(releases) => format!(", release {}", releases.built),
                    None => String::new(),
                },
                match built.recipe.contains("-march=") || built.recipe.contains("-mcpu=") {
                    true => ", **on the same kind of CPU**: it was compiled for that one, and on another a statement may end the server with an \
                         illegal instruction, even after it has started",
                    false => "",
                }
            ));
            self.code(&[
                // Whatever root's umask is, the server has to be able to enter it.
                format!("sudo install -d -m 755 {PLACE}"),
                unless_there(
                    &format!("{PLACE}/usr"),
                    "undo the round that it is of first",
                    &[format!("sudo tar -C {PLACE} -xzf {ARCHIVE}")],
                ),
                format!("{PLACE}/{} --no-defaults --version", built.binary.display()),
            ]);
            let (what, lines) = match input.is_mariadb() {
                true => ("the data and the socket are", "two"),
                false => (
                    "the data and the socket are, and the files of LOAD DATA INFILE and INTO OUTFILE may be",
                    "three",
                ),
            };
            self.line(format!(
                "{} {BUILD} Where {what}: where option files do not say it, the packaged server knows it by itself, and the built one \
                 does not. Ask the packaged server while it runs; {lines} lines are printed:",
                step.next()
            ));
            self.code(&[unit::ask_paths(input)]);
        }
    }

    /// The step that looks whether the built server may take the place of the one that is there, and what to do where it may not.
    fn release_in_place(&mut self, input: &DeployInput, step: &mut Numbers) {
        let releases = input
            .variant
            .built
            .as_ref()
            .and_then(|built| built.releases.as_ref());
        let built = releases.map_or(String::new(), |releases| format!(", {}", releases.built));
        let (no_newer, tool) = match input.is_mariadb() {
            true => (
                "and no newer than that: data that a newer release has written an older one may refuse",
                "`mariadb-backup`, a dump, a snapshot",
            ),
            false => (
                "and better no newer than that: MySQL's manual lets an older release start on the data of a newer one within an LTS series \
                 (8.4, 9.7), and not within an innovation series",
                "`mysqldump --all-databases`, xtrabackup, a snapshot",
            ),
        };
        self.line(format!(
            "{} The release in place, and a backup. It has to be of the same series as the built one{built}, {no_newer}. **Take a backup \
             before you go on** ({tool}): where the built server is newer, nothing else may undo it.",
            step.next()
        ));
        self.code(&[format!("sudo {} -N -e 'SELECT VERSION()'", input.client())]);
        self.line(format!("   {}", without_the_build(input)));
    }

    /// The step that changes tables.
    fn tables(&mut self, input: &DeployInput, step: &mut Numbers) {
        if input.variant.schema.is_empty() {
            return;
        }
        self.line(format!(
            "{} The tables. schema.sql has a statement a line, with the commands of gh-ost and pt-online-schema-change for large live \
             tables. DATABASE is the application's:",
            step.next()
        ));
        self.code(&[format!(
            "sudo {} DATABASE < {}",
            input.client(),
            statements::SCHEMA
        )]);
        // What the source and a replica each do for themselves stops replication: the index is there already.
        let trial = match input.variant.schema_undo.is_empty() {
            true => format!(
                "Nothing takes it back: try it on a server that replicates nothing. On a replica {}'s statements would fail a second time.",
                statements::SCHEMA
            ),
            false => format!(
                "To try it on a replica, put `SET SESSION sql_log_bin = 0;` at the top of its copies of {schema} and {undo}. Run {undo} \
                 there before the source gets {schema}, or replication stops.",
                schema = statements::SCHEMA,
                undo = statements::UNDO
            ),
        };
        self.line(format!(
            "   Run it on the source alone; its replicas follow. {trial} On a node of Galera it holds up the whole cluster: use \
             pt-online-schema-change."
        ));
        self.line("   EXPLAIN then shows the new indexes; the digests' rows examined fall.");
    }

    /// What the application sends otherwise.
    fn rewrites(&mut self, input: &DeployInput) {
        if input.variant.rewrites.is_empty() {
            return;
        }
        self.line(format!(
            "{} has the changed statements; change them in the application.",
            statements::STATEMENTS
        ));
        if input.variant.rewrites.iter().any(|one| one.rule.is_some()) {
            self.line(format!(
                "Until then ProxySQL can rewrite them: `mysql -h 127.0.0.1 -P 6032 -u admin -p < {}`. The file says how to undo it.",
                statements::PROXYSQL
            ));
        }
        self.line("");
    }

    fn application(&mut self, input: &DeployInput) {
        let notes = &input.variant.application;
        let is_by_socket = input.variant.brings_socket();
        let is_encrypted = input.variant.new_transport() == Some(TransportKind::Tls);
        let has_rewrites = !input.variant.rewrites.is_empty();
        let cpus = input.variant.runtime.client_cpus.as_deref();
        let connects_anew = is_by_socket || is_encrypted;
        if notes.is_empty() && !connects_anew && !has_rewrites && cpus.is_none() {
            return;
        }
        self.line("## In the application\n");
        self.rewrites(input);
        for note in notes {
            self.line(format!("{note}\n"));
        }
        if let Some(cpus) = cpus {
            self.line(format!(
                "The load ran on CPUs of its own. No file here says so, for the application's unit is not known: \
                 `CPUAffinity={}` in it.\n",
                format_cpu_list(cpus).replace(',', " ")
            ));
        }
        if is_encrypted {
            self.line(
                "It was measured with TLS, which the application's client has to insist on (`ssl-mode=REQUIRED`, `--ssl`). The server \
                 needs a certificate, `ssl_cert` and `ssl_key`. In clear it would be faster.\n",
            );
        }
        if is_by_socket {
            self.line(
                "If your application already uses the Unix socket, skip this. WordPress with `DB_HOST` `localhost` does use it.\n",
            );
            self.line(socket::steps(input));
        }
    }

    fn check(&mut self, input: &DeployInput) {
        let mut commands = Vec::new();
        if let Some(ask) = ask_variables(input, &plugins::administrator(input)) {
            commands.push(ask);
            commands.extend(compare_variables(input));
        }
        if has_unit(input) {
            commands.push(format!(
                "systemctl show {} -p {}ExecMainStartTimestamp",
                input.service(),
                unit::properties(&input.variant)
            ));
        }
        if input.variant.runtime.scheduling == Some(Scheduling::Batch) {
            commands.push(format!(
                "chrt -p $(systemctl show -p MainPID --value {})",
                input.service()
            ));
        }
        if let Some(malloc) = &input.variant.malloc {
            let file = malloc.soname.rsplit('/').next().unwrap_or(&malloc.soname);
            commands.push(match is_c_library(malloc) {
                true => format!(
                    "sudo cat /proc/$(pidof -s {})/environ | tr '\\0' '\\n' | grep LD_PRELOAD",
                    input.daemon()
                ),
                false => format!(
                    "sudo grep -m1 {file} /proc/$(pidof -s {})/maps",
                    input.daemon()
                ),
            });
        }
        if input.variant.runtime.has_huge_text() {
            commands.push(format!(
                "sudo awk '$2 ~ /^[r-][w-][x-]/ {{x = $2 ~ /x/}} x && /AnonHugePages|FilePmdMapped/ {{n += $2}} \
                 END {{print n + 0 \" kB of code in 2 MB pages\"}}' /proc/$(pidof -s {})/smaps",
                input.daemon()
            ));
        }
        if input.variant.huge_pages {
            commands.push(format!(
                "grep HugetlbPages /proc/$(pidof -s {})/status",
                input.daemon()
            ));
        }
        if transparent_pages(&input.variant).is_some() {
            commands.push(format!("cat {TRANSPARENT}"));
        }
        if input.variant.built.is_some() {
            commands.push(format!(
                "sudo readlink /proc/$(pidof -s {})/exe",
                input.daemon()
            ));
            commands.push(plugins::after(input));
        }
        let is_one_at_a_time = input.variant.brings_socket();
        if commands.is_empty() && !is_one_at_a_time {
            return;
        }
        self.line("## Check\n");
        if is_one_at_a_time {
            self.line(format!("{AFTER_SOCKET_ALONE}\n"));
        }
        if commands.is_empty() {
            self.line(socket::how_much(input));
            return;
        }
        self.line(format!(
            "In the folder `niagara-deploy`, as all that follows:\n\n```sh\n{}\n```\n",
            commands.join("\n")
        ));
        if has_options(input) {
            let set = input.variant.config.iter();
            let shown = set.filter(|(name, _)| is_shown(name));
            let expected = shown.map(|(name, value)| match shown_as(name) {
                (shown, true) => format!("`{shown}` = OFF"),
                (shown, false) if input.variant.flags.contains(name) => format!("`{shown}` = ON"),
                (shown, false) if value.is_empty() => format!("`{shown}` empty"),
                (shown, false) => format!("`{shown}` = {value}"),
            });
            let expected = expected.collect::<Vec<_>>().join(", ");
            let expected = match expected.is_empty() {
                true => expected,
                false => format!(
                    "Expected: {expected}{}. Where one differs, what is read later has the last word: an option \
                     file (`{} --print-defaults` prints all options in their order){}. ",
                    match input.variant.config.keys().any(|name| is_size(name)) {
                        true => " (sizes are printed in bytes)",
                        false => "",
                    },
                    input.binary(),
                    match input.is_mariadb() {
                        true => "",
                        false => {
                            ", or SET PERSIST (`SELECT * FROM performance_schema.persisted_variables`; RESET PERSIST takes it away)"
                        }
                    }
                ),
            };
            self.line(format!(
                "{expected}If the server does not start, the file that `@@log_error` named and `journalctl -u {} -n 50` say why; \
                 \"Undo\" takes everything back.\n",
                input.service()
            ));
            if keeps_variables(input) {
                self.line("`diff` prints what changed: `<` before, `>` now.\n");
            }
        }
        let shown = unit::shown(&input.variant);
        if !shown.is_empty() {
            self.line(format!(
                "`systemctl show` has to print `{}`, and a start (`ExecMainStartTimestamp`) after the restart above.{}\n",
                shown.join("`, `"),
                match input.variant.runtime.scheduling {
                    Some(Scheduling::Batch) => " `chrt` asks the process itself: it has to print `SCHED_BATCH`.",
                    Some(Scheduling::Nice(_)) | None => "",
                }
            ));
        }
        if let Some(malloc) = &input.variant.malloc {
            self.line(format!(
                "A line with {} has to come: without one {}the server runs with its own allocator.\n",
                malloc.soname,
                match is_c_library(malloc) {
                    true => "",
                    false => "the loader has not found the library, and ",
                }
            ));
        }
        if input.variant.runtime.has_huge_text() {
            self.line("The code in 2 MB pages has to be more than 0 kB.\n");
        }
        if input.variant.huge_pages {
            self.line(
                "`HugetlbPages` has to be more than 0 kB: else too few pages were reserved, and the buffer pool is in ordinary ones.\n",
            );
        }
        if let Some(setting) = transparent_pages(&input.variant) {
            self.line(format!(
                "{TRANSPARENT} has to show {}.\n",
                match setting {
                    "always" => "`[always]`",
                    _ => "`[madvise]` or `[always]`",
                }
            ));
        }
        if let Some(built) = &input.variant.built {
            self.line(format!(
                "The program that runs has to be `{PLACE}/{}`; where it is another one, a drop-in that is read later (`systemctl cat {}`) \
                 has the last word. {}\n",
                built.binary.display(),
                input.service(),
                plugins::MEANING
            ));
        }
        if input.brings_pool() {
            self.line(format!(
                "The thread pool's own alarm, from MariaDB 10.5 on: note twice, at the beginning and at the end of the hour in which pages are \
                 slow, what this prints. Each count is a group whose statements had waited for a whole `thread_pool_stall_limit`. Where it grew \
                 and pages are no faster, undo the pool.\n\n```sh\n{} -N -B -e 'SELECT SUM(STALLS) FROM information_schema.THREAD_POOL_STATS'\n```\n",
                plugins::administrator(input)
            ));
        }
        self.line(socket::how_much(input));
    }

    fn undo(&mut self, input: &DeployInput) {
        let mut section = Sections(String::new());
        section.undo_steps(input);
        if !section.0.is_empty() {
            self.line("## Undo\n");
            self.line(section.0.trim());
            self.line("\nFinally, once all of it is undone: `cd .. && rm -r niagara-deploy`.");
        }
    }

    fn undo_steps(&mut self, input: &DeployInput) {
        let service = input.service();
        if input.variant.brings_socket() {
            self.line(
                "After the socket alone only the copy of the application's file goes back.\n",
            );
        }
        let mut commands = without_options(input);
        if has_unit(input) {
            commands.push(format!(
                "sudo rm -f /etc/systemd/system/{service}.service.d/{}",
                unit::NAME
            ));
            commands.push("sudo systemctl daemon-reload".to_owned());
        }
        commands.extend(host::unreserve(input));
        commands.extend(host::withdraw_transparent(input));
        if !commands.is_empty() {
            commands.push(format!("sudo systemctl restart {service}"));
            commands.extend(clean_up(input));
            self.line(format!("```sh\n{}\n```", commands.join("\n")));
            if keeps_variables(input) {
                self.line(format!(
                    "\nIt has to print `active` and nothing else. Where `diff` prints lines, those variables are not back as they were, and \
                     {VARIABLES_BEFORE} stays."
                ));
            }
        }
        if let Some(built) = &input.variant.built {
            self.line(format!(
                "\nThe packaged server takes the data back where it is of the series of the built one{} and no older: else it may refuse \
                 them, and the backup undoes it. Where it does not start, nothing of {PLACE} is removed: the built server still \
                 takes them.",
                match &built.releases {
                    Some(releases) => format!(", {},", releases.built),
                    None => String::new(),
                }
            ));
        }
        if input.variant.brings_socket() {
            self.line(
                "\nThe application may keep using the socket. If the site shows a database error, restore the copy of the application's \
                 file. An account that was made for the socket goes, once nothing uses it, by `DROP USER 'NAME'@'localhost';`.",
            );
        }
        if let Some(engine) = &input.variant.engine {
            self.line(format!(
                "\nTables that were converted stay in {engine}: convert them back in the same way."
            ));
        }
        if input.variant.huge_pages && host::reserve(input).is_none() {
            self.line(
                "\nRemove what reserves the huge pages from /etc/sysctl.d, too, or they are reserved again when the machine starts.",
            );
        }
        if !input.variant.schema_undo.is_empty() {
            self.line(format!(
                "\nThe tables: `sudo {} DATABASE < {}`. {}",
                input.client(),
                statements::UNDO,
                statements::NOTHING_THERE
            ));
        }
        let undo = input.variant.undo_by_hand();
        if !undo.is_empty() {
            self.line("\nBy hand, what the steps above did beside these files:\n");
            undo.iter().for_each(|undo| self.line(format!("- {undo}")));
        }
        if !input.variant.schema.is_empty() && input.variant.schema_undo.is_empty() {
            self.line("\nNobody has said how schema.sql is undone: only a backup takes it back.");
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.0, "{}", text.as_ref()); // writing to a string cannot fail
    }

    fn code(&mut self, commands: &[String]) {
        let commands = commands.join("\n").replace('\n', "\n   ");
        self.line(format!("   ```sh\n   {commands}\n   ```"));
    }
}

struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("{}.", self.0)
    }
}

/// Whether the user's configuration says where the option file has to be: a server's address and a report do not.
fn has_known_place(input: &DeployInput) -> bool {
    let start = input.variant.start.as_ref();
    start.is_some_and(|start| start.file.is_some())
}

/// Asks the server in place whether it takes the option files that are here; prints nothing where it does.
fn would_start(input: &DeployInput) -> String {
    format!(
        "told=$(sudo {} --user=mysql {} 2>&1 >/dev/null) || printf '%s\\n' \"It would not start: $told\"",
        input.binary(),
        input.trial_options().join(" ")
    )
}

/// Takes the option file away again.
fn without_options(input: &DeployInput) -> Vec<String> {
    let mut commands = Vec::new();
    if has_options(input) {
        commands.extend(
            input.including().map(|(main, line)| {
                format!("sudo sed -i --follow-symlinks '\\#^{line}$#d' {main}")
            }),
        );
        commands.push(format!("sudo rm {}", input.option_path()));
    }
    commands
}

/// Takes away what the server needs no more, once it runs without it: where it does not start, all of it stays.
fn clean_up(input: &DeployInput) -> Option<String> {
    let mut commands = Vec::new();
    if input.variant.huge_pages {
        commands.push(format!("rm {PAGES_BEFORE}"));
    }
    if transparent_pages(&input.variant).is_some() {
        commands.push(format!("rm {}", host::TRANSPARENT_BEFORE));
    }
    if input.variant.runtime.has_huge_text() {
        commands.push(format!("sudo rm {TEXT_LIBRARY_PLACE}"));
    }
    if input.variant.built.is_some() {
        commands.push(format!("sudo rm -r {PLACE}"));
        commands.push(format!("rm -f {}", plugins::BEFORE));
    }
    if let Some(compare) = compare_variables(input) {
        commands.push(compare);
        commands.push(format!("rm {VARIABLES_BEFORE}"));
    }
    commands.extend(plugins::without_account(input));
    (!commands.is_empty()).then(|| {
        format!(
            "systemctl is-active {} && \\\n  {}",
            input.service(),
            commands.join(" && \\\n  ")
        )
    })
}

/// What is left where the built server cannot be installed, and what is known of that.
fn without_the_build(input: &DeployInput) -> String {
    let when = "**Where the built server cannot be used** (the one in place is newer or of another series, or a plugin below is needed)";
    let mut rest = input.clone();
    rest.variant.built = None;
    let is_by_socket = rest.variant.brings_socket();
    if !has_options(&rest) && !has_unit(&rest) && !is_by_socket {
        return format!("{when}, there is nothing else to install: stop here.");
    }
    let unit = match has_unit(&rest) {
        true => format!(
            "first take it out of the drop-in (`sed -i -E '/^(# the built server|EnvironmentFile=|ExecStart=)/d' {}`)",
            unit::NAME
        ),
        false => format!("leave {} out", unit::NAME),
    };
    let asked = match has_options(&rest) {
        true => format!(
            " Before the restart run `{}`: it has to print nothing.",
            would_start(input)
        ),
        false => String::new(),
    };
    format!(
        "{when}, the rest can be installed alone: {unit}, pass over the steps that begin with {BUILD}, and over what names {PLACE} or \
         {} in \"Check\" and \"Undo\"{}.{asked} **The total is then not what was measured**, for it is the total of all together.",
        plugins::BEFORE,
        match input.is_mariadb() {
            true => String::new(),
            false => format!(
                "; instead of `{}` write `sudo {}`",
                plugins::administrator(input),
                input.client()
            ),
        }
    )
}

/// Whether the steps keep the variables that the server has before.
fn keeps_variables(input: &DeployInput) -> bool {
    let is_shown = |name: &String| is_shown(name);
    input.variant.start.is_none() && input.variant.config.keys().any(is_shown)
}

/// Whether all variables are the thread pool's: none of them shows anything before the restart that switches it on.
fn is_pool_alone(input: &DeployInput) -> bool {
    let mut names = input.variant.config.keys();
    let switches_on = input.variant.config.contains_key("thread_handling");
    let is_the_pools =
        |name: &String| name == "thread_handling" || shown_as(name).0.starts_with("thread_pool_");
    switches_on && names.all(is_the_pools)
}

/// How variables are tried before the restart. MariaDB tells which can be, MySQL does so by refusing.
fn try_before_the_restart(input: &DeployInput) -> String {
    let how = "As you like: some variables can be tried before the restart. `SET GLOBAL NAME = VALUE` in the server (sizes in bytes) sets one until \
               the next start, at once or for new connections.";
    let names: Vec<String> = shown_names(input);
    match input.is_mariadb() && !names.is_empty() {
        true => format!(
            "{how} These can be:\n   ```sh\n   sudo {} -N -B -e \"SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES WHERE READ_ONLY \
             = 'NO' AND VARIABLE_NAME IN ({})\"\n   ```\n   The others take the restart, and what depends on them.",
            input.client(),
            names.join(", ")
        ),
        false => format!("{how} Error 1238 means that it takes the restart."),
    }
}

/// Names of the variables that are set and shown, in quotes.
fn shown_names(input: &DeployInput) -> Vec<String> {
    let names = input.variant.config.keys().filter(|name| is_shown(name));
    names
        .map(|name| format!("'{}'", shown_as(name).0.replace(['\'', '\\', '"'], "")))
        .collect()
}

/// Sets the variables against what they were before.
fn compare_variables(input: &DeployInput) -> Option<String> {
    let ask = ask_variables(input, &plugins::administrator(input))?;
    keeps_variables(input).then(|| format!("{ask} | diff {VARIABLES_BEFORE} -"))
}

/// Asks for the variables that are set, with this client; nothing where they show in none.
fn ask_variables(input: &DeployInput, client: &str) -> Option<String> {
    let names = shown_names(input);
    (!names.is_empty()).then(|| {
        format!(
            "{client} -e \"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})\"",
            names.join(", ")
        )
    })
}

/// Shell lines that run the commands if `path` does not exist, and otherwise print the remedy.
fn unless_there(path: &str, remedy: &str, commands: &[String]) -> String {
    format!(
        "if test -e {path}; then\n  echo '{path} is there already: {remedy}'\nelse\n  {}\nfi",
        commands.join("\n  ")
    )
}

fn has_options(input: &DeployInput) -> bool {
    !input.variant.config.is_empty()
}

fn has_unit(input: &DeployInput) -> bool {
    unit::unit(input).is_some()
}

#[cfg(test)]
mod tests {
    use super::shown_as;

    #[test]
    fn options_are_asked_for_by_the_variables_in_which_they_show() {
        let shown = |option: &str| {
            let (name, off) = shown_as(option);
            format!("{name}{}", if off { " off" } else { "" })
        };
        assert_eq!(shown("skip_log_bin"), "log_bin off");
        assert_eq!(shown("skip-name-resolve"), "skip_name_resolve");
        assert_eq!(shown("loose_innodb_foo"), "innodb_foo");
        assert_eq!(shown("table_open_cache"), "table_open_cache");
    }
}
