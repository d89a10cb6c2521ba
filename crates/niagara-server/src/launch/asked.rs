//! What a server's binary says of itself without being started: its options, and what it makes of option files.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_settings::ProcessSettings;

use super::arguments::{base_arguments, number_argument, variable_arguments};
use super::error_log;
use crate::config::Config;
use crate::install::Install;
use crate::install::version::NO_PROFILE;

/// What servers say of a value that they refuse, of their own or of an engine's, and go on with the help that they were asked for.
const REFUSING: [&str; 2] = ["Error while setting value", "Parsing options for plugin"];

impl Install {
    /// Every option with its words, and the table of variables with their compiled-in defaults: `--verbose --help`, with
    /// the plugins of `plugins` loaded. `scratch` stands for its data directory; nothing is written there.
    ///
    /// # Errors
    /// It does not run.
    pub fn verbose_help(&self, plugins: &[String], scratch: &Path) -> Result<String> {
        let mut command = self.command();
        command.args(base_arguments(self, scratch));
        let plugins = self.plugins.iter().chain(plugins);
        command.args(plugins.map(|plugin| format!("--plugin-load-add={plugin}")));
        command.args(["--verbose", "--help"]);
        Ok(printed(&self.run(&mut command)?))
    }

    /// Why it does not take these variables, as far as it tells without being started: a value that it does not know, a collation.
    /// None where it takes them. `scratch` stands for its data directory; nothing is written there.
    ///
    /// # Errors
    /// It does not run.
    pub fn refusal_of(&self, config: &Config, scratch: &Path) -> Result<Option<String>> {
        let mut command = self.command();
        command.args(base_arguments(self, scratch));
        command.args(number_argument(self, config));
        command.args(variable_arguments(&ProcessSettings::default(), config));
        command.args(["--verbose", "--help"]);
        let output = self.run(&mut command)?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned() + &printed(&output);
        let mut refusing = error_log::errors(&text).filter(|line| {
            let mut words = REFUSING.iter();
            words.any(|words| line.contains(words))
        });
        let said = refusing.next().map(error_log::words);
        match (said, output.status.success()) {
            (Some(said), _) => Ok(Some(said)),
            (None, true) => Ok(None),
            (None, false) => {
                let said = error_log::cause(&text);
                Ok(Some(said.unwrap_or_else(|| output.status.to_string())))
            }
        }
    }

    /// The options that it would be started with by the option file `file` and what that includes: the line below the
    /// heading of `--print-defaults`, which does not tell a space in a value from one between options.
    ///
    /// # Errors
    /// It does not run, or refuses the file.
    pub fn print_defaults(&self, file: &Path) -> Result<String> {
        let mut command = self.command();
        // Only understood as the first.
        command.arg(format!("--defaults-file={}", file.display()));
        command.arg("--print-defaults");
        let output = self.run(&mut command)?;
        let text = printed(&output);
        let line = text
            .split_once("following arguments:\n")
            .map(|(_, line)| line.trim_end().to_owned());
        match line {
            Some(line) if output.status.success() => Ok(line),
            _ => bail!(
                "{} does not take the option file {}: {}",
                self.name,
                file.display(),
                String::from_utf8_lossy(&output.stderr).trim();
                remedy: "correct the file; the server would not start with it"
            ),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.server);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C")
            .envs(NO_PROFILE)
            .envs(self.library_environment())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, command: &mut Command) -> Result<Output> {
        command
            .output()
            .with_context(|| format!("cannot run {}", self.server.display()))
    }
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
