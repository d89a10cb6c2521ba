//! The search over the ranges of numeric levers, in the time between the screening and the total: which ranges, from which
//! values, and the duels of its races (`niagara_stats::Race`).

use anyhow::Result;
use niagara_model::{DuelRecord, Ending, Goal, Phase, Screened, SearchedRange};
use niagara_origin::configuration::number;
use niagara_stats::{
    Estimate, ROUND_DUELS, Race, SIDE_BY_SIDE, derive_seed, standard_deviation, student,
};

use crate::answering::tune::probe::settings;
use crate::duels::workbench::Workbench;
use crate::lever::{Role, Searching};
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint::{self, Checkpoint};
use crate::studies::series::{DuelRequest, Series, SeriesEnd};
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, with_all};
use crate::variants::variant::Variant;

/// Ranges that are searched at once: every further one makes each of them found later.
const MAX_RANGES: usize = 6;
/// A lever matters when its screened effect, either way, is this many standard errors from nothing.
const MATTERS: f64 = 2.0;
/// Log gain expected of a lever from which its range is searched whatever the screening saw.
const EXPECTED: f64 = 0.01;
/// Failures of the best one's own side in a row after which a search ends: it cannot be the candidates' fault.
const MAX_FAILURES: u32 = 2;

/// How a search goes about it.
pub(crate) struct SearchOptions {
    /// Couples in a duel.
    pub couples: u32,
    /// What is searched for.
    pub goal: Goal,
    /// Seconds of the study's budget at which it ends.
    pub until_seconds: f64,
    /// Seed.
    pub seed: u64,
}

/// The final variant as the search leaves it, and what came of the search.
pub(crate) struct Outcome {
    /// The candidates, with the chosen values in their changes.
    pub candidates: Vec<Candidate>,
    /// Those of the final variant.
    pub promoted: Vec<usize>,
    /// By range.
    pub ranges: Vec<SearchedRange>,
    /// Duels that were fought.
    pub duels: u32,
    /// The last values over the first, by the duels that chose them.
    pub effect: Option<Estimate>,
    /// Whether the study was stopped in the middle of it.
    pub stopped: bool,
}

/// Levers of which a search may choose the value: those of the final variant, and those that matter by the screening or by
/// what is expected of them, of a variable the first. `effect` is what was screened of a candidate.
pub(crate) fn worth_searching<'s>(
    candidates: &[Candidate],
    promoted: &[usize],
    goal: Goal,
    effect: impl Fn(usize) -> Option<&'s Screened>,
) -> Vec<usize> {
    let mut found: Vec<(usize, f64)> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let (Some(span), Some(screened)) = (&candidate.span, effect(index)) else {
            continue;
        };
        let in_final = promoted.contains(&index);
        // What a lever sets beside its number has to be in force for the number to matter.
        let sets_more = candidate
            .change
            .config
            .keys()
            .any(|name| *name != span.variable && !span.follows.contains_key(name));
        let is_excluded = promoted.iter().any(|&other| {
            let other_lever = &candidates[other].lever;
            let same_choice = other_lever.factor() == candidate.lever.factor();
            other != index && (same_choice || other_lever.is_apart_from(&candidate.lever))
        });
        let distance = (screened.effect.ratio.ln() / screened.std_err).abs();
        let prior = candidate.prior_of(goal);
        let expected = prior.is_some_and(|prior| prior.log_effect.abs() >= EXPECTED);
        let matters = distance >= MATTERS || expected;
        let eligible = candidate.lever.role() == Role::Lever && !is_excluded;
        if eligible && (in_final || (matters && !sets_more)) {
            found.push((index, if in_final { f64::INFINITY } else { distance }));
        }
    }
    found.sort_by(|x, y| y.1.total_cmp(&x.1));
    let mut variables: Vec<&str> = Vec::new();
    found.retain(|(index, _)| {
        let variable = candidates[*index]
            .span
            .as_ref()
            .map(|span| span.variable.as_str());
        let is_new = variable.is_some_and(|variable| !variables.contains(&variable));
        variables.extend(variable.filter(|_| is_new));
        is_new
    });
    found.truncate(MAX_RANGES);
    found.into_iter().map(|(index, _)| index).collect()
}

/// The ranges of these candidates with the values that the server of `start` has now, as it says itself; ranges of
/// variables that it does not have, or whose value is no number, are left out; all of them where it does not start: the duels
/// of the total tell that.
///
/// # Errors
/// The study was stopped, or cannot continue here.
pub(crate) fn starting_values(
    bench: &Workbench,
    start: &Variant,
    candidates: &[Candidate],
    chosen: &[usize],
) -> Result<Vec<Searching>> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let Ok(settings) = settings(bench, start)? else {
        return Ok(Vec::new());
    };
    let of = |&index: &usize| {
        let candidate = &candidates[index];
        let span = candidate.span.clone()?;
        let text = settings.value(&span.variable)?;
        // Some servers show a whole number with its fraction: 90.000000.
        let value = text
            .parse()
            .ok()
            .or_else(|| Some(number(text)?.round().max(0.0) as u64))?;
        Some(Searching {
            lever: candidate.lever.id().to_owned(),
            start: value,
            span,
        })
    };
    Ok(chosen.iter().filter_map(of).collect())
}

/// Duels that a search should have room for, or there is no point in it.
pub(crate) fn fewest_duels() -> usize {
    ROUND_DUELS
}

/// Seconds that a duel of a search takes: several machines run as many at a time as are known before their scores.
pub(crate) fn search_duel_seconds(study: &Study, couples: u32) -> f64 {
    study.duel_seconds_of(couples, SIDE_BY_SIDE)
}

/// A search under way: candidates race against the best so far.
pub(crate) struct RunningSearch<'a> {
    space: Space<'a>,
    options: SearchOptions,
    race: Race,
    /// Duels so far.
    duels: u64,
    /// Failures of the best one's own side in a row.
    failures: u32,
}

impl<'a> RunningSearch<'a> {
    pub(crate) fn begin(space: Space<'a>, options: SearchOptions) -> Self {
        let ranges = space.ranges.iter();
        let places = ranges.map(|range| range.span.place(range.start)).collect();
        Self {
            race: Race::new(places, derive_seed(options.seed, "search", 0)),
            space,
            options,
            duels: 0,
            failures: 0,
        }
    }

    fn request(&self, variants: [Variant; 2], duel: u64) -> DuelRequest {
        DuelRequest {
            phase: Phase::Search,
            subject: String::new(),
            variants,
            shape: self.options.couples.into(),
            seed: derive_seed(self.options.seed, "search duel", duel),
        }
    }
}

impl Series for RunningSearch<'_> {
    type Outcome = Outcome;

    fn ended_key(&self) -> Checkpoint<u64> {
        checkpoint::search_ended()
    }

    /// None when nothing near is better.
    fn next(
        &mut self,
        _study: &Study,
        _observer: &mut dyn Observer,
    ) -> Result<Option<DuelRequest>> {
        if self.failures >= MAX_FAILURES {
            return Ok(None);
        }
        while let Some(place) = self.race.next() {
            let variants = [self.race.best(), place].map(|place| self.space.variant(place));
            if variants[0].id() == variants[1].id() {
                // The same value after rounding: there is nothing to measure.
                self.race.tell(None);
                continue;
            }
            return Ok(Some(self.request(variants, self.duels)));
        }
        Ok(None)
    }

    fn is_late(&mut self, study: &Study, _observer: &mut dyn Observer) -> bool {
        let then = study.used_seconds() + search_duel_seconds(study, self.options.couples);
        then > self.options.until_seconds
    }

    fn likely(&self, most: usize) -> Vec<DuelRequest> {
        let best = self.space.variant(self.race.best());
        let places = self.race.open().into_iter();
        places
            .map(|place| self.space.variant(place))
            .filter(|variant| variant.id() != best.id())
            .take(most)
            .zip(self.duels..)
            .map(|(variant, duel)| self.request([best.clone(), variant], duel))
            .collect()
    }

    fn take(
        &mut self,
        _study: &Study,
        record: DuelRecord,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.duels += 1;
        self.failures = match &record.ending {
            Ending::Failed { side: 0, .. } => self.failures + 1,
            _ => 0,
        };
        let before = self.race.found().len();
        tell(&mut self.race, &record, self.options.goal);
        if self.race.found().len() > before {
            observer.see(Event::Note(&self.space.better(&self.race)));
        }
        Ok(())
    }

    fn outcome(&self, end: SeriesEnd) -> Outcome {
        let stopped = matches!(end, SeriesEnd::Stopped | SeriesEnd::GoesOn);
        self.space.outcome(&self.race, self.duels as u32, stopped)
    }
}

/// What a duel says of its candidate; nothing where it is no fault of the candidate's that it says nothing.
fn tell(race: &mut Race, record: &DuelRecord, goal: Goal) {
    match (&record.ending, goal.gain(record)) {
        (Ending::Failed { side: 1, .. }, _) => race.tell(None),
        (Ending::Scored, Some(score)) => race.tell(Some(score)),
        _ => {}
    }
}

/// What is searched: the ranges, and the variants that their values make.
pub(crate) struct Space<'a> {
    /// Where the ladder starts.
    pub base: &'a Variant,
    /// Every lever.
    pub candidates: &'a [Candidate],
    /// Those of the final variant so far.
    pub promoted: &'a [usize],
    /// What is searched.
    pub ranges: &'a [Searching],
}

impl Space<'_> {
    fn value(&self, range: usize, place: &[f64]) -> u64 {
        let searched = &self.ranges[range];
        let at_start = place[range] == searched.span.place(searched.start);
        // A value beyond the range stays what it is until another one is better.
        if at_start {
            searched.start
        } else {
            searched.span.value(place[range])
        }
    }

    /// The candidates with the values of a place in their changes, and those that the final variant then has.
    fn chosen(&self, place: &[f64]) -> (Vec<Candidate>, Vec<usize>) {
        let mut candidates = self.candidates.to_vec();
        let mut promoted = self.promoted.to_vec();
        for (range, searched) in self.ranges.iter().enumerate() {
            let value = self.value(range, place);
            let with = candidates
                .iter()
                .position(|c| c.lever.id() == searched.lever);
            if let (Some(index), true) = (with, value != searched.start) {
                let Candidate { lever, change, .. } = &mut candidates[index];
                change.config.extend(searched.span.config(value));
                lever.title = lever.searched_title(&searched.span.variable, value);
                if !promoted.contains(&index) {
                    promoted.push(index);
                }
            }
        }
        (candidates, promoted)
    }

    fn variant(&self, place: &[f64]) -> Variant {
        let (candidates, promoted) = self.chosen(place);
        with_all(self.base, &candidates, &promoted)
    }

    /// The values that took the place of the ones before, for people.
    fn better(&self, race: &Race) -> String {
        let values: Vec<String> = (0..self.ranges.len())
            .filter(|&range| self.value(range, race.best()) != self.ranges[range].start)
            .map(|range| {
                let value = self.value(range, race.best());
                format!("{}={value}", self.ranges[range].span.variable)
            })
            .collect();
        let gain = race.found().last().map_or(1.0, |found| {
            (found.scores.iter().sum::<f64>() / found.scores.len().max(1) as f64).exp()
        });
        format!(
            "better so far: {} (× {gain:.3} over the one before, by the duels that chose it)",
            if values.is_empty() {
                "the values it began with".to_owned()
            } else {
                values.join(", ")
            }
        )
    }

    fn outcome(&self, race: &Race, duels: u32, stopped: bool) -> Outcome {
        let (candidates, promoted) = self.chosen(race.best());
        let ranges = self
            .ranges
            .iter()
            .enumerate()
            .map(|(range, searched)| SearchedRange {
                lever: searched.lever.clone(),
                variable: searched.span.variable.clone(),
                from: searched.span.from,
                to: searched.span.to,
                start: searched.start,
                chosen: self.value(range, race.best()),
                added: promoted
                    .iter()
                    .filter(|index| !self.promoted.contains(index))
                    .any(|&index| candidates[index].lever.id() == searched.lever),
            })
            .collect();
        Outcome {
            candidates,
            promoted,
            ranges,
            duels,
            effect: effect(race),
            stopped,
        }
    }
}

/// All that the search gained, by the duels that chose it.
fn effect(race: &Race) -> Option<Estimate> {
    if race.found().is_empty() {
        return None;
    }
    let (mut log_effect, mut variance, mut df) = (0.0, 0.0, 0.0);
    for found in race.found() {
        let count = found.scores.len() as f64;
        log_effect += found.scores.iter().sum::<f64>() / count;
        variance += standard_deviation(&found.scores)?.powi(2) / count;
        df += count - 1.0;
    }
    Some(Estimate::from_log_std_err(
        log_effect,
        variance.sqrt(),
        student::quantile(0.975, df),
    ))
}

#[cfg(test)]
mod tests {
    use niagara_server::machine::Fingerprint;
    use niagara_server::{Cache, Cancel, Catalog, Family};

    use super::*;
    use crate::lever::{Context, load};
    use crate::plans::spec::{DuelSettings, Load};

    /// These shipped levers as they apply to MariaDB 10.11 on 2 CPUs with a workload that writes.
    fn candidates(ids: &[&str]) -> Vec<Candidate> {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 2;
        machine.memory.bytes = 8 << 30;
        let version = "10.11.19".parse().expect("a version");
        let mut context = Context::new(Family::Mariadb, version, machine);
        context.writes = true;
        context.data_bytes = 1 << 30;
        let levers = load(&[]).expect("the shipped levers");
        ids.iter()
            .map(|id| {
                let lever = levers.iter().find(|lever| lever.id() == *id);
                let lever = lever.expect("a shipped lever").clone();
                Candidate {
                    change: lever.applicability(&context).expect("applies"),
                    span: lever.span(&context),
                    prior: None,
                    lever,
                }
            })
            .collect()
    }

    fn screened(ratio: f64) -> Screened {
        Screened {
            lever: String::new(),
            title: String::new(),
            change: String::new(),
            effect: Estimate::from_log(ratio.ln(), ratio.ln(), ratio.ln()),
            std_err: 0.01,
            expected: None,
            duels: 20,
            tail: None,
        }
    }

    #[test]
    fn ranges_of_levers_that_matter_are_searched_and_those_of_the_final_variant_first() {
        let candidates = candidates(&[
            "io-capacity-high",
            "log-buffer-large",
            "redo-log-large",
            "thread-pool-double",
            "transport-unix",
        ]);
        let effects = [0.95, 1.001, 1.01, 1.1, 1.2].map(screened);
        let chosen = worth_searching(&candidates, &[2], Goal::Throughput, |index| {
            effects.get(index)
        });
        // The redo log is in the final variant; the flushing matters, though more of it is worse; the log buffer does not
        // matter; without the pool its size means nothing; a transport has no number.
        assert_eq!(chosen, [2, 0]);
        let with_pool = worth_searching(&candidates, &[3], Goal::Throughput, |index| {
            effects.get(index)
        });
        assert_eq!(with_pool, [3, 0]);
    }

    #[test]
    fn chosen_values_take_the_place_of_the_levers_own() {
        let candidates = candidates(&["redo-log-large", "io-capacity-high"]);
        let ranges: Vec<Searching> = candidates
            .iter()
            .zip([1 << 30, 200])
            .map(|(candidate, start)| Searching {
                lever: candidate.lever.id().to_owned(),
                span: candidate.span.clone().expect("it has a range"),
                start,
            })
            .collect();
        let base = Variant::base("mariadb-10.11");
        let space = Space {
            base: &base,
            candidates: &candidates,
            promoted: &[0],
            ranges: &ranges,
        };
        let start: Vec<f64> = ranges.iter().map(|r| r.span.place(r.start)).collect();
        assert_eq!(
            space.variant(&start).id(),
            with_all(&base, &candidates, &[0]).id(),
            "nothing changes at the start"
        );
        let moved = space.variant(&[start[0], 1.0]);
        assert_eq!(moved.config["innodb_io_capacity"], "20000");
        let (told, _) = space.chosen(&[start[0], 1.0]);
        // A title of the lever's own number would contradict the one that was chosen.
        assert_eq!(told[0].lever.title(), candidates[0].lever.title());
        assert_eq!(told[1].lever.title(), "innodb_io_capacity = 20000");
        assert_eq!(moved.config["innodb_io_capacity_max"], "40000");
        assert_eq!(moved.config["innodb_log_file_size"], "1G");
        assert_eq!(moved.levers, ["redo-log-large", "io-capacity-high"]);
        let smaller = space.variant(&[0.0, start[1]]);
        assert_eq!(
            smaller.config["innodb_log_file_size"],
            (96u64 << 20).to_string()
        );

        // Of what a search came to, it is told which lever it alone brought in.
        let mut race = Race::new(start, 1);
        for _ in 0..40 {
            if race.next().is_some() {
                race.tell(Some(0.1));
            }
        }
        let outcome = space.outcome(&race, 40, false);
        assert_ne!(outcome.ranges[1].chosen, 200);
        let added = outcome.ranges.iter().map(|range| range.added);
        assert_eq!(added.collect::<Vec<_>>(), [false, true]);
    }

    /// The distribution's server, which `scripts/setup test` installs.
    const SERVER: &str = "/usr/sbin/mariadbd";

    /// Stops the study after this many duels.
    struct Stopping {
        cancel: Cancel,
        after: usize,
    }

    impl Observer for Stopping {
        fn see(&mut self, event: Event<'_>) {
            if let Event::Duel { .. } = event {
                self.after = self.after.saturating_sub(1);
                if self.after == 0 {
                    self.cancel.cancel();
                }
            }
        }
    }

    fn opened(folder: &std::path::Path) -> Study {
        let duel_settings = DuelSettings {
            couples: 2,
            slice_seconds: 0.05,
            ramp_seconds: 0.0,
            warm_up_seconds: 0.1,
            disturbance: 1.0,
        };
        let mut study =
            Study::for_tests(folder, 600.0, duel_settings).expect("a folder of its own");
        study.start_clock();
        study
    }

    /// One sitting of a search over the background writes of a real server, stopped after this many new duels.
    fn sitting(folder: &std::path::Path, after: usize, until_seconds: f64) -> Outcome {
        let cancel = Cancel::default();
        let load = Load::of_ten_rows();
        let cache = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let mut bench = Workbench::new(cache, catalog, load, cancel.clone());
        let mut stopping = Stopping { cancel, after };
        bench.set_up(SERVER, &mut stopping).expect("set up");
        let candidates = candidates(&["io-capacity-high"]);
        let base = Variant::base(SERVER);
        let ranges = starting_values(&bench, &base, &candidates, &[0]).expect("the server answers");
        assert_eq!(
            (ranges[0].span.variable.as_str(), ranges[0].start),
            ("innodb_io_capacity", 200)
        );
        let space = Space {
            base: &base,
            candidates: &candidates,
            promoted: &[],
            ranges: &ranges,
        };
        let options = SearchOptions {
            couples: 2,
            goal: Goal::Throughput,
            until_seconds,
            seed: 7,
        };
        let mut study = opened(folder);
        let search = RunningSearch::begin(space, options);
        let searched = study.run(&bench, search, None, &mut stopping);
        searched.expect("searched")
    }

    #[test]
    fn a_search_that_was_stopped_continues_and_comes_to_the_same_when_read_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let first = sitting(folder.path(), 3, f64::INFINITY);
        assert!(first.stopped && first.duels >= 3, "{}", first.duels);
        let second = sitting(folder.path(), 8, f64::INFINITY);
        assert!(second.duels > first.duels, "{}", second.duels);
        // No time is left: it ends where it was, and stays so.
        let ended = sitting(folder.path(), usize::MAX, 0.0);
        let again = sitting(folder.path(), usize::MAX, f64::INFINITY);
        assert!(!ended.stopped && !again.stopped);
        assert_eq!((ended.duels, &ended.ranges), (again.duels, &again.ranges));
        assert_eq!(ended.effect, again.effect);
    }
}
