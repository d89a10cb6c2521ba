//! What a tuning without builds says at its end: what a build brought where one was measured, and the command.

use niagara_lab::lever::{Lever, Measured};
use niagara_model::{Reason, TuneSummary, load_name, number};
use niagara_server::Family;

/// The factor whose levels are servers built from source.
const BUILDS: &str = "build";

/// The option by which building gets its time.
const BUILD_BUDGET: &str = "--build-budget";

/// The sentence; none where builds were tried, or where none was measured with a server of this branch.
pub fn build_elsewhere(tune: &TuneSummary, levers: &[Lever]) -> Option<String> {
    let builds: Vec<&Lever> = levers
        .iter()
        .filter(|lever| lever.factor() == BUILDS)
        .collect();
    let is_build = |id: &str| builds.iter().any(|lever| lever.id() == id);
    let mut tried = tune
        .rungs
        .iter()
        .map(|rung| &rung.screened)
        .chain(&tune.not_helped);
    let left_out: Vec<&Reason> = tune
        .not_tried
        .iter()
        .filter(|left| is_build(&left.lever))
        .map(|left| &left.reason)
        // Advice that nobody can follow is none.
        .filter(|reason| !reason.is_about_server())
        .collect();
    if !tune.header.complete
        || left_out.is_empty()
        || tried.any(|screened| is_build(&screened.lever))
    {
        return None;
    }
    let workload = load_name(&tune.header.workload);
    // A server that is named by its path tells its branch by its version.
    let family = Family::of_name(&tune.header.server)
        .unwrap_or_else(|| Family::from_version_line(&tune.header.server_version));
    let figures = builds
        .iter()
        // One without a profile is not what a tuning would build first, and brings a fraction of it.
        .filter(|lever| lever.build().contains_key("pgo"))
        .flat_map(|lever| lever.measured().iter().map(move |figure| (lever, figure)))
        // What one build adds to another, or to one like the package, is not what the package lacks.
        .filter(|(_, figure)| figure.added_to.is_none() && !figure.over_rebuild)
        .filter(|(_, figure)| figure.is_of_branch(family));
    // The nearest first: the same workload, then the same server; of those the one that is known best. The largest would be the luckiest.
    let nearness = |figure: &Measured| {
        (
            figure.workload == workload,
            figure.server == tune.header.server,
        )
    };
    let width = |figure: &Measured| (figure.high / figure.low).ln();
    let (lever, figure) = figures.max_by(|(_, x), (_, y)| {
        nearness(x)
            .cmp(&nearness(y))
            .then(width(y).total_cmp(&width(x)))
    })?;
    // What was measured is named where it was not this server under this workload.
    let of = match nearness(figure) {
        (true, true) => String::new(),
        (true, false) => format!(" with {}", figure.server),
        _ => format!(" with {}, {}", figure.server, figure.workload),
    };
    // Another load's profile brings less.
    let training = lever.build().get("pgo");
    let mut parts = training.into_iter().flat_map(|list| list.split(['/', ':']));
    let trained = match parts.any(|part| part == figure.workload) {
        true => ", trained on the same load",
        false => "",
    };
    let has_no_time = |reason: &&Reason| matches!(reason, Reason::BuildBudget { .. });
    let is_unasked = |reason: &&Reason| matches!(reason, Reason::OnlyByName { .. });
    let what_to_do = if left_out.iter().any(has_no_time) {
        // With --with-builds there was no time for any.
        format!("a longer {BUILD_BUDGET} (`report --verbose` has what each takes)")
    } else if left_out.iter().any(is_unasked) {
        "--with-builds tries the best that fit into --build-budget; the package's updates do not reach such a server".to_owned()
    } else {
        // Left out on request, begun without, or failed: each says so itself.
        "`report --verbose` says why none was".to_owned()
    };
    let over = figure.over.iter().map(|over| format!(" over {over}"));
    let over: String = over.collect();
    let (brought, sources) = on_all_machines(lever.measured(), figure);
    Some(format!(
        "none tried; elsewhere a server built from source brought {brought}{of}{over}{trained} ({sources}): {what_to_do}"
    ))
}

/// This figure, or the least and the greatest of those of the same question on several machines; and where they are published.
fn on_all_machines(figures: &[Measured], figure: &Measured) -> (String, String) {
    let question = |of: &Measured| (of.server.clone(), of.workload.clone(), of.over.clone());
    let alike = figures
        .iter()
        .filter(|other| question(other) == question(figure));
    let mut ends: Vec<&Measured> = alike.collect();
    ends.sort_by(|x, y| x.ratio.total_cmp(&y.ratio));
    // The least and the greatest.
    if ends.len() > 2 {
        ends.drain(1..ends.len() - 1);
    }
    let told = ends.iter().map(|of| {
        let machine = of.machine.iter().map(|cpu| format!(" ({cpu})"));
        number::estimate(&of.estimate()) + &machine.collect::<String>()
    });
    let mut sources: Vec<&str> = ends.iter().map(|of| of.source.as_str()).collect();
    sources.dedup();
    (told.collect::<Vec<_>>().join(" to "), sources.join(", "))
}
