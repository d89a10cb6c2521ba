//! An idle server with its scheduler of events is idle to an account that does not see what others do.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use niagara_checkup::{Look, Request, checkup, read, screen};
use niagara_load::{Admin, Endpoint};
use niagara_server::{
    Cache, Catalog, Config, ImageStore, Install, LaunchSpec, ProcessSettings, RunningServer, get,
    launch,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a server of the catalogue in a folder, without a database.
fn started(name: &str, folder: &Path) -> Result<RunningServer> {
    let shared = Cache::open()?;
    let install: Install = get(&shared, Catalog::load(&[])?.get(name)?, &mut |text| {
        eprintln!("{text}")
    })?;
    let image = ImageStore::new(&shared).ensure(
        &install,
        "empty",
        "InnoDB",
        &mut |_| Ok(()),
        &mut |_| {},
    )?;
    let datadir = folder.join("data");
    image.clone_to(&datadir)?;
    launch(
        &Cache::at(&folder.join("cache"))?,
        &LaunchSpec {
            install: &install,
            datadir,
            runtime: &ProcessSettings::default(),
            config: &Config::default(),
        },
    )
}

fn is_idle(name: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = started(name, folder.path())?;
    server.query("CREATE USER plain@localhost IDENTIFIED BY 'plain'")?;
    server.query("CREATE DATABASE shop")?;
    let scheduler = [
        "SET GLOBAL event_scheduler = OFF",
        "SET GLOBAL event_scheduler = ON",
        "CREATE EVENT shop.later ON SCHEDULE AT '2037-01-01' DO SELECT 1",
    ];
    for statement in scheduler {
        server.query(statement)?;
        let endpoint = Endpoint {
            user: "plain".to_owned(),
            password: "plain".to_owned(),
            ..server.over_socket("")
        };
        let request = Request {
            address: "db1",
            login: &[],
            transport: &endpoint.transport,
            today: "2026-11-28".parse()?,
            length: Duration::from_secs(1),
            stop: &AtomicBool::new(false),
        };
        let facts = read(&mut Admin::connect(&endpoint, PATIENCE)?, &request)?;
        let look = Look {
            colour: false,
            width: 500,
            levers: false,
        };
        let told = screen(&checkup(facts, &[], &[])?, look);
        assert!(
            told.contains("The database is hardly busy"),
            "{statement}: {told}"
        );
    }
    Ok(())
}

#[test]
fn mariadb_is_idle() -> Result<()> {
    is_idle("mariadb-10.11")
}

#[test]
fn later_mariadb_is_idle() -> Result<()> {
    is_idle("mariadb-11.8")
}

#[test]
fn mysql_is_idle() -> Result<()> {
    is_idle("mysql-9.7")
}
