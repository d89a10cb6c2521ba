//! Everything that does not need root runs without it: a small comparison by a user who may do nothing else.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{SHORT_TUNING, run, servers_under};

/// `nobody`, who owns nothing and is in no group.
const NOBODY: u32 = 65_534;

/// A home of the ordinary user's own, with the program in it.
struct Home {
    folder: tempfile::TempDir,
    /// Whether the test itself is an ordinary user.
    ordinary: bool,
}

impl Home {
    /// `None`, with the reason printed, where an ordinary user cannot be had here.
    fn new() -> Option<Home> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ordinary = !nix::unistd::geteuid().is_root();
        let program = folder.path().join("niagara");
        // A build folder below /root is nothing that others can look into.
        std::fs::copy(env!("CARGO_BIN_EXE_niagara"), &program).expect("room for the program");
        if !ordinary {
            let found = Command::new("setpriv").arg("--version").output();
            if found.is_err() {
                eprintln!("skipped: there is no setpriv (util-linux) to become an ordinary user");
                return None;
            }
            for path in [folder.path(), program.as_path()] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
            }
        }
        Some(Home { folder, ordinary })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `niagara` run by the ordinary user, with nothing of the tester's environment.
    fn niagara(&self, arguments: &[&str]) -> Command {
        let program = self.path().join("niagara");
        let mut command = match self.ordinary {
            true => Command::new(program),
            false => {
                let mut command = Command::new("setpriv");
                command
                    .args([
                        "--reuid=65534",
                        "--regid=65534",
                        "--clear-groups",
                        "--no-new-privs",
                    ])
                    .arg(program);
                command
            }
        };
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.path())
            .env("LANG", "C.UTF-8")
            .current_dir(self.path());
        command
    }
}

/// The binary of a server that this machine has installed: an ordinary user may run it too.
fn installed() -> Option<PathBuf> {
    let found = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].map(PathBuf::from);
    let server = found.into_iter().find(|path| path.is_file());
    if server.is_none() {
        eprintln!("skipped: no server is installed here (scripts/setup test installs one)");
    }
    server
}

#[test]
fn a_comparison_needs_no_rights() {
    let (Some(home), Some(server)) = (Home::new(), installed()) else {
        return;
    };
    let server = server.display().to_string();
    let (code, stdout, stderr) = run(&mut home.niagara(&[
        "compare",
        "base",
        "transport=unix",
        "--server",
        &server,
        "--threads",
        "2",
        "--table-size",
        "1000",
        "--couples",
        "2",
        "--slice",
        "100ms",
        "--warm-up",
        "200ms",
        "--max-duels",
        "2",
        "--disturbance",
        "100%",
        "--seed",
        "5",
        "--out",
        "study",
    ]));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(stdout.contains("transport-unix"), "{stdout}");
    let report = home.path().join("study/report.html");
    assert!(report.is_file(), "{stdout}\n{stderr}");
    assert!(servers_under(home.path()).is_empty(), "a server was left");
}

/// The main job, as small as it can be; on a machine too slow for that it says so, which no test may fail on.
#[test]
fn a_tuning_needs_no_rights() {
    let (Some(home), Some(server)) = (Home::new(), installed()) else {
        return;
    };
    let server = server.display().to_string();
    let mut command = home.niagara(&[
        "tune",
        &server,
        "--budget",
        "40s",
        "--threads",
        "2",
        "--table-size",
        "1000",
        "--only",
        "transport-unix",
        "--no-profile",
        "--disturbance",
        "100%",
        "--seed",
        "5",
        "--out",
        "study",
    ]);
    let (code, stdout, stderr) = run(command.args(SHORT_TUNING));
    if code != Some(0) {
        assert!(stderr.contains("is too short"), "{stdout}\n{stderr}");
        return;
    }
    assert!(stdout.contains("report:  study/report.html"), "{stdout}");
    assert!(home.path().join("study/report.html").is_file(), "{stderr}");
    assert!(servers_under(home.path()).is_empty(), "a server was left");
}

#[test]
fn what_root_would_add_is_said_once() {
    let Some(home) = Home::new() else { return };
    let (code, stdout, stderr) = run(&mut home.niagara(&["doctor"]));
    assert!(code.is_some(), "{stderr}");
    let said = stdout.matches("root would add").count();
    assert_eq!(said, 1, "{stdout}\n{stderr}");
    assert!(stdout.contains("priority"), "{stdout}");
}
