//! Builds of a tuning are trained on what is tuned for: where that is the user's own workload (a file, a script, a capture),
//! the levers that build train on it rather than on what their files name.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_build::TRAINING_PART;
use niagara_load::{Workload, WorkloadSpec};

use crate::asking::choose_levers::TuneQuestion;
use crate::lever::Lever;
use crate::plans::spec::Load;
use crate::variants::candidate::Candidate;
use crate::variants::origin::Origin;

/// The parts of a recipe that are trained.
const TRAINED: [&str; 2] = ["pgo", "bolt"];

/// Whether a tuning has builds that are trained: those of `--with-builds`, and every lever that it may try whose change trains a
/// build, whatever it is called.
pub fn trains_builds(tune: &TuneQuestion, levers: &[Lever]) -> bool {
    let trains = |lever: &Lever| {
        let build = &lever.template.build;
        TRAINED.iter().any(|key| build.contains_key(*key))
    };
    let is_tried = |lever: &Lever| {
        let is_in = |ids: &[String]| ids.iter().any(|id| id == lever.id());
        let is_named = is_in(&tune.only) || is_in(&tune.also);
        let is_usual = tune.only.is_empty() && !lever.only_named;
        (is_named || is_usual) && !is_in(&tune.without)
    };
    let mut tried = levers.iter().filter(|lever| is_tried(lever));
    tune.with_builds || tried.any(trains)
}

/// The load that builds are judged by: of a capture the part that does not train them, where nobody says which part.
///
/// # Errors
/// The capture cannot be read, or has nothing to replay in that part.
pub fn holdout_load(mut load: Load) -> Result<Load> {
    if let Workload::Capture(capture) = &mut load.workload.workload
        && capture.part().is_none()
    {
        capture.set_part(TRAINING_PART.complement())?;
    }
    Ok(load)
}

/// Has the builds among `candidates` trained on `load`, where that is the user's own workload. What to say of the training of
/// all builds; nothing where there is none that is trained.
pub(crate) fn train_on_own(
    candidates: &mut [Candidate],
    load: &Load,
    origin: &Origin,
) -> Option<String> {
    let is_trained = |candidate: &&mut Candidate| {
        let build = &candidate.change.build;
        TRAINED.iter().any(|key| build.contains_key(*key))
    };
    let trained: Vec<&mut Candidate> = candidates.iter_mut().filter(is_trained).collect();
    let first = trained.first()?;
    let Some(settings) = settings_of(load, origin) else {
        let on = TRAINED
            .iter()
            .find_map(|key| first.change.build.get(*key))?;
        return Some(said_of_built_in(on, &load.workload));
    };
    for candidate in trained {
        let build = &mut candidate.change.build;
        for key in TRAINED {
            if build.remove(key).is_none() {
                continue;
            }
            // In how many rounds is counted is what the lever tries, whatever the load; the rest is of the other training.
            let rounds = format!("{key}.contexts");
            let prefix = format!("{key}.");
            build.retain(|known, _| *known == rounds || !known.starts_with(&prefix));
            for (part, value) in &settings {
                let name = match part.as_str() {
                    "workloads" => key.to_owned(),
                    part => format!("{key}.{part}"),
                };
                build.insert(name, value.clone());
            }
        }
    }
    let part = match settings.get("part") {
        Some(part) => part.parse::<niagara_load::TracePart>().map_or_else(
            |_| String::new(),
            |part| {
                format!(
                    ", on {}, and judged by {}",
                    part.words(),
                    part.complement().words()
                )
            },
        ),
        None => String::new(),
    };
    Some(format!(
        "builds are trained here on {}{part}; profiles that come with the program are of built-in workloads and are not taken",
        load.workload.spelling()
    ))
}

/// What is said where builds are trained on a workload of Niagara's.
fn said_of_built_in(on: &str, tuned_for: &WorkloadSpec) -> String {
    let name = tuned_for.name();
    let is_among = on
        .split(['/', ',', '+'])
        .any(|one| one.split(':').next() == Some(name));
    match is_among {
        true => format!("builds are trained on {on}, {name} among it"),
        false => format!(
            "builds are trained on {on}, not on {name}: one that is trained on it is compared by \
             `niagara compare base build.pgo={name} --workload {name}`"
        ),
    }
}

/// The training that `load` is, by the parts of a training as a recipe has them; none where it is built in.
fn settings_of(load: &Load, origin: &Origin) -> Option<BTreeMap<String, String>> {
    let workload = &load.workload;
    if workload.kind().is_some() {
        return None;
    }
    let mut settings = BTreeMap::from([("workloads".to_owned(), workload.spelling().to_owned())]);
    let mut set = |part: String, value: String| {
        settings.insert(part, value);
    };
    match &workload.workload {
        Workload::File(file) => {
            set("threads".to_owned(), load.threads.to_string());
            for (name, number) in file.scale() {
                set(format!("set.{name}"), number.to_string());
            }
        }
        Workload::Script(script) => {
            // A script may make its tables by the number of its threads.
            set("threads".to_owned(), load.threads.to_string());
            for (name, value) in script.options() {
                set(format!("set.{name}"), value.clone());
            }
        }
        Workload::Capture(capture) => {
            let part = capture.part().map(|part| part.complement());
            set("part".to_owned(), part.unwrap_or(TRAINING_PART).to_string());
            set(
                "set.commit_order".to_owned(),
                capture.commit_order().to_string(),
            );
            if let Some(tables) = capture.tables_of() {
                set("tables_of".to_owned(), tables.spelling().to_owned());
                for (name, value) in sizes(tables) {
                    set(name, value);
                }
            }
        }
        Workload::Sysbench(_) | Workload::Tpcc(_) => {}
    }
    if let Some(data) = &origin.data {
        set("data".to_owned(), data.source.path.display().to_string());
        if let Some(schema) = &data.database {
            set("schema".to_owned(), schema.clone());
        }
    }
    Some(settings)
}

/// The sizes of the tables that a capture ran on.
fn sizes(tables: &WorkloadSpec) -> Vec<(String, String)> {
    match &tables.workload {
        Workload::Sysbench(sysbench) => vec![
            ("tables".to_owned(), sysbench.tables.to_string()),
            ("table_size".to_owned(), sysbench.table_size.to_string()),
        ],
        Workload::Tpcc(tpcc) => vec![("set.warehouses".to_owned(), tpcc.warehouses.to_string())],
        Workload::File(file) => file
            .scale()
            .iter()
            .map(|(name, number)| (format!("set.{name}"), number.to_string()))
            .collect(),
        Workload::Script(_) | Workload::Capture(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use niagara_load::{FileWorkload, WorkloadFile};

    use super::*;
    use crate::asking::choose_levers::{Application, Keep};

    const SHOP: &str = include_str!("../../../../docs/examples/shop.toml");

    fn candidates() -> Vec<Candidate> {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        ["malloc-jemalloc", "build-pgo-lto-bolt", "build-lto"]
            .into_iter()
            .map(|id| {
                let lever = levers
                    .iter()
                    .find(|lever| lever.id() == id)
                    .expect("shipped");
                let mut change = crate::lever::Change::default();
                let settings: &[(&str, &str)] = match id {
                    "build-pgo-lto-bolt" => &[
                        ("lto", "thin"),
                        ("pgo", "oltp_read_only:2/oltp_read_write"),
                        ("pgo.seconds", "20"),
                        ("pgo.contexts", "yes"),
                        ("bolt", "oltp_read_only:2/oltp_read_write"),
                    ],
                    "build-lto" => &[("lto", "thin")],
                    _ => &[],
                };
                for (key, value) in settings {
                    change.build.insert((*key).to_owned(), (*value).to_owned());
                }
                Candidate {
                    lever: lever.clone(),
                    change,
                    span: None,
                    prior: None,
                }
            })
            .collect()
    }

    fn load(workload: WorkloadSpec) -> Load {
        Load {
            workload,
            engine: "InnoDB".to_owned(),
            threads: 8,
        }
    }

    #[test]
    fn a_lever_trains_by_what_it_changes_and_not_by_its_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str, more: &str| {
            let text = format!(
                "title = \"{name}\"\ntheme = \"build\"\nrisk = \"none\"\nwhy = \"as it is\"\nsource = \"own\"\n{more}"
            );
            let path = folder.path().join(format!("{name}.toml"));
            std::fs::write(path, text).expect("written");
        };
        let named = "try = \"named\"\n[change.build]\npgo = \"oltp_read_only\"\n";
        file("our-release", named);
        file(
            "build-plain",
            "try = \"named\"\n[change.build]\nflags = \"-O3\"\n",
        );
        let levers = crate::lever::load(&[folder.path().to_path_buf()]).expect("valid");
        let none = TuneQuestion {
            allow: Vec::new(),
            app: Application::Local,
            only: Vec::new(),
            also: Vec::new(),
            without: Vec::new(),
            counted: Vec::new(),
            shares_host: false,
            with_builds: false,
            build_seconds: 0.0,
            screen_couples: None,
            keep: Keep::Proven,
            guard: niagara_model::TailGuard::default(),
        };
        let also = |id: &str| TuneQuestion {
            also: vec![id.to_owned()],
            ..none.clone()
        };
        assert!(
            !trains_builds(&none, &levers),
            "no shipped one unless named"
        );
        assert!(trains_builds(&also("our-release"), &levers));
        assert!(trains_builds(&also("build-pgo"), &levers));
        // What is built without training can be judged by all of a capture.
        assert!(!trains_builds(&also("build-plain"), &levers));
        let without = TuneQuestion {
            without: vec!["our-release".to_owned()],
            ..also("our-release")
        };
        assert!(!trains_builds(&without, &levers));
        let with_builds = TuneQuestion {
            with_builds: true,
            ..none.clone()
        };
        assert!(trains_builds(&with_builds, &levers));
        // One that nobody has to name.
        file("our-release", &named.replace("named", "always"));
        let levers = crate::lever::load(&[folder.path().to_path_buf()]).expect("valid");
        assert!(trains_builds(&none, &levers));
        let only = TuneQuestion {
            only: vec!["malloc-jemalloc".to_owned()],
            ..none
        };
        assert!(!trains_builds(&only, &levers));
    }

    #[test]
    fn builds_are_trained_on_the_users_own_workload_and_on_nothing_else() {
        let shop = FileWorkload::read(WorkloadFile {
            path: "./shop.toml".to_owned(),
            text: SHOP.to_owned(),
        });
        let mut all = candidates();
        let own = load(WorkloadSpec::of(shop.expect("a workload")));
        let said = train_on_own(&mut all, &own, &Origin::default()).expect("some are trained");
        assert!(said.contains("trained here on ./shop.toml"), "{said}");
        let build = &all[1].change.build;
        assert_eq!(build["pgo"], "./shop.toml");
        assert_eq!(build["bolt"], "./shop.toml");
        assert_eq!(build["pgo.threads"], "8");
        assert_eq!(build["lto"], "thin");
        assert!(
            !build.contains_key("pgo.seconds"),
            "it was the other training's"
        );
        assert_eq!(
            build["pgo.contexts"], "yes",
            "else the lever would be another's"
        );
        assert_eq!(all[2].change.build.len(), 1, "it has no training");
        assert!(all[0].change.build.is_empty());
    }

    #[test]
    fn what_builds_are_trained_on_is_said() {
        for (workload, words) in [
            ("oltp_read_write", "oltp_read_write among it"),
            ("tpcc", "not on tpcc"),
        ] {
            let mut all = candidates();
            let tuned = load(WorkloadSpec::of(
                workload
                    .parse::<niagara_load::WorkloadKind>()
                    .expect("known"),
            ));
            let said = train_on_own(&mut all, &tuned, &Origin::default()).expect("trained");
            assert!(said.contains(words), "{said}");
            assert_eq!(
                all[1].change.build["pgo"],
                "oltp_read_only:2/oltp_read_write"
            );
        }
        let mut none = vec![candidates().remove(2)];
        let tuned = load(WorkloadSpec::default());
        assert_eq!(train_on_own(&mut none, &tuned, &Origin::default()), None);
    }
}
