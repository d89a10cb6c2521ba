//! Option files as the servers read them: groups, includes, quotes, escapes. Each option keeps its file and line, which
//! no server tells; what the server itself makes of the files is compared with this reading in [`super::effective`].

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::place::Place;
use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use niagara_model::OriginNote;

/// Includes within includes that the servers follow.
const MAX_DEPTH: usize = 10;
/// More files are none that somebody wrote: includes that go in circles double with each depth.
const MAX_FILES: usize = 1000;
/// More bytes are none that somebody wrote.
const MAX_BYTES: u64 = 16 << 20;
/// Where MySQL keeps what was SET PERSIST, in the data directory.
pub(crate) const PERSISTED: &str = "mysqld-auto.cnf";
/// Bits of a file's mode that let everybody write to it: the servers ignore such files.
const WORLD_WRITABLE: u32 = 0o002;

/// An option as a file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileOption {
    /// The group that it stands in.
    pub group: String,
    /// Its name as written.
    pub name: String,
    /// Its value without quotes and escapes; `None` where there is no `=`.
    pub value: Option<String>,
    /// Where it stands.
    pub place: Place,
}

impl FileOption {
    /// As the server's `--print-defaults` shows it.
    pub(crate) fn argument(&self) -> String {
        match &self.value {
            None => format!("--{}", self.name),
            Some(value) => format!("--{}={value}", self.name),
        }
    }
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OptionFiles {
    /// The options of all groups, in the order in which the server meets them.
    pub options: Vec<FileOption>,
    /// The files, in the order in which they were opened.
    pub files: Vec<PathBuf>,
    /// Folders of `!includedir`, each with the place of that line.
    pub folders: Vec<(PathBuf, Place)>,
    /// What was passed over.
    pub remarks: Vec<OriginNote>,
}

impl OptionFiles {
    /// Reads `file` and what it includes.
    ///
    /// # Errors
    /// A file that cannot be read, or a line that is no option, each with its place.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let file = std::path::absolute(file)?;
        let metadata = fs::metadata(&file)
            .with_context(|| format!("cannot read the option file {}", file.display()))
            .remedy("check the path")?;
        if metadata.is_dir() {
            bail!(
                "{} is a folder", file.display();
                remedy: "name the option file that the server is started with; it includes the others"
            );
        }
        if file.file_name().is_some_and(|name| name == PERSISTED) {
            bail!(
                "{} has what was SET PERSIST, and is no option file", file.display();
                remedy: "name the server's option file by --config; what was SET PERSIST is read with the data (--data) that it lies \
                 with, or from the running server (--config-from)"
            );
        }
        let mut all = Self::default();
        all.add(&file, &mut None, 0)?;
        Ok(all)
    }

    /// What was read, of a file that `including` names.
    fn include(&mut self, path: &Path, including: &Place, depth: usize) -> Result<()> {
        if !path.exists() {
            bail!(
                "{including}: {} is not here", path.display();
                remedy: "bring it along; where the original has none either (servers pass over that), take the line out of a copy"
            );
        }
        // A group of the included file ends with it; the including file continues in its own.
        self.add(path, &mut None, depth)
    }

    fn add(&mut self, path: &Path, group: &mut Option<String>, depth: usize) -> Result<()> {
        let metadata =
            fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if metadata.mode() & WORLD_WRITABLE != 0 {
            self.remarks.push(OriginNote::WritableByAll {
                file: path.display().to_string(),
            });
            return Ok(());
        }
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            bail!(
                "{} is no option file: {}",
                path.display(),
                match metadata.is_file() {
                    true => "it has more than 16 MiB",
                    false => "it is a device, a pipe, a socket or a folder",
                };
                remedy: "name the file that the server is started with, or take out the line that includes this one"
            );
        }
        if self.files.len() == MAX_FILES {
            bail!(
                "{}: option files include more than {MAX_FILES} others: they may include each other",
                path.display();
                remedy: "take out the lines !include and !includedir that go in circles"
            );
        }
        let bytes = read_bounded(path)
            .with_context(|| format!("cannot read the option file {}", path.display()))
            .remedy("run as a user who may read it, or name a copy that you may read")?;
        self.files.push(path.to_owned());
        self.add_text(path, &String::from_utf8_lossy(&bytes), group, depth)
    }

    /// What the text of the file at `path` says.
    fn add_text(
        &mut self,
        path: &Path,
        text: &str,
        group: &mut Option<String>,
        depth: usize,
    ) -> Result<()> {
        for (number, line) in (1..).zip(text.lines()) {
            let place = || Place {
                file: path.to_owned(),
                line: number,
            };
            match read_line(line) {
                Line::Nothing => {}
                Line::Group(name) => *group = Some(name),
                Line::Include(_) | Line::IncludeFolder(_) if depth == MAX_DEPTH => {
                    self.remarks.push(OriginNote::NestedTooDeep {
                        place: place().to_string(),
                    });
                }
                Line::Include(file) => self.include(Path::new(&file), &place(), depth + 1)?,
                Line::IncludeFolder(folder) => {
                    self.folders.push((PathBuf::from(&folder), place()));
                    for file in option_files_in(Path::new(&folder), &place())? {
                        self.include(&file, &place(), depth + 1)?;
                    }
                }
                Line::Option(name, value) => {
                    let Some(group) = group.as_ref() else {
                        bail!(
                            "{}: `{name}` stands in no group", place();
                            remedy: "put [mysqld] above it"
                        );
                    };
                    self.options.push(FileOption {
                        group: group.clone(),
                        name,
                        value,
                        place: place(),
                    });
                }
                // Not what stands there: it may be part of a password.
                Line::Wrong => bail!(
                    "{}: this is no option", place();
                    remedy: "correct the line; the server would not start with it either"
                ),
            }
        }
        Ok(())
    }
}

/// Reads a text as an option file without its includes, for the fuzzer.
#[cfg(fuzzing)]
pub fn read_option_text(text: &[u8]) {
    let mut all = OptionFiles::default();
    let text = String::from_utf8_lossy(text);
    // At this depth nothing is included.
    let read = all.add_text(Path::new("my.cnf"), &text, &mut None, MAX_DEPTH);
    for option in &all.options {
        assert!(!option.name.is_empty() && option.place.line > 0);
        let value = option.value.as_deref().unwrap_or_default();
        super::dropped_settings::dropped_settings(&option.name, value);
        super::size::number(value);
        option.argument();
    }
    let _ = read;
}

/// The bytes of a file that may grow while it is read.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = fs::File::open(path)?.take(MAX_BYTES);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The option files of a folder, in the servers' order.
fn option_files_in(folder: &Path, place: &Place) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("{place}: cannot read the folder {}", folder.display()))
        .remedy("bring the included files along, or leave out the line")?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| is_option_file(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    Ok(files)
}

/// Whether servers read a file of this name in a folder, by what follows its last full stop.
fn is_option_file(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending == Some("cnf")
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Nothing,
    Group(String),
    Include(String),
    IncludeFolder(String),
    Option(String, Option<String>),
    Wrong,
}

fn read_line(line: &str) -> Line {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Line::Nothing;
    }
    if let Some(rest) = line.strip_prefix('!') {
        let rest = rest.trim_start();
        // The longer word first: it begins with the other.
        return match (
            rest.strip_prefix("includedir"),
            rest.strip_prefix("include"),
        ) {
            (Some(folder), _) if folder.starts_with(char::is_whitespace) => {
                Line::IncludeFolder(folder.trim().to_owned())
            }
            (None, Some(file)) if file.starts_with(char::is_whitespace) => {
                Line::Include(file.trim().to_owned())
            }
            _ => Line::Nothing,
        };
    }
    if let Some(rest) = line.strip_prefix('[') {
        return rest.split_once(']').map_or(Line::Wrong, |(name, _)| {
            Line::Group(name.trim_end().to_owned())
        });
    }
    let line = without_comment(line);
    let (name, value) = match line.split_once('=') {
        None => (line.trim(), None),
        Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
    };
    if name.is_empty() {
        return Line::Wrong;
    }
    Line::Option(name.to_owned(), value)
}

/// The line up to a `#` that stands outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            ('\'' | '"', Some(open)) if open == c && !escaped => quote = None,
            ('#', None) => return line[..at].trim_end(),
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// A value without its quotes, its escapes resolved.
fn unquoted(value: &str) -> String {
    let quoted = ['\'', '"'].iter().find_map(|quote| {
        let inner = value.strip_prefix(*quote)?;
        inner.strip_suffix(*quote)
    });
    let mut out = String::with_capacity(value.len());
    let mut chars = quoted.unwrap_or(value).chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(same @ ('"' | '\'' | '\\')) => out.push(same),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn lines_are_read_as_the_servers_read_them() {
        let option = |name: &str, value: Option<&str>| {
            Line::Option(name.to_owned(), value.map(str::to_owned))
        };
        for (line, read) in [
            ("  # remark", Line::Nothing),
            ("; remark", Line::Nothing),
            ("[mysqld] # here", Line::Group("mysqld".into())),
            ("[mysqld", Line::Wrong),
            ("skip-name-resolve", option("skip-name-resolve", None)),
            ("a = b c  # remark", option("a", Some("b c"))),
            ("a='x # y' # z", option("a", Some("x # y"))),
            (r#"a="x \"q\" # y""#, option("a", Some("x \"q\" # y"))),
            (r"a=C:\temp\new", option("a", Some("C:\temp\new"))),
            ("sql_mode=\"\"", option("sql_mode", Some(""))),
            ("sql_mode =", option("sql_mode", Some(""))),
            ("!includedir /etc/x/", Line::IncludeFolder("/etc/x/".into())),
            ("!include /etc/y.cnf", Line::Include("/etc/y.cnf".into())),
            ("! include /etc/y.cnf", Line::Include("/etc/y.cnf".into())),
            ("[mysqld ]", Line::Group("mysqld".into())),
            // No server reads this group.
            ("[ mysqld]", Line::Group(" mysqld".into())),
            ("= 5", Line::Wrong),
        ] {
            assert_eq!(read_line(line), read, "{line}");
        }
    }

    #[test]
    fn the_option_files_of_a_folder_are_told_by_their_ending() {
        for (name, is_one) in [
            ("50-server.cnf", true),
            (".cnf", true),
            ("10.11-shop.cnf", true),
            ("50-server.cnf.old", false),
            ("50-server.cnf~", false),
            ("cnf", false),
        ] {
            assert_eq!(is_option_file(name), is_one, "{name}");
        }
    }

    #[test]
    fn what_is_no_option_file_or_not_here_is_told_with_what_to_do() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let told = |path: &Path| {
            let error = OptionFiles::read(path).expect_err("refused");
            error.explain().to_string()
        };
        assert!(told(folder.path()).contains("is a folder"));
        let persisted = folder.path().join(PERSISTED);
        fs::write(&persisted, "{\"Version\": 2}")?;
        assert!(told(&persisted).contains("--config-from"));
        let path = folder.path().join("my.cnf");
        fs::write(&path, "[mysqld]\n!include /nowhere/local.cnf\n")?;
        let told = told(&path);
        for words in ["my.cnf line 2", "/nowhere/local.cnf is not here", "remedy"] {
            assert!(told.contains(words), "{told}");
        }
        Ok(())
    }

    #[test]
    fn an_option_without_a_group_is_told_with_its_place() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("my.cnf");
        fs::write(&path, "# mine\nport=1\n")?;
        let error = OptionFiles::read(&path).expect_err("in no group");
        assert!(
            error.explain().to_string().contains("my.cnf line 2"),
            "{error}"
        );
        assert!(error.explain().to_string().contains("remedy"), "{error}");
        Ok(())
    }
}
