//! What Slurm says: workers that are to come, that have gone, that have to be replaced.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use niagara_error::problem;
use niagara_model::{JobEnd, NodeReason};

use crate::message::{HeadLine, name_of};
use crate::office::{Coordinator, STOP_TIMEOUT};
use crate::slurm::{Task, queue_in_words};
use crate::submissions::MAX_FRUITLESS;
use crate::watch::Watch;

/// How long a job may run before its worker's first line is missed.
const UNSEEN: Duration = Duration::from_secs(150);
/// How long a worker may be silent before its job is ended and replaced: it hangs, or is stopped.
const HUNG: Duration = Duration::from_secs(300);
/// States of a job that the node, or what runs on it, is to blame for.
const FAILED: [&str; 4] = ["NODE_FAIL", "FAILED", "OUT_OF_MEMORY", "BOOT_FAIL"];
impl Coordinator {
    /// What Slurm says: workers that are to come, that have gone, that have to be replaced.
    pub(crate) fn tend_queue(&mut self) -> anyhow::Result<()> {
        let Some(queue) = self.queue.clone() else {
            return Ok(());
        };
        if let Some((job, tasks)) = queue.submitted() {
            self.own_jobs.insert(job.clone());
            self.write(HeadLine::Submitted { job, tasks })?;
            return Ok(());
        }
        if let Some(refused) = queue.refused() {
            self.submissions.refused();
            self.notice(format!("Slurm took no job: {refused}"));
            if self.submissions.fruitless >= MAX_FRUITLESS {
                self.trouble = Some(format!("Slurm took no job: {refused}").into());
            }
        }
        if let Some(why) = queue.mute() {
            self.notice_once(format!(
                "Slurm does not say how its queue is; until it does, no worker is replaced: {why}"
            ));
        }
        let Some((asked, tasks)) = queue.tasks() else {
            return Ok(());
        };
        queue.hurry(self.desk.workers().count() < queue.nodes as usize);
        self.adopt(&tasks)?;
        let alive: Vec<Task> = tasks
            .iter()
            .filter(|task| task.is_alive())
            .cloned()
            .collect();
        for words in queue_in_words(&alive) {
            self.notice_once(words);
        }
        for task in &alive {
            match task.state.as_str() {
                "RUNNING" => self.runs(task),
                _ => {
                    self.running_since.remove(&task.name);
                }
            }
        }
        self.note_ended(&tasks)?;
        self.note_unheard(&tasks)?;
        // An answer from before the last submission knows nothing of it.
        let fresh = self.submissions.at.is_none_or(|at| asked > at);
        let wanted = queue.nodes.min(self.desk.open_duels() as u32);
        let hung: Vec<&Task> = alive.iter().filter(|task| self.hangs(task)).collect();
        for task in &hung {
            queue.cancel(&task.name);
        }
        let there = (alive.len() - hung.len()) as u32;
        let busy = self.ending || queue.is_submitting() || !fresh || !self.has_orders;
        if busy || there >= wanted {
            return Ok(());
        }
        self.replace(wanted - there)
    }

    /// Jobs of a head that was killed before it could write them down.
    fn adopt(&mut self, tasks: &[Task]) -> anyhow::Result<()> {
        let mut unknown: BTreeMap<String, u32> = BTreeMap::new();
        for task in tasks.iter().filter(|task| task.is_alive()) {
            let Some((job, number)) = task.name.split_once('_') else {
                continue;
            };
            if let (Ok(number), false) = (number.parse::<u32>(), self.jobs.contains_key(job)) {
                let most = unknown.entry(job.to_owned()).or_default();
                *most = number.max(*most);
            }
        }
        for (job, tasks) in unknown {
            self.write(HeadLine::Submitted { job, tasks })?;
        }
        Ok(())
    }

    /// A task runs: its worker is to be seen soon.
    fn runs(&mut self, task: &Task) {
        let since = self.running_since.entry(task.name.clone());
        let since = *since.or_insert_with(Instant::now);
        let since = since.max(self.deaf_until).elapsed();
        let mut workers = self.watches.keys();
        if since < UNSEEN || workers.any(|worker| name_of(worker).0 == task.name) {
            return;
        }
        let trouble = problem!(
            "job {} runs on {}, but nothing of its worker is seen in {}\n\
             cause: that folder is not the same on this host and on the node, or the program does not start there \
             (slurm-*.log in the folder, on the node, has its messages)",
            task.name,
            task.node,
            self.options.folder.display();
            remedy: "name a folder that all of them see with --shared"
        );
        self.trouble = Some(trouble.into());
    }

    /// Whether a job's worker has been silent for so long that another is asked for in its place. One that Slurm has begun again
    /// has as long for its first word.
    fn hangs(&self, task: &Task) -> bool {
        let since = self.running_since.get(&task.name);
        if task.state != "RUNNING" || since.is_none_or(|since| since.elapsed() < HUNG) {
            return false;
        }
        let workers = self.watches.iter();
        let of_it = workers.filter(|(worker, _)| name_of(worker).0 == task.name);
        // Of a worker that was started again the last one counts.
        let last = of_it.max_by_key(|(worker, _)| name_of(worker).1);
        last.is_some_and(|(_, watch)| {
            watch.silent && watch.heard.max(self.deaf_until).elapsed() > HUNG
        })
    }

    /// Workers whose job has ended without a word.
    fn note_ended(&mut self, tasks: &[Task]) -> anyhow::Result<()> {
        let workers: Vec<String> = self.desk.workers().map(str::to_owned).collect();
        for worker in workers {
            let name = name_of(&worker).0;
            if tasks
                .iter()
                .any(|task| task.name == name && task.is_alive())
            {
                self.not_alive_since.remove(&worker);
                continue;
            }
            let since = *self
                .not_alive_since
                .entry(worker.clone())
                .or_insert_with(Instant::now);
            // Its last words may be on their way.
            if since.elapsed() < STOP_TIMEOUT {
                continue;
            }
            let task = tasks.iter().find(|task| task.name == name);
            let state = task.map_or("COMPLETED", |task| task.state.as_str());
            let end = task.and_then(Task::end).unwrap_or(JobEnd::Ended);
            let why = NodeReason::JobEnded { end };
            let node = self.desk.node_of(&worker).to_owned();
            self.withdraw(&worker, &why)?;
            // Who fell silent has failed already, by the same cause.
            let silent = self.watches.get(&worker).is_some_and(|watch| watch.silent);
            let failed = FAILED.contains(&state);
            let told = failed && !silent;
            if told {
                self.failed(&node, &why)?;
            }
            let held = self.watches.get(&worker).map_or(0.0, Watch::held_until_now);
            self.write(HeadLine::Gone { worker, held })?;
            if !told {
                self.notice(format!("the worker on {node} has ended: {why}"));
            }
        }
        Ok(())
    }

    /// Jobs of this sitting that failed before their worker said anything: their node is to blame, and would be given again.
    fn note_unheard(&mut self, tasks: &[Task]) -> anyhow::Result<()> {
        for task in tasks
            .iter()
            .filter(|task| FAILED.contains(&task.state.as_str()))
        {
            let job = task.name.split_once('_').map_or("", |(job, _)| job);
            let mut workers = self.watches.keys();
            let is_heard = workers.any(|worker| name_of(worker).0 == task.name);
            let is_known = task.node.is_empty() || !self.own_jobs.contains(job);
            if is_heard || is_known || !self.unheard.insert(task.name.clone()) {
                continue;
            }
            let why = NodeReason::JobFailed {
                job: task.name.clone(),
            };
            self.failed(&task.node, &why)?;
        }
        Ok(())
    }

    /// Asks Slurm for workers in the place of those that have ended.
    fn replace(&mut self, missing: u32) -> anyhow::Result<()> {
        if self.submissions.pause() {
            return Ok(());
        }
        let mut workers = self.desk.workers();
        let others_work = workers.any(|worker| self.desk.is_open(worker));
        if !self.submissions.may_go_on(self.results, others_work) {
            let last = self.losses.last();
            let trouble = problem!(
                "workers were started {} times in a row and ended without a result\ncause: {}",
                self.submissions.fruitless,
                last.map_or("unknown".to_owned(), |loss| loss.reason.to_string());
                remedy: "the slurm-*.log in {} have their messages; the same command continues from here",
                self.options.folder.display()
            );
            self.trouble.get_or_insert(trouble.into());
            return Ok(());
        }
        let without = self.desk.nodes_aside().map(str::to_owned).collect();
        if let Some(queue) = &self.queue {
            queue.submit(missing, without);
        }
        self.submissions.submitted(self.results);
        Ok(())
    }
}
