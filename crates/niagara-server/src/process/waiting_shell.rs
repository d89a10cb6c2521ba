//! Tests: a process that looks like a server of this folder.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A shell that runs as this program, which is a copy of it, with a path among its words. It waits for a line, and has begun to.
pub(crate) fn waiting_shell(program: &Path, named: &Path) -> Child {
    if !program.exists() {
        // By a process of its own: what another test starts meanwhile inherits a file that is open for writing here, and the kernel
        // runs no program that somebody has open for writing.
        let copied = Command::new("cp")
            .arg("/bin/sh")
            .arg(program)
            .status()
            .expect("cp");
        assert!(copied.success(), "{} is not there", program.display());
    }
    let mut command = Command::new(program);
    command.args(["-c", "echo up; read line"]).arg(named);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // Its words can be read once it runs, which is a little after it was started.
    let mut said = [0; 3];
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut said).expect("it says so");
    child
}
