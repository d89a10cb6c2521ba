//! Recorded duels, to be played back, and what a study of them comes to when nothing happens to it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use niagara_store::Store;

use crate::common::{Place, run};
use crate::{Verdict, compare, shared, verdict, wait_for_study, worker};

/// Duels of a study to the end: the last look of the standard plan.
pub(crate) const DUELS: u32 = 44;

/// Duels that real servers fought, and what a study of [`DUELS`] of them comes to.
pub(crate) struct Recording {
    results: Vec<u8>,
    /// What one took, on average.
    seconds: f64,
    /// Of a study that one worker ran, from the first duel to the last.
    pub undisturbed: Verdict,
}

/// The recording that all tests play back.
pub(crate) fn recording() -> &'static Recording {
    static RECORDING: OnceLock<Recording> = OnceLock::new();
    RECORDING.get_or_init(|| {
        let place = Place::new();
        let (code, _, stderr) = run(&mut place.small_compare());
        assert_eq!(code, Some(0), "{stderr}");
        let file = place.out().join("results.db");
        let duels = Store::open_read_only(&file).and_then(|store| store.duels());
        let duels = duels.expect("results");
        let seconds: f64 = duels.iter().map(|duel| duel.wall_seconds).sum();
        let mut recording = Recording {
            results: std::fs::read(&file).expect("just written"),
            seconds: seconds / duels.len() as f64,
            undisturbed: Verdict::default(),
        };
        recording.undisturbed = recording.by_one_worker();
        recording
    })
}

impl Recording {
    /// Arguments of a worker of this place that plays it back, a duel in about `seconds`.
    pub(crate) fn worker_arguments(&self, place: &Place, seconds: f64) -> Vec<String> {
        let file: PathBuf = place.folder.path().join("recorded.db");
        std::fs::write(&file, &self.results).expect("room");
        [
            "--replay",
            &file.display().to_string(),
            "--replay-speed",
            &(self.seconds / seconds).to_string(),
        ]
        .map(str::to_owned)
        .into()
    }

    fn by_one_worker(&self) -> Verdict {
        let place = Place::new();
        let head = compare(&place, DUELS, &["--on", "folder", "--nodes", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let folder = wait_for_study(&shared(&place));
        let mut worker = self.worker(&place, &folder, "w1", 0.1, &[]);
        let output = head.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        worker.wait().expect("it ends");
        verdict(&place)
    }

    /// A worker of this place that plays it back, a duel in about `seconds`.
    pub(crate) fn worker(
        &self,
        place: &Place,
        folder: &Path,
        name: &str,
        seconds: f64,
        more: &[&str],
    ) -> std::process::Child {
        let words = self.worker_arguments(place, seconds);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.extend(more);
        worker(place, folder, name, &words)
    }
}
