//! Where `/proc` and `/sys` are read from: `/`, or a folder that a test filled.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

/// A file system root.
#[derive(Debug, Clone)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// The machine itself.
    pub(crate) fn machine() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A folder that looks like one.
    #[cfg(test)]
    pub(crate) fn at(folder: &std::path::Path) -> Self {
        Self(folder.to_owned())
    }

    /// Writes a file of it, and the folders above.
    #[cfg(test)]
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The place of `path` below this root.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The file's text without surrounding white space.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The file's only word, parsed.
    pub(crate) fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// Names in a folder, sorted; none when it cannot be read.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .map(|entries| {
                entries
                    .filter_map(|entry| {
                        Some(entry.ok()?.file_name().to_string_lossy().into_owned())
                    })
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }

    /// Whether something is there.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

/// The word in brackets of `always [madvise] never`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    let (_, after) = text.split_once('[')?;
    Some(after.split_once(']')?.0)
}

/// The number after `cpu` in `cpu12`, the like for `node3`.
pub(crate) fn numbered(name: &str, prefix: &str) -> Option<usize> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Bytes in `32K`, `2048kB`, `1M`.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..]
        .trim()
        .chars()
        .next()
        .map(|c| c.to_ascii_lowercase())
    {
        None | Some('b') => 1,
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some(_) => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pressure_files_are_read() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("never"), None);
        assert_eq!(numbered("cpu12", "cpu"), Some(12));
        assert_eq!(numbered("cpufreq", "cpu"), None);
        assert_eq!(bytes("32K"), Some(32_768));
        assert_eq!(bytes("2048 kB"), Some(2 << 20));
        assert_eq!(bytes("7 parsecs"), None);
    }
}
