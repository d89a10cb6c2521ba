//! The servers that can be obtained, described by files in `servers/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};
use niagara_error::anyhow;
use niagara_toml::{Mistakes, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::family::{Family, Version};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data/servers");

/// One server that can be obtained: what `data/servers/NAME.toml` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerDescription {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// For people.
    pub title: String,
    /// Which branch.
    pub family: Family,
    /// `10.11`, `9.7`: what is fetched must be of this series.
    pub series: String,
    /// The server's binary inside the unpacked packages.
    pub server: PathBuf,
    /// Packages to fetch; what they depend on follows. The first gives the version.
    pub packages: Vec<String>,
    /// Further binaries inside the packages that are to run.
    #[serde(default)]
    pub tools: Vec<PathBuf>,
    /// Packages that come along by dependency but are not unpacked.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Where the packages come from.
    pub archive: Archive,
    /// Memory allocators from the same archive.
    #[serde(default)]
    pub mallocs: BTreeMap<String, MallocPackage>,
    /// Storage engines in packages of their own, by the name that the server gives them.
    #[serde(default)]
    pub engines: BTreeMap<String, EnginePackages>,
    /// The server's own regression tests in the same archive.
    #[serde(default)]
    pub suite: Option<SuitePackages>,
    /// How it is built from source, where that is known.
    #[serde(default)]
    pub build: Option<BuildDescription>,
}

/// A storage engine as a plugin in a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnginePackages {
    /// The plugin's package, taken in the server's own version, then those with libraries that it needs and the server does
    /// not. They are fetched without what they depend on.
    pub packages: Vec<String>,
    /// The plugin's file without its ending.
    pub plugin: String,
}

/// A server's own regression tests in packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuitePackages {
    /// The tests, their runner and the programs that they call; all in the version of the server that is tested. The
    /// first decides which versions there are.
    pub packages: Vec<String>,
    /// The runner's script inside the packages.
    pub runner: PathBuf,
}

/// How a server is built from source: what `[build]` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildDescription {
    /// The source package in the same archive.
    pub source: String,
    /// What ninja is asked for.
    pub targets: Vec<String>,
    /// The binary inside the build folder.
    pub binary: PathBuf,
    /// Flags for C and C++ that the distribution's packages are compiled with.
    pub flags: Vec<String>,
    /// Flags that they are linked with.
    pub link_flags: Vec<String>,
    /// Options of cmake.
    pub cmake: BTreeMap<String, String>,
    /// Plugins that no workload needs; cmake gets `PLUGIN_NAME=NO`.
    #[serde(default)]
    pub plugins_off: Vec<String>,
    /// Debian packages that building takes, except compilers.
    pub needs: Vec<String>,
    /// CPU seconds that compiling it once took on some machine: what a first build is expected to take. It decides nothing of
    /// what is built, so it is left out of what builds are known by.
    #[serde(default, skip_serializing)]
    pub cpu_seconds: CpuSeconds,
    /// Megabytes (2^20 bytes) that the folder took in which it was compiled in the largest way that was tried: what is looked for on the
    /// disk before a build begins. 0 is unknown. It decides nothing of what is built.
    #[serde(default, skip_serializing)]
    pub disk_mb: u64,
    /// Source packages that a mirror may still hold when the archive's lists have moved on, newest first. They decide nothing
    /// of what is built either: a build is known by its source.
    #[serde(default, skip_serializing)]
    pub earlier: Vec<EarlierSource>,
}

/// CPU seconds that compiling a server once took on some machine, by compiler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuSeconds {
    /// By gcc, without profile feedback.
    pub gcc: Option<u32>,
    /// By clang, with counters or without a profile.
    pub clang: Option<u32>,
    /// By clang with a profile: what never ran is compiled for size, which takes less.
    pub clang_by_profile: Option<u32>,
}

/// A source package of before: what it was called, and what it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierSource {
    /// Its version, as the archive writes it: `1:11.8.6-0+deb13u1`.
    pub version: String,
    /// SHA-256 of its `.dsc` file in hexadecimal digits; that file has those of the others.
    pub dsc_sha256: String,
}

/// Where packages come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Whose archive.
    pub distribution: Distribution,
    /// `bookworm`, `bookworm-updates`, `bookworm-security`.
    pub suites: Vec<String>,
    /// A vendor's repository that the server itself comes from; what it depends on comes from the distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Repository>,
}

/// A vendor's repository of packages for apt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// Where it is: what apt's source lists have behind `deb`.
    pub url: String,
    /// The release of the distribution that its packages are for, as it calls them.
    pub suite: String,
    /// The part of it with this series.
    pub component: String,
    /// The file with the vendor's public key, by which what is fetched is verified: its path, or its name where it lies beside
    /// the server's file.
    pub key: PathBuf,
}

impl Repository {
    /// Its line of a source list; apt takes nothing that the key did not sign.
    pub(crate) fn source(&self, kind: &str) -> String {
        format!(
            "{kind} [signed-by={}] {} {} {}\n",
            self.key.display(),
            self.url,
            self.suite,
            self.component
        )
    }
}

/// A distribution whose archive can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Debian and its security archive.
    Debian,
}

/// A memory allocator in a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MallocPackage {
    /// The package.
    pub package: String,
    /// The library's file name, as it is preloaded.
    pub library: String,
}

/// All servers that can be obtained.
#[derive(Debug, Clone)]
pub struct Catalog {
    servers: BTreeMap<String, ServerDescription>,
}

impl Catalog {
    /// The servers built into the program, and those of further folders; a name found later replaces an earlier one.
    pub fn load(extra: &[PathBuf]) -> Result<Catalog> {
        let mut servers = BTreeMap::new();
        for file in EMBEDDED.files() {
            if let (Some(name), Some(text)) = (toml_name(file.path()), file.contents_utf8()) {
                servers.insert(
                    name.clone(),
                    parse(&name, &format!("data/servers/{name}.toml (built in)"), text)?,
                );
            }
        }
        for folder in extra {
            let entries = fs::read_dir(folder)
                .with_context(|| format!("cannot read the servers folder {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if let Some(name) = toml_name(&path) {
                    let text = fs::read_to_string(&path)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    servers.insert(
                        name.clone(),
                        parse(&name, &path.display().to_string(), &text)?,
                    );
                }
            }
        }
        Ok(Catalog { servers })
    }

    /// The server of this name; the error lists those known.
    pub fn get(&self, name: &str) -> Result<&ServerDescription> {
        self.servers.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            let hint = nearest(name, of_same_version(name, known.iter().copied()))
                .map(|candidate| format!("; did you mean {candidate}?"))
                .unwrap_or_default();
            anyhow!(
                "no server is called `{name}`{hint}\nknown: {}", known.join(", ");
                remedy: "name one of these; or give the path of a server's binary \
                 (/usr/sbin/mariadbd, /usr/sbin/mysqld), of its tarball, or of the root folder of an image; or the name of a package that is installed"
            )
        })
    }

    /// All servers, by name.
    pub fn iter(&self) -> impl Iterator<Item = &ServerDescription> {
        self.servers.values()
    }
}

/// Whether a server of this name is built into the program.
pub(crate) fn is_shipped(name: &str) -> bool {
    EMBEDDED.get_file(format!("{name}.toml")).is_some()
}

/// The known names that `name` may be a typing error of: another version is another server, and is not offered for it. A name
/// without a version may mean any.
pub fn of_same_version<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> impl Iterator<Item = &'n str> {
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let version = digits(name);
    known
        .into_iter()
        .filter(move |known| version.is_empty() || digits(known) == version)
}

fn toml_name(path: &std::path::Path) -> Option<String> {
    (path.extension()? == "toml").then(|| path.file_stem()?.to_str().map(str::to_owned))?
}

/// Reads one description; an error says the file, the line, the cause and the remedy.
fn parse(name: &str, file: &str, text: &str) -> Result<ServerDescription> {
    let help = "data/servers/mariadb-10.11.toml is a complete example";
    let mut description: ServerDescription = niagara_toml::read(file, text, help, &[])?;
    let mut mistakes = Mistakes::of(file, text);
    let mut complain = |key: &str, cause: String, remedy: &str| {
        let starts = |at: &usize| text[..*at].ends_with('\n') || *at == 0;
        let at = text.match_indices(key).map(|(at, _)| at).find(starts);
        mistakes.add(at.unwrap_or(0), cause, remedy);
    };
    if description.series.parse::<Version>().is_err() {
        complain(
            "series",
            format!("`{}` is not a series", description.series),
            "write two numbers, as in \"10.11\"",
        );
    }
    if description.packages.is_empty() {
        complain(
            "packages",
            "no package is named".into(),
            "name the package that holds the server",
        );
    }
    if description.archive.suites.is_empty() {
        complain(
            "suites",
            "no suite is named".into(),
            "name the release the packages come from",
        );
    }
    if description.server.is_absolute() {
        let cause = format!("{} is an absolute path", description.server.display());
        complain(
            "server",
            cause,
            "give the path inside the package, as in \"usr/sbin/mysqld\"",
        );
    }
    let repository = description.archive.repository.as_mut();
    if let Some(repository) = repository {
        // Beside the file that names it.
        let folder = std::path::Path::new(file).parent();
        let folder = folder.and_then(|folder| std::path::absolute(folder).ok());
        repository.key = folder.unwrap_or_default().join(&repository.key);
        let words = [&repository.url, &repository.suite, &repository.component];
        let is_word = |text: &&&String| !text.is_empty() && !text.contains(char::is_whitespace);
        if words.iter().filter(is_word).count() < words.len() {
            complain(
                "[archive.repository]",
                "its URL, suite and component are a word each".into(),
                "write them as apt's source lists have them: deb URL SUITE COMPONENT",
            );
        }
    }
    description.name = name.to_owned();
    Ok(mistakes.unless_any(Some(description))?)
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn the_built_in_servers_are_valid() {
        let catalog = Catalog::load(&[]).expect("valid files");
        let names: Vec<&str> = catalog.iter().map(|server| server.name.as_str()).collect();
        for name in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_and_the_nearest() {
        let catalog = Catalog::load(&[]).expect("valid files");
        let error = |name: &str| {
            catalog
                .get(name)
                .expect_err("unknown")
                .explain()
                .to_string()
        };
        let told = error("maria-10.11");
        assert!(told.contains("did you mean mariadb-10.11?"), "{told}");
        assert!(told.contains("mysql-9.7"), "{told}");
        for other_version in ["mariadb-10.1", "mariadb-10.6", "mysql-8.4"] {
            let told = error(other_version);
            assert!(!told.contains("did you mean"), "{told}");
        }
    }

    #[test]
    fn a_vendors_repository_is_signed_by_the_key_beside_its_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = EMBEDDED
            .get_file("mariadb-10.11.toml")
            .and_then(|file| file.contents_utf8())
            .expect("embedded");
        let repository = "[archive.repository]\nurl = \"https://packages.example/debian\"\nsuite = \"bookworm\"\n\
                          component = \"mysql-8.4\"\nkey = \"vendor.asc\"\n\n[mallocs.jemalloc]";
        let text = text.replace("[mallocs.jemalloc]", repository);
        fs::write(folder.path().join("mine.toml"), &text).expect("written");
        let catalog = Catalog::load(&[folder.path().to_path_buf()]).expect("valid");
        let archive = &catalog.get("mine").expect("known").archive;
        let source = archive.repository.as_ref().expect("there").source("deb");
        let key = folder.path().join("vendor.asc");
        let expected = format!(
            "deb [signed-by={}] https://packages.example/debian bookworm mysql-8.4\n",
            key.display()
        );
        assert_eq!(source, expected);
        let wrong = text.replace(
            "suite = \"bookworm\"\ncomponent",
            "suite = \"a b\"\ncomponent",
        );
        fs::write(folder.path().join("mine.toml"), wrong).expect("written");
        let error = Catalog::load(&[folder.path().to_path_buf()]).expect_err("a mistake");
        assert!(
            error.explain().to_string().contains("a word each"),
            "{error}"
        );
    }

    #[test]
    fn a_mistake_is_told_with_file_line_cause_and_remedy() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("mine.toml");
        let good = EMBEDDED
            .get_file("mariadb-10.11.toml")
            .and_then(|f| f.contents_utf8())
            .expect("embedded");
        let told = |text: String| {
            fs::write(&path, text).expect("written");
            Catalog::load(&[folder.path().to_path_buf()])
                .expect_err("a mistake")
                .explain()
                .to_string()
        };
        let error = told(good.replace("family = \"mariadb\"", "family = \"oracle\""));
        assert!(
            error.contains("mine.toml:3:") && error.contains("oracle") && error.contains("remedy"),
            "{error}"
        );
        let error = told(good.replace("series = \"10.11\"", "series = \"ten\""));
        assert!(
            error.contains("mine.toml:4:") && error.contains("`ten`"),
            "{error}"
        );
        let error = told(format!("colour = 1\n{good}"));
        assert!(
            error.contains("mine.toml:1:") && error.contains("colour"),
            "{error}"
        );
    }
}
