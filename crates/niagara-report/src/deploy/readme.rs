//! How to apply, to check and to undo it.

use std::fmt::Write;

use super::{
    ARCHIVE, DeployInput, PAGES_BEFORE, PLACE, RECIPE, TEXT_LIBRARY, TEXT_LIBRARY_PLACE,
    option_file, plugins, unit,
};
use crate::wording::checks_told;

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
        _ => (name.to_owned(), false),
    }
}

/// For the person who installs it.
pub fn readme(input: &DeployInput) -> String {
    let mut page = format!(
        "# {} as found by Niagara\n\n{}\n\n",
        input.server, input.evidence
    );
    page.extend(older_build(input));
    if let Some(risk) = &input.risk {
        page.push_str(&format!("**Risk.** {risk}\n\n"));
    }
    page.extend(no_more_updates(input));
    page.push_str(
        "**This was measured on one machine with one workload**, and sizes and counts are for its memory and its CPUs. Elsewhere the \
         gains may be smaller or absent: try it on a replica or a test server first, and measure again.\n\n",
    );
    page.extend(checked(input));
    let mut out = Sections(page);
    out.rungs(input);
    out.overrides(input);
    out.apply(input);
    out.application(input);
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
         one that wrote its data may refuse them. `niagara server build {} --refresh-source` asks the archive for the newer \
         source (a tree of your own: `--source`); then measure again.\n\n",
        releases.built, input.server
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

/// Variables that show in no `SHOW VARIABLES`, for they are options of the start alone.
fn is_shown(name: &str) -> bool {
    let name = shown_as(name).0;
    !name.starts_with("performance_schema_consumer_") && name != "performance_schema_instrument"
}

struct Sections(String);

impl Sections {
    fn rungs(&mut self, input: &DeployInput) {
        if input.rungs.is_empty() {
            return;
        }
        self.line("## What is in it\n");
        for rung in &input.rungs {
            self.line(format!("- **{}**: {}. {}", rung.title, rung.effect, rung.why).trim_end());
        }
        self.line("\nn: duels behind the figure. Only what is called \"proven\" was shown by duels of its own.\n");
        for remark in &input.variant.remarks {
            self.line(format!("{remark}\n"));
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
        for sentence in &start.held_back {
            self.line(format!("- {sentence}"));
        }
        if let Some((main, _)) = including(input).filter(|(main, _)| !main.starts_with("/etc/")) {
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
        self.line("## Apply\n");
        self.line("On the machine of the server to be changed, in this folder.\n");
        self.line(format!(
            "Paths are those of Debian's and Ubuntu's packages ({service}.service). On Red Hat's the option \
             file goes to /etc/my.cnf.d/ and the service may be called mysqld.\n"
        ));
        self.what_is_there(input, &mut step);
        self.built_server(input, &mut step);
        for text in input.variant.host_steps.iter().chain(&input.variant.steps) {
            self.line(format!("{} {}", step.next(), text.replace('\n', "\n   ")));
        }
        if let Some(malloc) = &input.variant.malloc {
            self.line(format!("{} The malloc ({}):", step.next(), malloc.name));
            // A library whose package no lever knows is told in words.
            match malloc.package.contains(' ') {
                true => self.line(format!("   Install {}.", malloc.package)),
                false => self.code(&[format!("sudo apt-get install {}", malloc.package)]),
            }
        }
        self.text_library(input, &mut step);
        if let Some(note) = &input.variant.huge_pages {
            self.line(format!(
                "{} Huge pages. How many are reserved now, for the undo:",
                step.next()
            ));
            // Applied again, it stays what it was before the first time.
            self.code(&[format!(
                "test -e {PAGES_BEFORE} || sysctl -n vm.nr_hugepages | tee {PAGES_BEFORE}"
            )]);
            self.line(format!("   Then: {note}"));
        }
        if config {
            self.option_file(input, &mut step);
        }
        if process {
            self.line(format!("{} The server's process:", step.next()));
            let folder = format!("/etc/systemd/system/{service}.service.d");
            let path = format!("{folder}/{}", unit::NAME);
            self.code(&[
                unless_there(
                    &path,
                    "it is of an earlier round, whose settings this one does not have. Undo that round and measure anew, or put the \
                     lines of both into it",
                    &format!("sudo install -D -m 644 {} {path}", unit::NAME),
                ),
                "sudo systemctl daemon-reload".to_owned(),
            ]);
        }
        if let Some(built) = &input.variant.built {
            self.line(format!(
                "{} Whether the built server takes the option files that are here, the packages' own among them. It is asked \
                 and not started; where it ends with an `unknown variable`, a file names a plugin that it has not. It has to \
                 print the datadir and the socket that the packaged server has told above; where it does not, do not restart:",
                step.next()
            ));
            self.code(&plugins::would_start(input, built));
        }
        if config || process {
            self.line(format!(
                "{} Restart, which interrupts every connection:",
                step.next()
            ));
            self.code(&[format!("sudo systemctl restart {service}")]);
        }
        if let Some(engine) = &input.variant.engine {
            self.line(format!(
                "{} The tables, each of them; every one is copied, and written by nobody else meanwhile:",
                step.next()
            ));
            self.code(&[format!(
                "sudo {} -e 'ALTER TABLE DATABASE.TABLE ENGINE = {engine}'",
                input.client()
            )]);
        }
        if step.0 == 0 {
            self.line("There is nothing to install.");
        }
        self.line("");
        self.where_it_may_fail(input, process);
    }

    /// The step that puts the library in place which puts the server's text on huge pages.
    fn text_library(&mut self, input: &DeployInput, step: &mut Numbers) {
        if input.variant.huge_text {
            self.line(format!(
                "{} The library that puts the server's text on huge pages when it starts:",
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
                "If the server does not start with the malloc, AppArmor or SELinux may forbid it to load the \
                 library: `journalctl -k | grep -i denied` names it.\n",
            );
        }
        if input.variant.huge_text {
            self.line(format!(
                "Where the text cannot go on huge pages, the server starts as without the library and says why: \
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
        let mut install = format!("sudo install -m 644 {} {path}", option_file::NAME);
        // What it overrides is read after all folders: so has to be this. Another file of that name is not to be read by it.
        if let Some((main, line)) = including(input) {
            install =
                format!("{{ {install} && printf '\\n%s\\n' '{line}' | sudo tee -a {main}; }}");
        }
        self.code(&[unless_there(
            &path,
            "choose a name that sorts behind it, here and to undo it",
            &install,
        )]);
    }

    /// The step that keeps what the server has now, where nobody has told Niagara.
    fn what_is_there(&mut self, input: &DeployInput, step: &mut Numbers) {
        if input.variant.start.is_some() || !has_options(input) {
            return;
        }
        self.line(format!(
            "{} What the server has now. The gain is over a server with its compiled-in defaults, and sizes were worked out for the machine \
             that it was measured on: **where a size of yours is larger than that of {}, delete its line there.** With your option file \
             (`niagara tune --config`) the measurement begins where you are.",
            step.next(),
            option_file::NAME
        ));
        if let Some(ask) = ask_variables(input) {
            self.code(&[format!("{ask} | tee variables-before")]);
        }
    }

    /// The steps that put a built server where it runs.
    fn built_server(&mut self, input: &DeployInput, step: &mut Numbers) {
        if let Some(built) = &input.variant.built {
            self.line(format!(
                "{} The release in place. It has to be of the same series as the built one{}. Data that a newer release has written an \
                 older one may refuse: where the built one is newer, only a backup undoes it.",
                step.next(),
                match &built.releases {
                    Some(releases) => format!(", {}, and no newer than that", releases.built),
                    None => String::new(),
                }
            ));
            self.code(&[format!("sudo {} -N -e 'SELECT VERSION()'", input.client())]);
            let (text, commands) = plugins::before(input);
            self.line(format!("{} {text}", step.next()));
            self.code(&commands);
            self.line(format!("   {}", plugins::remedy(input)));
            self.line(format!(
                "{} The built server ({}{}). It runs with the libraries of the machine it was built on: install it there, or where \
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
                format!("sudo mkdir -p {PLACE}"),
                unless_there(
                    &format!("{PLACE}/usr"),
                    "undo the round that it is of first",
                    &format!("sudo tar -C {PLACE} -xzf {ARCHIVE}"),
                ),
                format!("{PLACE}/{} --no-defaults --version", built.binary.display()),
            ]);
            self.line(format!(
                "{} Where the data and the socket are: where option files do not say it, the packaged server knows it by itself, and \
                 the built one does not. Ask the packaged server while it runs; two lines are printed:",
                step.next()
            ));
            self.code(&[unit::ask_paths(input)]);
        }
    }

    fn application(&mut self, input: &DeployInput) {
        let notes = &input.variant.application;
        let is_by_socket = input.variant.transport == "unix";
        if notes.is_empty() && !is_by_socket {
            return;
        }
        self.line("## In the application\n");
        for note in notes {
            self.line(format!("{note}\n"));
        }
        if is_by_socket {
            self.socket(input);
        }
    }

    /// What it takes to use the Unix socket.
    fn socket(&mut self, input: &DeployInput) {
        self.line(
            "The gain of the Unix socket comes only to applications on the same machine that connect through it; to those which \
             did before, it brings nothing new. Ask the server for the path (`SELECT @@socket;`, on Debian \
             /run/mysqld/mysqld.sock) and put it where the application has host and port; the host name `localhost` alone means \
             the socket to most C clients, `127.0.0.1` means TCP to all of them. Applications on other machines continue over \
             TCP and gain nothing by it.\n",
        );
        self.line(format!(
            "Before that, look at its account: over the socket it logs in as NAME@localhost, so an account for `127.0.0.1` or \
             another host alone is refused, and one with `REQUIRE SSL` needs a client that encrypts over the socket, too:\n\n\
             ```sh\nsudo {client} -e 'SELECT user, host, ssl_type FROM mysql.user'\n```\n",
            client = input.client()
        ));
        self.line(format!(
            "Does the application use it? `Host` of its connections is `localhost` for the socket, and has a port \
             (`localhost:51734`) for TCP:\n\n```sh\nsudo {} -e 'SHOW PROCESSLIST'\n```\n",
            input.client()
        ));
    }

    fn check(&mut self, input: &DeployInput) {
        let mut commands = Vec::new();
        commands.extend(ask_variables(input));
        if has_unit(input) {
            commands.push(format!(
                "systemctl show {} -p Environment,CPUAffinity,CPUSchedulingPolicy,Nice,LimitMEMLOCK",
                input.service()
            ));
        }
        if let Some(malloc) = &input.variant.malloc {
            let file = malloc.soname.rsplit('/').next().unwrap_or(&malloc.soname);
            commands.push(format!(
                "sudo grep -m1 {file} /proc/$(pidof -s {})/maps",
                input.daemon()
            ));
        }
        if input.variant.huge_text {
            commands.push(format!(
                "sudo awk '$2 ~ /^[r-][w-][x-]/ {{x = $2 ~ /x/}} x && /AnonHugePages|FilePmdMapped/ {{n += $2}} \
                 END {{print n + 0 \" kB of text on huge pages\"}}' /proc/$(pidof -s {})/smaps",
                input.daemon()
            ));
        }
        if input.variant.huge_pages.is_some() {
            commands.push("grep -i hugepages /proc/meminfo".to_owned());
        }
        if input.variant.built.is_some() {
            commands.push(format!(
                "sudo readlink /proc/$(pidof -s {})/exe",
                input.daemon()
            ));
            commands.push(plugins::after(input));
        }
        if commands.is_empty() {
            return;
        }
        self.line("## Check\n");
        self.line(format!("```sh\n{}\n```\n", commands.join("\n")));
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
                false => format!("Expected: {expected} (sizes are printed in bytes). "),
            };
            self.line(format!(
                "{expected}If the server does not start, `journalctl -u {} -n 50` says why.\n",
                input.service()
            ));
        }
        if let Some(malloc) = &input.variant.malloc {
            self.line(format!(
                "A line with {} has to come: without one the loader has not found the library, and the server runs with its own malloc.\n",
                malloc.soname
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
    }

    fn undo(&mut self, input: &DeployInput) {
        let service = input.service();
        let mut commands = Vec::new();
        if has_options(input) {
            commands.extend(including(input).map(|(main, line)| {
                format!("sudo sed -i --follow-symlinks '\\#^{line}$#d' {main}")
            }));
            commands.push(format!("sudo rm {}", input.option_path()));
        }
        if has_unit(input) {
            commands.push(format!(
                "sudo rm /etc/systemd/system/{service}.service.d/{}",
                unit::NAME
            ));
            commands.push("sudo systemctl daemon-reload".to_owned());
        }
        if input.variant.huge_pages.is_some() {
            commands.push(format!("sudo sysctl vm.nr_hugepages=$(cat {PAGES_BEFORE})"));
        }
        if !commands.is_empty() {
            commands.push(format!("sudo systemctl restart {service}"));
            if input.variant.huge_pages.is_some() {
                commands.push(format!("rm {PAGES_BEFORE}"));
            }
            if input.variant.huge_text {
                commands.push(format!("sudo rm {TEXT_LIBRARY_PLACE}"));
            }
            if input.variant.built.is_some() {
                commands.push(format!("sudo rm -r {PLACE}"));
                commands.push(format!("rm {}", plugins::BEFORE));
            }
            self.line("## Undo\n");
            self.line(format!("```sh\n{}\n```", commands.join("\n")));
        }
        if input.variant.transport == "unix" {
            self.line("\nAn application may stay on the socket: it needs nothing of this.");
        }
        if let Some(engine) = &input.variant.engine {
            self.line(format!(
                "\nTables that were converted stay in {engine}: convert them back in the same way."
            ));
        }
        if input.variant.huge_pages.is_some() {
            self.line(
                "\nRemove what reserves the huge pages from /etc/sysctl.d, too, or they are reserved again when the machine starts.",
            );
        }
        if !input.variant.host_steps.is_empty() || !input.variant.steps.is_empty() {
            self.line("\nWhat the steps above did beside these files is to be undone by hand.");
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.0, "{}", text.as_ref()); // writing to a string cannot fail
    }

    fn code(&mut self, commands: &[String]) {
        self.line(format!("   ```sh\n   {}\n   ```", commands.join("\n   ")));
    }
}

struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("{}.", self.0)
    }
}

/// The option file that has to include ours at its end, and the line that does.
fn including(input: &DeployInput) -> Option<(String, String)> {
    let start = input.variant.start.as_ref()?;
    let main = start.included_by.as_ref()?;
    Some((
        main.display().to_string(),
        format!("!include {}", input.option_path()),
    ))
}

/// Asks for the variables that are set; nothing where they show in none.
fn ask_variables(input: &DeployInput) -> Option<String> {
    let names = input.variant.config.keys().filter(|name| is_shown(name));
    let names: Vec<String> = names
        .map(|name| format!("'{}'", shown_as(name).0.replace(['\'', '\\', '"'], "")))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "sudo {} -e \"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})\"",
            input.client(),
            names.join(", ")
        )
    })
}

/// A command that is run where there is no `path`; else it is said, and what to do.
fn unless_there(path: &str, remedy: &str, command: &str) -> String {
    format!("test -e {path} && echo '{path} is there already: {remedy}' || {command}")
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
