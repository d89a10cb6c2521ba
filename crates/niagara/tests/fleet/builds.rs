//! Servers that workers build: a tree that compiles in no time, sent to a worker with a disk of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Place, wait_until};
use crate::logs::worker_lines;
use crate::small_disk::{Mounted, fill};
use crate::wait_for_study;

const TREE: [(&str, &str); 4] = [
    (
        "VERSION",
        include_str!("../../../niagara-build/tests/tiny_tree/VERSION"),
    ),
    (
        "CMakeLists.txt",
        include_str!("../../../niagara-build/tests/tiny_tree/CMakeLists.txt"),
    ),
    (
        "main.c",
        include_str!("../../../niagara-build/tests/tiny_tree/main.c"),
    ),
    (
        "work.c",
        include_str!("../../../niagara-build/tests/tiny_tree/work.c"),
    ),
];

const DESCRIPTION: &str = include_str!("../../../niagara-build/tests/tiny_tree/tiny.toml");

struct Yard {
    place: Place,
}

impl Yard {
    fn new() -> Self {
        let yard = Self {
            place: Place::new(),
        };
        for part in [yard.servers(), yard.tree()] {
            fs::create_dir(part).expect("made");
        }
        let description = format!("{DESCRIPTION}YARD = \"{}\"\n", yard.root().display());
        fs::write(yard.servers().join("tiny.toml"), description).expect("written");
        for (name, text) in TREE {
            fs::write(yard.tree().join(name), text).expect("written");
        }
        fs::write(yard.root().join("go"), "").expect("written");
        yard
    }

    fn root(&self) -> &Path {
        self.place.folder.path()
    }

    fn servers(&self) -> PathBuf {
        self.root().join("servers")
    }

    fn tree(&self) -> PathBuf {
        self.root().join("tree")
    }

    fn head_disk(&self) -> PathBuf {
        self.root().join("disk-of-head")
    }

    /// The command that has the tree built by workers.
    fn build(&self) -> Command {
        let mut command = self.place.niagara(&["server", "--servers"]);
        command
            .arg(self.servers())
            .args(["build", "tiny", "--source"]);
        command
            .arg(self.tree())
            .args(["--on", "folder", "--nodes", "2", "--shared"]);
        command
            .arg(self.shared())
            .arg("--node-dir")
            .arg(self.head_disk());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn shared(&self) -> PathBuf {
        self.root().join("shared")
    }

    /// Runs it with one worker, whose disk is its own.
    fn built_by_a_worker(&self) -> Output {
        let head = self.build().spawn().expect("it starts");
        let folder = wait_for_study(&self.shared());
        let worker = self.worker(&folder);
        ended(head, worker)
    }

    fn worker(&self, folder: &Path) -> Child {
        let worker = self
            .place
            .niagara(&["fleet", "worker"])
            .arg(folder)
            .args([
                "--name",
                "w2",
                "--node",
                "n2",
                "--beat",
                "500ms",
                "--node-dir",
            ])
            .arg(self.root().join("disk-of-node"))
            .arg("--servers")
            .arg(self.servers())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        worker.expect("it starts")
    }
}

/// What the head printed, once both have ended.
fn ended(head: Child, mut worker: Child) -> Output {
    let output = head.wait_with_output().expect("it ends");
    wait_until("end of the worker", Duration::from_secs(30), || {
        worker.try_wait().expect("a child").is_some()
    });
    output
}

/// Binaries that stand in the store of this disk.
fn built_in(disk: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(disk.join("builds"))
        .into_iter()
        .flatten()
        .flatten();
    let servers = entries.map(|entry| entry.path().join("prefix/usr/sbin/mariadbd"));
    servers.filter(|server| server.exists()).collect()
}

#[test]
fn a_worker_builds_a_server_and_it_comes_into_the_store_of_the_head() {
    let yard = Yard::new();
    let output = yard.built_by_a_worker();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(stdout.contains("was built on n2"), "{stdout}{stderr}");
    for disk in ["disk-of-node", "disk-of-head"] {
        let servers = built_in(&yard.root().join(disk));
        let [server] = servers.as_slice() else {
            panic!("{disk}: {servers:?}");
        };
        let version = Command::new(server).output().expect("it runs").stdout;
        assert!(said(&version).contains("10.11.99-MariaDB"), "{disk}");
    }
    // Nothing is left where it was carried, and nothing is asked of nodes for what is there.
    let shared = fs::read_dir(yard.shared()).expect("a folder");
    assert_eq!(shared.count(), 0);
    let again = yard.build().output().expect("it runs");
    assert!(
        said(&again.stdout).contains("was there already"),
        "{again:?}"
    );
}

#[test]
fn a_build_comes_once_the_shared_folder_has_room_for_it() {
    let yard = Yard::new();
    let Some(mounted) = Mounted::at(&yard.shared(), "8m") else {
        return;
    };
    // Room for logs, for no build beside them.
    let filler = yard.shared().join("filler");
    fill(&filler, 600_000);
    let head = yard.build().spawn().expect("it starts");
    let folder = wait_for_study(&yard.shared());
    let worker = yard.worker(&folder);
    wait_until("a build without room", Duration::from_secs(240), || {
        let lines = worker_lines(&folder, "w2.0");
        lines.iter().any(|line| line["what"] == "notice")
    });
    let packed = fs::read_dir(folder.join("content")).expect("made by the head");
    assert_eq!(packed.count(), 0);
    fs::remove_file(&filler).expect("there");
    let output = ended(head, worker);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(stdout.contains("was built on n2"), "{stdout}{stderr}");
    let told = format!("{stdout}{stderr}");
    for word in ["n2: cannot pack", "trying again", "has room again"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert_eq!(built_in(&yard.head_disk()).len(), 1);
    // Before its place is removed.
    drop(mounted);
}

#[test]
fn a_tree_that_does_not_compile_is_told_with_the_node_that_says_so() {
    let yard = Yard::new();
    fs::write(
        yard.tree().join("work.c"),
        "long work(long rounds) { return rouns; }\n",
    )
    .expect("written");
    let output = yard.built_by_a_worker();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("it cannot be built on n2"), "{stderr}");
    assert!(stderr.contains("rouns"), "{stderr}");
    assert!(built_in(&yard.head_disk()).is_empty());
}
