//! A server's start as a person would type it into a shell.

use niagara_settings::{ProcessSettings, Scheduling};

use crate::config::Config;
use crate::install::Install;

use super::arguments::{plugin_arguments, variable_arguments};
use super::environment::{environment, join};
use super::huge_text::TEXT_LIBRARY_NAME;

/// What a person would type to run this server so: placement, environment, binary, variables; without the paths
/// and ports that differ from run to run.
pub fn command_line(install: &Install, runtime: &ProcessSettings, config: &Config) -> String {
    let mut words = prefix_words(runtime);
    let mut variables =
        environment(install, runtime).unwrap_or_else(|_| runtime.environment.clone());
    if runtime.has_huge_text() {
        join(&mut variables, "LD_PRELOAD", TEXT_LIBRARY_NAME, ":");
    }
    words.extend(
        variables
            .iter()
            .map(|(name, value)| format!("{name}={}", quoted(value))),
    );
    words.push(install.server.display().to_string());
    words.push("--no-defaults".to_owned());
    words.extend(plugin_arguments(install));
    words.extend(
        variable_arguments(runtime, config)
            .iter()
            .map(|argument| quoted(argument)),
    );
    words.join(" ")
}

/// CPUs and scheduling as commands.
pub(super) fn prefix_words(runtime: &ProcessSettings) -> Vec<String> {
    let ProcessSettings {
        server_cpus,
        scheduling,
        // Words of the environment and of the arguments.
        malloc: _,
        huge_pages_heap: _,
        huge_pages_text: _,
        environment: _,
        lock_memory: _,
        // The load generator's.
        client_cpus: _,
        transport: _,
    } = runtime;
    let mut words = Vec::new();
    if let Some(cpus) = server_cpus {
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        words.push(format!("taskset -c {}", list.join(",")));
    }
    match scheduling {
        Some(Scheduling::Batch) => words.push("chrt --batch 0".to_owned()),
        Some(Scheduling::Nice(value)) => words.push(format!("nice -n {value}")),
        None => {}
    }
    if !words.is_empty() {
        words.push("env".to_owned());
    }
    words
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_pasted_into_a_shell() {
        assert_eq!(
            quoted("--innodb_buffer_pool_size=1G"),
            "--innodb_buffer_pool_size=1G"
        );
        assert_eq!(quoted("--sql_mode=A B"), "'--sql_mode=A B'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
