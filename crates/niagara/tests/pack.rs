//! A live shop is packed under traffic; the pack alone is enough for bench, compare and tune.

mod common;

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use common::existing::Existing;
use common::{Place, SHORT_TUNING, processes, run, wait_until};
use niagara_load::Admin;
use niagara_origin::pack::unpack;
use niagara_server::Cache;

/// What the shop's customers do.
const SHOP: &str = r#"
title = "a shop"
[[transaction]]
name = "look"
statements = ["SELECT note FROM orders WHERE id = :id"]
[transaction.draw]
id = { int = [1, 2000] }
[[transaction]]
name = "pay"
statements = ["UPDATE orders SET paid = paid + 1 WHERE id = :id"]
[transaction.draw]
id = { int = [1, 2000] }
"#;

const PATIENCE: Duration = Duration::from_secs(60);

/// Who called sudo.
const CALLER: &str = "4242";

/// A statement's literal from another database of this server. No pack of the shop may have it.
const NEIGHBOUR: &str = "nEighb0ur";

/// What no pack may have.
const SECRET: &str = "tR0ub4dor";

fn shop(existing: &Existing) {
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(99), paid INT) ENGINE = InnoDB",
        "INSERT INTO shop.orders WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 900) \
         SELECT id, REPEAT('x', 80), 0 FROM n",
        "INSERT INTO shop.orders SELECT id + 900, note, 0 FROM shop.orders",
        "INSERT INTO shop.orders SELECT id + 1800, note, 0 FROM shop.orders WHERE id <= 200",
        "CREATE DATABASE other",
        "CREATE TABLE other.t (a INT)",
        "CREATE TABLE other.old (a INT) ENGINE = MyISAM",
        "CREATE USER 'app'@'%' IDENTIFIED BY 'tR0ub4dor'",
    ] {
        existing.server.query(statement).expect("a statement");
    }
}

/// Customers who come and go: connections that were there before a capture are not in it.
struct Traffic {
    is_over: Arc<AtomicBool>,
    customers: JoinHandle<()>,
}

impl Traffic {
    fn start(existing: &Existing) -> Traffic {
        std::fs::write(existing.place.folder.path().join("shop.toml"), SHOP).expect("written");
        let mut visit = existing.bench(&["./shop.toml", "--database", "shop", "--threads", "2"]);
        visit
            .args(["--warm-up", "0", "--time", "100ms"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let neighbour = existing.server.over_socket("other");
        let statement = format!("SELECT '{NEIGHBOUR}'");
        let customers = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                visit.status().expect("a visit");
                let mut of_neighbour = Admin::connect(&neighbour, PATIENCE).expect("a connection");
                for said in ["USE other", &statement] {
                    of_neighbour.rows(said).expect("taken");
                }
                of_neighbour.quit();
            }
        });
        Traffic { is_over, customers }
    }

    fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.customers.join().expect("the customers");
    }
}

/// `niagara pack` of the server.
fn pack(existing: &Existing, words: &[&str]) -> Command {
    let mut command = existing.place.niagara(&["pack"]);
    command
        .arg(existing.server.socket())
        .args(["--user", existing.server.user()])
        .args(words)
        .env("NIAGARA_PASSWORD", existing.server.password())
        // As sudo does it for the user who is to copy the pack.
        .envs([("SUDO_UID", CALLER), ("SUDO_GID", CALLER)])
        .env("HOME", existing.place.folder.path())
        .env_remove("XDG_STATE_HOME")
        .env("XDG_CACHE_HOME", cache());
    command
}

/// The cache of everybody: servers are not fetched again.
fn cache() -> std::path::PathBuf {
    let own = std::env::var_os("XDG_CACHE_HOME").map(std::path::PathBuf::from);
    let home = std::env::var_os("HOME").expect("a home");
    own.unwrap_or_else(|| std::path::Path::new(&home).join(".cache"))
}

#[test]
fn live_shop_is_packed_and_tuned_elsewhere() {
    let existing = Existing::start(
        "mariadb-10.11",
        &[("innodb_io_capacity", "333"), ("report_password", SECRET)],
    );
    shop(&existing);
    let folder = existing.place.folder.path().to_owned();

    // Left by a pack that was killed.
    let left = folder.join(".shop.niagara.part-1");
    std::fs::create_dir(&left).expect("a folder");
    std::fs::write(left.join("lock"), "").expect("written");

    // Nobody agreed: nothing is done. What the capture does to the user's own log is said by then.
    let set = |log: &str| {
        let statement = format!("SET GLOBAL slow_query_log = {log}");
        existing.server.query(&statement).expect("set");
    };
    set("ON");
    let (code, _, stderr) = run(&mut pack(&existing, &["--for", "2s"]));
    set("OFF");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(!stderr.contains(" PATH"), "{stderr}");
    for words in [
        "shop (",
        "other (",
        "writes to 1 table of other (MyISAM) wait",
        "MB for the log",
        "slow log is on",
        "nothing was done",
        "--yes",
    ] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }
    let (code, _, stderr) = run(&mut pack(&existing, &["--schema", "sohp", "--yes"]));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("no database sohp") && stderr.contains("remedy"),
        "{stderr}"
    );

    // Known before anything is captured.
    let words = ["--for", "1h", "--min-free", "900T", "--yes"];
    let (code, _, stderr) = run(&mut pack(&existing, &words));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("MB are to stay free") && !stderr.contains("capturing"),
        "{stderr}"
    );

    let (code, _, stderr) = run(&mut pack(&existing, &["--for", "1s", "--yes"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("no statement was captured"), "{stderr}");

    let traffic = Traffic::start(&existing);
    let paid = || {
        existing
            .server
            .query("SELECT SUM(paid) FROM shop.orders")
            .expect("a sum")
    };
    let before = paid();
    wait_until("traffic", Duration::from_secs(60), || paid() != before);
    let settings = "SELECT CONCAT_WS(',', @@GLOBAL.slow_query_log, @@GLOBAL.long_query_time, @@GLOBAL.slow_query_log_file)";
    let were = existing.server.query(settings).expect("settings");
    let words = ["--for", "3s", "--schema", "shop", "--yes"];
    let (code, stdout, stderr) = run(&mut pack(&existing, &words));
    assert!(
        stdout.contains("traffic: ") && !stdout.contains(".part"),
        "{stdout}"
    );
    let late = locked_dump(&existing);
    killed_pack(&existing, settings);
    traffic.end();
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(late.contains("takes longer than 4 s"), "{late}");
    assert!(stdout.contains("niagara tune shop.niagara"), "{stdout}");
    let file = std::fs::metadata(folder.join("shop.niagara")).expect("the pack");
    assert_eq!(file.mode() & 0o777, 0o600);
    if nix::unistd::geteuid().is_root() {
        assert_eq!(file.uid().to_string(), CALLER);
    }
    assert_eq!(existing.server.query(settings).expect("settings"), were);
    assert!(stderr.contains("not in it: database other"), "{stderr}");
    let names = std::fs::read_dir(&folder).expect("the folder");
    let names: Vec<String> = names
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(
        names.iter().all(|name| !name.contains(".part")),
        "{names:?}"
    );

    // No password of an account or a setting is in it.
    let bytes = std::fs::read(folder.join("shop.niagara")).expect("the pack");
    assert!(
        !bytes
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes())
    );
    let (code, stdout, _) = run(&mut existing.place.niagara(&["pack", "--show", "shop.niagara"]));
    assert_eq!(code, Some(0));
    for words in [
        "10.11",
        "Load in database shop",
        "data.sql.zst ",
        "data.sql.zst.statistics.json ",
        "shop.capture",
        "Not in it: database other",
        "Not in it: accounts",
    ] {
        assert!(stdout.contains(words), "no {words} in\n{stdout}");
    }
    damaged(&existing);
    packed_by_hand(&existing);
    tuned_elsewhere(existing);
}

/// Said before anything is done: the other machine needs a server of its own.
#[test]
fn pack_of_another_release_names_the_path_of_a_server() {
    let existing = Existing::start("mariadb-10.11", &[("version", "10.6.18-MariaDB")]);
    shop(&existing);
    let (code, _, stderr) = run(&mut pack(&existing, &["--for", "2s"]));
    assert_eq!(code, Some(1), "{stderr}");
    for words in [
        "10.6.18-MariaDB (",
        "niagara advise shop.niagara --server PATH",
        "niagara tune PATH --pack shop.niagara",
        "nothing was done",
    ] {
        assert!(stderr.contains(words), "no {words} in\n{stderr}");
    }
}

/// What a dump says that waits for a lock until its time is over.
fn locked_dump(existing: &Existing) -> String {
    let mut holder =
        Admin::connect(&existing.server.over_socket("other"), PATIENCE).expect("a connection");
    holder.rows("LOCK TABLES other.t WRITE").expect("locked");
    let words = [
        "--for",
        "1s",
        "--schema",
        "shop,other",
        "--max-time",
        "4s",
        "--yes",
        "-o",
        "late.niagara",
    ];
    let (code, _, stderr) = run(&mut pack(existing, &words));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(!existing.place.folder.path().join("late.niagara").exists());
    holder.quit();
    stderr
}

/// A pack that is killed while its dump waits for a lock leaves neither the password nor the program that dumps.
fn killed_pack(existing: &Existing, settings: &str) {
    let were = existing.server.query(settings).expect("settings");
    let folder = existing.place.folder.path();
    let mut holder =
        Admin::connect(&existing.server.over_socket("other"), PATIENCE).expect("a connection");
    holder.rows("LOCK TABLES other.t WRITE").expect("locked");
    let told = folder.join("killed.stderr");
    let words = [
        "--for",
        "1h",
        "--schema",
        "shop,other",
        "--yes",
        "-o",
        "killed.niagara",
    ];
    let mut killed = pack(existing, &words)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&told).expect("a file"))
        .spawn()
        .expect("niagara starts");
    wait_until("a capture", PATIENCE, || {
        let said = std::fs::read_to_string(&told).expect("a file");
        assert_eq!(killed.try_wait().expect("a child"), None, "{said}");
        said.contains("capturing for")
    });
    let part = folder.join(format!(".killed.niagara.part-{}", killed.id()));
    assert!(part.join("pack").exists());
    assert!(!part.join("client.cnf").exists());
    let options = format!(".killed.niagara.part-{}/client.cnf", killed.id());
    let dumps = || processes(|command| command.contains(&options));
    assert_eq!(dumps().len(), 1);
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    wait_until("end of the dump", PATIENCE, || dumps().is_empty());
    wait_until("settings of before", PATIENCE, || {
        existing.server.query(settings).expect("settings") == were
    });
    holder.quit();
    std::fs::remove_dir_all(part).expect("removed");
}

/// A pack that something has happened to is refused, also by those who only look at it.
fn damaged(existing: &Existing) {
    let folder = existing.place.folder.path();
    let whole = std::fs::read(folder.join("shop.niagara")).expect("the pack");
    let mut other = whole.clone();
    // In the dump, which is the first member.
    other[700] ^= 1;
    for (name, bytes) in [
        ("other.niagara", &other[..]),
        ("short.niagara", &whole[..whole.len() - 2000]),
    ] {
        std::fs::write(folder.join(name), bytes).expect("written");
        let (code, stdout, stderr) = run(&mut existing.place.niagara(&["pack", "--show", name]));
        assert_eq!(code, Some(1), "{stdout}\n{stderr}");
        assert!(stderr.contains(name) && stderr.contains("copy"), "{stderr}");
    }
}

/// Data and capture that were made before are packed as they are; an unprepared backup is refused before anything is done.
fn packed_by_hand(existing: &Existing) {
    let folder = existing.place.folder.path();
    let cache = Cache::at(&folder.join("unpacked")).expect("a cache");
    let pack_file = folder.join("shop.niagara");
    let unpacked = unpack(&pack_file, &cache, &mut |_| {}).expect("unpacked");
    let (data, capture) = (unpacked.data(), unpacked.capture());
    let (data, capture) = (
        data.to_str().expect("a path"),
        capture.to_str().expect("a path"),
    );
    let said = run(&mut existing
        .place
        .niagara(&["capture", "export", capture, "--literals"]))
    .1;
    let is_of_neighbour = |line: &&str| line.contains(NEIGHBOUR) || line.contains("USE other");
    let of_neighbour = said.lines().find(is_of_neighbour);
    assert_eq!(of_neighbour, None);
    assert!(said.contains("orders"), "{said:.2000}");
    let words = [
        "--data",
        data,
        "--capture",
        capture,
        "--schema",
        "shop",
        "--yes",
        "-o",
        "hand.niagara",
    ];
    let (code, stdout, stderr) = run(&mut pack(existing, &words));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let again = unpack(&folder.join("hand.niagara"), &cache, &mut |_| {}).expect("unpacked");
    let read = |path: &str| std::fs::read(path).expect("readable");
    assert_eq!(
        std::fs::read(again.capture()).expect("readable"),
        read(capture)
    );
    assert_eq!(std::fs::read(again.data()).expect("readable"), read(data));
    packed_folder(existing, capture);

    let backup = folder.join("backup");
    std::fs::create_dir(&backup).expect("a folder");
    std::fs::write(
        backup.join("xtrabackup_checkpoints"),
        "backup_type = full-backuped\n",
    )
    .expect("written");
    std::fs::write(backup.join("ibdata1"), "").expect("written");
    let words = ["--data", "backup", "--yes", "-o", "raw.niagara"];
    let (code, _, stderr) = run(&mut pack(existing, &words));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("--prepare") && !stderr.contains("traffic:"),
        "{stderr}"
    );
}

/// The data directory of a server that was stopped is packed whole, and the capture's statements find their rows in it.
fn packed_folder(existing: &Existing, capture: &str) {
    let cold = Existing::start("mariadb-10.11", &[]);
    shop(&cold);
    let Existing { server, place } = cold;
    server.stop().expect("stopped");
    let data = place.folder.path().join("data");
    let words = ["--schema", "shop", "--yes", "-o", "folder.niagara"];
    let mut packing = pack(existing, &words);
    packing
        .arg("--data")
        .arg(&data)
        .args(["--capture", capture]);
    let (code, stdout, stderr) = run(&mut packing);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(stderr.contains("password hashes"), "{stderr}");

    let folder = existing.place.folder.path();
    let cache = Cache::at(&folder.join("unpacked")).expect("a cache");
    let unpacked = unpack(&folder.join("folder.niagara"), &cache, &mut |_| {}).expect("unpacked");
    let table = "shop/orders.ibd";
    assert_eq!(
        std::fs::read(unpacked.data().join(table)).expect("readable"),
        std::fs::read(data.join(table)).expect("readable")
    );
    // Nothing but the pack is needed.
    drop(place);
    let of_folder = replay(&existing.place, "folder.niagara");
    assert!(of_folder["replayed"].as_u64() > Some(0), "{of_folder}");
    let errors = |replay: &serde_json::Value| -> Vec<String> {
        let errors = replay["errors"].as_object().expect("errors by number");
        errors.keys().cloned().collect()
    };
    // What failed on the live server fails on every copy of its data.
    let of_dump = replay(&existing.place, "hand.niagara");
    assert_eq!(errors(&of_folder), errors(&of_dump), "{of_folder}");
    // No such database, no such table.
    for missing in ["1049", "1146"] {
        assert!(of_folder["errors"].get(missing).is_none(), "{of_folder}");
    }
}

/// How faithfully the capture of a pack is replayed on its data.
fn replay(place: &Place, pack: &str) -> serde_json::Value {
    let words = ["bench", pack, "--time", "1s", "--warm-up", "0", "--json"];
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let result: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    result["replay"].clone()
}

fn store_plan(place: &Place) -> serde_json::Value {
    let store = niagara_store::Store::open_read_only(&place.out().join("results.db"));
    let study = store.expect("results").study().expect("the study");
    serde_json::to_value(study.plan).expect("JSON")
}

fn tuned_elsewhere(existing: Existing) {
    let Existing { server, place } = existing;
    server.stop().expect("stopped");
    let words = ["bench", "shop.niagara", "--time", "1s", "--warm-up", "0"];
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(stderr.contains("unpacking shop.niagara"), "{stderr}");
    assert!(stdout.contains("MariaDB 10.11"), "{stdout}");

    let words = [
        "tune",
        "shop.niagara",
        "--budget",
        "1m",
        "--only",
        "malloc=jemalloc",
        "--out",
        "study",
        "--no-profile",
    ];
    let (code, stdout, stderr) = run(place.niagara(&words).args(SHORT_TUNING));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(!stderr.contains("unpacking"), "unpacked once:\n{stderr}");
    let app = "the captured clients use the Unix socket: --app socket";
    assert!(stderr.contains(app), "{stderr}");
    let origin = store_plan(&place)["origin"].to_string();
    for words in ["innodb_io_capacity", "333", "data.sql.zst", "shop"] {
        assert!(origin.contains(words), "no {words} in {origin}");
    }

    // Nobody wants it any more.
    let study = store_plan(&place);
    let data = study["origin"]["data"]["source"]["path"]
        .as_str()
        .expect("a path");
    let unpacked = std::path::Path::new(data).parent().expect("a folder");
    assert!(
        unpacked
            .parent()
            .is_some_and(|folder| folder.ends_with("packs")),
        "{data}"
    );
    std::fs::remove_dir_all(unpacked).expect("removed");

    // A copy that was cut short, and a file that is none.
    let path = place.folder.path().join("shop.niagara");
    let bytes = std::fs::read(&path).expect("the pack");
    std::fs::write(
        place.folder.path().join("half.niagara"),
        &bytes[..bytes.len() / 2],
    )
    .expect("written");
    for name in ["half.niagara", "none.niagara"] {
        let (code, _, stderr) = run(&mut place.niagara(&["tune", name]));
        assert_eq!(code, Some(1), "{name}");
        assert!(
            stderr.contains(name) && stderr.contains("remedy:"),
            "{stderr}"
        );
    }
}
