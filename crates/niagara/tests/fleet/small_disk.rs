//! A shared folder without room, on a small file system of its own: what is too large for it is packed later.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Place, wait_until};
use crate::logs::check_once;
use crate::replayed::{DUELS, recording};
use crate::{check_seconds, compare, shared, verdict, wait_for_study};

/// A small file system of its own, for as long as this is there.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Of this size (`900m`), in memory; none, which is told, where it cannot be had.
    pub(crate) fn at(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).expect("made");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder)
            .status();
        let is_mounted = mounted.is_ok_and(|status| status.success());
        if !is_mounted {
            eprintln!("NOT RUN: a file system of its own cannot be mounted here");
        }
        is_mounted.then(|| Self(folder.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Writes a file until only so many bytes more can be written.
pub(crate) fn fill(file: &Path, left: u64) {
    let _ = Command::new("dd")
        .args(["if=/dev/zero", "bs=4k", &format!("of={}", file.display())])
        .stderr(Stdio::null())
        .status();
    let file = File::options().write(true).open(file).expect("written");
    let length = file.metadata().expect("there").len();
    file.set_len(length.saturating_sub(left)).expect("ours");
}

#[test]
#[ignore = "a file system of 900 MB in memory: make test-fleet"]
fn servers_and_data_are_packed_once_the_shared_folder_has_room_for_them() {
    let place = Place::new();
    let folder = shared(&place);
    let Some(mounted) = Mounted::at(&folder, "900m") else {
        return;
    };
    // Logs and orders have room, no server has.
    let filler = folder.join("filler");
    fill(&filler, 4 << 20);
    // A file: it is read while the head writes it.
    let said = place.folder.path().join("said");
    let head = compare(&place, DUELS, &["--on", "folder", "--nodes", "1"])
        .stdout(Stdio::piped())
        .stderr(File::create(&said).expect("room"))
        .spawn()
        .expect("it starts");
    let study = wait_for_study(&folder);
    let mut worker = recording().worker(&place, &study, "w1", 0.1, &[]);
    let told = |text: &str| fs::read_to_string(&said).is_ok_and(|said| said.contains(text));
    wait_until("word of the full folder", Duration::from_secs(60), || {
        told("MB are free: trying again")
    });
    let packed = fs::read_dir(study.join("content")).expect("made by the head");
    assert_eq!(packed.count(), 0, "what does not fit is not begun");
    fs::remove_file(&filler).expect("there");
    let output = head.wait_with_output().expect("it ends");
    let stderr = fs::read_to_string(&said).expect("text");
    assert!(output.status.success(), "{stderr}");
    assert!(told("has room again"), "{stderr}");
    worker.wait().expect("it ends");
    assert_eq!(verdict(&place), recording().undisturbed);
    check_once(&place, &study);
    check_seconds(&place, &String::from_utf8_lossy(&output.stdout));
    // Before its place is removed.
    drop(mounted);
}
