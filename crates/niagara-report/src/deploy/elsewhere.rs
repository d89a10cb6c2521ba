//! The same variant for servers that no option file on a host configures: parameter groups, Ansible, Kubernetes.

mod ansible;
mod kubernetes;
mod rds;

use niagara_settings::TransportKind;

use super::{DeployInput, HUGE_PAGES, comment, verbatim_comment};
use crate::directives::directives;
use crate::host::transparent_pages;

/// Where the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeployPlace {
    /// Amazon RDS or Aurora: a script that makes a parameter group.
    Rds,
    /// Hosts that Ansible configures: a playbook.
    Ansible,
    /// Kubernetes: a ConfigMap and a patch for an operator.
    Kubernetes,
}

impl DeployPlace {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rds, Self::Ansible, Self::Kubernetes];
}

/// What only the machine's administrator can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// Variables alone.
    Variables,
    /// Variables, the unit, packages.
    Host,
}

/// The files that it adds to `deploy/`: name and content.
pub fn deploy_elsewhere(input: &DeployInput, place: DeployPlace) -> Vec<(String, String)> {
    let files = match place {
        DeployPlace::Rds => vec![(rds::NAME, rds::script(input))],
        DeployPlace::Ansible => vec![(ansible::NAME, ansible::playbook(input))],
        DeployPlace::Kubernetes => kubernetes::files(input),
    };
    let files = files.into_iter();
    files
        .filter_map(|(name, text)| Some((name.to_owned(), text?)))
        .collect()
}

/// Every file that [`deploy_elsewhere`] may make.
pub(super) const FILES: [&str; 5] = [
    rds::NAME,
    ansible::NAME,
    kubernetes::CONFIG_MAP,
    kubernetes::MARIADB_OPERATOR,
    kubernetes::PERCONA_OPERATOR,
];

/// What a file begins with.
fn head(input: &DeployInput, steps: &str, left_out: &[String]) -> String {
    let mut text = format!(
        "Found by Niagara for {}.\n{}\n",
        input.server, input.evidence
    );
    if let Some(risk) = &input.risk {
        text.push_str(&format!("Risk: {}\n", risk.replace('\n', "\n- ")));
    }
    // The steps have commands, which stay whole.
    let mut head = comment(&text) + &verbatim_comment(&format!("\n{steps}"));
    if !left_out.is_empty() {
        let mut text = "\nPart of what was measured, and not in this file:\n".to_owned();
        text.extend(left_out.iter().map(|one| format!("- {one}\n")));
        text.push_str("Without these the gain is another one: measure again without them.");
        head += &comment(&text);
    }
    head
}

/// The parts of a variant that these means do not reach.
fn left_out(input: &DeployInput, means: Means) -> Vec<String> {
    let variant = &input.variant;
    let mut parts = Vec::new();
    let mut part = |is_there: bool, text: String| {
        if is_there {
            parts.push(text);
        }
    };
    part(
        variant.brings_socket(),
        "the Unix socket: a setting of the application".to_owned(),
    );
    part(
        variant.new_transport() == Some(TransportKind::Tls),
        "TLS: a setting of the application, and a certificate of the server".to_owned(),
    );
    part(
        variant.built.is_some(),
        "the built server: README.md has its steps".to_owned(),
    );
    if let Some(engine) = &variant.engine {
        part(true, format!("the tables' engine {engine}: ALTER TABLE"));
    }
    let steps = variant.steps_by_hand();
    for step in variant.host_steps.iter().chain(&steps) {
        part(true, format!("by hand: {}", step.replace('\n', " ")));
    }
    part(variant.huge_pages, format!("huge pages: {HUGE_PAGES}"));
    if let Some(setting) = transparent_pages(variant) {
        parts.push(format!(
            "transparent huge pages, {setting}: a setting of the host"
        ));
    }
    if means == Means::Host {
        return parts;
    }
    if let Some(malloc) = &variant.malloc {
        parts.push(format!("the memory allocator {}", malloc.name));
    }
    for name in variant.runtime.environment.keys() {
        parts.push(format!("the environment variable {name}"));
    }
    if variant.runtime.has_huge_text() {
        parts.push("the server's code in 2 MB pages".to_owned());
    }
    let directives = directives(variant).into_iter();
    parts.extend(directives.filter_map(|directive| directive.in_words));
    parts
}

/// Text with each line moved to the right.
fn indented(text: &str, by: usize) -> String {
    let lines = text.lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("{:by$}{line}\n", ""),
    });
    lines.collect()
}
