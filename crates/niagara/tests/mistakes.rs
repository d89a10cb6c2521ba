//! Wrong input gets the place, the cause and the remedy.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{Place, run};

fn refused(arguments: &[&str], words: &[&str]) {
    let place = Place::new();
    let (code, _, stderr) = run(&mut place.niagara(arguments));
    assert_ne!(code, Some(0), "{arguments:?} was accepted");
    for word in words {
        assert!(
            stderr.contains(word),
            "{arguments:?}: no {word:?} in\n{stderr}"
        );
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn an_unknown_server_is_named_with_the_known_ones() {
    refused(
        &["tune", "mariadb-10.10"],
        &["mariadb-10.10", "mariadb-10.11"],
    );
}

#[test]
fn an_unknown_lever_is_named_with_the_nearest() {
    refused(
        &["compare", "base", "malloc=jemaloc"],
        &["jemaloc", "jemalloc"],
    );
}

#[test]
fn a_wrong_flag_value_says_what_is_expected() {
    refused(&["tune", "--budget", "soon"], &["--budget", "10m"]);
    refused(&["tune", "--workload", "oltp"], &["oltp_read_only"]);
    refused(
        &["compare", "base", "base", "--alpha", "7"],
        &["--alpha", "0.05"],
    );
}

#[test]
fn what_a_newcomer_mistypes_is_answered_with_what_to_type() {
    for (arguments, words) in [
        (
            &["tune", "--budget", "10"][..],
            &["write 10m for minutes, 10s for seconds"][..],
        ),
        (&["compare", "base", "jemalloc"], &["`malloc-jemalloc`"]),
        (
            &["compare", "base", "innodb_flush_neighbors=0"],
            &["cfg.innodb_flush_neighbors=0"],
        ),
        (
            &["tune", "--only", "unix"],
            &["`transport-unix`", "niagara levers"],
        ),
        (
            &["tune", "--workload", "read_only"],
            &["did you mean `oltp_read_only`?"],
        ),
        (&["tune", "mysql"], &["did you mean mysql-9.7?"]),
        (
            &["tune", "/no/such/mariadbd"],
            &["/no/such/mariadbd", "remedy: "],
        ),
        (
            &["bench", "oltp_read_only", "--host", "127.0.0.1:1"],
            &["write --host 127.0.0.1 --port 1"],
        ),
        // What went wrong comes before what to do.
        (
            &["run", "none.toml"],
            &["none.toml: No such file or directory (os error 2)\nremedy: "],
        ),
    ] {
        refused(arguments, words);
    }
}

/// The others are read all the same, before it and after it.
#[test]
fn a_study_that_cannot_be_read_hides_no_mistake_of_another() {
    let place = Place::new();
    let wrong = place.folder.path().join("wrong.toml");
    std::fs::write(&wrong, "kind = \"lader\"\n").expect("room");
    let wrong = wrong.display().to_string();
    let words = [
        "none.toml:1:1: cannot read the study: No such file",
        "remedy: name a file such as",
        "did you mean `ladder`?",
    ];
    refused(&["study", "check", "none.toml", &wrong], &words);
    refused(&["study", "check", &wrong, "none.toml"], &words);
}

/// Before a server is fetched, let alone an hour spent.
#[test]
fn builds_that_cannot_be_made_here_end_a_tuning_at_once() {
    let place = Place::new();
    let nothing = tempfile::tempdir().expect("a folder");
    let mut command = place.niagara(&["tune", "mariadb-10.11", "--with-builds"]);
    let (code, _, stderr) = run(command.env("PATH", nothing.path()));
    assert_eq!(code, Some(1), "{stderr}");
    for words in [
        "no server can be built here",
        "building takes cmake",
        "\nremedy: apt install cmake; or leave out --with-builds",
    ] {
        assert!(stderr.contains(words), "{words}\n{stderr}");
    }
    let old = nothing.path().join("mariadbd");
    let says = "#!/bin/sh\necho 'mariadbd  Ver 10.5.29-MariaDB for debian-linux-gnu on x86_64'\n";
    std::fs::write(&old, says).expect("written");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let old = old.display().to_string();
    refused(
        &["tune", &old, "--with-builds"],
        &[
            "MariaDB 10.5.29",
            "mariadb-10.11, mariadb-11.8",
            "\nremedy: ",
        ],
    );
    refused(
        &["tune", "mariadb-10.10", "--with-builds"],
        &["no server is called `mariadb-10.10`"],
    );
}

/// Whoever says how many nodes wants nodes: a study that quietly runs here for hours is none of that.
#[test]
fn options_for_nodes_without_nodes_are_refused() {
    let compare = ["compare", "base", "base"];
    let build = ["server", "build", "mariadb-10.11"];
    let run_file = ["run", "none.toml"];
    for (command, options, words) in [
        (
            &compare[..],
            &["--nodes", "4"][..],
            &["--nodes:", "--on slurm or --on folder"][..],
        ),
        (
            &compare,
            &["--on", "local", "--try-nodes"],
            &["--try-nodes:"],
        ),
        (&["tune"], &["--shared", "/tmp/x"], &["--shared:"]),
        (&["sweep"], &["--node-dir", "/tmp/x"], &["--node-dir:"]),
        (&compare, &["--silence", "8s"], &["--silence:"]),
        (
            &run_file,
            &["--job-time", "4h"],
            &["--job-time:", "add --on slurm ("],
        ),
        (&build, &["--sbatch=--account=db"], &["--sbatch:"]),
        (
            &build,
            &["--nodes", "1", "--constraint", "skylake"],
            &["--nodes, --constraint:", "leave out --nodes, --constraint"],
        ),
        (
            &compare,
            &["--on", "folder", "--nodes", "2", "--constraint", "skylake"],
            &[
                "error: --constraint:",
                "you start the workers yourself",
                "say --on slurm",
            ],
        ),
        (
            &compare,
            &["--on", "folder", "--worker-argument", "--one-at-a-time"],
            &["--worker-argument:"],
        ),
    ] {
        let place = Place::new();
        let (code, _, stderr) = run(place.niagara(command).args(options));
        assert_eq!(code, Some(2), "{options:?}: {stderr}");
        for word in words.iter().chain(&["\nremedy: ", "or leave out --"]) {
            assert!(
                stderr.contains(word),
                "{options:?}: no {word:?} in\n{stderr}"
            );
        }
    }
}

#[test]
fn a_level_that_a_study_does_not_have_is_told_with_a_remedy() {
    let study = |name: &str| format!("{}/../../studies/{name}", env!("CARGO_MANIFEST_DIR"));
    for (name, level, cause) in [
        ("t2000-ladder.toml", "a=b", "this study is a ladder"),
        (
            "compiler-matrix.toml",
            "compilr=clang",
            "did you mean `compiler`?",
        ),
        (
            "compiler-matrix.toml",
            "compiler=clangg",
            "no level of the axis compiler is called `clangg`",
        ),
    ] {
        refused(
            &["run", &study(name), "--plan", "--level", level],
            &[name, cause, "\nremedy: ", "--level"],
        );
    }
}

#[test]
fn a_report_of_nothing_says_what_to_name() {
    refused(
        &["report", "no-such-folder"],
        &["no-such-folder", "results.db"],
    );
}

#[test]
fn a_lever_file_with_a_mistake_is_shown_with_its_line() {
    let place = Place::new();
    let levers = place.folder.path().join("levers");
    std::fs::create_dir(&levers).expect("a folder");
    std::fs::write(
        levers.join("mine.toml"),
        "title = \"Mine\"\ntheme = \"tables and caches\"\nrisk = \"nome\"\nwhy = \"To see.\"\nsource = \"None.\"\n[change]\nconfig = { join_buffer_size = \"1M\" }\n",
    )
    .expect("a file");
    let (code, _, stderr) = run(place
        .niagara(&["compare", "base", "mine", "--levers"])
        .arg(&levers));
    assert_eq!(code, Some(1), "{stderr}");
    for word in ["mine.toml:3", "nome", "none"] {
        assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
    }
}

/// Refused before a server is fetched or started: an option that the workload would not see, a script without a transaction.
#[test]
fn what_a_workload_of_ones_own_cannot_take_is_refused() {
    let place = Place::new();
    let file = |name: &str, text: &str| {
        std::fs::write(place.folder.path().join(name), text).expect("a file");
    };
    file(
        "own.toml",
        "title = \"own\"\n[[table]]\nname = \"t\"\nrows = 0\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY)\"\n\
         [[transaction]]\nname = \"a\"\nstatements = [\"SELECT 1\"]\n",
    );
    file("idle.lua", "function thread_init() end\n");
    for (arguments, words) in [
        (
            &["./own.toml", "--table-size", "5"][..],
            ["./own.toml", "takes no --table-size"],
        ),
        (&["tpcc", "--tables", "3"], ["tpcc", "takes no --tables"]),
        (&["./idle.lua"], ["idle.lua", "no function event()"]),
    ] {
        let (code, _, stderr) = run(place.niagara(&["bench"]).args(arguments));
        assert_eq!(code, Some(1), "{stderr}");
        for word in words.into_iter().chain(["\nremedy: "]) {
            assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
        }
    }
}

#[test]
fn a_lever_is_added_with_one_file() {
    let place = Place::new();
    let levers = place.folder.path().join("levers");
    std::fs::create_dir(&levers).expect("a folder");
    std::fs::write(
        levers.join("mine.toml"),
        "title = \"Mine\"\ntheme = \"tables and caches\"\nrisk = \"none\"\nwhy = \"To see.\"\nsource = \"None.\"\n[change]\nconfig = { join_buffer_size = \"1M\" }\n",
    )
    .expect("a file");
    let (code, _, stderr) = run(place
        .niagara(&[
            "compare",
            "base",
            "mine",
            "--threads",
            "2",
            "--table-size",
            "1000",
            "--couples",
            "2",
            "--slice",
            "100ms",
            "--warm-up",
            "100ms",
            "--max-duels",
            "2",
            "--disturbance",
            "100%",
            "--json",
            "--levers",
        ])
        .arg(&levers)
        .arg("--out")
        .arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(place.duels().len(), 2);
}

#[test]
fn an_option_that_the_server_refuses_is_shown_with_its_words() {
    refused(
        &[
            "compare",
            "base",
            "cfg.innodb_no_such_thing=1",
            "--threads",
            "2",
            "--table-size",
            "1000",
        ],
        &["innodb_no_such_thing", "unknown"],
    );
}

/// Before a server is started with it, and before any time passes.
#[test]
fn a_mistyped_variable_is_answered_with_the_one_that_was_meant() {
    refused(
        &[
            "compare",
            "base",
            "cfg.innodb_flush_neighbours=0",
            "--table-size",
            "1000",
            "--budget",
            "1h",
        ],
        &[
            "mariadb-10.11 has no variable innodb_flush_neighbours",
            "did you mean innodb_flush_neighbors?",
        ],
    );
}

#[test]
fn a_server_named_by_a_relative_path_is_the_same_study_from_anywhere() {
    let place = Place::new();
    let installed = niagara_server::installed(&niagara_server::Cache::open().expect("a cache"))
        .expect("readable")
        .into_iter()
        .find(|install| install.name == "mariadb-10.11");
    let server = match installed {
        Some(install) => install.server,
        None => {
            let (code, stdout, stderr) =
                run(&mut place.niagara(&["server", "get", "mariadb-10.11"]));
            assert_eq!(code, Some(0), "{stderr}");
            stdout.lines().last().expect("a path").trim().into()
        }
    };
    // As many steps up as there are folders, then down from the root.
    let here = place.folder.path().canonicalize().expect("there");
    let up: std::path::PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(server.strip_prefix("/").expect("absolute"));
    let (code, _, stderr) = run(place
        .niagara(&[
            "tune",
            "--budget",
            "10s",
            "--threads",
            "2",
            "--table-size",
            "1000",
            "--only",
            "transport-unix",
            "--out",
        ])
        .arg(place.out())
        .arg(&relative));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("too short"), "{stderr}");
    let store = niagara_store::Store::open_read_only(&place.out().join("results.db"));
    let plan = store.and_then(|store| store.study()).expect("begun").plan;
    assert_eq!(plan["server"].as_str(), server.to_str());
}

#[test]
fn a_log_that_is_not_there_says_where_logs_are() {
    refused(
        &["capture", "import", "/no/such.log"],
        &[
            "/no/such.log",
            "remedy: ",
            "SHOW VARIABLES LIKE '%log_file'",
        ],
    );
    refused(
        &["capture", "info", "/no/such.capture"],
        &["/no/such.capture", "remedy: "],
    );
}

#[test]
fn a_training_on_what_is_not_there_says_what_can_be_named() {
    refused(
        &["server", "build", "--pgo", "oltp_reed_only"],
        &["oltp_reed_only", "did you mean `oltp_read_only`?", "mixed"],
    );
    refused(
        &["server", "build", "--pgo", "./no-such.toml"],
        &["no-such.toml", "remedy"],
    );
    refused(
        &["server", "build", "--pgo", "report/./shop.json"],
        &["./shop.json", ".toml, .lua, .capture"],
    );
    refused(
        &["server", "build", "--pgo", "report", "--train-part", "half"],
        &["half", "first:50%"],
    );
    refused(
        &["compare", "base", "build.pgo=./no-such.capture"],
        &["no-such.capture", "remedy"],
    );
}

#[test]
fn a_workload_a_lever_or_a_server_that_is_not_there_is_answered_with_what_is() {
    for (arguments, words) in [
        (
            &["tune", "--workload", "./none.toml"][..],
            &["./none.toml", "remedy: name a file", "oltp_read_only"][..],
        ),
        (
            &["tune", "--workload", "oltp_reed_only"],
            &["did you mean `oltp_read_only`?", "./oltp_reed_only.toml"],
        ),
        (
            &["compare", "base", "transport=unx"],
            &["transport has no level `unx`", "did you mean `unix`?"],
        ),
        (
            &["compare", "base", "transport=ssl"],
            &["transport has no level `ssl`", "levels: unix, tls, default"],
        ),
        (
            &["compare", "mariadb-10.12", "base"],
            &["remedy: write a server (mariadb-10.11"],
        ),
        (
            &["tune", "--only", "transport-unx"],
            &["transport-unx", "`transport-unix`"],
        ),
        (
            &[
                "bench",
                "oltp_read_only",
                "--host",
                "127.0.0.1",
                "--port",
                "1",
            ],
            &["127.0.0.1:1", "refused", "remedy: check --host and --port"],
        ),
    ] {
        refused(arguments, words);
    }
}

#[test]
fn a_comparison_without_a_duel_is_no_verdict() {
    let words = [
        "compare",
        "base",
        "cfg.innodb_io_capacity=400",
        "--max-duels",
        "1",
        "--budget",
        "1s",
        "--table-size",
        "1000",
    ];
    refused(
        &words,
        &["no duel was measured", "remedy: a longer --budget"],
    );
}

#[test]
fn trimmed_series_are_refused_where_the_time_cannot_hold_them() {
    let trimmed = ["compare", "base", "base", "--protocol", "trimmed"];
    let slow = [
        &trimmed[..],
        &["--budget", "1m", "--slice", "10s", "--warm-up", "3s"],
    ]
    .concat();
    // Ten times a start of 1 s, a warm-up of 3 s and a run of 10 s.
    let words = [
        "a budget of 1 min is too short for the protocol `trimmed`",
        "ten runs take about 2 min 2",
        "remedy: --budget 3m",
    ];
    refused(&slow, &words);
    let pipeline = [&trimmed[..], &["--fail-if", "slower>2%"]].concat();
    refused(&pipeline, &["--fail-if goes by an interval", "remedy: "]);
    let by_cpu = [&trimmed[..], &["--goal", "cpu"]].concat();
    refused(
        &by_cpu,
        &["compares throughput alone", "remedy: leave out the goal"],
    );
}

#[test]
fn a_cache_that_cannot_be_written_names_the_variable() {
    let place = Place::new();
    let file = place.folder.path().join("file");
    std::fs::write(&file, "in the way").expect("a file");
    for (name, command) in [
        ("NIAGARA_CACHE", &["tune", "mariadb-10.11"][..]),
        ("NIAGARA_WORK", &["compare", "base", "base"]),
    ] {
        let (code, _, stderr) = run(place.niagara(command).env(name, file.join("inside")));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("cannot create the folder"), "{stderr}");
        assert!(
            stderr.contains("\nremedy: ") && stderr.contains(name),
            "{stderr}"
        );
    }
}

#[test]
fn a_mirror_that_is_out_of_reach_names_the_network_and_the_variable() {
    let place = Place::new();
    let (code, _, stderr) = run(place
        .niagara(&["server", "get", "mariadb-10.11"])
        .env("NIAGARA_CACHE", place.folder.path().join("cache"))
        .env("NIAGARA_DEBIAN_MIRROR", "http://127.0.0.1:1/debian"));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("http://127.0.0.1:1/debian"), "{stderr}");
    assert!(stderr.contains("\nremedy: check the network"), "{stderr}");
    assert!(stderr.contains("NIAGARA_DEBIAN_MIRROR"), "{stderr}");
}

/// A command with a folder that has room for `bytes` alone, gone with its process; `None`, and why, where it cannot be had.
fn with_little_room(folder: &std::path::Path, bytes: &str, command: &Command) -> Option<Command> {
    std::fs::create_dir_all(folder).expect("a folder");
    let mount = |then: &str| {
        let mut unshare = Command::new("unshare");
        if !nix::unistd::geteuid().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        let script = format!("mount -t tmpfs -o size={bytes} none \"$0\" && {then}");
        unshare.args(["--mount", "sh", "-c", &script]).arg(folder);
        unshare
    };
    let tried = mount("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a small file system cannot be mounted here (unshare, mount)");
        return None;
    }
    let mut inside = mount("exec \"$@\"");
    inside.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        inside.env(name, value.unwrap_or_default());
    }
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    Some(inside)
}

#[test]
fn a_full_disk_is_named_with_what_to_do() {
    let place = Place::new();
    let small = place.folder.path().join("small");
    let mut clones = place.small_compare();
    clones.env("NIAGARA_WORK", &small);
    let mut fetched = place.niagara(&["server", "get", "mariadb-10.11"]);
    fetched.env("NIAGARA_CACHE", &small);
    for (command, bytes, words) in [
        (clones, "24m", ["no room to clone", "NIAGARA_WORK"]),
        (fetched, "10m", ["No space left on device", "NIAGARA_CACHE"]),
    ] {
        let Some(mut command) = with_little_room(&small, bytes, &command) else {
            return;
        };
        let (code, _, stderr) = run(&mut command);
        assert_eq!(code, Some(1), "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
        }
        assert!(stderr.contains("\nremedy: make room"), "{stderr}");
    }
}

/// The results have room, the page has not: what was measured is told and kept.
#[test]
fn a_page_that_has_no_room_loses_no_result() {
    let place = Place::new();
    let compare = place.small_compare_of(2, "5m");
    let Some(mut command) = with_little_room(&place.out(), "100k", &compare) else {
        return;
    };
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stdout.contains("2 duels") || stdout.contains("2 fresh duels"),
        "{stdout}"
    );
    assert!(stderr.contains("the results are kept"), "{stderr}");
    assert!(stderr.contains("--format files"), "{stderr}");
}
