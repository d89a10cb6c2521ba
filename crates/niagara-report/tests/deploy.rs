//! What a user installs.

use std::collections::BTreeMap;

use niagara_model::{
    DeployBuild, DeployMalloc, DeployRewrite, DeployStart, Deployment, Follows, HeldBack,
    Overridden, Releases, TargetMachine, TargetSize,
};
use niagara_report::{
    CheckInWords, DeployInput, DeployPlace, DeployRung, deploy, deploy_elsewhere,
};
use niagara_settings::{ProcessSettings, Scheduling, TransportKind};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

fn over(transport: TransportKind) -> ProcessSettings {
    ProcessSettings {
        transport: Some(transport),
        ..ProcessSettings::default()
    }
}

fn rung(title: &str, effect: &str, why: &str, sets: &[&str]) -> DeployRung {
    DeployRung {
        title: title.into(),
        why: why.into(),
        effect: effect.into(),
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        may_do_nothing: false,
    }
}

fn everything() -> DeployInput {
    DeployInput {
        server: "mariadb-10.11".into(),
        variant: Deployment {
        family: "mariadb".into(),
        config: map(&[
            ("innodb_buffer_pool_size", "8G"),
            ("thread_handling", "pool-of-threads"),
            ("large_pages", "ON"),
            ("init_connect", "SET @x = '#1'; SELECT \"a\\b\""),
        ]),
        runtime: ProcessSettings {
            malloc: Some("jemalloc".into()),
            environment: map(&[("MALLOC_CONF", "dirty_decay_ms:1000,thp:50%")]),
            server_cpus: Some(vec![0, 1, 2, 3, 8]),
            scheduling: Some(Scheduling::Nice(-5)),
            ..over(TransportKind::Unix)
        },
        malloc: Some(DeployMalloc {
            name: "jemalloc".into(),
            package: Some("libjemalloc2".into()),
            soname: "libjemalloc.so.2".into(),
        }),
        huge_pages: true,
        host_steps: vec!["Turn off the CPU's deeper sleep states: `sudo cpupower idle-set -D 10`.".into()],
        steps_undo: vec!["`sudo cpupower idle-set -E`".into()],
        ..Deployment::default()
        },
        rungs: vec![
            rung("Unix socket instead of TCP", "× 1.173 [1.158, 1.188], proven, n = 12", "Loopback TCP costs two passes through the network stack.", &[]),
            rung("Thread pool", "× 1.031 [1.021, 1.042], screened, n = 24", "Fewer switches.", &["thread-handling"]),
            rung("jemalloc", "× 1.012 [1.004, 1.020], proven, n = 32", "Less contention.", &["LD_PRELOAD", "MALLOC_CONF"]),
        ],
        evidence: "mariadb-10.11 is 31 % faster with 4 levers for oltp_read_only, 32 threads: × 1.31 [1.28, 1.35], proven by 12 fresh duels".into(),
        risk: Some(
            "The server takes more memory (buffer pool). Durability is untouched.\nOver the socket an account logs in as name@localhost.\nTcmalloc \
             gives memory back late: watch the server's resident memory."
                .into(),
        ),
        checks: vec![check("same answers", Some(true)), check("crash recovery", None)],
        conditions: Some("the load generator on the same machine, over loopback TCP at the start".into()),
        slices: None,
        socket_alone: Some("× 1.173 [1.158, 1.188], proven, n = 12".into()),
        socket_alone_cpu: Some("× 0.86 [0.84, 0.88]".into()),
        over_socket: Some("× 1.03 [1.01, 1.06]".into()),
        cpu_over_socket: None,
        cpu: Some("× 0.896 [0.880, 0.913]".into()),
    }
}

fn check(part: &str, passed: Option<bool>) -> CheckInWords {
    CheckInWords {
        part: part.into(),
        passed,
        words: match passed {
            Some(_) => "2143 statements".into(),
            None => "no room for a copy".into(),
        },
    }
}

fn shown(input: &DeployInput) -> String {
    deploy(input)
        .iter()
        .map(|(path, text)| format!("==> {path}\n{text}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_variant_with_everything() {
    insta::assert_snapshot!(shown(&everything()));
}

fn elsewhere(input: &DeployInput, place: DeployPlace) -> String {
    let files = deploy_elsewhere(input, place);
    let files = files
        .iter()
        .map(|(name, text)| format!("==> {name}\n{text}"));
    files.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_playbook_copies_what_is_installed_by_hand() {
    insta::assert_snapshot!(elsewhere(&everything(), DeployPlace::Ansible));
}

#[test]
fn a_patch_for_an_operator_and_a_config_map() {
    insta::assert_snapshot!(elsewhere(&everything(), DeployPlace::Kubernetes));
    let mysql = DeployInput {
        server: "mysql-9.7".into(),
        variant: Deployment {
            family: "mysql".into(),
            config: map(&[("innodb_log_writer_threads", "OFF")]),
            ..Deployment::default()
        },
        ..DeployInput::default()
    };
    let text = elsewhere(&mysql, DeployPlace::Kubernetes);
    let patch = "spec:\n  mysql:\n    configuration: |\n      [mysqld]\n";
    assert!(text.contains(patch), "{text}");
}

#[test]
fn a_parameter_group_says_what_it_cannot_set() {
    let text = elsewhere(&everything(), DeployPlace::Rds);
    insta::assert_snapshot!(text);
    let nothing = DeployInput::default();
    assert!(deploy_elsewhere(&nothing, DeployPlace::Rds).is_empty());
}

#[test]
fn a_variant_of_mysql_with_one_variable() {
    let input = DeployInput {
        server: "mysql-9.7".into(),
        variant: Deployment {
            family: "mysql".into(),
            config: map(&[("innodb_log_writer_threads", "OFF")]),
            runtime: over(TransportKind::Tcp),
            ..Deployment::default()
        },
        evidence: "× 1.02 [1.01, 1.03]".into(),
        ..DeployInput::default()
    };
    insta::assert_snapshot!(shown(&input));
}

#[test]
fn a_difference_against_the_users_file_names_the_lines_that_it_overrides() {
    let mut input = DeployInput {
        server: "mariadb-10.11".into(),
        variant: Deployment {
            family: "mariadb".into(),
            config: map(&[
                ("innodb_io_capacity", "2000"),
                ("skip_log_bin", ""),
                ("table_open_cache", "8000"),
                ("thread_handling", "pool-of-threads"),
            ]),
            flags: vec!["skip_log_bin".into()],
            runtime: over(TransportKind::Tcp),
            start: Some(DeployStart {
                from: "/etc/mysql/my.cnf".into(),
                overrides: BTreeMap::from([(
                    "innodb_io_capacity".to_owned(),
                    Overridden {
                        value: "200".into(),
                        place: "/etc/mysql/my.cnf line 14".into(),
                    },
                )]),
                restated: vec!["table_open_cache".into()],
                held_back: vec![HeldBack::NotLowered {
                    variable: "innodb_buffer_pool_size".into(),
                    value: "9G".into(),
                    yours: "64G".into(),
                    place: "/etc/mysql/my.cnf line 9".into(),
                }],
                stronger: Vec::new(),
                file: Some("/etc/mysql/conf.d/zz-niagara.cnf".into()),
                included_by: None,
            }),
            ..Deployment::default()
        },
        evidence: "× 1.05 [1.03, 1.07]".into(),
        ..DeployInput::default()
    };
    insta::assert_snapshot!(shown(&input));
    let start = input.variant.start.as_mut().expect("given above");
    start.file = Some("/etc/mysql/niagara.cnf".into());
    start.included_by = Some("/etc/mysql/my.cnf".into());
    let text = shown(&input);
    for line in [
        "else\n     sudo install -m 644 60-niagara.cnf /etc/mysql/niagara.cnf && \
         printf '\\n%s\\n' '!include /etc/mysql/niagara.cnf' | sudo tee -a /etc/mysql/my.cnf > /dev/null\n   fi",
        "sudo sed -i --follow-symlinks '\\#^!include /etc/mysql/niagara.cnf$#d' /etc/mysql/my.cnf",
        "sudo rm /etc/mysql/niagara.cnf",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn an_engine_without_transactions_is_named_where_tables_are_converted() {
    let page = |engine: &str| {
        let input = DeployInput {
            server: "mariadb-10.11".into(),
            variant: Deployment {
                family: "mariadb".into(),
                engine: Some(engine.into()),
                runtime: over(TransportKind::Tcp),
                ..Deployment::default()
            },
            ..DeployInput::default()
        };
        shown(&input)
    };
    for (engine, is_warned) in [("Aria", true), ("MyISAM", true), ("ROCKSDB", false)] {
        let page = page(engine);
        assert!(page.contains(&format!("ENGINE = {engine}")), "{page}");
        let warning = format!("**{engine} has no transactions**");
        assert_eq!(page.contains(&warning), is_warned, "{page}");
    }
}

/// `scp -r` puts the second round into the folder of the first, whose files would then be installed again.
#[test]
fn a_second_round_does_not_install_the_first_ones_files() {
    let mut input = everything();
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let text = readme(&input);
    assert!(
        text.contains(
            "`ssh SERVER test ! -e niagara-deploy && scp -r deploy SERVER:niagara-deploy`"
        ),
        "{text}"
    );
    let last = "Finally, once all of it is undone: `cd .. && rm -r niagara-deploy`.\n";
    assert!(text.ends_with(last), "{text}");
    // Statements alone have such a section, too.
    input.variant = Deployment {
        family: "mariadb".into(),
        schema: vec!["ALTER TABLE `t` ADD INDEX `i` (`a`)".into()],
        schema_undo: vec!["ALTER TABLE `t` DROP INDEX `i`".into()],
        runtime: over(TransportKind::Tcp),
        ..Deployment::default()
    };
    let text = readme(&input);
    let (_, undo) = text.split_once("\n## Undo\n\n").expect("a section");
    assert!(undo.contains("DATABASE < undo.sql") && undo.ends_with(last));
}

#[test]
fn nothing_to_install_is_said() {
    let files = deploy(&DeployInput::default());
    assert_eq!(files.len(), 1);
    assert!(files[0].1.contains("nothing to install"));
}

/// Who has nothing to install is not sent through an installation.
#[test]
fn the_socket_alone_is_one_line_of_the_application() {
    let input = DeployInput {
        server: "mariadb-10.11".into(),
        variant: Deployment {
            family: "mariadb".into(),
            runtime: over(TransportKind::Unix),
            ..Deployment::default()
        },
        rungs: vec![rung(
            "Unix socket instead of TCP",
            "× 1.08 [1.05, 1.11], proven, n = 9",
            "On one host a Unix socket skips the whole\nTCP stack.",
            &[],
        )],
        evidence: "mariadb-10.11 is 8.4 % faster with 1 lever".into(),
        ..DeployInput::default()
    };
    let files = deploy(&input);
    assert_eq!(files.len(), 1);
    let readme = &files[0].1;
    for part in [
        "define('DB_HOST', 'localhost');",
        "'localhost:/run/mysqld/mysqld.sock'",
        "mysqli.default_socket = /run/mysqld/mysqld.sock",
        "mysql:unix_socket=/run/mysqld/mysqld.sock",
        "socketPath: ",
        "socket factory",
        "-v /run/mysqld:/run/mysqld",
        "`127.0.0.1:51734`",
        "skips the whole TCP stack.",
        "CREATE USER 'NAME'@'localhost'",
        "The server needs no restart.",
    ] {
        assert!(readme.contains(part), "{part}\n{readme}");
    }
    for other in [
        "mariadb.service",
        "There is nothing to install",
        "systemctl restart",
        "systemctl show",
        "may stay on the socket",
        "sizes and counts",
    ] {
        assert!(!readme.contains(other), "{other}\n{readme}");
    }
    insta::assert_snapshot!(readme);
}

#[test]
fn values_with_line_breaks_stay_on_one_line() {
    let mut input = everything();
    input.variant.config = map(&[("a\n[client]", "x\n[client]\npassword=1")]);
    input.variant.runtime.environment = map(&[("A", "x\nExecStart=/bin/sh")]);
    input.evidence = "two\nlines".into();
    for (path, text) in deploy(&input) {
        if path != "README.md" {
            for line in text.lines() {
                assert!(
                    !line.starts_with("[client]") && !line.starts_with("ExecStart"),
                    "{path}: {line}"
                );
            }
        }
    }
}

fn built(server: &str, family: &str, binary: &str) -> DeployInput {
    DeployInput {
        server: server.into(),
        variant: Deployment {
            family: family.into(),
            runtime: over(TransportKind::Tcp),
            built: Some(DeployBuild {
                prefix: "/cache/builds/1/prefix".into(),
                binary: binary.into(),
                one_line: "gcc, PGO on oltp_read_only".into(),
                recipe: "{}".into(),
                releases: None,
                sha256: None,
            }),
            ..Deployment::default()
        },
        ..DeployInput::default()
    }
}

/// It comes without the plugins that the package has in files: what is loaded is asked before, and compared after.
#[test]
fn a_built_server_says_that_it_has_no_plugins() {
    for (name, input) in [
        (
            "mariadb",
            built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd"),
        ),
        ("mysql", built("mysql-9.7", "mysql", "usr/sbin/mysqld")),
    ] {
        insta::assert_snapshot!(format!("a_built_server_of_{name}"), shown(&input));
    }
}

#[test]
fn a_built_server_comes_with_how_to_install_and_undo_it() {
    let files = deploy(&built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd"));
    let file = |name: &str| &files.iter().find(|(file, _)| file == name).expect(name).1;
    let readme = file("README.md");
    for line in [
        "sudo install -d -m 755 /opt/niagara",
        "sudo tar -C /opt/niagara -xzf server.tar.gz",
        "/opt/niagara/usr/sbin/mariadbd --no-defaults --version",
        "sudo rm -r /opt/niagara",
        "PGO on oltp_read_only",
        // Where the package was built to have its data, the built server would not find them.
        "-e \"SELECT CONCAT('NIAGARA_DATADIR=', QUOTE(@@datadir)); SELECT CONCAT('NIAGARA_SOCKET=', QUOTE(@@socket))\" | sudo tee \
         /opt/niagara/paths",
        "--datadir=\"$NIAGARA_DATADIR\" --socket=\"$NIAGARA_SOCKET\" --verbose --help",
    ] {
        assert!(readme.contains(line), "{line}\n{readme}");
    }
    let unit = file("niagara.conf");
    assert!(
        unit.contains(
            "EnvironmentFile=/opt/niagara/paths\nExecStart=\nExecStart=/opt/niagara/usr/sbin/mariadbd --basedir=/opt/niagara/usr "
        ),
        "{unit}"
    );
    assert!(
        unit.contains(" --datadir=${NIAGARA_DATADIR} --socket=${NIAGARA_SOCKET} $MYSQLD_OPTS"),
        "{unit}"
    );
    assert_eq!(file("recipe.json"), "{}");
    assert!(!readme.contains("/cache/builds"), "{readme}");
}

#[test]
fn a_built_server_that_is_older_than_the_one_in_place_says_so_first() {
    let mut input = built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd");
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let mut of = |release: &str| {
        let server = input.variant.built.as_mut().expect("a build");
        server.releases = Some(Releases {
            built: release.into(),
            beside: Some("10.11.19-MariaDB-0+deb12u1".into()),
        });
        readme(&input)
    };
    let older = of("10.11.9-MariaDB");
    let first: String = older.lines().take(5).collect();
    assert!(
        first.contains("older release than 10.11.19-MariaDB-0+deb12u1")
            && first.contains("--refresh-source"),
        "{older}"
    );
    assert!(older.contains("release 10.11.9-MariaDB"), "{older}");
    let same = of("10.11.19-MariaDB");
    assert!(
        !same.contains("older release") && same.contains("release 10.11.19-MariaDB"),
        "{same}"
    );
}

/// What the package was built to know: LOAD DATA INFILE, INTO OUTFILE and mysqldump --tab fail in a build that is not told.
#[test]
fn a_built_mysql_is_told_where_statements_may_read_and_write_files() {
    let files: BTreeMap<String, String> = deploy(&built("mysql-9.7", "mysql", "usr/sbin/mysqld"))
        .into_iter()
        .collect();
    let (readme, unit) = (&files["README.md"], &files["niagara.conf"]);
    for line in [
        "; SELECT CONCAT('NIAGARA_FILES=', QUOTE(@@secure_file_priv))\" | sudo tee /opt/niagara/paths",
        "--secure-file-priv=\"$NIAGARA_FILES\" --user=mysql --validate-config",
        "| grep -E \"^(datadir|secure-file-priv|socket) \"",
    ] {
        assert!(readme.contains(line), "{line}\n{readme}");
    }
    assert!(
        unit.contains(" --socket=${NIAGARA_SOCKET} --secure-file-priv=${NIAGARA_FILES}\n"),
        "{unit}"
    );
    let of_mariadb = shown(&built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd"));
    assert!(!of_mariadb.contains("NIAGARA_FILES"), "{of_mariadb}");
}

/// Root may log in by a plugin that the built server has not: the checks and the undo need somebody who can.
#[test]
fn an_administrator_is_made_before_a_built_mysql_starts() {
    let readme = deploy(&built("mysql-9.7", "mysql", "usr/sbin/mysqld"))
        .swap_remove(0)
        .1;
    let place = |words: &str| {
        readme
            .find(words)
            .unwrap_or_else(|| panic!("{words}\n{readme}"))
    };
    let client = "sudo mysql --defaults-file=/root/niagara-admin.cnf";
    let order = [
        place("CREATE USER IF NOT EXISTS niagara_admin@localhost IDENTIFIED BY"),
        place(&format!("{client} -N -B -e 'SELECT CURRENT_USER()'")),
        place("sudo systemctl restart mysql"),
        place("## Check"),
        place(&format!("{client} -N -B -e \"SELECT PLUGIN_NAME")),
        place("## Undo"),
        place(
            "sudo mysql -e 'DROP USER IF EXISTS niagara_admin@localhost' && \\\n  sudo rm -f /root/niagara-admin.cnf",
        ),
    ];
    assert!(order.is_sorted(), "{order:?}\n{readme}");
    for words in [
        "X Protocol",
        "loose-mysqlx",
        "PLUGIN_NAME = 'mysqlx'",
        // Loaded by a file beside the packaged binary: no table of plugins or components has it.
        "-e \"SELECT * FROM performance_schema.keyring_component_status\"",
        "prints a line, keep the packaged server",
    ] {
        assert!(readme.contains(words), "{words}\n{readme}");
    }
    let of_mariadb = shown(&built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd"));
    assert!(!of_mariadb.contains("niagara-admin") && !of_mariadb.contains("keyring_component"));
}

/// An empty socket in that file would stay there; and the client takes `--defaults-file` in the first place alone.
#[test]
fn the_administrators_file_is_written_whole_and_read_first() {
    let of = |server: &str| {
        let input = built(server, "mysql", "usr/sbin/mysqld");
        deploy(&input).swap_remove(0).1
    };
    let readme = of("/opt/mysql/bin/mysqld");
    for part in [
        "socket=$(/opt/mysql/bin/mysql -u root -p -N -B -r -e \"SELECT @@socket\") && printf ",
        "\"$socket\" > /root/niagara-admin.cnf'",
        "sudo /opt/mysql/bin/mysql --defaults-file=/root/niagara-admin.cnf ",
    ] {
        assert!(readme.contains(part), "{part}\n{readme}");
    }
    assert!(!readme.contains("-p --defaults-file"), "{readme}");
    let readme = of("mysql-9.7");
    assert!(readme.contains("sudo mysql --defaults-file=/root/niagara-admin.cnf "));
    assert!(readme.contains("in the commands below, except before `--defaults-file`."));
}

/// One change, several figures: the guide says which of them to quote, and why they differ.
#[test]
fn figures_of_other_slices_are_told_apart() {
    let mut input = everything();
    assert!(!deploy(&input)[0].1.contains("figures to quote"));
    input.slices = Some(["1 s".into(), "0.1 s".into()]);
    let readme = &deploy(&input)[0].1;
    let words = "Single levers were measured in slices of 0.1 s, beside those that were kept or undecided then; totals in slices of 1 s. \
                 **The totals are the figures to quote.**";
    assert!(readme.contains(words), "{readme}");
}

/// A step that shows nothing is none: the pool's own variables do nothing before the restart that switches it on.
#[test]
fn a_thread_pool_alone_is_not_tried_before_the_restart() {
    let mut input = everything();
    input.rungs.truncate(2);
    input.variant = Deployment {
        runtime: over(TransportKind::Unix),
        config: map(&[
            ("thread_handling", "pool-of-threads"),
            ("thread_pool_size", "4"),
        ]),
        ..Deployment::default()
    };
    let words = "tried before the restart";
    let alone = deploy(&input).swap_remove(0).1;
    assert!(!alone.contains(words), "{alone}");
    assert!(
        alone.contains("The least that can be done is the socket alone: × 1.173"),
        "{alone}"
    );
    for others in [
        &[
            ("thread_handling", "pool-of-threads"),
            ("innodb_adaptive_hash_index", "ON"),
        ][..],
        &[("thread_cache_size", "100")],
        // The pool is on already.
        &[("thread_pool_size", "4")],
    ] {
        input.variant.config = map(others);
        let told = deploy(&input).swap_remove(0).1;
        assert!(told.contains(words), "{told}");
    }
}

/// It needs neither a file nor a restart.
#[test]
fn the_socket_alone_is_told_as_the_least_that_can_be_done() {
    let mut input = everything();
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let told = "not measured; the socket alone was, × 1.173 [1.158, 1.188], proven, n = 12, which restarts no server (\"In the application\").";
    assert!(readme(&input).contains(told), "{}", readme(&input));
    input.socket_alone = None;
    assert!(readme(&input).contains("without it was not measured.\n"));
}

/// Whatever the first call of the client is for.
#[test]
fn a_password_of_roots_is_told_before_the_client_is_called() {
    let mut input = everything();
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let with_password = "write `sudo mariadb -p` for `sudo mariadb` in the commands below.";
    let starts = [None, Some(DeployStart::default())];
    for start in starts {
        input.variant.start = start;
        for config in [everything().variant.config, BTreeMap::new()] {
            input.variant.config = config;
            let text = readme(&input);
            let told = text.find(with_password).unwrap_or_else(|| panic!("{text}"));
            assert!(told < text.find("\n1. ").expect("a step"), "{text}");
        }
    }
    input.server = "/opt/mariadb/bin/mariadbd".into();
    assert!(!readme(&input).contains("Where root has a password"));
}

#[test]
fn whether_the_built_server_would_start_is_asked_before_anything_starts_it() {
    for (family, binary) in [
        ("mariadb", "usr/sbin/mariadbd"),
        ("mysql", "usr/sbin/mysqld"),
    ] {
        let mut input = built("a server", family, binary);
        input.variant.config = map(&[("innodb_buffer_pool_size", "1G")]);
        let readme = deploy(&input).swap_remove(0).1;
        let order = [
            "**Take a backup before you go on**",
            "/etc/mysql/",
            "/opt/niagara/paths && ",
            "go no further",
            "niagara.conf /etc/systemd/system/",
            "daemon-reload",
            "SELECT @@log_error",
            "sudo systemctl restart",
        ]
        .map(|words| {
            let install = readme.find("**Take a backup").expect("a step");
            let after = readme[install..].find(words);
            after.unwrap_or_else(|| panic!("{words}\n{readme}"))
        });
        assert!(order.is_sorted(), "{order:?}\n{readme}");
        // What is taken away stays where the packaged server does not start.
        assert!(
            readme.contains("systemctl is-active ")
                && readme.contains("&& \\\n  sudo rm -r /opt/niagara"),
            "{readme}"
        );
        assert!(
            readme.contains("| diff variables-before - && \\\n  rm variables-before"),
            "{readme}"
        );
    }
}

/// By then tables, the host and steps by hand have changed, too.
#[test]
fn a_built_server_that_would_not_start_leaves_nothing_behind() {
    let mut input = everything();
    input.variant.built = built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd")
        .variant
        .built;
    input.variant.schema = vec!["ALTER TABLE `t` ADD INDEX `i` (`a`)".into()];
    input.variant.schema_undo = vec!["ALTER TABLE `t` DROP INDEX `i`".into()];
    input.variant.runtime.huge_pages_text = Some(true);
    let readme = deploy(&input).swap_remove(0).1;
    let back = "do \"Undo\" without its restart.";
    assert!(readme.contains(back), "{readme}");
    let (_, undo) = readme.split_once("## Undo").expect("a section");
    for part in [
        "sudo rm /etc/mysql/mariadb.conf.d/zz-niagara.cnf",
        "sudo rm /etc/sysctl.d/60-niagara.conf",
        "sudo rm -f /etc/tmpfiles.d/niagara.conf",
        "sudo rm /usr/lib/niagara/libniagara_text.so",
        "sudo rm -r /opt/niagara",
        "DATABASE < undo.sql",
        "- `sudo cpupower idle-set -E`",
    ] {
        assert!(undo.contains(part), "{part}\n{readme}");
    }
}

#[test]
fn what_is_left_without_the_build_is_told_and_not_called_measured() {
    let mut input = built("mysql-9.7", "mysql", "usr/sbin/mysqld");
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    assert!(readme(&input).contains("there is nothing else to install: stop here"));
    input.variant.config = map(&[("innodb_io_capacity", "1000")]);
    let text = readme(&input);
    assert!(
        text.contains("leave niagara.conf out") && text.contains("then not what was measured"),
        "{text}"
    );
    input.variant.runtime.scheduling = Some(Scheduling::Batch);
    let text = readme(&input);
    assert!(text.contains(
        "`sed -i -E '/^(# the built server|EnvironmentFile=|ExecStart=)/d' niagara.conf`"
    ));
    assert!(text.contains("within an LTS series"), "{text}");
}

#[test]
fn lines_that_were_not_shown_to_do_anything_may_be_left_out() {
    let mut input = everything();
    let of = |input: &DeployInput| {
        let files: BTreeMap<String, String> = deploy(input).into_iter().collect();
        files["60-niagara.cnf"].clone()
    };
    assert!(!of(&input).contains("may be left out"));
    for rung in &mut input.rungs {
        rung.may_do_nothing = rung.title == "Thread pool";
    }
    let options = of(&input);
    assert!(
        options.contains("# Thread pool: × 1.031 [1.021, 1.042], screened, n = 24; not shown by itself: may be left out\nthread_handling"),
        "{options}"
    );
}

#[test]
fn only_sizes_are_compared_with_what_is_there() {
    let mut input = everything();
    input.variant.config = map(&[
        ("innodb_buffer_pool_size", "8G"),
        ("innodb_redo_log_capacity", "1G"),
        ("table_open_cache", "8000"),
        ("thread_cache_size", "256"),
        ("thread_pool_size", "14"),
        ("innodb_io_capacity", "1000"),
    ]);
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let text = readme(&input);
    assert!(
        text.contains(
            "**where your `innodb_buffer_pool_size` or `innodb_redo_log_capacity` or `table_open_cache` or `thread_cache_size` is \
             larger than that of 60-niagara.cnf, delete the line there**."
        ),
        "{text}"
    );
    assert!(text.contains("It was measured with the load generator on the same machine"));
    assert!(
        text.contains("- `thread_pool_size`: change the value in 60-niagara.cnf in proportion.\n"),
        "{text}"
    );
    input.variant.config = map(&[("innodb_io_capacity", "1000")]);
    assert!(!readme(&input).contains("is larger than that"));
}

/// What is right for two CPUs throttles a server with 64.
#[test]
fn what_depends_on_the_number_of_cpus_says_so_before_the_steps() {
    let mut input = everything();
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let found = &mut input.variant;
    found.config = map(&[
        ("innodb_thread_concurrency", "4"),
        ("thread_pool_size", "9"),
    ]);
    found.runtime.environment = map(&[("MALLOC_ARENA_MAX", "2")]);
    let size = TargetSize {
        variable: "thread_pool_size".into(),
        follows: Follows::Cpus,
        measured: "9".into(),
        here: 2,
        at: Vec::new(),
        target: None,
    };
    found.sizes = vec![size];
    let text = readme(&input);
    let told = "**These files are for 2 CPUs.** Where `nproc` on the server prints another number, do this before you copy:\n\n\
                - `thread_pool_size`: make these files again, in the study's folder (the one above this): `niagara report . --format files --cpus N`.\n\
                - `innodb_thread_concurrency`: change the value in 60-niagara.cnf in proportion.\n\
                - `CPUAffinity`, `MALLOC_ARENA_MAX`: delete from niagara.conf.\n\nCopy this folder";
    assert!(text.contains(told), "{text}");
    // Made for another machine, they are for that one, except what is not worked out anew.
    input.variant.cpus = Some(2);
    input.variant.sizes[0].target = Some(niagara_model::TargetValue {
        size: 64,
        value: "288".into(),
    });
    let both = "**These files are for 64 CPUs.** Where `nproc` on the server prints another number, do this before you copy:\n\n\
                - `thread_pool_size`: make these files again, in the study's folder (the one above this): `niagara report . --format files --cpus N`.\n\n\
                **The following is still for 2 CPUs, as measured.** Where `nproc` on the server prints another number, do this before you copy:\n\n\
                - `innodb_thread_concurrency`: change the value in 60-niagara.cnf in proportion.\n\
                - `CPUAffinity`, `MALLOC_ARENA_MAX`: delete from niagara.conf.\n\nCopy this folder";
    let text = readme(&input);
    assert!(text.contains(both), "{text}");
    // A target of as many CPUs needs no sentence of its own.
    input.variant.cpus = Some(64);
    assert!(!readme(&input).contains("is still for"));
    input.variant.cpus = None;
    input.variant.sizes.clear();
    let text = readme(&input);
    assert!(
        text.contains("for the CPUs of the machine above.**"),
        "{text}"
    );
    input.variant.config = map(&[("innodb_io_capacity", "1000")]);
    input.variant.runtime = over(TransportKind::Tcp);
    assert!(!readme(&input).contains("nproc"));
}

#[test]
fn nothing_of_what_is_there_is_replaced_unseen() {
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let mut input = everything();
    input.variant.built = built("mariadb-10.11", "mariadb", "usr/sbin/mariadbd")
        .variant
        .built;
    let text = readme(&input);
    // The start was no server of anybody's: what is set there is asked first.
    let asked = text.find("| tee variables-before").expect("asked");
    assert!(
        asked < text.find("60-niagara.cnf ").expect("installed"),
        "{text}"
    );
    for path in [
        "/etc/mysql/mariadb.conf.d/zz-niagara.cnf",
        "/etc/systemd/system/mariadb.service.d/niagara.conf",
        "/opt/niagara/usr",
    ] {
        assert!(
            text.contains(&format!("if test -e {path}; then\n     echo")),
            "{path}\n{text}"
        );
    }
    for line in [
        "SELECT VERSION()",
        "sudo readlink /proc/$(pidof -s mariadbd)/exe",
        "no longer reach the running server",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("same kind of CPU"));
    let recipe = &mut input.variant.built.as_mut().expect("given above").recipe;
    *recipe = r#"{"flags":["-O3 -march=native"]}"#.into();
    assert!(readme(&input).contains("on the same kind of CPU"));
    // MySQL's packages have a mysqld.cnf, which a name that begins with a digit comes before.
    input.variant.family = "mysql".into();
    assert!(readme(&input).contains("/etc/mysql/mysql.conf.d/zz-niagara.cnf"));
    // Options of the start alone show in no variable.
    input.variant.config = map(&[("performance_schema_consumer_global_instrumentation", "OFF")]);
    assert!(!readme(&input).contains("SHOW GLOBAL VARIABLES"));
}

#[test]
fn what_it_risks_stands_before_what_to_do() {
    let mut input = everything();
    input.risk = Some("A crash may lose or damage data (no doublewrite buffer).".into());
    let text = deploy(&input).swap_remove(0).1;
    let risk = text.find("**Risk.** A crash may lose").expect("told");
    assert!(risk < text.find("## Apply").expect("there"), "{text}");
}

#[test]
fn notes_stand_where_those_look_whom_they_concern() {
    let mut input = everything();
    input.variant.runtime.transport = Some(TransportKind::Tcp);
    input.variant.steps = vec!["Let it open 20,000 files.".into()];
    input.variant.application = vec!["The application needs CPUs of its own.".into()];
    input.variant.remarks = vec!["A new version has to be built again.".into()];
    let readme = &deploy(&input)[0].1;
    let part = |from: &str, to: &str| {
        let text = readme
            .split(from)
            .nth(1)
            .unwrap_or_else(|| panic!("{from}\n{readme}"));
        text.split(to).next().unwrap_or_default().to_owned()
    };
    assert!(part("## What is in it", "## Apply").contains("has to be built again"));
    let apply = part("## Apply", "## In the application");
    assert!(apply.contains("3. Let it open 20,000 files."), "{apply}");
    assert!(!apply.contains("CPUs of its own") && !apply.contains("built again"));
    let application = part("## In the application", "## Check");
    assert!(application.contains("CPUs of its own") && !application.contains("socket"));
    // Of results that kept no kinds nothing changes.
    input.variant.application.clear();
    assert!(!deploy(&input)[0].1.contains("## In the application"));
}

#[test]
fn encryption_is_left_to_the_application() {
    let mut input = everything();
    input.variant.runtime.transport = Some(TransportKind::Tls);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    let readme = &files["README.md"];
    assert!(readme.contains("ssl-mode=REQUIRED") && !readme.contains("unix_socket"));
    // Whose certificate it is nobody knows here.
    assert!(files.values().all(|text| !text.contains("ssl_cert =")));
    input.variant.transport_before = TransportKind::Tls;
    assert!(!deploy(&input)[0].1.contains("ssl-mode"));
}

#[test]
fn settings_of_the_host_are_files() {
    let mut input = everything();
    input.variant.runtime.huge_pages_heap = Some(true);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    let transparent = "/sys/kernel/mm/transparent_hugepage/enabled";
    // 8 GiB and a tenth, in pages of 2 MiB.
    assert!(files["niagara-sysctl.conf"].ends_with("\nvm.nr_hugepages = 4506\n"));
    let line = format!("\nw {transparent} - - - - madvise\n");
    assert!(files["niagara-tmpfiles.conf"].ends_with(&line));
    let readme = &files["README.md"];
    for line in [
        "install -m 644 niagara-sysctl.conf /etc/sysctl.d/60-niagara.conf",
        "sudo rm /etc/sysctl.d/60-niagara.conf",
        "install -m 644 niagara-tmpfiles.conf /etc/tmpfiles.d/niagara.conf",
        "sudo rm -f /etc/tmpfiles.d/niagara.conf",
        "rm transparent-pages-before",
    ] {
        assert!(readme.contains(line), "{line}\n{readme}");
    }
    // The user's own file says how large the pool is: a number would be a guess.
    input.variant.config.remove("innodb_buffer_pool_size");
    input.variant.start = Some(DeployStart::default());
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    assert!(!files.contains_key("niagara-sysctl.conf"));
    assert!(files["README.md"].contains("No file has their number"));
}

/// Too few pages, and the server starts in ordinary ones, or not at all.
#[test]
fn huge_pages_are_reserved_for_the_pool_that_stays() {
    let mut input = everything();
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let asked =
        "pages=$(sudo mariadb -N -B -e 'SELECT CEIL(@@innodb_buffer_pool_size * 1.1 / 2097152)')";
    let sum = " && sed -i \"s/^vm.nr_hugepages = .*/vm.nr_hugepages = $(($pages + $(cat hugepages-before)))/\" niagara-sysctl.conf\n";
    let text = readme(&input);
    assert!(text.contains(&format!("\n   pages=4506{sum}")), "{text}");
    let own = format!("Where your own buffer pool stays, put `{asked}` in place of");
    assert!(text.contains(&own), "{text}");
    // The pool is not the study's: that of the server, which may be any.
    input.variant.config.remove("innodb_buffer_pool_size");
    let text = readme(&input);
    assert!(text.contains(&format!("\n   {asked}{sum}")), "{text}");
    assert!(!text.contains("own buffer pool") && !text.contains("pages=71"));
    input.variant.huge_pages = false;
    assert!(!readme(&input).contains("pages="));
}

/// A check that passes whatever happened is none.
#[test]
fn each_check_can_fail_and_says_when() {
    let mut input = everything();
    input.variant.runtime.huge_pages_heap = Some(true);
    input.variant.runtime.huge_pages_text = Some(true);
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let text = readme(&input);
    for part in [
        "\ngrep HugetlbPages /proc/$(pidof -s mariadbd)/status\n",
        "`HugetlbPages` has to be more than 0 kB",
        "The code in 2 MB pages has to be more than 0 kB.",
        "/transparent_hugepage/enabled has to show `[madvise]` or `[always]`.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("/proc/meminfo"));
    // Every process has the C library.
    input.variant.malloc = Some(DeployMalloc {
        name: "glibc".into(),
        package: None,
        soname: "/usr/lib/x86_64-linux-gnu/libc.so.6".into(),
    });
    let text = readme(&input);
    let asked =
        "\nsudo cat /proc/$(pidof -s mariadbd)/environ | tr '\\0' '\\n' | grep LD_PRELOAD\n";
    assert!(text.contains(asked) && !text.contains("/maps"), "{text}");
    // The paths are told to the built server: what it reads in option files shows in what no command line says.
    let text = readme(&built("mysql-9.7", "mysql", "usr/sbin/mysqld"));
    let asked = "for server in /usr/sbin/mysqld /opt/niagara/usr/sbin/mysqld; do sudo $server --print-defaults | tail -n 1; done\n";
    assert!(text.contains(asked), "{text}");
    for words in ["HugetlbPages", "2 MB pages", "transparent_hugepage"] {
        assert!(!text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn limits_of_the_process_are_lines_of_the_drop_in() {
    let mut input = everything();
    input.variant.limits = BTreeMap::from([("LimitNOFILE".to_owned(), 32768)]);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    assert!(files["niagara.conf"].ends_with("\nLimitNOFILE=32768\n"));
    let readme = &files["README.md"];
    assert!(readme.contains("Nice,LimitMEMLOCK,LimitNOFILE,ExecMainStartTimestamp\n"));
    assert!(readme.contains("`LimitNOFILE=32768`"));
    // A unit that allows more is not lowered.
    let told = "`systemctl show mariadb -p LimitNOFILE` prints its limits now. **Where one is larger than that of niagara.conf, or \
                `infinity`, delete the line there.**";
    let install = readme.find("sudo install -D -m 644 niagara.conf");
    assert!(
        readme.find(told) < install && readme.contains(told),
        "{readme}"
    );
    assert!(!deploy(&everything())[0].1.contains("its limits now"));
}

#[test]
fn the_loads_own_cpus_are_for_the_application() {
    let mut input = everything();
    input.variant.runtime.client_cpus = Some(vec![4, 5, 7]);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    assert!(!files["niagara.conf"].contains("4-5 7"));
    let readme = &files["README.md"];
    assert!(readme.contains("`CPUAffinity=4-5 7` in it"));
    // They are of the measured machine, as the server's are.
    let other = "- `CPUAffinity`: leave it out of the application's unit.\n";
    assert!(readme.contains(other), "{readme}");
}

#[test]
fn what_another_machine_leaves_out_is_told() {
    let mut input = everything();
    let machine = TargetMachine {
        cpus: Some(64),
        memory: None,
    };
    input.variant = input.variant.for_machine(&machine);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    assert!(!files["niagara.conf"].contains("CPUAffinity"));
    let readme = &files["README.md"];
    let told = "\nLeft out for 64 CPUs, though part of what was measured: the server's CPUs. Measure again on such a machine.\n";
    assert!(readme.contains(told), "{readme}");
    assert!(!readme.contains("These files are for"), "{readme}");
}

#[test]
fn a_scheduling_policy_is_set_and_checked() {
    let mut input = everything();
    input.variant.runtime.scheduling = Some(Scheduling::Batch);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    assert!(files["niagara.conf"].contains("\nCPUSchedulingPolicy=batch\n"));
    let readme = &files["README.md"];
    assert!(readme.contains("`CPUSchedulingPolicy=3`"), "{readme}");
    let asked = "chrt -p $(systemctl show -p MainPID --value mariadb)";
    assert!(
        readme.contains(asked) && readme.contains("print `SCHED_BATCH`"),
        "{readme}"
    );
}

#[test]
fn batch_scheduling_is_for_the_scheduler_it_was_measured_with() {
    let readme_of = |kernel: Option<&str>| {
        let mut input = everything();
        input.variant.runtime.scheduling = Some(Scheduling::Batch);
        input.variant.kernel = kernel.map(str::to_owned);
        let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
        files["README.md"].clone()
    };
    let new = readme_of(Some("6.18.44"));
    assert!(
        new.contains("measured on Linux 6.18: leave it out where Linux is older than 6.6"),
        "{new}"
    );
    let old = readme_of(Some("6.1.0-13-amd64"));
    assert!(
        old.contains("measured on Linux 6.1: leave it out where Linux is 6.6 or newer"),
        "{old}"
    );
    let unknown = readme_of(None);
    assert!(
        unknown.contains("on that side of Linux 6.6 alone"),
        "{unknown}"
    );
}

#[test]
fn a_library_for_the_text_is_installed_preloaded_checked_and_undone() {
    let mut input = everything();
    input.variant.runtime.huge_pages_text = Some(true);
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    let place = "/usr/lib/niagara/libniagara_text.so";
    let unit = &files["niagara.conf"];
    assert!(
        unit.contains(&format!(
            "Environment=\"LD_PRELOAD=libjemalloc.so.2:{place}\"\n"
        )),
        "{unit}"
    );
    let readme = &files["README.md"];
    for line in [
        format!("sudo install -D -m 644 libniagara_text.so {place}"),
        format!("sudo rm {place}"),
        "kB of code in 2 MB pages".to_owned(),
        "journalctl -u mariadb | grep niagara_text".to_owned(),
    ] {
        assert!(readme.contains(&line), "{line}\n{readme}");
    }
    // Written by whoever carries it.
    assert!(!files.contains_key("libniagara_text.so"));
}

#[test]
fn a_server_of_its_own_place_has_its_own_steps() {
    let variant = Deployment {
        family: "mysql".into(),
        config: BTreeMap::from([("innodb_io_capacity".to_owned(), "2000".to_owned())]),
        ..Deployment::default()
    };
    let files = |server: &str| -> String {
        let input = DeployInput {
            server: server.into(),
            variant: variant.clone(),
            ..DeployInput::default()
        };
        deploy(&input).into_iter().map(|(_, text)| text).collect()
    };
    let text = files("/opt/mysql-8.0.31/bin/mysqld");
    for part in [
        "/opt/mysql-8.0.31/bin/mysql -u root -p",
        "/opt/mysql-8.0.31/zz-niagara.cnf",
        "!include /opt/mysql-8.0.31/zz-niagara.cnf",
        "/etc/my.cnf",
        "/opt/mysql-8.0.31/bin/mysqld --print-defaults",
        "systemctl status $(pidof -s mysqld)",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for other in ["/etc/mysql/", "sudo mysql ", "/usr/sbin/"] {
        assert!(!text.contains(other), "{other} in\n{text}");
    }
    let text = files("/usr/sbin/mysqld");
    assert!(
        text.contains("sudo mysql ") && text.contains("/etc/mysql/mysql.conf.d"),
        "{text}"
    );
}

/// A start that names no file says nothing of where this one is read, and MySQL's own packages for Red Hat read no folder.
#[test]
fn an_option_file_goes_where_something_reads_it() {
    let mut input = DeployInput {
        server: "/opt/mysql/bin/mysqld".into(),
        variant: Deployment {
            family: "mysql".into(),
            config: map(&[("innodb_io_capacity", "2000")]),
            start: Some(DeployStart {
                from: "10.0.0.5:3306".into(),
                ..DeployStart::default()
            }),
            ..Deployment::default()
        },
        ..DeployInput::default()
    };
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let text = readme(&input);
    for part in [
        "printf '\\n%s\\n' '!include /opt/mysql/zz-niagara.cnf' | sudo tee -a /etc/my.cnf > /dev/null",
        "sudo sed -i --follow-symlinks '\\#^!include /opt/mysql/zz-niagara.cnf$#d' /etc/my.cnf",
        "Where the server is started with `--defaults-file`",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    input.server = "mysql-9.7".into();
    let by_hand = "add `!include /etc/my.cnf.d/zz-niagara.cnf` at its end";
    assert!(readme(&input).contains(by_hand));
    let start = input.variant.start.as_mut().expect("given above");
    start.file = Some("/etc/my.cnf.d/zz-niagara.cnf".into());
    let text = readme(&input);
    assert!(!text.contains("Red Hat's the option") && !text.contains("!include"));
}

#[test]
fn changed_tables_and_statements_are_files() {
    let rewrite = |digest: &str, rule: Option<[&str; 2]>| DeployRewrite {
        digest: digest.to_owned(),
        before: "SELECT a FROM t WHERE b + 0 = ?1".to_owned(),
        statement: "SELECT a FROM t WHERE b = ?1".to_owned(),
        rule: rule.map(|[pattern, replacement]| [pattern.to_owned(), replacement.to_owned()]),
    };
    let input = DeployInput {
        server: "mariadb-10.11".into(),
        variant: Deployment {
            family: "mariadb".into(),
            runtime: over(TransportKind::Tcp),
            schema: vec![
                "ALTER TABLE `shop`.`t` ADD INDEX `i` (`a`), ALGORITHM=INPLACE, LOCK=NONE".into(),
            ],
            schema_undo: vec!["ALTER TABLE `shop`.`t` DROP INDEX `i`".into()],
            rewrites: vec![
                rewrite("0123456789abcdef", Some(["^a = ('x')$", r"b = \1"])),
                rewrite("fedcba9876543210", None),
            ],
            ..Deployment::default()
        },
        rungs: vec![rung(
            "indexes for the captured statements",
            "× 3.0 [2.8, 3.2], proven, n = 8",
            "They take 176 KB.",
            &[],
        )],
        evidence: "proven".into(),
        ..DeployInput::default()
    };
    let mut without_undo = input.clone();
    without_undo.variant.schema_undo.clear();
    let readme = deploy(&without_undo).swap_remove(0).1;
    assert!(
        readme.contains("try it on a server that replicates nothing")
            && !readme.contains("sql_log_bin")
    );
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "README.md",
            "proxysql.sql",
            "schema.sql",
            "statements.sql",
            "undo.sql"
        ]
    );
    let has = |file: &str, expected: &str| {
        assert!(
            files[file].contains(expected),
            "{expected}: {}",
            files[file]
        );
    };
    has(
        "schema.sql",
        "\nALTER TABLE `shop`.`t` ADD INDEX `i` (`a`), ALGORITHM=INPLACE, LOCK=NONE;\n",
    );
    has(
        "schema.sql",
        "-- indexes for the captured statements: × 3.0 [2.8, 3.2], proven, n = 8.\n-- They take 176 KB.\n",
    );
    has(
        "schema.sql",
        "--   gh-ost --database=shop --table=t --alter='ADD INDEX `i` (`a`)' --execute",
    );
    has("undo.sql", "\nALTER TABLE `shop`.`t` DROP INDEX `i`;\n");
    for file in ["schema.sql", "undo.sql"] {
        has(file, "\nSET SESSION lock_wait_timeout = 10;\n");
    }
    // The last statement is the first to be undone, and may never have been reached.
    for file in ["README.md", "undo.sql"] {
        has(
            file,
            "Error 1091 or 1061 means that a statement has nothing to take back",
        );
    }
    has(
        "statements.sql",
        "--   SELECT a FROM t WHERE b + 0 = ?1\nSELECT a FROM t WHERE b = ?1;\n",
    );
    has(
        "proxysql.sql",
        r"1, '^a = (''x'')$', 'CASELESS', 'b = \1', 0, 'niagara 0123456789abcdef' FROM mysql_query_rules;",
    );
    has(
        "proxysql.sql",
        "No rule: ProxySQL refers to nine literals at most.",
    );
    has("README.md", "sudo mariadb DATABASE < schema.sql");
    has("README.md", "sudo mariadb DATABASE < undo.sql");
    has("README.md", "-P 6032 -u admin -p < proxysql.sql");
    // An index that a replica has already stops its replication.
    for words in [
        "Run it on the source alone; its replicas follow.",
        "put `SET SESSION sql_log_bin = 0;` at the top of its copies of schema.sql and undo.sql.",
        "Run undo.sql there before the source gets schema.sql",
        "On a node of Galera it holds up the whole cluster",
    ] {
        has("README.md", words);
    }
    for (file, text) in &files {
        let of_sql = |line: &str| line.is_empty() || line.starts_with("-- ") || line.ends_with(';');
        assert!(
            !file.ends_with(".sql") || text.lines().all(of_sql),
            "{file}: {text}"
        );
    }
}

/// What is pasted as a whole must not restart a server that nothing was installed for.
#[test]
fn a_restart_waits_for_steps_that_printed_nothing() {
    let readme = |input: &DeployInput| deploy(input).swap_remove(0).1;
    let both = readme(&everything());
    assert!(
        both.contains("Restart **only if step 5 and step 6 named no trouble**"),
        "{both}"
    );
    let mut input = everything();
    input.variant.config.clear();
    let files: BTreeMap<String, String> = deploy(&input).into_iter().collect();
    let readme = &files["README.md"];
    assert!(readme.contains("named no trouble**") && !readme.contains(" and step "));
    assert!(!readme.contains("&& echo"), "{readme}");
}

/// A variable that the installed release does not know keeps it from starting: it is asked before the restart.
#[test]
fn the_server_in_place_is_asked_for_the_option_file_before_the_restart() {
    let mut input = everything();
    let (help, validate) = ("--verbose --help", "--validate-config");
    for (server, family, binary, option) in [
        ("mariadb-10.11", "mariadb", "/usr/sbin/mariadbd", help),
        ("mysql-5.7", "mysql", "/usr/sbin/mysqld", help),
        ("mysql-9.7", "mysql", "/usr/sbin/mysqld", validate),
        (
            "/usr/libexec/mariadbd",
            "mariadb",
            "/usr/libexec/mariadbd",
            help,
        ),
        (
            "/opt/mysql/bin/mysqld",
            "mysql",
            "/opt/mysql/bin/mysqld",
            validate,
        ),
        // Not the name of a series.
        (
            "/srv/db-5.x/bin/mysqld",
            "mysql",
            "/srv/db-5.x/bin/mysqld",
            validate,
        ),
    ] {
        input.server = server.into();
        input.variant.family = family.into();
        let readme = deploy(&input).swap_remove(0).1;
        let asked = format!(
            "   ```sh\n   told=$(sudo {binary} --user=mysql {option} 2>&1 >/dev/null) || printf '%s\\n' \"It would not start: $told\"\n"
        );
        let asked = readme
            .find(&asked)
            .unwrap_or_else(|| panic!("{asked}\n{readme}"));
        let restart = readme.find("sudo systemctl restart").expect("a restart");
        assert!(asked < restart, "{readme}");
        // Who named a path may have any release.
        let is_open = server.starts_with('/') && option == validate;
        assert_eq!(readme.contains("before 8.0.16"), is_open, "{readme}");
        let playbook = elsewhere(&input, DeployPlace::Ansible);
        let asked = format!(
            "argv: ['{binary}', --user=mysql, {}]\n",
            option.replace(' ', ", ")
        );
        parts_are_in(&playbook, &[asked.as_str()]);
        assert_eq!(playbook.contains("before 8.0.16"), is_open, "{playbook}");
    }
    input.variant.config.clear();
    assert!(!deploy(&input)[0].1.contains("told=$("));
    // A built server is asked itself; the packaged one where it is installed without it.
    let mut input = built("mysql-9.7", "mysql", "usr/sbin/mysqld");
    input.variant.config = map(&[("innodb_io_capacity", "1000")]);
    let readme = deploy(&input).swap_remove(0).1;
    assert_eq!(readme.matches("told=$(").count(), 1, "{readme}");
    assert!(
        readme.contains("Before the restart run `told=$("),
        "{readme}"
    );
}

/// Whose application uses the socket has the rest alone, and each file says what it brings by itself.
#[test]
fn what_the_files_bring_without_the_socket_stands_first() {
    let mut input = everything();
    let unit = |input: &DeployInput| -> String {
        let files: BTreeMap<String, String> = deploy(input).into_iter().collect();
        files["niagara.conf"].clone()
    };
    let told = |text: &str, words: &str| {
        let place = text.find(words);
        place.unwrap_or_else(|| panic!("{words}\n{text}"))
    };
    // Its lines are broken.
    let all = unit(&input).replace("\n# ", " ");
    let alone = "Where the application uses the Unix socket already, the files together bring × 1.03 [1.01, 1.06].";
    assert!(told(&all, alone) < told(&all, "31 % faster"), "{all}");
    let readme = &deploy(&input)[0].1;
    told(
        readme,
        "For an application that stays on TCP, or runs on another host, nothing here is proven: `niagara tune --app remote`",
    );
    told(
        readme,
        "under this load the rest brings × 1.03 [1.01, 1.06].",
    );
    input.variant.config.clear();
    input.variant.huge_pages = false;
    input.variant.host_steps.clear();
    told(
        &unit(&input).replace("\n# ", " "),
        "uses the Unix socket already, this file brings × 1.03 [1.01, 1.06]",
    );
    input.over_socket = None;
    told(&unit(&input), "was not measured by itself");
    input.variant.runtime.transport = Some(TransportKind::Tcp);
    assert!(!unit(&input).contains("socket"));
}

// Servers elsewhere, and other machines.

fn parts_are_in(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

/// A new group begins with the family's defaults: attached, it would take away what the instance's own group sets.
#[test]
fn a_parameter_group_begins_with_the_instances_own() {
    let text = elsewhere(&everything(), DeployPlace::Rds);
    parts_are_in(
        &text,
        &[
            "\nFROM=${FROM:?",
            "aws rds copy-db-parameter-group --source-db-parameter-group-identifier \"$FROM\"",
            "  default.*)\n    aws rds create-db-parameter-group ",
            "describe-db-parameters --db-parameter-group-name \"$FROM\"",
            "SKIP keeps what is there, LOWER='a b' sets them",
        ],
    );
    let compared = text.find("lowered=").expect("a comparison");
    let made = text.find("copy-db-parameter-group").expect("a copy");
    assert!(compared < made, "{text}");
    assert!(!text.contains("--memory SIZE"), "{text}");
    let mut input = everything();
    input.variant.sizes = vec![TargetSize {
        variable: "innodb_buffer_pool_size".into(),
        follows: Follows::Memory,
        measured: "8G".into(),
        here: 16 << 30,
        at: Vec::new(),
        target: None,
    }];
    let text = elsewhere(&input, DeployPlace::Rds);
    parts_are_in(&text, &["--for rds --memory SIZE\n"]);
}

/// A task that fails between the files leaves some of them for the next start, and nobody restarts the server.
#[test]
fn a_playbook_puts_libraries_before_the_files_that_name_them() {
    let mut input = everything();
    input.variant.runtime.huge_pages_text = Some(true);
    let text = elsewhere(&input, DeployPlace::Ansible);
    let place = |part: &str| {
        let place = text.find(part);
        place.unwrap_or_else(|| panic!("{part} in\n{text}"))
    };
    let order = [
        "ansible.builtin.assert:",
        "name: libjemalloc2",
        "path: /usr/lib/niagara\n        state: directory",
        "src: libniagara_text.so",
        "src: 60-niagara.cnf",
        "src: niagara.conf",
    ];
    assert!(order.map(place).is_sorted(), "{text}");
}

#[test]
fn a_playbook_keeps_the_files_of_an_earlier_round() {
    let text = elsewhere(&everything(), DeployPlace::Ansible);
    parts_are_in(
        &text,
        &[
            "- {file: 60-niagara.cnf, there: '/etc/mysql/mariadb.conf.d/zz-niagara.cnf'}",
            "- {file: niagara.conf, there: '/etc/systemd/system/mariadb.service.d/niagara.conf'}",
            "that: not item.stat.exists or item.stat.checksum == ",
            "-e niagara_replace=true",
            "backup: true",
        ],
    );
}

/// Removed instead, they would be missing at the next restart.
#[test]
fn a_playbook_that_fails_puts_replaced_files_back() {
    let text = elsewhere(&everything(), DeployPlace::Ansible);
    let (_, rescue) = text.split_once("      rescue:\n").expect("a rescue");
    let files = [
        (
            "niagara_options",
            "/etc/mysql/mariadb.conf.d/zz-niagara.cnf",
            0,
        ),
        (
            "niagara_drop_in",
            "/etc/systemd/system/mariadb.service.d/niagara.conf",
            1,
        ),
    ];
    for (result, path, place) in files {
        let back = format!(
            "            src: \"{{{{ {result}.backup_file }}}}\"\n            dest: '{path}'\n            remote_src: true\n            \
             mode: preserve\n          when: {result} is defined and {result}.backup_file is defined\n"
        );
        let removed = format!(
            "            path: '{path}'\n            state: absent\n          \
             when: {result} is defined and {result} is changed and not niagara_earlier.results[{place}].stat.exists\n"
        );
        parts_are_in(rescue, &[back.as_str(), removed.as_str()]);
    }
    parts_are_in(rescue, &["files that this run replaced are back"]);
}

/// An unknown variable of another release would keep the server from starting.
#[test]
fn a_playbook_restarts_nothing_before_the_option_file_was_tried() {
    let text = elsewhere(&everything(), DeployPlace::Ansible);
    let tried = "        - name: Whether the server takes its option files\n          ansible.builtin.command:\n            \
                 argv: ['/usr/sbin/mariadbd', --user=mysql, --verbose, --help]\n          changed_when: false\n";
    let back = "        - name: The drop-in, taken back\n          ansible.builtin.file:\n            \
                path: '/etc/systemd/system/mariadb.service.d/niagara.conf'\n            state: absent\n          \
                when: niagara_drop_in is defined and niagara_drop_in is changed and not niagara_earlier.results[1].stat.exists\n";
    // It loads no plugins then, and may refuse a variable of one.
    let unasked = "          when: not (niagara_untried | default(false) | bool)\n";
    parts_are_in(&text, &[tried, unasked, back, "ansible.builtin.fail:"]);
    assert!(text.find(tried) < text.find("handlers:"), "{text}");
    let mut mysql = everything();
    mysql.variant.family = "mysql".into();
    for (server, options) in [
        ("mysql-9.7", "--validate-config]"),
        ("mysql-5.7", "--verbose, --help]"),
    ] {
        mysql.server = server.into();
        let text = elsewhere(&mysql, DeployPlace::Ansible);
        parts_are_in(&text, &[options]);
    }
    // Nothing to try.
    mysql.variant.config.clear();
    let text = elsewhere(&mysql, DeployPlace::Ansible);
    assert!(!text.contains("ansible.builtin.command"), "{text}");
}

/// A server that reads no folder of the distribution's never saw the file.
#[test]
fn a_playbook_has_the_option_file_read() {
    let mut input = everything();
    let added = |input: &DeployInput| elsewhere(input, DeployPlace::Ansible);
    assert!(!added(&input).contains("lineinfile"));
    input.server = "/opt/mariadb/bin/mariadbd".into();
    let line = "line: '!include /opt/mariadb/zz-niagara.cnf'";
    // Of a running server it is not known which file it reads.
    for start in [None, Some(DeployStart::default())] {
        input.variant.start = start;
        let text = added(&input);
        let path = "path: '/etc/my.cnf'\n            ";
        let inserted = format!("{path}{line}\n            insertafter: EOF\n");
        let removed = format!("{path}{line}\n            state: absent\n");
        parts_are_in(
            &text,
            &[inserted.as_str(), removed.as_str(), "create: true"],
        );
        // Made with root's umask, it could be unreadable to the server; what this run made, a failed trial removes.
        let made = "            content: \"\"\n            dest: '/etc/my.cnf'\n            force: false\n            \
                    mode: \"0644\"\n          register: niagara_main\n";
        let unmade = "            path: '/etc/my.cnf'\n            state: absent\n          \
                      when: niagara_main is defined and niagara_main is changed\n";
        parts_are_in(&text, &[made, unmade]);
        let place = |part: &str| text.find(part);
        assert!(place(made) < place(&inserted), "{text}");
        assert!(place(&removed) < place(unmade), "{text}");
    }
    input.variant.start = Some(DeployStart {
        file: Some("/srv/db/niagara.cnf".into()),
        included_by: Some("/srv/db/my.cnf".into()),
        ..DeployStart::default()
    });
    let text = added(&input);
    parts_are_in(
        &text,
        &[
            "path: '/srv/db/my.cnf'\n            line: '!include /srv/db/niagara.cnf'\n",
            "create: false",
        ],
    );
    assert!(!text.contains("niagara_main"), "{text}");
}
