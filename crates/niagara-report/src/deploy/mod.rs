//! What a user installs: option file, systemd drop-in, and how to go about it.

mod option_file;
mod readme;
mod unit;

use std::collections::BTreeMap;

/// A malloc that the server is to be started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployMalloc {
    /// `jemalloc`.
    pub name: String,
    /// The Debian package that has it.
    pub package: String,
    /// What `LD_PRELOAD` names: `libjemalloc.so.2`, or a path.
    pub soname: String,
}

/// A lever of the final variant, as far as the files speak of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployRung {
    /// Title for people.
    pub title: String,
    /// Why a person may want it or not.
    pub why: String,
    /// Its measured effect: `× 1.093 [1.081, 1.104], claimed, n = 12`; see [`crate::rung_effect`].
    pub effect: String,
    /// Server variables and environment variables that it sets.
    pub sets: Vec<String>,
}

/// The final variant, as far as it can be deployed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeployInput {
    /// Server name, `mariadb-10.11`.
    pub server: String,
    /// `mariadb`, `mysql` or `percona`.
    pub family: String,
    /// Server variables.
    pub config: BTreeMap<String, String>,
    /// Environment of the server process.
    pub environment: BTreeMap<String, String>,
    /// Preloaded malloc.
    pub malloc: Option<DeployMalloc>,
    /// CPUs of the server, as `CPUAffinity=` takes them: `0-3 8`.
    pub server_cpus: Option<String>,
    /// Niceness, −20 to 19.
    pub nice: Option<i32>,
    /// `batch`, `fifo`, `rr`, `idle`, `other`: as `CPUSchedulingPolicy=` takes it.
    pub scheduling: Option<String>,
    /// What must be prepared for huge pages; also lifts the limit on locked memory.
    pub huge_pages: Option<String>,
    /// `tcp` or `unix`.
    pub transport: String,
    /// Levers of the final variant, best first.
    pub rungs: Vec<DeployRung>,
    /// One sentence: what was measured, on what, how sure.
    pub evidence: String,
    /// Steps outside the server, in order: commands or sentences.
    pub host_steps: Vec<String>,
}

impl DeployInput {
    fn is_mariadb(&self) -> bool {
        self.family.eq_ignore_ascii_case("mariadb")
    }

    /// The systemd unit of Debian's packages.
    fn service(&self) -> &'static str {
        if self.is_mariadb() {
            "mariadb"
        } else {
            "mysql"
        }
    }

    /// The process.
    fn daemon(&self) -> &'static str {
        if self.is_mariadb() {
            "mariadbd"
        } else {
            "mysqld"
        }
    }

    /// The client.
    fn client(&self) -> &'static str {
        if self.is_mariadb() {
            "mariadb"
        } else {
            "mysql"
        }
    }

    /// Where Debian's packages read option files from.
    fn option_folder(&self) -> &'static str {
        if self.is_mariadb() {
            "/etc/mysql/mariadb.conf.d"
        } else {
            "/etc/mysql/mysql.conf.d"
        }
    }

    /// The rung that sets a variable; `-` and `_` are the same to the server.
    fn rung_of(&self, variable: &str) -> Option<&DeployRung> {
        let same = |name: &String| {
            name.replace('-', "_")
                .eq_ignore_ascii_case(&variable.replace('-', "_"))
        };
        self.rungs.iter().find(|rung| rung.sets.iter().any(same))
    }
}

/// The files of `deploy/`: relative path and content. A file with nothing to say is left out.
pub fn deploy(input: &DeployInput) -> Vec<(String, String)> {
    let mut files = vec![("README.md".to_owned(), readme::readme(input))];
    files.extend(option_file::option_file(input).map(|text| (option_file::NAME.to_owned(), text)));
    files.extend(unit::unit(input).map(|text| (unit::NAME.to_owned(), text)));
    files
}

/// Text as the lines of a `#` comment.
fn comment(text: &str) -> String {
    text.lines()
        .map(|line| format!("# {}", line.trim_end()).trim_end().to_owned() + "\n")
        .collect()
}
