use std::path::Path;
use std::sync::atomic::AtomicBool;

use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_error::Explanation;
use niagara_load::Workload;
use niagara_server::Catalog;
use niagara_toml::{FileError, Mistake};

use super::*;
use crate::asking::question::{Question, StudySize};
use crate::asking::recipe::VariantRecipe;
use crate::asking::wanted_level::WantedLevel;
use crate::lever::{self, Item};
use crate::plans::spec::{Load, Protocol};

fn table_size(load: &Load) -> u64 {
    match &load.workload.workload {
        Workload::Sysbench(sysbench) => sysbench.table_size,
        other => panic!("{other:?} is none of sysbench's"),
    }
}

fn scale(load: &Load, name: &str) -> u64 {
    match &load.workload.workload {
        Workload::File(file) => file.scale()[name],
        other => panic!("{other:?} is from no file"),
    }
}

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
    read_in(Path::new(""), text)
}

fn read_in(folder: &Path, text: &str) -> Result<StudyFile, Vec<Mistake>> {
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
            folder,
        },
    )
    .map_err(|FileError(mistakes)| mistakes)
}

/// The mistakes of the ladder with `from` replaced, as printed.
fn mistakes(from: &str, to: &str) -> Vec<String> {
    let text = LADDER.replacen(from, to, 1);
    assert_ne!(text, LADDER, "the test changes something");
    let found = read(&text).expect_err("a mistake");
    let found = found.iter().map(Explanation::from);
    found.map(|told| told.to_string()).collect()
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
    assert_eq!(table_size(&small.workloads[0].load), 1000);
    assert_eq!(table_size(&original.workloads[0].load), 1_000_000);
    assert_eq!(small.budget.as_secs(), 300);
    assert_eq!(original.about.size, "original");
    let Question::Ladder { rungs, .. } = &small.question else {
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
        "x.toml:20:7: unknown key `smal` in [size]",
        "did you mean `small`?",
    );
    mistake(
        "threads = 8",
        "thread = 8",
        "x.toml:6:1: unknown key `thread`",
        "did you mean `threads`?",
    );
    mistake(
        "threads = 8",
        "threads = \"many\"",
        "x.toml:6:11: threads: a thread count or a list of thread counts was expected",
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
        "x.toml:1:8: kind: unknown value `lader`",
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
        "threads = 8\nserver = \"maria-10.11\"",
        "x.toml:7:10: no server is called",
        "did you mean `mariadb-10.11`?",
    );
    mistake(
        "threads = 8",
        "threads = 8\ncombine = \"all\"",
        "x.toml:7:11: `combine` has no meaning in a ladder",
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
        "x.toml:18:27: `x` is not a list of CPUs",
        "0-3,8",
    );
    mistake(
        "title = \"Prefetch\"",
        "title = \"Prefetch\"\nruntime = { scheduling = \"fifo\" }",
        "x.toml:18:26: `fifo` is not a scheduling policy",
        "nice N",
    );
    mistake(
        "title = \"Prefetch\"",
        "title = \"negative control\"",
        "x.toml:17:9: `negative control` is the name of a control",
        "another title",
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
        .replace("\"5m\"", "\"soon\"")
        .replace("title = \"Prefetch\"", "titel = \"Prefetch\"");
    let lines: Vec<usize> = read(&text)
        .expect_err("mistakes")
        .iter()
        .map(|mistake| mistake.line)
        .collect();
    assert_eq!(lines, [6, 17, 21]);
}

#[test]
fn variants_are_spoken_of_by_name_or_as_expressions() {
    let text = "kind = \"compare\"\ntitle = \"t\"\nasked = \"a\"\nchanged = \"c\"\nmeasured = \"m\"\n\
        a = \"base\"\nb = \"own\"\n[variants.own]\nlevers = [\"malloc=jemalloc\"]\nconfig = { innodb_flush_neighbors = 0 }\n\
        runtime = { transport = \"unix\", scheduling = \"nice -5\" }\n";
    let file = read(text).expect("valid");
    let study = file.in_size(StudySize::Small);
    let Question::Compare { sides, .. } = &study.question else {
        panic!("a comparison");
    };
    let [a, b] = &**sides;
    assert_eq!(a, &VariantRecipe::default());
    assert_eq!((b.title.as_deref(), b.items.len()), (Some("own"), 2));
    assert!(b.change.runtime.transport.is_some());
    let found = read(&text.replace("b = \"own\"", "b = \"onw\"")).expect_err("a mistake");
    assert!(found[0].remedy.contains("did you mean `own`?"), "{found:?}");
}

#[test]
fn settings_of_the_process_are_those_of_levers() {
    let settings = |written: &str| {
        let text = LADDER.replace(
            "cannot = \"the compiler does it\"",
            &format!("runtime = {{ {written} }}"),
        );
        let file = read(&text).unwrap_or_else(|found| panic!("{written}: {found:?}"));
        let Question::Ladder { rungs, .. } = &file.in_size(StudySize::Small).question else {
            panic!("a ladder");
        };
        let rung = rungs.iter().find(|rung| rung.title == "Prefetch");
        rung.expect("there").recipe.change.runtime.in_words()
    };
    for (written, words) in [
        ("malloc = \"jemalloc\"", "malloc=jemalloc"),
        ("huge_pages_heap = true", "huge pages for the heap on"),
        (
            "huge_pages_text = false",
            "2 MB pages for the server's code off",
        ),
        ("transport = \"tcp\"", "TCP"),
        ("server_cpus = \"0-1,4\"", "server on CPUs 0-1,4"),
        ("client_cpus = \"3\"", "client on CPU 3"),
        ("scheduling = \"nice -5\"", "nice -5"),
        ("environment = { A = 1 }", "A=1"),
        ("lock_memory = true", "locked memory on"),
    ] {
        assert_eq!(settings(written), [words]);
    }
}

const MATRIX: &str = r#"kind = "matrix"
title = "A small matrix"
asked = "a"
changed = "c"
measured = "m"

[[workloads]]
name = "oltp_read_only"
[[workloads]]
name = "oltp_point_select"

[[axes]]
name = "neighbours"
levels = [{ name = "on" }, { name = "off", config = { innodb_flush_neighbors = 0 } }]
[[axes]]
name = "heap"
levels = [
    { name = "small" },
    { name = "huge", runtime = { huge_pages_heap = true } },
]
"#;

#[test]
fn a_build_is_written_in_words_or_as_a_table() {
    let build = |lines: &str| {
        let text = LADDER.replacen(
            "levers = [\"transport=unix\"]",
            &format!("[rungs.build]\n{lines}"),
            1,
        );
        let file = read(&text)?;
        let Question::Ladder { rungs, .. } = &file.in_size(StudySize::Small).question else {
            panic!("a ladder");
        };
        let mut recipe = niagara_build::Recipe::default();
        for item in &rungs[0].recipe.items {
            let Item::Build { key, value } = item else {
                panic!("a part of the build");
            };
            recipe.set(key, value).expect("valid");
        }
        Ok::<_, Vec<Mistake>>(recipe)
    };
    let table = build(
        "compiler = \"clang-19\"\nlto = \"thin\"\nflags = [\"-O3\", \"-march=native\"]\n\
         pgo = { workloads = { oltp_read_only = 2, oltp_read_write = 1 }, threads = 16, seconds = 20 }\n\
         bolt = { workloads = [\"oltp_read_only\"] }\nbolt_profile = \"counters\"\nlink_flags = \"-Wl,-O1\"\n\
         patches = [\"socket-reads-buffered\"]\nstatic_libraries = [\"cxx\"]\ncmake = { WITH_WSREP = false }\n",
    );
    let words = build(
        "compiler = \"clang-19\"\nlto = \"thin\"\nflags = \"-O3 -march=native\"\nlink_flags = [\"-Wl,-O1\"]\n\
         pgo = { workloads = \"oltp_read_only:2/oltp_read_write\", threads = 16, seconds = 20 }\nbolt = \"oltp_read_only\"\n\
         bolt_profile = \"counters\"\npatches = \"socket-reads-buffered\"\nstatic_libraries = \"cxx\"\n\
         cmake = { WITH_WSREP = \"OFF\" }\n",
    );
    let table = table.expect("valid");
    assert_eq!(Ok(&table), words.as_ref());
    assert_eq!(
        table.one_line(),
        "clang-19 -O3 -march=native -Wl,-O1, LTO thin, PGO on oltp_read_only:2/oltp_read_write, \
         BOLT on oltp_read_only by counters, patch socket-reads-buffered, static cxx, WITH_WSREP=OFF"
    );
    assert_eq!(
        table.pgo.map(|pgo| (pgo.threads, pgo.seconds)),
        Some((16, 20))
    );

    for (lines, told) in [
        (
            "lto = true",
            "write one of these in quotes: none, thin, full",
        ),
        ("pgo = \"oltp_reed_only\"", "did you mean `oltp_read_only`?"),
        (
            "pgo = { threads = 8 }",
            "`workloads` is missing in [rungs.build.pgo]",
        ),
        (
            "pgo = { workloads = { tpcc = 0 } }",
            "a whole number within bounds",
        ),
        (
            "pgo = 3",
            "write a text, or a table: contexts, data, here, part",
        ),
        ("patches = [\"nope\"]", "there is no patch `nope`"),
        ("flags = 3", "write a text, or a list of texts"),
        ("source = \"no/such\"", "there is no source tree no/such"),
        ("ltoo = \"thin\"", "did you mean `lto`?"),
    ] {
        let found = build(lines).expect_err("a mistake");
        assert_eq!(found.len(), 1, "{lines}: {found:#?}");
        let found = Explanation::from(&found[0]).to_string();
        assert!(found.starts_with("x.toml:15:"), "{lines}: {found}");
        assert!(found.contains(told), "{lines}: {found}");
    }
    mistake(
        "transport=unix",
        "build.pgo=oltp_reed",
        "x.toml:14:",
        "there is no workload `oltp_reed`",
    );
}

/// The only mistake of `text`.
fn only(text: &str) -> String {
    let found = read(text).expect_err("a mistake");
    assert_eq!(found.len(), 1, "{found:#?}");
    Explanation::from(&found[0]).to_string()
}

#[test]
fn cells_of_a_matrix_are_told_apart() {
    let file = read(MATRIX).expect("valid");
    let Question::Matrix(matrix) = &file.in_size(StudySize::Small).question else {
        panic!("a matrix");
    };
    let titles: Vec<String> = matrix.sets().into_iter().map(|set| set.title).collect();
    assert_eq!(titles, ["baseline", "huge", "off", "off + huge"]);
    // Baselines are not told: they may be called alike.
    read(&MATRIX.replace("\"small\"", "\"on\"")).expect("valid");

    let same = only(&MATRIX.replace("\"huge\"", "\"off\""));
    assert!(
        same.starts_with("x.toml:19:14: two combinations of levels are called `off`"),
        "{same}"
    );
    assert!(same.contains("remedy: results are told apart"), "{same}");
    let joined = MATRIX.replace(
        "{ name = \"huge\", runtime",
        "{ name = \"off + huge\" },\n    { name = \"huge\", runtime",
    );
    let joined = only(&joined);
    assert!(
        joined.starts_with("x.toml:20:14: two combinations of levels are called `off + huge`"),
        "{joined}"
    );
    let twice = only(&MATRIX.replace("oltp_point_select", "oltp_read_only"));
    assert!(
        twice.starts_with("x.toml:10:8: a second workload is called `oltp_read_only`"),
        "{twice}"
    );
    let titled = MATRIX.replace(
        "name = \"oltp_point_select\"",
        "name = \"oltp_read_only\"\ntitle = \"long ranges\"\noptions = { range_size = 1000 }",
    );
    let file = read(&titled).expect("valid");
    assert_eq!(
        file.in_size(StudySize::Small).workloads[1].name,
        "long ranges"
    );
    let comma = only(&titled.replace("long ranges", "long, ranges"));
    assert!(comma.starts_with("x.toml:11:9: a comma in"), "{comma}");

    let mut many = MATRIX.to_owned();
    for axis in 1..10 {
        many += &format!(
            "[[axes]]\nname = \"{axis}\"\nlevels = [{{ name = \"0\" }}, {{ name = \"{axis}\" }}]\n"
        );
    }
    let many = only(&many);
    assert!(many.contains("more than 1000 combinations"), "{many}");
}

#[test]
fn a_protocol_that_nothing_can_be_judged_by_is_refused() {
    for (kind, text) in [("ladder", LADDER), ("matrix", MATRIX)] {
        let asked = "asked = \"a\"\nprotocol = \"trimmed\"";
        let found = only(&text.replacen("asked = \"a\"", asked, 1));
        assert!(
            found.starts_with(&format!("x.toml:4:12: protocol = \"trimmed\" in a {kind}")),
            "{found}"
        );
        assert!(found.contains("duel or pair"), "{found}");
        let paired = text.replacen("asked = \"a\"", "asked = \"a\"\nprotocol = \"pair\"", 1);
        let file = read(&paired).expect("valid");
        assert_eq!(file.in_size(StudySize::Small).protocol, Protocol::Pair);
    }
    let sweep =
        "kind = \"sweep\"\ntitle = \"t\"\nasked = \"a\"\nchanged = \"c\"\nmeasured = \"m\"\n";
    let file = read(sweep).expect("valid");
    assert_eq!(file.in_size(StudySize::Small).protocol, Protocol::Solo);
    for protocol in ["duel", "pair", "trimmed"] {
        let found = only(&format!("{sweep}protocol = \"{protocol}\"\n"));
        assert!(
            found.starts_with("x.toml:6:12: `protocol` has no meaning in a sweep"),
            "{found}"
        );
        assert!(found.contains("leave it out"), "{found}");
    }
}

const COMPARE: &str = r#"kind = "compare"
title = "t"
asked = "a"
changed = "c"
measured = "m"
a = "base"
b = "base"

[workload]
name = "report"
"#;

#[test]
fn a_job_meets_in_pairs_on_one_connection() {
    let text = format!("{COMPARE}options = {{ pool_factor = 2 }}\n");
    let file = read(&text).expect("valid");
    let study = file.in_size(StudySize::Original);
    assert_eq!(
        (study.protocol, &study.threads[..]),
        (Protocol::Pair, &[1][..])
    );
    let load = &study.workloads[0].load;
    assert_eq!((load.threads, scale(load, "pool_factor")), (1, 2));

    let found = only(&COMPARE.replace("b = \"base\"", "b = \"base\"\nthreads = 4"));
    assert!(
        found.starts_with("x.toml:8:11: several connections for a job"),
        "{found}"
    );
    let found = only(&COMPARE.replace("b = \"base\"", "b = \"base\"\nprotocol = \"duel\""));
    assert!(
        found.starts_with("x.toml:8:12: protocol = \"duel\" for a job"),
        "{found}"
    );
    let sweep = COMPARE
        .replace("compare", "sweep")
        .replace("a = \"base\"\nb = \"base\"\n", "");
    let found = only(&sweep);
    assert!(found.starts_with("x.toml:8:8: report is a job"), "{found}");
    let found = only(&MATRIX.replace("oltp_point_select", "report"));
    assert!(
        found.starts_with("x.toml:10:8: a job and a load in one matrix"),
        "{found}"
    );
    let found = only(&format!("{COMPARE}options = {{ rowz = 2 }}\n"));
    assert!(found.contains("did you mean `rows`?"), "{found}");
}

#[test]
fn a_workload_of_ones_own_stands_beside_the_study() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/shop.toml");
    let shop = std::fs::read_to_string(shop).expect("the example");
    std::fs::write(folder.path().join("shop.toml"), &shop).expect("room");
    let bad = shop.replacen("weight = 3", "weight = -3", 1);
    assert_ne!(bad, shop, "the test changes something");
    std::fs::write(folder.path().join("bad.toml"), bad).expect("room");
    let read = |text: &str| read_in(folder.path(), text);
    let own = COMPARE.replace("report", "./shop.toml");

    let text = format!(
        "{own}options = {{ customers = 500 }}\n[size.original]\noptions = {{ customers = 5000 }}\n"
    );
    let file = read(&text).expect("valid");
    for (size, customers) in [(StudySize::Small, 500), (StudySize::Original, 5000)] {
        let workload = &file.in_size(size).workloads[0];
        assert_eq!(workload.name, "shop");
        assert_eq!(scale(&workload.load, "customers"), customers);
    }

    let found = |text: &str| {
        let found = read(text).expect_err("a mistake");
        assert_eq!(found.len(), 1, "{found:#?}");
        Explanation::from(&found[0]).to_string()
    };
    let absent = found(&own.replace("shop.toml", "absent.toml"));
    let place = format!(
        "x.toml:10:8: cannot read the workload {}/absent.toml: No such file",
        folder.path().display()
    );
    assert!(absent.starts_with(&place), "{absent}");
    let wrong = found(&own.replace("shop.toml", "bad.toml"));
    let place = format!("x.toml:10:8: {}/bad.toml:", folder.path().display());
    assert!(
        wrong.starts_with(&place) && wrong.contains("\nremedy: "),
        "{wrong}"
    );
    let unknown = found(&format!("{own}options = {{ custommers = 500 }}\n"));
    assert!(
        unknown.starts_with("x.toml:11:26: shop has no option `custommers`"),
        "{unknown}"
    );
    assert!(unknown.contains("did you mean `customers`?"), "{unknown}");
    let value = found(&format!("{own}options = {{ customers = \"many\" }}\n"));
    assert!(
        value.starts_with("x.toml:11:25: customers = many: must be a whole number"),
        "{value}"
    );
}

#[test]
fn part_of_a_matrix_keeps_the_baseline_and_the_levels_named() {
    let three = MATRIX.replace(
        "{ name = \"off\",",
        "{ name = \"two\", config = { innodb_flush_neighbors = 2 } }, { name = \"off\",",
    );
    let file = read(&format!("{three}[size.small]\nnote = \"Small.\"\n")).expect("valid");
    let part = |wanted: &[&str]| {
        let wanted: Vec<WantedLevel> = wanted
            .iter()
            .map(|text| text.parse().expect("AXIS=LEVEL"))
            .collect();
        let mut study = file.in_size(StudySize::Small).clone();
        study.keep_levels(&wanted)?;
        let Question::Matrix(matrix) = &study.question else {
            panic!("a matrix");
        };
        let sets = matrix.sets();
        assert_eq!(sets.len(), 6, "what is left stays in the matrix");
        let now = sets.into_iter().filter(|set| !set.is_left);
        let titles: Vec<String> = now.map(|set| set.title).collect();
        let words = study.words().expect("words");
        Ok::<_, String>((titles, words.note.unwrap_or_default()))
    };
    assert_eq!(part(&[]).expect("all").0.len(), 6);
    let (titles, note) = part(&["neighbours=off"]).expect("a part");
    assert_eq!(titles, ["baseline", "huge", "off", "off + huge"]);
    assert_eq!(
        note,
        "Small. Part of the matrix: neighbours on, off; heap small, huge."
    );
    let (titles, _) = part(&["heap=small", "neighbours=off", "neighbours=two"]).expect("a part");
    assert_eq!(titles, ["baseline", "two", "off"]);
    for (wanted, cause) in [
        (
            &["neighbors=off"][..],
            "no axis is called `neighbors`: did you mean `neighbours`? there are neighbours, heap",
        ),
        (
            &["neighbours=absent"],
            "no level of the axis neighbours is called `absent`: there are on, two, off",
        ),
        (
            &["heap=small", "neighbours=on"],
            "nothing but the baseline would be measured",
        ),
    ] {
        assert_eq!(part(wanted).expect_err("a mistake"), cause);
    }
    assert!("heap".parse::<WantedLevel>().is_err());
    let mut ladder = read(LADDER)
        .expect("valid")
        .in_size(StudySize::Small)
        .clone();
    let refused = ladder.keep_levels(&["heap=huge".parse().expect("AXIS=LEVEL")]);
    let refused = refused.expect_err("a mistake");
    assert!(
        refused.starts_with("this study is a ladder: only a matrix has axes with levels"),
        "{refused}"
    );
}

/// A size may measure a part, and the package itself may stand beside the combinations: a row without levels.
#[test]
fn a_size_of_a_matrix_may_be_a_part_of_it_and_variants_stand_beside_it() {
    let text = MATRIX.replacen(
        "kind = \"matrix\"",
        "kind = \"matrix\"\nbeside = [\"base\", \"transport=unix\"]",
        1,
    );
    let text =
        format!("{text}[size.small]\npart = {{ heap = [\"huge\"], neighbours = [\"on\"] }}\n");
    let file = read(&text).expect("valid");
    let rows = |size: StudySize| {
        let Question::Matrix(matrix) = &file.in_size(size).question else {
            panic!("a matrix");
        };
        let sets = matrix.sets().into_iter();
        let rows = sets.map(|set| (set.title, set.is_left, set.beside));
        rows.collect::<Vec<_>>()
    };
    let small = rows(StudySize::Small);
    let now: Vec<&str> = (small.iter())
        .filter(|(_, is_left, _)| !is_left)
        .map(|(title, ..)| title.as_str())
        .collect();
    assert_eq!(now, ["baseline", "huge", "the package", "transport=unix"]);
    assert_eq!((small.len(), small[4].2, small[5].2), (6, Some(0), Some(1)));
    assert!(
        rows(StudySize::Original)
            .iter()
            .all(|(_, is_left, _)| !is_left)
    );

    let twice = only(&text.replace("\"transport=unix\"", "\"base\""));
    assert!(
        twice.contains("two rows are called `the package`"),
        "{twice}"
    );
    // They alone are something to measure.
    let alone = text.replace("[\"huge\"]", "[\"small\"]");
    let file = read(&alone).expect("valid");
    let Question::Matrix(matrix) = &file.in_size(StudySize::Small).question else {
        panic!("a matrix");
    };
    assert_eq!(matrix.sets().iter().filter(|set| !set.is_left).count(), 3);
    let nothing = alone.replace("beside = [\"base\", \"transport=unix\"]\n", "");
    let nothing = only(&nothing);
    assert!(
        nothing.contains("nothing but the baseline would be measured")
            && nothing.contains("remedy: name a level beside the baseline"),
        "{nothing}"
    );
    let empty = only(&text.replace("[\"huge\"]", "[]"));
    assert!(empty.contains("`heap` is empty"), "{empty}");
    let unknown = only(&text.replace("[\"huge\"]", "[\"hugs\"]"));
    assert!(
        unknown.contains("no level of the axis heap is called `hugs`"),
        "{unknown}"
    );
    let ladder = only(&LADDER.replace("budget = \"5m\"", "part = { heap = [\"huge\"] }"));
    assert!(ladder.contains("this study is a ladder"), "{ladder}");
    let sweep = only(&LADDER.replacen("threads = 8", "threads = 8\nbeside = [\"base\"]", 1));
    assert!(
        sweep.contains("`beside` has no meaning in a ladder"),
        "{sweep}"
    );
}

/// A level may be meant for some levels of another axis: what does not go together is no combination.
#[test]
fn a_level_is_combined_with_the_levels_that_it_is_meant_for() {
    let text = MATRIX.replace(
        "{ name = \"off\",",
        "{ name = \"off\", only = { heap = [\"small\"] },",
    );
    let file = read(&text).expect("valid");
    let Question::Matrix(matrix) = &file.in_size(StudySize::Small).question else {
        panic!("a matrix");
    };
    let titles: Vec<String> = matrix.sets().into_iter().map(|set| set.title).collect();
    assert_eq!(titles, ["baseline", "huge", "off"]);
    let unknown = only(&text.replace("[\"small\"]", "[\"smal\"]"));
    assert!(
        unknown.contains("no level of the axis heap is called `smal`: did you mean `small`?"),
        "{unknown}"
    );
}

/// A level that meets nothing would vanish without a word.
#[test]
fn a_level_without_any_combination_is_a_mistake() {
    let with = |names: &str| {
        let off = format!("{{ name = \"off\", only = {names},");
        MATRIX.replace("{ name = \"off\",", &off)
    };
    let on_huge = with("{ heap = [\"huge\"] }");
    read(&on_huge).expect("valid");
    let each = on_huge.replacen(
        "kind = \"matrix\"",
        "kind = \"matrix\"\ncombine = \"each\"",
        1,
    );
    let crossed = on_huge.replace(
        "{ name = \"huge\",",
        "{ name = \"huge\", only = { neighbours = [\"on\"] },",
    );
    let nothing = "the level `off` of `neighbours` is combined with nothing";
    for (text, cause, remedy) in [
        (
            with("{ neighbours = [\"on\"] }"),
            "the level `off` of `neighbours` names under `only` levels of its own axis",
            "name levels of other axes there",
        ),
        (with("{ heap = [] }"), "`heap` is empty", "write at least 1"),
        (with("{ hep = [] }"), "`hep` is empty", "write at least 1"),
        (
            with("{ hep = [\"small\"] }"),
            "no axis is called `hep`: did you mean `heap`?",
            "correct the name",
        ),
        (each, nothing, "combine = \"all\""),
        (crossed, nothing, "name more levels under `only`"),
    ] {
        let found = only(&text);
        assert!(
            found.starts_with("x.toml:1") && found.contains(cause) && found.contains(remedy),
            "{found}"
        );
    }
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
        if let Err(found) = read_in(folder, &text) {
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

#[test]
fn a_client_host_is_one_that_ssh_can_be_given() {
    let file = read(&LADDER.replacen("threads = 8", "threads = 8\nclient_host = \"db-client\"", 1));
    let file = file.expect("valid");
    for size in [StudySize::Small, StudySize::Original] {
        assert_eq!(file.in_size(size).client_host.as_deref(), Some("db-client"));
    }
    let own = read(LADDER).expect("valid");
    assert_eq!(own.in_size(StudySize::Small).client_host, None);
    mistake(
        "threads = 8",
        "client_host = \"-oProxyCommand=x\"\nthreads = 8",
        "x.toml:6:",
        "db-client",
    );
}

/// What a build is trained on is found from the folder of the study's file.
#[test]
fn builds_are_trained_on_files_beside_the_study() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = include_str!("../../../../docs/examples/shop.toml");
    std::fs::write(folder.path().join("shop.toml"), shop).expect("written");
    std::fs::write(folder.path().join("wrong.toml"), "title = 1\n").expect("written");
    let build = |lines: &str| -> Result<niagara_build::Recipe, Vec<Mistake>> {
        let text = LADDER.replace(
            "levers = [\"transport=unix\"]\n",
            &format!("[rungs.build]\n{lines}\n"),
        );
        let file = read_in(folder.path(), &text)?;
        let Question::Ladder { rungs, .. } = &file.in_size(StudySize::Small).question else {
            panic!("a ladder");
        };
        let mut recipe = niagara_build::Recipe::default();
        for item in &rungs[0].recipe.items {
            if let Item::Build { key, value } = item {
                recipe.set(key, value).expect("valid");
            }
        }
        Ok(recipe)
    };
    let recipe = build(
        "pgo = { workloads = { \"./shop.toml\" = 2, report = 1 }, seconds = 20, set = { customers = 500 } }\n\
         bolt = \"report:2/./shop.toml\"",
    )
    .expect("valid");
    let path = folder.path().join("shop.toml").display().to_string();
    let pgo = recipe.pgo.as_ref().expect("asked for");
    assert_eq!((pgo.workloads[&path], pgo.workloads["report"]), (2, 1));
    assert_eq!((pgo.set["customers"].as_str(), pgo.seconds), ("500", 20));
    assert_eq!(recipe.bolt.as_ref().expect("asked for").workloads[&path], 1);
    assert!(recipe.pinned().is_ok());
    for (lines, told) in [
        ("pgo = \"./absent.toml\"", "absent.toml to train on"),
        ("pgo = \"./wrong.toml\"", "wrong.toml:1:"),
        (
            "pgo = { workloads = \"report\", part = \"half\" }",
            "first:50%",
        ),
        (
            "pgo = { workloads = \"report\", data = \"absent\" }",
            "no data at",
        ),
    ] {
        let found = build(lines).expect_err("a mistake");
        assert_eq!(found.len(), 1, "{lines}: {found:#?}");
        assert!(
            Explanation::from(&found[0]).to_string().contains(told),
            "{lines}: {}",
            found[0]
        );
    }
}

/// A capture of this many sessions at once, beside the study.
fn capture(folder: &Path, name: &str, sessions: u64) {
    let mut log = String::from(
        "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\n\
         Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n\
         # Time: 231114 22:13:20\n",
    );
    for number in 0..4 * sessions {
        let session = number % sessions + 1;
        log += &format!(
            "# User@Host: app[app] @ localhost []\n# Thread_id: {session}  Schema: shop  QC_hit: No\n\
             # Query_time: 0.002000  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\n\
             # Rows_affected: 0  Bytes_sent: 100\nSET timestamp={};\nSELECT stock FROM item WHERE id = {number};\n",
            1_700_000_000 + number / sessions
        );
    }
    let path = folder.join("slow.log");
    std::fs::write(&path, log).expect("written");
    let order = Import {
        files: vec![path],
        read: ReadOptions::default(),
        output: folder.join(name),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log that can be read");
}

/// Its connections are those that were captured: threads are not asked for, and there is nothing to sweep.
#[test]
fn a_capture_has_the_connections_that_were_captured() {
    let folder = tempfile::tempdir().expect("a folder");
    capture(folder.path(), "shop.capture", 3);
    capture(folder.path(), "large.capture", 5);
    let text = COMPARE.replace("name = \"report\"", "name = \"./shop.capture\"");
    let read = |text: &str| read_in(folder.path(), text);
    let only = |text: &str| {
        let found = read(text).expect_err("a mistake");
        assert_eq!(found.len(), 1, "{found:#?}");
        Explanation::from(&found[0]).to_string()
    };
    let file = read(&text).expect("valid");
    let study = file.in_size(StudySize::Small);
    assert_eq!(study.threads, [3]);
    assert_eq!(study.first_load().threads, 3);

    let found = only(&text.replace("b = \"base\"", "b = \"base\"\nthreads = 16"));
    assert!(
        found.starts_with("x.toml:8:11: other connections for a capture"),
        "{found}"
    );
    let sweep = text
        .replace("compare", "sweep")
        .replace("a = \"base\"\nb = \"base\"\n", "");
    let found = only(&sweep);
    assert!(found.contains("there is nothing to sweep"), "{found}");

    // There is room for all connections of several captures.
    let matrix = MATRIX
        .replace("oltp_read_only", "./shop.capture")
        .replace("oltp_point_select", "./large.capture");
    let file = read(&matrix).expect("valid");
    assert_eq!(file.in_size(StudySize::Small).threads, [5]);
    let found = only(&MATRIX.replace("oltp_point_select", "./shop.capture"));
    assert!(
        found.contains("a capture and another load in one matrix"),
        "{found}"
    );
}

/// A server's path begins at the folder of the study's file, as those of workloads and builds do, wherever the command is given.
#[test]
fn a_server_beside_the_study_is_found_from_anywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder
        .path()
        .canonicalize()
        .expect("there")
        .join("mariadbd");
    let binary = binary.display().to_string();
    let text = MATRIX.replace(
        "measured = \"m\"\n",
        "measured = \"m\"\nserver = \"./mariadbd\"\nbeside = [\"other\", \"./mariadbd\", \"base\"]\n\
         [variants.other]\nserver = \"./mariadbd\"\n",
    );
    let file = read_in(folder.path(), &text).expect("valid");
    let study = file.in_size(StudySize::Small);
    assert_eq!(study.server, binary);
    let Question::Matrix(matrix) = &study.question else {
        panic!("a matrix");
    };
    let servers: Vec<Option<&str>> = matrix
        .beside
        .iter()
        .map(|recipe| recipe.server.as_deref())
        .collect();
    assert_eq!(servers, [Some(&*binary), Some(&*binary), None]);
}
