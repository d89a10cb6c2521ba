//! How a study is opened: what decides what it measures, the key made of that, its folder and its seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use niagara_build::Recipe;
use niagara_error::bail;
use niagara_model::StudyRecord;
use niagara_store::Store;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answering::matrix::parts::{PartOpening, PartsSoFar};
use crate::asking::question::{Question, StudyDescription};
use crate::asking::recipe::VariantRecipe;
use crate::lever::Item;
use crate::plans::spec::DuelSettings;
use crate::plans::study_key::study_key;
use crate::studies::checkpoint::Checkpoint;
use crate::studies::host_identity::HostIdentity;
use crate::studies::results_folder::{AskedAgain, RESULTS_FILE, ResultsFolder, choose};
use crate::studies::session::Session;
use crate::studies::study::{Study, StudyOptions};

/// A study that has its folder, and can be opened once all is set up.
pub(crate) struct Opening<'a> {
    question: &'a StudyDescription,
    session: &'a Session<'a>,
    pub duel_settings: DuelSettings,
    plan: Value,
    key: String,
    folder: ResultsFolder,
    /// Of a matrix: the part of it that is opened.
    part: Option<PartOpening>,
}

impl<'a> Opening<'a> {
    /// Finds the study's folder; nothing is written yet. A matrix is one study, whatever part of it is asked for.
    ///
    /// # Errors
    /// The folder holds something else, or all that is asked for; what it holds was measured elsewhere.
    pub(crate) fn choose(question: &'a StudyDescription, session: &'a Session<'a>) -> Result<Self> {
        let (key, plan) = key_of(question)?;
        let folder = folder_of(question, session.folder, session.name, &key)?;
        let opening = Self {
            question,
            session,
            duel_settings: question.duel_settings(),
            plan,
            key,
            part: part_in(question, &folder)?,
            folder,
        };
        if let (Question::Matrix(matrix), Some(part)) = (&question.question, &opening.part) {
            let folder = opening.folder();
            if part.is_there() {
                bail!(part.nothing_to_do(matrix, question, folder, session.command_of_part));
            }
            part.check_place(folder, &HostIdentity::of(session)?)?;
        }
        Ok(opening)
    }

    /// The study's folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// What a reader must know of the folders before it; nothing of a study that is continued.
    pub(crate) fn passed_over(&self) -> Option<&str> {
        self.folder.passed_over.as_deref()
    }

    /// The part of a matrix that is opened.
    pub(crate) fn part(&self) -> Option<&PartOpening> {
        self.part.as_ref()
    }

    /// What the unfinished study that is continued has decided under this key; nothing of one that is begun.
    ///
    /// # Errors
    /// Its results cannot be read.
    pub(crate) fn kept<T: DeserializeOwned>(&self, key: &Checkpoint<T>) -> Result<Option<T>> {
        if self.folder.seed.is_none() {
            return Ok(None);
        }
        let file = self.folder.path.join(RESULTS_FILE);
        key.kept_in(&Store::open_read_only(&file)?, &file)
    }

    /// Begins the study, or continues the unfinished one, with the seed that it began with.
    ///
    /// # Errors
    /// Another Niagara runs it, or added a part to the same matrix since the folder was chosen; the folder holds another study, or
    /// cannot be written.
    pub(crate) fn open(&self) -> Result<Study> {
        let mut machine = serde_json::to_value(self.session.inventory.fingerprint()?)?;
        if let Some(client) = &self.session.inventory.client {
            machine["client_host"] = serde_json::to_value(client.record())?;
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let seed = self
            .folder
            .seed
            .or(self.question.seed)
            // Kept below 2^31: easy to type after --seed.
            .unwrap_or((now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0x7fff_ffff);
        let record = StudyRecord {
            kind: self.question.question.kind().to_string(),
            command: self.session.command.to_owned(),
            key: self.key.clone(),
            seed,
            started_unix_ms: now.as_millis() as i64,
            plan: self.plan.clone(),
            machine,
            niagara_version: self.session.version.to_owned(),
        };
        let options = StudyOptions {
            folder: self.folder.path.clone(),
            budget_seconds: self.question.budget.as_secs_f64(),
            duel_settings: self.duel_settings,
            protocol: self.question.protocol,
            begins_part: self.part.as_ref().is_some_and(|part| part.begins),
        };
        Study::open_if(&record, options, |store| self.check_part(store))
    }

    /// Whether the part of a matrix that was chosen is still the next one: between that and now are builds, which take minutes to
    /// hours, and another command may have measured a part meanwhile. What it measured would be measured again and lost, and what it
    /// spent of the error probability would be spent again.
    fn check_part(&self, store: Option<&Store>) -> Result<()> {
        let (Question::Matrix(matrix), Some(chosen)) = (&self.question.question, &self.part) else {
            return Ok(());
        };
        let now = PartOpening::read(self.question, matrix, store)?;
        if chosen.is_still(&now)? {
            return Ok(());
        }
        bail!(
            "{}: another command measured a part of this matrix while this one set up its servers",
            self.folder().display();
            remedy: "give the same command again: it measures what is left, and what was built is kept"
        )
    }
}

/// What the study is known by, and everything that decides what it measures. The budget of a matrix is that of a part.
fn key_of(question: &StudyDescription) -> Result<(String, Value)> {
    let kind = question.question.kind().to_string();
    let plan = identity(question)?;
    let is_whole = !matches!(question.question, Question::Matrix(_));
    let key = study_key(&(
        &kind,
        &plan,
        question.duel_settings(),
        question.protocol,
        is_whole.then_some(question.budget),
        question.seed,
    ))?;
    Ok((key, plan))
}

fn folder_of(
    question: &StudyDescription,
    asked: Option<&Path>,
    name: &str,
    key: &str,
) -> Result<ResultsFolder> {
    let again = match question.question {
        Question::Matrix(_) => AskedAgain::GoesOn,
        _ => AskedAgain::Anew,
    };
    let kind = question.question.kind().to_string();
    choose(asked, &kind, name, key, again)
}

/// The results that a folder holds of the study.
fn results_in(folder: &ResultsFolder) -> Result<Option<Store>> {
    let file = folder.path.join(RESULTS_FILE);
    let store = folder.seed.map(|_| Store::open_read_only(&file));
    Ok(store.transpose()?)
}

/// The part of a matrix that comes next in its folder; `None` of other studies.
fn part_in(question: &StudyDescription, folder: &ResultsFolder) -> Result<Option<PartOpening>> {
    let Question::Matrix(matrix) = &question.question else {
        return Ok(None);
    };
    let store = results_in(folder)?;
    PartOpening::read(question, matrix, store.as_ref()).map(Some)
}

/// How far a matrix is that `question` asks for a part of, in the folder that it would be measured in, which is called by `name` unless
/// one is named; `None` of other studies, and where nothing is there.
///
/// # Errors
/// The folder holds something else, or cannot be read.
pub fn parts_so_far(
    question: &StudyDescription,
    name: &str,
    folder: Option<&Path>,
) -> Result<Option<PartsSoFar>> {
    if !matches!(question.question, Question::Matrix(_)) {
        return Ok(None);
    }
    let (key, _) = key_of(question)?;
    let folder = folder_of(question, folder, name, &key)?;
    match results_in(&folder)? {
        Some(store) => PartsSoFar::read(question, &folder.path, &store),
        None => Ok(None),
    }
}

/// Everything that decides what is measured, without words.
fn identity(study: &StudyDescription) -> Result<Value> {
    let mut description = serde_json::to_value(study)?;
    add_rate(&mut description, study);
    add_training(&mut description, study)?;
    add_rows_beside(&mut description, study);
    Ok(description)
}

/// The rate at which latencies are compared; nothing for other goals.
fn add_rate(plan: &mut Value, study: &StudyDescription) {
    if let Some(rate) = study.rate {
        plan["rate"] = Value::from(rate.to_string());
    }
}

/// What the rows of a matrix beside its combinations are called: their results are found by that.
fn add_rows_beside(plan: &mut Value, study: &StudyDescription) {
    let Question::Matrix(matrix) = &study.question else {
        return;
    };
    let rows = matrix.sets().into_iter();
    let beside = rows.filter(|row| row.beside.is_some());
    let titles: Vec<String> = beside.map(|row| row.title).collect();
    if !titles.is_empty() {
        plan["rows_beside"] = Value::from(titles);
    }
}

/// What stands for the content of the files that builds are trained on: another file under the same path is another study.
fn add_training(plan: &mut Value, study: &StudyDescription) -> Result<()> {
    let mut content = BTreeMap::new();
    for recipe in recipes(&study.question) {
        let mut build = Recipe::default();
        for item in &recipe.items {
            if let Item::Build { key, value } = item {
                build.set(key, value)?;
            }
        }
        for (key, value) in &recipe.change.build {
            build.set(key, value)?;
        }
        let build = build.pinned()?;
        for training in build.pgo.into_iter().chain(build.bolt) {
            content.extend(training.content);
        }
    }
    if !content.is_empty() {
        plan["trained_on"] = serde_json::to_value(content)?;
    }
    Ok(())
}

/// The variants that a question speaks of.
fn recipes(question: &Question) -> Vec<&VariantRecipe> {
    match question {
        Question::Compare { sides, .. } => sides.iter().collect(),
        Question::Ladder { start, rungs } => {
            let rungs = rungs.iter().map(|rung| &rung.recipe);
            std::iter::once(&**start).chain(rungs).collect()
        }
        Question::Matrix(matrix) => {
            let levels = matrix.axes.iter().flat_map(|axis| &axis.levels);
            let levels = levels.map(|level| &level.recipe);
            std::iter::once(&*matrix.start)
                .chain(levels)
                .chain(&matrix.beside)
                .collect()
        }
        Question::Sweep { variants } => variants.iter().collect(),
        Question::Tune(_) | Question::Noise => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::asking::choose_levers::{Application, Keep, TuneQuestion};
    use crate::asking::level_sets::MatrixQuestion;
    use crate::asking::rate_choice::RateChoice;
    use crate::plans::spec::Load;
    use niagara_load::WorkloadSpec;
    use niagara_model::Goal;

    /// Another goal or another rate is another study: what one of them measured does not judge the other.
    #[test]
    fn goal_and_rate_are_part_of_what_a_study_is() {
        let load = Load {
            workload: WorkloadSpec::default(),
            engine: "InnoDB".to_owned(),
            threads: 4,
        };
        let tune = Question::Tune(TuneQuestion {
            allow: Vec::new(),
            app: Application::Local,
            only: Vec::new(),
            also: Vec::new(),
            without: Vec::new(),
            counted: Vec::new(),
            shares_host: false,
            with_builds: false,
            build_seconds: 0.0,
            screen_couples: None,
            keep: Keep::Proven,
            guard: niagara_model::TailGuard::default(),
        });
        let compare = Question::Compare {
            sides: Box::new([VariantRecipe::default(), VariantRecipe::default()]),
            to_the_end: false,
        };
        for question in [tune, compare] {
            let key = |goal, rate| {
                let study = StudyDescription {
                    goal,
                    rate,
                    ..StudyDescription::of("s".to_owned(), load.clone(), question.clone())
                };
                study_key(&identity(&study).expect("JSON")).expect("JSON")
            };
            let keys = [
                key(Goal::Throughput, None),
                key(Goal::Cpu, None),
                key(Goal::P99, Some(RateChoice::Share(0.7))),
                key(Goal::P99, Some(RateChoice::PerSecond(2000.0))),
                key(Goal::P95, Some(RateChoice::PerSecond(2000.0))),
            ];
            for (place, one) in keys.iter().enumerate() {
                assert!(!keys[..place].contains(one), "{place}");
            }
        }
    }

    /// What several parts of a matrix measure is one study, each with a budget of its own.
    #[test]
    fn neither_part_nor_budget_is_part_of_what_a_matrix_is() {
        let load = Load {
            workload: WorkloadSpec::default(),
            engine: "InnoDB".to_owned(),
            threads: 4,
        };
        let matrix = |part: Option<&str>| {
            Question::Matrix(MatrixQuestion {
                start: Box::default(),
                axes: Vec::new(),
                all: true,
                beside: Vec::new(),
                part: part
                    .iter()
                    .map(|text| text.parse().expect("AXIS=LEVEL"))
                    .collect(),
            })
        };
        let key = |question: Question, seconds: u64, seed: Option<u64>| {
            let study = StudyDescription {
                budget: Duration::from_secs(seconds),
                seed,
                ..StudyDescription::of("s".to_owned(), load.clone(), question)
            };
            key_of(&study).expect("JSON").0
        };
        let whole = key(matrix(None), 60, None);
        assert_eq!(key(matrix(Some("a=b")), 600, None), whole);
        assert_ne!(key(matrix(None), 60, Some(1)), whole);
        // What a row is called is how its results are found.
        let beside = |title: &str| {
            let Question::Matrix(mut beside) = matrix(None) else {
                panic!("a matrix");
            };
            beside.beside.push(VariantRecipe {
                title: Some(title.to_owned()),
                ..VariantRecipe::default()
            });
            key(Question::Matrix(beside), 60, None)
        };
        assert_eq!(beside("own build"), beside("own build"));
        assert_ne!(beside("own build"), beside("my own build"));
        assert_ne!(
            key(Question::Noise, 60, None),
            key(Question::Noise, 600, None)
        );
    }

    /// A file that builds are trained on is known by its content, also where a study is continued.
    #[test]
    fn what_builds_are_trained_on_is_part_of_what_a_study_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.toml");
        let text = include_str!("../../../../docs/examples/shop.toml");
        let key = |text: &str| {
            std::fs::write(&path, text).expect("written");
            let trained = VariantRecipe {
                items: vec![Item::Build {
                    key: "pgo".to_owned(),
                    value: path.display().to_string(),
                }],
                ..VariantRecipe::default()
            };
            let question = Question::Compare {
                sides: Box::new([VariantRecipe::default(), trained]),
                to_the_end: false,
            };
            let load = Load {
                workload: WorkloadSpec::default(),
                engine: "InnoDB".to_owned(),
                threads: 4,
            };
            let study = StudyDescription::of("s".to_owned(), load, question);
            study_key(&identity(&study).expect("readable")).expect("JSON")
        };
        let first = key(text);
        assert_eq!(first, key(text));
        assert_ne!(first, key(&format!("{text}# changed\n")));
    }
}
