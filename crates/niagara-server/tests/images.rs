//! Dataset images: made once, cloned, never half.

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use common::Bench;
use niagara_error::Explain as _;
use niagara_server::{
    Image, ImageBounds, ImageStore, LaunchSpec, ProcessSettings, hold_server, launch, remove,
};

const CHECKSUM: &str = "CHECKSUM TABLE sbtest.t";

fn loaded(bench: &Bench, loads: &mut u32) -> anyhow::Result<Image> {
    ImageStore::new(&bench.cache).ensure(
        &bench.install,
        "t-5000",
        "InnoDB",
        &mut |server| {
            *loads += 1;
            server.query("CREATE DATABASE sbtest")?;
            server.query("USE sbtest")?;
            server.query(
                "CREATE TABLE sbtest.t (id INT PRIMARY KEY, k INT, c CHAR(120), KEY (k)) \
                 SELECT seq AS id, seq * 7919 % 5000 AS k, SHA2(seq, 256) AS c FROM seq_1_to_5000",
            )?;
            Ok(())
        },
        &mut |_| {},
    )
}

#[test]
fn an_image_is_made_once_and_every_clone_equals_it() {
    let bench = Bench::new();
    let mut loads = 0;
    let image = loaded(&bench, &mut loads).expect("made");
    let again = loaded(&bench, &mut loads).expect("there");
    assert_eq!((loads, image.path()), (1, again.path()));
    let tables = image.table_bytes();
    assert!((256 << 10..8 << 20).contains(&tables), "{tables}");
    // Logs and the server's own tables come on top; of a log, only what was written takes room.
    let all = image.bytes().expect("readable");
    assert!(all > 2 * tables, "{all} of {tables}");
    let account = fs::metadata(image.data().join("niagara-account.json")).expect("there");
    assert_eq!(account.mode() & 0o777, 0o600);

    let mut sums = Vec::new();
    for clone in ["one", "two"] {
        let datadir = bench.folder.path().join(clone);
        image.clone_to(&datadir).expect("cloned");
        same(&image.data(), &datadir);
        let spec = LaunchSpec {
            install: &bench.install,
            datadir,
            runtime: &ProcessSettings::default(),
            config: &Default::default(),
        };
        let server = launch(&bench.cache, &spec).expect("started");
        assert_eq!(
            server
                .query("SELECT COUNT(*) FROM sbtest.t")
                .expect("answered"),
            [["5000"]]
        );
        sums.push(server.query(CHECKSUM).expect("answered"));
        // A clone is its own: what happens to it does not reach the image.
        server.query("DELETE FROM sbtest.t").expect("answered");
        server.kill();
    }
    assert_eq!(sums[0], sums[1]);
}

fn same(a: &Path, b: &Path) {
    let output = Command::new("diff")
        .arg("-r")
        .args([a, b])
        .output()
        .expect("diff runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn an_image_whose_load_fails_is_not_kept() {
    let bench = Bench::new();
    let store = ImageStore::new(&bench.cache);
    let error = store
        .ensure(
            &bench.install,
            "bad",
            "InnoDB",
            &mut |_| anyhow::bail!("no rows today"),
            &mut |_| {},
        )
        .expect_err("failed");
    assert!(format!("{error:#}").contains("no rows today"));
    assert_eq!(store.images().expect("readable").len(), 0);
    assert_eq!(
        fs::read_dir(bench.cache.root().join("images"))
            .expect("there")
            .count(),
        0
    );
}

#[test]
fn a_removed_server_takes_its_images_with_it() {
    let bench = Bench::new();
    let mut loads = 0;
    let image = loaded(&bench, &mut loads).expect("made");
    let record = image.record().expect("readable");
    assert_eq!(record.name.as_deref(), Some(common::SERVER));
    let store = ImageStore::new(&bench.cache);
    // Another server's images stay; the server itself was fetched elsewhere.
    let removed = remove(&bench.cache, "mariadb-10").expect("nothing to do");
    assert_eq!((removed.images, removed.bytes), (0, 0));
    let bytes = image.bytes().expect("readable");
    // A study clones them.
    let held = hold_server(&bench.cache, common::SERVER).expect("a lock");
    let error = remove(&bench.cache, common::SERVER).expect_err("in use");
    assert!(error.to_string().contains("in use by another"), "{error}");
    assert!(image.path().exists());
    drop(held);
    let removed = remove(&bench.cache, common::SERVER).expect("removed");
    assert_eq!((removed.servers, removed.images), (0, 1));
    assert!(removed.bytes >= bytes);
    assert_eq!(store.images().expect("readable").len(), 0);
    assert!(!image.path().exists());
}

#[test]
fn images_that_nobody_uses_make_room() {
    let bench = Bench::new();
    let store = ImageStore::new(&bench.cache);
    let made = |key: &str| {
        let mut load = |_: &niagara_server::RunningServer| Ok(());
        let made = store.ensure(&bench.install, key, "InnoDB", &mut load, &mut |_| {});
        made.expect("made")
    };
    let unused_for = |image: &Image, days: u64| {
        let name = image.path().file_name().expect("a name").to_string_lossy();
        let lock = format!("locks/use-image-{name}");
        let lock = fs::File::options()
            .append(true)
            .open(bench.cache.root().join(lock))
            .expect("there");
        let ago = std::time::Duration::from_secs(days * 24 * 60 * 60);
        let then = std::time::SystemTime::now() - ago;
        lock.set_modified(then).expect("ours");
    };
    let there = |path: &Path| path.join("image.json").exists();
    let [old, older, new] = ["old", "older", "new"].map(made);
    assert!(old.is_new() && !made("old").is_new());
    let paths = [&old, &older, &new].map(|image| image.path().to_owned());
    unused_for(&old, 31);
    unused_for(&older, 40);
    // All are in use, in this process.
    let bounds = ImageBounds::default();
    assert_eq!(store.remove_unused(bounds).expect("readable"), None);
    drop(older);
    let removed = store.remove_unused(bounds).expect("readable");
    let removed = removed.expect("one goes");
    assert!(removed.images == 1 && removed.bytes > 1 << 20, "{removed}");
    assert_eq!(
        paths.each_ref().map(|path| there(path)),
        [true, false, true]
    );
    // Beyond the bytes the one goes that was unused for the longest time.
    unused_for(&old, 2);
    let most = old.bytes().expect("readable") + new.bytes().expect("readable") + (1 << 20);
    drop((old, new));
    let bounds = ImageBounds {
        bytes: most - (2 << 20),
        ..bounds
    };
    let removed = store.remove_unused(bounds).expect("readable");
    assert_eq!(removed.expect("one goes").images, 1);
    assert_eq!(
        paths.each_ref().map(|path| there(path)),
        [false, false, true]
    );
    assert_eq!(store.remove_unused(bounds).expect("readable"), None);
}

#[test]
fn a_full_disk_is_named_with_what_is_missing() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: mounting a small file system takes root");
        return;
    }
    struct Mount(std::path::PathBuf);
    impl Drop for Mount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }
    let bench = Bench::new();
    let small = bench.folder.path().join("small");
    fs::create_dir(&small).expect("made");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2M", "none"])
        .arg(&small)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no right to mount here");
        return;
    }
    let mount = Mount(small.clone());
    let error = common::empty_image(&bench.install)
        .clone_to(&small.join("data"))
        .expect_err("full")
        .explain()
        .to_string();
    assert!(
        error.contains("no room") && error.contains("NIAGARA_WORK"),
        "{error}"
    );
    assert!(!small.join("data").exists(), "a half clone stayed");
    drop(mount);
}
