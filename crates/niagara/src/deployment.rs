//! The final variant of a ladder as something to deploy.

use std::path::Path;

use anyhow::Result;
use niagara_lab::lever::Lever;
use niagara_lab::{Tuned, Workbench};
use niagara_report::{DeployInput, DeployMalloc, DeployRung, headline, rung_effect};
use niagara_server::machine::{Fingerprint, format_cpu_list};
use niagara_server::{Family, Install, Runtime, Scheduling, TransportKind, environment};
use niagara_stats::Verdict;
use niagara_store::{Rung, Summary};

/// What `deploy/` is made from; `None` unless fresh duels proved the final variant faster.
pub fn of(
    bench: &Workbench,
    levers: &[Lever],
    tuned: &Tuned,
    fingerprint: &Fingerprint,
) -> Result<Option<DeployInput>> {
    let summary = &tuned.summary;
    let proven = summary
        .total
        .as_ref()
        .is_some_and(|total| total.throughput.verdict == Some(Verdict::Faster));
    if !proven {
        return Ok(None);
    }
    let variant = &tuned.last;
    let runtime = &variant.runtime;
    let install = bench.install(&variant.server)?;
    let used: Vec<&Lever> = levers
        .iter()
        .filter(|lever| variant.levers.iter().any(|id| id == lever.id()))
        .collect();
    let mut environment = environment(install, runtime)?;
    // The user's own library takes the place of the one in the private folder.
    environment.remove("LD_PRELOAD");
    let host_steps = used
        .iter()
        .filter_map(|lever| lever.deploy().note.clone())
        .collect();
    Ok(Some(DeployInput {
        server: summary.server.clone(),
        family: family_word(install.family).to_owned(),
        config: variant.config.clone(),
        environment,
        malloc: malloc(install, runtime, &used),
        server_cpus: runtime
            .server_cpus
            .as_deref()
            .map(|cpus| format_cpu_list(cpus).replace(',', " ")),
        nice: match runtime.scheduling {
            Some(Scheduling::Nice(nice)) => Some(nice),
            _ => None,
        },
        scheduling: match runtime.scheduling {
            Some(Scheduling::Batch) => Some("batch".to_owned()),
            _ => None,
        },
        huge_pages: variant.config.contains_key("large_pages").then(|| {
            "reserve huge pages for the buffer pool (vm.nr_hugepages) before the server starts"
                .to_owned()
        }),
        transport: match runtime.transport {
            TransportKind::Unix => "unix".to_owned(),
            TransportKind::Tcp => "tcp".to_owned(),
        },
        rungs: summary
            .rungs
            .iter()
            .map(|rung| deploy_rung(rung, tuned))
            .collect(),
        evidence: format!(
            "{} Measured on: {}.",
            headline(&Summary::Tune(Box::new(summary.clone()))),
            fingerprint.one_line()
        ),
        host_steps,
    }))
}

fn family_word(family: Family) -> &'static str {
    match family {
        Family::Mariadb => "mariadb",
        Family::Mysql => "mysql",
        Family::Percona => "percona",
    }
}

fn deploy_rung(rung: &Rung, tuned: &Tuned) -> DeployRung {
    let changes = tuned.changes.get(&rung.screened.lever);
    DeployRung {
        title: rung.screened.title.clone(),
        why: rung.why.clone(),
        effect: rung_effect(rung),
        sets: changes.map_or_else(Vec::new, |change| {
            change
                .config
                .keys()
                .chain(change.environment.keys())
                .cloned()
                .collect()
        }),
    }
}

fn malloc(install: &Install, runtime: &Runtime, used: &[&Lever]) -> Option<DeployMalloc> {
    let name = runtime.malloc.as_ref()?;
    let library = install.mallocs.get(name)?;
    let soname = library
        .file_name()
        .unwrap_or(Path::new(name).as_os_str())
        .to_string_lossy()
        .into_owned();
    let package = used
        .iter()
        .find(|lever| lever.level() == Some(name.as_str()))
        .and_then(|lever| lever.deploy().packages.first().cloned())
        .unwrap_or_else(|| format!("the package that has {soname}"));
    Some(DeployMalloc {
        name: name.clone(),
        package,
        soname,
    })
}
