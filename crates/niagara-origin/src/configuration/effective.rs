//! What a server makes of option files: the server is asked, and the places come from our own reading of the same files.

use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_model::OriginNote;
use niagara_server::Install;

use super::known_options::KnownOptions;
use super::option_file::{FileOption, OptionFiles};
use super::other_groups::unread;

/// The options that `install` would be started with by `file`, in its order; what was noticed on the way is added to
/// the files' remarks.
///
/// # Errors
/// The file cannot be read, or the server refuses it.
pub(crate) fn effective(
    install: &Install,
    known: &KnownOptions,
    file: &Path,
) -> Result<(Vec<FileOption>, OptionFiles)> {
    let mut read = OptionFiles::read(file)?;
    let said = install.print_defaults(file)?;
    let ours: Vec<FileOption> = read
        .options
        .iter()
        .filter(|option| known.reads(&option.group))
        .cloned()
        .collect();
    let without = unread(&read.options, known, &install.name);
    read.remarks.extend(without);
    let others = other_files(&known.files, file, &read.files);
    read.remarks
        .extend(others.into_iter().map(|other| OriginNote::OtherFile {
            file: other.display().to_string(),
            named: file.display().to_string(),
        }));
    if same(&ours, &said) {
        return Ok((ours, read));
    }
    // The server has the last word; a value with ` --` in it is all that could be cut wrongly.
    read.remarks.push(OriginNote::ReadDifferently {
        file: file.display().to_string(),
        server: install.name.clone(),
    });
    Ok((cut(&said, &ours, file), read))
}

/// Files that a server reads of its own beside `file`, where that is one of them, and that are there and were not `read`.
fn other_files<'f>(own: &'f [PathBuf], file: &Path, read: &[PathBuf]) -> Vec<&'f PathBuf> {
    // By what is behind links: one is often a link to the other.
    let real = |path: &Path| path.canonicalize().ok();
    let named = real(file);
    if named.is_none() || own.iter().all(|path| real(path) != named) {
        return Vec::new();
    }
    let read: Vec<PathBuf> = read.iter().filter_map(|path| real(path)).collect();
    own.iter()
        .filter(|path| real(path).is_some_and(|path| !read.contains(&path)))
        .collect()
}

/// Whether our options are what the server prints. Passwords it prints as stars.
fn same(ours: &[FileOption], said: &str) -> bool {
    let mut rest = said.trim_end();
    for option in ours {
        let argument = option.argument();
        rest = rest.trim_start_matches(' ');
        if let Some(after) = rest.strip_prefix(argument.trim_end()) {
            rest = after;
            continue;
        }
        let hidden = format!("--{}=*****", option.name);
        match rest.strip_prefix(hidden.as_str()) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.trim().is_empty()
}

/// The options of the server's line; each has the place of ours that says the same, else the file's.
fn cut(said: &str, ours: &[FileOption], file: &Path) -> Vec<FileOption> {
    let line = format!(" {}", said.trim());
    line.split(" --")
        .filter(|text| !text.is_empty())
        .map(|text| {
            let (name, value) = match text.split_once('=') {
                None => (text.trim(), None),
                Some((name, value)) => (name, Some(value.to_owned())),
            };
            let place = ours
                .iter()
                .rfind(|option| option.name == name && option.value == value)
                .map(|option| option.place.clone());
            FileOption {
                group: String::new(),
                name: name.to_owned(),
                value,
                place: place.unwrap_or(super::place::Place {
                    file: file.to_owned(),
                    line: 0,
                }),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::place::Place;
    use super::*;

    fn option(name: &str, value: Option<&str>) -> FileOption {
        FileOption {
            group: "mysqld".into(),
            name: name.into(),
            value: value.map(str::to_owned),
            place: Place {
                file: "/my.cnf".into(),
                line: 7,
            },
        }
    }

    #[test]
    fn other_files_that_a_server_reads_are_told() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["my.cnf", "mysql.cnf", "copy.cnf"] {
            std::fs::write(at(name), "")?;
        }
        std::os::unix::fs::symlink(at("mysql.cnf"), at("link.cnf"))?;
        let own = [
            at("my.cnf"),
            at("mysql.cnf"),
            at("link.cnf"),
            at("none.cnf"),
        ];
        let others = |file: &str, read: &[&str]| {
            let read: Vec<PathBuf> = read.iter().map(|name| at(name)).collect();
            other_files(&own, &at(file), &read).len()
        };
        assert_eq!(others("link.cnf", &["link.cnf"]), 1);
        assert_eq!(others("my.cnf", &["my.cnf", "mysql.cnf"]), 0);
        // A copy is what somebody has made of all.
        assert_eq!(others("copy.cnf", &["copy.cnf"]), 0);
        Ok(())
    }

    #[test]
    fn values_with_spaces_are_no_further_options() {
        let ours = [
            option("sql_mode", Some("")),
            option("init_connect", Some("SET @a=1; SET @b = 2 --x")),
            option("skip-name-resolve", None),
        ];
        assert!(same(
            &ours,
            "--sql_mode= --init_connect=SET @a=1; SET @b = 2 --x --skip-name-resolve "
        ));
        assert!(!same(&ours, "--sql_mode= "));
        assert!(!same(&ours[..1], "--sql_mode= --port=1"));
        let hidden = [
            option("password", Some("secret")),
            option("port", Some("1")),
        ];
        assert!(same(&hidden, "--password=***** --port=1"));
    }

    #[test]
    fn the_servers_reading_counts() {
        let found = cut(
            "--port=1 --skip-name-resolve",
            &[option("port", Some("1"))],
            Path::new("/my.cnf"),
        );
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].place.line, found[1].place.line), (7, 0));
        assert_eq!(found[1].name, "skip-name-resolve");
    }
}
