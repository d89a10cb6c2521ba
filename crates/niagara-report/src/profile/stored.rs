//! Profiles among the results of a study: what limits what it profiled, in short.

use std::collections::BTreeMap;

use niagara_model::{Reason, Summary};
use niagara_profile::{FoundLimit, Profile, StoredProfile};
use niagara_stats::Estimate;
use niagara_store::{Store, StoreError};

use super::Content;
use super::content::{limits, missing, spent_by, time, whole};
use crate::number::capital;
use crate::number::{self, percent};

/// A profile, and what it is of.
#[derive(Debug, Clone)]
pub struct DiagnosedProfile {
    /// What was profiled: `the final variant`.
    pub subject: String,
    /// What was seen.
    pub profile: Profile,
    /// What the study knows of levers, by identifier.
    levers: BTreeMap<String, Known>,
    /// Whether the captured statements come before the server.
    queries_first: bool,
}

/// What a tuning knows of a lever that addresses what limits.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    /// It was screened: throughput with it over throughput without.
    Tried(Estimate),
    /// It was not tried, and why.
    NotTried(Reason),
}

/// What a study's summary says of its levers; nothing but of a tuning.
fn known_levers(summary: Option<&Summary>) -> BTreeMap<String, Known> {
    let Some(Summary::Tune(tune)) = summary else {
        return BTreeMap::new();
    };
    let rungs = tune.rungs.iter().map(|rung| &rung.screened);
    let tried = rungs
        .chain(&tune.not_helped)
        .map(|screened| (screened.lever.clone(), Known::Tried(screened.effect)));
    // Fresh duels count where there were any.
    let kept = tune
        .rungs
        .iter()
        .map(|rung| (&rung.screened, rung.claim.as_ref()));
    let dropped = tune
        .dropped
        .iter()
        .map(|lever| (&lever.screened, lever.claim.as_deref()));
    let fresh = kept.chain(dropped).filter_map(|(screened, claim)| {
        let known = Known::Tried(claim?.judged().estimate);
        Some((screened.lever.clone(), known))
    });
    let not_tried = tune
        .not_tried
        .iter()
        .map(|lever| (lever.lever.clone(), Known::NotTried(lever.reason.clone())));
    tried.chain(not_tried).chain(fresh).collect()
}

/// The limit of CPUs, by its identifier.
const CPU: &str = "cpu";

/// The profiles that are kept, in the order in which they were taken.
///
/// # Errors
/// The results cannot be read.
pub fn diagnosed_profiles(store: &Store) -> niagara_store::Result<Vec<DiagnosedProfile>> {
    let summary = store.summary()?;
    let levers = known_levers(summary.as_ref());
    let queries_first = match &summary {
        Some(Summary::Tune(tune)) => tune.queries_first().is_some(),
        _ => false,
    };
    let read = |kept: niagara_model::ProfileRecord| {
        let stored: StoredProfile =
            serde_json::from_value(kept.content).map_err(|error| StoreError::Nonsense {
                path: store.path().to_owned(),
                what: "profile.content",
                detail: error.to_string(),
            })?;
        Ok(DiagnosedProfile {
            subject: kept.subject,
            profile: stored.into(),
            levers: levers.clone(),
            queries_first,
        })
    };
    store.profiles()?.into_iter().map(read).collect()
}

/// A sentence for each: `What limits the final variant now: CPU (70 % of the time in which queries are answered). That is hardware, …`.
/// `verbose`: also what became of the levers that were tried, and why others were not.
pub fn limits_in_short(all: &[DiagnosedProfile], verbose: bool) -> Vec<String> {
    all.iter()
        .map(|seen| {
            let verdict = verdict(seen, verbose);
            format!("What limits {} now: {verdict}", seen.subject)
        })
        .collect()
}

/// What a study's report says of it.
pub(crate) fn sections_in_short(seen: &DiagnosedProfile) -> Vec<Content> {
    let DiagnosedProfile {
        subject, profile, ..
    } = seen;
    let one = std::slice::from_ref(profile);
    let mut what_limits = limits(&[with_levers_left(seen)]);
    what_limits.title = format!("What limits {subject} now");
    let sentence = verdict(seen, true);
    what_limits.notes.push(capital(&sentence));
    what_limits.notes.push(format!(
        "{}; {}. From one short profile of one start: `niagara profile` looks closer, from all sides.",
        profile.variant, profile.workload
    ));
    let mut rest = vec![time(one)];
    if profile.cpu.is_none() || profile.time.is_none() {
        rest.push(missing(one));
    }
    // A sweep has several profiles on a page: sections are told apart by their titles.
    for section in &mut rest {
        section.title = format!("{}: {subject}", section.title);
    }
    let mut all = vec![what_limits];
    all.extend(rest);
    all.retain(|section| !section.rows.is_empty() || !section.notes.is_empty());
    all
}

/// The profile with those levers alone that the study says nothing of: what became of the others stands in the verdict.
fn with_levers_left(seen: &DiagnosedProfile) -> Profile {
    let mut profile = seen.profile.clone();
    for limit in &mut profile.limits {
        let known = |id: &String| seen.levers.contains_key(id);
        let left: Vec<bool> = limit.lever_ids.iter().map(|id| !known(id)).collect();
        retain_places(&mut limit.levers, &left);
        retain_places(&mut limit.lever_ids, &left);
        retain_places(&mut limit.lever_risks, &left);
    }
    profile
}

/// Keeps what is at the places that say so, and what lies behind them.
fn retain_places<T>(all: &mut Vec<T>, places: &[bool]) {
    let mut place = places.iter();
    all.retain(|_| *place.next().unwrap_or(&true));
}

/// Whether only what may limit a server does (CPU, network, disk), and what addresses what does.
fn verdict(seen: &DiagnosedProfile, verbose: bool) -> String {
    let profile = &seen.profile;
    let (natural, unnatural): (Vec<&FoundLimit>, Vec<&FoundLimit>) =
        profile.limits.iter().partition(|limit| limit.natural);
    let list = |limits: &[&FoundLimit]| -> String {
        let named = limits.iter().map(|limit| {
            format!(
                "{} ({} of {}{})",
                limit.title,
                percent(limit.share),
                whole(profile),
                generator(limit, profile)
            )
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let levers = |limits: &[&FoundLimit]| addressing(limits, &seen.levers, verbose);
    if !unnatural.is_empty() {
        return format!(
            "{}. That lies within the server and can often be removed. {}.",
            list(&unnatural),
            capital(&levers(&unnatural).words)
        );
    }
    let named = || {
        let named = natural.iter().map(|limit| {
            let share = percent(limit.share);
            let generator = generator(limit, profile);
            format!("{} ({share} of the time{generator})", limit.title)
        });
        named.collect::<Vec<_>>().join(", ")
    };
    if let (false, Some(statements)) = (natural.is_empty(), statements(seen)) {
        return format!("{}. {statements}.", named());
    }
    // Who has not seen both what runs and what is waited for does not know what else there is.
    let all_seen = profile.cpu.is_some() && profile.time.is_some();
    match (natural.is_empty(), &profile.time) {
        (false, _) if !all_seen => {
            let remedy = capital(&levers(&natural).words);
            format!("{}, as far as was seen. {remedy}.", list(&natural))
        }
        (false, _) if !verbose => {
            let remedy = levers(&natural);
            match (remedy.state, left_to_try(seen)) {
                (RemedyState::Left, _) => format!("{}. {}.", named(), capital(&remedy.words)),
                (_, Some(others)) => format!("{}; {others}.", named()),
                (_, None) => format!("{}, that is, hardware.", named()),
            }
        }
        (false, _) => {
            let Remedy { state, words } = levers(&natural);
            let (hardware, left) = match (state, left_to_try(seen)) {
                (RemedyState::Left, _) => ("No", words),
                (RemedyState::Nonexistent, Some(others)) => ("No", others.to_owned()),
                (RemedyState::Done, Some(others)) => ("No", format!("{words}; {others}")),
                (_, None) => ("That is hardware: no", words),
            };
            format!(
                "{}. {hardware} lock, memory allocation or cache within the server holds it up. {}.",
                list(&natural),
                capital(&left)
            )
        }
        (true, Some(_)) => "nothing that was observed stands out.".to_owned(),
        (true, None) => "it could not be seen here.".to_owned(),
    }
}

/// Smallest share of the CPUs by the load generator that the report names.
const MUCH_GENERATED: f64 = 0.005;

/// The load generator's share of the CPUs, for the limit of CPUs.
fn generator(limit: &FoundLimit, profile: &Profile) -> String {
    let machine = profile.cpu.as_ref().map(|cpu| &cpu.machine);
    let share = machine.and_then(|machine| machine.get("load generator"));
    match share.filter(|share| limit.limit == CPU && **share >= MUCH_GENERATED) {
        Some(share) => format!("; the load generator takes {} of the CPUs", percent(*share)),
        None => String::new(),
    }
}

/// The statements that the time is spent by, where they read far more than they return: by counting, which is the headline, else by the
/// capture itself.
fn statements(seen: &DiagnosedProfile) -> Option<String> {
    if seen.queries_first {
        return Some("The statements come first (niagara advise)".to_owned());
    }
    let spent = spent_by(&seen.profile.statements)?;
    Some(format!(
        "It is spent by {spent}: look at the statements first (niagara advise)"
    ))
}

/// What a tuning left out that may help still.
fn left_to_try(seen: &DiagnosedProfile) -> Option<&'static str> {
    let is_build_by_name =
        |reason: &Reason| matches!(reason, Reason::OnlyByName { build: true, .. });
    let has = |is_left: &dyn Fn(&Reason) -> bool| {
        seen.levers.values().any(|known| match known {
            Known::NotTried(reason) => is_left(reason),
            Known::Tried(_) => false,
        })
    };
    if has(&|reason| *reason == Reason::NotRequested) {
        return Some("levers are left to try (--only or --without left them out)");
    }
    has(&is_build_by_name).then_some(
        "servers built from source are left to try (--with-builds, which needs a compiler)",
    )
}

/// The levers that address limits.
struct Remedy {
    state: RemedyState,
    words: String,
}

/// How far levers that address limits were tried.
#[derive(Clone, Copy)]
enum RemedyState {
    /// No lever addresses them.
    Nonexistent,
    /// The study knows nothing of some.
    Left,
    /// All were tried, or there is a reason why not.
    Done,
}

/// The levers that address limits: those still to be tried first, then what became of the others.
fn addressing(limits: &[&FoundLimit], levers: &BTreeMap<String, Known>, verbose: bool) -> Remedy {
    let mut all: Vec<(&str, String, Option<&Known>)> = Vec::new();
    for limit in limits {
        let with_risks = limit.levers_with_risks();
        for (place, (plain, spelling)) in limit.levers.iter().zip(with_risks).enumerate() {
            let known = limit.lever_ids.get(place).and_then(|id| levers.get(id));
            if !all.iter().any(|other| other.0 == plain) {
                all.push((plain, spelling, known));
            }
        }
    }
    if all.is_empty() {
        return Remedy {
            state: RemedyState::Nonexistent,
            words: "no lever addresses it".to_owned(),
        };
    }
    let (mut left, mut tried, mut not_tried) = (Vec::new(), Vec::new(), Vec::new());
    for (plain, spelling, known) in all {
        match known {
            None => left.push(spelling),
            Some(Known::Tried(effect)) => {
                tried.push(format!("{spelling} ({})", number::estimate(effect)));
            }
            // The reason says what it risks, where that is why.
            Some(Known::NotTried(reason)) => not_tried.push(format!("{plain} ({reason})")),
        }
    }
    let state = match left.is_empty() {
        true => RemedyState::Done,
        false => RemedyState::Left,
    };
    if !verbose && left.is_empty() {
        let words =
            "the levers that address it were screened, left out or do not apply here".to_owned();
        return Remedy { state, words };
    }
    if !verbose {
        (tried, not_tried) = (Vec::new(), Vec::new());
    }
    let parts = [
        ("levers that address it, where they apply: ", left),
        ("tried: ", tried),
        ("not tried here: ", not_tried),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(title, list)| format!("{title}{}", list.join(", ")))
        .collect();
    Remedy {
        state,
        words: told.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use niagara_profile::HeavyStatement;
    use niagara_profile::result::{Cpu, ThreadTime};

    fn limit(title: &str, natural: bool, share: f64, levers: &[&str]) -> FoundLimit {
        FoundLimit {
            limit: title.to_lowercase(),
            title: title.to_owned(),
            why: "Because.".to_owned(),
            natural,
            share,
            levers: levers.iter().map(|&lever| lever.to_owned()).collect(),
            lever_ids: levers
                .iter()
                .map(|&lever| lever.replace('=', "-"))
                .collect(),
            lever_risks: Vec::new(),
        }
    }

    fn seen(limits: Vec<FoundLimit>) -> DiagnosedProfile {
        DiagnosedProfile {
            subject: "the final variant".to_owned(),
            profile: Profile {
                limits,
                cpu: Some(Cpu::default()),
                time: Some(ThreadTime::default()),
                ..Profile::default()
            },
            levers: BTreeMap::new(),
            queries_first: false,
        }
    }

    #[test]
    fn levers_that_were_tried_or_do_not_apply_are_not_recommended() {
        let mut tuned = seen(vec![limit(
            "locks",
            false,
            0.5,
            &["spin=off", "spin=long", "thread-pool"],
        )]);
        let effect = Estimate {
            ratio: 0.99,
            low: 0.98,
            high: 1.0,
        };
        let reason = Reason::FewCpus {
            least: 8,
            cpus: 2,
            machine: niagara_model::Machine::Here,
        };
        tuned.levers = BTreeMap::from([
            ("thread-pool".to_owned(), Known::Tried(effect)),
            ("spin-long".to_owned(), Known::NotTried(reason)),
        ]);
        let said = &limits_in_short(std::slice::from_ref(&tuned), true)[0];
        assert!(
            said.ends_with(
                "Levers that address it, where they apply: spin=off; tried: thread-pool (× 0.990 [0.980, 1.000]); \
                 not tried here: spin=long (needs 8 CPUs; this machine has 2)."
            ),
            "{said}"
        );
        let said =
            |seen: &DiagnosedProfile| limits_in_short(std::slice::from_ref(seen), false).remove(0);
        assert!(said(&tuned).ends_with("where they apply: spin=off."));
        tuned
            .levers
            .insert("spin-off".to_owned(), Known::Tried(effect));
        assert!(said(&tuned).ends_with("were screened, left out or do not apply here."));
    }

    #[test]
    fn an_artificial_limit_is_the_headline() {
        let cpu = || limit("CPU", true, 0.7, &["transport=unix"]);
        let healthy = seen(vec![
            cpu(),
            limit("network", true, 0.31, &["transport=unix"]),
        ]);
        assert_eq!(
            limits_in_short(&[healthy], true),
            [
                "What limits the final variant now: CPU (70 % of the time in which queries are answered), network (31 % of \
                 the time in which queries are answered). No lock, memory allocation or \
                 cache within the server holds it up. Levers that address it, where they apply: transport=unix."
            ]
        );
        let ill = seen(vec![limit("table locks", false, 0.2, &[]), cpu()]);
        let said = &limits_in_short(std::slice::from_ref(&ill), true)[0];
        assert!(
            said.ends_with(
                "now: table locks (20 % of the time in which queries are answered). That lies within the server and can \
                 often be removed. No lever addresses it."
            ),
            "{said}"
        );
        let sections = sections_in_short(&ill);
        assert_eq!(sections[0].title, "What limits the final variant now");
        assert!(sections[0].notes[0].starts_with("Table locks"));
    }

    #[test]
    fn hardware_is_what_remains() {
        let said =
            |seen: &DiagnosedProfile| limits_in_short(std::slice::from_ref(seen), false).remove(0);
        let mut busy = seen(vec![limit("CPU", true, 0.9, &[])]);
        assert!(said(&busy).ends_with("CPU (90 % of the time), that is, hardware."));
        let by_name = Reason::OnlyByName {
            lever: "build-lto".to_owned(),
            build: true,
        };
        busy.levers = BTreeMap::from([("build-lto".to_owned(), Known::NotTried(by_name))]);
        assert!(said(&busy).ends_with("are left to try (--with-builds, which needs a compiler)."));
        let left_out = Known::NotTried(Reason::NotRequested);
        busy.levers.insert("spin-off".to_owned(), left_out);
        assert!(said(&busy).contains("levers are left to try"));
        busy.profile.statements = vec![HeavyStatement {
            digest: "0123456789abcdef".to_owned(),
            text: "select a from t where b = ?".to_owned(),
            share: 0.68,
            rows_examined: 9000.0,
            rows_returned: 1.0,
        }];
        let words = said(&busy);
        assert!(
            words.contains(
                "one statement (01234567, 68 % of the captured time), which reads 9\u{2009}000 rows"
            ) && words.contains("niagara advise")
                && !words.contains("hardware"),
            "{words}"
        );
        let cpu = busy.profile.cpu.as_mut().expect("seen");
        cpu.machine = BTreeMap::from([("load generator".to_owned(), 0.116)]);
        assert!(
            said(&busy)
                .contains("CPU (90 % of the time; the load generator takes 12 % of the CPUs).")
        );
        // By counting they are the headline.
        busy.queries_first = true;
        assert!(
            said(&busy).ends_with("The statements come first (niagara advise)."),
            "{}",
            said(&busy)
        );
    }

    #[test]
    fn no_two_sections_of_a_page_have_one_title() {
        let mut titles = BTreeSet::new();
        for subject in ["the package", "own build"] {
            let mut seen = seen(vec![limit("cpu", true, 0.8, &[])]);
            seen.subject = subject.to_owned();
            seen.profile.cpu = None;
            seen.profile.missing = vec!["the CPU view".into()];
            for section in sections_in_short(&seen) {
                assert!(titles.insert(section.title.clone()), "{}", section.title);
            }
        }
        assert_eq!(titles.len(), 6);
    }

    #[test]
    fn what_nobody_saw_is_not_claimed() {
        let mut half = seen(vec![limit("network", true, 0.31, &["transport=unix"])]);
        half.profile.time = None;
        half.profile.cpu = Some(Cpu {
            user_only: true,
            ..Cpu::default()
        });
        for verbose in [true, false] {
            let said = limits_in_short(std::slice::from_ref(&half), verbose).remove(0);
            assert!(
                said.contains("network (31 % of the CPU time of the server's own code alone, without the kernel's), as far as was seen."),
                "{said}"
            );
            assert!(!said.contains("ardware"), "{said}");
        }
        // Nor where only the waiting was seen.
        half.profile.time = Some(ThreadTime::default());
        half.profile.cpu = None;
        let said = limits_in_short(&[half], true).remove(0);
        assert!(!said.contains("no lock"), "{said}");
    }

    #[test]
    fn levers_that_risk_something_say_so() {
        let mut disk = limit("disk", true, 0.4, &["log-flush=os", "redo-log-large"]);
        disk.lever_risks = vec!["durability".to_owned(), String::new()];
        let said = limits_in_short(&[seen(vec![disk])], false).remove(0);
        assert!(
            said.ends_with("log-flush=os (risk: durability), redo-log-large."),
            "{said}"
        );
    }

    #[test]
    fn views_that_were_not_taken_are_not_called_healthy() {
        let mut blind = seen(Vec::new());
        blind.profile.time = None;
        blind.profile.missing.push("no waiting: run as root".into());
        assert!(
            limits_in_short(std::slice::from_ref(&blind), true)[0].contains("could not be seen")
        );
        let sections = sections_in_short(&blind);
        assert!(sections.last().expect("a section").notes[0].contains("root"));
    }
}
