//! A server that can be launched: fetched from an archive, or found on the host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::archive::{Apt, package_and_version, unpack};
use crate::cache::{Cache, WorkFolder, owner_in_name};
use crate::catalog::ServerDescription;
use crate::elf;
use crate::environment::NO_PROFILE;
use crate::family::{Family, Version};
use crate::image::ImageStore;
use crate::launch::folder_bytes;
use crate::patch::{Patchelf, library_folders};

/// The record of a finished install; a folder without it is never used.
const MANIFEST: &str = "install.json";
/// The remedy where a path is none of a server.
const GIVE_THE_PATH: &str =
    "remedy: give the path of mariadbd or mysqld, or of the folder it was installed in";
/// Lines of what a program wrote instead of its version that an error shows.
const SHOWN_LINES: usize = 5;
/// Longest wait for other processes to close a program that was just written: they do within the milliseconds that it
/// takes to begin a program, even on a machine with all its CPUs taken.
const STILL_OPEN: Duration = Duration::from_secs(5);

/// A server that can be launched. All fields are public so that a built server can stand beside a packaged one's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Install {
    /// The catalogue's name, or the path it was found by.
    pub name: String,
    /// Which branch.
    pub family: Family,
    /// Its version.
    pub version: Version,
    /// The version as the server prints it: `10.11.19-MariaDB-0+deb12u1`.
    pub version_string: String,
    /// The folder with `share` and `lib` (`…/usr`).
    pub basedir: PathBuf,
    /// The server's binary.
    pub server: PathBuf,
    /// Memory allocators that can be preloaded, by name; `glibc` is among them when the binary is linked with another.
    pub mallocs: BTreeMap<String, PathBuf>,
    /// Name of the malloc the binary is linked with: `glibc` for nearly all.
    pub own_malloc: String,
    /// Packages and versions it came from; empty for a server of the host.
    pub packages: BTreeMap<String, String>,
    /// Plugins that it is started with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
}

impl Install {
    /// The server of this path: a binary, or a folder with one in `sbin`, `bin`, `libexec` or a build tree.
    pub fn from_path(path: &Path) -> Result<Install> {
        let path = std::path::absolute(path)?;
        let server = if path.is_dir() {
            binary_in(&path)?
        } else {
            path.clone()
        };
        let folder = server.parent().unwrap_or(Path::new("/"));
        let basedir = match folder.file_name().and_then(|name| name.to_str()) {
            Some("bin" | "sbin" | "libexec" | "sql" | "runtime_output_directory") => {
                folder.parent().unwrap_or(folder)
            }
            _ => folder,
        };
        let printed = ask_version(&server)?;
        let mut install = Install {
            name: path.display().to_string(),
            family: printed.family,
            version: printed.version,
            version_string: printed.text,
            basedir: basedir.to_path_buf(),
            own_malloc: own_malloc(&server),
            mallocs: BTreeMap::new(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            server,
        };
        install.mallocs = host_mallocs();
        Ok(install)
    }

    /// A server that was built: its binary under `usr`, which is the base folder; named after the server of the catalogue
    /// that it stands beside, and known by what it was made from.
    ///
    /// # Errors
    /// The binary does not run.
    pub(crate) fn built(
        cache: &Cache,
        name: &str,
        server: &Path,
        usr: &Path,
        made_from: BTreeMap<String, String>,
    ) -> Result<Install> {
        let printed = ask_version(server)?;
        let packaged = find(cache, name)?;
        let own_malloc = own_malloc(server);
        // The packaged server's mallocs, so that both sides of a duel have the same; but a build runs with this machine's
        // libc, which may be older than what they ask for.
        let candidates = packaged.map_or_else(host_mallocs, |install| install.mallocs);
        let mallocs = candidates
            .into_iter()
            .filter(|(malloc, library)| {
                (malloc != "glibc" || own_malloc != "glibc") && can_preload(server, library)
            })
            .collect();
        Ok(Install {
            name: name.to_owned(),
            family: printed.family,
            version: printed.version,
            version_string: printed.text,
            basedir: usr.to_path_buf(),
            server: server.to_path_buf(),
            mallocs,
            own_malloc,
            packages: made_from,
            plugins: Vec::new(),
        })
    }

    /// Bytes on disk of a fetched server; 0 of a server of the host.
    pub fn bytes(&self) -> u64 {
        match self.packages.is_empty() {
            true => 0,
            false => self.folder().map_or(0, folder_bytes),
        }
    }

    /// The folder of a fetched server: `basedir` is FOLDER/prefix/usr.
    fn folder(&self) -> Option<&Path> {
        self.basedir.ancestors().nth(2)
    }

    /// A short name that stands for exactly this server, fit for a file name.
    pub fn identity(&self) -> String {
        let packages = self.packages.values().next().is_some();
        let name = if packages {
            self.name.clone()
        } else {
            "path".to_owned()
        };
        file_name(&format!("{name}-{}", self.version_string))
    }
}

struct Printed {
    family: Family,
    version: Version,
    text: String,
}

/// Runs `SERVER --version`.
fn ask_version(server: &Path) -> Result<Printed> {
    let mut asked = Command::new(server);
    asked.args(["--no-defaults", "--version"]).envs(NO_PROFILE);
    let output = match output_once_closed(&mut asked) {
        Ok(output) => output,
        Err(error) => bail!("cannot run {}: {error}\n{GIVE_THE_PATH}", server.display()),
    };
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let text = line
        .split_once("Ver ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .map(str::to_owned);
    let Some((text, version)) =
        text.and_then(|text| text.parse().ok().map(|version| (text, version)))
    else {
        bail!(
            "{} is no server of the MySQL family that runs here: asked for its version, it {}\n{GIVE_THE_PATH}",
            server.display(),
            instead_of_a_version(&output)
        );
    };
    Ok(Printed {
        family: Family::from_version_line(&line),
        version,
        text,
    })
}

/// What a program did that printed no version of a server.
fn instead_of_a_version(output: &Output) -> String {
    let wrote = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let lines = wrote.iter().flat_map(|text| text.lines().map(str::trim));
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty())
        .take(SHOWN_LINES)
        .collect();
    match &lines[..] {
        [] => format!("wrote nothing ({})", output.status),
        [line] => format!("wrote: {line}"),
        lines => format!("wrote:\n{}", lines.join("\n")),
    }
}

/// Runs a program that may have been written a moment ago. A process that another thread starts meanwhile has the file open
/// for writing, as its parent had, until it becomes its own program; until then the kernel runs the file for nobody.
fn output_once_closed(command: &mut Command) -> io::Result<Output> {
    let deadline = Instant::now() + STILL_OPEN;
    loop {
        match command.output() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// Whether the loader takes this library before all others.
fn can_preload(server: &Path, library: &Path) -> bool {
    Command::new(server)
        .args(["--no-defaults", "--version"])
        .envs(NO_PROFILE)
        .env("LD_PRELOAD", library)
        .output()
        .is_ok_and(|output| output.status.success() && output.stderr.is_empty())
}

fn binary_in(folder: &Path) -> Result<PathBuf> {
    let places = [
        "sbin",
        "bin",
        "libexec",
        "sql",
        "runtime_output_directory",
        "",
    ];
    let names = ["mariadbd", "mysqld"];
    let mut candidates = places
        .iter()
        .flat_map(|place| names.iter().map(move |name| folder.join(place).join(name)));
    candidates.find(|candidate| candidate.is_file()).with_context(|| {
        format!("no mariadbd or mysqld in sbin, bin, libexec or sql of {}\nremedy: give the path of the binary itself", folder.display())
    })
}

/// The malloc a binary is linked with.
fn own_malloc(server: &Path) -> String {
    let needed = elf::needed(server).unwrap_or_default();
    let known = ["jemalloc", "tcmalloc", "mimalloc"];
    let linked = known
        .iter()
        .find(|malloc| needed.iter().any(|library| library.contains(**malloc)));
    linked.map_or("glibc", |malloc| malloc).to_owned()
}

/// The mallocs in the host's library folders.
fn host_mallocs() -> BTreeMap<String, PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let folders = [
        "/usr/local/lib",
        "/usr/lib64",
        &format!("/usr/lib/{triple}"),
        "/usr/lib",
    ]
    .map(PathBuf::from);
    let known = [
        ("jemalloc", &["libjemalloc.so.2"][..]),
        (
            "tcmalloc",
            &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"],
        ),
        ("mimalloc", &["libmimalloc.so.3", "libmimalloc.so.2"]),
        ("glibc", &["libc.so.6"]),
    ];
    let find = |names: &[&str]| {
        let mut paths = names
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        paths.find(|path| path.is_file())
    };
    known
        .iter()
        .filter_map(|(malloc, names)| find(names).map(|path| ((*malloc).to_owned(), path)))
        .collect()
}

/// Fetches a server, or returns the one fetched before. To fetch a newer version, [`remove`] the old one first.
pub fn get(
    cache: &Cache,
    description: &ServerDescription,
    progress: &mut dyn FnMut(&str),
) -> Result<Install> {
    if let Some(install) = find(cache, &description.name)? {
        return Ok(install);
    }
    let _lock = cache.lock(&format!("server-{}", description.name), &mut || {
        progress(&format!(
            "waiting: somebody else fetches {}",
            description.name
        ));
    })?;
    if let Some(install) = find(cache, &description.name)? {
        return Ok(install);
    }
    fetch(cache, description, progress)
        .with_context(|| format!("cannot fetch {} ({})", description.name, description.title))
}

fn fetch(
    cache: &Cache,
    description: &ServerDescription,
    progress: &mut dyn FnMut(&str),
) -> Result<Install> {
    sweep(cache);
    let work = WorkFolder::beside(&cache.servers(), &description.name)?;
    progress(&format!(
        "reading the package lists of {}",
        description.archive.suites.join(", ")
    ));
    let apt = Apt::open(&work.path().join("apt"), &description.archive)?;

    progress(&format!(
        "downloading {} and what it needs",
        description.packages.join(", ")
    ));
    let mut wanted: Vec<&str> = description.packages.iter().map(String::as_str).collect();
    wanted.extend(
        description
            .mallocs
            .values()
            .map(|malloc| malloc.package.as_str()),
    );
    let debs = apt.download(&wanted)?;
    let bytes: u64 = debs
        .iter()
        .filter_map(|deb| deb.metadata().ok())
        .map(|m| m.len())
        .sum();

    progress(&format!(
        "unpacking {} packages, {:.0} MB",
        debs.len(),
        bytes as f64 / 1e6
    ));
    let packages: BTreeMap<String, String> = debs
        .iter()
        .filter_map(|deb| package_and_version(deb))
        .collect();
    let kept: Vec<PathBuf> = debs
        .iter()
        .filter(|deb| {
            package_and_version(deb).is_none_or(|(package, _)| !description.skip.contains(&package))
        })
        .cloned()
        .collect();
    let prefix = work.path().join("prefix");
    fs::create_dir(&prefix)?;
    unpack(&kept, &prefix)?;

    progress("making it use its own libraries");
    let version = packages
        .get(&description.packages[0])
        .map_or("unknown", String::as_str);
    let destination = cache
        .servers()
        .join(file_name(&format!("{}-{version}", description.name)));
    let final_prefix = destination.join("prefix");
    let patchelf = Patchelf::find(&apt, &work.path().join("patchelf"))?;
    for binary in std::iter::once(&description.server).chain(&description.tools) {
        let binary = prefix.join(binary);
        if !binary.is_file() {
            bail!(
                "the packages {} hold no {}",
                description.packages.join(", "),
                binary.display()
            );
        }
        patchelf.patch(&binary, &prefix, &final_prefix)?;
    }
    for folder in ["apt", "patchelf"] {
        let _ = fs::remove_dir_all(work.path().join(folder));
    }

    // The binaries know their final place only, so the folder is moved before the server is asked for its version;
    // the manifest, written last, is what makes it an install.
    if destination.exists() {
        fs::remove_dir_all(&destination)?;
    }
    let server = final_prefix.join(&description.server);
    let own_malloc = own_malloc(&prefix.join(&description.server));
    work.rename(&destination)?;
    let finish = || -> Result<Install> {
        let printed = ask_version(&server)?;
        if printed.version.series() != description.series {
            bail!(
                "the archive holds version {}, not {}",
                printed.text,
                description.series
            );
        }
        let install = Install {
            name: description.name.clone(),
            family: description.family,
            version: printed.version,
            version_string: printed.text,
            basedir: final_prefix.join("usr"),
            mallocs: prefix_mallocs(description, &final_prefix)?,
            own_malloc,
            server: server.clone(),
            packages,
            plugins: Vec::new(),
        };
        let manifest = serde_json::to_vec_pretty(&install)?;
        crate::cache::write_private(&destination.join(MANIFEST), &manifest)?;
        Ok(install)
    };
    let install = finish().inspect_err(|_| {
        let _ = fs::remove_dir_all(&destination);
    })?;
    progress(&format!(
        "{} {} is ready",
        install.family, install.version_string
    ));
    Ok(install)
}

/// The mallocs' libraries inside the prefix, glibc's own among them.
fn prefix_mallocs(
    description: &ServerDescription,
    prefix: &Path,
) -> Result<BTreeMap<String, PathBuf>> {
    let folders = library_folders(prefix)?;
    let find = |library: &str| {
        folders
            .iter()
            .map(|folder| folder.join(library))
            .find(|path| path.is_file())
    };
    let mut found = BTreeMap::new();
    for (name, malloc) in &description.mallocs {
        let path = find(&malloc.library).with_context(|| {
            format!("the package {} holds no {}", malloc.package, malloc.library)
        })?;
        found.insert(name.clone(), path);
    }
    if let Some(libc) = find("libc.so.6") {
        found.insert("glibc".to_owned(), libc);
    }
    Ok(found)
}

/// The servers that were fetched, by name and version.
pub fn installed(cache: &Cache) -> Result<Vec<Install>> {
    let Ok(entries) = fs::read_dir(cache.servers()) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        let Ok(text) = fs::read_to_string(folder.join(MANIFEST)) else {
            continue;
        };
        // A manifest of an older format, or of a cache that was moved (the binaries know their place), is no install.
        match serde_json::from_str::<Install>(&text) {
            Ok(install) if install.basedir.starts_with(&folder) && install.server.is_file() => {
                found.push(install)
            }
            _ => {}
        }
    }
    found.sort_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
    Ok(found)
}

/// What [`remove`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Fetched versions of the server.
    pub servers: usize,
    /// Dataset images that it made.
    pub images: usize,
    /// Bytes of disk that are free again.
    pub bytes: u64,
}

/// Removes all fetched versions of this server and all dataset images that it made. A server of the host, named by its
/// path, has only images here: itself it stays.
///
/// # Errors
/// A folder that cannot be removed.
pub fn remove(cache: &Cache, name: &str) -> Result<Removed> {
    let _lock = cache.lock(&format!("server-{}", file_name(name)), &mut || {})?;
    let mut removed = Removed::default();
    for install in installed(cache)?
        .iter()
        .filter(|install| install.name == name)
    {
        if let Some(folder) = install.folder() {
            removed.servers += 1;
            removed.bytes += folder_bytes(folder);
            let _ = fs::remove_file(folder.join(MANIFEST));
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    let (images, bytes) = ImageStore::new(cache).remove_of(name)?;
    removed.images = images;
    removed.bytes += bytes;
    Ok(removed)
}

fn find(cache: &Cache, name: &str) -> Result<Option<Install>> {
    Ok(installed(cache)?
        .into_iter()
        .rfind(|install| install.name == name))
}

/// Removes what fetches that were interrupted left behind.
pub(crate) fn sweep(cache: &Cache) -> usize {
    let mut removed = 0;
    for entry in fs::read_dir(cache.servers())
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(".tmp-") && owner_in_name(&name).is_none_or(|owner| !owner.is_alive()) {
            removed += usize::from(fs::remove_dir_all(entry.path()).is_ok());
        }
    }
    removed
}

/// Letters, digits, dots, dashes and underscores stay, all else becomes a dash.
pub(crate) fn file_name(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_server_that_is_still_open_for_writing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = folder.path().join("mariadbd");
        fs::write(
            &server,
            "#!/bin/sh\necho 'mariadbd  Ver 10.11.99-MariaDB for Linux on x86_64'\n",
        )
        .expect("written");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
        let writing = fs::OpenOptions::new()
            .append(true)
            .open(&server)
            .expect("opens");
        let closing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            drop(writing);
        });
        let printed = ask_version(&server).expect("runs once it is closed");
        closing.join().expect("closed");
        assert_eq!(printed.text, "10.11.99-MariaDB");
    }

    #[test]
    fn what_is_no_server_is_told_with_its_cause_and_then_the_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
            path
        };
        let silent = program("silent", "exit 3");
        let other = program("other", "echo tool 1.0; echo no such option >&2; exit 1");
        for (path, cause) in [
            (silent, "wrote nothing (exit status: 3)"),
            (other, "wrote:\ntool 1.0\nno such option"),
            (folder.path().join("none"), "No such file or directory"),
        ] {
            let error = format!("{:#}", Install::from_path(&path).expect_err("no server"));
            let (before, remedy) = error.split_once("\nremedy: ").expect("a remedy");
            assert!(before.contains(&path.display().to_string()), "{error}");
            assert!(before.contains(cause), "{error}");
            assert!(
                remedy.ends_with("the folder it was installed in"),
                "{error}"
            );
        }
    }
}
