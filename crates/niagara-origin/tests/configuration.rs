//! Option files as a real server reads them.

mod variables;

use std::fs;
use std::path::Path;

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_model::OriginNote;
use niagara_origin::configuration::{ConfigSource, StartConfiguration};
use niagara_server::Install;

use variables::{assert_same, told};

/// The distribution's server, which `scripts/setup test` installs.
const SERVER: &str = "/usr/sbin/mariadbd";

fn read(path: &Path, room: u64) -> Result<StartConfiguration> {
    let install = Install::from_path(Path::new(SERVER))?;
    let scratch = tempfile::tempdir()?;
    StartConfiguration::of(
        &ConfigSource::file(path)?,
        None,
        &install,
        room,
        scratch.path(),
    )
}

#[test]
fn includes_groups_and_duplicates_are_resolved_as_the_server_does() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("conf.d"))?;
    let main = at("my.cnf");
    fs::write(
        &main,
        format!(
            "[client]\nport = 3306\n[mysqld]\ninnodb-buffer-pool-size = 64G # of 128\nsql_mode = \"\"\n\
             init_connect = 'SET @a = \"#1\"; SET @b = 2'\nkey_buffer = 16M\nmax_connections = 100\n\
             !includedir {0}\n[mariadb-10.6]\nmax_connections = 5\n[mariadbd]\nskip-log-bin\n\
             log-bin = /var/log/mysql/mysql-bin.log\ndatadir = /srv/mysql\n",
            at("conf.d").display()
        ),
    )?;
    fs::write(
        at("conf.d/50-shop.cnf"),
        "[mysqld]\nmax_connections = 300\nquery_cache_typo = 1\nreplicate-do-db = shop\n\
         plugin_load_add = ha_nowhere\nplugin_load_add = ha_federatedx\nfederated\nserver_audit_logging = ON\nevent_scheduler = ON\n",
    )?;
    fs::write(at("conf.d/ignored.txt"), "[mysqld]\nmax_connections = 1\n")?;
    let start = read(&main, 4 << 30)?;
    let value = |name: &str| start.config.get(name).map(String::as_str);
    assert_eq!(value("max_connections"), Some("300"));
    assert!(
        start
            .place_of("max_connections")
            .is_some_and(|place| place.ends_with("conf.d/50-shop.cnf line 2")),
        "{:?}",
        start.places
    );
    assert_eq!(value("sql_mode"), Some(""));
    assert_eq!(value("init_connect"), Some("SET @a = \"#1\"; SET @b = 2"));
    assert_eq!(value("key_buffer_size"), Some("16M"));
    assert_eq!(
        (value("log_bin"), value("skip_log_bin")),
        (Some("mysql-bin"), None)
    );
    assert_eq!(value("innodb_buffer_pool_size"), Some("4G"));
    assert_eq!(start.lowered["innodb_buffer_pool_size"].yours, "64G");
    for (setting, reason) in [
        ("query_cache_typo=1", "no such option"),
        ("replicate-do-db=shop", "replication"),
        (
            "plugin_load_add=ha_nowhere",
            "plugin ha_nowhere is not here",
        ),
        ("plugin_load_add=ha_federatedx", "on other servers"),
        ("federated", "on other servers"),
        ("server_audit_logging=ON", "no such option"),
        ("datadir=/srv/mysql", "a path of the original"),
        ("event_scheduler=ON", "sleep in the copy"),
    ] {
        let out = start.left_out.iter().find(|out| out.setting == setting);
        let out = out.unwrap_or_else(|| panic!("{setting} in {:?}", start.left_out));
        assert!(out.reason.to_string().contains(reason), "{out:?}");
        assert!(out.place.contains(" line "), "{out:?}");
    }
    assert!(
        matches!(
            &start.remarks[..],
            [
                OriginNote::OtherInstance { group, .. },
                OriginNote::InitConnect { .. }
            ] if group == "mariadb-10.6"
        ),
        "{:?}",
        start.remarks
    );
    assert_eq!(start.defaults["max_connections"], "151");
    Ok(())
}

#[test]
fn a_study_of_other_content_is_another_study() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("my.cnf");
    let source = |text: &str| {
        fs::write(&path, text).expect("written");
        ConfigSource::file(&path)
    };
    let one = source("[mysqld]\nport=1\n")?;
    assert_eq!(one, source("[mysqld]\nport=1\n")?);
    assert_ne!(one, source("[mysqld]\nport=2\n")?);
    let error = ConfigSource::file(&folder.path().join("none.cnf")).expect_err("not there");
    assert!(error.explain().to_string().contains("remedy"), "{error:#}");
    Ok(())
}

#[test]
fn a_start_comes_to_what_the_server_makes_of_the_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("conf.d"))?;
    let main = at("my.cnf");
    fs::write(
        &main,
        format!(
            "[mysqld]\noptimizer_switch = \"index_merge=off,mrr=on\"\noptimizer-switch=mrr=off,rowid_filter=off\n\
             sql_mode = ANSI\nsql_mode = TRADITIONAL\nslow_query_log =\nlog_queries_not_using_indexes = ON\n\
             disable-log-queries-not-using-indexes\nuserstat = OFF\nskip-userstat=0\nenable-log-slow-slave-statements=0\n\
             maximum-sort-buffer-size=8M\nsort_buffer_size = 4MB\nkey_buffer=16M\nhot.key_buffer_size=32M\n\
             innodb-file-per-table = yes\nlong_query_time = 0.5\nlog_slow_query_time = 2\nloose-innodb_nonsense = 1\n\
             loose-max_connections = 77\nback_log = 70\nautoset-back-log\ninit_connect='SET @a=1 # no comment'\n\
             ft_boolean_syntax = '+ -><()~*:\"\"&|'\nlc_time_names = de_DE\n! includedir {0}\n\
             skip-external-locking\nskip-name-resolve=ON\ncharacter-set-server = utf8mb4\ncollation_server=utf8mb4_unicode_ci\n\
             skip-character-set-client-handshake\nsymbolic-links=0\nquery_cache_type = DEMAND\nquery_cache_size=16M\n\
             innodb_flush_method = O_DIRECT\nthread_handling=pool-of-threads\nexpire_logs_days = 1.5\nbinlog_format = 2\n\
             explicit_defaults_for_timestamp=FALSE\nlocal-infile=0\nconcurrent_insert=ALWAYS\ndelay-key-write=ALL\nlog_warnings=4\n\
             old-mode=\nperformance_schema=on\nlog_slow_verbosity=query_plan,explain\nmyisam-recover-options=BACKUP,FORCE\n\
             default-time-zone='+01:00'\ntransaction-isolation=READ-COMMITTED\nskip-innodb-doublewrite\nmax_heap_table_size=64Mb\n\
             [MYSQLD]\njoin_buffer_size = 1M\n[ mysqld]\njoin_buffer_size = 9M\n[mysqld1]\njoin_buffer_size = 8M\n",
            at("conf.d").display()
        ),
    )?;
    fs::write(at("conf.d/50-shop.cnf"), "[server]\ntmp_table_size = 32M\n")?;
    fs::write(
        at("conf.d/50-shop.1.cnf"),
        "[server]\ntmp_table_size = 64M\n",
    )?;
    let start = assert_same(
        &Install::from_path(Path::new(SERVER))?,
        &main,
        &[
            "optimizer-switch",
            "sort-buffer-size",
            "key-buffer-size",
            "join-buffer-size",
            "tmp-table-size",
            "long-query-time",
            "userstat",
        ],
    )?;
    let told = told(&start);
    for words in ["[mysqld1]", "init_connect", "innodb_nonsense"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // The files are read here as the server reads them.
    assert!(!told.contains("differently"), "{told}");
    Ok(())
}

#[test]
fn plugins_are_those_that_the_last_plugin_load_leaves() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("my.cnf");
    fs::write(
        &path,
        "[mysqld]\nplugin_load_add = ha_nowhere\nplugin_load = ha_elsewhere\nplugin_load_add = ha_further\n",
    )?;
    let start = read(&path, 4 << 30)?;
    let left: Vec<&str> = start
        .left_out
        .iter()
        .map(|out| out.setting.as_str())
        .collect();
    assert_eq!(
        left,
        ["plugin_load=ha_elsewhere", "plugin_load_add=ha_further"]
    );
    Ok(())
}

#[test]
fn nothing_of_the_original_wakes_and_no_secret_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("my.cnf");
    fs::write(
        &path,
        "[client]\npassword = S3cret\n[mysqld]\nenable-event-scheduler\ninnodb_data_file_path = ibdata1:12M;/disk2/ibdata2:12M:autoextend\n\
         loose-authentication_ldap_simple_bind_root_pwd = S3cret\nloose-s3_access_key = S3cret\nreport-host = S3cret\ndefault-time-zone = Europe/Berlin\n\
         loose-wsrep_cluster_address = gcomm://S3cret\nwait_timeout\nperformance-schema-instrument='wait/%=OFF'\n\
         performance-schema-instrument='statement/%=ON'\n",
    )?;
    let start = read(&path, 4 << 30)?;
    let told = format!("{}\n{start:?}", told(&start));
    assert!(!told.contains("S3cret"), "{told}");
    // A zone is known where its tables are.
    assert!(told.contains("named zones are in the original's data"));
    let names: Vec<&str> = start.config.keys().map(String::as_str).collect();
    assert_eq!(names, ["performance_schema_instrument"]);
    assert_eq!(
        start.config["performance_schema_instrument"],
        "wait/%=OFF;statement/%=ON"
    );
    for (setting, reason) in [
        ("enable-event-scheduler", "sleep in the copy"),
        ("innodb_data_file_path", "a path of the original"),
        ("wait_timeout", "no value"),
    ] {
        let mut out = start.left_out.iter();
        let out = out.find(|out| out.setting.starts_with(setting));
        assert!(
            out.is_some_and(|out| out.reason.to_string().contains(reason)),
            "{setting}: {:?}",
            start.left_out
        );
    }
    Ok(())
}
