//! What it costs to apply a final variant, and what it risks: for whoever decides, in a few lines.

use niagara_stats::Verdict;
use niagara_store::{Deployment, Rung, TuneSummary};

use crate::number;

/// Name and words, in the order in which they are asked.
pub fn applying(tune: &TuneSummary) -> Vec<(&'static str, String)> {
    let Some(deployment) = &tune.deployment else {
        let verdict = tune.total.as_ref().and_then(|total| total.judged().verdict);
        return vec![(
            "To apply",
            match verdict {
                Some(Verdict::Faster) => {
                    "These results do not hold what it takes: a warning above says why, or deploy/ is from before."
                }
                _ => "Nothing: no gain was proven, so nothing is handed over.",
            }
            .to_owned(),
        )];
    };
    let mut lines = vec![(
        "To apply",
        format!(
            "{}; then one restart of the server. The files and every step are in deploy/.",
            steps(deployment)
        ),
    )];
    if deployment.transport == "unix" {
        lines.push((
            "The application",
            "has to run on the server's machine and connect through the Unix socket: most of what the socket brings is \
             lost if it continues to connect over TCP."
                .to_owned(),
        ));
    }
    lines.push(("Risk", risk(&tune.rungs)));
    lines.push((
        "To undo",
        "Remove the same files and restart; deploy/README.md has the commands.".to_owned(),
    ));
    lines.push((
        "Holds for",
        format!(
            "{}; this workload ({}). Measure again where you deploy, and with your own workload.",
            match deployment.machine.is_empty() {
                true => "the machine below",
                false => deployment.machine.as_str(),
            },
            tune.workload
        ),
    ));
    lines
}

/// What has to be put where.
fn steps(deployment: &Deployment) -> String {
    let mut parts = Vec::new();
    if !deployment.config.is_empty() {
        parts.push(format!(
            "{} in one option file",
            number::count(deployment.config.len(), "server variable")
        ));
    }
    let mut unit = Vec::new();
    if let Some(malloc) = &deployment.malloc {
        unit.push(format!("{} (package {})", malloc.name, malloc.package));
    }
    if deployment.server_cpus.is_some() {
        unit.push("the CPUs it runs on".to_owned());
    }
    if deployment.nice.is_some() || deployment.scheduling.is_some() {
        unit.push("its scheduling".to_owned());
    }
    if !deployment.environment.is_empty() {
        unit.push("its environment".to_owned());
    }
    if !unit.is_empty() {
        parts.push(format!(
            "a drop-in for its systemd unit ({})",
            unit.join(", ")
        ));
    }
    if deployment.huge_pages.is_some() || !deployment.host_steps.is_empty() {
        parts.push("settings of the host".to_owned());
    }
    if let Some(built) = &deployment.built {
        parts.push(format!("another binary of the server ({})", built.one_line));
    }
    if parts.is_empty() {
        parts.push("no file: only how the application connects".to_owned());
    }
    parts.join(", ")
}

/// What the levers risk, those with a risk by name.
fn risk(rungs: &[Rung]) -> String {
    let of = |risk: &str| -> Vec<&str> {
        let risky = rungs.iter().filter(|rung| rung.risk == risk);
        risky.map(|rung| rung.screened.title.as_str()).collect()
    };
    let told: Vec<String> = [
        ("durability", "a crash may lose the last transactions"),
        ("security", "something is protected less"),
        ("system", "settings of the host change for everything on it"),
        ("memory", "the server takes more memory"),
    ]
    .into_iter()
    .filter_map(|(word, meaning)| {
        let titles = of(word);
        (!titles.is_empty()).then(|| format!("{meaning} ({})", titles.join(", ")))
    })
    .collect();
    match told.is_empty() {
        true => "None of the levers touches durability, security or the host.".to_owned(),
        false => {
            let mut text = told.join("; ");
            text[..1].make_ascii_uppercase();
            let touches = |word: &str| rungs.iter().any(|rung| rung.risk == word);
            match touches("durability") {
                true => format!("{text}."),
                false => format!("{text}. Durability is untouched."),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use niagara_store::DeployMalloc;

    #[test]
    fn what_has_to_be_put_where() {
        let mut deployment = Deployment {
            config: BTreeMap::from([("a".into(), "1".into())]),
            malloc: Some(DeployMalloc {
                name: "jemalloc".into(),
                package: "libjemalloc2".into(),
                soname: "libjemalloc.so.2".into(),
            }),
            scheduling: Some("batch".into()),
            ..Deployment::default()
        };
        assert_eq!(
            steps(&deployment),
            "1 server variable in one option file, a drop-in for its systemd unit (jemalloc (package libjemalloc2), its scheduling)"
        );
        deployment
            .host_steps
            .push("sysctl vm.nr_hugepages=64".into());
        assert!(steps(&deployment).ends_with("settings of the host"));
        assert!(steps(&Deployment::default()).starts_with("no file"));
    }
}
