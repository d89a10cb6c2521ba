//! What workers say, and what becomes of it.

use std::time::Instant;

use niagara_error::{Explanation, problem};
use niagara_model::{NodeReason, SharedMachine};
use xxhash_rust::xxh3::xxh3_64;

use crate::machine::Machine;
use crate::message::{Attempt, Doing, HeadLine, Said, WorkerLine, name_of};
use crate::office::Coordinator;
use crate::watch::Watch;

impl Coordinator {
    /// Reads what a worker said.
    pub(crate) fn hear(&mut self, worker: &str) -> anyhow::Result<()> {
        self.stir();
        let Some(watch) = self.watches.get_mut(worker) else {
            return Ok(());
        };
        let torn_before = watch.torn();
        let heard = watch.read();
        let (torn, silent) = (watch.torn() - torn_before, watch.silent);
        let node = watch.node.clone();
        if torn > 0 {
            let name = name_of(worker).0;
            self.notice(format!(
                "{torn} of the lines that {name} wrote cannot be read and {} left out: it was ended while it wrote, or the shared \
                 folder was full",
                if torn == 1 { "is" } else { "are" }
            ));
        }
        if heard && silent && !self.desk.is_gone(worker) {
            self.write(HeadLine::Arrived {
                worker: worker.to_owned(),
                node: node.clone(),
                machine: self.desk.machine_of(worker),
            })?;
            if let Some(watch) = self.watches.get_mut(worker) {
                watch.silent = false;
            }
            self.notice(format!("{node} is heard of again"));
        }
        // What a worker says that counts as ended decides nothing any more; its seconds are counted all the same.
        if self.desk.is_gone(worker) {
            if let Some(watch) = self.watches.get_mut(worker) {
                watch.unhandled.clear();
            }
            return Ok(());
        }
        loop {
            let Some(watch) = self.watches.get_mut(worker) else {
                return Ok(());
            };
            let Some(line) = watch.unhandled.front().cloned() else {
                return Ok(());
            };
            if !self.handle(worker, &line)? {
                return Ok(());
            }
            if let Some(watch) = self.watches.get_mut(worker) {
                watch.unhandled.pop_front();
            }
        }
    }

    /// Whether the line is done with: a result may not be visible yet.
    fn handle(&mut self, worker: &str, line: &WorkerLine) -> anyhow::Result<bool> {
        match &line.said {
            Said::Began {
                node,
                machine,
                program,
                ..
            } => {
                self.began(worker, node, machine)?;
                self.check_program(worker, program)?;
            }
            Said::Alive => {}
            Said::Doing(doing) => {
                if let Some(watch) = self.watches.get_mut(worker) {
                    watch.running = match doing {
                        Doing::Duel { attempt } => Some(attempt.clone()),
                        _ => None,
                    };
                }
            }
            Said::Notice { text } => {
                let node = self.desk.node_of(worker).to_owned();
                self.notice(format!("{node}: {text}"));
            }
            Said::Finished {
                attempt,
                bytes,
                sum,
                load_seconds,
            } => return self.finished(worker, attempt, *bytes, sum, *load_seconds),
            Said::Lost {
                attempt,
                why,
                begun,
                blame,
            } => {
                if self.desk.holder(attempt) == Some(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.write(HeadLine::Withdrawn {
                        attempt: attempt.clone(),
                        worker: worker.to_owned(),
                        node: node.clone(),
                        begun: *begun && !self.ending,
                        why: self.why(why),
                    })?;
                    // Last: a line that is handled again, for this could not be written, is no second failure.
                    if *blame {
                        self.failed(&node, why)?;
                    }
                }
            }
            Said::Unfit { why } => {
                if self.desk.is_open(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.fence(worker, why)?;
                    self.failed(&node, why)?;
                }
            }
            Said::Ended { why } => {
                if !self.desk.is_gone(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.withdraw(worker, why)?;
                    self.write(HeadLine::Gone {
                        worker: worker.to_owned(),
                        held: line.at,
                    })?;
                    if !self.ending {
                        self.notice(format!("the worker on {node} has ended: {why}"));
                    }
                }
            }
        }
        Ok(true)
    }

    fn began(&mut self, worker: &str, node: &str, machine: &Machine) -> anyhow::Result<()> {
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.node = node.to_owned();
            watch.arrived.get_or_insert_with(Instant::now);
        }
        if self.desk.has_arrived(worker) {
            return Ok(());
        }
        for earlier in self.desk.earlier_incarnations(worker) {
            let node = self.desk.node_of(&earlier).to_owned();
            self.fence(&earlier, &NodeReason::StartedElsewhere)?;
            // Whoever has a successor holds no node any more; one that lives all the same ends by its fence.
            let held = self.watches.get(&earlier);
            let held = held.map_or(0.0, Watch::held_until_now);
            self.write(HeadLine::Gone {
                worker: earlier.clone(),
                held,
            })?;
            self.notice(format!(
                "worker {earlier} on {node} was started again: what it held is run again"
            ));
        }
        self.write(HeadLine::Arrived {
            worker: worker.to_owned(),
            node: node.to_owned(),
            machine: machine.clone(),
        })
    }

    /// A worker of another version gets nothing: what it measures is not the same.
    fn check_program(&mut self, worker: &str, program: &str) -> anyhow::Result<()> {
        let own = &self.options.program;
        if own.is_empty() || program == own || !self.desk.is_open(worker) {
            return Ok(());
        }
        let node = self.desk.node_of(worker).to_owned();
        let told = Explanation::from(problem!(
            "the worker on {node} is of another version of niagara, and gets nothing to do";
            remedy: "start the same program there as here"
        ));
        self.notice(told.to_string());
        self.fence(worker, &NodeReason::OtherVersion)
    }

    /// Tells of a worker that is on a machine on which another one works, once both were heard there at the same time: what has
    /// just ended there without a word shares nothing.
    pub(crate) fn note_sharing(&mut self, worker: &str) -> anyhow::Result<()> {
        let told = self.on_one_machine.contains_key(worker);
        if told || !self.desk.is_open(worker) {
            return Ok(());
        }
        let Some((first, one_only)) = self.desk.shares_with(worker) else {
            return Ok(());
        };
        let watches = [first, worker].map(|worker| self.watches.get(worker));
        let [
            Some(its),
            Some(Watch {
                arrived: Some(arrived),
                ..
            }),
        ] = watches
        else {
            return Ok(());
        };
        if its.heard <= *arrived {
            return Ok(());
        }
        let (node, first_node) = (self.desk.node_of(worker), self.desk.node_of(first));
        let remedy = match one_only {
            true => "; give each worker a machine of its own",
            false => "",
        };
        let line = HeadLine::Shares {
            worker: worker.to_owned(),
            node: node.to_owned(),
            with: first.to_owned(),
            with_node: first_node.to_owned(),
            turns: !one_only,
        };
        self.write(line)?;
        if let Some(shared) = self.on_one_machine.get(worker) {
            let SharedMachine { worker, node, .. } = shared;
            let told = format!("{worker} on {node} has no machine of its own: {shared}{remedy}");
            self.notice(told);
        }
        Ok(())
    }

    fn finished(
        &mut self,
        worker: &str,
        attempt: &Attempt,
        bytes: u64,
        sum: &str,
        load_seconds: f64,
    ) -> anyhow::Result<bool> {
        // Each late result is waited for anew.
        let missed = self.watches.get_mut(worker);
        let missed = missed.and_then(|watch| watch.result_missed.take());
        if self.desk.holder(attempt) != Some(worker) {
            let taken = self.desk.taken(&attempt.duel);
            if taken.is_none_or(|place| place.attempt != *attempt) && !self.ending {
                self.write(HeadLine::Stale {
                    attempt: attempt.clone(),
                    worker: worker.to_owned(),
                })?;
            }
            return Ok(true);
        }
        let path = self.folder.result(worker, attempt);
        let is_whole = std::fs::read(&path).is_ok_and(|document| {
            document.len() as u64 == bytes && format!("{:016x}", xxh3_64(&document)) == sum
        });
        let node = self.desk.node_of(worker).to_owned();
        if is_whole {
            self.write(HeadLine::Taken {
                attempt: attempt.clone(),
                worker: worker.to_owned(),
                node,
                load_seconds,
            })?;
            return Ok(true);
        }
        let since = missed.unwrap_or_else(Instant::now);
        if since.elapsed() < self.options.silence {
            if let Some(watch) = self.watches.get_mut(worker) {
                watch.result_missed = Some(since);
            }
            return Ok(false);
        }
        let why = NodeReason::BrokenResult {
            file: path.display().to_string(),
        };
        self.failed(&node, &why)?;
        self.write(HeadLine::Withdrawn {
            attempt: attempt.clone(),
            worker: worker.to_owned(),
            node,
            why,
            begun: true,
        })?;
        Ok(true)
    }

    pub(crate) fn failed(&mut self, node: &str, why: &NodeReason) -> anyhow::Result<()> {
        self.write(HeadLine::Failed {
            node: node.to_owned(),
            why: why.clone(),
        })?;
        self.notice(format!("{node}: {why}"));
        Ok(())
    }

    pub(crate) fn withdraw(&mut self, worker: &str, why: &NodeReason) -> anyhow::Result<()> {
        let running = self
            .watches
            .get(worker)
            .and_then(|watch| watch.running.clone());
        let running = running.filter(|_| !self.ending);
        let why = self.why(why);
        self.write_all(self.desk.withdraw(worker, &why, running.as_ref()))
    }

    /// Why an attempt is withdrawn: once the study ends, nobody is to blame.
    fn why(&self, why: &NodeReason) -> NodeReason {
        match self.ending {
            true => NodeReason::NotWanted,
            false => why.clone(),
        }
    }

    pub(crate) fn fence(&mut self, worker: &str, why: &NodeReason) -> anyhow::Result<()> {
        self.withdraw(worker, why)?;
        self.write(HeadLine::Fenced {
            worker: worker.to_owned(),
            why: why.clone(),
        })
    }

    /// Takes away what a worker holds that has fallen silent.
    pub(crate) fn miss(&mut self, worker: &str) -> anyhow::Result<()> {
        self.stir();
        let Some(watch) = self.watches.get(worker) else {
            return Ok(());
        };
        let quiet = watch.heard.max(self.deaf_until).elapsed() > self.options.silence;
        if watch.silent || !quiet || self.desk.is_gone(worker) || !self.desk.has_arrived(worker) {
            return Ok(());
        }
        let node = watch.node.clone();
        let why = NodeReason::Silent {
            seconds: self.options.silence.as_secs_f64(),
        };
        if self.desk.is_open(worker) {
            self.withdraw(worker, &why)?;
            self.write(HeadLine::Silent {
                worker: worker.to_owned(),
            })?;
            self.failed(&node, &why)?;
        }
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.silent = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::folder::Folder;
    use crate::line::Log;
    use crate::machine::Sharing;
    use crate::options::{Cluster, HeadOptions, Order};

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(600);

    fn open(folder: &Path) -> Coordinator {
        open_for(folder, LONG)
    }

    fn open_for(folder: &Path, silence: Duration) -> Coordinator {
        Coordinator::open(HeadOptions {
            folder: folder.to_owned(),
            key: "key".into(),
            seed: 3,
            cluster: Cluster::Others(2),
            silence,
            held: 3,
            patience: Duration::from_secs(60),
            program: "this".into(),
        })
        .expect("a folder of its own")
    }

    /// A worker's log, begun by its first line.
    fn begun(folder: &Path, worker: &str, sharing: Sharing) -> Log {
        let folder = Folder::at(folder);
        std::fs::create_dir(folder.worker(worker)).expect("nobody else has it");
        let mut log = Log::create(&folder.worker_log(worker)).expect("new");
        let said = Said::Began {
            node: format!("node-of-{}", name_of(worker).0),
            pid: 7,
            held_before: 0.0,
            left: None,
            machine: Machine::here(sharing),
            program: "this".into(),
        };
        says(&mut log, said);
        log
    }

    fn says(log: &mut Log, said: Said) {
        log.append(&WorkerLine { at: 1.0, said }).expect("room");
    }

    /// Rounds until this holds.
    fn until(office: &mut Coordinator, what: &str, holds: impl Fn(&Coordinator) -> bool) {
        let began = Instant::now();
        while !holds(office) {
            assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
            office.step();
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn want(office: &mut Coordinator, duels: u64) {
        let orders: Vec<Order> = (0..duels)
            .map(|index| Order {
                duel: format!("d{index}"),
                index,
                seconds: 1.0,
                document: json!({}),
            })
            .collect();
        office.want(&orders);
    }

    #[test]
    fn two_workers_on_one_machine_are_told_once_and_one_of_them_is_given_duels() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        want(&mut office, 9);
        let mut first = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "w1", |office| office.desk.is_open("w1.0"));
        let mut second = begun(&folder, "w2.0", Sharing::Nobody);
        until(&mut office, "w2", |office| office.desk.is_open("w2.0"));
        office.step();
        assert_eq!(office.desk.held_by("w1.0").len(), 3);
        assert!(office.desk.held_by("w2.0").is_empty());
        // The first may have ended without a word.
        assert!(office.on_one_machine.is_empty());
        for _ in 0..3 {
            says(&mut first, Said::Alive);
            says(&mut second, Said::Alive);
            office.step();
        }
        let told = |office: &Coordinator| {
            let told = office.notices.iter();
            told.filter(|text| text.contains("no machine of its own"))
                .cloned()
                .collect::<Vec<_>>()
        };
        let [text] = &told(&office)[..] else {
            panic!("{:?}", office.notices);
        };
        assert!(text.starts_with("w2 on node-of-w2 has"), "{text}");
        assert!(text.contains("of w1 on node-of-w1"), "{text}");
        assert!(text.contains("give each worker a machine"), "{text}");
        // A head that continues knows it.
        drop(office);
        let office = open(&folder);
        let shared = &office.on_one_machine["w2.0"];
        assert_eq!(shared.node, "node-of-w2");
        assert!(!shared.turns, "{shared:?}");
    }

    #[test]
    fn a_worker_of_another_version_is_given_nothing() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        office.options.program = "newer".into();
        want(&mut office, 9);
        let _log = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "notice", |office| {
            office
                .notices
                .iter()
                .any(|text| text.contains("another version of niagara"))
        });
        office.step();
        assert!(!office.desk.is_open("w1.0"));
        assert!(office.desk.held_by("w1.0").is_empty());
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_once() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        let mut log = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "w1", |office| office.desk.is_open("w1.0"));
        let path = Folder::at(&folder).worker_log("w1.0");
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(path)
            .expect("there");
        file.write_all(b"1 40 0123456789abcdef {\"at\n")
            .expect("room");
        let told = |office: &Coordinator| {
            let told = office.notices.iter();
            told.filter(|text| text.starts_with("1 of the lines that w1 wrote"))
                .count()
        };
        until(&mut office, "word of it", |office| told(office) == 1);
        says(&mut log, Said::Alive);
        office.step();
        assert_eq!(told(&office), 1);
    }

    #[test]
    fn workers_that_play_back_share_a_machine_without_a_word() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        want(&mut office, 9);
        let mut logs = ["w1.0", "w2.0"].map(|name| begun(&folder, name, Sharing::Everybody));
        let all = |office: &Coordinator| {
            let mut names = ["w1.0", "w2.0"].iter();
            names.all(|name| office.desk.held_by(name).len() == 3)
        };
        until(&mut office, "duels for both", all);
        for log in &mut logs {
            says(log, Said::Alive);
        }
        office.step();
        assert!(office.on_one_machine.is_empty());
    }

    #[test]
    fn a_silent_worker_that_is_heard_of_again_by_the_next_head_gets_duels_again() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open_for(&folder, Duration::from_millis(200));
        let mut log = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "silence", |office| {
            office.desk.is_silent("w1.0")
        });
        drop(office);
        let mut office = open(&folder);
        for _ in 0..3 {
            office.step();
        }
        assert!(
            !office.desk.is_open("w1.0"),
            "what it said before is no news"
        );
        says(&mut log, Said::Alive);
        until(&mut office, "w1 again", |office| {
            office.desk.is_open("w1.0")
        });
        assert_eq!(office.desk.failed_too_often(), [], "it failed once");
    }

    #[test]
    fn a_folder_that_nobody_could_write_makes_no_worker_silent() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let silence = Duration::from_secs(1);
        let mut office = open_for(&folder, silence);
        want(&mut office, 2);
        let mut log = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "grants", |office| {
            office.desk.held_by("w1.0").len() == 2
        });
        // Longer than what counts as silence there is no room, for the head either.
        let began = Instant::now();
        office.log = Log::go_on(Path::new("/dev/full")).expect("Linux has it");
        office.beat = None;
        while began.elapsed() < 2 * silence {
            office.step();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(office.failing_since.is_some());
        // The head is the first to try again.
        office.log = Log::go_on(&Folder::at(&folder).head_log()).expect("there");
        office.step();
        assert!(office.failing_since.is_none());
        assert_eq!(office.desk.held_by("w1.0").len(), 2);
        says(&mut log, Said::Alive);
        office.step();
        assert!(office.desk.is_open("w1.0"));
        assert!(office.losses.is_empty());
        // Who says nothing from then on is silent.
        until(&mut office, "silence", |office| {
            office.desk.is_silent("w1.0")
        });
    }

    #[test]
    fn a_head_that_stood_still_hears_its_workers_before_it_misses_them() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open_for(&folder, Duration::from_secs(2));
        let _log = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "w1", |office| office.desk.is_open("w1.0"));
        // As if ten seconds had passed since then in one call.
        let before = Instant::now() - Duration::from_secs(10);
        (office.stirred, office.deaf_until) = (before, before);
        let watch = office.watches.get_mut("w1.0").expect("watched");
        watch.heard = before;
        office.hear("w1.0").expect("room");
        office.miss("w1.0").expect("room");
        assert!(office.desk.is_open("w1.0"));
        until(&mut office, "silence", |office| {
            office.desk.is_silent("w1.0")
        });
    }

    #[test]
    fn each_result_that_comes_late_is_waited_for() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let silence = Duration::from_secs(1);
        let mut office = open_for(&folder, silence);
        want(&mut office, 2);
        let mut log = begun(&folder, "w1.0", Sharing::Nobody);
        until(&mut office, "grants", |office| {
            office.desk.held_by("w1.0").len() == 2
        });
        for duel in ["d0", "d1"] {
            let attempt = Attempt {
                duel: duel.into(),
                epoch: 1,
            };
            let finished = Said::Finished {
                attempt: attempt.clone(),
                bytes: 2,
                sum: format!("{:016x}", xxh3_64(b"{}")),
                load_seconds: 1.0,
            };
            says(&mut log, finished);
            for _ in 0..3 {
                office.step();
            }
            assert_eq!(office.desk.holder(&attempt), Some("w1.0"), "it may come");
            let result = Folder::at(&folder).result("w1.0", &attempt);
            std::fs::write(result, "{}").expect("room");
            until(&mut office, "result", |office| {
                office.desk.taken(duel).is_some()
            });
            std::thread::sleep(silence);
        }
        assert!(office.losses.is_empty());
    }

    #[test]
    fn a_worker_that_was_started_again_is_gone_at_once_and_it_is_told_once() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        for worker in ["w1.0", "w1.1", "w1.2"] {
            let _killed = begun(&folder, worker, Sharing::Nobody);
            until(&mut office, worker, |office| office.desk.is_open(worker));
        }
        let held = |office: &Coordinator| office.cost(|_| true)["w1.0"].held();
        let before = held(&office);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(held(&office), before, "nobody is there any more");
        let told = office.notices.iter();
        let told: Vec<_> = told.filter(|text| text.contains("started again")).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        let log = std::fs::read_to_string(folder.join("head.jsonl")).expect("written");
        assert_eq!(log.matches(r#""what":"fenced""#).count(), 2, "{log}");
    }

    #[test]
    fn what_happens_again_is_told_again() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open_for(&folder, Duration::from_millis(200));
        let mut log = begun(&folder, "w1.0", Sharing::Nobody);
        let silences = |office: &Coordinator| {
            let told = office.notices.iter();
            told.filter(|text| text.starts_with("node-of-w1: silent"))
                .count()
        };
        for time in 1..=2 {
            until(&mut office, "silence", |office| silences(office) == time);
            says(&mut log, Said::Alive);
        }
    }

    #[test]
    fn workers_are_told_once_that_the_study_has_ended() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        office.ending = true;
        for _ in 0..3 {
            office.step();
        }
        let log = std::fs::read_to_string(folder.join("head.jsonl")).expect("written");
        assert_eq!(log.matches(r#""what":"ended""#).count(), 1, "{log}");
    }

    #[test]
    fn a_worker_behind_one_that_was_killed_before_its_first_line_is_seen() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        std::fs::create_dir(Folder::at(&folder).worker("w1.0")).expect("nobody has it");
        let _log = begun(&folder, "w1.1", Sharing::Nobody);
        until(&mut office, "w1.1", |office| office.desk.is_open("w1.1"));
    }

    #[test]
    fn what_a_worker_has_to_say_is_told_with_its_node() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("shared");
        let mut office = open(&folder);
        let mut log = begun(&folder, "w1.0", Sharing::Nobody);
        let text = "no room: trying again".to_owned();
        says(&mut log, Said::Notice { text });
        let told = "node-of-w1: no room: trying again";
        until(&mut office, "notice", |office| {
            office.notices.iter().any(|notice| notice == told)
        });
    }
}
