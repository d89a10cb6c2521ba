//! What a tuning without builds says at its end: what a build brought where one was measured, and the command.

use niagara_lab::lever::{Lever, Measured};
use niagara_model::{Reason, TuneSummary, load_name, number};
use niagara_server::Family;
use niagara_stats::Estimate;

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
        // What one build adds to another is no build's whole gain.
        .filter(|(_, figure)| figure.added_to.is_none())
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
        "--with-builds tries one; the package's updates do not reach such a server".to_owned()
    } else {
        // Left out on request, begun without, or failed: each says so itself.
        "`report --verbose` says why none was".to_owned()
    };
    let found = Estimate {
        ratio: figure.ratio,
        low: figure.low,
        high: figure.high,
    };
    let machine = figure.machine.iter().map(|cpu| format!(" ({cpu})"));
    let machine: String = machine.collect();
    let over = figure.over.iter().map(|over| format!(" over {over}"));
    let over: String = over.collect();
    Some(format!(
        "none tried; elsewhere a server built from source brought {}{machine}{of}{over}{trained} ({}): {what_to_do}",
        number::estimate(&found),
        figure.source,
    ))
}
