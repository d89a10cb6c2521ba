//! Real servers, built in every way. Each takes minutes, MySQL's an hour: `make test-builds`, `make test-builds SERVER=mysql-9.7`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_build::{Built, Recipe, patch_names};
use niagara_lab::{BuildOptions, build};
use niagara_server::{Cache, Catalog, Config, ImageStore, LaunchSpec, ProcessSettings, launch};
use niagara_server::{Cancel, Family};

/// The server that is built.
fn server_name() -> String {
    std::env::var("NIAGARA_TEST_BUILDS_OF").unwrap_or_else(|_| "mariadb-10.11".to_owned())
}

fn made(settings: &[(&str, &str)]) -> Built {
    tried(settings).expect("built")
}

/// Builds it, finds it again at once, and asks it a few things.
fn tried(settings: &[(&str, &str)]) -> Result<Built> {
    let cache = Cache::open().expect("the shared cache");
    let catalog = Catalog::load(&[]).expect("valid");
    let mut recipe = Recipe::default();
    for (key, value) in settings {
        recipe.set(key, value).expect("valid");
    }
    let once = || {
        build(
            &cache,
            &catalog,
            &server_name(),
            &recipe,
            BuildOptions::default(),
            &Cancel::default(),
            &mut |text| eprintln!("{text}"),
        )
    };
    let built = once()?;
    let began = Instant::now();
    assert!(once().expect("there").was_there);
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    answers(&cache, &built);
    Ok(built)
}

/// The server makes a data directory, starts on it and answers.
fn answers(cache: &Cache, built: &Built) {
    let image = ImageStore::new(cache)
        .ensure(
            &built.install,
            "empty",
            "InnoDB",
            &mut |_| Ok(()),
            &mut |_| {},
        )
        .expect("an image");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let datadir = folder.path().join("data");
    image.clone_to(&datadir).expect("a clone");
    let spec = LaunchSpec {
        install: &built.install,
        datadir,
        runtime: &ProcessSettings::default(),
        config: &Config::new(),
    };
    let server = launch(cache, &spec).expect("it starts");
    let engines = server
        .query("SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT')")
        .expect("it answers");
    let engines: Vec<String> = engines.into_iter().flatten().collect();
    let of_mariadb = (built.install.family == Family::Mariadb).then_some("Aria");
    for engine in ["InnoDB", "MyISAM", "PERFORMANCE_SCHEMA"]
        .into_iter()
        .chain(of_mariadb)
    {
        assert!(
            engines.iter().any(|name| name == engine),
            "{engine} in {engines:?}"
        );
    }
    let version = server.query("SELECT VERSION()").expect("it answers");
    let catalog = Catalog::load(&[]).expect("valid");
    let series = format!("{}.", catalog.get(&server_name()).expect("known").series);
    assert!(version[0][0].starts_with(&series), "{version:?}");
    server.stop().expect("it ends");
}

#[test]
#[ignore = "builds a server: make test-builds"]
fn gcc_as_packaged() {
    made(&[]);
}

/// Profile feedback and LTO, then BOLT on the binary that they leave.
fn with_everything(compiler: &str) {
    let recipe = [
        ("compiler", compiler),
        ("pgo", "oltp_read_only:2/oltp_read_write"),
        ("lto", "thin"),
        ("bolt", "oltp_read_only:2/oltp_read_write"),
    ];
    let trained = made(&recipe[..3]);
    let run = trained.build.record.profile.map(|profile| profile.executed);
    assert!(run > Some(200), "{run:?}");
    made(&recipe);
    // The same binary laid out by another profile, of which this machine need not have branch records.
    made(&[&recipe[..], &[("bolt_profile", "samples")]].concat());
}

#[test]
#[ignore = "builds servers: make test-builds"]
fn gcc_with_everything() {
    with_everything("gcc");
}

#[test]
#[ignore = "builds servers: make test-builds"]
fn clang_with_everything() {
    with_everything("clang");
}

/// Each patch that is for this server, built alone; what those are that are not is said.
#[test]
#[ignore = "builds servers: make test-builds"]
fn every_patch_by_itself_and_all_together() {
    let mut fitting = BTreeSet::new();
    for patch in patch_names() {
        eprintln!("the patch {patch}");
        match tried(&[("patches", &patch)]) {
            Ok(built) => {
                assert_eq!(
                    built.build.record.recipe.patches,
                    BTreeSet::from([patch.clone()])
                );
                fitting.insert(patch);
            }
            // Which patch is for which version is asked of the sources by a test of its own.
            Err(refused) if refused.to_string().contains("is not for") => eprintln!("{refused:#}"),
            Err(failed) => panic!("{failed:#}"),
        }
    }
    assert!(!fitting.is_empty(), "no patch is for {}", server_name());
    let all = Vec::from_iter(fitting).join("/");
    made(&[("patches", &all), ("static_libraries", "cxx")]);
}
