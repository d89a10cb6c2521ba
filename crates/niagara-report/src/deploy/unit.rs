//! What surrounds the server's process, as a systemd drop-in.

use std::collections::BTreeMap;

use niagara_store::DeployBuild;

use super::{DeployInput, PLACE, TEXT_LIBRARY_PLACE, comment, head, plugins, quoted};

/// Goes into the service's `.d` folder.
pub const NAME: &str = "niagara.conf";
/// Where the packaged server has its data and its socket, asked of it before the built one takes its place: Debian's option
/// files do not say where the data are, for the package was built with the answer.
const PATHS: &str = "/opt/niagara/paths";

/// `None` when the process is started as it always was.
pub fn unit(input: &DeployInput) -> Option<String> {
    let mut settings = built(input);
    for (name, value) in environment(input) {
        if let Some(rung) = input.rung_of(&name) {
            settings.push_str(&comment(&format!("{}: {}", rung.title, rung.effect)));
        }
        settings.push_str(&format!(
            "Environment={}\n",
            word(&format!("{name}={value}"))
        ));
    }
    if let Some(cpus) = &input.variant.server_cpus {
        settings.push_str(&comment(&format!(
            "CPU numbers of the machine it was measured on ({}): where CPUs are others, work them out again.",
            input.variant.machine
        )));
        settings.push_str(&format!("CPUAffinity={}\n", one_line(cpus)));
    }
    if let Some(policy) = &input.variant.scheduling {
        settings.push_str(&format!("CPUSchedulingPolicy={}\n", one_line(policy)));
    }
    if let Some(nice) = input.variant.nice {
        settings.push_str(&format!("Nice={nice}\n"));
    }
    if input.variant.huge_pages.is_some() {
        settings.push_str("# Huge pages are locked in memory.\nLimitMEMLOCK=infinity\n");
    }
    if settings.is_empty() {
        return None;
    }
    let place = format!("/etc/systemd/system/{}.service.d/{NAME}", input.service());
    let head = head(input, &place);
    Some(format!("{head}\n[Service]\n{settings}"))
}

/// The built server in place of the packaged one: the package's own options of its command line stay.
fn built(input: &DeployInput) -> String {
    let Some(built) = &input.variant.built else {
        return String::new();
    };
    let options = if input.is_mariadb() {
        " $MYSQLD_OPTS $_WSREP_NEW_CLUSTER $_WSREP_START_POSITION"
    } else {
        ""
    };
    format!(
        "{}EnvironmentFile={PATHS}\nExecStart=\nExecStart={} --datadir=${{NIAGARA_DATADIR}} \
         --socket=${{NIAGARA_SOCKET}}{options}\n",
        comment(&format!("the built server: {}", built.one_line)),
        command(built).replace('%', "%%"),
    )
}

/// Asks the server that runs where its data and its socket are, and writes that down for the built one.
pub fn ask_paths(input: &DeployInput) -> String {
    let ask = |name: &str, variable: &str| format!("SELECT CONCAT('{name}=', QUOTE(@@{variable}))");
    format!(
        "sudo {} -N -B -r -e \"{}; {}\" | sudo tee {PATHS}",
        input.client(),
        ask("NIAGARA_DATADIR", "datadir"),
        ask("NIAGARA_SOCKET", "socket"),
    )
}

/// Runs the built server with these options as the unit would start it, in a shell.
pub fn asked(built: &DeployBuild, options: &str) -> String {
    format!(
        "sudo sh -c '. {PATHS} && {} --datadir=\"$NIAGARA_DATADIR\" --socket=\"$NIAGARA_SOCKET\" {options}'",
        command(built)
    )
}

/// The built server's command line, as far as it is not the package's.
fn command(built: &DeployBuild) -> String {
    let binary = built.binary.display().to_string();
    let usr = format!("{PLACE}/usr");
    let share = format!("{usr}/share/mysql");
    format!(
        "{PLACE}/{} --basedir={usr} --lc-messages-dir={share} --character-sets-dir={share}/charsets \
         --plugin-dir={}",
        words(&binary),
        plugins::FOLDER
    )
}

/// The environment with what is preloaded: malloc and library in front of what it preloads anyway.
pub fn environment(input: &DeployInput) -> BTreeMap<String, String> {
    let mut environment = input.variant.environment.clone();
    let text = input.variant.huge_text.then_some(TEXT_LIBRARY_PLACE);
    let malloc = input.variant.malloc.as_ref().map(|m| m.soname.as_str());
    for library in [text, malloc].into_iter().flatten() {
        let preload = environment.entry("LD_PRELOAD".to_owned()).or_default();
        let named = preload.split([':', ' ']).any(|part| part == library);
        if preload.is_empty() {
            library.clone_into(preload);
        } else if !named {
            *preload = format!("{library}:{preload}");
        }
    }
    environment
}

/// A word of systemd's syntax, where `%` begins a specifier.
fn word(text: &str) -> String {
    quoted(text).replace('%', "%%")
}

fn one_line(text: &str) -> String {
    words(text).replace('%', "%%")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn arguments_survive_systemd_quoting() {
        assert_eq!(word("A=b c"), r#""A=b c""#);
        assert_eq!(word(r#"A=50% "x" \"#), r#""A=50%% \"x\" \\""#);
        assert_eq!(
            word("A=b\nExecStart=/bin/sh"),
            r#""A=b\nExecStart=/bin/sh""#
        );
    }
}
