//! apt with a state of its own: own sources, an empty package status, own lists and downloads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};
use niagara_error::{anyhow, bail};

use super::room::{self, NO_ROOM};
use super::{mirror, pool};
use crate::obtain::catalog::{Archive, Distribution, EarlierSource};

/// An isolated apt: resolves and downloads packages of the given suites into a folder, as any user.
#[derive(Debug)]
pub struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Prepares an apt state in `folder` for this archive and fetches its package lists.
    pub fn open(folder: &Path, archive: &Archive) -> Result<Apt> {
        Apt::of(folder, archive, "deb")
    }

    /// The same for the archive's source packages.
    pub fn open_sources(folder: &Path, archive: &Archive) -> Result<Apt> {
        Apt::of(folder, archive, "deb-src")
    }

    fn of(folder: &Path, archive: &Archive, kind: &str) -> Result<Apt> {
        let Distribution::Debian = archive.distribution;
        let keyring = mirror::keyring()?;
        let mirrors = mirror::find()?;
        for part in ["lists/partial", "cache/archives/partial", "parts"] {
            fs::create_dir_all(folder.join(part))
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let mut sources: String = archive
            .suites
            .iter()
            .map(|suite| {
                let mirror = mirrors.of(suite);
                format!(
                    "{kind} [signed-by={}] {mirror} {suite} main\n",
                    keyring.display()
                )
            })
            .collect();
        if let Some(repository) = &archive.repository {
            if !repository.key.is_file() {
                bail!(
                    "the key is missing that signs the packages of {}: {}",
                    repository.url,
                    repository.key.display();
                    remedy: "put the vendor's public key there; its documentation says where to get it and what its fingerprint is"
                );
            }
            sources += &repository.source(kind);
        }
        fs::write(folder.join("sources.list"), sources)?;
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("apt.conf"), configuration(folder))?;
        let apt = Apt {
            folder: folder.to_path_buf(),
        };
        apt.run(&["update"])
            .context("cannot read the package lists")?;
        Ok(apt)
    }

    /// Downloads these packages and all they depend on; the `.deb` files.
    pub(crate) fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let archives = self.folder.join("cache/archives");
        for old in debs(&archives)? {
            fs::remove_file(old)?;
        }
        let mut arguments = vec!["install", "--download-only", "-y"];
        arguments.extend(packages);
        self.run(&arguments)
            .with_context(|| format!("cannot download {}", packages.join(", ")))?;
        debs(&archives)
    }

    /// The versions of this package, as the archive lists them, newest first.
    ///
    /// # Errors
    /// The lists cannot be read.
    pub(crate) fn versions(&self, package: &str) -> Result<Vec<String>> {
        // `PACKAGE | VERSION | SOURCE`.
        let text = self.ask_cache(&["madison", package])?;
        let version = |line: &str| Some(line.split('|').nth(1)?.trim().to_owned());
        Ok(text.lines().filter_map(version).collect())
    }

    /// Downloads this package without what it depends on, for a file that it holds; the `.deb` file.
    pub fn download_alone(&self, package: &str) -> Result<PathBuf> {
        let archives = self.folder.join("cache/archives");
        for old in debs(&archives)? {
            fs::remove_file(old)?;
        }
        self.run(&["download", package])
            .with_context(|| format!("cannot download {package}"))?;
        debs(&archives)?
            .pop()
            .with_context(|| format!("apt-get downloaded no {package}"))
    }

    /// The versions of a source package that the archive lists, newest first.
    pub fn source_versions(&self, package: &str) -> Result<Vec<String>> {
        let text = self.ask_cache(&["showsrc", "--only-source", package])?;
        let mut versions: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("Version: "))
            .map(str::to_owned)
            .collect();
        // dpkg alone knows how versions are ordered.
        versions.sort_by(|a, b| match debian_newer(a, b) {
            true => std::cmp::Ordering::Less,
            false => std::cmp::Ordering::Greater,
        });
        versions.dedup();
        if versions.is_empty() {
            bail!("the archive lists no source package {package}");
        }
        Ok(versions)
    }

    /// Downloads a source package, verified by the archive's keys.
    ///
    /// # Errors
    /// Anything but files that the archive lists and does not have.
    pub fn download_source(&self, package: &str, version: &str) -> Result<SourceDownload> {
        let archives = self.folder.join("cache/archives");
        let arguments = ["source", "--download-only", &format!("{package}={version}")];
        let output = self.output(&arguments)?;
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            if let Some(line) = only_not_found(&told) {
                return Ok(SourceDownload::NotThere(line.to_owned()));
            }
            return Err(self.failure("apt-get", &arguments, &told))
                .with_context(|| format!("cannot download the source of {package} {version}"));
        }
        let dsc = archives.join(pool::dsc_name(package, version));
        if !dsc.is_file() {
            bail!("apt-get source left no {}", dsc.display());
        }
        Ok(SourceDownload::Here(dsc))
    }

    /// Downloads a source package that the archive's lists no longer have from where the archive would keep it. What it must
    /// be says the catalogue, not the archive's keys.
    ///
    /// # Errors
    /// Anything but files that no mirror has.
    pub fn download_earlier_source(
        &self,
        package: &str,
        earlier: &EarlierSource,
    ) -> Result<SourceDownload> {
        let mirrors = mirror::find()?;
        let mut told = String::new();
        for base in pool::folders(&mirrors, package) {
            match self.download_from(&base, package, earlier)? {
                SourceDownload::NotThere(why) => told = why,
                here @ SourceDownload::Here(_) => return Ok(here),
            }
        }
        Ok(SourceDownload::NotThere(told))
    }

    /// The same from one folder of a mirror.
    fn download_from(
        &self,
        base: &str,
        package: &str,
        earlier: &EarlierSource,
    ) -> Result<SourceDownload> {
        let archives = self.folder.join("cache/archives");
        let dsc = pool::dsc_name(package, &earlier.version);
        let one = |file: &pool::PoolFile| self.download_file(base, file, &archives);
        let first = pool::PoolFile {
            name: dsc.clone(),
            sha256: earlier.dsc_sha256.clone(),
        };
        if let Some(why) = one(&first)? {
            return Ok(SourceDownload::NotThere(why));
        }
        let dsc = archives.join(dsc);
        let text =
            fs::read_to_string(&dsc).with_context(|| format!("cannot read {}", dsc.display()))?;
        for file in pool::files(&text)? {
            if let Some(why) = one(&file)? {
                return Ok(SourceDownload::NotThere(why));
            }
        }
        Ok(SourceDownload::Here(dsc))
    }

    /// Downloads one file of `base` into `folder`; why not, where it is not there.
    fn download_file(
        &self,
        base: &str,
        file: &pool::PoolFile,
        folder: &Path,
    ) -> Result<Option<String>> {
        let address = format!("{base}/{}", file.name);
        let mut command = self.command("/usr/lib/apt/apt-helper")?;
        command
            .args(["download-file", &address])
            .arg(std::path::absolute(folder.join(&file.name))?)
            .arg(format!("SHA256:{}", file.sha256));
        let output =
            room::output(command, &self.folder).context("cannot run /usr/lib/apt/apt-helper")?;
        if output.status.success() {
            return Ok(None);
        }
        let told = String::from_utf8_lossy(&output.stderr);
        match only_not_found(&told) {
            Some(why) => Ok(Some(why.to_owned())),
            None => Err(self.failure("apt-helper", &["download-file", &address], &told)),
        }
    }

    /// An apt command that knows this state only.
    fn command(&self, program: &str) -> Result<Command> {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.join("cache/archives"))
            .arg("-c")
            .arg(std::path::absolute(self.folder.join("apt.conf"))?)
            .env("LC_ALL", "C");
        Ok(command)
    }

    /// What apt-cache answers; nothing of a package that the lists do not have.
    fn ask_cache(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.command("apt-cache")?;
        let output = command
            .args(arguments)
            .output()
            .context("cannot run apt-cache")?;
        let told = String::from_utf8_lossy(&output.stderr);
        // It ends with 100 for an unknown package, too.
        if !output.status.success()
            && !told.contains("Unable to locate package")
            && !told.contains("No packages found")
        {
            bail!("apt-cache {} failed:\n{}", arguments.join(" "), told.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn run(&self, arguments: &[&str]) -> Result<()> {
        let output = self.output(arguments)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(self.failure(
                "apt-get",
                arguments,
                &String::from_utf8_lossy(&output.stderr),
            )),
        }
    }

    /// What apt-get printed and how it ended.
    fn output(&self, arguments: &[&str]) -> Result<Output> {
        // `apt-get download` and `apt-get source` put their files where they are called.
        let mut command = self.command("apt-get")?;
        command.args(arguments);
        room::output(command, &self.folder).map_err(|error| {
            anyhow!(
                "cannot run apt-get: {error}";
                remedy: "fetching servers needs apt-get and dpkg-deb; elsewhere give the path of a server's binary"
            )
        })
    }

    /// The error of a program of apt's that failed with these words.
    fn failure(&self, program: &str, arguments: &[&str], told: &str) -> anyhow::Error {
        let lines: Vec<&str> = told
            .lines()
            .filter(|l| l.starts_with("E:") || l.starts_with("W:"))
            .take(6)
            .collect();
        let sources = fs::read_to_string(self.folder.join("sources.list")).unwrap_or_default();
        let remedy = match told.contains(NO_ROOM) {
            true => format!(
                "make room: {} is on a disk that is full; or name a folder on another disk in NIAGARA_CACHE",
                self.folder.display()
            ),
            false => "check the network, or name another mirror in NIAGARA_DEBIAN_MIRROR and NIAGARA_DEBIAN_SECURITY_MIRROR"
                .to_owned(),
        };
        anyhow!(
            "{program} {} failed:\n{}\nsources:\n{}",
            arguments.join(" "),
            if lines.is_empty() {
                told.trim().to_owned()
            } else {
                lines.join("\n")
            },
            sources.trim_end();
            remedy: "{remedy}"
        )
    }
}

/// What came of the download of a source package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceDownload {
    /// Its `.dsc` file.
    Here(PathBuf),
    /// The archive lists it and does not have its files: what apt-get said of the first.
    NotThere(String),
}

/// What apt-get said first, when all that it complains of is files that the archive does not have. Whatever else went
/// wrong, if only for one of the files, is another matter.
fn only_not_found(told: &str) -> Option<&str> {
    // The last line of all such messages of apt-get and of apt-helper, whatever went before.
    const SUMMARIES: [&str; 2] = ["E: Failed to fetch some archives.", "E: Download Failed"];
    let mut errors = told
        .lines()
        .filter(|line| line.starts_with("E:") && !SUMMARIES.contains(line))
        .peekable();
    let first = *errors.peek()?;
    let not_found = |line: &str| {
        line.starts_with("E: Failed to fetch ")
            && ["  404  ", "  410  ", "  File not found"]
                .iter()
                .any(|words| line.contains(words))
    };
    errors.all(not_found).then_some(first)
}

/// The host's own configuration is read first (proxies, credentials are wanted); what would touch the system is undone.
fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        r#"#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::CNF;
Dir::State "{folder}";
Dir::State::Lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::State::extended_states "{folder}/extended_states";
Dir::Cache "{folder}/cache";
Dir::Cache::archives "{folder}/cache/archives";
Dir::Cache::pkgcache "{folder}/cache/pkgcache.bin";
Dir::Cache::srcpkgcache "{folder}/cache/srcpkgcache.bin";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "{folder}/parts";
Dir::Etc::preferences "{folder}/preferences";
Dir::Etc::preferencesparts "{folder}/parts";
Dir::Log "{folder}";
APT::Install-Recommends "false";
APT::Default-Release "";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
APT::Get::Assume-Yes "true";
APT::Get::AllowUnauthenticated "false";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
"#
    )
}

/// Whether version `a` of a package is newer than `b`.
fn debian_newer(a: &str, b: &str) -> bool {
    Command::new("dpkg")
        .args(["--compare-versions", a, "gt", b])
        .status()
        .is_ok_and(|status| status.success())
}

fn debs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_the_archive_does_not_have_lead_to_an_older_version() {
        let missing = "E: Failed to fetch http://127.0.0.1:1/m/x_1.dsc  404  File not found [IP: 127.0.0.1 1]\n";
        let local = "E: Failed to fetch file:/m/x_1.dsc  File not found - /m/x_1.dsc (2: No such file or directory)\n";
        let end = "E: Failed to fetch some archives.\n";
        for told in [missing, local] {
            let told = format!("W: something\n{told}{end}");
            assert_eq!(only_not_found(&told), told.lines().nth(1));
        }
        for other in [
            "E: Failed to fetch http://h/m/x_1.dsc  Hash Sum mismatch\n",
            "E: Failed to fetch http://h/m/x_1.dsc  Could not connect to h:80\n",
            "E: Failed to fetch http://h/m/x_1.dsc  503  Service Unavailable [IP: ::1 80]\n",
            "E: You don't have enough free space in /a/\n",
        ] {
            assert_eq!(only_not_found(&format!("{other}{end}")), None, "{other}");
            assert_eq!(
                only_not_found(&format!("{missing}{other}{end}")),
                None,
                "{other}"
            );
        }
        // Killed by Ctrl-C it says nothing.
        assert_eq!(only_not_found(""), None);
        assert_eq!(only_not_found(end), None);
    }
}
