//! Whether a server that somebody named runs on this host, and what is done where it does not as it lies there: libraries that the
//! host lacks are taken from around it, and a binary is copied that must not be run at its place.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Problem, bail, problem};
use sha2::{Digest, Sha256};

use super::elf;
use super::version::{Printed, ask, read_version};
use crate::cache::{Cache, WorkFolder, create_private};
use crate::disk_use::is_noexec;
use crate::file_name::file_name;
use crate::machine::root::Root;
use crate::obtain::patchelf::{Patchelf, library_folders};

/// Libraries that a server may lack; one takes one more try each.
const MOST_LIBRARIES: usize = 60;
/// Folders around a server's binary in which tarballs, jars and images have libraries, from the folder of the binary on.
const AROUND: [&str; 12] = [
    ".",
    "lib",
    "lib/private",
    "libs",
    "../lib",
    "../lib/private",
    "../lib/mysql",
    "../lib/mysql/private",
    "../lib64",
    "../lib64/mysql",
    "../lib64/mysql/private",
    "../libs",
];
/// Where profiles of AppArmor lie.
const APPARMOR: &str = "/etc/apparmor.d";
/// Whether AppArmor is in force: `Y`.
const APPARMOR_ON: &str = "/sys/module/apparmor/parameters/enabled";
/// Whether SELinux is in force: `1`; it is not there without SELinux.
const SELINUX_ENFORCE: &str = "/sys/fs/selinux/enforce";
/// The extended attribute with a file's label.
const SELINUX_LABEL: &str = "security.selinux";
/// How the types of programs end that policies give a domain of their own, as `mysqld_exec_t`.
const ENTRY_POINT: &str = "_exec_t";
/// Longest label that is read: kernels have a page for it.
const MOST_LABEL: usize = 4096;

/// Libraries that servers need and hosts lack, with the packages of Debian and Ubuntu, and of Red Hat's family, that bring them.
const PACKAGES: [(&str, &str, &str); 12] = [
    ("libaio.so.1", "libaio1", "libaio"),
    ("libnuma.so.1", "libnuma1", "numactl-libs"),
    ("libncurses.so.5", "libncurses5", "ncurses-compat-libs"),
    ("libtinfo.so.5", "libtinfo5", "ncurses-compat-libs"),
    ("libcrypt.so.1", "libcrypt1", "libxcrypt-compat"),
    ("libssl.so.1.1", "libssl1.1", "compat-openssl11"),
    ("libcrypto.so.1.1", "libssl1.1", "compat-openssl11"),
    ("libsnappy.so.1", "libsnappy1v5", "snappy"),
    ("liburing.so.2", "liburing2", "liburing"),
    ("liburing.so.1", "liburing1", "liburing"),
    ("libpcre2-8.so.0", "libpcre2-8-0", "pcre2"),
    ("libsystemd.so.0", "libsystemd0", "systemd-libs"),
];

/// A server that runs here.
#[derive(Debug)]
pub(super) struct Fit {
    /// What is run: the binary itself, or a copy of it.
    pub server: PathBuf,
    /// A folder with libraries that the host lacks.
    pub libraries: Option<PathBuf>,
    /// What it says of itself.
    pub printed: Printed,
}

/// Why a binary is not run where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    /// Its file system is mounted so that nothing on it is run.
    NoExec,
    /// A profile of AppArmor's that is in force holds it to the system's own folders.
    AppArmor,
    /// SELinux is in force, and the type of its file may bring it into the domain of the system's server, which may use the system's
    /// own folders alone.
    Selinux,
}

impl Fit {
    /// How the binary `server` runs here.
    ///
    /// # Errors
    /// It does not, and why, with what would make it.
    pub fn of(server: &Path) -> Result<Fit> {
        Self::with(server, &Cache::open)
    }

    /// The same with the cache that `open` opens, where one is needed.
    fn with(server: &Path, open: &dyn Fn() -> Result<Cache>) -> Result<Fit> {
        check_file(server)?;
        let run = match elsewhere(server) {
            None => server.to_owned(),
            Some(_) => copied(&open()?, server)?,
        };
        let mut libraries = None;
        let mut linked = BTreeSet::new();
        loop {
            let output = ask(&run, libraries.as_deref())?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if let Some(library) = missing_library(&said)
                && linked.len() < MOST_LIBRARIES
                && linked.insert(library.to_owned())
            {
                let found = around(server, library).ok_or_else(|| lacks(server, library))?;
                let folder = match libraries.take() {
                    Some(folder) => folder,
                    None => links_of(&open()?, server)?,
                };
                link(&found, &folder.join(library))?;
                libraries = Some(folder);
                continue;
            }
            if let Some(wanted) = newer_libc(&said) {
                return by_own_loader(server, wanted, open);
            }
            let printed = read_version(&run, &output)?;
            return Ok(Fit {
                server: run,
                libraries,
                printed,
            });
        }
    }
}

/// What tells without running it that it cannot be run.
fn check_file(server: &Path) -> Result<()> {
    if let Ok(Some(machine)) = elf::machine(server)
        && machine != std::env::consts::ARCH
    {
        bail!(
            "{} is a program for {machine}, and this machine is {}", server.display(), std::env::consts::ARCH;
            remedy: "give a server for {}; another architecture's cannot be measured here", std::env::consts::ARCH
        );
    }
    if server.is_file() && !crate::named::kind::is_program(server) {
        bail!(
            "{} may not be executed: its permissions say so", server.display();
            remedy: "chmod +x {}", server.display()
        );
    }
    Ok(())
}

/// Why a copy of it is to be run in its place; none where it is run itself.
fn elsewhere(server: &Path) -> Option<Elsewhere> {
    if is_noexec(server) {
        return Some(Elsewhere::NoExec);
    }
    confined(
        &Root::machine(),
        server,
        label(server, SELINUX_LABEL).as_deref(),
    )
}

/// The policy in force below `root` that may keep this binary, with this label, from private data directories. AppArmor's profiles
/// are attached to paths, SELinux's domains to labels: a copy elsewhere has neither.
fn confined(root: &Root, server: &Path, label: Option<&str>) -> Option<Elsewhere> {
    let is_apparmor_on = root.text(APPARMOR_ON).as_deref() == Some("Y");
    if is_apparmor_on && has_profile(&root.path(APPARMOR), server) {
        return Some(Elsewhere::AppArmor);
    }
    let is_selinux_on = root.text(SELINUX_ENFORCE).as_deref() == Some("1");
    (is_selinux_on && label.is_some_and(is_entry_point)).then_some(Elsewhere::Selinux)
}

/// Whether a label is of a program that has a domain of its own: `system_u:object_r:mysqld_exec_t:s0`.
fn is_entry_point(label: &str) -> bool {
    let mut fields = label.split(':');
    fields
        .nth(2)
        .is_some_and(|kind| kind.ends_with(ENTRY_POINT))
}

/// The label of a file in its extended attribute of this name; none where it has none. Kernels end it with a zero.
fn label(file: &Path, attribute: &str) -> Option<String> {
    let mut bytes = vec![0; MOST_LABEL];
    let length = rustix::fs::getxattr(file, attribute, &mut bytes[..]).ok()?;
    let label = String::from_utf8_lossy(&bytes[..length]);
    Some(label.trim_end_matches('\0').to_owned())
}

/// Whether a profile of AppArmor's in `folder` is enforced on this binary.
fn has_profile(folder: &Path, server: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let off = |name: &OsString| {
        let set_aside = |kind: &str| folder.join(kind).join(name).exists();
        set_aside("disable") || set_aside("force-complain")
    };
    entries.flatten().any(|entry| {
        !off(&entry.file_name())
            && fs::read_to_string(entry.path()).is_ok_and(|text| is_enforced(&text, server))
    })
}

/// Whether a text of profiles has one for this binary that is enforced.
fn is_enforced(text: &str, server: &Path) -> bool {
    let path = server.display().to_string();
    text.lines().map(str::trim).any(|line| {
        let head = line.strip_suffix('{').filter(|_| !line.starts_with('#'));
        head.is_some_and(|head| {
            let named = head.split_whitespace().any(|word| word == path);
            named && !head.contains("complain") && !head.contains("unconfined")
        })
    })
}

/// A copy of the binary in the cache, made where there is none of its time and size.
fn copied(cache: &Cache, server: &Path) -> Result<PathBuf> {
    let parent = cache.root().join("copies");
    let folder = parent.join(key(server)?);
    let name = server.file_name().unwrap_or_default();
    if !folder.join(name).is_file() {
        let work = WorkFolder::beside(&parent, "copy")?;
        fs::copy(server, work.path().join(name))
            .with_context(|| format!("cannot copy {}", server.display()))?;
        let _ = work.rename(&folder);
    }
    Ok(folder.join(name))
}

/// A name for what is made of this binary as it is now.
fn key(server: &Path) -> Result<String> {
    use std::os::unix::fs::MetadataExt;
    let found =
        fs::metadata(server).with_context(|| format!("cannot read {}", server.display()))?;
    let text = format!(
        "{}\n{}\n{}.{}",
        server.display(),
        found.len(),
        found.mtime(),
        found.mtime_nsec()
    );
    let hash = hex::encode(&Sha256::digest(text)[..6]);
    let name = server.file_name().unwrap_or_default().to_string_lossy();
    Ok(file_name(&format!("{name}-{hash}")))
}

/// The folder with links to libraries of this binary's.
fn links_of(cache: &Cache, server: &Path) -> Result<PathBuf> {
    let folder = cache.root().join("libraries").join(key(server)?);
    create_private(&folder)?;
    Ok(folder)
}

fn link(library: &Path, link: &Path) -> Result<()> {
    match symlink(library, link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done.with_context(|| format!("cannot make {}", link.display())),
    }
}

/// The library that the loader did not find: `…: error while loading shared libraries: libaio.so.1: cannot open shared object file`.
fn missing_library(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("error while loading shared libraries: ")?;
    let (library, why) = rest.split_once(": ")?;
    (why.starts_with("cannot open shared object file") && !library.contains('/')).then_some(library)
}

/// The version of the C library that it wants and the host has not: `version `GLIBC_2.38' not found`.
fn newer_libc(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("version `GLIBC")?;
    let (version, rest) = rest.split_once('\'')?;
    rest.starts_with(" not found")
        .then(|| version.trim_start_matches('_').trim_start_matches("XX_"))
}

/// A library of this name around the server, or on the host by the name that releases with 64-bit times gave it.
fn around(server: &Path, library: &str) -> Option<PathBuf> {
    let folder = server.parent()?;
    let near = AROUND.iter().map(|place| folder.join(place));
    let image = root_of(server).map(|root| library_folders(&root).unwrap_or_default());
    let host = ["/usr/lib64", "/usr/lib"]
        .map(PathBuf::from)
        .into_iter()
        .chain([PathBuf::from(format!(
            "/usr/lib/{}-linux-gnu",
            std::env::consts::ARCH
        ))]);
    let renamed = host.map(|folder| folder.join(format!("{library}t64")));
    near.chain(image.unwrap_or_default())
        .map(|folder| folder.join(library))
        .chain(renamed)
        .find_map(|path| path.canonicalize().ok().filter(|path| path.is_file()))
}

/// The root of the image that a server lies in: the folder above `usr`, where that is not the host's own.
fn root_of(server: &Path) -> Option<PathBuf> {
    let mut above = server.ancestors();
    let usr = above.find(|folder| folder.file_name().is_some_and(|name| name == "usr"))?;
    let root = usr.parent()?;
    (root != Path::new("/")).then(|| root.to_owned())
}

/// That the host lacks a library, with its package.
fn lacks(server: &Path, library: &str) -> Problem {
    let known = PACKAGES.iter().find(|(name, _, _)| *name == library);
    let package = match known {
        Some((_, debian, red_hat)) => {
            format!(
                "install the package {debian} (Debian, Ubuntu) or {red_hat} (Red Hat and its kin)"
            )
        }
        None => "install the package that has it (`apt-file search` or `dnf provides` tells which)"
            .to_owned(),
    };
    problem!(
        "{} needs the library {library}, which this host has not", server.display();
        remedy: "{package}; or put the file into a folder `libs` beside the server"
    )
}

/// A server of an image whose C library is newer than the host's: a copy of it that uses the image's own loader and libraries.
fn by_own_loader(server: &Path, wanted: &str, open: &dyn Fn() -> Result<Cache>) -> Result<Fit> {
    let newer = format!(
        "{} wants version {wanted} of the C library, and this host has an older one",
        server.display()
    );
    let Some(root) = root_of(server) else {
        bail!(
            "{newer}";
            remedy: "take a build of that release for this host's (its file name says glibc2.17 or glibc2.28), or the root folder of an image"
        );
    };
    let Some(patchelf) = Patchelf::of_host() else {
        bail!(
            "{newer}";
            remedy: "install the package patchelf: by it a copy of the server uses the libraries in {}", root.display()
        );
    };
    let cache = open()?;
    let folder = cache
        .root()
        .join("copies")
        .join(format!("{}-own", key(server)?));
    let run = folder.join(server.file_name().unwrap_or_default());
    if !run.is_file() {
        let work = WorkFolder::beside(&cache.root().join("copies"), "copy")?;
        let copy = work.path().join(server.file_name().unwrap_or_default());
        fs::copy(server, &copy).with_context(|| format!("cannot copy {}", server.display()))?;
        patchelf.patch(&copy, &root, &root)?;
        let _ = work.rename(&folder);
    }
    let output = ask(&run, None)?;
    let printed = read_version(&run, &output).with_context(|| newer)?;
    Ok(Fit {
        server: run,
        libraries: None,
        printed,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use niagara_error::{Explain as _, Explanation};

    use super::*;
    use crate::disk_use::tests::NoExecMount;

    /// The distribution's server, which `scripts/setup test` installs.
    const SERVER: &str = "/usr/sbin/mariadbd";

    #[test]
    fn the_loaders_words_are_read() {
        let said = "/opt/mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file: No such file or directory\n";
        assert_eq!(missing_library(said), Some("libaio.so.1"));
        let said = "/i/usr/sbin/mysqld: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /i/usr/sbin/mysqld)\n";
        assert_eq!(newer_libc(said), Some("2.38"));
        let said = "/i/usr/sbin/mysqld: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by it)\n";
        assert_eq!(
            newer_libc(said),
            Some("XX_3.4.32".trim_start_matches("XX_"))
        );
        assert_eq!(missing_library("mysqld  Ver 8.0.31"), None);
        assert_eq!(newer_libc("mysqld  Ver 8.0.31"), None);
    }

    #[test]
    fn a_missing_library_is_told_with_its_package() {
        let lacks =
            |server, library| Explanation::from(lacks(Path::new(server), library)).to_string();
        let told = lacks("/opt/mysql/bin/mysqld", "libnuma.so.1");
        assert!(
            told.contains("libnuma1") && told.contains("numactl-libs"),
            "{told}"
        );
        assert!(lacks("/m", "libodd.so.3").contains("apt-file"));
    }

    #[test]
    fn libraries_are_found_around_a_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a path");
        for place in [
            "bin",
            "lib/private",
            "libs",
            "usr/sbin",
            "usr/lib/x86_64-linux-gnu",
        ] {
            fs::create_dir_all(folder.join(place)).expect("made");
        }
        let library = |place: &str, name: &str| {
            let path = folder.join(place).join(name);
            fs::write(&path, "").expect("written");
            path
        };
        let private = library("lib/private", "libprotobuf-lite.so.3");
        let beside = library("libs", "libaio.so.1");
        let image = library("usr/lib/x86_64-linux-gnu", "libsnappy.so.1");
        let server = folder.join("bin/mysqld");
        assert_eq!(around(&server, "libprotobuf-lite.so.3"), Some(private));
        assert_eq!(around(&server, "libaio.so.1"), Some(beside));
        assert_eq!(around(&server, "libsnappy.so.1"), None);
        let server = folder.join("usr/sbin/mariadbd");
        assert_eq!(around(&server, "libsnappy.so.1"), Some(image));
        assert_eq!(root_of(Path::new("/usr/sbin/mysqld")), None);
    }

    #[test]
    fn profiles_of_apparmor_hold_where_they_are_enforced() {
        let server = Path::new("/usr/sbin/mysqld");
        let profile = "# vim:syntax=apparmor\n#include <tunables/global>\n\n/usr/sbin/mysqld {\n  /var/lib/mysql/** rwk,\n}\n";
        assert!(is_enforced(profile, server));
        assert!(is_enforced(
            "profile mysqld /usr/sbin/mysqld flags=(attach_disconnected) {\n}",
            server
        ));
        assert!(!is_enforced(
            "/usr/sbin/mysqld flags=(complain) {\n}",
            server
        ));
        assert!(!is_enforced(
            "profile mariadbd /usr/sbin/mariadbd flags=(unconfined) {",
            server
        ));
        assert!(!is_enforced(
            "# /usr/sbin/mysqld {\n/usr/sbin/mysqld-akonadi {",
            server
        ));
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("usr.sbin.mysqld"), profile).expect("written");
        assert!(has_profile(folder.path(), server));
        assert!(!has_profile(
            folder.path(),
            Path::new("/opt/mysql/bin/mysqld")
        ));
        fs::create_dir(folder.path().join("disable")).expect("made");
        fs::write(folder.path().join("disable/usr.sbin.mysqld"), "").expect("written");
        assert!(!has_profile(folder.path(), server));
    }

    #[test]
    fn domains_of_selinux_hold_where_it_is_enforced() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::at(folder.path());
        let server = Path::new("/usr/sbin/mysqld");
        let labelled = Some("system_u:object_r:mysqld_exec_t:s0");
        let enforce = root.path(SELINUX_ENFORCE);
        fs::create_dir_all(enforce.parent().expect("a folder")).expect("made");
        // Without SELinux a label is a word.
        assert_eq!(confined(&root, server, labelled), None);
        fs::write(&enforce, "0").expect("written");
        assert_eq!(confined(&root, server, labelled), None);
        fs::write(&enforce, "1").expect("written");
        assert_eq!(confined(&root, server, labelled), Some(Elsewhere::Selinux));
        for label in [
            None,
            Some("system_u:object_r:bin_t:s0"),
            Some("unconfined_u:object_r:user_home_t:s0"),
            Some("unlabeled"),
        ] {
            assert_eq!(confined(&root, server, label), None, "{label:?}");
        }
    }

    #[test]
    fn profiles_of_apparmor_hold_where_it_is_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::at(folder.path());
        let server = Path::new("/usr/sbin/mysqld");
        let write = |path: &str, text: &str| {
            let path = root.path(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("/etc/apparmor.d/usr.sbin.mysqld", "/usr/sbin/mysqld {\n}\n");
        assert_eq!(confined(&root, server, None), None);
        write(APPARMOR_ON, "N\n");
        assert_eq!(confined(&root, server, None), None);
        write(APPARMOR_ON, "Y\n");
        assert_eq!(confined(&root, server, None), Some(Elsewhere::AppArmor));
    }

    #[test]
    fn a_copy_has_no_label_of_the_original() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = folder.path().join("mysqld");
        fs::copy("/bin/true", &server).expect("copied");
        assert_eq!(
            label(&server, SELINUX_LABEL),
            label(Path::new("/none"), SELINUX_LABEL)
        );
        // Users may set attributes of this class alone, where the file system has them.
        let (name, text) = ("user.niagara", "system_u:object_r:mysqld_exec_t:s0\0");
        let flags = rustix::fs::XattrFlags::empty();
        if let Err(error) = rustix::fs::setxattr(&server, name, text.as_bytes(), flags) {
            eprintln!("skipped: no extended attributes here: {error}");
            return;
        }
        let found = label(&server, name).expect("a label");
        assert!(is_entry_point(&found) && found.ends_with("s0"), "{found:?}");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let copy = copied(&cache, &server).expect("copied");
        assert_eq!(label(&copy, name), None);
    }

    #[test]
    fn a_copy_of_a_binary_runs_from_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let copy = copied(&cache, Path::new("/bin/true")).expect("copied");
        assert!(copy.starts_with(cache.root()));
        let output = ask(&copy, None).expect("it runs");
        assert!(output.status.success());
        assert_eq!(copied(&cache, Path::new("/bin/true")).expect("there"), copy);
    }

    #[test]
    fn another_architecture_and_permissions_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = folder.path().join("mysqld");
        let mut header = vec![0_u8; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        // EM_S390, big machines that no test runs on.
        header[18] = 22;
        fs::write(&server, &header).expect("written");
        let told = Fit::of(&server).expect_err("another").explain().to_string();
        assert!(told.contains("is a program for s390x"), "{told}");
        fs::write(&server, "#!/bin/sh\n").expect("written");
        let told = Fit::of(&server)
            .expect_err("no permission")
            .explain()
            .to_string();
        assert!(told.contains("chmod +x"), "{told}");
    }

    /// The distribution's server on a file system that nothing is run from.
    fn server_on(mount: &NoExecMount) -> PathBuf {
        let server = mount.path().join("mariadbd");
        fs::copy(SERVER, &server).expect("copied");
        server
    }

    #[test]
    fn a_server_on_noexec_runs_as_a_copy() {
        let Some(mount) = NoExecMount::new() else {
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let server = server_on(&mount);
        assert_eq!(elsewhere(&server), Some(Elsewhere::NoExec));
        let fit = Fit::with(&server, &|| Cache::at(folder.path())).expect("it runs");
        let cache = folder.path().canonicalize().expect("a path");
        assert!(fit.server.starts_with(cache), "{fit:?}");
        assert!(fit.printed.family.is_mariadb(), "{fit:?}");
    }

    #[test]
    fn a_cache_on_noexec_is_told_with_its_variable() {
        let Some(mount) = NoExecMount::new() else {
            return;
        };
        let cache = mount.path().join("cache");
        let error = Fit::with(&server_on(&mount), &|| Cache::at(&cache)).expect_err("not run");
        let told = error.explain().to_string();
        assert!(told.contains("mounted noexec"), "{told}");
        assert!(
            told.contains("\nremedy: ") && told.contains("NIAGARA_CACHE"),
            "{told}"
        );
    }

    #[test]
    fn a_library_that_the_host_lacks_is_told_or_taken_from_around() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for path in ["bin", "libs"] {
            fs::create_dir(at(path)).expect("made");
        }
        let (server, library) = (at("bin/mariadbd"), "libniagara-absent.so.1");
        fs::copy(SERVER, &server).expect("copied");
        let patched = Command::new("patchelf")
            .args(["--add-needed", library])
            .arg(&server)
            .status();
        assert!(
            patched.is_ok_and(|status| status.success()),
            "patchelf (scripts/setup test installs what the tests need)"
        );
        let fit = || Fit::with(&server, &|| Cache::at(&at("cache")));
        let told = fit()
            .expect_err("a library is missing")
            .explain()
            .to_string();
        assert!(
            told.contains(&format!(
                "needs the library {library}, which this host has not"
            )),
            "{told}"
        );
        assert!(told.contains("\nremedy: install the package"), "{told}");
        // Any library does, for nothing in it is called.
        let host = format!("/usr/lib/{}-linux-gnu/libm.so.6", std::env::consts::ARCH);
        fs::copy(host, at("libs").join(library)).expect("copied");
        let fit = fit().expect("it runs");
        let links = fit.libraries.expect("a folder of links");
        assert!(links.join(library).exists(), "{}", links.display());
        assert!(fit.printed.family.is_mariadb());
    }
}
