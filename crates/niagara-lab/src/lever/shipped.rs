//! Tests of the levers in `levers/`: complete, free of clashes, and accepted by real servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use niagara_server::machine::{Fingerprint, HugePool, Place};
use niagara_server::{Family, Version};

use super::{Context, Lever, Risk, Role, load};

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
    assert_eq!((with(Role::Decoy), with(Role::Control)), (1, 1));
}

#[test]
fn the_list_in_the_documentation_is_complete() {
    let text = include_str!("../../../../docs/levers.md");
    for lever in levers() {
        let row = format!("| `{}` |", lever.spelling());
        assert!(text.contains(&row), "docs/levers.md has no row for {row}");
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
            for variable in lever.template.environment.keys() {
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
