//! Tests of the levers in `levers/`: complete, free of clashes, and accepted by real servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use niagara_origin::configuration::ServerOptions;
use niagara_server::machine::{Fingerprint, HugePool, Place};
use niagara_server::{Family, Install, Version};

use super::{Context, Lever, Measured, NoteFor, Risk, Role, load};

fn levers() -> Vec<Lever> {
    load(&[]).expect("every shipped lever is valid")
}

/// A machine on which every need is met, and a user who allows everything.
fn generous(family: Family, version: Version, levers: &[Lever]) -> Context {
    let mut machine = Fingerprint::default();
    let places = (0..16)
        .map(|cpu| Place {
            node: cpu / 8,
            socket: cpu / 8,
            core: cpu / 2,
            cpu,
        })
        .collect();
    machine.cpu.threads = 16;
    machine.cpu.places = places;
    machine.cpu.smt = true;
    machine.cpu.numa_nodes = 2;
    machine.memory.bytes = 64 << 30;
    machine.memory.thp = Some("madvise".to_owned());
    machine.memory.huge_pools = vec![HugePool {
        page_bytes: 2 << 20,
        pages: 100,
        free: 100,
    }];
    machine.limits.root = true;
    let mut context = Context::new(family, version, machine);
    context.data_bytes = 10 << 30;
    context.writes = true;
    context.mallocs = ["jemalloc", "tcmalloc", "mimalloc"]
        .map(str::to_owned)
        .into();
    context.allowed = [Risk::Durability, Risk::Security, Risk::System].into();
    context.named = levers.iter().map(|lever| lever.id().to_owned()).collect();
    context
}

#[test]
fn levers_that_set_innodbs_variables_alone_are_for_its_tables() {
    let levers = levers();
    for (family, version) in [(Family::Mariadb, "11.8.3"), (Family::Mysql, "9.7.0")] {
        let context = generous(family, version.parse().expect("a version"), &levers);
        for lever in &levers {
            let Ok(change) = lever.applicability(&context) else {
                continue;
            };
            let mut rest = change.clone();
            rest.config.clear();
            let names = &mut change.config.keys();
            let is_innodb = rest.is_empty() && names.all(|name| name.starts_with("innodb_"));
            assert!(
                !is_innodb || lever.when().engines == ["innodb"],
                "data/levers/{}.toml: [when] wants engines = [\"innodb\"]",
                lever.id()
            );
        }
    }
}

#[test]
fn steps_on_the_machine_are_taken_back() {
    for lever in levers() {
        let deploy = lever.deploy();
        let is_step = matches!(deploy.note_for, NoteFor::Host | NoteFor::Server);
        assert!(
            deploy.note.is_none() || !is_step || deploy.note_undo.is_some(),
            "data/levers/{}.toml: [deploy] wants note_undo",
            lever.id()
        );
    }
}

#[test]
fn levers_that_take_from_other_processes_are_known() {
    let levers = levers();
    let greedy = levers.iter().filter(|lever| lever.takes_from_others());
    let ids: BTreeSet<&str> = greedy.map(Lever::id).collect();
    assert_eq!(
        ids,
        ["large-pages", "lock-memory", "scheduling-nice"].into()
    );
}

#[test]
fn every_lever_says_what_it_is() {
    let levers = levers();
    for lever in &levers {
        let id = lever.id();
        assert!(
            id.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{id}"
        );
        assert!(
            lever.why().len() > 100,
            "{id}: say what it does, when it helps, when it hurts"
        );
        assert!(!lever.source().is_empty(), "{id}");
        assert!(
            !lever.title().ends_with('.') && lever.title().len() < 70,
            "{id}: a short title"
        );
    }
    let with = |role: Role| {
        levers
            .iter()
            .filter(move |lever| lever.role() == role)
            .count()
    };
    assert_eq!(
        (with(Role::NegativeControl), with(Role::PositiveControl)),
        (1, 1)
    );
}

/// The page that lists the levers; the list stands between these two lines and is written from the files.
const PAGE: &str = "docs/levers.md";
const LIST: [&str; 2] = ["<!-- the list begins -->\n", "<!-- the list ends -->"];

/// `make docs-levers` writes the list again.
#[test]
fn the_list_in_the_documentation_is_what_the_files_say() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(PAGE);
    let text = std::fs::read_to_string(&page).expect("the page");
    let begin = text.find(LIST[0]).expect("the list's beginning") + LIST[0].len();
    let end = text.find(LIST[1]).expect("the list's end");
    let levers = levers();
    let list = format!("{}{}", list(&levers), index(&levers));
    if std::env::var_os("NIAGARA_WRITE_DOCS").is_some() {
        let written = format!("{}{list}{}", &text[..begin], &text[end..]);
        std::fs::write(&page, written).expect("written");
        return;
    }
    assert!(
        text[begin..end] == list,
        "{PAGE} does not say what levers/ says: make docs-levers writes its list again"
    );
}

/// A table for each theme: spelling, title, servers, risk.
fn list(levers: &[Lever]) -> String {
    let mut themes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for lever in levers {
        let mut marks = Vec::new();
        match lever.risk() {
            Risk::None => {}
            Risk::Memory => marks.push("m"),
            Risk::Durability => marks.push("d"),
            Risk::Security => marks.push("security"),
            Risk::System => marks.push("s"),
            Risk::Schema => marks.push("schema"),
        }
        if lever.only_named {
            marks.push("N");
        }
        let row = format!(
            "|`{}`|{}|{}|{}|",
            lever.spelling(),
            lever.title(),
            servers_of(lever),
            marks.join(" ")
        );
        themes.entry(lever.theme()).or_default().push(row);
    }
    let mut text = String::new();
    for (theme, mut rows) in themes {
        rows.sort();
        let mut letters = theme.chars();
        let first = letters
            .next()
            .map(|letter| letter.to_uppercase().to_string());
        let heading = first.unwrap_or_default() + letters.as_str();
        text += &format!(
            "\n### {heading}\n\n|lever|what|servers|R|\n|---|---|---|---|\n{}\n",
            rows.join("\n")
        );
    }
    text + "\n"
}

/// A table of settings: the variable, the levers that set it, the places with a measurement of one of them.
/// What the controls set is no advice.
fn index(levers: &[Lever]) -> String {
    let mut settings: BTreeMap<&str, BTreeSet<(String, Vec<String>)>> = BTreeMap::new();
    for lever in levers.iter().filter(|lever| lever.role() == Role::Lever) {
        for variable in lever.variables() {
            // A branch has other variables than the one that was measured.
            let sets = |measured: &&Measured| {
                Family::of_name(&measured.server).is_none_or(|family| {
                    lever
                        .template
                        .variables(family)
                        .any(|(name, _)| name == variable)
                })
            };
            let places = lever.measured().iter().filter(sets).map(place).collect();
            let row = (lever.spelling(), places);
            settings.entry(variable).or_default().insert(row);
        }
    }
    let rows = settings.into_iter().map(|(variable, levers)| {
        let places: BTreeSet<&str> = levers
            .iter()
            .flat_map(|(_, places)| places.iter().map(String::as_str))
            .collect();
        let places = places.iter().filter_map(|place| {
            let path = place.strip_prefix("docs/")?;
            let name = path.strip_prefix("results/").unwrap_or(path);
            Some(format!("[{}]({path})", name.trim_end_matches(".md")))
        });
        let levers = levers.iter().map(|(spelling, _)| format!("`{spelling}`"));
        format!(
            "|`{variable}`|{}|{}|\n",
            levers.collect::<Vec<_>>().join("<br>"),
            places.collect::<Vec<_>>().join("<br>")
        )
    });
    format!(
        "## Settings\n\n|setting|lever|measured|\n|---|---|---|\n{}\n",
        rows.collect::<String>()
    )
}

/// Where a figure is: on its page, or in the page's record where the page leaves it out.
fn place(measured: &Measured) -> String {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(&measured.source);
    let page = std::fs::read_to_string(page).unwrap_or_default();
    let texts = as_printed(measured);
    if texts.iter().any(|text| page.contains(text)) {
        measured.source.clone()
    } else {
        measured.source.replace(".md", ".json")
    }
}

fn servers_of(lever: &Lever) -> String {
    let when = lever.when();
    let branches = [
        ("MariaDB", &when.mariadb),
        ("MySQL", &when.mysql),
        ("Percona Server", &when.percona),
    ];
    let named: Vec<String> = branches
        .into_iter()
        .filter_map(|(name, range)| match range.as_ref()?.to_string().as_str() {
            "*" => Some(name.to_owned()),
            range => Some(format!("{name} {range}")),
        })
        .collect();
    if named.is_empty() {
        "all".to_owned()
    } else {
        named.join(", ")
    }
}

/// Whoever doubts a figure can look it up, with its command and machine.
#[test]
fn measured_figures_are_those_of_a_record() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut missing = Vec::new();
    for lever in levers() {
        for measured in lever.measured() {
            let source = &measured.source;
            if source.contains("://") {
                continue;
            }
            assert!(root.join(source).is_file(), "{}: {source}", lever.id());
            let record = root.join(source).with_extension("json");
            let record = std::fs::read_to_string(record)
                .unwrap_or_else(|error| panic!("{}: record of {source}: {error}", lever.id()));
            let record: serde_json::Value = serde_json::from_str(&record).expect("a record");
            let texts = as_printed(measured);
            let printed = record.to_string();
            let is_there =
                holds(&record, measured) || texts.iter().any(|text| printed.contains(text));
            if !is_there {
                missing.push(format!(
                    "{}: {} [{}, {}] is not in the record of {source}",
                    lever.id(),
                    measured.ratio,
                    measured.low,
                    measured.high
                ));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Elsewhere in its file a lever has no ratio of ours: it would have neither interval nor command.
#[test]
fn lever_files_have_no_ratio_but_in_measured() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let folders = ["levers", "patches"].map(|name| data.join(name));
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("shipped").flatten());
    let paths = files.map(|file| file.path());
    let mut read = 0;
    for path in paths.filter(|path| path.extension().is_some_and(|name| name == "toml")) {
        let text = std::fs::read_to_string(&path).expect("readable");
        for (number, line) in (1..).zip(text.lines()) {
            let is_claim = line.contains('×') || line.contains("measured by hand");
            assert!(!is_claim, "{}:{number}: {line}", path.display());
        }
        read += 1;
    }
    assert!(read > 100, "{read}");
}

/// Whether a record of results has the figure, in a table or a part of one that its page leaves out.
fn holds(record: &serde_json::Value, measured: &Measured) -> bool {
    let number = |key: &str| record.get(key).and_then(serde_json::Value::as_f64);
    let figure = [number("ratio"), number("low"), number("high")];
    figure == [measured.ratio, measured.low, measured.high].map(Some)
        || match record {
            serde_json::Value::Array(values) => values.iter().any(|value| holds(value, measured)),
            serde_json::Value::Object(values) => {
                values.values().any(|value| holds(value, measured))
            }
            _ => false,
        }
}

/// A figure as a page may print it: with 2 to 4 digits, none of its own left out.
fn as_printed(measured: &Measured) -> Vec<String> {
    let values = [measured.ratio, measured.low, measured.high];
    let mut texts = Vec::new();
    for digits in 2..=4_usize {
        let printed = values.map(|value| format!("{value:.digits$}"));
        let is_exact = |(text, value): (&String, f64)| text.parse::<f64>() == Ok(value);
        if printed.iter().zip(values).all(is_exact) {
            let [ratio, low, high] = printed;
            texts.push(format!("{ratio} [{low}, {high}]"));
        }
    }
    texts
}

/// Releases that have one of two variables take the levers of that one, whatever they call themselves.
#[test]
fn the_binary_decides_between_two_variables() {
    let levers = levers();
    let flush = [
        "flush-method-direct",
        "flush-method-fsync",
        "flush-method-no-fsync",
    ];
    for (family, version, has, ids, other) in [
        (
            Family::Mariadb,
            "99.0",
            "--innodb-flush-method=name ",
            &flush[..],
            "flush-method-buffered",
        ),
        (
            Family::Mariadb,
            "10.0",
            "--innodb-flush-method=name \n  --innodb-data-file-buffering ",
            &["flush-method-buffered"],
            "flush-method-fsync",
        ),
        (
            Family::Mysql,
            "99.0.0",
            "--innodb-log-file-size=# ",
            &["redo-log-files-large"],
            "redo-log-large",
        ),
        (
            Family::Mysql,
            "8.0.1",
            "--innodb-log-file-size=# \n  --innodb-redo-log-capacity=# ",
            &["redo-log-large"],
            "redo-log-files-large",
        ),
    ] {
        let mut context = generous(family, version.parse().expect("a version"), &levers);
        let help = format!("  --innodb-buffer-pool-size=# \n  {has}\n");
        context.options = Some(Arc::new(ServerOptions::of_help(&help)));
        let applies = |id: &str| {
            let lever = levers
                .iter()
                .find(|lever| lever.id() == id)
                .expect("shipped");
            lever.applicability(&context)
        };
        for id in ids {
            assert!(
                applies(id).is_ok(),
                "{id} on {family} with {has}: {:?}",
                applies(id)
            );
        }
        assert!(applies(other).is_err(), "{other} on {family} with {has}");
    }
}

/// A release is known by what its binary says of its variables, not by its number.
#[test]
fn no_setting_depends_on_a_version() {
    // What the first does was changed without a variable that tells; InnoDB does not list the words that the other's takes.
    const BY_VERSION: [&str; 2] = ["flush-method-no-fsync", "page-checksums-off"];
    let levers = levers();
    let numbered = levers.iter().filter(|lever| {
        let when = lever.when();
        let ranges = [&when.mariadb, &when.mysql, &when.percona];
        let mut ranges = ranges.into_iter().flatten();
        lever.build().is_empty() && ranges.any(|range| range.to_string() != "*")
    });
    let numbered: Vec<&str> = numbered.map(Lever::id).collect();
    assert_eq!(numbered, BY_VERSION);
}

/// Two releases of any number: each is as its binary says.
#[test]
fn the_binarys_defaults_decide() {
    let levers = levers();
    let told = |id: &str, defaults: &str| {
        let version = "99.0.0".parse().expect("a version");
        let mut context = generous(Family::Mysql, version, &levers);
        let help = format!("\nVariables (--variable-name=value)\n{defaults}\n");
        context.options = Some(Arc::new(ServerOptions::of_help(&help)));
        let lever = levers.iter().find(|lever| lever.id() == id);
        let lever = lever.expect("shipped");
        let change = lever.applicability(&context).expect("applies");
        let idle = lever.idle_by_default(&change, &context);
        idle.map(|reason| reason.to_string())
    };
    let hash = |value: &str| format!("innodb-adaptive-hash-index {value}");
    let already = |setting: &str| Some(format!("already so without it: {setting}"));
    let (on, off) = ("adaptive-hash-on", "adaptive-hash-off");
    assert_eq!(told(on, &hash("FALSE")), None);
    assert_eq!(told(off, &hash("TRUE")), None);
    let [is_on, is_off] = ["ON", "OFF"].map(|is| format!("innodb_adaptive_hash_index = {is}"));
    assert_eq!(told(on, &hash("TRUE")), already(&is_on));
    assert_eq!(told(off, &hash("FALSE")), already(&is_off));
    let buffer = |bytes: u64| {
        told(
            "log-buffer-large",
            &format!("innodb-log-buffer-size {bytes}"),
        )
    };
    assert_eq!(buffer(16 << 20), None);
    assert_eq!(buffer(64 << 20), already("innodb_log_buffer_size = 64M"));
    let capacity = |id: &str, writes: u32| told(id, &format!("innodb-io-capacity {writes}"));
    assert_eq!(capacity("io-capacity-high", 200), None);
    assert_eq!(capacity("io-capacity-low", 10_000), None);
    let nothing = |is: u32, wanted: &str| {
        Some(format!(
            "nothing to gain with innodb_io_capacity = {is}, as this server starts: it matters with \
             innodb_io_capacity {wanted}"
        ))
    };
    assert_eq!(
        capacity("io-capacity-high", 10_000),
        nothing(10_000, "< 2000")
    );
    assert_eq!(capacity("io-capacity-low", 200), nothing(200, "> 1000"));
}

/// Whoever is left out is told why, in words that are true of that branch.
#[test]
fn a_lever_that_leaves_a_branch_out_says_why() {
    for lever in levers() {
        let when = lever.when();
        if !when.names_families() {
            continue;
        }
        for (family, range) in [
            (Family::Mariadb, &when.mariadb),
            (Family::Mysql, &when.mysql),
        ] {
            assert!(
                range.is_some() || lever.elsewhere.reason(family).is_some(),
                "data/levers/{}.toml is not for {family} and does not say why: add [elsewhere]",
                lever.id()
            );
        }
    }
}

/// "MariaDB has no such variable" is said of variables that the real server does not have.
#[test]
fn what_a_server_is_said_not_to_have_it_does_not_have() {
    let levers = levers();
    for server in servers() {
        let help = Command::new(&server)
            .args(["--no-defaults", "--user=root", "--verbose", "--help"])
            .output()
            .expect("the server starts");
        let help = String::from_utf8_lossy(&help.stdout).replace('-', "_");
        let known: BTreeSet<&str> = help.split_whitespace().collect();
        let family = Family::from_version_line(&help);
        for lever in &levers {
            if lever.when().range(family).is_some() {
                continue;
            }
            let reason = lever.elsewhere.reason(family).unwrap_or_default();
            if !reason.contains("no such variable") {
                continue;
            }
            // What the other branches set: this one must know none of it.
            for other in [Family::Mariadb, Family::Mysql] {
                for (variable, _) in lever.template.variables(other) {
                    assert!(
                        !known.contains(variable.as_str()),
                        "data/levers/{}.toml says \"{reason}\", but {} knows {variable}",
                        lever.id(),
                        server.display()
                    );
                }
            }
        }
    }
}

/// Two levers in force at once must not set the same thing: the later one would undo the earlier.
#[test]
fn what_two_levers_set_is_an_exclusive_choice() {
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let levers = levers();
    for family in [Family::Mariadb, Family::Mysql] {
        for lever in &levers {
            for (variable, _) in lever.template.variables(family) {
                owners
                    .entry(format!("{family} {variable}"))
                    .or_default()
                    .insert(lever.factor().to_owned());
            }
            for variable in lever.template.runtime.environment.keys() {
                owners
                    .entry(variable.clone())
                    .or_default()
                    .insert(lever.factor().to_owned());
            }
        }
    }
    for (variable, factors) in owners {
        assert_eq!(
            factors.len(),
            1,
            "{variable} is set by {factors:?}: make them levels of one factor"
        );
    }
}

/// A server without the performance schema does not know its variables; one with a malloc linked in takes no other.
#[test]
fn builds_that_leave_something_out_exclude_what_needs_it() {
    let levers = levers();
    let mut met = 0;
    for build in &levers {
        let has = |key: &str, value: &str| {
            build
                .template
                .build
                .get(key)
                .is_some_and(|set| set == value)
        };
        let lean = has("cmake.PLUGIN_PERFSCHEMA", "NO");
        let own_malloc = has("static_libraries", "jemalloc");
        for other in levers
            .iter()
            .filter(|other| other.factor() != build.factor())
        {
            let schema = other
                .variables()
                .any(|name| name.starts_with("performance_schema"));
            let malloc = other.template.runtime.malloc.is_some() || other.factor() == "malloc";
            if (lean && schema) || (own_malloc && malloc) {
                assert!(
                    build.is_apart_from(other),
                    "{} and {}: add excludes",
                    build.id(),
                    other.id()
                );
                met += 1;
            }
        }
    }
    assert!(met >= 8, "{met}");
}

#[test]
fn each_series_has_enough_to_try() {
    let levers = levers();
    for (family, version) in [
        (Family::Mariadb, "10.11.19"),
        (Family::Mariadb, "11.8.6"),
        (Family::Mysql, "9.7.0"),
    ] {
        let context = generous(family, version.parse().expect("a version"), &levers);
        let config = levers
            .iter()
            .filter_map(|lever| lever.applicability(&context).ok())
            .filter(|change| !change.config.is_empty())
            .count();
        assert!(
            config >= 25,
            "{family} {version}: {config} configuration levers"
        );
    }
}

/// The patches that are slower on purpose.
const FOR_COMPARISON: [&str; 1] = ["innodb-calls"];

#[test]
fn the_patched_build_of_a_series_has_every_patch_that_fits() {
    let levers = levers();
    for (family, version, id) in [
        (Family::Mariadb, "10.11.19", "build-clang-pgo-lto-patched"),
        (Family::Mariadb, "11.8.6", "build-clang-pgo-lto-patched-11"),
        (Family::Mysql, "9.7.2", "build-clang-pgo-lto-patched-97"),
    ] {
        let context = generous(family, version.parse().expect("a version"), &levers);
        let fitting: BTreeSet<String> = niagara_build::patch_names()
            .into_iter()
            .filter(|name| !FOR_COMPARISON.contains(&name.as_str()))
            .filter(|name| {
                let patch = levers.iter().find(|lever| lever.id() == name);
                patch.is_some_and(|patch| patch.applicability(&context).is_ok())
            })
            .collect();
        for lever in levers.iter().filter(|lever| {
            let is_it = lever.id() == id || lever.extends() == Some(id);
            is_it && lever.level().is_some()
        }) {
            let build = lever.build();
            let mut recipe = niagara_build::Recipe::default();
            for (key, value) in build {
                recipe.set(key, value).expect("checked when it was read");
            }
            assert_eq!(recipe.patches, fitting, "{}", lever.id());
            lever
                .applicability(&context)
                .unwrap_or_else(|reason| panic!("{}: {reason}", lever.id()));
            let most = fitting.iter().filter_map(|name| {
                let patch = levers.iter().find(|lever| lever.id() == name);
                patch.map(Lever::risk)
            });
            assert!(
                most.max() <= Some(lever.risk()),
                "{} is as risky as its patches",
                lever.id()
            );
        }
    }
}

/// Without data, writes, permission or luck with the machine, there is still something to do.
#[test]
fn a_small_machine_has_levers_too() {
    let levers = levers();
    let mut machine = Fingerprint::default();
    machine.cpu.threads = 1;
    machine.cpu.places = vec![Place::default()];
    machine.memory.bytes = 1 << 30;
    let context = Context::new(
        Family::Mariadb,
        "10.11.19".parse().expect("a version"),
        machine,
    );
    let applicable: Vec<&str> = levers
        .iter()
        .filter(|lever| lever.applicability(&context).is_ok())
        .map(Lever::id)
        .collect();
    assert!(
        applicable.contains(&"transport-unix") && applicable.contains(&"adaptive-hash-on"),
        "{applicable:?}"
    );
    assert!(
        !applicable.contains(&"query-cache") && !applicable.contains(&"placement-apart"),
        "{applicable:?}"
    );
}

/// Servers of this machine, and those that `NIAGARA_TEST_SERVERS` names, separated by colons.
fn servers() -> BTreeSet<PathBuf> {
    let named = std::env::var("NIAGARA_TEST_SERVERS").unwrap_or_default();
    ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"]
        .into_iter()
        .chain(named.split(':').filter(|path| !path.is_empty()))
        .filter_map(|path| PathBuf::from(path).canonicalize().ok())
        .collect()
}

/// Levers that can be in force together: the n-th level of every factor is in the n-th group.
fn compatible_groups(levers: Vec<&Lever>) -> Vec<Vec<&Lever>> {
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Lever>> = Vec::new();
    for lever in levers {
        let place = taken.entry(lever.factor()).or_default();
        if groups.len() == *place {
            groups.push(Vec::new());
        }
        groups[*place].push(lever);
        *place += 1;
    }
    groups
}

/// The server's own reading of its options says whether it knows each variable and value.
#[test]
fn real_servers_accept_every_configuration_lever() {
    let levers = levers();
    for server in servers() {
        let run = |options: &[String]| {
            Command::new(&server)
                .args(options)
                .output()
                .expect("the server starts")
        };
        let version = String::from_utf8_lossy(&run(&["--version".to_owned()]).stdout).into_owned();
        let family = Family::from_version_line(&version);
        let number = version
            .split_whitespace()
            .skip_while(|word| *word != "Ver")
            .nth(1)
            .expect("a version line");
        let mut context = generous(family, number.parse().expect("a version"), &levers);
        let install = Install::from_path(&server).expect("it runs");
        let scratch = tempfile::tempdir().expect("a folder");
        let options = ServerOptions::of(&install, scratch.path());
        context.options = Some(options.expect("it says its options"));
        let mut options_of = |lever: &Lever| {
            context.engine = lever
                .when()
                .engines
                .first()
                .cloned()
                .unwrap_or_else(|| "InnoDB".to_owned());
            let config = lever
                .applicability(&context)
                .map(|change| change.config)
                .unwrap_or_default();
            let option = |(name, value): (&String, &String)| match value.as_str() {
                "" if name.starts_with("skip_") => format!("--{name}"),
                value => format!("--{name}={value}"),
            };
            config.iter().map(option).collect::<Vec<String>>()
        };
        let with_options = levers
            .iter()
            .filter(|lever| !options_of(lever).is_empty())
            .collect();
        for group in compatible_groups(with_options) {
            let mut options = vec!["--no-defaults".to_owned()];
            options.extend(group.iter().flat_map(|lever| options_of(lever)));
            options.extend(["--user=root", "--verbose", "--help"].map(str::to_owned));
            let output = run(&options);
            let complaints = String::from_utf8_lossy(&output.stderr);
            let refused = ["unknown", "Unknown", "Error", "deprecated"]
                .iter()
                .any(|word| complaints.contains(word));
            assert!(
                output.status.success() && !refused,
                "{} {options:?}: {complaints}",
                server.display()
            );
        }
    }
}
