//! What installing a ladder's final variant takes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use niagara_capture::rewrite::{numbered, proxy_rule};
use niagara_capture::samples;
use niagara_capture::sql::Digest;
use niagara_model::{DeployBuild, DeployMalloc, DeployRewrite, Deployment, Releases};
use niagara_origin::configuration::StartConfiguration;
use niagara_server::{
    Catalog, Family, Install, MOST_OPEN_FILES, ProcessSettings, TransportKind, environment,
    file_digest, is_flag, malloc_name,
};

use crate::answering::deploy_difference::difference;
use crate::duels::inventory::MeasuredMachine;
use crate::duels::workbench::Workbench;
use crate::lever::{Lever, NoteFor, Risk, load, open_files};
use crate::variants::candidate::Candidate;
use crate::variants::variant::Variant;

/// The option that has the server lock its memory.
const LOCK_MEMORY: &str = "memlock";
/// The variable that names libraries to preload.
const PRELOAD: &str = "LD_PRELOAD";

/// A part of the final variant: a lever of a tuning, a rung of a ladder, a combination of a matrix.
pub(crate) struct Part<'a> {
    /// What the report calls it by: a lever's identifier, a rung's title.
    pub name: String,
    /// Server variables, environment variables and settings of the process that it sets here.
    pub sets: Vec<String>,
    /// Its levers, which know what installing them takes.
    pub levers: Vec<&'a Lever>,
    /// Its changes that are no levers.
    pub own_changes: Vec<String>,
}

impl<'a> Part<'a> {
    /// The levers of a tuning that are in `variant`.
    pub fn of_candidates(variant: &Variant, candidates: &'a [Candidate]) -> Vec<Self> {
        let used = candidates
            .iter()
            .filter(|candidate| variant.levers.iter().any(|id| id == candidate.lever.id()));
        used.map(|candidate| Part {
            name: candidate.lever.id().to_owned(),
            sets: sets(candidate),
            levers: vec![&candidate.lever],
            own_changes: Vec::new(),
        })
        .collect()
    }

    /// What `after` has beyond `before`, made by some of `levers`.
    pub fn between(name: &str, before: &Variant, after: &Variant, levers: &'a [Lever]) -> Self {
        let new = |old: &BTreeMap<String, String>, now: &BTreeMap<String, String>| {
            let changed = now
                .iter()
                .filter(|(key, value)| old.get(*key) != Some(value));
            changed.map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        let mut sets = new(&before.config, &after.config);
        sets.extend(new(&before.runtime.environment, &after.runtime.environment));
        sets.extend(of_process(&before.runtime, &after.runtime));
        let added = after.levers.iter().filter(|id| !before.levers.contains(id));
        let (mut known, mut own_changes) = (Vec::new(), Vec::new());
        for id in added {
            match levers.iter().find(|lever| lever.id() == id) {
                Some(lever) => known.push(lever),
                None => own_changes.push(id.clone()),
            }
        }
        Part {
            name: name.to_owned(),
            sets,
            levers: known,
            own_changes,
        }
    }
}

/// What installing `variant` of the first server takes in place of the second, made of `parts` and measured on `machine`.
///
/// # Errors
/// The variant asks for something that the server does not have.
pub(crate) fn deployment(
    [install, before]: [&Install; 2],
    variant: &Variant,
    parts: &[Part<'_>],
    machine: &MeasuredMachine,
    start: Option<&StartConfiguration>,
) -> Result<Deployment> {
    let runtime = &variant.runtime;
    let levers = || parts.iter().flat_map(|part| part.levers.iter().copied());
    let mut environment = environment(install, runtime)?;
    // The user's own library takes the place of the one in the private folder.
    environment.remove(PRELOAD);
    let preloaded = runtime.environment.get_key_value(PRELOAD);
    environment.extend(preloaded.map(|(name, libraries)| (name.clone(), libraries.clone())));
    let (mut config, start) = match start {
        None => (variant.config.clone(), None),
        Some(start) => {
            let found = difference(start, &variant.config);
            (found.config, Some(found.start))
        }
    };
    if runtime.locks_memory() {
        config.insert(LOCK_MEMORY.to_owned(), String::new());
    }
    let flags = config.iter().filter(|(name, value)| is_flag(name, value));
    Ok(Deployment {
        family: family_word(install.family).to_owned(),
        huge_pages: config.contains_key("large_pages"),
        flags: flags.map(|(name, _)| name.clone()).collect(),
        config,
        sizes: Vec::new(),
        start,
        runtime: ProcessSettings {
            // By its name, where it decides who has to get huge pages.
            malloc: match runtime.has_huge_heap() {
                true => Some(malloc_name(install, runtime).to_owned()),
                false => runtime.malloc.clone(),
            },
            environment,
            transport: Some(runtime.transport.unwrap_or_default()),
            ..runtime.clone()
        },
        malloc: malloc(install, runtime, levers()),
        limits: limits(install.family, &variant.config, machine),
        transport_before: TransportKind::default(),
        sets: parts
            .iter()
            .map(|part| (part.name.clone(), part.sets.clone()))
            .collect(),
        host_steps: notes(levers(), NoteFor::Host),
        steps: notes(levers(), NoteFor::Server),
        steps_undo: told_once(levers().filter_map(|lever| lever.deploy().note_undo.as_deref())),
        schema: schema(variant),
        schema_undo: schema_undo(variant, levers()),
        rewrites: Vec::new(),
        application: notes(levers(), NoteFor::Application),
        remarks: notes(levers(), NoteFor::Reader),
        left_out_for: None,
        machine: machine.line.clone(),
        kernel: Some(machine.kernel.clone()).filter(|release| !release.is_empty()),
        cpus: None,
        built: built(install, before, variant)?,
        engine: variant.engine.clone(),
        instead_of: None,
        risks: risks(levers()),
        cautions: cautions(levers()),
        own_changes: parts
            .iter()
            .flat_map(|part| part.own_changes.iter().cloned())
            .collect(),
    })
}

/// The same where applications come from `before`: those that connect so already have nothing to change.
pub(crate) fn of_transport(found: Deployment, before: &Variant) -> Deployment {
    Deployment {
        transport_before: before.runtime.transport.unwrap_or_default(),
        ..found
    }
}

/// The statements that change the variant's data.
fn schema(variant: &Variant) -> Vec<String> {
    let statements = variant.sql.iter();
    statements
        .map(|statement| statement.text.trim_end_matches(';').to_owned())
        .collect()
}

/// What takes them back, the last one first; nothing where some of them are not the levers'.
fn schema_undo<'a>(variant: &Variant, levers: impl Iterator<Item = &'a Lever>) -> Vec<String> {
    let undo = levers.flat_map(|lever| lever.deploy().undo.iter().rev());
    let undo: Vec<String> = undo.cloned().collect();
    match undo.len() == variant.sql.len() {
        true => undo,
        false => Vec::new(),
    }
}

/// What is sent in place of captured statements, with rules for a proxy.
///
/// # Errors
/// The capture cannot be read.
pub(crate) fn rewrites(bench: &Workbench, variant: &Variant) -> Result<Vec<DeployRewrite>> {
    let capture = bench.load().workload.capture();
    let Some(capture) = capture.filter(|_| !variant.rewrite.is_empty()) else {
        return Ok(Vec::new());
    };
    let info = niagara_capture::info::info(capture.path())?;
    let mut all = Vec::new();
    for rewrite in &variant.rewrite {
        let wanted = rewrite.digest.trim().to_lowercase();
        let mut digests = info.digests.iter();
        let Some(digest) = digests.find(|one| one.digest.starts_with(&wanted)) else {
            continue;
        };
        let number = Digest(u64::from_str_radix(&digest.digest, 16)?);
        let samples = samples(capture.path(), &HashMap::from([(number, 1)]))?;
        let sample = samples.get(&number).and_then(|samples| samples.first());
        let text = sample.map(|sample| sample.text.as_slice());
        let rule = text.and_then(|text| proxy_rule(text, &rewrite.statement));
        all.push(DeployRewrite {
            digest: digest.digest.clone(),
            before: text.map_or_else(|| digest.text.clone(), numbered),
            statement: rewrite.statement.trim().trim_end_matches(';').to_owned(),
            rule: rule.map(|rule| [rule.pattern, rule.replacement]),
        });
    }
    Ok(all)
}

/// Titles by what they risk, those that risk nothing left out.
fn risks<'a>(levers: impl Iterator<Item = &'a Lever>) -> BTreeMap<String, Vec<String>> {
    let mut risks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for lever in levers.filter(|lever| lever.risk() != Risk::None) {
        let titles = risks.entry(lever.risk().to_string()).or_default();
        titles.push(lever.title().to_owned());
    }
    risks
}

/// What the process may have at the least, by systemd's names: as many open files as it asks for, or had where it was measured.
fn limits(
    family: Family,
    variables: &BTreeMap<String, String>,
    machine: &MeasuredMachine,
) -> BTreeMap<String, u64> {
    let most = machine.open_files.unwrap_or(u64::MAX);
    let files = open_files(family, variables).map(|files| files.min(most).min(MOST_OPEN_FILES));
    let limit = files.map(|files| ("LimitNOFILE".to_owned(), files));
    limit.into_iter().collect()
}

/// The levers' notes for `whom`, each once.
fn notes<'a>(levers: impl Iterator<Item = &'a Lever>, whom: NoteFor) -> Vec<String> {
    let deploys = levers.map(Lever::deploy);
    let notes = deploys.filter(|deploy| deploy.note_for == whom);
    told_once(notes.filter_map(|deploy| deploy.note.as_deref()))
}

/// What whoever installs the levers has to know, each sentence once.
fn cautions<'a>(levers: impl Iterator<Item = &'a Lever>) -> Vec<String> {
    told_once(levers.filter_map(Lever::caution))
}

fn told_once<'a>(sentences: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for sentence in sentences {
        if !all.iter().any(|told| told == sentence) {
            all.push(sentence.to_owned());
        }
    }
    all
}

/// The built server of a variant that has one, in place of `before`.
fn built(install: &Install, before: &Install, variant: &Variant) -> Result<Option<DeployBuild>> {
    let Some(recipe) = &variant.build else {
        return Ok(None);
    };
    // The binary is in PREFIX/usr/sbin.
    let prefix = install.basedir.parent().unwrap_or(&install.basedir);
    let record = prefix.with_file_name("recipe.json");
    let recipe_text = std::fs::read_to_string(&record)
        .with_context(|| format!("cannot read {}", record.display()))?;
    Ok(Some(DeployBuild {
        prefix: prefix.to_path_buf(),
        binary: install
            .server
            .strip_prefix(prefix)
            .unwrap_or(&install.server)
            .to_path_buf(),
        one_line: recipe.one_line(),
        recipe: recipe_text,
        releases: Some(Releases {
            built: install.version_string.clone(),
            beside: Some(before.version_string.clone()),
        }),
        sha256: Some(file_digest(&install.server)?),
    }))
}

fn family_word(family: Family) -> &'static str {
    match family {
        Family::Mariadb => "mariadb",
        Family::Mysql => "mysql",
        Family::Percona => "percona",
    }
}

/// Server variables, environment variables and settings of the process that a lever sets here.
fn sets(candidate: &Candidate) -> Vec<String> {
    let change = &candidate.change;
    let names = change.config.keys();
    let names = names.chain(change.runtime.environment.keys());
    let of_process = of_process(&ProcessSettings::default(), &change.runtime);
    names.cloned().chain(of_process).collect()
}

/// Settings of the process that `now` has beyond `before` and that are lines of a drop-in, by the names of their fields; the memory lock is a
/// server variable.
fn of_process(before: &ProcessSettings, now: &ProcessSettings) -> Vec<String> {
    let is_new = [
        (LOCK_MEMORY, now.locks_memory() && !before.locks_memory()),
        (
            "scheduling",
            now.scheduling.is_some() && now.scheduling != before.scheduling,
        ),
        (
            "server_cpus",
            now.server_cpus.is_some() && now.server_cpus != before.server_cpus,
        ),
    ];
    let is_new = is_new.into_iter().filter(|(_, is_new)| *is_new);
    is_new.map(|(name, _)| name.to_owned()).collect()
}

fn malloc<'a>(
    install: &Install,
    runtime: &ProcessSettings,
    mut levers: impl Iterator<Item = &'a Lever>,
) -> Option<DeployMalloc> {
    // Nothing is preloaded where the server is linked with it.
    let name = runtime
        .malloc
        .as_ref()
        .filter(|name| **name != install.own_malloc)?;
    let library = install.mallocs.get(name)?;
    let soname = library
        .file_name()
        .unwrap_or(Path::new(name).as_os_str())
        .to_string_lossy()
        .into_owned();
    // The same file is of another package in another release.
    let of_server = Catalog::load(&[]).ok().and_then(|catalog| {
        let known = catalog.get(&install.name).ok()?.mallocs.get(name)?;
        (known.library == soname).then(|| known.package.clone())
    });
    let package_of = |lever: &Lever| {
        let packages = &lever.deploy().packages;
        packages
            .first()
            .filter(|_| lever.malloc() == Some(name.as_str()))
            .cloned()
    };
    // One that the start has is no part: any lever that brings it knows its package.
    let shipped = || load(&[]).ok()?.iter().find_map(package_of);
    let package = of_server
        .or_else(|| package_here(library))
        .or_else(|| levers.find_map(package_of))
        .or_else(shipped);
    Some(DeployMalloc {
        name: name.clone(),
        package,
        soname,
    })
}

/// The package of this machine that `library` came with.
fn package_here(library: &Path) -> Option<String> {
    // dpkg knows files by the paths that they were installed at.
    let output = Command::new("dpkg").arg("-S").arg(library).output().ok()?;
    let told = String::from_utf8(output.stdout)
        .ok()
        .filter(|_| output.status.success())?;
    let package = told.lines().next()?.split(':').next()?.trim();
    (!package.is_empty()).then(|| package.to_owned())
}

#[cfg(test)]
mod tests {
    use niagara_server::Scheduling;

    use super::*;
    use crate::lever::Change;

    fn change(runtime: ProcessSettings) -> Change {
        Change {
            runtime,
            ..Change::default()
        }
    }

    /// The variant by the installed server in place of itself.
    fn deployed(variant: &Variant, parts: &[Part<'_>]) -> Result<Deployment> {
        deployment([&install(); 2], variant, parts, &a_machine(), None)
    }

    fn a_machine() -> MeasuredMachine {
        MeasuredMachine {
            line: "a machine".to_owned(),
            kernel: "6.1.0-13-amd64".to_owned(),
            open_files: Some(524_288),
        }
    }

    fn install() -> Install {
        Install {
            name: "mariadb-10.11".into(),
            family: Family::Mariadb,
            version: "10.11.14".parse().expect("a version"),
            version_string: "10.11.14-MariaDB".into(),
            basedir: "/opt/prefix/usr".into(),
            server: "/opt/prefix/usr/sbin/mariadbd".into(),
            mallocs: BTreeMap::from([(
                "jemalloc".into(),
                "/opt/prefix/lib/libjemalloc.so.2".into(),
            )]),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        }
    }

    fn candidate(id: &str, change: Change) -> Candidate {
        let lever = load(&[])
            .expect("the shipped levers")
            .into_iter()
            .find(|lever| lever.id() == id)
            .expect("a shipped lever");
        Candidate {
            lever,
            change,
            span: None,
            prior: None,
        }
    }

    #[test]
    fn locked_memory_is_a_line_of_the_option_file() {
        let lever = candidate(
            "lock-memory",
            change(ProcessSettings {
                lock_memory: Some(true),
                ..ProcessSettings::default()
            }),
        );
        let variant = Variant::base("mariadb-10.11").with("lock-memory", &lever.change);
        let candidates = [lever];
        let parts = Part::of_candidates(&variant, &candidates);
        let found = deployed(&variant, &parts).expect("complete");
        assert_eq!(found.flags, ["memlock"]);
        assert_eq!(found.config["memlock"], "");
        assert_eq!(found.sets["lock-memory"], ["memlock"]);
        assert!(found.steps.is_empty(), "{:?}", found.steps);
    }

    #[test]
    fn a_malloc_comes_from_its_package_whatever_the_lever_or_the_start_that_has_it_is_called() {
        let huge = candidate(
            "malloc-jemalloc-huge",
            change(ProcessSettings {
                malloc: Some("jemalloc".into()),
                ..ProcessSettings::default()
            }),
        );
        let mut variant = Variant::base("mariadb-10.11");
        variant.runtime.malloc = Some("jemalloc".into());
        for candidates in [vec![huge], Vec::new()] {
            let parts = Part::of_candidates(&variant, &candidates);
            let found = deployed(&variant, &parts).expect("complete");
            let package = found.malloc.and_then(|malloc| malloc.package);
            assert_eq!(package.as_deref(), Some("libjemalloc2"));
        }
    }

    #[test]
    fn everything_to_install_comes_from_the_variant_and_its_levers() {
        let candidates = [
            candidate(
                "malloc-jemalloc",
                change(ProcessSettings {
                    malloc: Some("jemalloc".into()),
                    environment: BTreeMap::from([("MALLOC_CONF".into(), "thp:always".into())]),
                    ..ProcessSettings::default()
                }),
            ),
            candidate(
                "placement-half",
                change(ProcessSettings {
                    server_cpus: Some(vec![0, 1, 4]),
                    scheduling: Some(Scheduling::Nice(-5)),
                    ..ProcessSettings::default()
                }),
            ),
            candidate(
                "flush-neighbors-off",
                Change {
                    config: BTreeMap::from([("innodb_flush_neighbors".into(), "0".into())]),
                    ..Change::default()
                },
            ),
            candidate(
                "transport-unix",
                change(ProcessSettings {
                    transport: Some(TransportKind::Unix),
                    ..ProcessSettings::default()
                }),
            ),
        ];
        let base = Variant::base("mariadb-10.11");
        let variant = crate::variants::candidate::with_all(&base, &candidates, &[0, 1, 2]);
        let parts = Part::of_candidates(&variant, &candidates);
        let found = deployed(&variant, &parts).expect("complete");
        assert_eq!(
            found,
            Deployment {
                family: "mariadb".into(),
                config: BTreeMap::from([("innodb_flush_neighbors".into(), "0".into())]),
                runtime: ProcessSettings {
                    malloc: Some("jemalloc".into()),
                    // The library itself is named by its soname: it is the user's own.
                    environment: BTreeMap::from([("MALLOC_CONF".into(), "thp:always".into())]),
                    server_cpus: Some(vec![0, 1, 4]),
                    scheduling: Some(Scheduling::Nice(-5)),
                    transport: Some(TransportKind::Tcp),
                    ..ProcessSettings::default()
                },
                malloc: Some(DeployMalloc {
                    name: "jemalloc".into(),
                    package: Some("libjemalloc2".into()),
                    soname: "libjemalloc.so.2".into(),
                }),
                huge_pages: false,
                sets: BTreeMap::from([
                    ("malloc-jemalloc".into(), vec!["MALLOC_CONF".into()]),
                    (
                        "placement-half".into(),
                        vec!["scheduling".into(), "server_cpus".into()]
                    ),
                    (
                        "flush-neighbors-off".into(),
                        vec!["innodb_flush_neighbors".into()]
                    ),
                ]),
                cautions: vec!["with jemalloc resident memory may grow by a few per cent".into()],
                machine: "a machine".into(),
                kernel: Some("6.1.0-13-amd64".into()),
                ..Deployment::default()
            }
        );
    }

    #[test]
    fn libraries_that_a_variant_preloads_are_handed_over() {
        let mut variant = Variant::base("mariadb-10.11");
        variant.runtime.malloc = Some("jemalloc".into());
        let own = BTreeMap::from([("LD_PRELOAD".to_owned(), "/opt/own.so".to_owned())]);
        variant.runtime.environment = own.clone();
        let found = deployed(&variant, &[]).expect("complete");
        assert_eq!(found.runtime.environment, own);
    }

    #[test]
    fn a_malloc_that_is_not_there_is_an_error() {
        let mut variant = Variant::base("mariadb-10.11");
        variant.runtime.malloc = Some("tcmalloc".into());
        let error = deployed(&variant, &[]).expect_err("not in the install");
        assert!(error.to_string().contains("tcmalloc"), "{error}");
    }

    #[test]
    fn a_rung_is_what_it_adds_to_the_one_before() {
        let levers = load(&[]).expect("the shipped levers");
        let before = Variant::base("mariadb-10.11").with(
            "io-capacity-high",
            &Change {
                config: BTreeMap::from([("innodb_io_capacity".into(), "2000".into())]),
                ..Change::default()
            },
        );
        let after = before.with(
            "table-cache-large",
            &Change {
                config: BTreeMap::from([("table_open_cache".into(), "8000".into())]),
                ..Change::default()
            },
        );
        let part = Part::between("more tables", &before, &after, &levers);
        assert_eq!(
            (part.name.as_str(), part.sets),
            ("more tables", vec!["table_open_cache".to_owned()])
        );
        assert_eq!(part.levers.len(), 1);
        assert!(part.own_changes.is_empty());
        let mut own = after.clone();
        own.config.insert("max_connections".into(), "9".into());
        own.levers.push("max_connections=9".to_owned());
        own.levers.push("log-flush-os".to_owned());
        let part = Part::between("own", &after, &own, &levers);
        assert_eq!(part.own_changes, ["max_connections=9"]);
        let told = deployed(&own, &[part]).expect("complete");
        assert_eq!(told.own_changes, ["max_connections=9"]);
        let risks = told.risks;
        assert!(
            risks.len() == 1 && risks.contains_key("durability"),
            "{risks:?}"
        );
        let found = deployment(
            [&install(); 2],
            &after,
            &[Part::between("more tables", &before, &after, &levers)],
            &MeasuredMachine::default(),
            None,
        );
        let found = found.expect("complete");
        let files = BTreeMap::from([("LimitNOFILE".to_owned(), 128_201)]);
        assert_eq!((found.limits, found.steps), (files, vec![]));
        assert!(found.host_steps.is_empty(), "{:?}", found.host_steps);
    }

    #[test]
    fn a_note_is_told_to_whom_it_concerns() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let few = "Most of the host's pages must be dirty.";
        for (id, note, whom) in [
            ("one", few, "host"),
            ("two", few, "host"),
            ("three", "Let the server have its folder.", "server"),
        ] {
            let text = format!(
                "title = \"t\"\ntheme = \"t\"\nrisk = \"none\"\nwhy = \"w\"\nsource = \"s\"\n[change.config]\n{id} = 1\n\
                 [deploy]\nnote = \"{note}\"\nnote_for = \"{whom}\"\n"
            );
            std::fs::write(folder.path().join(format!("{id}.toml")), text).expect("written");
        }
        let levers = load(&[folder.path().to_owned()]).expect("valid levers");
        let of = |id: &str| levers.iter().find(|lever| lever.id() == id).expect(id);
        let parts = [
            "socket-reads-buffered",
            "one",
            "two",
            "three",
            "placement-apart",
        ]
        .map(|id| Part {
            name: id.to_owned(),
            sets: Vec::new(),
            levers: vec![of(id)],
            own_changes: Vec::new(),
        });
        let base = Variant::base("mariadb-10.11");
        let told = deployed(&base, &parts).expect("complete");
        // Of two levers that need the same setting of the host, it is told once.
        assert_eq!(told.host_steps, [few]);
        assert_eq!(told.steps, ["Let the server have its folder."]);
        assert!(told.application.len() == 1 && told.application[0].contains("CPUs of its own"));
        assert!(told.remarks.len() == 1 && told.remarks[0].contains("built and checked again"));
    }

    #[test]
    fn a_built_server_keeps_its_release_and_that_of_the_server_it_replaces() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let prefix = folder.path().join("prefix");
        std::fs::create_dir_all(prefix.join("usr/sbin")).expect("made");
        std::fs::write(folder.path().join("recipe.json"), "{}").expect("written");
        std::fs::write(prefix.join("usr/sbin/mariadbd"), "program").expect("written");
        let own = Install {
            version_string: "10.11.18-MariaDB".into(),
            basedir: prefix.join("usr"),
            server: prefix.join("usr/sbin/mariadbd"),
            ..install()
        };
        let package = Install {
            version_string: "10.11.19-MariaDB-0+deb12u1".into(),
            ..install()
        };
        let mut variant = Variant::base("mariadb-10.11");
        variant.build = Some(niagara_build::Recipe::default());
        let told = deployment(
            [&own, &package],
            &variant,
            &[],
            &MeasuredMachine::default(),
            None,
        )
        .expect("complete");
        let built = told.built.expect("a build");
        assert_eq!(built.sha256, file_digest(&own.server).ok());
        let releases = built.releases.expect("kept");
        assert_eq!(releases.built, "10.11.18-MariaDB");
        assert_eq!(releases.newer_beside(), Some("10.11.19-MariaDB-0+deb12u1"));
    }
}
