//! Where a Debian archive keeps the files of a source package: what of it is found without the archive's lists.
//!
//! A package's folder is `pool/main/m/mariadb`, the security archive's `pool/updates/main/m/mariadb`
//! (Debian's policy for its archive; `lib…` packages lie under four letters).

use anyhow::{Result, bail};

use super::mirror::Mirrors;

/// A file of a source package and what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolFile {
    /// Without folders.
    pub name: String,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// The addresses of the folders that may hold a source package, the main archive's first.
pub(super) fn folders(mirrors: &Mirrors, package: &str) -> [String; 2] {
    let letters = if package.starts_with("lib") { 4 } else { 1 };
    let under: String = package.chars().take(letters).collect();
    let at = |mirror: &str, part: &str| {
        format!("{}/{part}/{under}/{package}", mirror.trim_end_matches('/'))
    };
    [
        at(&mirrors.main, "pool/main"),
        at(&mirrors.security, "pool/updates/main"),
    ]
}

/// The name of the file that describes a source package: the version stands in it without its epoch.
pub(super) fn dsc_name(package: &str, version: &str) -> String {
    let bare = version.split_once(':').map_or(version, |(_, bare)| bare);
    format!("{package}_{bare}.dsc")
}

/// The files of a source package, as its `.dsc` lists them under `Checksums-Sha256`.
///
/// # Errors
/// It lists none, or something that is no file's name.
pub(super) fn files(dsc: &str) -> Result<Vec<PoolFile>> {
    let listed = dsc
        .lines()
        .skip_while(|line| !line.starts_with("Checksums-Sha256:"))
        .skip(1)
        .take_while(|line| line.starts_with(' '));
    let mut found = Vec::new();
    for line in listed {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [sha256, _bytes, name] = fields[..] else {
            bail!("a .dsc file says under Checksums-Sha256: {line}");
        };
        if name.contains('/') || name.starts_with('.') {
            bail!("a .dsc file names a file that is none of its own: {name}");
        }
        found.push(PoolFile {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
        });
    }
    if found.is_empty() {
        bail!("a .dsc file lists no files under Checksums-Sha256");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_package_is_found_without_the_lists() {
        let mirrors = Mirrors {
            main: "http://m/debian/".to_owned(),
            security: "http://m/debian-security".to_owned(),
        };
        assert_eq!(
            folders(&mirrors, "mariadb"),
            [
                "http://m/debian/pool/main/m/mariadb",
                "http://m/debian-security/pool/updates/main/m/mariadb"
            ]
        );
        assert!(folders(&mirrors, "libaio")[0].ends_with("/pool/main/liba/libaio"));
        assert_eq!(
            dsc_name("mariadb", "1:11.8.6-0+deb13u1"),
            "mariadb_11.8.6-0+deb13u1.dsc"
        );
    }

    #[test]
    fn the_files_of_a_dsc_are_those_with_a_sum() {
        let dsc = "Format: 3.0 (quilt)\nChecksums-Sha1:\n 11 5 x_1.orig.tar.gz\nChecksums-Sha256:\n 22 5 x_1.orig.tar.gz\n \
                   33 7 x_1-1.debian.tar.xz\nFiles:\n 44 5 x_1.orig.tar.gz\n";
        let files = files(dsc).expect("two files");
        let told: Vec<(&str, &str)> = files
            .iter()
            .map(|file| (file.name.as_str(), file.sha256.as_str()))
            .collect();
        assert_eq!(
            told,
            [("x_1.orig.tar.gz", "22"), ("x_1-1.debian.tar.xz", "33")]
        );
        for wrong in [
            "Files:\n 44 5 x\n",
            "Checksums-Sha256:\n 22 5 ../x\n",
            "Checksums-Sha256:\n 22 x\n",
        ] {
            assert!(super::files(wrong).is_err(), "{wrong}");
        }
    }
}
