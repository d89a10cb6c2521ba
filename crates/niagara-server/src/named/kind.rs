//! What a file is that somebody named in place of a server, told without running it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use niagara_error::{Problem, problem};

/// Beginnings of files by which archives are known.
const MAGIC: [(&[u8], Archive); 7] = [
    (b"\x1f\x8b", Archive::Tarball),
    (b"\xfd7zXZ\0", Archive::Tarball),
    (b"BZh", Archive::Tarball),
    (b"\x28\xb5\x2f\xfd", Archive::Tarball),
    (b"!<arch>\n", Archive::Deb),
    (b"\xed\xab\xee\xdb", Archive::Rpm),
    (b"PK\x03\x04", Archive::Zip),
];
/// Where a tarball that is not compressed says that it is one.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Programs that come with servers and are none, by the ends of their names.
const OTHERS: [(&str, Other); 26] = [
    ("mysqld_safe", Other::Starter),
    ("mariadbd-safe", Other::Starter),
    ("mysqld_multi", Other::Starter),
    ("mariadbd-multi", Other::Starter),
    ("mysql.server", Other::Starter),
    ("mysqld_pre_systemd", Other::Starter),
    ("mysql_install_db", Other::Tool),
    ("mariadb-install-db", Other::Tool),
    ("mysql_upgrade", Other::Tool),
    ("mariadb-upgrade", Other::Tool),
    ("mysql", Other::Client),
    ("mariadb", Other::Client),
    ("mysqlsh", Other::Client),
    ("mysqladmin", Other::Client),
    ("mariadb-admin", Other::Client),
    ("mysqldump", Other::Client),
    ("mariadb-dump", Other::Client),
    ("mysqlbinlog", Other::Client),
    ("mariadb-binlog", Other::Client),
    ("mysqlcheck", Other::Client),
    ("mariadb-check", Other::Client),
    ("mysqlslap", Other::Client),
    ("mariadb-slap", Other::Client),
    ("xtrabackup", Other::Tool),
    ("mariadb-backup", Other::Tool),
    ("mariabackup", Other::Tool),
];

/// A file with files in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Archive {
    /// `mysql-8.4.6-linux-glibc2.28-x86_64.tar.xz`, however it is compressed.
    Tarball,
    /// A package of Debian's or Ubuntu's.
    Deb,
    /// A package of Red Hat's or SUSE's.
    Rpm,
    /// A zip file, as servers for Windows and jars come in.
    Zip,
}

/// A program that is no server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Other {
    /// A client.
    Client,
    /// A script that starts a server.
    Starter,
    /// Another program that comes along.
    Tool,
}

impl Archive {
    /// By how a file begins; none of other files, and of what cannot be read.
    pub fn of(path: &Path) -> Option<Archive> {
        let head = head(path)?;
        let known = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        let is_tar = || {
            head.get(TAR.0..)?
                .starts_with(TAR.1)
                .then_some(Archive::Tarball)
        };
        known.map(|(_, archive)| *archive).or_else(is_tar)
    }

    /// What it is and what to give in its place.
    pub fn instead(self, path: &Path) -> Problem {
        let path = path.display();
        match self {
            Archive::Tarball => problem!("{path} is a tarball"; remedy: "give its path"),
            Archive::Deb => problem!(
                "{path} is a package, not a server";
                remedy: "unpack it (and those it depends on) into one folder, `dpkg-deb -x FILE FOLDER`, and give the folder; or install it, \
                 and give /usr/sbin/mysqld or /usr/sbin/mariadbd"
            ),
            Archive::Rpm => problem!(
                "{path} is a package, not a server";
                remedy: "unpack it (and those it depends on) into one folder, `rpm2cpio FILE | cpio -idm`, and give the folder; or install it, \
                 and give /usr/sbin/mysqld or /usr/sbin/mariadbd"
            ),
            Archive::Zip => problem!(
                "{path} is a zip file, which servers for Linux do not come in";
                remedy: "unpack it, and give the folder with bin/mysqld or bin/mariadbd"
            ),
        }
    }
}

impl Other {
    /// By a file's name: a script that starts servers must not be run to see what it is.
    pub fn of(path: &Path) -> Option<Other> {
        let name = path.file_name()?.to_str()?;
        let known = OTHERS.iter().find(|(known, _)| *known == name);
        known.map(|(_, other)| *other)
    }

    /// What it is and what to give in its place.
    pub fn instead(self, path: &Path) -> Problem {
        let what = match self {
            Other::Client => "is a client, not a server",
            Other::Starter => "is a script that starts a server, and is not run",
            Other::Tool => "is a tool that comes with servers, not a server",
        };
        let beside = ["mariadbd", "mysqld"].into_iter().flat_map(|name| {
            let folders = ["bin", "sbin", "libexec"].map(|folder| Path::new("..").join(folder));
            let folder = path.parent().unwrap_or(path);
            let places = folders.map(|place| folder.join(place).join(name));
            std::iter::once(folder.join(name)).chain(places)
        });
        let server = beside.filter_map(|path| path.canonicalize().ok()).next();
        match server {
            Some(server) => problem!(
                "{} {what}", path.display();
                remedy: "give {}", server.display()
            ),
            None => problem!(
                "{} {what}", path.display();
                remedy: "give the path of mariadbd or mysqld, as `ps -C mariadbd,mysqld -o args=` tells of one that runs"
            ),
        }
    }
}

/// What a folder is that has no server, and what to give in its place.
pub(crate) fn folder_instead(folder: &Path) -> Problem {
    let has = |name: &str| folder.join(name).exists();
    let shown = folder.display();
    if has("CMakeLists.txt") && has("sql") {
        return problem!(
            "{shown} has the sources of a server, and none that is built";
            remedy: "build it, and give the folder that it was built in; or name one that is built here (niagara server list)"
        );
    }
    if has("ibdata1") || has("mysql/user.frm") || has("mysql.ibd") {
        return problem!(
            "{shown} is a data directory, not a server";
            remedy: "give it with --data, and the server's binary as the server"
        );
    }
    if has("oci-layout") || has("manifest.json") || has("blobs") {
        return problem!(
            "{shown} is an image in layers, as `docker save` writes it";
            remedy: "`docker export $(docker create IMAGE)` unpacked into a folder, or `podman mount` of a container; give that folder"
        );
    }
    problem!(
        "no mariadbd or mysqld in bin, sbin, libexec, sql or usr/sbin of {shown}";
        remedy: "give the path of the binary itself"
    )
}

/// Whether a file is one that can be run, by its permissions.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// How a file begins.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(512).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use niagara_error::Explanation;

    use super::*;

    #[test]
    fn archives_are_known_by_their_beginning() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |bytes: &[u8]| {
            let path = folder.path().join("file");
            fs::write(&path, bytes).expect("written");
            Archive::of(&path)
        };
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(of(b"\xfd7zXZ\0..."), Some(Archive::Tarball));
        assert_eq!(of(&tar), Some(Archive::Tarball));
        assert_eq!(of(b"PK\x03\x04"), Some(Archive::Zip));
        assert_eq!(of(b"\x7fELF"), None);
        assert_eq!(of(b""), None);
    }

    #[test]
    fn a_client_is_answered_with_the_server_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a path");
        for path in ["bin", "sbin"] {
            fs::create_dir(folder.join(path)).expect("made");
        }
        let client = folder.join("bin/mariadb");
        let other = Other::of(&client).expect("a client");
        let told = || Explanation::from(other.instead(&client)).to_string();
        assert!(told().contains("ps -C"));
        let server = folder.join("sbin/mariadbd");
        fs::write(&server, "").expect("written");
        let told = told();
        assert!(
            told.ends_with(&format!("give {}", server.display())),
            "{told}"
        );
        assert_eq!(Other::of(&server), None);
    }
}
