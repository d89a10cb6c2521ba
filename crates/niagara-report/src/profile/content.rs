//! What a profile's report says, section by section.

use std::collections::BTreeMap;

use niagara_error::Explanation;
use niagara_model::number::estimate_in;
use niagara_profile::result::{FunctionShare, LayerShare, Locks};
use niagara_profile::{HeavyStatement, LiveGap, Profile};
use niagara_stats::Estimate;

use super::figures::small;
use super::{Content, difference};
use crate::number::{NOTHING, grouped, percent};

/// Shares below this are left out of the tables, but for the first few rows.
const WORTH_A_ROW: f64 = 0.01;
/// Rows that are shown whatever their share.
const FIRST_ROWS: usize = 8;
/// Allocation sites: as many as the study had hot spots.
const ALLOCATION_SITES: usize = 20;

/// The first sentence.
pub fn headline(profiles: &[Profile]) -> String {
    let limit = |profile: &Profile| match profile.limits.first() {
        Some(limit) => format!(
            "{} ({} of {})",
            limit.title,
            percent(limit.share),
            whole(profile)
        ),
        None => "nothing that was observed".to_owned(),
    };
    match profiles {
        // No ratio of throughputs here: two starts one after the other prove nothing, and it has no interval.
        [a, b] => format!(
            "{} beside {}, one start of each: {}",
            b.variant,
            a.variant,
            difference::because(a, b)
        ),
        [one, ..] => {
            let statements = match spent_by(&one.statements) {
                Some(statements) => format!(", spent by {statements}"),
                None => String::new(),
            };
            format!(
                "What limits {} now: {}{statements}",
                one.variant,
                limit(one)
            )
        }
        [] => String::new(),
    }
}

/// Statements that read far more than they return, in a few words.
pub(super) fn spent_by(statements: &[HeavyStatement]) -> Option<String> {
    let first = statements.first()?;
    let share: f64 = statements.iter().map(|one| one.share).sum();
    let digest: String = first.digest.chars().take(8).collect();
    let rows = format!(
        "{} rows for {} returned",
        grouped(first.rows_examined),
        small(first.rows_returned)
    );
    let share = percent(share);
    Some(match statements.len() {
        1 => format!("one statement ({digest}, {share} of the captured time), which reads {rows}"),
        many => format!(
            "{many} statements ({share} of the captured time); the first, {digest}, reads {rows}"
        ),
    })
}

/// What the capture says of these statements.
fn statements(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "Statements that read far more than they return".to_owned(),
        columns: [
            "Digest",
            "of the time",
            "rows read",
            "rows returned",
            "statement",
        ]
        .map(str::to_owned)
        .to_vec(),
        words: 1,
        ..Content::default()
    };
    // Both sides of two profiles have the same capture.
    let seen = profiles
        .iter()
        .find(|profile| !profile.statements.is_empty());
    let seen = seen.into_iter().flat_map(|profile| &profile.statements);
    section.rows = seen
        .map(|one| {
            vec![
                one.digest.chars().take(8).collect(),
                percent(one.share),
                grouped(one.rows_examined),
                small(one.rows_returned),
                one.text.clone(),
            ]
        })
        .collect();
    if !section.rows.is_empty() {
        section.notes.push(ADVISE.to_owned());
    }
    section
}

/// What comes before hardware where statements limit.
pub(super) const ADVISE: &str =
    "Indexes and statements come first: `niagara advise` counts what they need.";

/// What the shares of a profile's limits are shares of. Without a view of the waiting, the CPU time is all that is known;
/// where the kernel shows nothing of itself either, the server's own code.
pub(super) fn whole(profile: &Profile) -> &'static str {
    match (&profile.time, &profile.cpu) {
        (Some(_), _) => "the time in which queries are answered",
        (None, Some(cpu)) if cpu.user_only => {
            "the CPU time of the server's own code alone, without the kernel's"
        }
        (None, _) => "the server's CPU time",
    }
}

/// Everything that is reported of one profile, or of two side by side.
pub(super) fn sections(profiles: &[Profile]) -> Vec<Content> {
    let mut all = vec![limits(profiles)];
    if let [a, b] = profiles {
        all.push(difference::section(a, b));
    }
    all.extend([
        statements(profiles),
        time(profiles),
        layers(profiles),
        syscalls(profiles),
        locks(profiles),
        lock_sites(profiles),
        objects(profiles),
        allocations(profiles),
        functions(profiles),
        machine(profiles),
        costs(profiles),
        missing(profiles),
        symbols(profiles),
    ]);
    all.retain(|section| !section.rows.is_empty() || !section.notes.is_empty());
    all
}

pub(super) fn limits(profiles: &[Profile]) -> Content {
    let waiting_seen = profiles.iter().all(|profile| profile.time.is_some());
    let of = match profiles {
        _ if waiting_seen => {
            "the time that a query spends in the server: running, ready to run, waiting".to_owned()
        }
        [one, others @ ..] if others.iter().all(|other| whole(other) == whole(one)) => {
            format!("{}: nobody looked at what it waited for", whole(one))
        }
        _ => "the time that a query spends in the server; of its CPU time alone where nobody looked at what it waited for"
            .to_owned(),
    };
    let mut section = Content {
        title: "What limits now".to_owned(),
        intro: format!(
            "Shares of {of}. A moment may count for several limits. Locks and caches come first where they limit."
        ),
        columns: named(
            profiles,
            "Limit",
            &[match waiting_seen {
                true => "share of the time in which queries are answered",
                false => "share of the time",
            }],
        ),
        words: 2,
        ..Content::default()
    };
    section.columns.push("what helps".to_owned());
    // A column in which nothing stands would tell nobody anything.
    let names_levers = profiles
        .iter()
        .flat_map(|profile| &profile.limits)
        .any(|found| !found.levers_with_risks().is_empty());
    if names_levers {
        section.columns.push("levers for it".to_owned());
    }
    let mut order: Vec<&str> = Vec::new();
    for found in profiles.iter().flat_map(|profile| &profile.limits) {
        if !order.contains(&&*found.limit) {
            order.push(&found.limit);
        }
    }
    for id in order {
        let of = |profile: &Profile| {
            let found = profile.limits.iter().find(|found| found.limit == id);
            found.map(|found| found.share)
        };
        let Some(known) = profiles
            .iter()
            .flat_map(|profile| &profile.limits)
            .find(|found| found.limit == id)
        else {
            continue;
        };
        let mut row = vec![known.title.clone()];
        row.extend(
            profiles
                .iter()
                .map(|profile| of(profile).map_or(NOTHING.to_owned(), percent)),
        );
        row.push(known.why.clone());
        if names_levers {
            row.push(levers_of(profiles, id));
        }
        section.rows.push(row);
    }
    section
}

/// The levers that address a limit, with what they risk; side by side where two profiles have different ones.
fn levers_of(profiles: &[Profile], id: &str) -> String {
    let of = |profile: &Profile| {
        let found = profile.limits.iter().find(|found| found.limit == id);
        found.map(|found| found.levers_with_risks().join(", "))
    };
    let told: Vec<Option<String>> = profiles.iter().map(of).collect();
    match &told[..] {
        [a, b] if a != b => {
            let sides = [("A", a), ("B", b)].into_iter();
            let named = sides.filter_map(|(side, levers)| match levers.as_deref()? {
                "" => Some(format!("{side}: none")),
                levers => Some(format!("{side}: {levers}")),
            });
            named.collect::<Vec<_>>().join("; ")
        }
        [one, ..] => one.clone().unwrap_or_default(),
        [] => String::new(),
    }
}

pub(super) fn time(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "What a thread that serves connections does with its time".to_owned(),
        columns: named(profiles, "The thread", &["share of its time"]),
        ..Content::default()
    };
    let times: Vec<_> = profiles
        .iter()
        .map(|profile| profile.time.clone())
        .collect();
    if times.iter().all(Option::is_none) {
        return section;
    }
    type Part = fn(&niagara_profile::result::ThreadTime) -> f64;
    let parts: [(&str, Part); 6] = [
        ("runs", |time| time.running),
        ("is ready, and waits for a CPU", |time| time.ready),
        ("waits for the client's next statement", |time| time.client),
        ("waits for a lock", |time| time.locks),
        ("waits for something else (files, timers, memory)", |time| {
            time.other
        }),
        ("in all", |time| {
            time.running + time.ready + time.client + time.locks + time.other
        }),
    ];
    for (name, part) in parts {
        let mut row = vec![name.to_owned()];
        row.extend(times.iter().map(|time| {
            time.as_ref()
                .map_or(NOTHING.to_owned(), |time| percent(part(time)))
        }));
        section.rows.push(row);
    }
    section.notes.push(
        "These shares include waiting for the client; those of the limits do not. Waiting for a durable commit, or for a page that \
         another thread reads, counts as a lock here, and among the limits as the disk."
            .to_owned(),
    );
    for profile in profiles {
        if let Some(seen) = &profile.off_cpu {
            let background = match seen.background {
                0 => String::new(),
                own => format!(
                    "; {own} of {} serve no connection and are left out",
                    match seen.had_turn {
                        0 => seen.threads.0,
                        had_turn => had_turn,
                    }
                ),
            };
            let turns = match seen.had_turn < seen.threads.0 && seen.had_turn > 0 {
                true => format!(
                    "; {} of the {} threads were observed",
                    seen.had_turn, seen.threads.0
                ),
                false => String::new(),
            };
            let per_query = match seen.waits_per_query {
                None => String::new(),
                waits => format!(
                    "{} voluntary and {} involuntary context switches per query; ",
                    small(waits),
                    small(seen.preempted_per_query)
                ),
            };
            section.notes.push(format!(
                "{}: {per_query}{} of {} threads observed at a time, in turn{turns}{background}.",
                profile.variant, seen.threads.1, seen.threads.0
            ));
        }
    }
    section
}

fn layers(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "CPU time by layer".to_owned(),
        intro: "The server's time on CPUs, divided by what its innermost known function belongs to (layers/)."
            .to_owned(),
        columns: named(profiles, "Layer", &["share", "µs per query"]),
        ..Content::default()
    };
    let of = |profile: &Profile| -> Vec<LayerShare> {
        profile
            .cpu
            .as_ref()
            .map(|cpu| cpu.layers.clone())
            .unwrap_or_default()
    };
    let all: Vec<Vec<LayerShare>> = profiles.iter().map(of).collect();
    let mut order: Vec<(String, String)> = Vec::new();
    for layer in all.iter().flatten() {
        let key = (layer.layer.clone(), layer.title.clone());
        if !order.contains(&key) {
            order.push(key);
        }
    }
    if order.is_empty() {
        return section;
    }
    for (id, title) in order {
        let mut row = vec![title];
        for layers in &all {
            let found = layers.iter().find(|layer| layer.layer == id);
            row.push(found.map_or(NOTHING.to_owned(), |layer| percent(layer.share)));
            row.push(found.map_or(NOTHING.to_owned(), |layer| small(layer.us_per_query)));
        }
        section.rows.push(row);
    }
    let mut sum = vec!["in all".to_owned()];
    for layers in &all {
        sum.push(percent(layers.iter().map(|layer| layer.share).sum()));
        sum.push(small(
            layers
                .iter()
                .map(|layer| layer.us_per_query)
                .sum::<Option<f64>>(),
        ));
    }
    section.rows.push(sum);
    for profile in profiles {
        if let Some(cpu) = &profile.cpu {
            section.notes.push(format!(
                "{}: {} samples; {} of the server's own frames have a function's name ({} told by their neighbours in the stack); {} of the stacks do not reach their thread's beginning.",
                profile.variant,
                grouped(cpu.samples as f64),
                cpu.named_share.map_or(NOTHING.to_owned(), percent),
                cpu.inferred_share.map_or(NOTHING.to_owned(), percent),
                percent(cpu.truncated_share)
            ));
        }
    }
    section
}

fn syscalls(profiles: &[Profile]) -> Content {
    let all: Vec<_> = profiles
        .iter()
        .map(|profile| profile.syscalls.clone().unwrap_or_default())
        .collect();
    let counted = all.iter().flatten().all(|call| call.us_per_query.is_some());
    let figures = match counted {
        true => ["per query", "µs per query", "errors", "bytes"],
        false => [
            "per second",
            "share of the threads' time",
            "errors",
            "bytes",
        ],
    };
    let mut section = Content {
        title: "System calls".to_owned(),
        intro: "Time from the call to its return, waiting included.".to_owned(),
        columns: named(profiles, "Call", &figures),
        ..Content::default()
    };
    let order = keys(
        all.iter()
            .map(|calls| calls.iter().map(|call| call.name.clone()).collect()),
    );
    for name in order {
        let mut row = vec![name.clone()];
        for calls in &all {
            match calls.iter().find(|call| call.name == name) {
                Some(call) => row.extend([
                    match counted {
                        true => small(call.per_query),
                        false => small(call.per_second),
                    },
                    match counted {
                        true => small(call.us_per_query),
                        false => percent_fine(call.share),
                    },
                    percent(call.errors),
                    call.bytes_per_call.map_or(NOTHING.to_owned(), grouped),
                ]),
                None => row.extend([NOTHING; 4].map(str::to_owned)),
            }
        }
        section.rows.push(row);
    }
    section
}

fn locks(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "Locks of the server".to_owned(),
        intro: "By the server's own instruments: share of a connection's time spent taking the lock (of a condition: waiting for it)."
            .to_owned(),
        columns: named(profiles, "Lock", &["share of time", "per query", "average µs"]),
        ..Content::default()
    };
    let all: Vec<Locks> = profiles
        .iter()
        .map(|profile| profile.locks.clone().unwrap_or_default())
        .collect();
    let worth = |locks: &Locks| -> Vec<String> {
        let worth = locks
            .named
            .iter()
            .enumerate()
            .filter(|(index, lock)| *index < FIRST_ROWS || lock.share >= WORTH_A_ROW);
        worth.map(|(_, lock)| lock.name.clone()).collect()
    };
    for name in keys(all.iter().map(worth)) {
        let mut row = vec![name.trim_start_matches("wait/").to_owned()];
        for locks in &all {
            match locks.named.iter().find(|lock| lock.name == name) {
                Some(lock) => row.extend([
                    percent_fine(lock.share),
                    small(lock.per_query),
                    small(lock.average_us),
                ]),
                None => row.extend([NOTHING; 3].map(str::to_owned)),
            }
        }
        section.rows.push(row);
    }
    for (profile, locks) in profiles.iter().zip(&all) {
        if profile.locks.is_some() {
            let observed = match locks.threads {
                // Named locks are not there then, and something else says why.
                (0, _) => String::new(),
                (all, of) if all == of => format!("; all {of} connections observed"),
                (some, of) => format!("; {some} of {of} connections observed at a time, in turn"),
            };
            section.notes.push(format!(
                "{}: {} waits for row locks per query, {} µs each on average{observed}.",
                profile.variant,
                small(locks.row_waits_per_query),
                small(locks.row_wait_us)
            ));
        }
    }
    section
}

fn lock_sites(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "Where threads sleep in a lock".to_owned(),
        intro: "The server's innermost functions on the way to the wait, by share of the threads' time; seen by the kernel's context switches."
            .to_owned(),
        columns: named(profiles, "Functions", &["share of time"]),
        ..Content::default()
    };
    let all: Vec<_> = profiles
        .iter()
        .map(|profile| {
            profile
                .off_cpu
                .as_ref()
                .map(|seen| seen.sites.clone())
                .unwrap_or_default()
        })
        .collect();
    let order = keys(all.iter().map(|sites| {
        sites
            .iter()
            .take(FIRST_ROWS)
            .map(|site| site.functions.clone())
            .collect()
    }));
    for functions in order {
        let mut row = vec![functions.join(" ← ")];
        for sites in &all {
            let found = sites.iter().find(|site| site.functions == functions);
            row.push(found.map_or(NOTHING.to_owned(), |site| percent_fine(site.share)));
        }
        section.rows.push(row);
    }
    section
}

fn objects(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "Tables and rows that were waited for".to_owned(),
        intro: "Connections waiting, on average, over looks up to 200 ms apart while waits are counted.".to_owned(),
        columns: named(profiles, "Object", &["waiting"]),
        ..Content::default()
    };
    let all: Vec<Locks> = profiles
        .iter()
        .map(|profile| profile.locks.clone().unwrap_or_default())
        .collect();
    let name = |object: &niagara_profile::locks::ObjectWaits| {
        let index = if object.index.is_empty() {
            String::new()
        } else {
            format!(", index {}", object.index)
        };
        format!("{} {}{index}, {}", object.kind, object.object, object.mode)
    };
    let order = keys(
        all.iter()
            .map(|locks| locks.objects.iter().map(&name).collect()),
    );
    for known in order {
        let mut row = vec![known.clone()];
        for locks in &all {
            let found = locks.objects.iter().find(|object| name(object) == known);
            row.push(found.map_or(NOTHING.to_owned(), |object| small(object.waiting)));
        }
        section.rows.push(row);
    }
    section
}

fn allocations(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "Allocations".to_owned(),
        intro: "Where memory is taken; pairs are taken and freed by the same thread within one query: what a buffer kept for \
                longer would save. Those with the most pairs first."
            .to_owned(),
        columns: named(profiles, "Functions", &["pairs per query", "calls per query", "bytes per query", "share"]),
        on_screen: Some(FIRST_ROWS),
        ..Content::default()
    };
    let all: Vec<_> = profiles
        .iter()
        .map(|profile| profile.allocations.clone().unwrap_or_default())
        .collect();
    let worth = |seen: &niagara_profile::result::Allocations| -> Vec<Vec<String>> {
        let sites = seen
            .sites
            .iter()
            .enumerate()
            .filter(|(index, site)| *index < ALLOCATION_SITES || site.share >= WORTH_A_ROW);
        sites.map(|(_, site)| site.functions.clone()).collect()
    };
    for functions in keys(all.iter().map(worth)) {
        let mut row = vec![functions.join(" ← ")];
        for seen in &all {
            match seen.sites.iter().find(|site| site.functions == functions) {
                Some(site) => row.extend([
                    small(site.pairs_per_query),
                    small(site.calls_per_query),
                    grouped(site.bytes_per_query),
                    percent(site.share),
                ]),
                None => row.extend([NOTHING; 4].map(str::to_owned)),
            }
        }
        section.rows.push(row);
    }
    for profile in profiles {
        if let Some(seen) = &profile.allocations {
            let unknown = match seen.unknown_share > 0.0 {
                true => format!(
                    " (of another {} nobody knows whether they are: too many were made meanwhile)",
                    percent(seen.unknown_share)
                ),
                false => String::new(),
            };
            let stackless = match seen.stackless_share > 0.0 {
                true => format!(
                    ", {} of them empty: the kernel did not copy them, and nobody knows who asked",
                    percent(seen.stackless_share)
                ),
                false => String::new(),
            };
            section.notes.push(format!(
                "{}: {} allocations and {} frees per query, {} bytes per query; {} are freed by the same thread within the query{unknown}; {} stacks observed{stackless}.",
                profile.variant,
                small(seen.calls_per_query),
                small(seen.frees_per_query),
                grouped(seen.bytes_per_query),
                percent(seen.paired_share),
                grouped(seen.sampled as f64)
            ));
        }
    }
    section
}

fn functions(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "Hottest functions".to_owned(),
        intro: "Shares of the server's CPU time: in the function itself, and with what it calls."
            .to_owned(),
        columns: named(profiles, "Function", &["itself", "with callees"]),
        long: true,
        ..Content::default()
    };
    let all: Vec<_> = profiles
        .iter()
        .map(|profile| {
            profile
                .cpu
                .as_ref()
                .map(|cpu| cpu.functions.clone())
                .unwrap_or_default()
        })
        .collect();
    let order = keys(all.iter().map(|functions| {
        functions
            .iter()
            .take(30)
            .map(|function| (function.name.clone(), function.place))
            .collect()
    }));
    // A library and the server may each have a function of the same name.
    let names: Vec<String> = order.iter().map(|(name, _)| name.clone()).collect();
    for (name, place) in order {
        let mut row = vec![match names.iter().filter(|other| **other == name).count() {
            1 => name.clone(),
            _ => format!("{name} ({})", place.name()),
        }];
        for functions in &all {
            let is_it =
                |function: &&FunctionShare| function.name == name && function.place == place;
            match functions.iter().find(is_it) {
                Some(function) => {
                    row.extend([percent(function.own), percent(function.with_callees)])
                }
                None => row.extend([NOTHING; 2].map(str::to_owned)),
            }
        }
        section.rows.push(row);
    }
    section
}

fn machine(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "The machine's CPUs".to_owned(),
        columns: named(profiles, "Used by", &["share"]),
        ..Content::default()
    };
    let all: Vec<BTreeMap<String, f64>> = profiles
        .iter()
        .map(|profile| {
            profile
                .cpu
                .as_ref()
                .map(|cpu| cpu.machine.clone())
                .unwrap_or_default()
        })
        .collect();
    for whose in [
        "server",
        "load generator",
        "Niagara",
        "network interrupts",
        "other interrupts",
        "others",
        "idle",
        "others or idle",
    ] {
        if all.iter().any(|machine| machine.contains_key(whose)) {
            let mut row = vec![whose.to_owned()];
            row.extend(all.iter().map(|machine| {
                machine
                    .get(whose)
                    .map_or(NOTHING.to_owned(), |share| percent(*share))
            }));
            section.rows.push(row);
        }
    }
    section
}

fn costs(profiles: &[Profile]) -> Content {
    let mut section = Content {
        title: "What looking cost".to_owned(),
        intro: "With the view over without it: throughput, and CPU time of the server per query; by couples (matched pairs) of slices in random \
                order, with 95 % intervals. Locks and allocations are observed in servers of their own, whose cost is in no \
                other figure."
            .to_owned(),
        columns: named(profiles, "View", &["throughput", "CPU per query", "couples"]),
        ..Content::default()
    };
    if profiles.iter().any(|profile| profile.live.is_some()) {
        section.intro.clear();
        section
            .notes
            .push(Explanation::from(&LiveGap::ObservationCost).to_string());
    }
    let order = keys(
        profiles
            .iter()
            .map(|profile| profile.costs.iter().map(|cost| cost.view.clone()).collect()),
    );
    for view in order {
        let mut row = vec![view.clone()];
        for profile in profiles {
            match profile.costs.iter().find(|cost| cost.view == view) {
                Some(cost) => row.extend([
                    with_interval([cost.ratio, cost.low, cost.high]),
                    cost.cpu.map_or(NOTHING.to_owned(), with_interval),
                    cost.couples.to_string(),
                ]),
                None => row.extend([NOTHING; 3].map(str::to_owned)),
            }
        }
        section.rows.push(row);
    }
    section
}

fn with_interval([ratio, low, high]: [f64; 3]) -> String {
    estimate_in(&Estimate { ratio, low, high }, 3)
}

pub(super) fn missing(profiles: &[Profile]) -> Content {
    let mut notes: Vec<String> = Vec::new();
    let gaps = profiles.iter().filter_map(|profile| profile.live.as_ref());
    // What observing costs has a section of its own.
    let gaps = gaps
        .flat_map(|live| &live.gaps)
        .filter(|gap| **gap != LiveGap::ObservationCost)
        .map(Explanation::from);
    let seen = profiles.iter().flat_map(|profile| &profile.missing);
    for missing in gaps.chain(seen.cloned()) {
        let note = missing.to_string();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Content {
        title: "What could not be seen here".to_owned(),
        notes,
        ..Content::default()
    }
}

fn symbols(profiles: &[Profile]) -> Content {
    use niagara_profile::symbols::SymbolSource;
    let mut section = Content {
        title: "Where names come from".to_owned(),
        columns: ["File", "functions", "source", "build-id"]
            .map(str::to_owned)
            .to_vec(),
        words: 2,
        long: true,
        ..Content::default()
    };
    for module in profiles.iter().flat_map(|profile| &profile.symbols) {
        let source = match &module.source {
            SymbolSource::Own => "its own symbol table".to_owned(),
            SymbolSource::DebugFile(path) => format!("debug file {}", path.display()),
            SymbolSource::Exports => {
                "what it exports; functions of one source file alone have no name".to_owned()
            }
            SymbolSource::Nothing => "none".to_owned(),
        };
        let name = module
            .path
            .file_name()
            .unwrap_or(module.path.as_os_str())
            .to_string_lossy()
            .into_owned();
        let row = vec![
            name,
            grouped(module.functions as f64),
            source,
            module.build_id.clone(),
        ];
        if !section.rows.contains(&row) {
            section.rows.push(row);
        }
    }
    section
}

/// Column names: of one profile as they are, of two marked A and B.
fn named(profiles: &[Profile], first: &str, columns: &[&str]) -> Vec<String> {
    let mut names = vec![first.to_owned()];
    for index in 0..profiles.len() {
        let mark = match (profiles.len(), index) {
            (1, _) => "",
            (_, 0) => "A: ",
            _ => "B: ",
        };
        names.extend(columns.iter().map(|column| format!("{mark}{column}")));
    }
    names
}

/// Every key once, in the order of the first list, then of the next.
fn keys<K: PartialEq>(lists: impl Iterator<Item = Vec<K>>) -> Vec<K> {
    let mut found = Vec::new();
    for key in lists.flatten() {
        if !found.contains(&key) {
            found.push(key);
        }
    }
    found
}

/// A share of which hundredths of a per cent matter.
fn percent_fine(share: f64) -> String {
    if share.abs() < 0.01 {
        format!("{:.2} %", share * 100.0)
    } else {
        percent(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (0.00123, "0.0012"),
            (1.5, "1.50"),
            (12.34, "12.3"),
            (345.6, "346"),
            (f64::NAN, NOTHING),
            (0.000_001, "< 0.0001"),
        ];
        for (value, text) in cases {
            assert_eq!(small(value), text);
        }
        assert_eq!(percent_fine(0.0012), "0.12 %");
    }

    fn limited(levers: &[&str], risks: &[&str]) -> Profile {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Profile {
            limits: vec![niagara_profile::FoundLimit {
                limit: "disk".to_owned(),
                title: "disk".to_owned(),
                why: "Because.".to_owned(),
                natural: true,
                share: 0.5,
                levers: owned(levers),
                lever_ids: owned(levers),
                lever_risks: owned(risks),
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn each_side_has_its_own_levers_with_what_they_risk() {
        let a = limited(&["log-flush=os", "redo-log-large"], &["durability", ""]);
        let b = limited(&["redo-log-large"], &[""]);
        let told = |profiles: &[Profile]| limits(profiles).rows[0].last().cloned();
        let of_a = "log-flush=os (risk: durability), redo-log-large";
        assert_eq!(told(std::slice::from_ref(&a)).as_deref(), Some(of_a));
        assert_eq!(told(&[a.clone(), a.clone()]).as_deref(), Some(of_a));
        assert_eq!(
            told(&[a.clone(), b]),
            Some(format!("A: {of_a}; B: redo-log-large"))
        );
        // A limit that only one of them has.
        assert_eq!(
            told(&[a.clone(), Profile::default()]),
            Some(format!("A: {of_a}"))
        );
        let none = limited(&[], &[]);
        assert_eq!(told(&[a, none]), Some(format!("A: {of_a}; B: none")));
    }

    #[test]
    fn shares_are_told_of_what_was_seen() {
        let mut seen = limited(&[], &[]);
        let cpu = |user_only| niagara_profile::result::Cpu {
            user_only,
            ..niagara_profile::result::Cpu::default()
        };
        seen.cpu = Some(cpu(true));
        let one = |seen: &Profile| headline(std::slice::from_ref(seen));
        assert!(one(&seen).contains("the server's own code alone"));
        let intro = limits(std::slice::from_ref(&seen)).intro;
        assert!(intro.contains("own code alone"), "{intro}");
        seen.cpu = Some(cpu(false));
        assert!(one(&seen).ends_with("disk (50 % of the server's CPU time)"));
        seen.time = Some(niagara_profile::result::ThreadTime::default());
        assert!(one(&seen).contains("the time in which queries are answered"));
    }

    #[test]
    fn which_waits_are_the_disks_is_told_below_the_time_of_threads() {
        let seen = Profile {
            time: Some(niagara_profile::result::ThreadTime::default()),
            ..Profile::default()
        };
        let notes = time(&[seen]).notes.concat();
        assert!(notes.contains("a durable commit"), "{notes}");
        assert!(notes.contains("waiting for the client"), "{notes}");
        assert!(time(&[Profile::default()]).notes.is_empty());
    }

    #[test]
    fn allocations_are_shown_on_the_terminal_beside_other_views() {
        let site = |place: usize| niagara_profile::result::AllocationSite {
            functions: vec!["my_malloc".to_owned(), format!("open_ticket_{place}")],
            calls_per_query: 1.5,
            bytes_per_query: 320.0,
            pairs_per_query: 1.25,
            share: 0.1,
        };
        let seen = |sites: usize| Profile {
            cpu: Some(niagara_profile::result::Cpu::default()),
            allocations: Some(niagara_profile::result::Allocations {
                sites: (1..=sites).map(site).collect(),
                ..niagara_profile::result::Allocations::default()
            }),
            ..Profile::default()
        };
        let in_format = |profile: &Profile, format: crate::Format| {
            let subject = crate::Subject::Profiles(crate::Profiles {
                profiles: std::slice::from_ref(profile),
                graphs: &[],
                command: "",
                page: None,
            });
            let view = crate::View {
                width: 100,
                ..crate::View::default()
            };
            let source = crate::Source::of(subject);
            crate::written(&source, format, &view).expect("a text")
        };
        let shown = in_format(&seen(1), crate::Format::Text);
        for word in ["my_malloc ← open_ticket_1", "1.25", "1.50", "320"] {
            assert!(shown.contains(word), "{word}\n{shown}");
        }
        assert!(!shown.contains("The first"), "{shown}");
        // The report has all rows, a terminal the first.
        let shown = in_format(&seen(10), crate::Format::Text);
        assert!(shown.contains("open_ticket_8"), "{shown}");
        assert!(!shown.contains("open_ticket_9"), "{shown}");
        assert!(shown.contains("The first 8 of 10 rows"), "{shown}");
        let page = in_format(&seen(10), crate::Format::Markdown);
        assert!(page.contains("open_ticket_10") && !page.contains("The first 8"));
    }

    #[test]
    fn a_live_server_has_no_figure_of_what_observing_cost() {
        let live = Profile {
            live: Some(niagara_profile::LiveServer {
                pid: 7,
                program: "/usr/sbin/mariadbd".into(),
                gaps: vec![LiveGap::ObservationCost, LiveGap::Queries { error: None }],
            }),
            syscalls: Some(vec![niagara_profile::result::Syscall {
                name: "recvfrom".to_owned(),
                per_second: 1200.0,
                share: 0.25,
                per_query: None,
                us_per_query: None,
                errors: 0.0,
                bytes_per_call: None,
            }]),
            ..Profile::default()
        };
        let all = sections(std::slice::from_ref(&live));
        let of = |title: &str| all.iter().find(|one| one.title == title).expect("shown");
        let costs = of("What looking cost");
        assert!(costs.rows.is_empty() && costs.notes[0].starts_with("what observing costs: "));
        let missing = of("What could not be seen here");
        assert!(missing.notes.len() == 1 && missing.notes[0].contains("--user"));
        let calls = of("System calls");
        assert_eq!(calls.columns[1], "per second");
        assert_eq!(calls.rows[0][2], "25 %");
    }

    #[test]
    fn an_empty_profile_makes_no_claims() {
        let empty = Profile::default();
        assert!(sections(std::slice::from_ref(&empty)).is_empty());
        assert!(headline(&[empty]).contains("nothing that was observed"));
    }
}
