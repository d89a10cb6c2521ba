//! A user's server with a database, in a place of its own: what the tests of MariaDB's and of MySQL's data have in common.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use niagara_load::Admin;
use niagara_origin::data::{DataSource, image_of};
use niagara_origin::statistics::{ENDING, statistics_of};
use niagara_server::{
    Cache, Cancel, Config, Image, ImageStore, Install, LaunchSpec, ProcessSettings, RunningServer,
    launch,
};

/// The user's server, in a place of its own.
pub struct Shop {
    folder: tempfile::TempDir,
    pub cache: Cache,
    pub install: Install,
}

impl Shop {
    pub fn of(install: Install) -> Result<Shop> {
        let folder = tempfile::tempdir()?;
        Ok(Shop {
            cache: Cache::at(&folder.path().join("cache"))?,
            install,
            folder,
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The image of `data`, by the server's default configuration.
    pub fn image_of(&self, data: &DataSource, tell: &mut dyn FnMut(&str)) -> Result<Image> {
        image_of(
            &self.cache,
            &self.install,
            data,
            &Config::new(),
            &Cancel::default(),
            tell,
        )
    }

    /// A server on a clone of the image of `data`.
    pub fn launch_copy(&self, data: &DataSource) -> Result<RunningServer> {
        let image = self.image_of(data, &mut |_| {})?;
        image.clone_to(&self.path("clone"))?;
        self.launch(self.path("clone"), &Config::new())
    }

    /// The same, of data whose statistics its server takes.
    pub fn launch_copy_with_statistics(&self, data: &DataSource) -> Result<RunningServer> {
        let without = self.image_of(data, &mut |_| {})?.record()?.without;
        assert!(
            !without.iter().any(|one| one.contains("statistic")),
            "{without:?}"
        );
        self.launch_copy(data)
    }

    pub fn launch(&self, datadir: PathBuf, config: &Config) -> Result<RunningServer> {
        launch(
            &self.cache,
            &LaunchSpec {
                install: &self.install,
                datadir,
                runtime: &ProcessSettings::default(),
                config,
            },
        )
    }

    /// Starts it on new data, with these variables, and says these statements to it.
    pub fn start_with(
        &self,
        variables: &[(&str, &str)],
        statements: &[&str],
    ) -> Result<RunningServer> {
        // The image of an empty server is shared by all tests of this machine.
        let image = ImageStore::new(&Cache::open()?).ensure(
            &self.install,
            "empty",
            "InnoDB",
            &mut |_| Ok(()),
            &mut |_| {},
        )?;
        image.clone_to(&self.path("data"))?;
        let variables = variables.iter();
        let config = variables.map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let server = self.launch(self.path("data"), &config.collect())?;
        for statement in statements {
            server.query(statement)?;
        }
        Ok(server)
    }
}

/// Writes the file that a pack has for a dump: the optimizer's statistics of the database `shop`.
pub fn write_statistics(server: &RunningServer, version: &str, dump: &Path) -> Result<()> {
    let mut admin = Admin::connect(&server.over_socket(""), Duration::from_secs(60))?;
    let found = statistics_of(&mut admin, version, &["shop".to_owned()])?;
    admin.quit();
    let beside = format!("{}{ENDING}", dump.display());
    Ok(fs::write(beside, serde_json::to_vec(&found)?)?)
}

/// The first value of the first row.
pub fn value(server: &RunningServer, sql: &str) -> Result<String> {
    let rows = server.query(sql)?;
    rows.into_iter().flatten().next().context("a row")
}

/// That the original's binary logs were left behind.
pub fn assert_no_binary_log(datadir: &Path) -> Result<()> {
    let names: Vec<String> = fs::read_dir(datadir)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.starts_with("mysql-bin")),
        "{names:?}"
    );
    Ok(())
}

/// What a program of the server's family prints that is told where the server is; `program` may have arguments of a loader.
pub fn output_of(
    mut program: Command,
    server: &RunningServer,
    arguments: &[&str],
) -> Result<Vec<u8>> {
    let output = program
        .arg("--no-defaults")
        .arg(format!("--socket={}", server.socket().display()))
        .arg(format!("--user={}", server.user()))
        .args(arguments)
        .env("MYSQL_PWD", server.password())
        .output()
        .with_context(|| {
            format!("{program:?} (scripts/setup test installs what the tests need)")
        })?;
    ensure!(
        output.status.success(),
        "{program:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}
