//! What a running server has on disk: run folder, socket, log.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::Result;

use crate::cache::{WorkFolder, create_private, place_in_tmp, private_place};

/// `sun_path` holds 108 bytes, the last of them zero.
const SOCKET_PATH_LIMIT: usize = 107;

/// Everything of a server that is on disk.
#[derive(Debug)]
pub(crate) struct Files {
    pub run: WorkFolder,
    pub socket_folder: SocketFolder,
    pub datadir: PathBuf,
}

impl Files {
    pub fn log(&self) -> PathBuf {
        self.run.path().join("server.log")
    }

    pub fn socket(&self) -> PathBuf {
        self.socket_folder.path.join("s")
    }
}

/// A folder of mode 0700 whose path is short enough for a socket.
#[derive(Debug)]
pub(crate) struct SocketFolder {
    pub path: PathBuf,
    own: bool,
}

impl SocketFolder {
    /// The run folder where its path is short enough, else a folder of its own.
    pub(super) fn new(run: &WorkFolder) -> Result<SocketFolder> {
        if run.path().join("s").as_os_str().len() <= SOCKET_PATH_LIMIT {
            return Ok(SocketFolder {
                path: run.path().to_path_buf(),
                own: false,
            });
        }
        let user = nix::unistd::geteuid();
        let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        // After `su` or `sudo -E` it may be another user's.
        let is_ours = |folder: &PathBuf| {
            let owner = fs::metadata(folder).map(|metadata| metadata.uid());
            folder.is_absolute()
                && folder.as_os_str().len() < 60
                && owner.is_ok_and(|owner| owner == user.as_raw())
        };
        let base = match named.filter(is_ours) {
            Some(folder) => private_place(folder.join("niagara"))?,
            None => private_place(place_in_tmp())?,
        };
        let path = base.join(format!("{:08x}", rand::random::<u32>()));
        create_private(&path)?;
        Ok(SocketFolder { path, own: true })
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        if self.own {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
