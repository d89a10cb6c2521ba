//! From a file's text to a study: what the names in it mean, and whether it all fits together.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use niagara_error::Explain as _;
use niagara_load::{WorkloadKind, WorkloadSpec, is_workload_file, workload_of_file};
use niagara_model::About;
use niagara_origin::configuration::ConfigSource;
use niagara_origin::data::DataSource;
use niagara_toml::{At, FileError, Mistakes, Text, did_you_mean};

use super::blame::blame;
use super::document::{Document, Meeting, Rung, SizeEntry, Workload};
use super::known::Known;
use super::matrix::{keep_part, matrix};
use super::quantities::{DurationText, FORMATS, Probability, ShareText};
use super::variant_parts::{engine, of_parts, of_variant, reference, server};
use crate::answering::method_controls::is_control;
use crate::answering::sweep::{MAX_SWEPT, sweep_protocol};
use crate::asking::load_of::{load_of, settings_of};
use crate::asking::quantity;
use crate::asking::question::{
    MAX_DUELS, Question, RungRecipe, StudyDescription, StudyKind, StudySize, StudyWorkload,
};
use crate::asking::rate_choice::RateChoice;
use crate::asking::recipe::VariantRecipe;
use crate::client_host::check_host;
use crate::plans::spec::{Load, Protocol};
use crate::variants::origin::{Data, Origin};
use niagara_model::Goal;
use niagara_stats::HALF_WEIGHT;

/// A study file that was understood: the study in each of its sizes.
#[derive(Debug, Clone)]
pub struct StudyFile {
    sizes: Vec<(StudySize, StudyDescription)>,
}

impl StudyFile {
    /// The study in this size; a file without sizes of its own has one for both.
    pub fn in_size(&self, size: StudySize) -> &StudyDescription {
        let found = self.sizes.iter().find(|(known, _)| *known == size);
        // `read_study` makes both.
        &found.unwrap_or(&self.sizes[0]).1
    }
}

/// Reads a study file; `file` is how mistakes call it.
///
/// # Errors
/// Every mistake, in the order they stand in the file.
pub fn read_study(file: &str, text: &str, known: &Known<'_>) -> Result<StudyFile, FileError> {
    let document: Document =
        niagara_toml::read(file, text, "docs/studies.md shows the format", &FORMATS)?;
    let mut mistakes = Mistakes::of(file, text);
    let reader = Reader {
        document: &document,
        known,
    };
    let question = reader.question(&mut mistakes);
    reader.check_client_host(&mut mistakes);
    let mut sizes = Vec::new();
    let empty = SizeEntry::default();
    for (size, entry) in [
        (StudySize::Small, &document.size.small),
        (StudySize::Original, &document.size.original),
    ] {
        let entry = entry.as_ref().unwrap_or(&empty);
        if let Some(question) = &question
            && let Some(study) =
                reader.sized(size, entry, document.kind.value, question, &mut mistakes)
        {
            sizes.push((size, study));
        }
    }
    mistakes.unless_any((sizes.len() == 2).then_some(StudyFile { sizes }))
}

struct Reader<'a> {
    document: &'a Document,
    known: &'a Known<'a>,
}

const DEFAULT_SERVER: &str = "mariadb-10.11";
const DEFAULT_ENGINE: &str = "InnoDB";
const DEFAULT_BUDGET: Duration = Duration::from_secs(600);
const DEFAULT_WARM_UP: Duration = Duration::from_secs(3);
/// Fresh starts of a sweep's point.
const SWEEP_STARTS: usize = 8;

impl Reader<'_> {
    fn question(&self, mistakes: &mut Mistakes<'_>) -> Option<Question> {
        let document = self.document;
        let variants: BTreeMap<String, VariantRecipe> = document
            .variants
            .iter()
            .map(|(name, changes)| {
                let recipe = of_variant(changes, self.known, mistakes);
                (name.clone(), recipe)
            })
            .collect();
        let kind = self.document.kind.value;
        self.refuse_keys_of_others(kind, mistakes);
        let spoken_of = |text: &Option<At<Text>>, mistakes: &mut Mistakes<'_>| match text {
            Some(text) => reference(text, &variants, self.known, mistakes),
            None => VariantRecipe::default(),
        };
        Some(match kind {
            StudyKind::Compare => {
                for (name, there) in [("a", &document.a), ("b", &document.b)] {
                    if there.is_none() {
                        self.missing(name, "\"base\"", kind, mistakes);
                    }
                }
                Question::Compare {
                    sides: Box::new([
                        spoken_of(&document.a, mistakes),
                        spoken_of(&document.b, mistakes),
                    ]),
                    to_the_end: false,
                }
            }
            StudyKind::Ladder => {
                let start = Box::new(spoken_of(&document.start, mistakes));
                let Some(rungs) = &document.rungs else {
                    self.missing("rungs", "a [[rungs]] for each step", kind, mistakes);
                    return None;
                };
                Question::Ladder {
                    start,
                    rungs: self.rungs(rungs, mistakes),
                }
            }
            StudyKind::Matrix => {
                let start = spoken_of(&document.start, mistakes);
                let Some(axes) = &document.axes else {
                    self.missing("axes", "an [[axes]] for each", kind, mistakes);
                    return None;
                };
                Question::Matrix(matrix(
                    document, axes, start, &variants, self.known, mistakes,
                ))
            }
            // The command line alone asks these.
            StudyKind::Tune | StudyKind::Noise => return None,
            StudyKind::Sweep => Question::Sweep {
                variants: self.swept(&variants, mistakes),
            },
        })
    }

    /// The variants of a sweep.
    fn swept(
        &self,
        variants: &BTreeMap<String, VariantRecipe>,
        mistakes: &mut Mistakes<'_>,
    ) -> Vec<VariantRecipe> {
        let Some(list) = &self.document.sweep else {
            return vec![VariantRecipe::default()];
        };
        if list.is_empty() {
            mistakes.add(
                list.at,
                "`sweep` is empty",
                "name at least one variant, or leave it out for base",
            );
        }
        let texts = list.iter();
        texts
            .map(|text| reference(text, variants, self.known, mistakes))
            .collect()
    }

    fn missing(&self, key: &str, what: &str, kind: StudyKind, mistakes: &mut Mistakes<'_>) {
        mistakes.add(
            self.document.kind.at,
            format!("a {kind} without `{key}`"),
            format!("add {key}: {what}"),
        );
    }

    /// Keys that have no meaning in a study of this kind would be read by nobody.
    fn refuse_keys_of_others(&self, kind: StudyKind, mistakes: &mut Mistakes<'_>) {
        let document = self.document;
        use StudyKind::{Compare, Ladder, Matrix, Sweep};
        let keys: [(&str, Option<usize>, &[StudyKind]); 12] = [
            ("controls", place(&document.controls), &[Ladder, Matrix]),
            ("a", place(&document.a), &[Compare]),
            ("b", place(&document.b), &[Compare]),
            ("goal", place(&document.goal), &[Compare]),
            ("rate", place(&document.rate), &[Compare]),
            ("start", place(&document.start), &[Ladder, Matrix]),
            ("combine", place(&document.combine), &[Matrix]),
            // Two variants of a sweep meet in duels, one or several others are measured each alone.
            (
                "protocol",
                place(&document.protocol),
                &[Compare, Ladder, Matrix],
            ),
            ("rungs", place(&document.rungs), &[Ladder]),
            ("axes", place(&document.axes), &[Matrix]),
            ("beside", place(&document.beside), &[Matrix]),
            ("sweep", place(&document.sweep), &[Sweep]),
        ];
        for (name, at, kinds) in keys {
            if let (Some(at), false) = (at, kinds.contains(&kind)) {
                let words: Vec<String> = kinds.iter().map(ToString::to_string).collect();
                mistakes.add(
                    at,
                    format!("`{name}` has no meaning in a {kind}"),
                    format!(
                        "leave it out, or write kind = \"{}\"",
                        words.join("\" or \"")
                    ),
                );
            }
        }
    }

    fn rungs(&self, rungs: &[Rung], mistakes: &mut Mistakes<'_>) -> Vec<RungRecipe> {
        let mut titles = BTreeSet::new();
        rungs
            .iter()
            .map(|rung| {
                let title = rung.title.trim().to_owned();
                if is_control(&title) {
                    mistakes.add(
                        rung.title.at,
                        format!("`{title}` is the name of a control, whose results would be taken for the rung's"),
                        "give the rung another title",
                    );
                }
                if !titles.insert(title.clone()) {
                    mistakes.add(
                        rung.title.at,
                        format!("a second rung is called `{title}`"),
                        "results are told apart by the titles: give it another",
                    );
                }
                let parts = rung.parts();
                let recipe = of_parts(&parts, self.known, mistakes);
                if parts.are_none(&recipe) && rung.cannot.is_none() {
                    mistakes.add(
                        rung.title.at,
                        format!("the rung `{title}` changes nothing"),
                        "add build, levers, config or runtime; or say under `cannot` why it cannot be tried today",
                    );
                }
                RungRecipe {
                    title,
                    published: rung.published.as_ref().map(|text| text.0.clone()),
                    why: rung.why.as_ref().map(|text| text.0.clone()),
                    cannot: rung.cannot.as_ref().map(|text| text.0.clone()),
                    recipe,
                }
            })
            .collect()
    }

    fn sized(
        &self,
        size: StudySize,
        entry: &SizeEntry,
        kind: StudyKind,
        question: &Question,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<StudyDescription> {
        let document = self.document;
        let mut threads = self.threads(entry, kind, mistakes)?;
        let engine = match &document.engine {
            Some(name) => engine(name, mistakes)?,
            None => DEFAULT_ENGINE.to_owned(),
        };
        let workloads = self.workloads(entry, kind, &engine, threads[0], mistakes)?;
        let is_job = workloads[0].load.workload.is_job();
        let sessions = |workload: &StudyWorkload| {
            let capture = workload.load.workload.capture();
            capture.map(|_| workload.load.threads)
        };
        let of_captures: Option<Vec<u32>> = workloads.iter().map(sessions).collect();
        if is_job {
            threads = vec![1];
            let cause = "several connections for a job";
            let remedy = "it is done on one connection: leave `threads` out";
            self.check_threads(entry, &threads, cause, remedy, mistakes);
        } else if let Some(sessions) = of_captures
            && kind != StudyKind::Sweep
        {
            // There is room for those of the largest of several captures.
            threads = vec![sessions.into_iter().max().unwrap_or(1)];
            let cause = "other connections for a capture than were captured";
            let remedy = "it is replayed by as many as had been there: leave `threads` out";
            self.check_threads(entry, &threads, cause, remedy, mistakes);
        }
        let protocol = self.protocol(question, is_job, mistakes);
        let (goal, rate) = self.goal(&workloads[0].load, mistakes);
        // Reading has checked how quantities are written.
        let time = |value: &Option<DurationText>| value.as_ref().and_then(DurationText::value);
        let share = |value: &Option<ShareText>| value.as_ref().and_then(ShareText::value);
        let mut study = StudyDescription {
            about: self.about(size, entry),
            server: document.server.as_ref().map_or_else(
                || DEFAULT_SERVER.to_owned(),
                |name| server(name, self.known, mistakes),
            ),
            origin: self.origin(mistakes),
            engine,
            workloads,
            threads,
            protocol,
            goal,
            rate,
            alpha: document
                .alpha
                .as_ref()
                .and_then(Probability::value)
                .unwrap_or(0.05),
            min_effect: share(&document.min_effect).unwrap_or(0.005),
            seed: document.seed,
            budget: time(&entry.budget)
                .or(time(&document.budget))
                .unwrap_or(DEFAULT_BUDGET),
            duels: entry.duels.or(document.duels).map_or(
                if kind == StudyKind::Sweep {
                    SWEEP_STARTS
                } else {
                    MAX_DUELS
                },
                |duels| duels as usize,
            ),
            couples: entry
                .couples
                .or(document.couples)
                .map(|couples| couples as u32),
            slice: time(&entry.slice).or(time(&document.slice)),
            warm_up: time(&entry.warm_up)
                .or(time(&document.warm_up))
                .unwrap_or(DEFAULT_WARM_UP),
            disturbance: share(&document.disturbance).unwrap_or(HALF_WEIGHT),
            controls: document.controls.as_ref().is_none_or(|word| word.value),
            findings: Vec::new(),
            client_host: document
                .client_host
                .as_ref()
                .map(|host| host.trim().to_owned()),
            profile: true,
            build_budget: None,
            question: question.clone(),
        };
        keep_part(&mut study, &entry.part, mistakes);
        Some(study)
    }

    /// The study's words for people.
    fn about(&self, size: StudySize, entry: &SizeEntry) -> About {
        let document = self.document;
        let published = document.published.as_ref();
        About {
            title: document.title.trim().to_owned(),
            asked: document.asked.trim().to_owned(),
            changed: document.changed.trim().to_owned(),
            measured: document.measured.trim().to_owned(),
            source: document.source.as_ref().map(|text| text.0.clone()),
            published: published.map(|table| table.trim_matches('\n').to_owned()),
            size: size.to_string(),
            note: entry.note.as_ref().map(|text| text.0.clone()),
        }
    }

    /// What decides, and the rate at which latencies are compared.
    fn goal(&self, load: &Load, mistakes: &mut Mistakes<'_>) -> (Goal, Option<RateChoice>) {
        let given = self.document.goal.as_ref();
        // Words were checked with the structure.
        let goal: Goal = given.and_then(|goal| goal.parse().ok()).unwrap_or_default();
        let at_rate = self.document.rate.as_ref().map(|rate| rate.at);
        let latency = given.filter(|_| goal.is_latency());
        if let Some(at) = latency.map(|given| given.at).or(at_rate)
            && load.workload.capture().is_some()
        {
            mistakes.add(
                at,
                "a capture's transactions arrive when they had, not at a rate".to_owned(),
                "goal = \"throughput\", or goal = \"cpu\", without rate",
            );
        }
        if let (Some(given), true) = (latency, load.workload.is_job()) {
            mistakes.add(
                given.at,
                "goal: the time of a batch job is its throughput, and nothing arrives at a rate"
                    .to_owned(),
                "goal = \"throughput\", or goal = \"cpu\"",
            );
        }
        let rate = match &self.document.rate {
            None => goal.is_latency().then_some(RateChoice::USUAL),
            Some(text) if !goal.is_latency() => {
                mistakes.add(
                    text.at,
                    format!("rate: is for latencies; the goal is {goal}"),
                    "goal = \"p99\", or leave out rate",
                );
                None
            }
            Some(text) => match text.parse() {
                Ok(rate) => Some(rate),
                Err(error) => {
                    mistakes.add(text.at, format!("rate: {error}"), "rate = \"70%\"");
                    None
                }
            },
        };
        (goal, rate)
    }

    /// How variants meet in this study.
    fn protocol(&self, question: &Question, is_job: bool, mistakes: &mut Mistakes<'_>) -> Protocol {
        let kind = match question {
            Question::Sweep { variants } => return sweep_protocol(variants.len()),
            other => other.kind(),
        };
        let Some(word) = &self.document.protocol else {
            return if is_job {
                Protocol::Pair
            } else {
                Protocol::Duel
            };
        };
        let at = word.at;
        match word.value {
            Meeting::Pair => Protocol::Pair,
            other if is_job => {
                mistakes.add(
                    at,
                    format!("protocol = \"{}\" for a job", format!("{other:?}").to_lowercase()),
                    "a single long job cannot be sliced, its runs meet in pairs: leave `protocol` out",
                );
                Protocol::Pair
            }
            Meeting::Trimmed => {
                if kind != StudyKind::Compare {
                    mistakes.add(
                        at,
                        format!("protocol = \"trimmed\" in a {kind}"),
                        "it has no interval, so nothing can be judged by it: take duel or pair, or write kind = \"compare\"",
                    );
                }
                Protocol::Trimmed
            }
            Meeting::Duel => Protocol::Duel,
        }
    }

    /// Thread counts other than these are a mistake where the workload has connections of its own.
    fn check_threads(
        &self,
        entry: &SizeEntry,
        own: &[u32],
        cause: &str,
        remedy: &str,
        mistakes: &mut Mistakes<'_>,
    ) {
        let given = entry.threads.as_ref().or(self.document.threads.as_ref());
        if let Some(value) = given
            && value.value().is_some_and(|counts| counts != own)
        {
            mistakes.add(value.at, cause, remedy);
        }
    }

    fn threads(
        &self,
        entry: &SizeEntry,
        kind: StudyKind,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<Vec<u32>> {
        let given = entry.threads.as_ref().or(self.document.threads.as_ref());
        let counts = match given {
            None if kind == StudyKind::Sweep => quantity::threads("1..64").ok()?,
            None => vec![32],
            Some(value) => value.value()?,
        };
        let at = given.map_or(0, |value| value.at);
        match kind {
            StudyKind::Compare | StudyKind::Ladder if counts.len() > 1 => {
                mistakes.add(
                    at,
                    format!("several thread counts in a {kind}"),
                    "give one; a matrix or a sweep takes several",
                );
                None
            }
            StudyKind::Sweep if counts.last().is_some_and(|&most| most > MAX_SWEPT) => {
                mistakes.add(
                    at,
                    format!("a sweep over more than {MAX_SWEPT} threads"),
                    format!("sweep from 1 to {MAX_SWEPT}"),
                );
                None
            }
            _ => Some(counts),
        }
    }

    fn workloads(
        &self,
        entry: &SizeEntry,
        kind: StudyKind,
        engine: &str,
        threads: u32,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<Vec<StudyWorkload>> {
        let document = self.document;
        let fallback;
        let entries: Vec<&Workload> = match (&document.workload, &document.workloads) {
            (Some(_), Some(list)) => {
                mistakes.add(
                    list.at,
                    "both `workload` and `workloads`",
                    "give one of them",
                );
                return None;
            }
            (Some(one), None) => vec![&**one],
            (None, Some(list)) => {
                if kind != StudyKind::Matrix && list.len() > 1 {
                    mistakes.add(
                        list.at,
                        format!("several workloads in a {kind}"),
                        "give one under [workload]; a matrix takes several",
                    );
                    return None;
                }
                list.iter().map(|one| &one.value).collect()
            }
            (None, None) => {
                fallback = Workload {
                    name: At {
                        at: 0,
                        value: Text("oltp_read_only".to_owned()),
                    },
                    title: None,
                    options: BTreeMap::new(),
                    trained: false,
                };
                vec![&fallback]
            }
        };
        let mut unused: BTreeMap<&str, usize> = entry
            .options
            .iter()
            .map(|(name, value)| (name.as_str(), value.at))
            .collect();
        let mut workloads: Vec<StudyWorkload> = Vec::new();
        let wanted = entries.len();
        for workload in entries {
            let Some(found) =
                self.one_workload(workload, entry, engine, threads, &mut unused, mistakes)
            else {
                continue;
            };
            if let Some((at, cause, remedy)) = misfit(workload, &found, kind, &workloads) {
                mistakes.add(at, cause, remedy);
            }
            workloads.push(found);
        }
        // Of a workload that is not known nobody can tell the options.
        if workloads.len() < wanted {
            return None;
        }
        for (name, at) in unused {
            mistakes.add(
                at,
                format!("no workload of this study has the option `{name}`"),
                "options of a size are for the workloads that have them: correct the name",
            );
        }
        (!workloads.is_empty()).then_some(workloads)
    }

    fn one_workload<'e>(
        &self,
        workload: &Workload,
        entry: &'e SizeEntry,
        engine: &str,
        threads: u32,
        unused: &mut BTreeMap<&'e str, usize>,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<StudyWorkload> {
        let base = self.base_workload(&workload.name, mistakes)?;
        let at_name = workload.name.at;
        let has = settings_of(&base);
        // sysbench's names may be written with dashes.
        let known = |option: &str| {
            let names = [option.to_owned(), option.replace('-', "_")];
            names.into_iter().find(|name| has.contains(name))
        };
        let mut options: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for (option, value) in &workload.options {
            let at = value.at;
            let Some(name) = known(option) else {
                mistakes.add(
                    at,
                    format!("{} has no option `{option}`", base.name()),
                    format!(
                        "{}options: {}",
                        did_you_mean(&option.replace('-', "_"), has.iter().map(String::as_str)),
                        has.join(", ")
                    ),
                );
                return None;
            };
            options.insert(name, (value.0.clone(), at));
        }
        for (option, value) in &entry.options {
            if let Some(name) = known(option) {
                unused.remove(option.as_str());
                options.insert(name, (value.0.clone(), value.at));
            }
        }
        // One by one first, so that a value is blamed where it stands.
        for (name, (value, at)) in &options {
            let alone = [(name.as_str(), value.as_str())];
            if let Err(error) = load_of(base.clone(), alone, engine, threads) {
                blame(*at, error.explain(), OPTIONS, mistakes);
                return None;
            }
        }
        let pairs = options
            .iter()
            .map(|(name, (value, _))| (name.as_str(), value.as_str()));
        match load_of(base, pairs, engine, threads) {
            Ok(load) => Some(StudyWorkload {
                name: match &workload.title {
                    Some(title) => title.trim().to_owned(),
                    None => load.workload.name().to_owned(),
                },
                trained: workload.trained,
                load,
            }),
            Err(error) => {
                blame(at_name, error.explain(), OPTIONS, mistakes);
                None
            }
        }
    }

    /// What of the user's own server the study starts from.
    fn origin(&self, mistakes: &mut Mistakes<'_>) -> Origin {
        let document = self.document;
        let mut origin = Origin::default();
        origin.machine.cpus = document.cpus;
        if let Some(text) = &document.memory {
            match quantity::bytes(text) {
                Ok(bytes) => origin.machine.memory = Some(bytes),
                Err(expected) => {
                    mistakes.add(text.at, format!("memory: {expected}"), "memory = \"64G\"")
                }
            }
        }
        if let Some(text) = &document.config_file {
            match ConfigSource::file(&self.known.folder.join(text.trim())) {
                Ok(source) => origin.config = Some(source),
                Err(error) => blame(
                    text.at,
                    error
                        .explain()
                        .with_cause(|cause| format!("config_file: {cause}")),
                    "name an option file by its path from this file's folder",
                    mistakes,
                ),
            }
        }
        if let Some(text) = &document.data {
            match DataSource::open(&self.known.folder.join(text.trim())) {
                Ok(source) => {
                    let database = document.schema.as_ref();
                    origin.data = Some(Data {
                        source,
                        database: database.map(|name| name.trim().to_owned()),
                    });
                }
                Err(error) => blame(
                    text.at,
                    error.explain().with_cause(|cause| format!("data: {cause}")),
                    "name a data directory, a prepared backup or a dump by its path from this file's folder",
                    mistakes,
                ),
            }
        } else if let Some(name) = &document.schema {
            mistakes.add(
                name.at,
                "schema: names a database of data, and there are none",
                "add data, or leave it out",
            );
        }
        origin
    }

    fn check_client_host(&self, mistakes: &mut Mistakes<'_>) {
        let Some(host) = &self.document.client_host else {
            return;
        };
        if let Err(error) = check_host(host.trim()) {
            mistakes.add(host.at, error.to_string(), error.remedy());
        }
    }

    /// The workload of this name or path, nothing set yet.
    fn base_workload(&self, name: &At<Text>, mistakes: &mut Mistakes<'_>) -> Option<WorkloadSpec> {
        let at = name.at;
        let text = name.trim();
        if is_workload_file(text) {
            let path = text.strip_prefix("./").unwrap_or(text);
            return workload_of_file(&self.known.folder.join(path))
                .map_err(|mistake| blame(at, mistake.explanation(), OPTIONS, mistakes))
                .ok();
        }
        match WorkloadKind::from_str(text) {
            Ok(kind) => Some(WorkloadSpec::of(kind)),
            Err(_) => {
                let names = WorkloadKind::names();
                mistakes.add(
                    at,
                    format!("no workload is called `{text}`"),
                    format!(
                        "{}known: {}; one of your own is named by its path: ./{text}.toml",
                        did_you_mean(text, names.iter().copied()),
                        names.join(", ")
                    ),
                );
                None
            }
        }
    }
}

/// Where a value stands, if it is there.
fn place<T>(value: &Option<At<T>>) -> Option<usize> {
    value.as_ref().map(|value| value.at)
}

/// What to do about a workload's option.
const OPTIONS: &str = "docs/workloads.md tells the options";

/// Why `found` does not fit in here: where, what, what to do.
fn misfit(
    workload: &Workload,
    found: &StudyWorkload,
    kind: StudyKind,
    before: &[StudyWorkload],
) -> Option<(usize, String, &'static str)> {
    let (at_name, name) = (workload.name.at, &found.name);
    let at_title = workload.title.as_ref().unwrap_or(&workload.name).at;
    let is_job = |workload: &StudyWorkload| workload.load.workload.is_job();
    let is_capture = |workload: &StudyWorkload| workload.load.workload.capture().is_some();
    if before.iter().any(|other| other.name == *name) {
        return Some((
            at_title,
            format!("a second workload is called `{name}`"),
            "results are told apart by that: give one of them another title",
        ));
    }
    // What a cell is called ends with its workload and its threads, with commas before them.
    if name.contains(',') {
        return Some((
            at_title,
            format!("a comma in what a workload is called: `{name}`"),
            "give it a title without one",
        ));
    }
    if is_job(found) && kind == StudyKind::Sweep {
        return Some((
            at_name,
            format!("{name} is a job, done on one connection: there is nothing to sweep"),
            "write kind = \"compare\", \"ladder\" or \"matrix\"",
        ));
    }
    if is_capture(found) && kind == StudyKind::Sweep {
        return Some((
            at_name,
            format!(
                "{name} is a capture, whose connections are those that were captured: there is nothing to sweep"
            ),
            "write kind = \"compare\", \"ladder\" or \"matrix\"",
        ));
    }
    if before.iter().any(|other| is_job(other) != is_job(found)) {
        return Some((
            at_name,
            "a job and a load in one matrix".to_owned(),
            "jobs meet in pairs, loads in duels: give each a study of its own",
        ));
    }
    let others = before
        .iter()
        .find(|other| is_capture(other) != is_capture(found));
    others.map(|_| {
        (
            at_name,
            "a capture and another load in one matrix".to_owned(),
            "a capture has connections of its own, the other as many as `threads` says: give each a study of its own",
        )
    })
}
