//! Documents that take seconds, by the schemas that the documentation has of them; `common::run` checks each. The others are checked where
//! tests print them.

mod common;

use std::path::Path;

use common::shop::{dump, log};
use common::{Place, document, run};

/// The repository's study that names no server of its own.
const STUDY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../studies/select-locks.toml"
);

#[test]
fn schemas_are_listed_and_printed_as_the_documentation_has_them() {
    let place = Place::new();
    let (code, list, stderr) = run(&mut place.niagara(&["schema"]));
    assert_eq!(code, Some(0), "{stderr}");
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let there = std::fs::read_dir(&schemas).expect("docs/schemas").count();
    assert_eq!(list.lines().count(), there);
    for line in list.lines() {
        let format = line.split_whitespace().next().expect("a format");
        let (code, schema, stderr) = run(&mut place.niagara(&["schema", format]));
        assert_eq!(code, Some(0), "{stderr}");
        let name = format!("{}.json", format.replace('/', "-"));
        let kept = std::fs::read_to_string(schemas.join(name)).expect("a schema");
        assert!(kept == schema, "{format}");
    }
    let (code, _, stderr) = run(&mut place.niagara(&["schema", "niagara.lever/1"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("`niagara.levers/1`"), "{stderr}");
}

#[test]
fn documents_of_this_machine_fit() {
    for words in [
        &["doctor", "--json"][..],
        &["levers", "--json"],
        &["levers", "--show", "malloc=jemalloc", "--json"],
        &["server", "list", "--json"],
        &["server", "build", "list", "--json"],
        &["run", STUDY, "--plan", "--json"],
        &["study", "check", STUDY, "--json"],
    ] {
        let (code, stdout, stderr) = run(&mut Place::new().niagara(words));
        assert_eq!(code, Some(0), "{words:?}: {stderr}");
        assert!(!stdout.is_empty());
    }
    let place = Place::new();
    std::fs::write(place.folder.path().join("a.toml"), "titel = 1\n").expect("written");
    let (code, stdout, _) = run(&mut place.niagara(&["study", "check", "a.toml", "--json"]));
    assert_eq!(code, Some(1));
    let mistakes = document::read(&stdout);
    assert!(!mistakes["items"].as_array().expect("a list").is_empty());
}

#[test]
fn documents_of_a_capture_fit() {
    let place = Place::new();
    let folder = place.folder.path();
    let asked: Vec<_> = (0..40)
        .map(|i| {
            (
                format!("SELECT * FROM orders WHERE customer_id = {i}"),
                3000,
                4,
            )
        })
        .collect();
    std::fs::write(folder.join("slow.log"), log(&asked)).expect("written");
    std::fs::write(folder.join("shop.sql"), dump()).expect("written");
    let done = |words: &[&str]| {
        let (code, stdout, stderr) = run(&mut place.niagara(words));
        assert_eq!(code, Some(0), "{words:?}: {stderr}");
        stdout
    };
    done(&[
        "capture",
        "import",
        "slow.log",
        "-o",
        "shop.capture",
        "--json",
    ]);
    let info = document::read(&done(&["capture", "info", "shop.capture", "--json"]));
    let digest = info["digests"][0]["digest"].as_str().expect("a digest");
    for more in [&[][..], &["--literals"]] {
        let words = [&["capture", "info", "shop.capture", digest, "--json"], more].concat();
        done(&words);
        done(&[&["capture", "export", "shop.capture"], more].concat());
    }
    let words = [
        "compare",
        "--before",
        "shop.capture",
        "--after",
        "shop.capture",
    ];
    let compared = done(&[&words[..], &["--json"]].concat());
    assert!(
        !document::read(&compared)["digests"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
}
