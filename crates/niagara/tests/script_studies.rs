//! Scripts for sysbench in comparisons, in studies' files and in tuning, on real servers.

mod common;

use std::path::PathBuf;

use common::{Place, run};
use niagara_model::Summary;
use niagara_store::Store;

/// A shop whose rows a module decides: events fail on data of other rows.
const SHOP: &str = r#"
sysbench.cmdline.options = { articles = {"articles of each kind", 5} }
local function connect() return sysbench.sql.driver():connect() end
local function rows() return require("kinds") * sysbench.opt.articles end
function prepare()
   local c = connect()
   c:query("CREATE TABLE shop (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
   c:bulk_insert_init("INSERT INTO shop (n) VALUES")
   for i = 1, rows() do c:bulk_insert_next("(" .. i .. ")") end
   c:bulk_insert_done()
end
function thread_init()
   con = connect()
   stmt = con:prepare("SELECT n FROM shop WHERE id = ?")
   id = stmt:bind_create(sysbench.sql.type.INT)
   stmt:bind_param(id)
   local there = con:query_row("SELECT COUNT(*) FROM shop")
   if there ~= nil then assert(tonumber(there) == rows(), "data of other rows: " .. there) end
end
function event()
   id:set(sysbench.rand.default(1, rows()))
   stmt:execute()
end
function thread_done() con:disconnect() end
"#;

fn shop(place: &Place, kinds: u32) -> PathBuf {
    let folder = place.folder.path();
    std::fs::write(folder.join("kinds.lua"), format!("return {kinds}")).expect("a module");
    let path = folder.join("shop.lua");
    std::fs::write(&path, SHOP).expect("a script");
    path
}

fn summary(place: &Place) -> Summary {
    Store::open_read_only(&place.out().join("results.db"))
        .expect("results")
        .summary()
        .expect("readable")
        .expect("a summary")
}

#[test]
fn a_script_compares_two_variants_on_the_data_that_it_prepares() {
    let place = Place::new();
    // The second time a module has changed that only `prepare` and the threads require: the data are made again.
    for (kinds, articles) in [(7, "5"), (8, "5"), (8, "6")] {
        let script = shop(&place, kinds);
        let _ = std::fs::remove_dir_all(place.out());
        let mut command = place.niagara(&["compare", "base", "transport=unix", "--workload"]);
        command
            .arg(script)
            .args(["--set", &format!("articles={articles}")])
            .args(["--threads", "4", "--couples", "3", "--slice", "150ms"])
            .args(["--warm-up", "300ms", "--max-duels", "2", "--to-the-end"])
            .args(["--budget", "5m", "--seed", "11", "--disturbance", "100%"])
            .arg("--out")
            .arg(place.out());
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{command:?}\n{stdout}{stderr}");
        assert!(stdout.contains("shop"), "{stdout}");
        assert_eq!(place.duels().len(), 2, "{stdout}{stderr}");
        assert!(place.servers().is_empty());
    }
}

#[test]
fn a_study_names_a_script_by_its_path() {
    let place = Place::new();
    shop(&place, 3);
    let file = place.folder.path().join("study.toml");
    let text = r#"kind = "ladder"
title = "t"
asked = "asked then"
changed = "changed since"
measured = "measured now"
threads = 2
duels = 2
couples = 2
slice = "100ms"
warm_up = "200ms"
disturbance = "100%"
budget = "4m"
seed = 3
[workload]
name = "./shop.lua"
options = { articles = 9 }
[[rungs]]
title = "Unix socket"
levers = ["transport=unix"]
"#;
    std::fs::write(&file, text).expect("a study");
    let mut command = place.niagara(&["run"]);
    command.arg(&file).arg("--out").arg(place.out());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let Summary::Ladder(ladder) = summary(&place) else {
        panic!("a ladder");
    };
    assert!(
        ladder.header.complete && ladder.rungs.len() == 1,
        "{stdout}"
    );

    std::fs::write(&file, text.replace("articles = 9", "artices = 9")).expect("a study");
    let (code, stdout, stderr) = run(place.niagara(&["run"]).arg(&file));
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(
        stderr.contains("artices") && stderr.contains("articles"),
        "{stderr}"
    );
}

#[test]
fn a_script_tunes_a_server() {
    let place = Place::new();
    let script = shop(&place, 4);
    let mut command = place.niagara(&["tune", "mariadb-10.11", "--workload"]);
    command
        .arg(script)
        .args([
            "--only",
            "transport-unix,adaptive-hash-on",
            "--threads",
            "2",
        ])
        .args(["--budget", "60s", "--slice", "100ms", "--couples", "2"])
        .args(["--screen-couples", "2", "--warm-up", "300ms", "--seed", "5"])
        .args(["--disturbance", "100%", "--out"])
        .arg(place.out());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{command:?}\n{stdout}{stderr}");
    let report = std::fs::read_to_string(place.out().join("report.html")).expect("a report");
    assert!(report.contains("shop"), "the workload's name");
    assert!(!place.duels().is_empty(), "{stdout}{stderr}");
}
