//! What was promoted has to earn its place: levers are handed over that fresh duels of their own showed to help, and no others.

use anyhow::Result;
use niagara_model::{
    Alternative, AlternativeReason, Comparison, DropReason, DuelsOf, Finding, Goal, LongerSlices,
    OVER_SOCKET, Phase, STEADY_SLICE_SECONDS, number,
};
use niagara_stats::{
    AGAIN_SHARE, Disagreement, ErrorBudget, Estimate, Selection, Trial, disagreement, meets,
    product,
};

use super::{BEFORE_FINAL, TuneRun, stop_if_interrupted};
use crate::answering::ladder::rung_errors;
use crate::answering::sequential_test::{
    LEAST_MORE, RunningTest, SequentialTest, TestOutcome, first_look_seconds, scored_duels,
    seconds_of, share_seconds,
};
use crate::answering::tune::plan::fewest_duels;
use crate::answering::tune::tuned::{Final, HelpfulGroup};
use crate::asking::question::MAX_DUELS;
use crate::plans::duel_plan::DuelShape;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::Protocol;
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, with_all};
use crate::variants::variant::Variant;

/// Questions behind the one under way that share its time: the next group, its halves, what is then left.
const QUESTIONS_AHEAD: usize = 3;
/// Duels of a question at the most, in those of its first look.
const MOST_LOOKS: usize = 3;
/// A duel in which the tail of latency is that of steady load.
const STEADY: DuelShape = DuelShape {
    couples: 4,
    slice_seconds: Some(STEADY_SLICE_SECONDS),
};
/// Share of the time behind the search that the first looks at the totals may take in such duels.
const STEADY_SHARE: f64 = 0.5;
/// Share of the time of a first look with which a last question is asked.
const ENOUGH: f64 = 0.8;
/// What the subject of a question begins with that is asked once more.
const AGAIN: &str = "again ";

/// How a question about levers is asked.
struct LeverQuestion<'a> {
    /// What its duels are kept under.
    subject: &'a str,
    /// The question whose duels count, too.
    continues: Option<&'a str>,
    errors: ErrorBudget,
    /// Questions that share the time that is left, this one included.
    questions: usize,
    /// Seconds that stay for what comes after all of them.
    reserve_seconds: f64,
}

impl TuneRun<'_> {
    /// The lever that is asked about alone, before all others: what the application has to change, so that the files are judged over the
    /// transport that it will use. Else the best one.
    fn first(&self, promoted: &[usize]) -> usize {
        let by_application = |index: &&usize| {
            self.found.candidates[**index]
                .change
                .runtime
                .transport
                .is_some()
        };
        let mut levers = promoted.iter();
        *levers.find(by_application).unwrap_or(&promoted[0])
    }

    /// Judges what was promoted, and keeps what earned its place.
    pub(super) fn select(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let alpha = self.options.alpha;
        let errors_alone = |share: f64| rung_errors(share * alpha, promoted.len(), MAX_DUELS);
        let alone = errors_alone(1.0 - AGAIN_SHARE);
        let first_alone = first_look_seconds(study, alone, self.couples);
        self.judge_whole(study, promoted, first_alone, observer)?;
        let is_likely = |index: &usize| self.found.is_likely(*index, self.options.goal);
        let likely = promoted.iter().copied().filter(is_likely).collect();
        let mut selection = Selection::new(promoted, self.first(promoted)).with_likely(likely);
        let mut is_first = true;
        while let Some(trial) = selection.next() {
            let subject = self.found.ids(&trial.levers).join("+");
            let errors = match trial.is_of_one() {
                true => alone,
                false => self.options.total_errors(),
            };
            let needed = first_look_seconds(study, errors, self.couples)
                + self.reserved_for_total(study, !selection.kept().is_empty());
            let has_time = study.recall_or(&checkpoint::is_asked(&subject), || {
                Ok(is_first || study.left_seconds() >= needed)
            })?;
            if !has_time {
                break;
            }
            is_first = false;
            let question = LeverQuestion {
                subject: &subject,
                continues: None,
                errors,
                questions: QUESTIONS_AHEAD,
                reserve_seconds: self.reserved_for_total(study, true),
            };
            let is_shown = self.ask(study, &trial, &question, observer)?;
            selection.answer(is_shown);
        }
        let undecided = selection.open();
        for &index in &undecided {
            let because = self.found.why_undecided(index);
            self.found.drop_lever(index, None, because);
        }
        self.found.undecided = undecided;
        let mut kept = selection.kept();
        self.ask_again(study, &mut kept, errors_alone(AGAIN_SHARE), observer)?;
        // Best first, as they were promoted.
        let place = |index: &usize| promoted.iter().position(|other| other == index);
        kept.sort_by_key(place);
        self.judge_kept(study, promoted, kept, observer)
    }

    /// Seconds of the first looks at the questions that are asked one after the other as a rule.
    pub(super) fn first_looks_seconds(&self, study: &Study, promoted: &[usize]) -> f64 {
        let share = 1.0 - AGAIN_SHARE;
        let alone = rung_errors(share * self.options.alpha, promoted.len(), MAX_DUELS);
        let questions = promoted.len().min(1 + QUESTIONS_AHEAD);
        questions as f64 * first_look_seconds(study, alone, self.couples)
    }

    /// Asks once more about levers that were dropped because too little was known, best first: for as long as more is left than the total
    /// needs.
    fn ask_again(
        &mut self,
        study: &mut Study,
        kept: &mut Vec<usize>,
        errors: ErrorBudget,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        for index in self.found.not_shown() {
            // A lever that is kept alone has its total by its own duels: the best one may take all the time.
            let (questions, reserve_seconds) = match kept.is_empty() {
                true => (1, self.options.profile_seconds()),
                false => (QUESTIONS_AHEAD, self.reserved_for_total(study, true)),
            };
            let id = self.found.ids(&[index]).concat();
            let subject = format!("{AGAIN}{id}");
            // Behind the first question's duels.
            let missing =
                fewest_duels(&errors).saturating_sub(scored_duels(study, Phase::Claim, &id));
            let look = seconds_of(study, missing.max(LEAST_MORE), self.couples);
            let needed = look + reserve_seconds;
            let has_time = study.recall_or(&checkpoint::is_asked(&subject), || {
                Ok(study.left_seconds() >= needed)
            })?;
            if !has_time {
                break;
            }
            let trial = Trial {
                without: kept.clone(),
                with: [kept.as_slice(), &[index]].concat(),
                levers: vec![index],
            };
            let question = LeverQuestion {
                subject: &subject,
                continues: Some(&id),
                errors,
                questions,
                reserve_seconds,
            };
            if self.ask(study, &trial, &question, observer)? {
                kept.push(index);
                self.found.take_back(index);
            }
        }
        Ok(())
    }

    /// What a duel of the total is like: of slices that are long enough for the tail of latency of steady load, where the first looks at the
    /// total, and at what remains over the socket, leave the other questions half of the time.
    pub(super) fn shape_of_total(
        &self,
        study: &mut Study,
        promoted: &[usize],
    ) -> Result<DuelShape> {
        let is_steady = study.recall_or(&checkpoint::is_asked("a tail of the total"), || {
            let look = first_look_seconds(study, self.options.total_errors(), STEADY);
            let totals = match self.by_socket(promoted).iter().any(Vec::is_empty) {
                true => 1.0,
                false => 2.0,
            };
            let left = study.left_seconds() - self.options.profile_seconds();
            Ok(self.has_short_slices(study) && totals * look <= STEADY_SHARE * left)
        })?;
        Ok(match is_steady {
            true => STEADY,
            false => self.couples.into(),
        })
    }

    /// Whether the load moves in slices that are too short for the tail of latency of steady load: within them it is another one, a thread
    /// pool's above all (docs/methodology.md).
    fn has_short_slices(&self, study: &Study) -> bool {
        let seconds = self.options.slice_seconds_under(self.bench.load());
        study.protocol() == Protocol::Duel
            && seconds.is_some_and(|seconds| seconds < STEADY_SLICE_SECONDS)
    }

    /// Seconds that stay for the total and the profile.
    fn reserved_for_total(&self, study: &Study, is_anything_kept: bool) -> f64 {
        let total = first_look_seconds(study, self.options.total_errors(), self.total_shape);
        let profile = self.options.profile_seconds();
        // Where the application uses the socket already, it is asked once more.
        let mut candidates = self.found.candidates.iter();
        let with_socket = candidates.any(|candidate| candidate.change.runtime.is_on_socket());
        let totals = if with_socket { 2.0 } else { 1.0 };
        // Before anything is kept there is no total to make, but there will be.
        let share = if is_anything_kept { 1.0 } else { 0.5 };
        profile + share * totals * total
    }

    /// The start against everything that was promoted: what there is to gain. It is asked where the questions that decide have time behind
    /// it.
    fn judge_whole(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        first_alone: f64,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let errors = self.options.total_errors();
        let look = first_look_seconds(study, errors, self.couples);
        let total = first_look_seconds(study, errors, self.total_shape);
        let behind = first_alone + look + total + self.options.profile_seconds();
        let has_time = study.recall_or(&checkpoint::is_asked("everything"), || {
            Ok(study.left_seconds() >= look + behind)
        })?;
        if !has_time {
            return Ok(());
        }
        let base = self.options.base.clone();
        let whole = with_all(&base, &self.found.candidates, promoted);
        self.found.last = whole.clone();
        self.found.set_rungs(promoted);
        let shape = self.couples.into();
        let errors = self.limited(study, errors, shape, behind, QUESTIONS_AHEAD + 1);
        let test = SequentialTest {
            reserve_seconds: behind,
            ..self.test(Phase::Whole, "", &base, &whole, errors)
        };
        let name = "everything promising";
        let found = self.run_question(study, &test, (name, promoted), observer)?;
        self.found.whole = found;
        Ok(())
    }

    /// `errors` with as many duels as one of the questions gets that share the time.
    fn limited(
        &self,
        study: &Study,
        errors: ErrorBudget,
        shape: DuelShape,
        reserve: f64,
        questions: usize,
    ) -> ErrorBudget {
        let look = first_look_seconds(study, errors, shape);
        let open = share_seconds(study.left_seconds() - reserve, questions, look);
        let duels = (open / study.duel_seconds(shape)) as usize;
        let fewest = fewest_duels(&errors);
        // A plan for few duels has its first look early: a clear answer ends it there.
        let most = errors.max_duels.min(MOST_LOOKS * fewest).max(fewest);
        ErrorBudget {
            max_duels: duels.clamp(fewest, most),
            ..errors
        }
    }

    /// Asks whether the levers of a trial help, the duels of the question that it `continues` included; what it says of them is kept.
    fn ask(
        &mut self,
        study: &mut Study,
        trial: &Trial,
        question: &LeverQuestion<'_>,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let (base, candidates) = (&self.options.base, &self.found.candidates);
        let [a, b] = [&trial.without, &trial.with].map(|levers| with_all(base, candidates, levers));
        let &LeverQuestion {
            subject,
            continues,
            questions,
            reserve_seconds,
            ..
        } = question;
        let earlier = continues.map_or(0, |id| scored_duels(study, Phase::Claim, id));
        let shape = self.couples.into();
        let mut errors = self.limited(study, question.errors, shape, reserve_seconds, questions);
        errors.max_duels += earlier;
        let is_first = self.found.claims.is_empty() && self.found.whole.is_none();
        let test = SequentialTest {
            reserve_seconds,
            must_answer: is_first,
            continues,
            ..self.test(Phase::Claim, subject, &a, &b, errors)
        };
        let titles = titles(candidates, &trial.levers);
        let title = match titles[..] {
            [one] => one.to_owned(),
            _ => format!("{} levers together", titles.len()),
        };
        let title = match continues {
            Some(_) => format!("{title}, second look (allowed for in the interval)"),
            None => title,
        };
        let levers = trial.levers.as_slice();
        let found = self.run_question(study, &test, (&title, levers), observer)?;
        let found = match found {
            Some(found) if trial.is_of_one() => {
                let asked = (subject, title.as_str(), reserve_seconds);
                Some(self.with_steady_tail(study, found, [&a, &b], asked, observer)?)
            }
            other => other,
        };
        let is_shown = found.as_ref().is_some_and(is_faster);
        let is_sound = found
            .as_ref()
            .is_none_or(|found| found.may_be_recommended() && found.failed.is_none());
        let tail = found
            .as_ref()
            .and_then(|found| self.options.guard.broken_by(found));
        let is_kept = is_shown && is_sound && (tail.is_none() || !trial.is_of_one());
        if let ([index], Some(claim)) = (trial.levers.as_slice(), &found) {
            self.found.take_own_duels(*index, claim.clone());
        }
        if let (true, false, Some(claim)) = (is_kept, trial.is_of_one(), &found) {
            self.found.helpful_groups.push(HelpfulGroup {
                levers: trial.levers.clone(),
                effect: claim.judged().estimate,
                duels: claim.judged().duels,
            });
        }
        if !is_kept {
            let because = match (&found, tail) {
                _ if !is_sound => DropReason::Unsound,
                (Some(_), Some((percentile, ratio))) if is_shown => {
                    DropReason::Tail { percentile, ratio }
                }
                (Some(found), _) if !trial.is_of_one() => DropReason::NotShownTogether {
                    effect: found.judged().estimate,
                    levers: trial.levers.len(),
                },
                _ => DropReason::NotShown,
            };
            for &index in &trial.levers {
                let claim = found.clone().filter(|_| trial.is_of_one());
                self.found.drop_lever(index, claim, because.clone());
            }
            self.keep_summary(study)?;
        }
        Ok(is_kept)
    }

    /// Runs the duels of a question; what they say, where any counts.
    fn run_question(
        &mut self,
        study: &mut Study,
        test: &SequentialTest<'_>,
        (title, levers): (&str, &[usize]),
        observer: &mut dyn Observer,
    ) -> Result<Option<Comparison>> {
        observer.see(Event::Stage {
            name: title,
            seconds: (study.left_seconds() - test.reserve_seconds).max(0.0),
        });
        // Behind what the stage before came to.
        if levers.len() > 1 {
            let titles = titles(&self.found.candidates, levers).join("; ");
            observer.see(Event::Note(&match test.phase {
                Phase::Whole => format!(
                    "to the proof, together (those clearly above × 1, those that lean above it and helped in earlier runs, else the best there is; of levers \
                     that exclude each other, the best): {titles}"
                ),
                _ => format!("together: {titles}"),
            }));
        }
        let tell = |study: &Study, so_far: &TestOutcome| {
            self.told(study, |found| {
                found.warn_of_trial(title, so_far);
                Ok(())
            })
        };
        let running = RunningTest::begin(study, test)?;
        let outcome = study.run(self.bench, running, Some(&tell), observer)?;
        self.found.warn_of_trial(title, &outcome);
        let found = self.found.judged(study, test, &outcome)?;
        stop_if_interrupted(&outcome)?;
        Ok(found)
    }

    /// The total of what earned its place, in fresh duels. Where that makes the tail of latency worse the lever is left out that does so
    /// most, and the rest is measured again.
    pub(super) fn judge_kept(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        kept: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let mut kept = self.keep_kept_sound(study, promoted, kept, observer)?;
        let mut round = 0;
        while !kept.is_empty() {
            let subject = match round {
                0 => String::new(),
                round => format!("without tail {round}"),
            };
            let look = first_look_seconds(study, self.options.total_errors(), self.total_shape);
            // The duels of a lever that was proven alone are its total where there is no time for another.
            let has_total = kept.len() == 1 && self.proven_alone(&kept).is_some();
            let needs_total = round == 0 && !has_total;
            let has_time = study
                .recall_or(&checkpoint::is_asked(&format!("total {round}")), || {
                    Ok(needs_total || study.left_seconds() >= look)
                })?;
            if !has_time {
                break;
            }
            self.total_of(study, &kept, &subject, observer)?;
            let Some(total) = self.found.total.clone() else {
                break;
            };
            let (base, last) = (self.options.base.clone(), self.found.last.clone());
            let subject = format!("the total {round}");
            let asked = (subject.as_str(), "total", self.options.profile_seconds());
            let total = match self.total_shape == STEADY {
                true => total,
                false => self.with_steady_tail(study, total, [&base, &last], asked, observer)?,
            };
            self.found.total = Some(total.clone());
            let broken = self.options.guard.broken_by(&total);
            let Some((percentile, ratio)) = broken.filter(|_| is_faster(&total)) else {
                break;
            };
            self.found.alternatives.push(Alternative {
                levers: self.found.titles(&kept),
                comparison: Box::new(total.clone()),
                because: AlternativeReason::Tail,
            });
            self.found.tail = Some((total.judged().estimate, ratio, percentile));
            self.found.total = None;
            let Some(guilty) = self.guilty(&kept, percentile) else {
                kept.clear();
                break;
            };
            kept.retain(|&index| index != guilty);
            let claim = self.found.claim_of(guilty).cloned();
            self.found
                .drop_lever(guilty, claim, DropReason::Tail { percentile, ratio });
            if !kept.is_empty() {
                kept = self.keep_answers(study, kept, observer)?;
            }
            round += 1;
        }
        match self.found.total.is_none() {
            true => self.fall_back(study, &kept, observer)?,
            false => {
                self.hold_total_against_parts(&kept);
                self.judge_over_socket(study, &kept, observer)?;
            }
        }
        self.found.add_whole(promoted, self.options.guard);
        self.keep_summary(study)
    }

    /// What was found, with the tail of latency of steady load where its own is worse than allowed. Unchanged where no time is left for that.
    fn with_steady_tail(
        &mut self,
        study: &mut Study,
        found: Comparison,
        [a, b]: [&Variant; 2],
        (subject, title, reserve_seconds): (&str, &str, f64),
        observer: &mut dyn Observer,
    ) -> Result<Comparison> {
        let is_doubtful =
            self.has_short_slices(study) && self.options.guard.broken_by(&found).is_some();
        if !is_doubtful || !is_faster(&found) {
            return Ok(found);
        }
        let subject = format!("tail of {subject}");
        let errors = self.options.total_errors();
        let errors = ErrorBudget {
            max_duels: fewest_duels(&errors),
            ..errors
        };
        let needed = errors.max_duels as f64 * study.duel_seconds(STEADY);
        let has_time = study.recall_or(&checkpoint::is_asked(&subject), || {
            Ok(study.left_seconds() >= needed + reserve_seconds)
        })?;
        if !has_time {
            return Ok(found);
        }
        let test = SequentialTest {
            shape: STEADY,
            reserve_seconds,
            ..self.test(Phase::Claim, &subject, a, b, errors)
        };
        let title = format!("{title}, again in slices of a second");
        let steady = self.run_question(study, &test, (&title, &[]), observer)?;
        Ok(match steady {
            Some(steady) => {
                if let Some(p99) = &steady.latency_p99 {
                    let told = format!("  its 99th percentile there: {}", number::estimate(p99));
                    observer.see(Event::Note(&told));
                }
                Comparison {
                    latency_p95: steady.latency_p95.or(found.latency_p95),
                    latency_p99: steady.latency_p99.or(found.latency_p99),
                    in_longer_slices: Some(LongerSlices {
                        duels: steady.judged().duels,
                        effect: steady.judged().estimate,
                    }),
                    ..found
                }
            }
            None => found,
        })
    }

    /// Those that bring the Unix socket, and all others.
    fn by_socket(&self, kept: &[usize]) -> [Vec<usize>; 2] {
        let is_socket = |index: &usize| self.found.candidates[*index].change.runtime.is_on_socket();
        let (sockets, changes) = kept.iter().copied().partition(is_socket);
        [sockets, changes]
    }

    /// Seconds of the first look at the question about the socket on both sides; 0 where it is not asked.
    fn over_socket_seconds(&self, study: &Study, kept: &[usize]) -> f64 {
        match self.by_socket(kept).iter().any(Vec::is_empty) {
            true => 0.0,
            false => first_look_seconds(study, self.options.total_errors(), self.total_shape),
        }
    }

    /// What the changes of the server bring to an application that uses the Unix socket already: the start over the socket against the
    /// final variant, in fresh duels. A quotient of the total and the socket's own figure would be less sure, of the tail above all.
    fn judge_over_socket(
        &mut self,
        study: &mut Study,
        kept: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let [sockets, changes] = self.by_socket(kept);
        if sockets.is_empty() || changes.is_empty() {
            return Ok(());
        }
        let errors = self.options.total_errors();
        let profile = self.options.profile_seconds();
        // The total leaves as much, but for a duel that took longer than the others.
        let needed = ENOUGH * self.over_socket_seconds(study, kept) + profile;
        let has_time = study.recall_or(&checkpoint::is_asked(OVER_SOCKET), || {
            Ok(study.left_seconds() >= needed)
        })?;
        if !has_time {
            return Ok(());
        }
        let start = with_all(&self.options.base, &self.found.candidates, &sockets);
        let last = self.found.last.clone();
        let test = SequentialTest {
            shape: self.total_shape,
            reserve_seconds: profile,
            ..self.test(
                Phase::Claim,
                OVER_SOCKET,
                &start,
                &last,
                self.limited(study, errors, self.total_shape, profile, 1),
            )
        };
        let found = self.run_question(study, &test, (OVER_SOCKET, &changes[..1]), observer)?;
        // Too few duels for an interval say less than the quotient.
        self.found.over_socket =
            found.filter(|found| found.failed.is_none() && found.judged().confidence.is_none());
        Ok(())
    }

    /// What is kept with a build that is known to be correct, and with the start's answers: both were looked at with all that was
    /// promoted.
    fn keep_kept_sound(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        kept: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>> {
        if kept.is_empty() || kept.len() == promoted.len() {
            return Ok(kept);
        }
        let remaining = |_: &Self, without: &[usize]| {
            let stays = kept.iter().filter(|index| !without.contains(index));
            stays.copied().collect()
        };
        let sound = self.keep_sound(study, BEFORE_FINAL, &remaining, observer)?;
        if sound.is_empty() {
            return Ok(sound);
        }
        self.keep_answers(study, sound, observer)
    }

    /// The start against these levers.
    fn total_of(
        &mut self,
        study: &mut Study,
        kept: &[usize],
        subject: &str,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.found.hand_over(kept);
        let base = self.options.base.clone();
        let last = self.found.last.clone();
        let errors = self.options.total_errors();
        let test = SequentialTest {
            best_part: self.best_part(kept).map(|(_, effect)| effect),
            reserve_seconds: self.options.profile_seconds() + self.over_socket_seconds(study, kept),
            ..self.test(Phase::Total, subject, &base, &last, errors)
        };
        observer.see(Event::Stage {
            name: "total",
            seconds: study.left_seconds(),
        });
        let titles = self.found.titles(kept).join("; ");
        observer.see(Event::Note(&format!("kept: {titles}")));
        if self.total_shape == STEADY && subject.is_empty() {
            observer.see(Event::Note(
                "from here on all duels have slices of a second, for the tail of latency: percentiles do not compare with those above, throughput may differ by some per cent",
            ));
        }
        let tell = |study: &Study, so_far: &TestOutcome| {
            self.told(study, |found| found.take_total(study, &test, so_far))
        };
        let running = RunningTest::begin(study, &test)?;
        let outcome = study.run(self.bench, running, Some(&tell), observer)?;
        self.found.take_total(study, &test, &outcome)?;
        self.found.total_of = (!subject.is_empty()).then(|| DuelsOf {
            phase: Phase::Total,
            subject: subject.to_owned(),
        });
        self.keep_summary(study)?;
        stop_if_interrupted(&outcome)
    }

    /// What the duels of each of these levers say of it.
    fn parts(&self, kept: &[usize]) -> Vec<(usize, Estimate)> {
        let effect = |&index: &usize| {
            let claim = self.found.claim_of(index)?;
            Some((index, claim.judged().estimate))
        };
        kept.iter().filter_map(effect).collect()
    }

    /// The largest of them, where there are several: one alone is the total.
    fn best_part(&self, kept: &[usize]) -> Option<(usize, Estimate)> {
        let parts = self.parts(kept).into_iter().filter(|_| kept.len() > 1);
        parts.max_by(|x, y| x.1.ratio.total_cmp(&y.1.ratio))
    }

    /// Says where the total and its parts do not go together.
    fn hold_total_against_parts(&mut self, kept: &[usize]) {
        let Some(total) = &self.found.total else {
            return;
        };
        let total = total.judged().estimate;
        let parts: Vec<Estimate> = self.parts(kept).into_iter().map(|part| part.1).collect();
        let together = product(&parts);
        let finding = if !parts.is_empty() && !meets(&total, &together) {
            Some(Finding::TotalApartFromParts {
                total,
                parts: together,
                levers: parts.len(),
            })
        } else {
            self.best_part(kept).and_then(|(index, part)| {
                // That it is the wider one its interval says itself.
                let is_below = disagreement(&total, &part) == Some(Disagreement::Below);
                is_below.then(|| Finding::TotalBelowPart {
                    title: self.found.titles(&[index]).concat(),
                    total,
                    part,
                })
            })
        };
        self.found.warnings.extend(finding.map(Into::into));
    }

    /// The lever that makes a percentile worse most, by its own duels or else by the screening; `None` where none does.
    fn guilty(&self, kept: &[usize], percentile: Goal) -> Option<usize> {
        let by_duels = |index: usize| {
            let claim = self.found.claim_of(index)?;
            match percentile {
                Goal::P95 => claim.latency_p95,
                _ => claim.latency_p99,
            }
        };
        let screened = |index: usize| {
            let tail = self.found.effect(index)?.tail?;
            Some(match percentile {
                Goal::P95 => tail.p95,
                _ => tail.p99,
            })
        };
        let effects = kept.iter().filter_map(|&index| {
            let effect = by_duels(index).or_else(|| screened(index))?;
            (effect.ratio > 1.0).then_some((index, effect.ratio))
        });
        let worst = effects.max_by(|x, y| x.1.total_cmp(&y.1));
        worst.map(|(index, _)| index)
    }

    /// One of these levers that its own duels proved against the start, with what they say.
    fn proven_alone(&self, kept: &[usize]) -> Option<&(usize, Comparison)> {
        let start = self.options.base.label();
        let mut claims = self.found.claims.iter();
        claims.find(|(index, claim)| kept.contains(index) && claim.a == start && is_faster(claim))
    }

    /// Without a total that may be recommended: one lever that was proven alone against the start, with the duels that did so.
    fn fall_back(
        &mut self,
        study: &mut Study,
        kept: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if self.found.total_failure.is_some() {
            return Ok(());
        }
        let answering = match self.proven_alone(kept).cloned() {
            Some((index, claim)) => {
                let answers = self.keep_answers(study, vec![index], observer)? == [index];
                answers.then_some((index, claim))
            }
            None => None,
        };
        let Some((index, claim)) = answering else {
            for &index in kept {
                let claim = self.found.claim_of(index).cloned();
                self.found.drop_lever(index, claim, DropReason::TimeEnded);
            }
            self.found.undecided.extend(kept);
            self.found.hand_over(&[]);
            return Ok(());
        };
        for &other in kept.iter().filter(|other| **other != index) {
            let claim = self.found.claim_of(other).cloned();
            self.found.drop_lever(other, claim, DropReason::TimeEnded);
        }
        self.found.hand_over(&[index]);
        self.found.total = Some(claim);
        self.found.total_slice_seconds = None;
        let id = self.found.ids(&[index]).concat();
        let again = format!("{AGAIN}{id}");
        let is_again = study.recall(&checkpoint::is_asked(&again))? == Some(true);
        self.found.total_of = Some(DuelsOf {
            phase: Phase::Claim,
            subject: if is_again { again } else { id },
        });
        Ok(())
    }

    /// What is left of the time after the last duel, and whether anything was left to decide.
    pub(super) fn conclude(&mut self, study: &Study) {
        let duel = seconds_of(study, 1, self.couples);
        let is_early = study.left_seconds() > 2.0 * duel + self.options.profile_seconds();
        self.found.ending = Some(match (is_early, self.found.undecided.is_empty()) {
            (true, true) => Final::NothingLeft,
            (true, false) => Final::TooLittle,
            (false, _) => Final::TimeUsed,
        });
    }
}

/// The titles of levers, by their indexes.
fn titles<'a>(candidates: &'a [Candidate], levers: &[usize]) -> Vec<&'a str> {
    let levers = levers.iter();
    levers
        .map(|&index| candidates[index].lever.title())
        .collect()
}

fn is_faster(found: &Comparison) -> bool {
    found.judged().shows_gain()
}
