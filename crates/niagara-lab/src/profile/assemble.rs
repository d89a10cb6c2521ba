//! From what the views saw to what the profile says.

use anyhow::Result;
use niagara_error::Explanation;
use niagara_load::counted;
use niagara_profile::result::{
    Cpu, FunctionShare, LayerShare, Profile, Site, Syscall, ThreadTime, Waiting,
};
use niagara_profile::{
    CpuSamples, Evidence, Folded, FoundLimit, Frame, Layers, Names, OffCpu, Place, Seen, Syscalls,
    diagnose,
};

use super::work::{Work, per_query};
use crate::lever::{self, Context, Lever, Risk};

/// Functions listed.
const FUNCTIONS: usize = 60;
/// Places listed.
const SITES: usize = 20;
/// Functions that name a place.
const SITE_DEPTH: usize = 5;
/// The layer in which a thread that waits waits for its client.
const CLIENT_LAYER: &str = "network-read";
const LOCK_LAYER: &str = "locks";

/// What ran.
pub(super) fn cpu(profile: &mut Profile, mut samples: CpuSamples, work: &Work) -> Result<()> {
    let layers = Layers::built_in()?;
    Names::built_in()?.infer(&mut samples.folded);
    let total = samples.folded.total();
    profile.cpu_us_per_query = work.cpu_us_per_query;
    let us_per_query = match samples.user_only {
        true => per_query(
            total * 1e6 / niagara_profile::FREQUENCY as f64,
            work.queries,
        ),
        false => profile.cpu_us_per_query,
    };
    let whole: u64 = samples.machine.values().sum();
    let sees_machine = samples.machine.len() > 1;
    profile.cpu = Some(Cpu {
        samples: total as u64,
        frequency: niagara_profile::FREQUENCY,
        machine: samples
            .machine
            .iter()
            .filter(|_| sees_machine)
            .map(|(whose, count)| (whose.clone(), *count as f64 / whole.max(1) as f64))
            .collect(),
        layers: shares(&layers, &samples.folded, total, us_per_query),
        functions: samples
            .folded
            .functions()
            .into_iter()
            .take(FUNCTIONS)
            .map(|(frame, own, all)| FunctionShare {
                name: frame.name.clone(),
                place: frame.place,
                own: ratio(own, total),
                with_callees: ratio(all, total),
            })
            .collect(),
        named_share: samples.folded.named_share(),
        inferred_share: samples.folded.inferred_share(),
        truncated_share: ratio(samples.truncated as f64, total),
        user_only: samples.user_only,
    });
    if samples.user_only {
        profile.missing.push("what the kernel does for the server: shares and times by layer and function are of its own code alone".into());
    }
    if samples.lost > 0 {
        profile.missing.push(
            format!(
                "{} of the CPU did not fit into the buffers and did not count",
                counted(samples.lost, "sample")
            )
            .into(),
        );
    }
    profile.cpu_stacks = samples.folded;
    Ok(())
}

/// What threads waited for.
pub(super) fn off_cpu(profile: &mut Profile, mut seen: OffCpu, work: &Work) -> Result<()> {
    let layers = Layers::built_in()?;
    Names::built_in()?.infer(&mut seen.waiting);
    // So many of the queries were answered by the threads that were observed.
    let queries = work.queries.map(|queries| queries * seen.part());
    let us_per_query = per_query(seen.observed * 1e6, queries);
    let reasons = shares(&layers, &seen.waiting, seen.observed, us_per_query);
    let share = |layer: &str| {
        let found = reasons.iter().find(|reason| reason.layer == layer);
        found.map_or(0.0, |reason| reason.share)
    };
    let (client, locks) = (share(CLIENT_LAYER), share(LOCK_LAYER));
    let waiting: f64 = reasons.iter().map(|reason| reason.share).sum();
    let running = ratio(seen.running, seen.observed);
    let ready = ratio(seen.ready, seen.observed);
    // The scheduler counts the time from being woken to running as ready, a pair of switches as away: what is in both is
    // taken off the waiting for the client, where nearly all of it is.
    let double = (running + ready + waiting - 1.0).max(0.0).min(client);
    profile.time = Some(ThreadTime {
        running,
        ready,
        client: client - double,
        locks,
        other: (1.0 - running - ready - (client - double) - locks).max(0.0),
    });
    profile.off_cpu = Some(Waiting {
        threads: seen.threads,
        background: seen.background.len(),
        had_turn: seen.had_turn,
        waits_per_query: per_query(seen.waits as f64, queries),
        preempted_per_query: per_query(seen.preempted as f64, queries),
        reasons,
        sites: sites(&layers, &seen.waiting, seen.observed),
        truncated_share: ratio(seen.truncated as f64, seen.stacks as f64),
    });
    if seen.untold {
        profile.missing.push("which threads serve connections: no stack has a function's name that tells, so the server's own threads are \
             counted with them; debug symbols give names (docs/profile.md)".into());
    }
    if seen.lost > 0 {
        profile.missing.push(
            format!(
                "{} context switches did not fit into their buffers and are not counted",
                seen.lost
            )
            .into(),
        );
    }
    profile.off_cpu_stacks = seen.waiting;
    Ok(())
}

/// System calls, the longest first.
pub(super) fn syscalls(profile: &mut Profile, seen: &Syscalls, work: &Work) {
    let scale = seen.scale();
    let mut found: Vec<Syscall> = seen
        .kinds
        .iter()
        .map(|(name, counts)| Syscall {
            name: name.clone(),
            per_second: ratio(counts.calls as f64 * scale, seen.looked),
            share: ratio(counts.seconds, seen.observed),
            per_query: per_query(counts.calls as f64 * scale, work.queries),
            us_per_query: per_query(counts.seconds * 1e6 * scale, work.queries),
            errors: ratio(counts.errors as f64, counts.calls as f64),
            bytes_per_call: (counts.bytes > 0)
                .then(|| ratio(counts.bytes as f64, counts.calls as f64)),
        })
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    profile.syscalls = Some(found);
    if seen.lost > 0 {
        profile.missing.push(
            format!(
                "{} system calls did not fit into their buffers and are not counted",
                seen.lost
            )
            .into(),
        );
    }
}

/// What limits, from everything that was seen: nothing where neither running nor waiting was seen. The levers that address
/// it are those that apply `here` and can be added to those that are `applied` already; none where nobody knows what applies.
pub(super) fn limits(
    profile: &mut Profile,
    here: Option<&Context>,
    applied: &[String],
) -> Result<()> {
    let unknown = match (&profile.cpu, &profile.time) {
        (Some(_), Some(_)) => None,
        (Some(_), None) => Some(
            "what limits, as far as it is waiting: only the off-cpu view knows; the shares are of CPU time alone",
        ),
        (None, Some(_)) => {
            Some("what limits, as far as it is what runs: only the cpu view knows what that is")
        }
        (None, None) => Some("what limits: the views cpu and off-cpu together tell"),
    };
    profile.missing.extend(unknown.map(Explanation::from));
    if profile.cpu.is_none() && profile.time.is_none() {
        return Ok(());
    }
    let layers = Layers::built_in()?;
    let time = profile.time.clone().unwrap_or(ThreadTime {
        // Without a view of the waiting, the running is all that is known.
        running: 1.0,
        ..ThreadTime::default()
    });
    let samples = profile.cpu_stacks.total();
    let mut stacks = Vec::new();
    let add = |folded: &Folded, waiting: bool, scale: f64| -> Vec<(Vec<String>, String, f64)> {
        folded
            .stacks()
            .filter_map(|(frames, weight)| {
                let layer = layers.of(&frames);
                if waiting && layer.id == CLIENT_LAYER {
                    return None;
                }
                let functions = frames.iter().map(|frame| frame.name.clone()).collect();
                Some((functions, layer.id.clone(), weight * scale))
            })
            .collect()
    };
    // Who waits for a CPU waits for what runs: that time counts with what ran.
    let on_cpu = time.running + time.ready;
    let ran = add(&profile.cpu_stacks, false, ratio(on_cpu, samples));
    let waited_for = profile.off_cpu_stacks.total();
    let waiting: f64 = profile.off_cpu.as_ref().map_or(0.0, |seen| {
        seen.reasons.iter().map(|reason| reason.share).sum()
    });
    let waited = add(&profile.off_cpu_stacks, true, ratio(waiting, waited_for));
    for (owned, is_waiting) in [(&ran, false), (&waited, true)] {
        for (functions, layer, seconds) in owned {
            stacks.push(Seen {
                functions: functions.iter().map(String::as_str).collect(),
                layer,
                waiting: is_waiting,
                seconds: *seconds,
            });
        }
    }
    let found = diagnose(
        &niagara_profile::limits()?,
        &Evidence {
            stacks,
            running: on_cpu,
            waiting_seen: profile.time.is_some(),
            status: &profile.status_per_query,
        },
    )?;
    let levers = lever::load(&[])?;
    profile.limits = found
        .into_iter()
        .map(|limit| match here {
            Some(here) => with_levers_left(limit, &levers, here, applied),
            None => FoundLimit {
                levers: Vec::new(),
                lever_ids: Vec::new(),
                ..limit
            },
        })
        .collect();
    Ok(())
}

/// A limit with those of its levers that apply `here` and can be added to those that are `applied` already, as they are written
/// in a variant: another level of a choice that was made is none of them. Levers that are tried only by name are, for here they
/// are named.
fn with_levers_left(
    mut limit: FoundLimit,
    levers: &[Lever],
    here: &Context,
    applied: &[String],
) -> FoundLimit {
    let known = |id: &String| levers.iter().find(|lever| lever.id() == id);
    let in_force: Vec<&Lever> = applied.iter().filter_map(known).collect();
    let is_free = |lever: &Lever| {
        let in_the_way =
            |other: &&Lever| other.factor() == lever.factor() || other.is_apart_from(lever);
        !in_force.iter().any(in_the_way)
    };
    let mut here = here.clone();
    here.named.extend(limit.lever_ids.iter().cloned());
    let left: Vec<&Lever> = limit
        .lever_ids
        .iter()
        .filter_map(known)
        .filter(|lever| is_free(lever) && lever.applicability(&here).is_ok())
        .collect();
    let risk = |lever: &&Lever| match lever.risk() {
        Risk::None | Risk::Memory => String::new(),
        risk => risk.to_string(),
    };
    limit.lever_risks = left.iter().map(risk).collect();
    limit.levers = left.iter().map(|lever| lever.spelling()).collect();
    limit.lever_ids = left.iter().map(|lever| lever.id().to_owned()).collect();
    limit
}

fn shares(
    layers: &Layers,
    folded: &Folded,
    whole: f64,
    us_per_query: Option<f64>,
) -> Vec<LayerShare> {
    layers
        .all()
        .iter()
        .zip(layers.divide(folded))
        .filter(|(_, weight)| *weight > 0.0)
        .map(|(layer, weight)| LayerShare {
            layer: layer.id.clone(),
            title: layer.title.clone(),
            what: layer.what.clone(),
            share: ratio(weight, whole),
            us_per_query: us_per_query.map(|time| ratio(weight, whole) * time),
        })
        .collect()
}

/// Where threads sleep in a lock: stacks of that layer by the server's innermost functions.
fn sites(layers: &Layers, folded: &Folded, whole: f64) -> Vec<Site> {
    let mut by_place = std::collections::BTreeMap::<Vec<String>, f64>::new();
    for (frames, weight) in folded.stacks() {
        if layers.of(&frames).id == LOCK_LAYER {
            *by_place.entry(place(&frames)).or_default() += weight;
        }
    }
    let mut found: Vec<Site> = by_place
        .into_iter()
        .map(|(functions, weight)| Site {
            functions,
            share: ratio(weight, whole),
        })
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found.truncate(SITES);
    found
}

/// The server's innermost named functions of a stack, innermost first.
fn place(frames: &[&Frame]) -> Vec<String> {
    let own = frames
        .iter()
        .rev()
        .filter(|frame| frame.place == Place::Server && frame.named);
    own.take(SITE_DEPTH)
        .map(|frame| frame.name.clone())
        .collect()
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use niagara_server::Family;
    use niagara_server::machine::Fingerprint;

    use super::*;

    /// A server under a load that writes, on data of 10 GB in this engine, with every risk allowed.
    fn server(family: Family, version: &str, engine: &str) -> Context {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 8;
        machine.memory.bytes = 32 << 30;
        let mut context = Context::new(family, version.parse().expect("a version"), machine);
        context.engine = engine.to_owned();
        context.data_bytes = 10 << 30;
        context.writes = true;
        context.allowed = [Risk::Durability, Risk::Security, Risk::System, Risk::Schema].into();
        context
    }

    fn mariadb(engine: &str) -> Context {
        server(Family::Mariadb, "10.11.19", engine)
    }

    /// This limit with what is left of its levers.
    fn left(id: &str, here: &Context, applied: &[&str]) -> FoundLimit {
        let levers = lever::load(&[]).expect("valid files");
        let limits = niagara_profile::limits().expect("valid files");
        let limit = limits.iter().find(|limit| limit.id == id);
        let ids = limit.expect("it is there").levers.clone();
        let found = FoundLimit {
            limit: id.to_owned(),
            title: String::new(),
            why: String::new(),
            natural: false,
            share: 0.5,
            levers: ids.clone(),
            lever_ids: ids,
            lever_risks: Vec::new(),
        };
        let applied: Vec<String> = applied.iter().map(|&id| id.to_owned()).collect();
        with_levers_left(found, &levers, here, &applied)
    }

    #[test]
    fn every_lever_that_a_limit_names_is_there() {
        let levers = lever::load(&[]).expect("valid files");
        for limit in niagara_profile::limits().expect("valid files") {
            for id in &limit.levers {
                assert!(
                    levers.iter().any(|lever| lever.id() == id),
                    "limits/{}.toml: {id}",
                    limit.id
                );
            }
        }
    }

    #[test]
    fn levers_of_one_engine_are_not_recommended_for_tables_in_another() {
        let of = |engine| left("locks", &mariadb(engine), &[]).lever_ids;
        let spin = "spin-long".to_owned();
        assert!(of("InnoDB").contains(&spin), "{:?}", of("InnoDB"));
        let left = of("ROCKSDB");
        assert!(left.contains(&"thread-pool".to_owned()), "{left:?}");
        assert!(!left.contains(&spin), "{left:?}");
    }

    #[test]
    fn levers_that_this_server_does_not_have_are_not_recommended() {
        let of = |here: &Context| left("locks", here, &[]).lever_ids;
        let (maria, mysql) = (
            of(&mariadb("InnoDB")),
            of(&server(Family::Mysql, "9.7.4", "InnoDB")),
        );
        // MySQL has no thread pool; what else a release lacks its binary says.
        let pool = "thread-pool".to_owned();
        assert!(maria.contains(&pool) && !mysql.contains(&pool));
        // Nor where the data are too few, or nothing is written.
        let mut small = mariadb("InnoDB");
        small.data_bytes = 1 << 20;
        small.writes = false;
        let disk = left("disk", &small, &[]);
        assert!(disk.lever_ids.is_empty(), "{disk:?}");
    }

    #[test]
    fn what_a_lever_risks_is_told_with_it() {
        let disk = left("disk", &mariadb("InnoDB"), &[]);
        let told = disk.levers_with_risks();
        assert!(
            told.contains(&"log-flush=os (risk: durability)".to_owned()),
            "{told:?}"
        );
        assert!(told.contains(&"redo-log-large".to_owned()), "{told:?}");
    }

    #[test]
    fn of_a_choice_that_was_made_no_other_level_is_recommended() {
        let malloc = |applied: &[&str]| {
            let mut here = mariadb("InnoDB");
            here.mallocs = ["jemalloc", "tcmalloc"].map(str::to_owned).into();
            left("memory", &here, applied).lever_ids
        };
        let tcmalloc = "malloc-tcmalloc".to_owned();
        assert!(malloc(&[]).contains(&tcmalloc), "{:?}", malloc(&[]));
        let left = malloc(&["malloc-jemalloc"]);
        assert!(
            !left.iter().any(|id| id.starts_with("malloc-")) && !left.is_empty(),
            "{left:?}"
        );
    }

    #[test]
    fn the_time_of_a_thread_adds_up() {
        let mut waiting = Folded::default();
        let frame = |name: &str| Frame {
            name: name.to_owned(),
            place: Place::Server,
            named: true,
            inferred: false,
        };
        waiting.add([frame("do_command"), frame("vio_read")], 5.0);
        waiting.add([frame("do_command"), frame("MDL_wait::timed_wait")], 2.0);
        let seen = OffCpu {
            observed: 10.0,
            running: 2.0,
            ready: 1.5,
            waiting,
            threads: (8, 4),
            ..OffCpu::default()
        };
        let mut profile = Profile::default();
        off_cpu(&mut profile, seen, &Work::default()).expect("valid layers");
        let time = profile.time.clone().expect("it was divided");
        // Half a second is counted as ready and as waiting.
        assert!(
            (time.client - 0.45).abs() < 1e-9 && (time.locks - 0.2).abs() < 1e-9,
            "{time:?}"
        );
        let all = time.running + time.ready + time.client + time.locks + time.other;
        assert!((all - 1.0).abs() < 1e-9, "{time:?}");
        limits(&mut profile, Some(&mariadb("InnoDB")), &[]).expect("valid limits");
        assert_eq!(profile.limits[0].limit, "metadata-locks");
    }

    #[test]
    fn levers_in_use_are_not_recommended() {
        let busy = Profile {
            time: Some(ThreadTime {
                running: 1.0,
                ..ThreadTime::default()
            }),
            ..Profile::default()
        };
        let advice = |engine: &str, applied: &[&str]| {
            let mut profile = busy.clone();
            let applied: Vec<String> = applied.iter().map(|&id| id.to_owned()).collect();
            limits(&mut profile, Some(&mariadb(engine)), &applied).expect("valid limits");
            let cpu = profile.limits.iter().find(|limit| limit.limit == "cpu");
            cpu.expect("it runs all the time").levers.clone()
        };
        assert!(
            advice("InnoDB", &[])
                .iter()
                .any(|lever| lever == "transport=unix")
        );
        assert!(
            advice("ROCKSDB", &[])
                .iter()
                .any(|lever| lever == "transport=unix")
        );
        let left = advice("InnoDB", &["transport-unix"]);
        assert!(!left.is_empty() && !left.iter().any(|lever| lever == "transport=unix"));
    }
}
