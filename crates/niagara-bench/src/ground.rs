//! What all cases stand on: a fetched server, a dataset image, and where client and server may run.

use anyhow::{Context, Result};
use niagara_load::{Endpoint, Sysbench, SysbenchTest, TlsOptions, Transport, WorkloadSpec};
use niagara_server::{
    Cache, Catalog, Config, Image, ImageStore, Install, LaunchSpec, ProcessSettings, RunningServer,
    WorkFolder, get, launch,
};
use nix::sched::sched_getaffinity;
use nix::unistd::Pid;
use std::path::PathBuf;

/// Rows of the one table.
pub const TABLE_SIZE: u64 = 100_000;

/// Where client and server may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Both on all CPUs.
    Shared,
    /// The client on the first CPU, the server on the others.
    Pinned,
}

/// A fetched server and its data.
pub struct Ground {
    cache: Cache,
    install: Install,
    image: Image,
    cpus: Vec<usize>,
}

/// A server under measurement, with its data; both go when it is dropped.
pub struct Stand {
    // In this order: the server ends before its data goes.
    pub server: RunningServer,
    _clone: WorkFolder,
    pub client_cpus: Option<Vec<usize>>,
}

/// The workload of a kind, in sysbench's own defaults but for the table's size.
pub fn spec(test: SysbenchTest) -> WorkloadSpec {
    WorkloadSpec::of(Sysbench {
        test,
        table_size: TABLE_SIZE,
        ..Sysbench::default()
    })
}

impl Ground {
    /// Fetches the server and loads the table, where not done before.
    pub fn prepare(server: &str) -> Result<Ground> {
        let cache = Cache::open()?;
        let catalog = Catalog::load(&[])?;
        let install = get(&cache, catalog.get(server)?, &mut |text| {
            eprintln!("{text}");
        })?;
        let spec = spec(SysbenchTest::OltpReadOnly);
        let image = ImageStore::new(&cache).ensure(
            &install,
            &spec.data_key(1),
            "InnoDB",
            &mut |server| {
                niagara_load::prepare(&endpoint(server), &spec, "InnoDB", &mut |_, _| {})?;
                Ok(())
            },
            &mut |text| eprintln!("{text}"),
        )?;
        let allowed = sched_getaffinity(Pid::from_raw(0)).context("reading the CPU affinity")?;
        let cpus = (0..nix::sched::CpuSet::count())
            .filter(|&cpu| allowed.is_set(cpu).unwrap_or(false))
            .collect();
        Ok(Ground {
            cache,
            install,
            image,
            cpus,
        })
    }

    /// How many CPUs there are.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// A server on fresh data.
    pub fn start(&self, placement: Placement) -> Result<Stand> {
        let clone = self.cache.work_folder("clone")?;
        let datadir: PathBuf = clone.path().join("data");
        self.image.clone_to(&datadir)?;
        let pinned = placement == Placement::Pinned;
        let runtime = ProcessSettings {
            server_cpus: pinned.then(|| self.cpus[1..].to_vec()),
            ..ProcessSettings::default()
        };
        let config: Config = [
            ("innodb_buffer_pool_size", "256M"),
            // room for 4,096 connections with a prepared statement of each kind
            ("max_connections", "10000"),
            ("max_prepared_stmt_count", "1000000"),
            ("table_open_cache", "16384"),
            ("back_log", "4096"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
        let server = launch(
            &self.cache,
            &LaunchSpec {
                install: &self.install,
                datadir,
                runtime: &runtime,
                config: &config,
            },
        )?;
        for query in [
            "SELECT SUM(LENGTH(c)) FROM sbtest.sbtest1 FORCE INDEX (PRIMARY)",
            "SELECT SUM(k) FROM sbtest.sbtest1 FORCE INDEX (k_1)",
        ] {
            server.query(query)?;
        }
        Ok(Stand {
            server,
            _clone: clone,
            client_cpus: pinned.then(|| self.cpus[..1].to_vec()),
        })
    }
}

/// The way to a server, over its socket.
pub fn endpoint(server: &RunningServer) -> Endpoint {
    Endpoint {
        transport: Transport::Unix(server.socket().to_path_buf()),
        user: server.user().to_owned(),
        password: server.password().to_owned(),
        database: "sbtest".to_owned(),
        tls: TlsOptions::default(),
    }
}
