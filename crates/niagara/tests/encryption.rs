//! What encryption costs: comparisons of a load in clear with one by TLS, on every family.

mod common;

use std::process::Command;

use common::{Place, run};
use niagara_model::{Comparison, Ending, Summary};
use niagara_store::Store;

fn short(place: &Place, variants: &[&str], more: &[&str]) -> Command {
    let mut command = place.niagara(&["compare"]);
    command
        .args(variants)
        .args(["--threads", "4", "--table-size", "1000"])
        .args(["--couples", "3", "--slice", "150ms", "--warm-up", "300ms"])
        .args(["--max-duels", "2", "--to-the-end", "--budget", "5m"])
        .args(["--seed", "11", "--disturbance", "100%", "--out", "study"])
        .args(more);
    command
}

/// What the comparison came to, and what it printed.
fn compared(variants: &[&str], more: &[&str]) -> (Comparison, String) {
    let place = Place::new();
    let (code, stdout, stderr) = run(&mut short(&place, variants, more));
    assert_eq!(code, Some(0), "{variants:?}\n{stdout}{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let duels = store.duels().expect("duels");
    assert_eq!(duels.len(), 2);
    let is_scored = duels.iter().all(|duel| duel.ending == Ending::Scored);
    assert!(is_scored, "{variants:?}: {duels:?}");
    assert!(place.servers().is_empty());
    match store.summary().expect("readable") {
        Some(Summary::Compare(compare)) => (compare.comparison, stdout),
        other => panic!("a comparison, not {other:?}"),
    }
}

#[test]
fn every_family_is_compared_with_itself_by_tls() {
    for server in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
        let by_tls = format!("{server}+transport=tls");
        let (comparison, printed) = compared(&[&by_tls, server], &[]);
        let [Some(session), None] = &comparison.encryption else {
            panic!("{server}: {:?}", comparison.encryption);
        };
        assert!(session.version.starts_with("TLSv1."), "{session:?}");
        let words = format!("A: {}, {}", session.version, session.cipher);
        assert!(printed.contains(&words), "{words}\n{printed}");
    }
}

#[test]
fn connections_come_and_go_by_tls() {
    for (server, cache) in [
        ("mariadb-10.11", "cfg.thread_cache_size=0"),
        ("mysql-9.7", "thread-cache-large"),
    ] {
        let by_tls = format!("{server}+transport=tls");
        let cached = format!("{by_tls},{cache}");
        let more = ["--workload", "oltp_point_select", "--set", "reconnect=1"];
        let (comparison, _) = compared(&[&by_tls, &cached], &more);
        let is_encrypted = comparison.encryption.iter().all(Option::is_some);
        assert!(is_encrypted, "{:?}", comparison.encryption);
    }
}

#[test]
fn a_server_that_cannot_encrypt_is_no_side_of_a_comparison() {
    let place = Place::new();
    let without = "transport=tls,cfg.tls_version=TLSv1.1";
    let (code, _, stderr) = run(&mut short(&place, &["base", without], &[]));
    assert_ne!(code, Some(0), "{stderr}");
    for words in ["no encrypted connection", "remedy: leave out transport=tls"] {
        assert!(stderr.contains(words), "{words}\n{stderr}");
    }
    assert!(place.servers().is_empty());
}
