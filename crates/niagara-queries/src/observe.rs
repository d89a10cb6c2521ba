//! What the statements of a capture do on the copy: their plans, their counted work, their causes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_capture::Sample;
use niagara_capture::info::{DigestInfo, Info};
use niagara_capture::samples;
use niagara_capture::sql::{Class, Digest};
use niagara_load::LoadError;
use serde::Serialize;

use crate::catalog::{Catalog, TableName, folded};
use crate::cause::{Cause, Evidence, causes};
use crate::copy::DataCopy;
use crate::executable::{Executable, split_settings};
use crate::plan::{Plan, is_other_plan};
use crate::statement::{Kind, NotUnderstood, Structure};
use crate::work::Work;

/// Which digests are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    /// Those that make up this share of the time, and those that make up this share of the rows examined, where the capture says them.
    pub share: f64,
    /// So many at most.
    pub most: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            share: 0.95,
            most: 200,
        }
    }
}

/// Executions of a digest that are sampled.
const SAMPLES: usize = 20;
/// Work that falls by this share with fresh statistics was caused by stale ones.
const STALE: f64 = 0.3;

/// A digest, and what it does on the copy.
#[derive(Debug, Clone)]
pub struct Observed {
    /// What the capture says of it.
    pub info: DigestInfo,
    /// It belongs to those that make up most of the time: it is counted.
    pub matters: bool,
    /// What can be executed of it.
    pub executables: Vec<Executable>,
    /// Its structures: as sent, and as the server has resolved it.
    pub structures: Vec<Structure>,
    /// Why it has none.
    pub not_understood: Option<NotUnderstood>,
    /// The plan of its first sample.
    pub plan: Option<Plan>,
    /// The server's plan of a sample cannot be read.
    pub has_unread_plan: bool,
    /// Mean work of an execution; none where nothing could be counted.
    pub work: Option<Work>,
    /// Mean rows that an execution returns, or changes.
    pub rows_returned: Option<f64>,
    /// Executions that were counted.
    pub counted: u64,
    /// Some were ended, for they took too long: their work is more than what is counted.
    pub was_cut: bool,
    /// What the server said of those that it refused.
    pub refused: Option<String>,
    /// Why it costs what it costs.
    pub causes: Vec<Cause>,
    /// The indexes that its samples use.
    pub uses: BTreeSet<(TableName, String)>,
}

impl Observed {
    /// The tables that it uses or writes to.
    pub fn tables(&self) -> BTreeSet<TableName> {
        self.structures.iter().flat_map(Structure::tables).collect()
    }

    /// The indexes that its hints name, in lower case.
    pub fn named_indexes(&self) -> impl Iterator<Item = (TableName, String)> + '_ {
        let blocks = self.structures.iter().flat_map(|one| &one.blocks);
        let uses = blocks.flat_map(|block| &block.uses);
        uses.flat_map(|one| {
            let names = one.named_indexes.iter();
            names.map(|index| (one.table.clone(), index.clone()))
        })
    }

    /// Work of all executions of the capture.
    pub fn total_work(&self) -> f64 {
        self.work.map_or(0.0, |work| work.total()) * self.info.count as f64
    }

    /// Rows that all executions change, by table, with the columns that an UPDATE sets, and the kind of change.
    pub fn changes(&self) -> Vec<Change> {
        let Some(structure) = self
            .structures
            .first()
            .filter(|structure| !structure.written.is_empty())
        else {
            return Vec::new();
        };
        let usual = self.info.count * structure.inserted_rows.max(1);
        let rows = self.info.rows_affected.unwrap_or(usual) as f64;
        let of = |(table, columns): &(TableName, BTreeSet<String>)| Change {
            table: table.clone(),
            kind: structure.kind,
            columns: columns.clone(),
            rows,
        };
        structure.written.iter().map(of).collect()
    }
}

/// Rows of a table that a digest changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The table.
    pub table: TableName,
    /// How.
    pub kind: Kind,
    /// The columns that an UPDATE sets.
    pub columns: BTreeSet<String>,
    /// Rows in the capture.
    pub rows: f64,
}

/// A digest and the server's plan of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedDigest {
    /// Its number.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// Its share of the capture's time, 0 to 1.
    pub share: f64,
    /// The plan.
    pub plan: Plan,
}

/// Until when there is time.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// After this time.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.0
    }

    /// A part of what is left.
    pub(crate) fn part(&self, share: f64) -> Self {
        Self(
            Instant::now()
                + self
                    .0
                    .saturating_duration_since(Instant::now())
                    .mul_f64(share),
        )
    }
}

/// Looks at the digests of a capture on the copy. Those that make up most of the time are counted; of the others one execution is
/// explained, for the indexes that it uses and the rows that it changes.
///
/// # Errors
/// The capture cannot be read; the server is lost.
pub fn observe(
    copy: &mut DataCopy,
    catalog: &Catalog,
    (capture, info): (&Path, &Info),
    usual_database: &str,
    selection: Selection,
    deadline: Deadline,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Vec<Observed>> {
    let (all, matters) = statements(info, selection);
    let mut left = matters.iter().filter(|matters| **matters).count();
    let wanted: HashMap<Digest, usize> = (all.iter().enumerate())
        .map(|(place, digest)| (number(digest), if matters[place] { SAMPLES } else { 1 }))
        .collect();
    let mut sampled = samples(capture, &wanted)?;
    let mut observed = Vec::new();
    for (place, digest) in all.iter().enumerate() {
        if place % 20 == 0 || matters[place] {
            tell(&format!(
                "looking at statement {} of {}",
                place + 1,
                all.len()
            ))?;
        }
        let samples = sampled.remove(&number(digest)).unwrap_or_default();
        let mut one = Observed::new(digest, matters[place]);
        one.structures(copy, catalog, &samples, usual_database)?;
        if matters[place] {
            one.count(copy, deadline.part(1.0 / left as f64))?;
            left -= 1;
        }
        one.explain(copy)?;
        one.find_causes(catalog, None);
        observed.push(one);
    }
    Ok(observed)
}

/// How the server plans the digests of a capture that matter, by one sample of each. Nothing is executed.
///
/// # Errors
/// The capture cannot be read; the server is lost.
pub fn plans(
    copy: &mut DataCopy,
    (capture, info): (&Path, &Info),
    usual_database: &str,
    selection: Selection,
) -> Result<Vec<PlannedDigest>> {
    let catalog = copy.catalog()?;
    let (all, matters) = statements(info, selection);
    let matters: Vec<&DigestInfo> = (all.into_iter().zip(matters))
        .filter_map(|(digest, matters)| matters.then_some(digest))
        .collect();
    let wanted = matters.iter().map(|digest| (number(digest), 1)).collect();
    let mut sampled = samples(capture, &wanted)?;
    let mut planned = Vec::new();
    for digest in matters {
        let samples = sampled.remove(&number(digest)).unwrap_or_default();
        let mut one = Observed::new(digest, true);
        one.structures(copy, &catalog, &samples, usual_database)?;
        one.explain(copy)?;
        planned.extend(one.plan.map(|plan| PlannedDigest {
            digest: digest.digest.clone(),
            text: digest.text.clone(),
            share: digest.share,
            plan,
        }));
    }
    Ok(planned)
}

/// The digests that read or write rows, and whether each matters.
fn statements(info: &Info, selection: Selection) -> (Vec<&DigestInfo>, Vec<bool>) {
    let all = info.digests.iter();
    let all: Vec<&DigestInfo> = all.filter(|digest| is_looked_into(digest)).collect();
    let matters = those_that_matter(&all, selection);
    (all, matters)
}

/// Whether it reads or writes rows by its own text.
pub(crate) fn is_looked_into(digest: &DigestInfo) -> bool {
    matches!(digest.class, Class::Read | Class::Write)
}

/// The number of a digest.
fn number(digest: &DigestInfo) -> Digest {
    Digest(u64::from_str_radix(&digest.digest, 16).unwrap_or(0))
}

/// Of the digests, sorted by their share, those that make up most of the time, and those that read most rows: how long a statement
/// takes depends on the moment, and what it reads does not.
fn those_that_matter(digests: &[&DigestInfo], selection: Selection) -> Vec<bool> {
    let mut matters = vec![false; digests.len()];
    let mut left = selection.most;
    let by: [fn(&DigestInfo) -> f64; 2] = [
        |digest| digest.share,
        |digest| digest.rows_examined.unwrap_or(0) as f64,
    ];
    for value in by {
        let mut places: Vec<usize> = (0..digests.len()).collect();
        places.sort_by(|&a, &b| value(digests[b]).total_cmp(&value(digests[a])));
        let all: f64 = digests.iter().map(|digest| value(digest)).sum();
        let mut sum = 0.0;
        for place in places {
            if sum >= selection.share * all || left == 0 {
                break;
            }
            sum += value(digests[place]);
            left -= usize::from(!matters[place]);
            matters[place] = true;
        }
    }
    matters
}

/// A server that refuses a statement is no failure; one that is lost is.
pub(crate) fn refusal<T>(answer: Result<T, LoadError>) -> Result<Result<T, String>> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(LoadError::Query { code, message, .. }) => Ok(Err(format!(
            "error {code}: {}",
            without_literals(code, &message)
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Errors whose message quotes names only: no such database, column, table, function.
const NAMING: [u16; 4] = [1049, 1054, 1146, 1305];

/// A server's message without what it quotes of the statement, which may be what people typed.
fn without_literals(code: u16, message: &str) -> String {
    if NAMING.contains(&code) {
        return message.to_owned();
    }
    match (message.find('\''), message.rfind('\'')) {
        (Some(from), Some(to)) if from < to => format!("{}…{}", &message[..=from], &message[to..]),
        _ => message.to_owned(),
    }
}

impl Observed {
    fn new(info: &DigestInfo, matters: bool) -> Self {
        Self {
            info: info.clone(),
            matters,
            executables: Vec::new(),
            structures: Vec::new(),
            not_understood: None,
            plan: None,
            has_unread_plan: false,
            work: None,
            rows_returned: None,
            counted: 0,
            was_cut: false,
            refused: None,
            causes: Vec::new(),
            uses: BTreeSet::new(),
        }
    }

    /// Takes the samples apart.
    fn structures(
        &mut self,
        copy: &mut DataCopy,
        catalog: &Catalog,
        samples: &[Sample],
        usual_database: &str,
    ) -> Result<()> {
        for sample in samples {
            let text = String::from_utf8_lossy(&sample.text).into_owned();
            let text = text.trim_end().trim_end_matches(';').to_owned();
            let database = match sample.database.is_empty() {
                true => usual_database.to_owned(),
                false => String::from_utf8_lossy(&sample.database).into_owned(),
            };
            let (settings, text) = split_settings(&text);
            let sql = match Structure::read(text, &database, catalog) {
                Ok(structure) => {
                    let sql = match structure.kind {
                        // As it was sent: what is printed of a parsed statement may differ.
                        Kind::Select => Some(text.to_owned()),
                        _ => structure.reading.clone(),
                    };
                    self.add(structure);
                    sql
                }
                Err(reason) => {
                    // A statement that only reads can be counted though nobody here understands it.
                    let is_one = !matches!(reason, NotUnderstood::NotOne);
                    self.not_understood = Some(reason);
                    (self.info.class == Class::Read && is_one).then(|| text.to_owned())
                }
            };
            self.executables.extend(sql.map(|sql| Executable {
                settings: settings.to_owned(),
                sql,
                database,
            }));
        }
        if let Some(first) = self.executables.first().cloned() {
            match refusal(copy.canonical(&first))? {
                Ok(Some(text)) => {
                    if let Ok(structure) = Structure::read(&text, &first.database, catalog) {
                        self.add_resolved(structure);
                    }
                }
                Ok(None) => {}
                Err(words) => self.refused = Some(words),
            }
        }
        Ok(())
    }

    /// A further structure of the same digest: what differs is what literals decide, offsets and limits above all.
    fn add(&mut self, structure: Structure) {
        match self.structures.first_mut() {
            None => self.structures.push(structure),
            Some(first) => {
                for (block, other) in first.blocks.iter_mut().zip(&structure.blocks) {
                    if other.offset > block.offset {
                        block.offset = other.offset;
                        block.limit = other.limit;
                    }
                }
                first.inserted_rows = first.inserted_rows.max(structure.inserted_rows);
            }
        }
    }

    /// The structure as the server has resolved it, where it says more.
    fn add_resolved(&mut self, structure: Structure) {
        if structure.blocks.iter().any(|block| !block.uses.is_empty()) {
            // Of a statement that changes rows, what was explained is a SELECT.
            let written = self.structures.first().map(|first| first.written.clone());
            self.structures.push(Structure {
                written: written.unwrap_or_default(),
                ..structure
            });
        }
    }

    /// Counts the work of its samples, as many as there is time for.
    fn count(&mut self, copy: &mut DataCopy, deadline: Deadline) -> Result<()> {
        let mut sum = Work::default();
        let (mut sent, mut with_sent) = (0.0, 0_u64);
        self.counted = 0;
        self.was_cut = false;
        // The first execution opens tables, which is no work of the statement's.
        if let Some(first) = self.executables.first()
            && let Err(words) = refusal(copy.plan(first))?
        {
            self.refused = Some(words);
        }
        for one in &self.executables {
            if self.counted > 0 && deadline.is_over() {
                break;
            }
            match refusal(copy.count(one))? {
                Ok(counted) => {
                    sum += counted.work;
                    self.counted += 1;
                    self.was_cut |= counted.was_cut;
                    if let Some(rows) = counted.rows_sent {
                        sent += rows;
                        with_sent += 1;
                    }
                }
                Err(words) => self.refused = Some(words),
            }
        }
        if self.counted > 0 {
            self.work = Some(sum * (1.0 / self.counted as f64));
        }
        let count = self.info.count.max(1) as f64;
        let of_capture = [self.info.rows_sent, self.info.rows_affected]
            .into_iter()
            .flatten();
        let of_capture = of_capture.map(|rows| rows as f64 / count).reduce(f64::max);
        self.rows_returned = match with_sent {
            0 => of_capture,
            many => Some(sent / many as f64),
        };
        Ok(())
    }

    /// Asks for the plans of its samples: the first is kept, and the indexes that all of them use.
    pub(crate) fn explain(&mut self, copy: &mut DataCopy) -> Result<()> {
        self.uses.clear();
        self.plan = None;
        self.has_unread_plan = false;
        for one in &self.executables {
            let plan = match refusal(copy.plan(one))? {
                Ok(Some(plan)) => plan,
                Ok(None) => {
                    self.has_unread_plan = true;
                    continue;
                }
                Err(_) => continue,
            };
            let aliases = self.aliases();
            for access in &plan.tables {
                let (Some(key), Some(table)) = (&access.key, aliases.get(&folded(&access.alias)))
                else {
                    continue;
                };
                for name in key
                    .split([',', '(', ')'])
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                {
                    self.uses.insert((table.clone(), name.to_owned()));
                }
            }
            if self.plan.is_none() {
                self.plan = Some(plan);
            }
        }
        Ok(())
    }

    /// The structure that says most: of a statement on views the one that the server has resolved.
    pub fn structure(&self) -> Option<&Structure> {
        let with_tables =
            |structure: &&Structure| structure.blocks.iter().any(|block| !block.uses.is_empty());
        self.structures
            .iter()
            .find(with_tables)
            .or(self.structures.first())
    }

    /// The tables by what the statement calls them.
    pub(crate) fn aliases(&self) -> BTreeMap<String, TableName> {
        let blocks = self
            .structures
            .iter()
            .flat_map(|structure| &structure.blocks);
        let uses = blocks.flat_map(|block| &block.uses);
        uses.map(|used| (folded(&used.alias), used.table.clone()))
            .collect()
    }

    /// Finds why it costs what it costs.
    pub(crate) fn find_causes(&mut self, catalog: &Catalog, stale: Option<&TableName>) {
        let Some(work) = self.work else {
            return;
        };
        let Some(plan) = &self.plan else {
            if self.has_unread_plan {
                self.causes = vec![Cause::PlanNotRead];
            }
            return;
        };
        let info = &self.info;
        let locked = info
            .lock_seconds
            .filter(|_| info.seconds > 0.0)
            .map_or(0.0, |seconds| seconds / info.seconds);
        self.causes = causes(
            &Evidence {
                structure: self.structure(),
                plan,
                work,
                rows_returned: self.rows_returned,
                in_loops: info.in_loops as f64 / info.count.max(1) as f64,
                loop_length: info.in_loops as f64 / info.loops.max(1) as f64,
                locked,
                stale,
            },
            catalog,
        );
    }
}

/// A table whose statistics were not those of its rows, and the digests that read less since they were gathered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreshStatistics {
    /// The table.
    pub table: TableName,
    /// The digests, with their work before and behind.
    pub digests: Vec<(String, f64, f64)>,
}

/// Gathers the statistics of all tables that matter, and counts again what is executed otherwise since.
///
/// # Errors
/// The server is lost.
pub fn refresh_statistics(
    copy: &mut DataCopy,
    catalog: &Catalog,
    observed: &mut [Observed],
    deadline: Deadline,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Vec<FreshStatistics>> {
    let counted = observed.iter().filter(|one| one.work.is_some());
    let tables: BTreeSet<TableName> = counted.flat_map(Observed::tables).collect();
    tell("gathering the statistics of the tables")?;
    for table in tables.iter().filter(|name| {
        catalog
            .tables
            .get(name)
            .is_some_and(|table| table.is_innodb())
    }) {
        copy.analyze(table)?;
    }
    let mut fresh: BTreeMap<TableName, FreshStatistics> = BTreeMap::new();
    for one in observed.iter_mut().filter(|one| one.work.is_some()) {
        let before = (one.plan.clone(), one.work.unwrap_or_default().total());
        one.explain(copy)?;
        if !is_other_plan(before.0.as_ref(), one.plan.as_ref()) {
            continue;
        }
        one.count(copy, deadline.part(0.1))?;
        let after = one.work.unwrap_or_default().total();
        if after > before.1 * (1.0 - STALE) {
            one.find_causes(catalog, None);
            continue;
        }
        let Some(table) = one.table_that_changed(before.0.as_ref()) else {
            continue;
        };
        one.find_causes(catalog, Some(&table));
        let of_table = fresh
            .entry(table.clone())
            .or_insert_with(|| FreshStatistics {
                table,
                digests: Vec::new(),
            });
        of_table
            .digests
            .push((one.info.digest.clone(), before.1, after));
    }
    Ok(fresh.into_values().collect())
}

impl Observed {
    /// The table whose estimate is furthest from that of the plan before.
    fn table_that_changed(&self, before: Option<&Plan>) -> Option<TableName> {
        let (before, after) = (before?, self.plan.as_ref()?);
        let aliases = self.aliases();
        let changed = after.tables.iter().filter_map(|access| {
            let other = before.table(&access.alias)?;
            let ratio = (access.rows.max(1.0) / other.rows.max(1.0)).ln().abs();
            let is_other = access.key != other.key || access.access != other.access;
            Some((
                aliases.get(&folded(&access.alias))?,
                ratio + f64::from(is_other),
            ))
        });
        let most = changed.max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.map(|(table, _)| table.clone())
    }
}
