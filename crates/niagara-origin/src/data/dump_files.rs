//! What a file is that somebody names as a dump, and what a folder is that is none of mydumper's: others are refused by their name.

use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::bail;

use super::first_lines::DumpText;

/// What the tools' own archives begin with.
const STREAM: &[u8] = b"XBSTCK01";
/// What other archives, and what is encrypted, begin with: what it is, and what makes a dump or a backup of it.
const OTHERS: [(&[u8], &str, &str); 8] = [
    (b"BZh", "compressed by bzip2", "bunzip2 FILE"),
    (&[0x04, 0x22, 0x4d, 0x18], "compressed by lz4", "unlz4 FILE"),
    (b"\x89LZO", "compressed by lzop", "lzop -d FILE"),
    (b"PK\x03\x04", "an archive of zip", "unzip FILE"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", "7z x FILE"),
    (
        b"Salted__",
        "encrypted by openssl",
        "openssl enc -d, as it was encrypted",
    ),
    (
        b"-----BEGIN PGP",
        "encrypted by gpg",
        "gpg --decrypt --output DUMP FILE",
    ),
    (
        b"XBCRYP",
        "encrypted by xtrabackup",
        "xbcrypt --decrypt, with its key, then xbstream -x",
    ),
];
/// Where tar has its name.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// The head of a dump's file, in clear.
///
/// # Errors
/// It cannot be read, or is none of statements.
pub(crate) fn head(path: &Path) -> Result<String> {
    let text = DumpText::open(path)?;
    let head = text.head();
    let shown = path.display();
    if head.starts_with(STREAM) {
        bail!(
            "{shown} is a stream of a backup tool";
            remedy: "mbstream -x < {shown} -C DIR (xbstream, for MySQL), then mariadb-backup --prepare \
             --target-dir=DIR, and name DIR"
        );
    }
    if head.get(TAR.0..TAR.0 + TAR.1.len()) == Some(TAR.1) {
        bail!(
            "{shown} is an archive of files";
            remedy: "tar -xf {shown} -C DIR, and name the data directory or backup in DIR"
        );
    }
    let other = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic));
    if let Some((_, what, how)) = other {
        bail!(
            "{shown} is {what}, which is not read here";
            remedy: "{how}, and name what comes of it; gzip, zstd and xz are read as they are"
        );
    }
    if head.trim_ascii().is_empty() {
        bail!(
            "{} is empty: the dump failed, or was not copied", path.display();
            remedy: "dump again, and look at the tool's exit code"
        );
    }
    if head.contains(&0) {
        bail!(
            "{} is not text: a dump is a file of SQL statements", path.display();
            remedy: "name a data directory, a prepared backup, a dump (mariadb-dump, mysqldump) or a folder of mydumper"
        );
    }
    Ok(String::from_utf8_lossy(head).into_owned())
}

/// Refuses folders of other tools by their name.
///
/// # Errors
/// It is one, with what is taken instead.
pub(crate) fn refuse_other_folders(folder: &Path) -> Result<()> {
    let names: Vec<String> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let ends = |ending: &str| names.iter().any(|name| name.ends_with(ending));
    let what = if names.iter().any(|name| name == "@.json") {
        "a dump of MySQL Shell (util.dumpInstance and its like)"
    } else if ends(".sql") && ends(".txt") {
        "a dump of tables and their rows in files of their own (mariadb-dump or mysqldump --tab, --dir)"
    } else {
        return Ok(());
    };
    bail!(
        "{} is {what}, which is not read here", folder.display();
        remedy: "a dump in one file (mariadb-dump, mysqldump without --tab), a folder of mydumper, or a physical backup"
    )
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::super::mydumper::DumperFolder;
    use super::*;

    #[test]
    fn what_is_no_dump_is_told_by_its_name() -> Result<()> {
        let place = tempfile::tempdir()?;
        let file = |name: &str, bytes: &[u8]| {
            let path = place.path().join(name);
            std::fs::write(&path, bytes)?;
            let error = head(&path).expect_err(name);
            Ok::<_, std::io::Error>(error.explain().to_string())
        };
        for (name, bytes, words) in [
            ("shop.sql.bz2", &b"BZh91AY"[..], "bunzip2"),
            ("shop.sql.lz4", &[0x04, 0x22, 0x4d, 0x18, 0x60], "unlz4"),
            ("shop.zip", b"PK\x03\x04\x14", "unzip"),
            ("shop.enc", b"Salted__\x01", "openssl"),
            ("shop.xbcrypt", b"XBCRYP03", "xbcrypt --decrypt"),
            ("shop.sql", b" \n", "is empty"),
        ] {
            let told = file(name, bytes)?;
            assert!(
                told.contains(words) && told.contains("remedy") && told.contains(name),
                "{told}"
            );
        }
        let folder = |name: &str, files: &[&str]| {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder)?;
            for file in files {
                std::fs::write(folder.join(file), "x")?;
            }
            Ok::<_, std::io::Error>(folder)
        };
        let shell = folder("shell", &["@.json", "@.sql", "shop@orders@@0.tsv.zst"])?;
        let told = refuse_other_folders(&shell)
            .expect_err("Shell")
            .explain()
            .to_string();
        assert!(
            told.contains("MySQL Shell") && told.contains("remedy"),
            "{told}"
        );
        let tab = folder("tab", &["orders.sql", "orders.txt"])?;
        let told = refuse_other_folders(&tab)
            .expect_err("--tab")
            .explain()
            .to_string();
        assert!(told.contains("--tab"), "{told}");
        refuse_other_folders(&folder("none", &["notes.md"])?)?;
        let rows = folder("rows", &["metadata", "shop.orders.00000.dat.zst"])?;
        let told = DumperFolder::open(&rows)
            .expect_err("rows alone")
            .explain()
            .to_string();
        assert!(told.contains("--load-data"), "{told}");
        Ok(())
    }
}
