//! The distribution's sysbench, as the measure of what its workloads are.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use niagara_load::{Endpoint, Transport};
use std::io::ErrorKind;
use std::process::Command;

/// What it printed. `arguments` come first, then the server's if there is one, then `command`.
pub fn sysbench(endpoint: Option<&Endpoint>, arguments: &[String], command: &str) -> String {
    let mut sysbench = Command::new("sysbench");
    sysbench.args(arguments);
    if let Some(endpoint) = endpoint {
        let Transport::Unix(socket) = &endpoint.transport else {
            panic!("sysbench is led to a socket");
        };
        sysbench
            .arg(format!("--mysql-socket={}", socket.display()))
            .arg(format!("--mysql-user={}", endpoint.user))
            .arg(format!("--mysql-password={}", endpoint.password))
            .arg(format!("--mysql-db={}", endpoint.database));
    }
    let output = match sysbench.arg(command).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => panic!(
            "sysbench is not here, and this test compares with it: run scripts/setup test, or install the package sysbench"
        ),
        Err(error) => panic!("sysbench: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{sysbench:?}: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// Fails unless it is the release that the workloads follow.
pub fn check_release() {
    let release = sysbench(None, &[], "--version");
    assert!(
        release.starts_with("sysbench 1.0.20"),
        "the workloads follow sysbench 1.0.20, here is {release}"
    );
}
