use std::path::Path;

use niagara_server::Catalog;

use super::*;
use crate::lever;

const LADDER: &str = r#"kind = "ladder"
title = "A small ladder"
asked = "a"
changed = "c"
measured = "m"
threads = 8

[workload]
name = "oltp_read_only"
options = { table_size = 1000 }

[[rungs]]
title = "Unix socket"
levers = ["transport=unix"]

[[rungs]]
title = "Prefetch"
cannot = "the compiler does it"

[size.small]
budget = "5m"
[size.original]
threads = 32
options = { table_size = 1000000 }
"#;

fn read(text: &str) -> Result<StudyFile, Vec<Mistake>> {
    let levers = lever::load(&[]).expect("valid levers");
    let servers: Vec<String> = Catalog::load(&[])
        .expect("valid servers")
        .iter()
        .map(|server| server.name.clone())
        .collect();
    read_study(
        "x.toml",
        text,
        &Known {
            levers: &levers,
            servers: &servers,
        },
    )
}

/// The mistakes of the ladder with `from` replaced, as printed.
fn mistakes(from: &str, to: &str) -> Vec<String> {
    let text = LADDER.replacen(from, to, 1);
    assert_ne!(text, LADDER, "the test changes something");
    let found = read(&text).expect_err("a mistake");
    found.iter().map(ToString::to_string).collect()
}

fn mistake(from: &str, to: &str, begins: &str, remedy: &str) {
    let found = mistakes(from, to);
    assert!(
        found.len() == 1 && found[0].starts_with(begins) && found[0].contains(remedy),
        "{found:#?}"
    );
}

#[test]
fn a_study_differs_by_size_in_what_the_size_says() {
    let file = read(LADDER).expect("valid");
    let small = file.in_size(StudySize::Small);
    let original = file.in_size(StudySize::Original);
    assert_eq!(
        (&small.threads[..], &original.threads[..]),
        (&[8][..], &[32][..])
    );
    assert_eq!(small.workloads[0].load.workload.table_size, 1000);
    assert_eq!(original.workloads[0].load.workload.table_size, 1_000_000);
    assert_eq!(small.budget.as_secs(), 300);
    assert_eq!(original.about.size, "original");
    let StudyQuestion::Ladder { rungs, .. } = &small.question else {
        panic!("a ladder");
    };
    assert_eq!(rungs.len(), 2);
    assert_eq!(rungs[0].recipe.items.len(), 1);
    assert!(rungs[1].cannot.is_some());
}

#[test]
fn mistakes_have_place_cause_and_remedy() {
    mistake(
        "[size.small]",
        "[size.smal]",
        "x.toml:20:7: `smal` is no key of [size]",
        "did you mean `small`?",
    );
    mistake(
        "threads = 8",
        "thread = 8",
        "x.toml:6:1: `thread` is no key",
        "did you mean `threads`?",
    );
    mistake(
        "threads = 8",
        "threads = \"many\"",
        "x.toml:6:11: threads: thread counts were expected",
        "1..256",
    );
    mistake(
        "threads = 8",
        "threads = [1, 2]",
        "x.toml:6:11: several thread counts in a ladder",
        "matrix",
    );
    mistake(
        "\"ladder\"",
        "\"lader\"",
        "x.toml:1:8: kind: `lader` is none",
        "did you mean `ladder`?",
    );
    mistake(
        "title = \"A small ladder\"\n",
        "",
        "x.toml:1:1: `title` is missing",
        "add title",
    );
    mistake(
        "transport=unix",
        "transport=unx",
        "x.toml:14:22: transport has no level `unx`",
        "did you mean `unix`?",
    );
    mistake(
        "oltp_read_only",
        "oltp_readonly",
        "x.toml:9:8: no workload is called",
        "did you mean `oltp_read_only`?",
    );
    mistake(
        "{ table_size = 1000 }",
        "{ tabel_size = 1000 }",
        "x.toml:10:26: oltp_read_only has no option",
        "did you mean `table_size`?",
    );
    mistake(
        "{ table_size = 1000 }",
        "{ table_size = \"big\" }",
        "x.toml:10:26: table_size = big",
        "workloads.md",
    );
    mistake(
        "options = { table_size = 1000000 }",
        "options = { warehouses = 5 }",
        "x.toml:24:26: no workload of this study has the option `warehouses`",
        "correct",
    );
    mistake(
        "\"5m\"",
        "\"soon\"",
        "x.toml:21:10: budget: a duration was expected",
        "10m",
    );
    mistake(
        "threads = 8",
        "threads = 8\nserver = \"mariadb-10.1\"",
        "x.toml:7:10: no server is called",
        "did you mean `mariadb-10.11`?",
    );
    mistake(
        "threads = 8",
        "threads = 8\ncombine = \"all\"",
        "x.toml:7:11: `combine` says nothing in a ladder",
        "matrix",
    );
    mistake(
        "threads = 8",
        "threads = 8\nalpha = 2",
        "x.toml:7:9: alpha: a probability",
        "0.05",
    );
    mistake(
        "title = \"Prefetch\"\ncannot = \"the compiler does it\"",
        "title = \"Prefetch\"",
        "x.toml:17:9: the rung `Prefetch` changes nothing",
        "cannot",
    );
    mistake(
        "\"Prefetch\"",
        "\"Unix socket\"",
        "x.toml:17:9: a second rung is called",
        "another",
    );
    mistake(
        "title = \"Prefetch\"",
        "title = \"Prefetch\"\nruntime = { server_cpus = \"x\" }",
        "x.toml:18:27: `x` is no list of CPUs",
        "0-3,8",
    );
    mistake("asked = \"a\"", "asked = \"a", "x.toml:3:", "TOML");
}

#[test]
fn every_mistake_is_told_in_the_order_of_the_file() {
    let text = LADDER
        .replace("threads = 8", "thread = 8")
        .replace("\"5m\"", "5000000000000000000000000000")
        .replace("title = \"Prefetch\"", "titel = \"Prefetch\"");
    let found = read(&text).expect_err("mistakes");
    assert!(!found.is_empty());
    let text = LADDER
        .replace("threads = 8", "thread = 8")
        .replace("title = \"Prefetch\"", "titel = \"Prefetch\"");
    let lines: Vec<usize> = read(&text)
        .expect_err("mistakes")
        .iter()
        .map(|mistake| mistake.line)
        .collect();
    assert_eq!(lines, [6, 16, 17]);
}

#[test]
fn variants_are_spoken_of_by_name_or_as_expressions() {
    let text = "kind = \"compare\"\ntitle = \"t\"\nasked = \"a\"\nchanged = \"c\"\nmeasured = \"m\"\n\
        a = \"base\"\nb = \"own\"\n[variants.own]\nlevers = [\"malloc=jemalloc\"]\nconfig = { innodb_flush_neighbors = 0 }\n\
        runtime = { transport = \"unix\" }\n";
    let file = read(text).expect("valid");
    let study = file.in_size(StudySize::Small);
    let StudyQuestion::Compare { sides } = &study.question else {
        panic!("a comparison");
    };
    let [a, b] = &**sides;
    assert_eq!(a, &VariantRecipe::default());
    assert_eq!((b.title.as_deref(), b.items.len()), (Some("own"), 2));
    assert!(b.change.transport.is_some());
    let found = read(&text.replace("b = \"own\"", "b = \"onw\"")).expect_err("a mistake");
    assert!(found[0].remedy.contains("did you mean `own`?"), "{found:?}");
}

/// What stands in `studies/` is right, whatever machine it is read on.
#[test]
fn the_studies_that_come_with_the_program_are_right() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies"));
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("studies/").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        if let Err(found) = read(&text) {
            panic!("{}: {found:#?}", path.display());
        }
        assert!(
            text.contains("[size.small]") && text.contains("[size.original]"),
            "{} has both sizes",
            path.display()
        );
        seen += 1;
    }
    assert!(seen > 0);
}
