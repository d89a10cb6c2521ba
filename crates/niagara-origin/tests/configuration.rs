//! Option files as a real server reads them.

use std::fs;
use std::path::Path;

use anyhow::Result;
use niagara_origin::configuration::{ConfigSource, StartConfiguration};
use niagara_server::Install;

/// The distribution's server, which `scripts/setup test` installs.
const SERVER: &str = "/usr/sbin/mariadbd";

fn read(path: &Path, room: u64) -> Result<StartConfiguration> {
    let install = Install::from_path(Path::new(SERVER))?;
    let scratch = tempfile::tempdir()?;
    StartConfiguration::of(&ConfigSource::file(path)?, &install, room, scratch.path())
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
        ("query_cache_typo=1", "no such variable"),
        ("replicate-do-db=shop", "replication"),
        (
            "plugin_load_add=ha_nowhere",
            "plugin ha_nowhere is not here",
        ),
        ("plugin_load_add=ha_federatedx", "on other servers"),
        ("federated", "on other servers"),
        ("server_audit_logging=ON", "plugin that is not here"),
        ("datadir=/srv/mysql", "a path of the original"),
        ("event_scheduler=ON", "sleep in the copy"),
    ] {
        let out = start.left_out.iter().find(|out| out.setting == setting);
        let out = out.unwrap_or_else(|| panic!("{setting} in {:?}", start.left_out));
        assert!(out.reason.contains(reason), "{out:?}");
        assert!(out.place.contains(" line "), "{out:?}");
    }
    assert!(start.remarks.is_empty(), "{:?}", start.remarks);
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
    assert!(format!("{error:#}").contains("remedy"), "{error:#}");
    Ok(())
}
