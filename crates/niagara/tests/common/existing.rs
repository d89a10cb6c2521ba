//! A running server that the command under test knows by its address only.

use std::process::Command;

use niagara_server::{
    Cache, Catalog, ImageStore, LaunchSpec, ProcessSettings, RunningServer, get, launch,
};

use super::Place;

/// A server without data in a place of its own.
pub struct Existing {
    // In this order: the server ends before its data goes.
    pub server: RunningServer,
    pub place: Place,
}

impl Existing {
    /// The catalogue's server `name`, with these variables.
    pub fn start(name: &str, variables: &[(&str, &str)]) -> Existing {
        let shared = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let description = catalog.get(name).expect("in the catalogue");
        let install =
            get(&shared, description, &mut |text| eprintln!("{text}")).expect("a fetched server");
        let image = ImageStore::new(&shared)
            .ensure(&install, "empty", "InnoDB", &mut |_| Ok(()), &mut |_| {})
            .expect("an image");
        let place = Place::new();
        let cache = Cache::at(&place.folder.path().join("cache")).expect("a cache");
        let datadir = place.folder.path().join("data");
        image.clone_to(&datadir).expect("a clone");
        let config = variables
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let spec = LaunchSpec {
            install: &install,
            datadir,
            runtime: &ProcessSettings::default(),
            config: &config,
        };
        let server = launch(&cache, &spec).expect("a started server");
        Existing { server, place }
    }

    /// `niagara bench WORKLOAD …` with the server's socket and account.
    pub fn bench(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench_without_password(arguments);
        command.env("NIAGARA_PASSWORD", self.server.password());
        command
    }

    /// The same; nothing tells it the password.
    pub fn bench_without_password(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.niagara(&["bench"]);
        command
            .args(arguments)
            .arg("--socket")
            .arg(self.server.socket())
            .args(["--user", self.server.user()])
            .env_remove("NIAGARA_PASSWORD")
            .env_remove("MYSQL_PWD");
        command
    }
}
