//! Where the password of a server that is not ours comes from: never the command line.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Stdin, stdin};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_server::Cancelled;
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};

/// Variables that may hold it; the second is the client library's own.
const VARIABLES: [&str; 2] = ["NIAGARA_PASSWORD", "MYSQL_PWD"];

/// What Ctrl-C sends.
const CTRL_C: u8 = 3;

/// The password from `file`, else from the environment; none when neither has one.
///
/// # Errors
/// The file cannot be read.
pub fn given(file: Option<&Path>) -> Result<Option<String>> {
    let Some(path) = file else {
        return Ok(VARIABLES.iter().find_map(|name| std::env::var(name).ok()));
    };
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the password file {}", path.display()))?;
    if fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o077 != 0) {
        tell!(
            "niagara: others may read the password file {}: chmod 600 it",
            path.display()
        );
    }
    Ok(Some(first_line(&text)))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Asks on the terminal without showing what is typed; none without a terminal.
///
/// # Errors
/// The terminal cannot be read, or Ctrl-C was typed.
pub fn ask(user: &str) -> Result<Option<String>> {
    if !stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(None);
    }
    crate::say::remark(format_args!("Password of {user}: "));
    let line = {
        let _silent = Silent::new().context("cannot prepare the terminal for a password")?;
        read_line().context("cannot read the password from the terminal")?
    };
    tell!();
    if line.contains(&CTRL_C) {
        return Err(Cancelled.into());
    }
    Ok(Some(first_line(&String::from_utf8_lossy(&line))))
}

/// What one read of the terminal gives: a line, be it ended by Ctrl-C.
fn read_line() -> io::Result<Vec<u8>> {
    let mut input = stdin().lock();
    loop {
        match input.fill_buf() {
            Ok(line) => {
                let line = line.to_vec();
                input.consume(line.len());
                return Ok(line);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A terminal that shows nothing and hands Ctrl-C over as the end of a line, so that it is never left silent.
struct Silent {
    input: Stdin,
    before: Termios,
}

impl Silent {
    fn new() -> nix::Result<Silent> {
        let input = stdin();
        let before = tcgetattr(&input)?;
        let mut silent = before.clone();
        silent.local_flags &= !(LocalFlags::ECHO | LocalFlags::ISIG);
        silent.control_chars[SpecialCharacterIndices::VEOL as usize] = CTRL_C;
        tcsetattr(&input, SetArg::TCSAFLUSH, &silent)?;
        Ok(Silent { input, before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // There is nobody to tell when the terminal is gone.
        let _ = tcsetattr(&self.input, SetArg::TCSAFLUSH, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_holds_it_in_its_first_line() {
        assert_eq!(first_line("se cret \n"), "se cret ");
        assert_eq!(first_line("secret\r\nmore"), "secret");
        assert_eq!(first_line(""), "");
    }
}
