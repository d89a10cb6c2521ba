//! A second machine for a test: a network namespace with a cable to this one, and a command that enters it as ssh would.

use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A name for the host that the command knows.
pub const HOST: &str = "db-client";

/// Two ends of a cable; both go with it.
pub struct Namespace {
    name: String,
    cable: String,
    /// This host's end.
    pub here: Ipv4Addr,
    /// The other host's.
    pub there: Ipv4Addr,
}

impl Namespace {
    /// `None`, and a line that says why, where the system does not let it be made.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        if !nix::unistd::geteuid().is_root() {
            eprintln!("not root: a network namespace cannot be made, two machines are not tried");
            return None;
        }
        // Apart from those of other tests that run at the same time, of this process and of others.
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let [.., net] = process.to_be_bytes();
        let first = (4 * number % 252) as u8;
        let namespace = Self {
            name: format!("niagara-{process}-{number}"),
            cable: format!("ng{process}x{number}"),
            here: Ipv4Addr::new(10, 213, net, first + 1),
            there: Ipv4Addr::new(10, 213, net, first + 2),
        };
        match namespace.make() {
            Ok(()) => Some(namespace),
            Err(reason) => {
                eprintln!(
                    "a network namespace cannot be made here ({reason}): two machines are not tried"
                );
                None
            }
        }
    }

    fn make(&self) -> Result<(), String> {
        let Self {
            name,
            cable,
            here,
            there,
        } = self;
        for line in [
            format!("netns add {name}"),
            format!("link add {cable} type veth peer name eth0 netns {name}"),
            format!("address add {here}/30 dev {cable}"),
            format!("link set {cable} up"),
            format!("-n {name} address add {there}/30 dev eth0"),
            format!("-n {name} link set eth0 up"),
            format!("-n {name} link set lo up"),
        ] {
            ip(&line)?;
        }
        Ok(())
    }

    /// Writes a command that stands in for ssh into `folder`: the user's home on the other host is there, too.
    pub fn ssh(&self, folder: &Path) -> PathBuf {
        let connection = format!("{} 50022 {} 22", self.here, self.there);
        write_ssh(
            folder,
            &format!("export SSH_CONNECTION=\"{connection}\""),
            &self.enter(),
        )
    }

    /// What a command begins with to be run on the other host.
    pub fn enter(&self) -> String {
        format!("ip netns exec {}", self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What was not made cannot be removed.
        let _ = ip(&format!("link delete {}", self.cable));
        let _ = ip(&format!("netns delete {}", self.name));
    }
}

fn ip(line: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(line.split(' '))
        .output()
        .map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {line}: {}", said.trim()))
}

/// A command in `folder` that runs a line as ssh would, by way of `enter`. As with ssh, ending it does not end what it runs
/// over there: that only loses its input.
pub fn write_ssh(folder: &Path, before: &str, enter: &str) -> PathBuf {
    let home = home_under(folder);
    std::fs::create_dir_all(&home).expect("a folder");
    let path = folder.join("enter");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" != {HOST} ]; then echo \"Could not resolve hostname $1\" >&2; exit 255; fi\n\
         export HOME=\"{}\"\n{before}\n{enter} sh -c \"$2\"\n",
        home.display()
    );
    std::fs::write(&path, script).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))
        .expect("a file of ours");
    path
}

/// The user's home on the other host.
pub fn home_under(folder: &Path) -> PathBuf {
    folder.join("home")
}

/// Process ids of the load agents whose binary is below `folder`.
pub fn agents_under(folder: &Path) -> Vec<i32> {
    let needle = format!("{}/", home_under(folder).display());
    super::processes(|command| {
        let mut words = command.split('\0');
        words.next().is_some_and(|word| word.starts_with(&needle))
            && words.next() == Some("load-agent")
    })
}
