//! Slurm's face: a job array of workers, one `squeue` for all of them, `scancel`; and what their states mean in plain words.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use niagara_error::Remedy as _;
use niagara_model::JobEnd;

/// What is asked of Slurm.
#[derive(Debug, Clone, Default)]
pub struct SlurmOptions {
    /// Partition; none is Slurm's default.
    pub partition: Option<String>,
    /// Nodes to be held at the same time.
    pub nodes: u32,
    /// Features that a node must have.
    pub constraint: Option<String>,
    /// Time limit of a job, minutes.
    pub minutes: u32,
    /// Further options of `sbatch`, as they are.
    pub options: Vec<String>,
    /// The program that a task runs.
    pub program: Program,
}

/// Days after which a program is removed from a node's disk that no worker was started from. One that still runs goes on: its file
/// is there until it ends.
const KEPT_DAYS: u32 = 7;

/// The program of a worker.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Where all nodes see it.
    pub shared: PathBuf,
    /// Where it is copied to on a node's own disk: what runs there is not read over the network. Its name is `niagara-` and 16
    /// hexadecimal digits; others so named beside it are removed after a week without a start.
    pub local: PathBuf,
    /// Its arguments behind `fleet worker FOLDER`.
    pub arguments: Vec<String>,
}

impl Program {
    /// Shell lines that copy it to the node's disk, or take the shared one where that cannot be, and become the worker of
    /// `folder` of this name (as a shell takes it). What lies below a folder of somebody else's than root's is not started: in
    /// `/var/tmp` anybody may have made it.
    fn script(&self, folder: &Path, name: &str) -> String {
        let words: Vec<String> = self.arguments.iter().map(|word| quoted(word)).collect();
        let (shared, local) = (path(&self.shared), path(&self.local));
        let place = self.local.parent().unwrap_or(Path::new("/"));
        let above = path(place.parent().unwrap_or(Path::new("/")));
        let place = path(place);
        // Torn copies, too.
        let programs = format!("niagara-{}*", "[0-9a-f]".repeat(16));
        format!(
            "#!/bin/sh\n\
             program={local}\n\
             mkdir -p {place} 2>/dev/null\n\
             ours=; [ -O {place} ] && {{ [ -O {above} ] || [ \"$(find -H {above} -maxdepth 0 -user 0)\" ]; }} && ours=yes\n\
             if [ \"$ours\" ]; then\n\
             touch -c \"$program\" 2>/dev/null\n\
             find {place} -maxdepth 1 -type f -name '{programs}' -mtime +{KEPT_DAYS} -delete 2>/dev/null\n\
             [ -x \"$program\" ] || {{ cp {shared} \"$program.$$\" && mv \"$program.$$\" \"$program\"; }}\n\
             fi\n\
             [ \"$ours\" ] && [ -O \"$program\" ] && [ -x \"$program\" ] || program={shared}\n\
             exec \"$program\" fleet worker {} --name {name} {}\n",
            path(folder),
            words.join(" ")
        )
    }
}

fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A task of an array as `squeue` knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// `4711_2`.
    pub name: String,
    /// `RUNNING`, `PENDING`, …
    pub state: String,
    /// Why it waits, or `None`.
    pub reason: String,
    /// Where it runs; empty while it waits.
    pub node: String,
}

impl Task {
    /// How it ended, where its state says so.
    pub fn end(&self) -> Option<JobEnd> {
        job_end(&self.state, &self.reason)
    }

    /// Whether it holds a node or will.
    pub fn is_alive(&self) -> bool {
        [
            "RUNNING",
            "PENDING",
            "CONFIGURING",
            "SUSPENDED",
            "REQUEUED",
            "REQUEUE_HOLD",
            "RESIZING",
            // A job that is requeued is that before it is pending again: nothing is to be asked for in its place.
            "COMPLETING",
        ]
        .contains(&self.state.as_str())
    }
}

/// The arguments of `sbatch` for this many workers, except the script.
pub fn sbatch_arguments(
    options: &SlurmOptions,
    name: &str,
    folder: &Path,
    tasks: u32,
    without: &[&str],
) -> Vec<String> {
    let mut arguments = vec![
        "--parsable".to_owned(),
        format!("--job-name={name}"),
        format!("--array=1-{tasks}"),
        "--nodes=1".to_owned(),
        "--ntasks=1".to_owned(),
        // A whole node; --exclusive alone leaves its memory to the default of the partition.
        "--exclusive".to_owned(),
        "--mem=0".to_owned(),
        // A job that Slurm starts again runs beside what is left of it: fresh jobs replace it.
        "--no-requeue".to_owned(),
        "--propagate=NONE".to_owned(),
        "--open-mode=append".to_owned(),
        // Some warning before the limit: as much as makes sense.
        format!("--signal=B:USR1@{}", (15 * options.minutes).min(120)),
        format!("--time={}", options.minutes),
        format!("--output={}/slurm-%A_%a.log", folder.display()),
        format!("--chdir={}", folder.display()),
    ];
    let mut add = |option: &str, value: &Option<String>| {
        if let Some(value) = value {
            arguments.push(format!("--{option}={value}"));
        }
    };
    add("partition", &options.partition);
    add("constraint", &options.constraint);
    if !without.is_empty() {
        arguments.push(format!("--exclude={}", without.join(",")));
    }
    arguments.extend(options.options.iter().cloned());
    arguments
}

/// A worker's name, as a shell in a task of an array takes it. The script becomes the worker, so that Slurm's signals reach it.
const NAME: &str = "\"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\"";

/// A cluster that takes jobs.
#[derive(Debug)]
pub struct Slurm {
    /// What is asked of it.
    pub options: SlurmOptions,
    /// The name of the jobs: all tasks of one study have it.
    name: String,
    folder: PathBuf,
}

impl Slurm {
    /// For jobs called `name` whose output goes to `folder`.
    ///
    /// # Errors
    /// There is no Slurm here.
    pub fn new(options: SlurmOptions, name: &str, folder: &Path) -> Result<Self> {
        let slurm = Self {
            options,
            name: name.to_owned(),
            folder: folder.to_owned(),
        };
        slurm
            .queue()
            .context("Slurm does not answer")
            .remedy("run this on a host where `squeue` and `sbatch` work, or use --on local")?;
        Ok(slurm)
    }

    /// Asks for `tasks` more nodes; the array's number.
    ///
    /// # Errors
    /// Slurm refuses; its words are in the error.
    pub fn submit(&self, tasks: u32, without: &[&str]) -> Result<String> {
        let script = self.options.program.script(&self.folder, NAME);
        let script_file = self.folder.join("worker.sh");
        // A folder that is full meanwhile has it already.
        if std::fs::read(&script_file).ok().as_deref() != Some(script.as_bytes()) {
            crate::line::publish(&script_file, script.as_bytes())?;
        }
        let arguments = sbatch_arguments(&self.options, &self.name, &self.folder, tasks, without);
        let mut command = Command::new("sbatch");
        command.args(&arguments).arg(&script_file);
        let printed = output(&mut command)?;
        // JOB or JOB;CLUSTER.
        let job = printed.trim().split(';').next().unwrap_or_default();
        if job.is_empty() || !job.bytes().all(|byte| byte.is_ascii_digit()) {
            bail!(
                "`sbatch` said `{}`, which is not a job number",
                printed.trim()
            );
        }
        Ok(job.to_owned())
    }

    /// The tasks that Slurm knows of.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn queue(&self) -> Result<Vec<Task>> {
        let mut command = Command::new("squeue");
        command.args([
            "--noheader",
            "--array",
            "--states=all",
            &format!("--name={}", self.name),
            "--format=%i|%T|%r|%N",
        ]);
        Ok(parse_queue(&output(&mut command)?))
    }

    /// Ends tasks (or whole arrays).
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn cancel(&self, jobs: &[String]) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        // A cluster whose numbers began anew may have given one of these to another job of this user's.
        let name = format!("--name={}", self.name);
        output(Command::new("scancel").args(["--quiet", &name]).args(jobs)).map(|_| ())
    }
}

/// Seconds that this job has left and has run, where this process is one of Slurm's and it answers.
pub fn own_times() -> Option<(f64, f64)> {
    let job = own_job(|name| std::env::var(name).ok())?;
    let printed = output(Command::new("squeue").args([
        "--noheader",
        "--format=%L|%M",
        &format!("--jobs={job}"),
    ]));
    let printed = printed.ok()?;
    let (left, used) = printed.trim().split_once('|')?;
    Some((parse_time(left).unwrap_or(f64::INFINITY), parse_time(used)?))
}

/// What `squeue` knows this process's job by. One task of an array has the array's number, by which all of them would be meant.
fn own_job(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let array = variable("SLURM_ARRAY_JOB_ID").zip(variable("SLURM_ARRAY_TASK_ID"));
    match array {
        Some((job, task)) => Some(format!("{job}_{task}")),
        None => variable("SLURM_JOB_ID"),
    }
}

/// Seconds of Slurm's `DAYS-HOURS:MINUTES:SECONDS`, days and hours left out where there are none.
pub fn parse_time(text: &str) -> Option<f64> {
    let (days, rest) = match text.trim().split_once('-') {
        Some((days, rest)) => (days.parse::<f64>().ok()?, rest),
        None => (0.0, text.trim()),
    };
    let mut seconds = 0.0;
    for part in rest.split(':') {
        seconds = 60.0 * seconds + part.parse::<f64>().ok()?;
    }
    Some(seconds + 86_400.0 * days)
}

/// The tasks in what `squeue` printed, one a line.
pub fn parse_queue(printed: &str) -> Vec<Task> {
    let task = |line: &str| {
        let mut parts = line.trim().split('|').map(str::to_owned);
        Some(Task {
            name: parts.next().filter(|name| !name.is_empty())?,
            state: parts.next()?,
            reason: parts.next()?,
            node: parts.next().unwrap_or_default(),
        })
    };
    printed.lines().filter_map(task).collect()
}

/// What a state and its reason mean, for somebody who does not know Slurm; `None` where nothing is to be told.
fn in_words(state: &str, reason: &str) -> Option<String> {
    let waits = |why: &str| Some(format!("waiting in the queue: {why}"));
    match (state, reason) {
        ("PENDING", "Resources") => waits("no node is free yet"),
        ("PENDING", "Priority") => waits("other jobs come first"),
        ("PENDING", "Dependency") => waits("for another job that was named with --sbatch"),
        ("PENDING", "Reservation" | "ReservationNotUsable") => {
            waits("the nodes are reserved for somebody else")
        }
        ("PENDING", "PartitionTimeLimit") => {
            waits("the partition allows no jobs that long: give a shorter --job-time")
        }
        ("PENDING", "PartitionNodeLimit") => waits(
            "the partition gives no single node, or has none that is up: name another one, --on slurm:PARTITION",
        ),
        ("PENDING", "PartitionDown" | "PartitionInactive") => {
            waits("the partition takes no jobs now")
        }
        ("PENDING", "BeginTime") => {
            waits("Slurm begins it at a later time, as it does for two minutes after a requeue")
        }
        ("PENDING", "BadConstraints") => {
            waits("no node has what was asked for: look at --constraint and --sbatch")
        }
        ("PENDING", "None" | "") => None,
        ("PENDING", reason)
            if reason.contains("DOWN")
                || reason.contains("DRAINED")
                || reason.contains("NotAvail") =>
        {
            waits("the nodes that could run it are down or drained by an administrator")
        }
        ("PENDING", reason) if reason.starts_with("QOS") || reason.starts_with("Assoc") => {
            waits(&format!("a limit of your account is reached ({reason})"))
        }
        ("PENDING", reason) => waits(reason),
        ("SUSPENDED", _) => Some("suspended by Slurm".to_owned()),
        _ => job_end(state, reason).map(|end| end.to_string()),
    }
}

/// How a job ended, where its state says so.
fn job_end(state: &str, reason: &str) -> Option<JobEnd> {
    Some(match state {
        "PREEMPTED" => JobEnd::Preempted,
        "TIMEOUT" => JobEnd::TimeLimit,
        "NODE_FAIL" => JobEnd::NodeFailed,
        "OUT_OF_MEMORY" => JobEnd::OutOfMemory,
        "CANCELLED" => JobEnd::Cancelled,
        "FAILED" => JobEnd::Failed {
            reason: reason.to_owned(),
        },
        _ => return None,
    })
}

/// The words for a whole queue, equal ones together: `2 nodes: waiting in the queue: no node is free yet`.
pub fn queue_in_words(tasks: &[Task]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for task in tasks {
        if let Some(words) = in_words(&task.state, &task.reason) {
            *counts.entry(words).or_default() += 1;
        }
    }
    let nodes = |count: usize| if count == 1 { "node" } else { "nodes" };
    let told = counts.into_iter();
    told.map(|(words, count)| format!("{count} {}: {words}", nodes(count)))
        .collect()
}

/// What a user's environment leaves out of every `squeue` and `scancel` (`SQUEUE_PARTITION`, `SCANCEL_USER`, …): a worker that is not
/// shown would be taken for one that has ended, and replaced again and again. What `sbatch` is told by it is meant.
const FILTERS: [&str; 20] = [
    "SQUEUE_ACCOUNT",
    "SQUEUE_ALL",
    "SQUEUE_FEDERATION",
    "SQUEUE_FORMAT",
    "SQUEUE_FORMAT2",
    "SQUEUE_LICENSES",
    "SQUEUE_LOCAL",
    "SQUEUE_NAMES",
    "SQUEUE_PARTITION",
    "SQUEUE_PRIORITY",
    "SQUEUE_QOS",
    "SQUEUE_SIBLING",
    "SQUEUE_STATES",
    "SQUEUE_USERS",
    "SCANCEL_ACCOUNT",
    "SCANCEL_INTERACTIVE",
    "SCANCEL_NAME",
    "SCANCEL_PARTITION",
    "SCANCEL_STATE",
    "SCANCEL_USER",
];

fn forget_filters(command: &mut Command) {
    for variable in FILTERS {
        command.env_remove(variable);
    }
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    forget_filters(command);
    let output = command
        .stdin(std::process::Stdio::null())
        // A Ctrl-C is meant for the study: `sbatch` is to say what it has just submitted.
        .process_group(0)
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{program}` failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_as_slurm_writes_them() {
        for (text, seconds) in [
            ("59:58", 3598.0),
            ("1:00:00", 3600.0),
            ("2-03:00:01", 183_601.0),
            ("0:07", 7.0),
        ] {
            assert_eq!(parse_time(text), Some(seconds), "{text}");
        }
        for none in ["UNLIMITED", "INVALID", "", "1:x"] {
            assert_eq!(parse_time(none), None, "{none}");
        }
    }

    /// A user who always wants to see one partition alone has that in the environment.
    #[test]
    fn the_users_filters_hide_no_worker() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo \"$SQUEUE_PARTITION$SCANCEL_STATE-$SBATCH_ACCOUNT\"",
        ]);
        for (variable, value) in [
            ("SQUEUE_PARTITION", "debug"),
            ("SCANCEL_STATE", "PENDING"),
            ("SBATCH_ACCOUNT", "db"),
        ] {
            command.env(variable, value);
        }
        assert_eq!(output(&mut command).expect("it runs").trim(), "-db");
    }

    #[test]
    fn a_task_of_an_array_asks_for_itself_alone() {
        let task = [
            ("SLURM_JOB_ID", "12"),
            ("SLURM_ARRAY_JOB_ID", "12"),
            ("SLURM_ARRAY_TASK_ID", "4"),
        ];
        let asked = |variables: &[(&str, &str)]| {
            own_job(|name| {
                let mut found = variables.iter();
                let found = found.find(|(its, _)| *its == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(asked(&task).as_deref(), Some("12_4"));
        assert_eq!(asked(&task[..1]).as_deref(), Some("12"));
        assert_eq!(asked(&[]), None);
    }

    /// As Slurm 22.05 prints it.
    #[test]
    fn a_queue_is_read_and_told_in_plain_words() {
        let printed = "12_1|RUNNING|None|n3\n12_2|PENDING|Resources|\n12_3|PENDING|Resources|\n\
            13_1|PENDING|ReqNodeNotAvail, UnavailableNodes:n[1-2]|\n11_1|NODE_FAIL|None|n4\n13_2|PENDING|BeginTime|\n13_3|COMPLETING|None|n2\n\n";
        let tasks = parse_queue(printed);
        assert_eq!(tasks.len(), 7);
        assert_eq!(
            tasks[0],
            Task {
                name: "12_1".into(),
                state: "RUNNING".into(),
                reason: "None".into(),
                node: "n3".into()
            }
        );
        let alive: Vec<bool> = tasks.iter().map(Task::is_alive).collect();
        assert_eq!(alive, [true, true, true, true, false, true, true]);
        assert_eq!(
            queue_in_words(&tasks),
            [
                "1 node: its node failed",
                "1 node: waiting in the queue: Slurm begins it at a later time, as it does for two minutes after a requeue",
                "2 nodes: waiting in the queue: no node is free yet",
                "1 node: waiting in the queue: the nodes that could run it are down or drained by an administrator",
            ]
        );
    }

    #[test]
    fn whole_nodes_without_requeue_are_asked_for() {
        let options = SlurmOptions {
            partition: Some("long".into()),
            nodes: 4,
            constraint: Some("skylake".into()),
            minutes: 120,
            options: vec!["--account=db".into()],
            program: Program {
                shared: "/shared/bin/niagara-1".into(),
                local: "/disk/bin/niagara-1".into(),
                arguments: vec!["--node-dir".into(), "/it's here".into()],
            },
        };
        let arguments = sbatch_arguments(&options, "niagara-1", Path::new("/f"), 3, &["n2", "n4"]);
        for wanted in [
            "--array=1-3",
            "--exclusive",
            "--mem=0",
            "--no-requeue",
            "--propagate=NONE",
            "--signal=B:USR1@120",
            "--time=120",
            "--partition=long",
            "--constraint=skylake",
            "--exclude=n2,n4",
        ] {
            assert!(arguments.iter().any(|word| word == wanted), "{wanted}");
        }
        // What the user says has the last word.
        assert_eq!(arguments.last().map(String::as_str), Some("--account=db"));
        let script = options.program.script(Path::new("/f"), NAME);
        assert!(script.starts_with("#!/bin/sh\n"), "{script}");
        let last = r#"exec "$program" fleet worker '/f' --name "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" '--node-dir' '/it'\''s here'"#;
        assert_eq!(script.lines().last(), Some(last));
    }

    #[test]
    fn a_program_that_somebody_else_put_on_the_nodes_disk_is_not_started() {
        use std::os::unix::fs::{PermissionsExt, chown};
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: to give folders to somebody else takes root");
            return;
        }
        for given_away in ["", "bin", "bin/niagara-0123456789abcdef"] {
            let place = tempfile::tempdir().expect("a temporary folder");
            let node_dir = place.path().join("niagara-1000");
            let make = |file: PathBuf, says: &str| {
                let folder = file.parent().expect("a folder");
                std::fs::create_dir_all(folder).expect("made");
                std::fs::write(&file, format!("#!/bin/sh\necho {says}\n")).expect("room");
                std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("ours");
                file
            };
            let program = Program {
                shared: make(place.path().join("shared"), "ours"),
                local: make(node_dir.join("bin/niagara-0123456789abcdef"), "theirs"),
                arguments: Vec::new(),
            };
            chown(node_dir.join(given_away), Some(65_534), None).expect("root may");
            let script = program.script(Path::new("/f"), "w1");
            let said = output(Command::new("sh").args(["-c", &script])).expect("it runs");
            assert_eq!(said.trim(), "ours", "{given_away}");
        }
    }

    #[test]
    fn a_worker_runs_on_the_nodes_disk_and_removes_programs_that_nobody_starts_any_more() {
        use std::os::unix::fs::PermissionsExt;
        use std::time::SystemTime;
        let place = tempfile::tempdir().expect("a temporary folder");
        let age = |file: &Path, days: u32| {
            let at = SystemTime::now() - Duration::from_secs(u64::from(days) * 86_400 + 3600);
            let file = std::fs::File::open(file).expect("there");
            file.set_modified(at).expect("ours");
        };
        let make = |name: &str, days: u32| {
            let file = place.path().join(name);
            std::fs::write(&file, "#!/bin/sh\necho \"$0 $*\"\n").expect("room");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("ours");
            age(&file, days);
            file
        };
        let old = KEPT_DAYS + 1;
        let local = place.path().join("niagara-0123456789abcdef");
        let gone = [
            make("niagara-00000000000000aa", old),
            make("niagara-00000000000000bb.4711", old),
        ];
        let kept = [
            make("niagara-00000000000000cc", 1),
            make("niagara-of-somebody-else", old),
        ];
        let shared = make("shared", old);
        // Copied by the first start, started again after a long while by the second.
        for copied in [false, true] {
            let program = Program {
                shared: shared.clone(),
                local: local.clone(),
                arguments: Vec::new(),
            };
            if copied {
                age(&local, old);
            }
            let script = program.script(Path::new("/f"), "w1");
            let said = output(Command::new("sh").args(["-c", &script])).expect("it runs");
            let began = local.display();
            assert_eq!(said.trim(), format!("{began} fleet worker /f --name w1"));
        }
        assert!(gone.iter().all(|file| !file.exists()));
        assert!(kept.iter().all(|file| file.exists()));
    }
}
