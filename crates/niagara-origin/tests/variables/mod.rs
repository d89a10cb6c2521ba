//! The table of variables that a server prints, of an option file and of what a start makes of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use niagara_origin::configuration::{ConfigSource, StartConfiguration};
use niagara_server::{Install, ProcessSettings, command_line};

/// The values that the server says it would have, when it is started by this command on an empty folder.
fn variables(command: &str, datadir: &Path) -> Result<BTreeMap<String, String>> {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "{command} --user=root --datadir={} --verbose --help",
            datadir.display()
        ))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, table) = text
        .split_once("Variables (--variable-name=value)")
        .unwrap_or_default();
    let variables: BTreeMap<String, String> = table
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    ensure!(
        variables.len() > 100,
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(variables)
}

/// That a start from `file` has every variable as the server has it that reads the file itself; `changed` are some that the file sets
/// otherwise than they are by themselves. The start.
pub fn assert_same(install: &Install, file: &Path, changed: &[&str]) -> Result<StartConfiguration> {
    let scratch = tempfile::tempdir()?;
    let variables = |command: &str| variables(command, scratch.path());
    let start = StartConfiguration::of(
        &ConfigSource::file(file)?,
        None,
        install,
        4 << 30,
        scratch.path(),
    )?;
    let server = install.server.display();
    let theirs = variables(&format!("{server} --defaults-file={}", file.display()))?;
    let ours = variables(&command_line(
        install,
        &ProcessSettings::default(),
        &start.config,
    ))?;
    let different: Vec<(&String, &String, Option<&String>)> = theirs
        .iter()
        .map(|(name, value)| (name, value, ours.get(name)))
        .filter(|(_, theirs, ours)| Some(*theirs) != *ours)
        .collect();
    assert!(different.is_empty(), "{different:#?}");
    let by_itself = variables(&format!("{server} --no-defaults"))?;
    for name in changed {
        assert_ne!(theirs[*name], by_itself[*name], "{name}");
    }
    Ok(start)
}

/// What a person is told of `start`, a line each.
pub fn told(start: &StartConfiguration) -> String {
    let notes = start.notes().into_iter();
    let lines: Vec<_> = notes.map(|note| note.to_string()).collect();
    lines.join("\n")
}
