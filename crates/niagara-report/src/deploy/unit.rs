//! What surrounds the server's process, as a systemd drop-in.

use std::collections::BTreeMap;

use super::{DeployInput, comment};

/// Goes into the service's `.d` folder.
pub const NAME: &str = "niagara.conf";

/// `None` when the process is started as it always was.
pub fn unit(input: &DeployInput) -> Option<String> {
    let mut settings = String::new();
    for (name, value) in environment(input) {
        if let Some(rung) = input.rung_of(&name) {
            settings.push_str(&comment(&format!("{}: {}", rung.title, rung.effect)));
        }
        settings.push_str(&format!(
            "Environment={}\n",
            quoted(&format!("{name}={value}"))
        ));
    }
    if let Some(cpus) = &input.server_cpus {
        settings.push_str(&format!("CPUAffinity={}\n", one_line(cpus)));
    }
    if let Some(policy) = &input.scheduling {
        settings.push_str(&format!("CPUSchedulingPolicy={}\n", one_line(policy)));
    }
    if let Some(nice) = input.nice {
        settings.push_str(&format!("Nice={nice}\n"));
    }
    if input.huge_pages.is_some() {
        settings.push_str("# Huge pages are locked in memory.\nLimitMEMLOCK=infinity\n");
    }
    if settings.is_empty() {
        return None;
    }
    let head = comment(&format!(
        "Found by Niagara for {}.\n{}\nGoes to /etc/systemd/system/{}.service.d/{NAME}; see README.md.",
        input.server,
        input.evidence,
        input.service()
    ));
    Some(format!("{head}\n[Service]\n{settings}"))
}

/// The environment with the malloc in it; one that preloads something else keeps that behind it.
pub fn environment(input: &DeployInput) -> BTreeMap<String, String> {
    let mut environment = input.environment.clone();
    if let Some(malloc) = &input.malloc {
        let preload = environment.entry("LD_PRELOAD".to_owned()).or_default();
        let named = preload.split([':', ' ']).any(|part| part == malloc.soname);
        if preload.is_empty() {
            preload.clone_from(&malloc.soname);
        } else if !named {
            *preload = format!("{}:{preload}", malloc.soname);
        }
    }
    environment
}

/// A word of systemd's syntax: `%` begins a specifier there, `\` an escape.
fn quoted(word: &str) -> String {
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '%' => out.push_str("%%"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_systemd() {
        assert_eq!(quoted("A=b c"), r#""A=b c""#);
        assert_eq!(quoted(r#"A=50% "x" \"#), r#""A=50%% \"x\" \\""#);
        assert_eq!(
            quoted("A=b\nExecStart=/bin/sh"),
            r#""A=b\nExecStart=/bin/sh""#
        );
    }
}
