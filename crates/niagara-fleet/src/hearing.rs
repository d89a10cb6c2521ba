//! What workers say, and what becomes of it.

use std::time::Instant;

use xxhash_rust::xxh3::xxh3_64;

use crate::message::{Attempt, Doing, HeadLine, Said, WorkerLine};
use crate::office::{NOT_WANTED, Office};

impl Office {
    /// Reads what a worker said.
    pub(crate) fn hear(&mut self, worker: &str) -> anyhow::Result<()> {
        let Some(watch) = self.watches.get_mut(worker) else {
            return Ok(());
        };
        if watch.read() && watch.silent && !self.desk.is_gone(worker) {
            watch.silent = false;
            let node = watch.node.clone();
            self.notice(format!("{node} is heard of again"));
            self.write(HeadLine::Arrived {
                worker: worker.to_owned(),
                node,
            })?;
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
            Said::Began { node, .. } => self.began(worker, node)?,
            Said::Alive => {}
            Said::Doing(doing) => {
                if let Some(watch) = self.watches.get_mut(worker) {
                    watch.running = match doing {
                        Doing::Duel { attempt } => Some(attempt.clone()),
                        _ => None,
                    };
                }
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
                    if *blame {
                        self.failed(&node, why)?;
                    }
                    self.write(HeadLine::Withdrawn {
                        attempt: attempt.clone(),
                        worker: worker.to_owned(),
                        node,
                        begun: *begun && !self.ending,
                        why: self.why(why),
                    })?;
                }
            }
            Said::Unfit { why } => {
                if self.desk.is_open(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.failed(&node, why)?;
                    self.fence(worker, why)?;
                }
            }
            Said::Ended { why } => {
                if !self.desk.is_gone(worker) {
                    let node = self.desk.node_of(worker).to_owned();
                    self.withdraw(worker, why)?;
                    if !self.ending {
                        self.notice(format!("the worker on {node} has ended: {why}"));
                    }
                    self.write(HeadLine::Gone {
                        worker: worker.to_owned(),
                        held: line.at,
                    })?;
                }
            }
        }
        Ok(true)
    }

    fn began(&mut self, worker: &str, node: &str) -> anyhow::Result<()> {
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.node = node.to_owned();
        }
        if self.desk.has_arrived(worker) {
            return Ok(());
        }
        for earlier in self.desk.earlier_incarnations(worker) {
            let why = "it was started again elsewhere";
            let node = self.desk.node_of(&earlier).to_owned();
            self.notice(format!(
                "worker {earlier} on {node} was started again: what it held is run again"
            ));
            self.fence(&earlier, why)?;
        }
        self.write(HeadLine::Arrived {
            worker: worker.to_owned(),
            node: node.to_owned(),
        })
    }

    fn finished(
        &mut self,
        worker: &str,
        attempt: &Attempt,
        bytes: u64,
        sum: &str,
        load_seconds: f64,
    ) -> anyhow::Result<bool> {
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
        let since = match self.watches.get_mut(worker) {
            Some(watch) => *watch.result_missed.get_or_insert_with(Instant::now),
            None => Instant::now(),
        };
        if since.elapsed() < self.options.silence {
            return Ok(false);
        }
        if let Some(watch) = self.watches.get_mut(worker) {
            watch.result_missed = None;
        }
        let why = format!("its result, {}, is not whole", path.display());
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

    pub(crate) fn failed(&mut self, node: &str, why: &str) -> anyhow::Result<()> {
        self.notice(format!("{node}: {why}"));
        self.write(HeadLine::Failed {
            node: node.to_owned(),
            why: why.to_owned(),
        })
    }

    pub(crate) fn withdraw(&mut self, worker: &str, why: &str) -> anyhow::Result<()> {
        let running = self
            .watches
            .get(worker)
            .and_then(|watch| watch.running.clone());
        let running = running.filter(|_| !self.ending);
        let why = self.why(why);
        self.write_all(self.desk.withdraw(worker, &why, running.as_ref()))
    }

    /// Why an attempt is withdrawn: once the study ends, nobody is to blame.
    fn why(&self, why: &str) -> String {
        if self.ending { NOT_WANTED } else { why }.to_owned()
    }

    pub(crate) fn fence(&mut self, worker: &str, why: &str) -> anyhow::Result<()> {
        self.withdraw(worker, why)?;
        self.write(HeadLine::Fenced {
            worker: worker.to_owned(),
            why: why.to_owned(),
        })
    }

    /// Takes away what a worker holds that has fallen silent.
    pub(crate) fn miss(&mut self, worker: &str) -> anyhow::Result<()> {
        let Some(watch) = self.watches.get(worker) else {
            return Ok(());
        };
        let quiet = watch.heard.elapsed() > self.options.silence;
        if watch.silent || !quiet || self.desk.is_gone(worker) || !self.desk.has_arrived(worker) {
            return Ok(());
        }
        let node = watch.node.clone();
        let why = format!("silent for {:.0} s", self.options.silence.as_secs_f64());
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
