//! What the tests share: one fetched server, one empty image, and a cache of their own for everything else.
#![allow(dead_code)]

use std::path::PathBuf;

use anyhow::Result;
use niagara_server::{
    Cache, Catalog, Config, Image, ImageStore, Install, LaunchSpec, ProcessSettings, RunningServer,
    get, launch,
};

/// The server the tests run on; fetched once, by whoever comes first.
pub const SERVER: &str = "mariadb-10.11";

pub fn install(name: &str) -> Install {
    let cache = Cache::open().expect("the shared cache");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get(name).expect("in the catalogue");
    get(&cache, description, &mut |text| eprintln!("{text}")).expect("a fetched server")
}

/// An image without data, shared by all tests.
pub fn empty_image(install: &Install) -> Image {
    let cache = Cache::open().expect("the shared cache");
    ImageStore::new(&cache)
        .ensure(install, "empty", "InnoDB", &mut |_| Ok(()), &mut |_| {})
        .expect("an image")
}

/// A cache of one test, with a clone of the empty image.
pub struct Bench {
    pub install: Install,
    pub cache: Cache,
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::of(SERVER)
    }

    pub fn of(server: &str) -> Bench {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        Bench {
            install: install(server),
            cache,
            folder,
        }
    }

    /// A new data directory.
    pub fn datadir(&self) -> PathBuf {
        let datadir = self
            .folder
            .path()
            .join(format!("data-{:08x}", rand::random::<u32>()));
        empty_image(&self.install)
            .clone_to(&datadir)
            .expect("a clone");
        datadir
    }

    pub fn launch(
        &self,
        runtime: &ProcessSettings,
        config: &[(&str, &str)],
    ) -> Result<RunningServer> {
        let config: Config = config
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        let spec = LaunchSpec {
            install: &self.install,
            datadir: self.datadir(),
            runtime,
            config: &config,
        };
        launch(&self.cache, &spec)
    }
}

/// Whether a process runs (a zombie that nobody has reaped does not).
pub fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits for what must become true soon.
pub fn soon(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !condition() {
        assert!(
            std::time::Instant::now() < deadline,
            "not within 20 s: {what}"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
