//! Folders that workers need (servers, builds, dataset images): packed once into the shared folder, named by what they
//! contain, and unpacked once on each node's own disk, at the same path: a server's files know where they lie.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use nix::unistd::syncfs;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::room::{Waiting, fits};

/// A folder that stands packed in the shared folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Content {
    /// Where it belongs, below the cache.
    pub path: String,
    /// SHA-256 of the archive, in hexadecimal: its name.
    pub sha256: String,
}

impl Content {
    fn archive(&self, folder: &Path) -> PathBuf {
        folder.join("content").join(format!("{}.tar", self.sha256))
    }

    /// The name of the lock of whoever copies it to a machine's own disk.
    pub fn lock_name(&self) -> String {
        format!("content-{}", self.sha256)
    }

    /// Says on a machine's disk which content stands at this path.
    fn mark(&self, cache: &Path) -> PathBuf {
        let name = format!("{:016x}", xxh3_64(self.path.as_bytes()));
        cache.join("staged").join(name)
    }

    /// Whether it is what stands at its path, as far as was marked.
    fn is_in_place(&self, cache: &Path) -> bool {
        let marked = fs::read_to_string(self.mark(cache));
        marked.is_ok_and(|marked| marked == self.sha256) && cache.join(&self.path).exists()
    }
}

/// Who packs: what is half-written bears a name that no other process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packer {
    /// The head, which is alone in its folder. What one before it left half-written is overwritten.
    Head,
    /// A worker: there are several, of which two on different hosts may have the same number.
    Worker,
}

impl Packer {
    fn part(self, place: &Path) -> PathBuf {
        place.join(match self {
            Self::Head => ".part-head".to_owned(),
            Self::Worker => format!(".part-{}-{}", crate::host(), std::process::id()),
        })
    }
}

/// Packs `path` (below `cache`) into the shared folder, once that has room; `None` once `waiting` was stopped.
///
/// # Errors
/// `tar` fails; a folder that is full for too long, or cannot be written for another reason.
pub fn publish(
    folder: &Path,
    cache: &Path,
    path: &str,
    packer: Packer,
    waiting: &mut Waiting<'_>,
) -> Result<Option<Content>> {
    let part = packer.part(&folder.join("content"));
    // Room that somebody took who was killed.
    let _ = fs::remove_file(&part);
    let packed = waiting.for_room(folder, || pack(&part, folder, cache, path))?;
    if let Some(content) = &packed {
        // It is in place here, where it comes from. That is no matter of the shared folder's room.
        let mark = content.mark(cache);
        fs::create_dir_all(cache.join("staged"))
            .and_then(|()| fs::write(&mark, &content.sha256))
            .map_err(|error| anyhow!("cannot write {}: {error}", mark.display()))?;
    }
    Ok(packed)
}

/// Packs it by way of the file `part`, wholly or not at all.
fn pack(part: &Path, folder: &Path, cache: &Path, path: &str) -> Result<Content> {
    let place = folder.join("content");
    let packed = || -> Result<Content> {
        fs::create_dir_all(&place)?;
        fits(&place, bytes_of(&cache.join(path)))?;
        let mut file = File::create(part)?;
        let content = Content {
            path: path.to_owned(),
            sha256: archive(cache, path, &mut file)?,
        };
        file.sync_all()?;
        let archive = content.archive(folder);
        // The same one may be read right now, and on a network file system that does not outlive its being replaced.
        let there = fs::metadata(&archive).map(|metadata| metadata.len());
        if there.ok() == Some(file.metadata()?.len()) {
            fs::remove_file(part)?;
        } else {
            fs::rename(part, archive)?;
        }
        Ok(content)
    };
    packed().with_context(|| {
        let _ = fs::remove_file(part);
        let from = cache.join(path);
        format!("cannot pack {} into {}", from.display(), place.display())
    })
}

/// Bytes that an archive of a folder takes at least.
fn bytes_of(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else {
        return 0;
    };
    if !metadata.is_dir() {
        // Of holes tar keeps none.
        return metadata.len().min(512 * metadata.blocks());
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_of(&entry.path())).sum()
}

/// Writes the archive of a folder; its SHA-256, in hexadecimal.
fn archive(cache: &Path, path: &str, to: &mut impl Write) -> Result<String> {
    // Equal content is to give equal archives: names in order, no owners, no times.
    let mut tar = Command::new("tar")
        .args(["--create", "--sparse", "--sort=name"])
        .args(["--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"])
        .args(["--file=-", "--directory"])
        .arg(cache)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run `tar`")?;
    let (packed, complaints) = (tar.stdout.take(), tar.stderr.take());
    let (copied, said) = std::thread::scope(|scope| {
        let said = scope.spawn(|| text_of(complaints));
        // The pipe is closed where this ends: a `tar` that nobody reads ends, too.
        let copied = packed.map_or_else(|| Ok(String::new()), |packed| copy(packed, to));
        (copied, said.join().unwrap_or_default())
    });
    let status = tar.wait()?;
    // What cannot be written is the cause of what `tar` says then.
    let sha256 = copied?;
    if !status.success() {
        bail!("`tar`: {}", said.trim());
    }
    Ok(sha256)
}

fn text_of(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // What was read until an error is what there is.
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Has `content` in place below this machine's `cache`; whether it was copied just now. Nobody else copies the same there meanwhile.
///
/// # Errors
/// An archive that is not what its name says; a disk that is full or cannot be written.
pub fn stage(folder: &Path, cache: &Path, content: &Content) -> Result<bool> {
    let (target, mark) = (cache.join(&content.path), content.mark(cache));
    if content.is_in_place(cache) {
        return Ok(false);
    }
    let stage = || -> Result<()> {
        let staged = cache.join("staged");
        fs::create_dir_all(&staged)?;
        let part = staged.join(format!(".part-{}", content.sha256));
        // Room that somebody took who was killed.
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part)?;
        let unpacked = unpack(folder, content, &part).and_then(|()| {
            let from = part.join(&content.path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            // From here on until it is whole nothing says that it is in place, whatever stops this.
            match fs::remove_file(&mark) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
            if target.exists() {
                fs::remove_dir_all(&target)?;
            }
            // A machine that loses its power later is not to find the mark without what it speaks of.
            syncfs(File::open(&from)?)?;
            fs::rename(&from, &target)?;
            fs::write(&mark, &content.sha256)?;
            Ok(())
        });
        let _ = fs::remove_dir_all(&part);
        unpacked
    };
    stage().with_context(|| {
        format!(
            "cannot copy {} to this machine's own disk, {}",
            content.archive(folder).display(),
            target.display()
        )
    })?;
    Ok(true)
}

fn unpack(folder: &Path, content: &Content, part: &Path) -> Result<()> {
    let archive = content.archive(folder);
    let found = sha256(&archive)?;
    if found != content.sha256 {
        bail!("{} is damaged: its SHA-256 is {found}", archive.display());
    }
    run(Command::new("tar")
        .args(["--extract", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(part))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot run `tar`")?;
    if !output.status.success() {
        bail!("`tar`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// It cannot be read.
fn sha256(path: &Path) -> Result<String> {
    let read = || -> io::Result<String> { copy(File::open(path)?, &mut io::sink()) };
    read().with_context(|| format!("cannot read {}", path.display()))
}

/// Copies all that there is to read; its SHA-256, in hexadecimal.
fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        let length = match from.read(&mut block) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&block[..length]);
        to.write_all(&block[..length])?;
    }
    let bytes = digest.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use niagara_error::Explain as _;

    use super::*;

    /// Packs for a head; what was told meanwhile, and what came of it.
    fn told_publish(
        folder: &Path,
        cache: &Path,
        path: &str,
        stop: &dyn Fn() -> bool,
    ) -> (Vec<String>, Result<Option<Content>>) {
        let mut told = Vec::new();
        let mut waiting = Waiting {
            patience: Duration::from_secs(600),
            stop,
            tell: &mut |text| told.push(text.to_owned()),
        };
        let done = super::publish(folder, cache, path, Packer::Head, &mut waiting);
        (told, done)
    }

    fn publish(folder: &Path, cache: &Path, path: &str) -> Result<Content> {
        let (told, done) = told_publish(folder, cache, path, &|| false);
        assert_eq!(told, Vec::<String>::new());
        Ok(done?.expect("not stopped"))
    }

    /// A shared folder, and the disk of a host on which an image of some size lies.
    fn image(place: &Path) -> (PathBuf, PathBuf) {
        let (shared, here) = (place.join("shared"), place.join("here"));
        let data = here.join("images/a/data");
        fs::create_dir_all(&data).expect("made");
        fs::create_dir_all(&shared).expect("made");
        fs::write(data.join("table"), "rows").expect("written");
        fs::write(data.join("more"), vec![7; 300_000]).expect("written");
        (shared, here)
    }

    fn parts(shared: &Path) -> usize {
        let entries = fs::read_dir(shared.join("content")).expect("made");
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(".part"))
            .count()
    }

    #[test]
    fn a_full_folder_is_waited_for_and_no_half_of_an_archive_stays() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (shared, here) = image(place.path());
        // What is written to this device finds no room. The first try removes it.
        let part = shared.join("content/.part-worker");
        fs::create_dir_all(shared.join("content")).expect("made");
        let full = || std::os::unix::fs::symlink("/dev/full", &part).expect("new");
        full();
        let mut tries = 0;
        let mut told = Vec::new();
        let mut waiting = Waiting {
            patience: Duration::from_secs(600),
            stop: &|| false,
            tell: &mut |text| told.push(text.to_owned()),
        };
        let packed = waiting.for_room(&shared, || {
            tries += 1;
            pack(&part, &shared, &here, "images/a")
        });
        let content = packed.expect("room").expect("not stopped");
        assert_eq!(tries, 2);
        let [began, ended] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(began.contains("cannot pack"), "{began}");
        assert!(began.contains("No space left on device"), "{began}");
        assert!(ended.ends_with("has room again"), "{ended}");
        assert_eq!(parts(&shared), 0);
        assert_eq!(content, publish(&shared, &here, "images/a").expect("again"));
        // Stopped, it leaves nothing either.
        full();
        let failed = pack(&part, &shared, &here, "images/a");
        assert!(crate::room::is_full(&failed.expect_err("no room")));
        assert_eq!(parts(&shared), 0);
    }

    #[test]
    fn what_tar_cannot_read_is_told_and_not_waited_for() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (shared, here) = image(place.path());
        let (told, done) = told_publish(&shared, &here, "images/none", &|| false);
        let error = done.expect_err("not there").explain().to_string();
        assert!(error.contains("`tar`: "), "{error}");
        assert!(error.contains("images/none"), "{error}");
        assert_eq!(told, Vec::<String>::new());
        assert_eq!(parts(&shared), 0);
    }

    #[test]
    fn a_folder_that_nobody_may_write_is_told_with_its_remedy() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (shared, here) = image(place.path());
        // A folder that takes no files, from root neither.
        std::os::unix::fs::symlink("/sys/kernel", shared.join("content")).expect("new");
        let (_, done) = told_publish(&shared, &here, "images/a", &|| false);
        let error = done.expect_err("nobody may").explain().to_string();
        assert!(error.contains("remedy: m"), "{error}");
    }

    #[test]
    fn what_a_head_left_half_packed_takes_no_room_from_the_next() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (shared, here) = image(place.path());
        fs::create_dir_all(shared.join("content")).expect("made");
        fs::write(shared.join("content/.part-head"), vec![1; 1 << 20]).expect("written");
        let content = publish(&shared, &here, "images/a").expect("packed");
        let size = fs::metadata(content.archive(&shared)).expect("there").len();
        assert!(size < 1 << 20, "{size}");
        assert!(size >= bytes_of(&here.join("images/a")), "{size}");
        assert_eq!(parts(&shared), 0);
    }

    #[test]
    fn a_folder_is_copied_once_and_by_what_it_contains() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (shared, here) = image(place.path());
        let there = place.path().join("there");
        let image = here.join("images/a");
        fs::create_dir_all(&there).expect("made");
        let content = publish(&shared, &here, "images/a").expect("packed");
        assert_eq!(content, publish(&shared, &here, "images/a").expect("again"));
        assert!(!stage(&shared, &here, &content).expect("in place"));
        assert!(stage(&shared, &there, &content).expect("copied"));
        assert!(!stage(&shared, &there, &content).expect("in place"));
        let copied = fs::read_to_string(there.join("images/a/data/table"));
        assert_eq!(copied.expect("there"), "rows");
        // Another content of the same path takes its place.
        fs::write(image.join("data/table"), "more rows").expect("written");
        let other = publish(&shared, &here, "images/a").expect("packed");
        assert_ne!(other, content);
        assert!(stage(&shared, &there, &other).expect("copied"));
        let copied = fs::read_to_string(there.join("images/a/data/table"));
        assert_eq!(copied.expect("there"), "more rows");
        // And the other way round: that it was there once says nothing.
        assert!(stage(&shared, &there, &content).expect("copied"));
        let copied = fs::read_to_string(there.join("images/a/data/table"));
        assert_eq!(copied.expect("there"), "rows");
        // A damaged archive is not taken.
        fs::write(content.archive(&shared), "?").expect("written");
        fs::remove_dir_all(there.join("staged")).expect("there");
        // Half of it lies there, of a worker that was killed.
        let part = there
            .join("staged")
            .join(format!(".part-{}", content.sha256));
        fs::create_dir_all(part.join("images/a/data")).expect("made");
        let error = stage(&shared, &there, &content).expect_err("damaged");
        assert!(error.explain().to_string().contains("damaged"), "{error:#}");
        assert!(!part.exists());
    }
}
