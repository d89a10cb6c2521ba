//! Real servers, built in every way. Each takes minutes: `make test-builds`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use niagara_build::{Built, Recipe, patch_names};
use niagara_lab::{BuildOptions, build};
use niagara_server::Cancel;
use niagara_server::{Cache, Catalog, Config, ImageStore, LaunchSpec, Runtime, launch};

const SERVER: &str = "mariadb-10.11";

fn made(settings: &[(&str, &str)]) -> Built {
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
            SERVER,
            &recipe,
            BuildOptions::default(),
            &Cancel::default(),
            &mut |text| eprintln!("{text}"),
        )
    };
    let built = once().expect("built");
    let began = Instant::now();
    assert!(once().expect("there").was_there);
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    answers(&cache, &built);
    built
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
        runtime: &Runtime::default(),
        config: &Config::new(),
    };
    let server = launch(cache, &spec).expect("it starts");
    let engines = server
        .query("SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT')")
        .expect("it answers");
    let engines: Vec<String> = engines.into_iter().flatten().collect();
    for engine in ["InnoDB", "Aria", "MyISAM", "PERFORMANCE_SCHEMA"] {
        assert!(
            engines.iter().any(|name| name == engine),
            "{engine} in {engines:?}"
        );
    }
    let version = server.query("SELECT VERSION()").expect("it answers");
    assert!(version[0][0].starts_with("10.11."), "{version:?}");
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

#[test]
#[ignore = "builds a server: make test-builds"]
fn every_patch_by_itself() {
    let patches = patch_names();
    assert!(!patches.is_empty());
    for patch in patches {
        eprintln!("the patch {patch}");
        let built = made(&[("patches", &patch)]);
        assert_eq!(built.build.record.recipe.patches, BTreeSet::from([patch]));
    }
}

#[test]
#[ignore = "builds a server: make test-builds"]
fn all_patches_together_and_linked_in_libraries() {
    let patches = patch_names().join("/");
    made(&[("patches", &patches), ("static_libraries", "cxx")]);
}
