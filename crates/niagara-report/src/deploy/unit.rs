//! What surrounds the server's process, as a systemd drop-in.

use std::collections::BTreeMap;

use niagara_model::{DeployBuild, Deployment};

use super::{DeployInput, PLACE, TEXT_LIBRARY_PLACE, comment, head, quoted, verbatim_comment};
use crate::directives::{Directive, directives};

/// Goes into the service's `.d` folder.
pub const NAME: &str = "niagara.conf";
/// Where the packaged server has its data, its socket and, MySQL, the files that statements read and write, asked of it before
/// the built one takes its place: Debian's option files do not say it, for the package was built with the answer.
const PATHS: &str = "/opt/niagara/paths";

/// Where the built server looks for plugins.
pub const FOLDER: &str = "/opt/niagara/usr/lib/mysql/plugin";

/// `None` when the process is started as it always was.
pub fn unit(input: &DeployInput) -> Option<String> {
    let settings = settings(input);
    if settings.is_empty() {
        return None;
    }
    let place = format!("/etc/systemd/system/{}.service.d/{NAME}", input.service());
    let head = head(input, &place);
    Some(format!("{head}\n[Service]\n{settings}"))
}

/// Whether there is such a file.
pub(super) fn is_there(input: &DeployInput) -> bool {
    !settings(input).is_empty()
}

fn settings(input: &DeployInput) -> String {
    let mut settings = built(input);
    for (name, value) in environment(&input.variant) {
        if let Some(rung) = input.rung_of(&name) {
            settings.push_str(&comment(&rung.told()));
        }
        settings.push_str(&format!(
            "Environment={}\n",
            word(&format!("{name}={value}"))
        ));
    }
    for directive in directives(&input.variant) {
        let rung = directive.setting.and_then(|name| input.rung_of(name));
        settings.extend(rung.map(|rung| comment(&rung.told())));
        settings.extend(directive.comment.as_deref().map(comment));
        settings.push_str(&format!("{}\n", one_line(&directive.line)));
    }
    settings
}

/// What `systemctl show` prints of the settings, in its own words.
pub(crate) fn shown(variant: &Deployment) -> Vec<String> {
    let environment = environment(variant);
    let pairs: Vec<String> = environment
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let environment = (!pairs.is_empty()).then(|| format!("Environment={}", pairs.join(" ")));
    let directives = directives(variant).into_iter().map(Directive::shown);
    environment.into_iter().chain(directives).collect()
}

/// The names of these settings, each with a comma behind it.
pub(crate) fn properties(variant: &Deployment) -> String {
    let shown = shown(variant);
    let names = shown.iter().filter_map(|line| line.split_once('='));
    names.map(|(name, _)| format!("{name},")).collect()
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
    let paths: String = paths(input)
        .iter()
        .map(|path| format!(" --{}=${{{}}}", path.option, path.name))
        .collect();
    format!(
        "{}EnvironmentFile={PATHS}\nExecStart=\nExecStart={}{paths}{options}\n",
        verbatim_comment(&format!("the built server: {}", built.one_line)),
        command(built).replace('%', "%%"),
    )
}

/// A path that the packaged server knows by itself.
pub struct KnownPath {
    /// The option that tells the built one.
    pub option: &'static str,
    /// The variable in which it shows.
    variable: &'static str,
    /// What it is called in the file that keeps it.
    name: &'static str,
}

/// The paths that the built server is told: MySQL's packages have a folder of their own for files that statements read and write,
/// a build has none and then refuses such statements. NULL, which the server takes for none at all, and an empty value, any
/// folder, are told as they are.
pub fn paths(input: &DeployInput) -> Vec<KnownPath> {
    let mut paths = vec![
        KnownPath {
            option: "datadir",
            variable: "datadir",
            name: "NIAGARA_DATADIR",
        },
        KnownPath {
            option: "socket",
            variable: "socket",
            name: "NIAGARA_SOCKET",
        },
    ];
    if !input.is_mariadb() {
        paths.push(KnownPath {
            option: "secure-file-priv",
            variable: "secure_file_priv",
            name: "NIAGARA_FILES",
        });
    }
    paths
}

/// Asks the server that runs for these paths, and writes them down for the built one.
pub fn ask_paths(input: &DeployInput) -> String {
    let asked: Vec<String> = paths(input)
        .iter()
        .map(|path| {
            format!(
                "SELECT CONCAT('{}=', QUOTE(@@{}))",
                path.name, path.variable
            )
        })
        .collect();
    format!(
        "sudo {} -N -B -r -e \"{}\" | sudo tee {PATHS}",
        input.client(),
        asked.join("; ")
    )
}

/// Runs the built server with these options as the unit would start it, in a shell.
pub fn asked(input: &DeployInput, built: &DeployBuild, options: &str) -> String {
    let paths: String = paths(input)
        .iter()
        .map(|path| format!(" --{}=\"${}\"", path.option, path.name))
        .collect();
    format!(
        "sudo sh -c '. {PATHS} && {}{paths} {options}'",
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
        FOLDER
    )
}

/// The environment with what is preloaded: malloc and library in front of what it preloads anyway.
fn environment(variant: &Deployment) -> BTreeMap<String, String> {
    let mut environment = variant.runtime.environment.clone();
    let text = variant
        .runtime
        .has_huge_text()
        .then_some(TEXT_LIBRARY_PLACE);
    let malloc = variant.malloc.as_ref().map(|m| m.soname.as_str());
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
