//! Where Niagara keeps what it fetched, made and is using.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::syncfs;

use crate::cancel::{Cancel, Cancelled};
use crate::disk_use::free_bytes;
use crate::owner_lock::{OwnerLock, folder_of};
use crate::process::by_folder::EndServersNaming;

/// How often whoever waits for a lock looks whether it is free, or whether to stop.
const LOOKED_AGAIN: Duration = Duration::from_millis(100);

/// The cache folder: fetched servers, dataset images, the registry of running servers, work in progress.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    work: PathBuf,
    /// Ends the waiting for what somebody else makes.
    cancel: Cancel,
}

impl Cache {
    /// The cache named by `NIAGARA_CACHE`, else `$XDG_CACHE_HOME/niagara`, else `~/.cache/niagara`.
    pub fn open() -> Result<Cache> {
        let variable = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let root = if let Some(root) = variable("NIAGARA_CACHE") {
            root
        } else if let Some(caches) = variable("XDG_CACHE_HOME") {
            caches.join("niagara")
        } else if let Some(home) = variable("HOME") {
            home.join(".cache/niagara")
        } else {
            bail!(
                "no cache folder: HOME is not set; set NIAGARA_CACHE to a folder with a few GB of room"
            );
        };
        let mut cache = Cache::at(&root)?;
        if let Some(work) = variable("NIAGARA_WORK") {
            create_private(&work)?;
            cache.work = fs::canonicalize(&work)?;
            refuse_planted(&cache.work)?;
        }
        Ok(cache)
    }

    /// The cache at this folder, made if it is not there.
    ///
    /// # Errors
    /// It cannot be made, or somebody else made it where everybody may.
    pub fn at(root: &Path) -> Result<Cache> {
        create_private(root)?;
        let root = fs::canonicalize(root)?;
        refuse_planted(&root)?;
        let work = root.join("work");
        Ok(Cache {
            root,
            work,
            cancel: Cancel::default(),
        })
    }

    /// The same, of which nobody waits for another's lock or for a server to start once `cancel` says so.
    #[must_use]
    pub fn stopping_with(self, cancel: Cancel) -> Cache {
        Cache { cancel, ..self }
    }

    /// What ends its waits.
    pub(crate) fn stop(&self) -> &Cancel {
        &self.cancel
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where clones and run folders live: `NIAGARA_WORK`, else a folder of the cache.
    pub fn work(&self) -> Result<PathBuf> {
        create_private(&self.work)?;
        Ok(self.work.clone())
    }

    /// Bytes free on the disk that clones and run folders are on.
    pub(crate) fn free_bytes(&self) -> Result<u64> {
        let work = self.work()?;
        free_bytes(&work)
            .with_context(|| format!("cannot tell the free space of {}", work.display()))
    }

    /// Bytes free on the disk that servers, images and builds are kept on.
    pub fn kept_free_bytes(&self) -> Result<u64> {
        free_bytes(&self.root)
            .with_context(|| format!("cannot tell the free space of {}", self.root.display()))
    }

    /// A new private folder for `kind` (`clone`, `run`), removed when dropped, and by the next start if this
    /// process dies first: a lock beside it says whether its owner lives.
    pub fn work_folder(&self, kind: &str) -> Result<WorkFolder> {
        WorkFolder::new(&self.work()?, kind)
    }

    /// The same where paths are short, for sockets: in a folder of `/tmp` that is this user's alone, whatever the cache is called.
    ///
    /// # Errors
    /// It cannot be made, or somebody else made that folder.
    pub fn short_work_folder(&self, kind: &str) -> Result<WorkFolder> {
        WorkFolder::new(&private_place(place_in_tmp())?, kind)
    }

    pub(crate) fn servers(&self) -> PathBuf {
        self.root.join("servers")
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// The file of the lock of this name.
    pub(crate) fn lock_path(&self, name: &str) -> PathBuf {
        self.locks().join(name)
    }

    pub(crate) fn running(&self) -> PathBuf {
        self.root.join("running")
    }

    /// The lock of this name, unless somebody else holds it.
    pub fn try_lock(&self, name: &str) -> Result<Option<Flock<File>>> {
        let (path, mut file) = self.lock_file(name)?;
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Some(lock)),
                Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
                Err((file, Errno::EINTR)) => file,
                Err((_, error)) => bail!("cannot lock {}: {error}", path.display()),
            };
        }
    }

    /// The lock of this name, held until dropped; `waiting` is called when somebody else holds it, perhaps for minutes: a server
    /// that is fetched, an image that is loaded.
    ///
    /// # Errors
    /// [`Cancelled`] where [`stopping_with`](Self::stopping_with) says so meanwhile; a lock that cannot be made.
    pub fn lock(&self, name: &str, waiting: &mut dyn FnMut()) -> Result<Flock<File>> {
        self.lock_or_cancelled(name, &self.cancel, waiting)
    }

    /// The lock of this name as [`lock`](Self::lock) gives it, unless `stopped` says so while somebody else holds it, perhaps for an hour: none then.
    pub fn lock_unless(
        &self,
        name: &str,
        stopped: &dyn Fn() -> bool,
        waiting: &mut dyn FnMut(),
    ) -> Result<Option<Flock<File>>> {
        let mut told = false;
        loop {
            if let Some(lock) = self.try_lock(name)? {
                return Ok(Some(lock));
            }
            if stopped() {
                return Ok(None);
            }
            if !told {
                waiting();
                told = true;
            }
            std::thread::sleep(LOOKED_AGAIN);
        }
    }

    /// The lock of this name as [`lock`](Self::lock) gives it.
    ///
    /// # Errors
    /// [`Cancelled`] once `cancel` says so while somebody else holds it; a lock that cannot be made.
    pub fn lock_or_cancelled(
        &self,
        name: &str,
        cancel: &Cancel,
        waiting: &mut dyn FnMut(),
    ) -> Result<Flock<File>> {
        let held = self.lock_unless(name, &|| cancel.is_cancelled(), waiting)?;
        held.ok_or_else(|| Cancelled.into())
    }

    /// The lock of this name together with others who share it, held until dropped: nobody has it alone meanwhile.
    pub fn share_lock(&self, name: &str) -> Result<Flock<File>> {
        let (path, file) = self.lock_file(name)?;
        Flock::lock(file, FlockArg::LockShared)
            .map_err(|(_, error)| anyhow::anyhow!("cannot lock {}: {error}", path.display()))
    }

    /// What tells the lock of this name from all others on this machine, by whatever path its folder is reached.
    pub fn lock_id(&self, name: &str) -> Result<String> {
        let (path, file) = self.lock_file(name)?;
        let metadata = file
            .metadata()
            .with_context(|| format!("cannot look at the lock {}", path.display()))?;
        Ok(format!("{}:{}", metadata.dev(), metadata.ino()))
    }

    fn lock_file(&self, name: &str) -> Result<(PathBuf, File)> {
        let path = self.lock_path(name);
        create_private(&self.locks())?;
        // To be read, too: without that NFS shares no lock.
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open the lock {}", path.display()))?;
        Ok((path, file))
    }
}

/// A folder of work in progress: removed when dropped.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    // None once the folder has gone to its place.
    owner: Option<OwnerLock>,
}

impl WorkFolder {
    /// A folder beside the place its content will be renamed to. What owners that died left there goes first.
    pub fn beside(folder: &Path, kind: &str) -> Result<WorkFolder> {
        create_private(folder)?;
        sweep_left(folder);
        WorkFolder::new(folder, &format!(".tmp-{kind}"))
    }

    /// `KIND-PID-RANDOM`: the number is for people who look for the process.
    fn new(folder: &Path, kind: &str) -> Result<WorkFolder> {
        let path = folder.join(format!(
            "{kind}-{}-{:08x}",
            std::process::id(),
            rand::random::<u32>()
        ));
        let owner = OwnerLock::of_new(&path)?;
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create {}", path.display())).remedy("make room there, or name another place: NIAGARA_CACHE for what is kept, NIAGARA_WORK \
                     for running servers")?;
        Ok(WorkFolder {
            path,
            owner: Some(owner),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the finished content to its place in one step, once it is on the disk: a machine that loses its power afterwards has all
    /// of it.
    ///
    /// # Errors
    /// It cannot be written or moved.
    pub fn rename(mut self, to: &Path) -> Result<()> {
        File::open(&self.path)
            .map_err(anyhow::Error::from)
            .and_then(|folder| Ok(syncfs(folder)?))
            .with_context(|| format!("cannot write {} to the disk", self.path.display()))?;
        fs::rename(&self.path, to)
            .with_context(|| format!("cannot move {} to {}", self.path.display(), to.display()))?;
        self.owner = None;
        Ok(())
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            owner.remove(&self.path);
        }
    }
}

/// Removes the folders of work in progress in `folder` whose owner is gone, and ends the servers that work in them: those that a test
/// runner started for the owner do not all follow it. How many folders there were.
pub(crate) fn sweep_left(folder: &Path) -> usize {
    let mut removed = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(folder) = folder_of(&entry.path()) else {
            continue;
        };
        if let Some(left) = OwnerLock::of_left(&folder) {
            drop(EndServersNaming(&folder));
            removed += usize::from(left.remove(&folder));
        }
    }
    removed
}

/// Creates a folder that only its owner may enter (parents as usual).
pub fn create_private(folder: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))
        .remedy(
            "name a place that you may write: NIAGARA_CACHE for what is kept, \
                 NIAGARA_WORK for running servers",
        )
}

/// Where folders with short paths are that may take more room than a runtime folder has.
pub(crate) fn place_in_tmp() -> PathBuf {
    PathBuf::from(format!("/tmp/niagara-{}", nix::unistd::geteuid()))
}

/// A folder whose name anybody can guess, made if it is not there, of this user's alone.
///
/// # Errors
/// Somebody else made it first.
pub(crate) fn private_place(folder: PathBuf) -> Result<PathBuf> {
    create_private(&folder)?;
    if !is_private(&folder) {
        bail!(
            "{} is not a private folder of yours", folder.display();
            remedy: "have it removed; for the sockets of servers XDG_RUNTIME_DIR names another place"
        );
    }
    Ok(folder)
}

fn is_private(folder: &Path) -> bool {
    let me = nix::unistd::geteuid().as_raw();
    fs::symlink_metadata(folder)
        .is_ok_and(|it| it.is_dir() && it.uid() == me && it.mode() & 0o077 == 0)
}

/// Removes what owners that are gone left in this user's folder of `/tmp`; how many folders there were.
pub(crate) fn sweep_left_in_tmp() -> usize {
    let place = place_in_tmp();
    match is_private(&place) {
        true => sweep_left(&place),
        false => 0,
    }
}

/// Refuses a folder that another user made in a place where everybody may make one, such as `/var/tmp/niagara-1000`: whoever owns
/// it could exchange the programs that are started from it. `folder` has no symbolic links in it.
fn refuse_planted(folder: &Path) -> Result<()> {
    let look = |path: &Path| {
        fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))
    };
    let above = look(folder.parent().unwrap_or(folder))?;
    let me = nix::unistd::geteuid().as_raw();
    if is_planted(look(folder)?.uid(), above.mode(), me) {
        bail!(
            "{} belongs to another user, who made it where everybody may: programs in it may be anybody's",
            folder.display();
            remedy: "name a place of your own: NIAGARA_CACHE for what is kept, NIAGARA_WORK for running servers, --node-dir on nodes"
        );
    }
    Ok(())
}

/// Whether a folder of `owner` in one of this mode may have been made by anybody, to be found by user `me`. Root is trusted.
fn is_planted(owner: u32, above: u32, me: u32) -> bool {
    const WRITTEN_BY_OTHERS: u32 = 0o002;
    owner != me && owner != 0 && above & WRITTEN_BY_OTHERS != 0
}

/// Writes a file of mode 0600, whole or not at all.
pub fn write_private(path: &Path, content: &[u8]) -> Result<()> {
    use std::io::Write;
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(content)?;
        fs::rename(&part, path)
    };
    write().with_context(|| {
        // On a full disk half of it may be there.
        let _ = fs::remove_file(&part);
        format!("cannot write {}", path.display())
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn nobody_waits_for_a_lock_after_a_stop() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let held = cache.lock("image", &mut || {}).expect("it is free");
        let cancel = Cancel::default();
        let stopping = cache.clone().stopping_with(cancel.clone());
        let mut waited = 0;
        let refused = stopping.lock("image", &mut || {
            waited += 1;
            cancel.cancel();
        });
        let refused = refused.expect_err("somebody else holds it");
        assert!(refused.has::<Cancelled>(), "{refused:#}");
        assert_eq!(waited, 1);
        drop(held);
        // What is free is had all the same.
        stopping.lock("image", &mut || {}).expect("it is free");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_no_half() {
        let folder = tempfile::tempdir().expect("a folder");
        // No file takes the place of a folder.
        fs::create_dir(folder.path().join("account.json")).expect("made");
        let error = write_private(&folder.path().join("account.json"), b"{}");
        assert!(
            error
                .expect_err("there is a folder")
                .has::<std::io::Error>()
        );
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn a_folder_that_anybody_may_have_planted_is_no_cache() {
        let (open, closed) = (0o041_777, 0o040_755);
        for (owner, above, me, planted) in [
            (1001, open, 1000, true),
            (1001, open, 0, true),
            (1000, open, 1000, false),
            (0, open, 1000, false),
            // Whoever let others write there did so on purpose.
            (1001, closed, 0, false),
            (1001, closed, 1000, false),
        ] {
            assert_eq!(is_planted(owner, above, me), planted, "{owner} {me}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (place, cache) = (folder.path().join("open"), folder.path().join("open/cache"));
        fs::create_dir_all(&cache).expect("made");
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&place, everybody).expect("ours");
        Cache::at(&cache).expect("ours");
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&cache, Some(65_534), None).expect("root may");
            let error = Cache::at(&cache).expect_err("somebody else's");
            let told = error.explain().to_string();
            assert!(
                told.contains("belongs to another user") && told.contains("remedy"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_server_that_a_runner_left_behind_ends_with_its_folder() {
        use std::os::unix::process::ExitStatusExt;

        use crate::process::waiting_shell::waiting_shell;

        let temporary = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&temporary.path().join("cache")).expect("a cache");
        let work = cache.work().expect("a folder");
        let left = work.join("suite-999999-00000000");
        let held = cache.work_folder("suite").expect("a folder");
        fs::create_dir(&left).expect("made");
        fs::write(work.join("suite-999999-00000000.lock"), "").expect("written");
        let program = temporary.path().join("mysqld");
        let start = |folder: &Path| waiting_shell(&program, &folder.join("var"));
        let (mut orphan, mut other) = (start(&left), start(held.path()));
        assert_eq!(sweep_left(&work), 1);
        assert!(!left.exists() && held.path().exists());
        assert!(other.try_wait().expect("its state").is_none());
        drop(other.stdin.take());
        other.wait().expect("its end");
        // It would wait for the line for ever.
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while orphan.try_wait().expect("its state").is_none() {
            if std::time::Instant::now() > deadline {
                orphan.kill().expect("ours");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(std::time::Instant::now() < deadline, "it went on");
        assert_eq!(orphan.wait().expect("its end").signal(), Some(9));
    }

    #[test]
    fn a_work_folder_goes_with_its_owner_and_not_before() {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(temporary.path()).expect("a cache");
        let folder = cache.work_folder("clone").expect("a folder");
        let path = folder.path().to_path_buf();
        let work = cache.work().expect("a folder");
        assert_eq!(sweep_left(&work), 0);
        assert!(path.is_dir(), "its owner lives");
        drop(folder);
        assert_eq!(fs::read_dir(work).expect("readable").count(), 0);
    }
}
