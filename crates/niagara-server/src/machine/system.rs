//! Kernel, distribution, virtualisation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::root::Root;

/// The system around the servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct System {
    /// `6.1.0-18-amd64`.
    pub kernel: String,
    /// `Debian GNU/Linux 12 (bookworm)`.
    pub distribution: String,
    /// What the machine runs on (`KVM`, `Amazon EC2`); absent on bare metal.
    pub virtualisation: Option<String>,
    /// What kind of container this is, if one.
    pub container: Option<String>,
    /// What the kernel reads the time from; `hpet` or `acpi_pm` make every time stamp slow.
    pub clock_source: Option<String>,
    /// The kernel tells pressure stall information.
    pub pressure: bool,
    /// First 12 digits of the SHA-256 of the host's name: tells machines apart without naming them.
    pub host: String,
}

impl System {
    /// Reads this machine.
    pub(crate) fn read(root: &Root) -> Self {
        let hostname = root.text("proc/sys/kernel/hostname").unwrap_or_default();
        let release = root.text("etc/os-release").unwrap_or_default();
        Self {
            kernel: root.text("proc/sys/kernel/osrelease").unwrap_or_default(),
            distribution: pretty_name(&release).unwrap_or_else(|| "unknown".to_owned()),
            virtualisation: virtualisation(root),
            container: container(root),
            clock_source: root
                .text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            pressure: root.exists("proc/pressure/cpu"),
            host: digest(&hostname),
        }
    }
}

fn digest(name: &str) -> String {
    hex::encode(&Sha256::digest(name)[..6])
}

fn pretty_name(os_release: &str) -> Option<String> {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|value| value.trim_matches('"').to_owned())
}

fn virtualisation(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("sys/hypervisor/type") {
        return Some(kind);
    }
    let maker = root.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = root
        .text("sys/class/dmi/id/product_name")
        .unwrap_or_default();
    let known = [
        "QEMU",
        "KVM",
        "VMware",
        "Amazon EC2",
        "Google",
        "Microsoft Corporation",
        "VirtualBox",
        "Xen",
    ];
    let named = known
        .iter()
        .find(|name| maker.contains(**name) || product.contains(**name));
    let guest = root
        .text("proc/cpuinfo")
        .is_some_and(|info| has_flag(&info, "hypervisor"));
    match (named, guest) {
        (Some(name), true) => Some((*name).to_owned()),
        (None, true) => Some("a hypervisor".to_owned()),
        // ARM has no such flag; there the vendor's name is the only witness.
        (Some(name), false) if std::env::consts::ARCH != "x86_64" => Some((*name).to_owned()),
        (_, false) => None,
    }
}

fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|word| word == flag))
}

fn container(root: &Root) -> Option<String> {
    if root.exists("run/.containerenv") {
        return Some("podman".to_owned());
    }
    if root.exists(".dockerenv") {
        return Some("docker".to_owned());
    }
    root.text("run/systemd/container")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_guest_is_told_by_its_cpu_flag() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = Root::at(folder.path());
        fs::create_dir_all(folder.path().join("proc")).expect("made");
        fs::write(
            folder.path().join("proc/cpuinfo"),
            "flags\t\t: fpu hypervisor sse\n",
        )
        .expect("written");
        assert_eq!(virtualisation(&root), Some("a hypervisor".into()));
        fs::write(folder.path().join("proc/cpuinfo"), "flags\t\t: fpu sse\n").expect("written");
        if std::env::consts::ARCH == "x86_64" {
            assert_eq!(virtualisation(&root), None);
        }
    }

    #[test]
    fn names_are_read_and_the_host_is_not_named() {
        assert_eq!(
            pretty_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            Some("Debian GNU/Linux 12 (bookworm)".into())
        );
        assert_eq!(digest("db1").len(), 12);
        assert_ne!(digest("db1"), digest("db2"));
    }
}
