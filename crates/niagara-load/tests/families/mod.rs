//! Private servers of both families, fetched where they are missing, and certificates for them.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use niagara_load::{
    Driver, DriverOptions, Endpoint, LoadError, SliceOptions, Sysbench, TlsMode, TlsOptions,
    Transport, WorkloadSpec, prepare,
};
use niagara_server::archive::Apt;
use niagara_server::{
    Cache, Catalog, Config, ImageStore, LaunchSpec, ProcessSettings, RunningServer, get, launch,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const MARIADB: &str = "mariadb-10.11";
pub const MYSQL: &str = "mysql-9.7";

/// A private server and its folder.
pub struct Server {
    // In this order: the process ends before its folder goes.
    running: RunningServer,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts the server of this name with these variables.
    pub fn start(name: &str, variables: &[(&str, &str)]) -> Server {
        let shared = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let description = catalog.get(name).expect("in the catalogue");
        let install = get(&shared, description, &mut |_| {}).expect("a fetched server");
        let image = ImageStore::new(&shared)
            .ensure(&install, "empty", "InnoDB", &mut |_| Ok(()), &mut |_| {})
            .expect("an image");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let datadir = folder.path().join("data");
        image.clone_to(&datadir).expect("a clone");
        let config: Config = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let spec = LaunchSpec {
            install: &install,
            datadir,
            runtime: &ProcessSettings::default(),
            config: &config,
        };
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        Server {
            running: launch(&cache, &spec).expect("a started server"),
            _folder: folder,
        }
    }

    pub fn query(&self, sql: &str) -> Vec<Vec<String>> {
        self.running.query(sql).expect("an answer")
    }

    /// The first cell of the answer.
    pub fn ask(&self, sql: &str) -> String {
        self.query(sql)
            .into_iter()
            .flatten()
            .next()
            .unwrap_or_default()
    }

    /// An account from anywhere, with all rights; `by` is what CREATE USER says after its name.
    pub fn account(&self, user: &str, by: &str) {
        for host in ["localhost", "%"] {
            self.query(&format!("CREATE USER '{user}'@'{host}' {by}"));
            self.query(&format!("GRANT ALL ON *.* TO '{user}'@'{host}'"));
        }
    }

    pub fn unix(&self) -> Transport {
        Transport::Unix(self.running.socket().to_path_buf())
    }

    pub fn tcp(&self) -> Transport {
        Transport::Tcp(self.running.tcp())
    }

    pub fn named(&self) -> Transport {
        Transport::Host {
            name: "localhost".into(),
            port: self.running.tcp().port(),
        }
    }

    /// The administrator over the Unix socket.
    pub fn administrator(&self) -> Endpoint {
        endpoint(self.unix(), self.running.user(), self.running.password())
    }

    /// Makes the tables.
    pub fn prepared(self) -> Server {
        prepare(&self.administrator(), &spec(), "innodb", &mut |_, _| {}).expect("tables");
        self
    }
}

pub fn spec() -> WorkloadSpec {
    WorkloadSpec::of(sysbench())
}

pub fn sysbench() -> Sysbench {
    Sysbench {
        table_size: 2000,
        ..Sysbench::default()
    }
}

pub fn endpoint(transport: Transport, user: &str, password: &str) -> Endpoint {
    Endpoint {
        transport,
        user: user.into(),
        password: password.into(),
        database: "sbtest".into(),
        tls: TlsOptions::default(),
    }
}

pub fn with_tls(endpoint: Endpoint, mode: TlsMode, ca: Option<&Path>) -> Endpoint {
    Endpoint {
        tls: TlsOptions {
            mode,
            ca: ca.map(Path::to_path_buf),
            ..TlsOptions::default()
        },
        ..endpoint
    }
}

/// Connects and loads the server for a moment.
pub fn try_load(endpoint: &Endpoint, spec: &WorkloadSpec, threads: u32) -> Result<(), LoadError> {
    let options = DriverOptions {
        connections: threads,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(std::slice::from_ref(endpoint), spec, &options)?;
    let stats = driver.slice(
        0,
        &SliceOptions {
            duration: Duration::from_millis(100),
            ..SliceOptions::default()
        },
    )?;
    assert!(stats.transactions_whole >= u64::from(threads));
    assert!(stats.errors.is_empty(), "{:?}", stats.errors);
    Ok(())
}

pub fn loads(endpoint: &Endpoint) {
    if let Err(error) = try_load(endpoint, &spec(), 1) {
        panic!("{error}");
    }
}

/// A refusal, whose words hold `words` but not the password.
pub fn refused(endpoint: &Endpoint, words: &str) {
    let error = try_load(endpoint, &spec(), 1).expect_err("a refusal");
    assert!(matches!(error, LoadError::Connect { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(words), "{text}");
    assert!(
        endpoint.password.is_empty() || !text.contains(&endpoint.password),
        "{text}"
    );
}

/// The folder with MariaDB's client_ed25519 plugin, which is in another package than the server.
pub fn ed25519_folder() -> PathBuf {
    const PLUGIN: &str = "usr/lib/mysql/plugin/auth_ed25519.so";
    let shared = Cache::open().expect("the shared cache");
    let place = shared.root().join("test-plugins").join(MARIADB);
    if !place.join("auth_ed25519.so").is_file() {
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let archive = &catalog.get(MARIADB).expect("in the catalogue").archive;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let apt = Apt::open(&folder.path().join("apt"), archive).expect("package lists");
        let deb = apt.download_alone("mariadb-server").expect("a package");
        let status = std::process::Command::new("dpkg-deb")
            .arg("-x")
            .args([&deb, &folder.path().join("unpacked")])
            .status()
            .expect("dpkg-deb");
        assert!(status.success());
        std::fs::create_dir_all(&place).expect("a folder of ours");
        // Whole or not at all, whoever else does the same.
        let new = place.join(format!(".{}", std::process::id()));
        std::fs::copy(folder.path().join("unpacked").join(PLUGIN), &new).expect("the plugin");
        std::fs::rename(&new, place.join("auth_ed25519.so")).expect("in place");
    }
    place
}

/// A certificate authority of a test.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    pub certificate: PathBuf,
}

impl Authority {
    /// Makes one whose files are in `folder`.
    pub fn new(folder: &Path, name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let certificate = folder.join(format!("{name}.pem"));
        std::fs::write(&certificate, pem).expect("a file in a new folder");
        Authority {
            folder: folder.to_path_buf(),
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// The files of a new certificate for these names, and of its key.
    pub fn sign(&self, file: &str, names: &[&str]) -> (PathBuf, PathBuf) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, file);
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate");
        let certificate = self.folder.join(format!("{file}.pem"));
        let key_file = self.folder.join(format!("{file}-key.pem"));
        std::fs::write(&certificate, signed.pem()).expect("a file in a new folder");
        std::fs::write(&key_file, key.serialize_pem()).expect("a file in a new folder");
        (certificate, key_file)
    }
}
