//! The duels of a study, one after the other: a question asks for them, [`Study::run`] has them fought or recalls them.

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_model::{DuelRecord, Ending, Phase, Summary};
use niagara_server::Cancelled;

use crate::duels::duel::run_duel;
use crate::duels::workbench::Workbench;
use crate::plans::duel_plan::DuelShape;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelOutcome, DuelSpec};
use crate::studies::checkpoint::Checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// Times one duel is repeated when the machine disturbed it.
const MAX_REPEATS: u32 = 3;

/// From here up the bits of a duel's seed count its repeats.
const REPEATS_SHIFT: u32 = 48;

/// A duel that a question asks for.
#[derive(Debug, Clone)]
pub(crate) struct DuelRequest {
    /// What it is for.
    pub phase: Phase,
    /// The lever of a claim, the point of a sweep; else empty.
    pub subject: String,
    /// A and B.
    pub variants: [Variant; 2],
    /// Its couples and their slices.
    pub shape: DuelShape,
    /// Seed of the order within couples and of the load.
    pub seed: u64,
}

impl DuelRequest {
    fn seed_of_repeat(&self, repeats: u32) -> u64 {
        self.seed.wrapping_add(u64::from(repeats) << REPEATS_SHIFT)
    }
}

/// What the seeds of a duel and of its repeats have in common.
pub(crate) fn seed_without_repeats(seed: u64) -> u64 {
    seed & ((1 << REPEATS_SHIFT) - 1)
}

/// Duels each of which is chosen by what those before it showed: a screening, a sequential test, a search. It says what to
/// measure; [`Study::run`] measures it.
pub(crate) trait Series {
    /// What comes of it.
    type Outcome;

    /// Where it is kept after how many duels its time ended.
    fn ended_key(&self) -> Checkpoint<u64>;

    /// The duel that comes next; `None`: the question is answered, or cannot be.
    ///
    /// # Errors
    /// Results that cannot be read or written.
    fn next(&mut self, study: &Study, observer: &mut dyn Observer) -> Result<Option<DuelRequest>>;

    /// Whether the time is too short for that duel.
    fn is_late(&mut self, study: &Study, observer: &mut dyn Observer) -> bool;

    /// At most this many duels that are likely to be asked for next, the one that comes next among them, as far as they are known before
    /// it is over.
    fn likely(&self, _most: usize) -> Vec<DuelRequest> {
        Vec::new()
    }

    /// The duel that was asked for last is over.
    ///
    /// # Errors
    /// [`Cancelled`] when stopped; results that cannot be written.
    fn take(
        &mut self,
        study: &Study,
        record: DuelRecord,
        observer: &mut dyn Observer,
    ) -> Result<()>;

    /// What came of it, ended like this.
    fn outcome(&self, end: SeriesEnd) -> Self::Outcome;

    /// Tells whoever watches what came of it: the figure that stays has to be the one that the results keep.
    fn announce(&self, _outcome: &Self::Outcome, _observer: &mut dyn Observer) {}
}

/// How a series came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeriesEnd {
    /// There was nothing more to ask.
    Finished,
    /// The time was up.
    OutOfTime,
    /// On request: the same study can be continued.
    Stopped,
    /// Not yet: it is told how far it came, in case this process is killed.
    GoesOn,
}

/// Puts what came of a series so far into a summary of its study.
pub(crate) type Tell<'t, O> = dyn Fn(&Study, &O) -> Result<Summary> + 't;

impl Study {
    /// Runs the duels of a series, each of them asked for when those before it are known, until there is no further one,
    /// the time is up or a stop is asked for; what came of them. The summary that `tell` makes of what came of them so far is kept
    /// on the way: a process that is killed makes none.
    ///
    /// # Errors
    /// The study cannot continue here; the results cannot be written.
    pub(crate) fn run<S: Series>(
        &mut self,
        bench: &Workbench,
        mut series: S,
        tell: Option<&Tell<'_, S::Outcome>>,
        observer: &mut dyn Observer,
    ) -> Result<S::Outcome> {
        let key = series.ended_key();
        let ended = self.recall(&key)?;
        let mut begun = 0;
        let end = loop {
            let Some(request) = series.next(self, observer)? else {
                break SeriesEnd::Finished;
            };
            let is_late = match ended {
                Some(duels) => begun >= duels,
                None => !self.has_recalled() && series.is_late(self, observer),
            };
            if is_late {
                if ended.is_none() {
                    self.keep(&key, &begun)?;
                }
                break SeriesEnd::OutOfTime;
            }
            let likely = series.likely(self.ahead()).into_iter();
            self.expect(likely.map(|request| (bench, request)), observer)?;
            begun += 1;
            let taken = self
                .duel(bench, &request, observer)
                .and_then(|record| series.take(self, record, observer));
            match taken {
                Ok(()) => {}
                Err(error) if error.has::<Cancelled>() => break SeriesEnd::Stopped,
                Err(error) => return Err(error),
            }
            if let Some(tell) = tell {
                self.tell_so_far(|study| tell(study, &series.outcome(SeriesEnd::GoesOn)));
            }
        };
        let outcome = series.outcome(end);
        series.announce(&outcome, observer);
        Ok(outcome)
    }

    /// Tells whoever runs several duels at a time which ones are likely to be asked for next, in this order, the one that is
    /// asked for now among them.
    ///
    /// # Errors
    /// What they need cannot be packed.
    pub(crate) fn expect<'b>(
        &mut self,
        requests: impl Iterator<Item = (&'b Workbench, DuelRequest)>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if self.fleet.is_none() {
            return Ok(());
        }
        let specs: Vec<(&Workbench, DuelSpec)> = requests
            .zip(self.next as u32..)
            .map(|((bench, request), seq)| {
                let spec = self.spec(bench, &request, 0);
                (bench, DuelSpec { seq, ..spec })
            })
            .collect();
        let protocol = self.protocol;
        let Some(fleet) = &mut self.fleet else {
            return Ok(());
        };
        let orders = specs
            .iter()
            .map(|(bench, spec)| fleet.order(bench, spec, protocol, observer))
            .collect::<Result<_>>()?;
        fleet.expect(orders);
        Ok(())
    }

    /// One duel, scored: run now or recalled, repeated a few times where it was disturbed. The record of a side that failed
    /// comes back as such.
    ///
    /// # Errors
    /// The study was stopped, or cannot continue here.
    pub(crate) fn duel(
        &mut self,
        bench: &Workbench,
        request: &DuelRequest,
        observer: &mut dyn Observer,
    ) -> Result<DuelRecord> {
        let mut repeats = 0;
        loop {
            let spec = self.spec(bench, request, repeats);
            let record = self.recalled_or_fought(bench, &spec, observer)?;
            observer.see(Event::Duel {
                record: &record,
                protocol: self.protocol,
            });
            self.done.push(record.clone());
            self.done_shapes.push(request.shape);
            repeats += 1;
            let no_more = match self.recalled.get(self.next) {
                Some(next) => next.seed != request.seed_of_repeat(repeats),
                None => repeats > MAX_REPEATS || self.left_seconds() <= record.wall_seconds,
            };
            if record.ending != Ending::Disturbed || no_more {
                // Another question expects others.
                if let Some(fleet) = &mut self.fleet {
                    fleet.expect(Vec::new());
                }
                return Ok(record);
            }
        }
    }

    /// The duel as it is run: under the bench's load, by the study's settings, after this many repeats.
    fn spec(&self, bench: &Workbench, request: &DuelRequest, repeats: u32) -> DuelSpec {
        let load = bench.load();
        DuelSpec {
            seq: self.next as u32,
            phase: request.phase,
            subject: request.subject.clone(),
            variants: request.variants.clone(),
            load: load.clone(),
            duel_settings: request.shape.settings(self.duel_settings()),
            seed: request.seed_of_repeat(repeats),
            interference_slope: self.interference_slope(load),
            rate: self.rate,
        }
    }

    /// A duel as an earlier sitting measured it, or measured now.
    fn recalled_or_fought(
        &mut self,
        bench: &Workbench,
        spec: &DuelSpec,
        observer: &mut dyn Observer,
    ) -> Result<DuelRecord> {
        self.check_binaries(bench, spec)?;
        if let Some(record) = self.recall_duel(spec)? {
            return Ok(record);
        }
        bench.cancel().check()?;
        let outcome = self.here_or_on_a_node(bench, spec, observer)?;
        self.keep_duel(bench, spec, outcome)
    }

    /// The one place where it is decided who runs a duel: this machine, or a node.
    fn here_or_on_a_node(
        &mut self,
        bench: &Workbench,
        spec: &DuelSpec,
        observer: &mut dyn Observer,
    ) -> Result<DuelOutcome> {
        let Some(fleet) = &mut self.fleet else {
            return run_duel(bench, spec, self.protocol, observer);
        };
        let (outcome, fought_on, idle) = fleet.run(bench, spec, self.protocol, observer)?;
        // Time in a queue, or for copying to nodes, is not the study's.
        self.clock.leave_out(idle);
        observer.see(Event::LeftOut(idle));
        self.keep_node(&fought_on)?;
        Ok(outcome)
    }
}
