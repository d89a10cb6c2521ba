//! What runs a command on another host: `ssh`, or what stands in for it.

use std::path::Path;
use std::process::Command;
use std::str::FromStr;

/// The environment variable that names it.
pub const SSH_VARIABLE: &str = "NIAGARA_SSH";

/// It never asks (there is nobody to answer), and a host that does not answer is noticed within half a minute.
const SSH_OPTIONS: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=20",
    "-o",
    "ServerAliveInterval=10",
    "-o",
    "ServerAliveCountMax=3",
];

/// A command that is given a host and a line for the shell there, as `ssh` is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteShell {
    words: Vec<String>,
}

impl Default for RemoteShell {
    fn default() -> Self {
        Self {
            words: vec!["ssh".to_owned()],
        }
    }
}

impl FromStr for RemoteShell {
    type Err = String;

    /// Words with spaces between them: `ssh -p 2222 -i key`.
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err("expected a command, such as `ssh -p 2222`".to_owned());
        }
        Ok(Self { words })
    }
}

impl std::fmt::Display for RemoteShell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

impl RemoteShell {
    /// `line` for the shell of `host`.
    pub(crate) fn command(&self, host: &str, line: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if Path::new(&self.words[0]).file_name() == Some("ssh".as_ref()) {
            // The user's own come first: of two that say the same ssh takes the first.
            command.args(SSH_OPTIONS);
        }
        command.arg(host).arg(line);
        command
    }
}

/// `script`, which has no apostrophes, as a line for whatever shell a user has there.
pub(crate) fn line(script: &str) -> String {
    debug_assert!(!script.contains('\''), "{script}");
    format!("sh -c '{script}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(shell: &str) -> Vec<String> {
        let shell: RemoteShell = shell.parse().expect("a command");
        let command = shell.command("db-client", "uname");
        std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn ssh_never_asks_and_other_commands_are_left_alone() {
        let ssh = words("/usr/bin/ssh -p 2222");
        assert_eq!(ssh[..3], ["/usr/bin/ssh", "-p", "2222"]);
        assert!(ssh.contains(&"BatchMode=yes".to_owned()), "{ssh:?}");
        assert_eq!(ssh[ssh.len() - 2..], ["db-client", "uname"]);
        assert_eq!(words("./enter"), ["./enter", "db-client", "uname"]);
        assert!(" ".parse::<RemoteShell>().is_err());
    }
}
