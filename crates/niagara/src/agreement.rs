//! Somebody's word before something begins.

use std::io::{BufRead, IsTerminal, stdin};

use anyhow::Result;
use niagara_error::bail;

/// Has somebody agree to what was just told: `yes`, or an answer on the terminal.
///
/// # Errors
/// Nobody is there to agree; somebody does not.
pub fn agreed(yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!(
            "nothing was done: nobody is there to agree";
            remedy: "--yes, once you have read what it does"
        );
    }
    crate::say::remark(format_args!("Begin? Type yes: "));
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    if answer.trim() != "yes" {
        bail!("nothing was done");
    }
    Ok(())
}
