//! From a file's text to a study: what the names in it mean, and whether it all fits together.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use niagara_load::WorkloadKind;
use niagara_store::About;
use toml::{Spanned, Value};

use super::changes::{Parts, engine, of_parts, of_variant, reference, server};
use super::document::{Axis, Document, Rung, SizeEntry, Workload, plain};
use super::mistake::{Mistake, Mistakes};
use super::shape::SIZES;
use super::structure;
use super::study::{
    AxisRecipe, LevelRecipe, RungRecipe, StudyDescription, StudyKind, StudyQuestion, StudySize,
    StudyWorkload, VariantRecipe,
};
use super::workload::{load_of, options_of};
use crate::lever::{Lever, did_you_mean};
use crate::quantity;
use crate::spec::Protocol;

/// What names in a study file may mean.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Levers.
    pub levers: &'a [Lever],
    /// Servers of the catalogue.
    pub servers: &'a [String],
}

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
pub fn read_study(file: &str, text: &str, known: &Known<'_>) -> Result<StudyFile, Vec<Mistake>> {
    let mut mistakes = Mistakes::of(file, text);
    structure::check(text, &mut mistakes);
    if !mistakes.is_empty() {
        return Err(mistakes.into_vec());
    }
    let document: Document = match toml::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            mistakes.add(at, error.message(), "docs/studies.md shows the format");
            return Err(mistakes.into_vec());
        }
    };
    let reader = Reader {
        document: &document,
        known,
    };
    let question = reader.question(&mut mistakes);
    let mut sizes = Vec::new();
    let empty = SizeEntry::default();
    for (size, entry) in [
        (StudySize::Small, &document.size.small),
        (StudySize::Original, &document.size.original),
    ] {
        let entry = entry.as_ref().unwrap_or(&empty);
        if let (Some(question), Some(kind)) = (&question, reader.kind())
            && let Some(study) = reader.sized(size, entry, kind, question, &mut mistakes)
        {
            sizes.push((size, study));
        }
    }
    if mistakes.is_empty() && sizes.len() == SIZES.len() {
        Ok(StudyFile { sizes })
    } else {
        Err(mistakes.into_vec())
    }
}

struct Reader<'a> {
    document: &'a Document,
    known: &'a Known<'a>,
}

const DEFAULT_SERVER: &str = "mariadb-10.11";
const DEFAULT_ENGINE: &str = "InnoDB";
const DEFAULT_BUDGET: Duration = Duration::from_secs(600);
const DEFAULT_WARM_UP: Duration = Duration::from_secs(3);
const MOST_DUELS: usize = 44;
/// Fresh starts of a sweep's point.
const SWEEP_STARTS: usize = 8;
/// Threads of a sweep at most: every one is a connection of the load generator and of the server.
const MOST_SWEPT: u32 = 1024;

impl Reader<'_> {
    fn kind(&self) -> Option<StudyKind> {
        Some(match self.document.kind.get_ref().as_str() {
            "compare" => StudyKind::Compare,
            "ladder" => StudyKind::Ladder,
            "matrix" => StudyKind::Matrix,
            "sweep" => StudyKind::Sweep,
            _ => return None,
        })
    }

    fn question(&self, mistakes: &mut Mistakes<'_>) -> Option<StudyQuestion> {
        let document = self.document;
        let variants: BTreeMap<String, VariantRecipe> = document
            .variants
            .iter()
            .map(|(name, changes)| {
                let recipe = of_variant(changes.get_ref(), self.known, mistakes);
                (name.get_ref().clone(), recipe)
            })
            .collect();
        let kind = self.kind()?;
        self.refuse_keys_of_others(kind, mistakes);
        let spoken_of = |text: &Option<Spanned<String>>, mistakes: &mut Mistakes<'_>| match text {
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
                StudyQuestion::Compare {
                    sides: Box::new([
                        spoken_of(&document.a, mistakes),
                        spoken_of(&document.b, mistakes),
                    ]),
                }
            }
            StudyKind::Ladder => {
                let start = Box::new(spoken_of(&document.start, mistakes));
                let Some(rungs) = &document.rungs else {
                    self.missing("rungs", "a [[rungs]] for each step", kind, mistakes);
                    return None;
                };
                StudyQuestion::Ladder {
                    start,
                    rungs: self.rungs(rungs.get_ref(), mistakes),
                }
            }
            StudyKind::Matrix => {
                let start = Box::new(spoken_of(&document.start, mistakes));
                let Some(axes) = &document.axes else {
                    self.missing("axes", "an [[axes]] for each", kind, mistakes);
                    return None;
                };
                StudyQuestion::Matrix {
                    start,
                    axes: self.axes(axes.get_ref(), mistakes),
                    all: document
                        .combine
                        .as_ref()
                        .is_none_or(|word| word.get_ref() == "all"),
                }
            }
            StudyKind::Sweep => StudyQuestion::Sweep {
                variants: match &document.sweep {
                    None => vec![VariantRecipe::default()],
                    Some(list) => {
                        if list.get_ref().is_empty() {
                            mistakes.add(
                                list.span().start,
                                "`sweep` is empty",
                                "name at least one variant, or leave it out for base",
                            );
                        }
                        list.get_ref()
                            .iter()
                            .map(|text| reference(text, &variants, self.known, mistakes))
                            .collect()
                    }
                },
            },
        })
    }

    fn missing(&self, key: &str, what: &str, kind: StudyKind, mistakes: &mut Mistakes<'_>) {
        mistakes.add(
            self.document.kind.span().start,
            format!("a {kind} without `{key}`"),
            format!("add {key}: {what}"),
        );
    }

    /// Keys that say nothing in a study of this kind would be read by nobody.
    fn refuse_keys_of_others(&self, kind: StudyKind, mistakes: &mut Mistakes<'_>) {
        let document = self.document;
        let text = |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.span().start);
        use StudyKind::{Compare, Ladder, Matrix, Sweep};
        let keys: [(&str, Option<usize>, &[StudyKind]); 7] = [
            ("a", text(&document.a), &[Compare]),
            ("b", text(&document.b), &[Compare]),
            ("start", text(&document.start), &[Ladder, Matrix]),
            ("combine", text(&document.combine), &[Matrix]),
            (
                "rungs",
                document.rungs.as_ref().map(|rungs| rungs.span().start),
                &[Ladder],
            ),
            (
                "axes",
                document.axes.as_ref().map(|axes| axes.span().start),
                &[Matrix],
            ),
            (
                "sweep",
                document.sweep.as_ref().map(|list| list.span().start),
                &[Sweep],
            ),
        ];
        for (name, at, kinds) in keys {
            if let (Some(at), false) = (at, kinds.contains(&kind)) {
                let words: Vec<String> = kinds.iter().map(ToString::to_string).collect();
                mistakes.add(
                    at,
                    format!("`{name}` says nothing in a {kind}"),
                    format!(
                        "leave it out, or write kind = \"{}\"",
                        words.join("\" or \"")
                    ),
                );
            }
        }
    }

    fn rungs(&self, rungs: &[Spanned<Rung>], mistakes: &mut Mistakes<'_>) -> Vec<RungRecipe> {
        let mut titles = BTreeSet::new();
        rungs
            .iter()
            .map(|entry| {
                let rung = entry.get_ref();
                let title = rung.title.get_ref().trim().to_owned();
                if !titles.insert(title.clone()) {
                    mistakes.add(
                        rung.title.span().start,
                        format!("a second rung is called `{title}`"),
                        "results are told apart by the titles: give it another",
                    );
                }
                let parts = Parts {
                    build: &rung.build,
                    levers: &rung.levers,
                    config: &rung.config,
                    runtime: &rung.runtime,
                };
                let recipe = of_parts(&parts, self.known, mistakes);
                if parts.are_none(&recipe) && rung.cannot.is_none() {
                    mistakes.add(
                        rung.title.span().start,
                        format!("the rung `{title}` changes nothing"),
                        "add build, levers, config or runtime; or say under `cannot` why it cannot be tried today",
                    );
                }
                RungRecipe {
                    title,
                    published: rung.published.clone(),
                    why: rung.why.clone(),
                    cannot: rung.cannot.clone(),
                    recipe,
                }
            })
            .collect()
    }

    fn axes(&self, axes: &[Spanned<Axis>], mistakes: &mut Mistakes<'_>) -> Vec<AxisRecipe> {
        let mut names = BTreeSet::new();
        axes.iter()
            .map(|entry| {
                let axis = entry.get_ref();
                let name = axis.name.get_ref().trim().to_owned();
                if !names.insert(name.clone()) {
                    mistakes.add(
                        axis.name.span().start,
                        format!("a second axis is called `{name}`"),
                        "give it another name",
                    );
                }
                if axis.levels.len() < 2 {
                    mistakes.add(
                        axis.name.span().start,
                        format!("the axis `{name}` has one level"),
                        "an axis has a baseline and at least one other level",
                    );
                }
                let mut known = BTreeSet::new();
                let levels = axis
                    .levels
                    .iter()
                    .map(|level| {
                        let level = level.get_ref();
                        let own = level.name.get_ref().trim().to_owned();
                        if !known.insert(own.clone()) {
                            mistakes.add(
                                level.name.span().start,
                                format!("a second level of `{name}` is called `{own}`"),
                                "give it another name",
                            );
                        }
                        LevelRecipe {
                            name: own,
                            recipe: of_parts(
                                &Parts {
                                    build: &level.build,
                                    levers: &level.levers,
                                    config: &level.config,
                                    runtime: &level.runtime,
                                },
                                self.known,
                                mistakes,
                            ),
                        }
                    })
                    .collect();
                AxisRecipe { name, levels }
            })
            .collect()
    }

    fn sized(
        &self,
        size: StudySize,
        entry: &SizeEntry,
        kind: StudyKind,
        question: &StudyQuestion,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<StudyDescription> {
        let document = self.document;
        let threads = self.threads(entry, kind, mistakes)?;
        let engine = match &document.engine {
            Some(name) => engine(name, mistakes)?,
            None => DEFAULT_ENGINE.to_owned(),
        };
        let protocol = match document.protocol.as_deref() {
            Some("pair") => Protocol::Pair,
            Some("trimmed") => Protocol::Trimmed,
            _ => Protocol::Duel,
        };
        let workloads = self.workloads(entry, kind, &engine, threads[0], mistakes)?;
        // Texts that the structure's check let pass can be read.
        let time = |value: &Option<Value>| {
            value
                .as_ref()
                .and_then(|value| quantity::duration(&plain(value)).ok())
        };
        let share = |value: &Option<Value>| {
            value
                .as_ref()
                .and_then(|value| quantity::share(&plain(value)).ok())
        };
        Some(StudyDescription {
            about: About {
                title: document.title.trim().to_owned(),
                asked: document.asked.trim().to_owned(),
                changed: document.changed.trim().to_owned(),
                measured: document.measured.trim().to_owned(),
                source: document.source.clone(),
                published: document
                    .published
                    .as_ref()
                    .map(|table| table.trim_matches('\n').to_owned()),
                size: size.to_string(),
                note: entry.note.clone(),
            },
            server: document.server.as_ref().map_or_else(
                || DEFAULT_SERVER.to_owned(),
                |name| server(name, self.known, mistakes),
            ),
            engine,
            workloads,
            threads,
            protocol,
            alpha: document.alpha.unwrap_or(0.05),
            min_effect: share(&document.min_effect).unwrap_or(0.005),
            seed: document.seed,
            budget: time(&entry.budget)
                .or(time(&document.budget))
                .unwrap_or(DEFAULT_BUDGET),
            duels: entry.duels.or(document.duels).map_or(
                if kind == StudyKind::Sweep {
                    SWEEP_STARTS
                } else {
                    MOST_DUELS
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
            disturbance: share(&document.disturbance).unwrap_or(0.05),
            question: question.clone(),
        })
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
            Some(value) => quantity::threads(&plain(value.get_ref())).ok()?,
        };
        let at = given.map_or(0, |value| value.span().start);
        match kind {
            StudyKind::Compare | StudyKind::Ladder if counts.len() > 1 => {
                mistakes.add(
                    at,
                    format!("several thread counts in a {kind}"),
                    "give one; a matrix or a sweep takes several",
                );
                None
            }
            StudyKind::Sweep if counts.last().is_some_and(|&most| most > MOST_SWEPT) => {
                mistakes.add(
                    at,
                    format!("a sweep over more than {MOST_SWEPT} threads"),
                    format!("sweep from 1 to {MOST_SWEPT}"),
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
        let entries: Vec<&Spanned<Workload>> = match (&document.workload, &document.workloads) {
            (Some(_), Some(list)) => {
                mistakes.add(
                    list.span().start,
                    "both `workload` and `workloads`",
                    "give one of them",
                );
                return None;
            }
            (Some(one), None) => vec![one],
            (None, Some(list)) => {
                if kind != StudyKind::Matrix && list.get_ref().len() > 1 {
                    mistakes.add(
                        list.span().start,
                        format!("several workloads in a {kind}"),
                        "give one under [workload]; a matrix takes several",
                    );
                    return None;
                }
                list.get_ref().iter().collect()
            }
            (None, None) => {
                fallback = Spanned::new(
                    0..0,
                    Workload {
                        name: Spanned::new(0..0, "oltp_read_only".to_owned()),
                        options: BTreeMap::new(),
                        trained: false,
                    },
                );
                vec![&fallback]
            }
        };
        let mut unused: BTreeMap<&str, usize> = entry
            .options
            .iter()
            .map(|(name, value)| (name.as_str(), value.span().start))
            .collect();
        let mut workloads = Vec::new();
        let wanted = entries.len();
        for workload in entries {
            let workload = workload.get_ref();
            if let Some(found) =
                self.one_workload(workload, entry, engine, threads, &mut unused, mistakes)
            {
                workloads.push(found);
            }
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
        let name = workload.name.get_ref().trim();
        let Ok(kind) = WorkloadKind::from_str(name) else {
            let names = WorkloadKind::ALL.map(WorkloadKind::name);
            mistakes.add(
                workload.name.span().start,
                format!("no workload is called `{name}`"),
                format!("{}known: {}", did_you_mean(name, names), names.join(", ")),
            );
            return None;
        };
        let has = options_of(kind);
        let mut options: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for (option, value) in &workload.options {
            let at = value.span().start;
            let name = option.replace('-', "_");
            if !has.contains(&name.as_str()) {
                mistakes.add(
                    at,
                    format!("{kind} has no option `{option}`"),
                    format!(
                        "{}options: {}",
                        did_you_mean(&name, has.iter().copied()),
                        has.join(", ")
                    ),
                );
                return None;
            }
            options.insert(name, (plain(value.get_ref()), at));
        }
        for (option, value) in &entry.options {
            let name = option.replace('-', "_");
            if has.contains(&name.as_str()) {
                unused.remove(option.as_str());
                options.insert(name, (plain(value.get_ref()), value.span().start));
            }
        }
        // One by one first, so that a value is blamed where it stands.
        for (name, (value, at)) in &options {
            if let Err(error) = load_of(kind, [(name.as_str(), value.as_str())], engine, threads) {
                mistakes.add(
                    *at,
                    error.to_string(),
                    "docs/workloads.md tells the options",
                );
                return None;
            }
        }
        let pairs = options
            .iter()
            .map(|(name, (value, _))| (name.as_str(), value.as_str()));
        match load_of(kind, pairs, engine, threads) {
            Ok(load) => Some(StudyWorkload {
                name: name.to_owned(),
                trained: workload.trained,
                load,
            }),
            Err(error) => {
                mistakes.add(
                    workload.name.span().start,
                    error.to_string(),
                    "docs/workloads.md tells the options",
                );
                None
            }
        }
    }
}
