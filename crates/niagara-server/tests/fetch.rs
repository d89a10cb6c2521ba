//! Fetched servers: whole or not at all, listed, removed.

mod common;

use std::fs;

use niagara_server::{Cache, Catalog, get, installed, remove, sweep_stale};

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
