//! Which Debian mirror this host uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use niagara_error::bail;

/// Where Debian's packages and its security updates are fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirrors {
    pub main: String,
    pub security: String,
}

impl Mirrors {
    /// Where a suite is: those of security updates, and those of debug packages, have archives of their own.
    pub(super) fn of(&self, suite: &str) -> String {
        let (release, is_debug) = match suite.strip_suffix("-debug") {
            Some(release) => (release, true),
            None => (suite, false),
        };
        let base = match release.ends_with("-security") {
            true => &self.security,
            false => &self.main,
        };
        match (is_debug, std::env::var("NIAGARA_DEBIAN_DEBUG_MIRROR")) {
            (false, _) => base.clone(),
            (true, Ok(named)) if !named.is_empty() && base == &self.main => named,
            (true, _) => format!("{}-debug", base.trim_end_matches('/')),
        }
    }
}

/// The keyring that signs Debian's archive; part of every Debian, a package elsewhere.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The keyring, or what to install.
pub(super) fn keyring() -> Result<&'static Path> {
    let keyring = Path::new(KEYRING);
    if !keyring.exists() {
        bail!(
            "the keys that sign Debian's packages are missing ({KEYRING})";
            remedy: "apt install debian-archive-keyring"
        );
    }
    Ok(keyring)
}

/// The mirrors: from the environment, else what apt knows by label, else the host's own source lists.
pub(super) fn find() -> Result<Mirrors> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let asked = (
        variable("NIAGARA_DEBIAN_MIRROR"),
        variable("NIAGARA_DEBIAN_SECURITY_MIRROR"),
    );
    let (mut main, mut security) = asked;
    if main.is_none() {
        let known = by_label();
        main = known.0;
        security = security.or(known.1);
    }
    if main.is_none() {
        let os = os_release();
        if os.id == "debian" {
            let entries = sources(Path::new("/etc/apt"));
            let uri = |suite: &str| {
                entries
                    .iter()
                    .find(|e| e.suites.iter().any(|s| s == suite))
                    .map(|e| e.uri.clone())
            };
            main = uri(&os.codename)
                .or_else(|| uri("stable"))
                .or_else(|| uri("sid"))
                .or_else(|| uri("unstable"));
            security = security.or_else(|| uri(&format!("{}-security", os.codename)));
        }
    }
    let Some(main) = main else {
        bail!(
            "no Debian mirror among this host's package sources ({})", os_release().title;
            remedy: "set NIAGARA_DEBIAN_MIRROR to a mirror near you (a URL that ends in /debian), and on hosts other \
             than Debian: apt install debian-archive-keyring; or give the path of a server's binary instead of a name"
        );
    };
    let security = security.unwrap_or_else(|| derived_security(&main));
    Ok(Mirrors { main, security })
}

/// `…/debian` → `…/debian-security`, as mirrors lay it out.
fn derived_security(main: &str) -> String {
    let trimmed = main.trim_end_matches('/');
    match trimmed.strip_suffix("/debian") {
        Some(base) => format!("{base}/debian-security"),
        None => format!("{trimmed}-security"),
    }
}

/// Mirrors whose release files call themselves Debian; known to apt once its lists were fetched.
fn by_label() -> (Option<String>, Option<String>) {
    let output = Command::new("apt-get")
        .args([
            "indextargets",
            "--format",
            "$(REPO_URI)|$(ORIGIN)|$(LABEL)",
            "Created-By: Packages",
        ])
        .output();
    let text = output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    let uri = |label: &str| {
        text.lines()
            .map(|line| line.split('|').collect::<Vec<_>>())
            .find(|fields| fields.len() == 3 && fields[1] == "Debian" && fields[2] == label)
            .map(|fields| fields[0].to_owned())
    };
    (uri("Debian"), uri("Debian-Security"))
}

#[derive(Debug, PartialEq, Eq)]
struct Source {
    uri: String,
    suites: Vec<String>,
}

/// All sources of binary packages under `/etc/apt`, in both of apt's formats.
fn sources(apt: &Path) -> Vec<Source> {
    let mut files: Vec<PathBuf> = fs::read_dir(apt.join("sources.list.d"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.sort();
    files.insert(0, apt.join("sources.list"));
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        match file.extension().and_then(|e| e.to_str()) {
            Some("list") => found.extend(text.lines().filter_map(one_line)),
            Some("sources") => found.extend(text.split("\n\n").flat_map(deb822)),
            _ => {}
        }
    }
    found
}

/// `deb [option=value] URI SUITE COMPONENT…`
fn one_line(line: &str) -> Option<Source> {
    let rest = line.trim().strip_prefix("deb")?;
    let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace();
    Some(Source {
        uri: words.next()?.to_owned(),
        suites: vec![words.next()?.to_owned()],
    })
}

/// A paragraph of `Types:`, `URIs:`, `Suites:` lines.
fn deb822(paragraph: &str) -> Vec<Source> {
    let field = |name: &str| -> Vec<String> {
        let line = paragraph.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value)
        });
        line.unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    if !field("Types").iter().any(|kind| kind == "deb") || field("Enabled") == ["no"] {
        return Vec::new();
    }
    let suites = field("Suites");
    field("URIs")
        .into_iter()
        .map(|uri| Source {
            uri,
            suites: suites.clone(),
        })
        .collect()
}

struct OsRelease {
    id: String,
    codename: String,
    title: String,
}

/// The codename of the release that this machine runs: `bookworm`; empty where it has none.
pub(crate) fn host_release() -> String {
    os_release().codename
}

fn os_release() -> OsRelease {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
            .trim_matches('"')
            .to_owned()
    };
    OsRelease {
        id: field("ID"),
        codename: field("VERSION_CODENAME"),
        title: field("PRETTY_NAME"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_of_sources_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("sources.list.d")).expect("made");
        fs::write(
            folder.path().join("sources.list"),
            "# deb http://off/debian sid main\ndeb-src http://src/debian sid main\n\
             deb [arch=amd64 signed-by=/k.gpg] http://one/debian bookworm main\n",
        )
        .expect("written");
        fs::write(
            folder.path().join("sources.list.d/debian.sources"),
            "Types: deb deb-src\n# a comment\nURIs: http://two/debian-security\nSuites: bookworm-security\nComponents: main\n\n\
             Types: deb\nURIs: http://three/debian\nSuites: trixie\nEnabled: no\n",
        )
        .expect("written");
        let source = |uri: &str, suite: &str| Source {
            uri: uri.into(),
            suites: vec![suite.into()],
        };
        let expected = vec![
            source("http://one/debian", "bookworm"),
            source("http://two/debian-security", "bookworm-security"),
        ];
        assert_eq!(sources(folder.path()), expected);
    }

    #[test]
    fn debug_packages_have_an_archive_of_their_own() {
        let mirrors = Mirrors {
            main: "http://m/debian/".into(),
            security: "http://m/debian-security".into(),
        };
        assert_eq!(mirrors.of("bookworm"), "http://m/debian/");
        assert_eq!(mirrors.of("bookworm-security"), "http://m/debian-security");
        assert_eq!(mirrors.of("bookworm-debug"), "http://m/debian-debug");
        assert_eq!(
            mirrors.of("bookworm-security-debug"),
            "http://m/debian-security-debug"
        );
    }

    #[test]
    fn a_security_mirror_is_derived_by_path() {
        assert_eq!(
            derived_security("http://mirror/debian/"),
            "http://mirror/debian-security"
        );
        assert_eq!(
            derived_security("http://mirror/deb"),
            "http://mirror/deb-security"
        );
    }
}
