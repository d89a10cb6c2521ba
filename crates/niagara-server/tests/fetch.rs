//! Fetched servers: whole or not at all, listed, removed.

mod common;

use std::fs;

use niagara_server::archive::{Apt, SourceDownload};
use niagara_server::{
    Cache, Catalog, EarlierSource, file_digest, get, installed, remove, sweep_stale,
};

#[test]
fn a_half_fetched_server_is_never_used_and_swept() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::at(temporary.path()).expect("a cache");
    let servers = cache.root().join("servers");
    // Interrupted before the move, by a process that is gone; and between the move and the manifest.
    let unpacking = servers.join(".tmp-mariadb-10.11-999999-00000000");
    let moved = servers.join("mariadb-10.11-1-10.11.1-1");
    for folder in [&unpacking, &moved] {
        fs::create_dir_all(folder.join("prefix/usr/sbin")).expect("made");
        fs::write(folder.join("prefix/usr/sbin/mariadbd"), "half").expect("written");
    }
    fs::write(servers.join(".tmp-mariadb-10.11-999999-00000000.lock"), "").expect("written");
    assert_eq!(installed(&cache).expect("readable"), []);
    sweep_stale(&cache).expect("swept");
    assert!(!unpacking.exists());
}

#[test]
fn a_server_is_fetched_once_listed_and_removed() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::at(temporary.path()).expect("a cache");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get(common::SERVER).expect("known");
    // Two at the same time: the second waits for the first and fetches nothing.
    let fetch = || {
        let mut said = Vec::new();
        let install = get(&cache, description, &mut |text| said.push(text.to_owned()));
        (
            install.expect("fetched"),
            said.iter()
                .filter(|text| text.starts_with("unpacking"))
                .count(),
        )
    };
    let ((one, unpacked), (two, unpacked_too)) = std::thread::scope(|scope| {
        let other = scope.spawn(fetch);
        (fetch(), other.join().expect("no panic"))
    });
    assert_eq!(one, two);
    assert_eq!(unpacked + unpacked_too, 1);
    assert_eq!(one.version.series(), description.series);
    assert!(one.packages.contains_key("mariadb-server-core") && one.packages.contains_key("libc6"));
    assert_eq!(one.mallocs.len(), 4);
    let bytes = one.bytes();
    assert_eq!(installed(&cache).expect("readable"), [one]);
    assert!(bytes > 50 << 20, "{bytes}");
    let removed = remove(&cache, common::SERVER).expect("removed");
    assert_eq!(
        (removed.servers, removed.images, removed.bytes),
        (1, 0, bytes)
    );
    assert_eq!(installed(&cache).expect("readable"), []);
    assert_eq!(
        fs::read_dir(cache.root().join("servers"))
            .expect("there")
            .count(),
        0
    );
}

#[test]
fn a_source_that_the_lists_no_longer_have_is_fetched_by_what_it_must_be() {
    // A small one, in every release.
    const PACKAGE: &str = "patchelf";
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get(common::SERVER).expect("known");
    let apt = |name: &str| {
        let folder = temporary.path().join(name);
        Apt::open_sources(&folder, &description.archive).expect("the lists are read")
    };
    let listed = apt("listed");
    let version = listed.source_versions(PACKAGE).expect("listed")[0].clone();
    let SourceDownload::Here(dsc) = listed.download_source(PACKAGE, &version).expect("works")
    else {
        panic!("the archive does not have what it lists");
    };
    let earlier = |version: &str, dsc_sha256: String| EarlierSource {
        version: version.to_owned(),
        dsc_sha256,
    };
    let sum = file_digest(&dsc).expect("readable");
    let unlisted = apt("unlisted");
    let fetch = |earlier: &EarlierSource| unlisted.download_earlier_source(PACKAGE, earlier);
    let SourceDownload::Here(same) = fetch(&earlier(&version, sum.clone())).expect("works") else {
        panic!("not where the archive keeps it");
    };
    let files = |dsc: &std::path::Path| {
        let folder = dsc.parent().expect("a folder");
        let mut found: Vec<_> = fs::read_dir(folder)
            .expect("there")
            .map(|entry| entry.expect("readable").file_name())
            .filter(|name| name.to_string_lossy().starts_with(PACKAGE))
            .collect();
        found.sort();
        found
    };
    assert_eq!(files(&same), files(&dsc));
    assert!(files(&same).len() > 1);
    // Another file of that name is not taken, and a version that is gone is no error.
    let other = sum.chars().rev().collect();
    let error = format!(
        "{:#}",
        fetch(&earlier(&version, other)).expect_err("another sum")
    );
    assert!(error.contains("Hash Sum mismatch"), "{error}");
    let gone = fetch(&earlier("0.0-1", sum)).expect("no error");
    assert!(matches!(gone, SourceDownload::NotThere(_)), "{gone:?}");
}
