//! What is found, in English. Nothing else in this crate makes sentences, and nothing reads them back.

use std::fmt;

use niagara_capture::sql::Class;
pub(crate) use niagara_model::number::estimate as interval;

use crate::advice::{
    Advice, Caution, DigestAdvice, FAR_TOO_MANY, Finding, StatisticsAdvice, TableAdvice,
};
use crate::candidate::{Candidate, DropReason, KeptReason, NotTried, NotTriedReason, Purpose};
use crate::catalog::{StatementSetting, ValueKind, literal, parts_in_words, quote, readable};
use crate::cause::Cause;
use crate::fate::Fate;
use crate::plan::Access;
use crate::proof::{Proof, Trial};
use crate::setting::{PlanSetting, SettingEffect};
use crate::statement::NotUnderstood;
use crate::writes::Writer;

/// A number for people: three digits, thousands apart.
pub fn number(value: f64) -> String {
    if value.abs() < 10.0 && value.fract().abs() > 0.05 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    match value < 0.0 && out != "0" {
        true => format!("-{out}"),
        false => out,
    }
}

/// A share for people.
pub fn percent(share: f64) -> String {
    match share {
        share if share > 0.985 && share < 1.0 => {
            format!("{:.1} %", (share * 1000.0).floor() / 10.0)
        }
        share if share >= 0.0995 || share == 0.0 => format!("{:.0} %", share * 100.0),
        share => format!("{:.1} %", share * 100.0),
    }
}

/// The size of an index that was built.
pub(crate) fn index_size(bytes_of_index: Option<u64>) -> String {
    bytes_of_index.map_or_else(|| "of unknown size".to_owned(), bytes)
}

/// Bytes for people.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 10 << 30 => format!("{} GB", bytes >> 30),
        bytes if bytes >= 1 << 20 => format!("{:.1} MB", bytes as f64 / f64::from(1 << 20)),
        bytes => format!("{} KB", bytes >> 10),
    }
}

fn list(names: &[String]) -> String {
    joined(names, ", ")
}

fn joined(names: &[String], between: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| readable(name)).collect();
    names.join(between)
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "a number",
            Self::Text => "text",
            Self::Time => "a time",
            Self::Bytes => "bytes",
            Self::Other => "another type",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUsableIndex { table, columns } => {
                write!(
                    f,
                    "no usable index: none on {table} begins with {}",
                    joined(columns, " or ")
                )
            }
            Self::NotSelective {
                table,
                index,
                without,
            } if without.is_empty() => {
                write!(
                    f,
                    "index not selective: {} of {table} leaves many rows to be read",
                    readable(index)
                )
            }
            Self::NotSelective {
                table,
                index,
                without,
            } => {
                write!(
                    f,
                    "index not selective: {} of {table} lacks {}",
                    readable(index),
                    list(without)
                )
            }
            Self::Conversion {
                table,
                column,
                from,
                to,
            } => {
                write!(
                    f,
                    "conversion in the condition: {table}.{} is {from} and is compared with {to}",
                    readable(column)
                )
            }
            Self::Collation {
                table,
                column,
                collation,
                other,
            } => write!(
                f,
                "collations differ in the join: {table}.{} is {collation}, the other side {other}",
                readable(column)
            ),
            Self::FunctionOnColumn {
                table,
                column,
                function,
            } => {
                write!(
                    f,
                    "function on the column: {function} of {table}.{}",
                    readable(column)
                )
            }
            Self::LeadingWildcard { table, column } => {
                write!(
                    f,
                    "leading wildcard: {table}.{} is searched from the middle",
                    readable(column)
                )
            }
            Self::OrAcrossColumns { table, columns } => {
                write!(f, "OR across columns of {table}: {}", list(columns))
            }
            Self::NegatedCondition { table, columns } => {
                write!(
                    f,
                    "negated condition: {table} is asked for what {} is not",
                    list(columns)
                )
            }
            Self::JoinWithoutIndex { table, columns } => {
                write!(
                    f,
                    "join without an index: {table} is scanned for {}",
                    list(columns)
                )
            }
            Self::DependentSubquery { table } => {
                write!(
                    f,
                    "dependent subquery: {table} is read for each row of the outer query"
                )
            }
            Self::Filesort { columns, .. } if columns.is_empty() => {
                f.write_str("filesort: by expressions, or by columns of several tables")
            }
            Self::Filesort { columns, .. } => write!(
                f,
                "filesort: no index gives rows in the order of {}",
                list(columns)
            ),
            Self::TemporaryTable { columns, .. } if columns.is_empty() => {
                f.write_str("temporary table: for groups or different rows that no index gives")
            }
            Self::TemporaryTable { columns, .. } => write!(
                f,
                "temporary table: no index gives the groups of {}",
                list(columns)
            ),
            Self::StaleStatistics { table } => {
                write!(f, "stale statistics: the server misjudges {table}")
            }
            Self::CalcFoundRows => {
                f.write_str("SQL_CALC_FOUND_ROWS: all rows are read to be counted")
            }
            Self::DeepOffset { offset } => write!(
                f,
                "deep OFFSET: up to {} rows are read and passed over",
                number(*offset as f64)
            ),
            Self::RandomOrder => f.write_str("ORDER BY RAND(): all rows are sorted to take a few"),
            Self::NPlusOne { each } => {
                write!(f, "N+1: the same statement about {each} times in a row")
            }
            Self::ReadsEverything { table } => write!(
                f,
                "reads everything: the statement asks for all rows of {table}"
            ),
            Self::PlanNotRead => f.write_str(
                "not known: the server's plan cannot be read, perhaps for a quotation mark in a name",
            ),
            Self::LockWaits { percent } => write!(f, "lock waits: {percent} % of its time"),
        }
    }
}

/// Why a statement has no cause, in words.
pub fn no_cause(digest: &DigestAdvice) -> &'static str {
    match (&digest.not_understood, digest.work) {
        (Some(_), Some(_)) => "counted; its grammar is not understood",
        (Some(_), None) => "not counted: its grammar is not understood",
        (None, _) => "finds what it needs",
    }
}

/// What the application may change, where it is the one to change something; none where an index is the remedy.
pub fn application_remedy(cause: &Cause) -> Option<String> {
    match cause {
        Cause::Conversion {
            column, from, to, ..
        } => Some(format!(
            "compare {} with {from}, not with {to}, or give the column the type of what it holds",
            readable(column)
        )),
        Cause::Collation { column, other, .. } => Some(format!(
            "give {} the collation {other}, or the other column its own",
            readable(column)
        )),
        Cause::FunctionOnColumn {
            column, function, ..
        } => Some(format!(
            "compare {} itself, with bounds where {function} stood, or index a generated column",
            readable(column)
        )),
        Cause::LeadingWildcard { table, column } => Some(format!(
            "search by words: ALTER TABLE {} ADD FULLTEXT INDEX ({}), and MATCH … AGAINST in the statement; it finds words, not parts of words",
            table.quoted(),
            quote(column)
        )),
        Cause::OrAcrossColumns { .. } => {
            Some("ask for each alternative, and put them together by UNION".to_owned())
        }
        Cause::CalcFoundRows => Some(
            "leave SQL_CALC_FOUND_ROWS out, and count by a statement of its own, or not at all"
                .to_owned(),
        ),
        Cause::DeepOffset { .. } => Some(
            "continue behind the last row that was shown (WHERE id > …) in place of OFFSET"
                .to_owned(),
        ),
        Cause::RandomOrder => Some("draw keys at random, then read those rows".to_owned()),
        Cause::NPlusOne { .. } => Some("ask once for all of them, by IN or a join".to_owned()),
        Cause::DependentSubquery { .. } => Some("write the subquery as a join".to_owned()),
        Cause::LockWaits { .. } => Some("shorten the transactions that it waits for".to_owned()),
        Cause::NoUsableIndex { .. }
        | Cause::NotSelective { .. }
        | Cause::NegatedCondition { .. }
        | Cause::JoinWithoutIndex { .. }
        | Cause::Filesort { .. }
        | Cause::TemporaryTable { .. }
        | Cause::StaleStatistics { .. }
        | Cause::PlanNotRead
        | Cause::ReadsEverything { .. } => None,
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "whole table",
            Self::IndexScan => "whole index",
            Self::Range => "range of an index",
            Self::Lookup => "lookup by index",
            Self::UniqueLookup => "one row by a unique index",
            Self::Merge => "several indexes merged",
            Self::Words => "full-text index",
            Self::Other => "otherwise",
        })
    }
}

/// `shop.customer(email)`.
impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.table, parts_in_words(&self.parts))
    }
}

/// `shop.customer(email)`.
impl fmt::Display for NotTried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.table, parts_in_words(&self.parts))
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equality => "finds rows by values",
            Self::Range => "finds rows within bounds",
            Self::Join => "finds the rows of a join",
            Self::Order => "gives rows in order",
            Self::Group => "gives rows by groups",
            Self::Covering => "holds all columns that are needed",
            Self::Alternative => "answers one side of an OR",
            Self::Function => "finds rows by a function of a column",
        })
    }
}

impl fmt::Display for NotTriedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { index } => write!(f, "{} does this already", readable(index)),
            Self::FoundByUnique { index } => write!(f, "{} finds the row already", readable(index)),
            Self::TooLong { bytes } => write!(
                f,
                "its key would have {bytes} bytes; an index may have 3,072"
            ),
            Self::NotIndexable { column } => {
                write!(f, "{} cannot be in an ordered index", readable(column))
            }
            Self::OtherEngine { engine } => {
                write!(f, "the table is in {engine}, whose pages nobody counts")
            }
            Self::TooMany => f.write_str("others of the table promise more"),
            Self::SmallTable { rows } => write!(f, "the table has about {rows} rows"),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("in the set"),
            Self::SavesNothing => f.write_str("nothing reads less with it"),
            Self::NotNeeded => f.write_str("statements find what they need without it"),
            Self::CostsMore => f.write_str("it saves less than it costs to write"),
            Self::SavesLittle => f.write_str("it saves less than 1 % of the work"),
            Self::Superfluous => f.write_str("the set saves the same without it"),
            Self::TooMany => f.write_str("the set has as many as --max-indexes allows"),
            Self::TooLarge => f.write_str("it does not fit into --max-index-space"),
            Self::Refused { message } => write!(f, "the server refuses it: {message}"),
            Self::NoTime => f.write_str("the budget was over"),
            Self::NotShown { ratio } => write!(
                f,
                "duels do not show that it pays: throughput {}",
                interval(ratio)
            ),
            Self::OtherAnswers => f.write_str("statements are answered otherwise with the set"),
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { of } => write!(f, "it duplicates {}", readable(of)),
            Self::LeftPrefix { of } => write!(f, "{} begins with it", readable(of)),
            Self::NeverUsed => f.write_str("no statement of the capture uses it"),
            Self::NotUsedBesideSet => {
                f.write_str("no statement of the capture uses it once the new indexes are there")
            }
        }
    }
}

impl fmt::Display for KeptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unique => f.write_str("it enforces that values differ"),
            Self::ForeignKey { name } => write!(f, "foreign key {} needs it", readable(name)),
            Self::Named => {
                f.write_str("a statement names it in an index hint, and fails without it")
            }
            Self::StillUseful => f.write_str("statements read more without it"),
            Self::NotAllSeen { statements } => write!(
                f,
                "{statements} digests of the capture could not be looked at"
            ),
        }
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trigger => "trigger",
            Self::Procedure => "procedure",
            Self::Function => "function",
            Self::ForeignKey => "foreign key",
        })
    }
}

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grammar { message } => {
                write!(f, "the parser does not know its grammar: {message}")
            }
            Self::TooLong => f.write_str("it has more operators than are taken apart"),
            Self::NotOne => f.write_str("it is several statements in one"),
            Self::OtherKind => f.write_str("it neither reads nor changes rows"),
        }
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProven => f.write_str("The set is counted on a copy, not proven by duels: rows and pages are exact, the gain in time is not measured."),
            Self::TooFewDuels { duels } => write!(
                f,
                "The set is counted on a copy; it is not proven: {} in the budget are too few to decide by. A longer --budget proves it.",
                counted(*duels as u64, "duel")
            ),
            Self::ProvenTogether { indexes } => write!(
                f,
                "{} proven only together with the others. A longer --budget also measures the set without each.",
                match indexes {
                    1 => "1 index was".to_owned(),
                    several => format!("{} were", counted(*several as u64, "index")),
                }
            ),
            Self::PoorReplay { shortcomings } => {
                let told: Vec<String> = shortcomings.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "The set is counted on a copy; it is not proven: {POOR_REPLAY}: {}. Take the data from the capture's beginning.",
                    told.join("; ")
                )
            }
            Self::ProofFailed { error } => write!(f, "The set is not proven: {error}"),
            Self::StatisticsProofFailed { error } => write!(f, "Fresh statistics are not proven: {error}"),
            Self::SettingProofFailed { error } => write!(f, "The setting of the optimizer is not proven: {error}"),
            Self::OutOfTime => f.write_str("The budget ended before every candidate was judged: a longer --budget judges the rest."),
            Self::OtherPlan {
                digest,
                counted,
                captured,
                digests,
            } => {
                write!(
                    f,
                    "{} reads {} rows an execution on the copy, and {} on your server: another plan, so that an index for it may bring you nothing. The copy has fresh statistics: a restart or ANALYZE TABLE may give your server the same plan.",
                    digest.chars().take(8).collect::<String>(),
                    number(*counted),
                    number(*captured)
                )?;
                match digests - 1 {
                    0 => Ok(()),
                    others => write!(f, " {others} more statements do so."),
                }
            }
            Self::NoDurations => f.write_str("The capture has no durations: statements are weighed by how often they run."),
            Self::WritesNotCounted { table, by, name } => write!(
                f,
                "{table} is also written by {by} {}, which is not counted: writes may take more than is said.",
                readable(name)
            ),
            Self::NotLookedInto {
                class,
                word,
                share,
                of_time,
            } => {
                let what = if *of_time { "of the time is" } else { "of all executions are" };
                let why = match class {
                    Class::Call | Class::Prepared => "whose statements are not looked into",
                    _ => "for which no index is sought",
                };
                write!(f, "{} {what} in {word}, {why}.", percent(*share))
            }
            Self::NotUnderstood { digests, share, named: _ } => write!(
                f,
                "Not understood: {} ({} of the time). No index was sought for them; advice.json names them.",
                counted(*digests as u64, "digest"),
                percent(*share)
            ),
            Self::NotCounted { digests, share } => write!(
                f,
                "Not executed on the copy: {} ({} of the time). advice.json has what the server said.",
                counted(*digests as u64, "digest"),
                percent(*share)
            ),
            Self::Cut { digests } => write!(
                f,
                "{} reached the time limit of an execution: the work is larger than what was counted.",
                counted(*digests as u64, "digest")
            ),
            Self::Slower { digests } => write!(
                f,
                "More work with the set: {}. advice.json names them.",
                counted(*digests as u64, "digest")
            ),
        }
    }
}

/// That an index is there and hidden.
pub(crate) fn is_hidden(index: &str) -> String {
    format!(
        "{} has these columns and is hidden: to show it takes no time and no space",
        readable(index)
    )
}

/// A time for people.
pub fn span(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 7200.0 => format!("{:.0} hours", seconds / 3600.0),
        seconds if seconds >= 120.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds if seconds >= 10.0 => format!("{seconds:.0} s"),
        seconds => format!("{seconds:.1} s"),
    }
}

impl fmt::Display for StatisticsAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} {} {} less work with fresh statistics",
            self.table,
            counted(self.digests as u64, "digest"),
            if self.digests == 1 { "takes" } else { "take" },
            percent(self.saves)
        )
    }
}

impl fmt::Display for TableAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrimaryKey { table } => write!(f, "{table} has no primary key"),
            Self::TableLocks { table, engine } => write!(
                f,
                "{table} is in {engine} and is written to: each write locks the whole table; InnoDB locks rows"
            ),
        }
    }
}

/// `optimizer_search_depth = 0`, `optimizer_switch = 'semijoin=off'`.
impl fmt::Display for PlanSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = (self.variables.iter())
            .map(|(name, value)| format!("{name} = {}", literal(value)))
            .collect();
        f.write_str(&all.join(", "))
    }
}

/// The setting, how much it saves, and what duels showed of it.
impl fmt::Display for SettingEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, saved(self))?;
        match self.slower().count() {
            0 => {}
            1 => f.write_str("; 1 statement takes more")?,
            several => write!(f, "; {several} statements take more")?,
        }
        let Some(trial) = &self.trial else {
            return write!(
                f,
                "; not proven (niagara compare base {} … measures it)",
                self.setting.lever
            );
        };
        write!(f, "; {}", shown(trial))
    }
}

/// How much of the work it takes away.
fn saved(one: &SettingEffect) -> String {
    let share = percent(one.saves);
    match one.with_indexes {
        0 => format!("takes {share} of the counted work away"),
        _ => format!("takes {share} of the work away that the counted indexes leave"),
    }
}

/// What duels showed of a setting.
fn shown(trial: &Trial) -> String {
    let duels = counted(trial.duels as u64, "duel");
    let figures = match &trial.cpu {
        Some(cpu) => format!(
            "throughput {}, CPU a transaction {}",
            interval(&trial.throughput),
            interval(cpu)
        ),
        None => format!("throughput {}", interval(&trial.throughput)),
    };
    let verdict = match (trial.pays(), trial.is_open()) {
        (true, _) => "proven by",
        (false, true) => match trial.poor_replay.is_empty() {
            true => "not proven, too few duels:",
            false => "not proven, for the replay is not good enough:",
        },
        (false, false) => match trial.other_answers.is_empty() {
            true => "not shown to pay by",
            false => "not handed over, for statements have other answers:",
        },
    };
    format!("{verdict} {duels}, {figures}")
}

/// What duels or counting show of the setting that saves most, as a sentence after that of the indexes; nothing where duels speak against it.
fn with_setting(advice: &Advice) -> String {
    let Some(one) = advice.setting().filter(|one| !one.is_lost()) else {
        return String::new();
    };
    let has_set = advice.screened.chosen().next().is_some();
    match (&one.trial, has_set) {
        (Some(trial), true) if trial.pays() => format!(
            " {} adds to the indexes: throughput {}, proven.",
            one.setting,
            interval(&trial.throughput)
        ),
        (Some(trial), false) if trial.pays() => format!(
            " {} is proven by duels: throughput {}.",
            one.setting,
            interval(&trial.throughput)
        ),
        _ => format!(" {} {}; it is not proven.", one.setting, saved(one)),
    }
}

/// What counting and duels show of fresh statistics, a line for each table.
pub fn statistics(advice: &Advice) -> Vec<String> {
    let mut lines: Vec<String> = advice.statistics.iter().map(ToString::to_string).collect();
    let trial = advice.statistics_trial.as_ref().map(shown);
    match (&mut lines[..], trial) {
        ([one], Some(trial)) => *one = format!("{one}; {trial}"),
        (_, Some(trial)) => lines.push(format!("fresh statistics of all of them: {trial}")),
        (_, None) => {}
    }
    lines
}

/// What duels showed of fresh statistics, as a sentence before that of the indexes; nothing where they are not proven.
fn with_statistics(advice: &Advice) -> String {
    let proven = advice
        .statistics_trial
        .as_ref()
        .filter(|trial| trial.pays());
    proven.map_or_else(String::new, |trial| {
        format!(
            " Fresh statistics alone are proven: throughput {}.",
            interval(&trial.throughput)
        )
    })
}

/// That a setting comes first in a tuning.
pub fn tried_first(one: &SettingEffect) -> String {
    format!(
        "{} {}; lever {} is tried",
        one.setting,
        saved(one),
        one.setting.lever
    )
}

/// How variables are set for one statement alone.
pub(crate) fn for_statement(way: StatementSetting, setting: &PlanSetting) -> String {
    let assignment = |(name, value): (&String, &String)| format!("{name}={}", literal(value));
    match way {
        StatementSetting::SetStatement => {
            let all: Vec<String> = setting.variables.iter().map(assignment).collect();
            format!("SET STATEMENT {} FOR SELECT …", all.join(", "))
        }
        StatementSetting::Hint => {
            let all: Vec<String> = (setting.variables.iter())
                .map(|one| format!("SET_VAR({})", assignment(one)))
                .collect();
            format!("SELECT /*+ {} */ …", all.join(" "))
        }
    }
}

/// `1 index`, `3 indexes`.
pub fn counted(count: u64, one: &str) -> String {
    match (count, one) {
        (1, _) => format!("1 {one}"),
        (count, "index") => format!("{count} indexes"),
        (count, _) => format!("{count} {one}s"),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.of_time {
            true => "the database's time",
            false => "all executions",
        };
        match (self.digests, self.examined_per_row) {
            (0, ratio) => write!(
                f,
                "Statements read {} rows for each row that they return or change{}.",
                number(ratio),
                match ratio < FAR_TOO_MANY {
                    true => ": they find what they need",
                    false => "",
                }
            ),
            (1, ratio) => write!(
                f,
                "{} of {what} is one statement that reads {} rows for each row that it returns or changes.",
                percent(self.share),
                number(ratio)
            ),
            (many, ratio) => write!(
                f,
                "{} of {what} are {many} statements that read {} rows for each row that they return or change.",
                percent(self.share),
                number(ratio)
            ),
        }
    }
}

/// The first line: what was found, and what is handed over.
pub fn headline(advice: &Advice) -> String {
    headline_of_indexes(advice) + &with_setting(advice)
}

/// The same without a word of settings.
pub fn headline_of_indexes(advice: &Advice) -> String {
    let chosen = advice.screened.chosen().count();
    let saved = advice.saved();
    match (
        chosen,
        advice.superfluous().count(),
        advice.statistics.len(),
    ) {
        (0, 0, 0) => format!("0 indexes: {}. {}", why_none(advice), advice.finding),
        (0, drops, fresh) => format!(
            "0 indexes to add: {} ({}). {}{}",
            why_none(advice),
            remainder(drops, fresh),
            advice.finding,
            with_statistics(advice)
        ),
        (chosen, drops, fresh) => {
            let more = match remainder(drops, fresh) {
                more if more.is_empty() => String::new(),
                more => format!("; {more}"),
            };
            format!(
                "{} {} {} {} of the counted work away{more}.{}{}",
                advice.finding,
                counted(chosen as u64, "index"),
                if chosen == 1 { "takes" } else { "take" },
                percent(saved),
                with_statistics(advice),
                advice
                    .proof
                    .as_ref()
                    .map_or_else(String::new, |proof| proven(
                        proof,
                        !advice.statistics.is_empty()
                    ))
            )
        }
    }
}

/// Why there is none.
fn why_none(advice: &Advice) -> String {
    let judged = &advice.screened.judged;
    let without_time = judged.iter().filter(|one| one.fate == Fate::NoTime).count();
    match (&advice.proof, without_time) {
        (Some(_), _) => "duels show none that pays".to_owned(),
        (None, 0) => "counting shows none that pays".to_owned(),
        (None, _) => format!(
            "the budget ended before {without_time} of {} candidates were judged, and none of the others pays",
            judged.len()
        ),
    }
}

/// Why duels decide nothing, where their replay is not like the capture.
pub const POOR_REPLAY: &str = "the replay is not good enough to decide by";

/// What duels showed of the indexes that are handed over, on top of fresh statistics where those are, too.
fn proven(proof: &Proof, has_statistics: bool) -> String {
    let trial = proof.handed_over.as_ref().unwrap_or(&proof.set);
    let throughput = interval(&trial.throughput);
    match (trial.is_open(), trial.poor_replay.is_empty()) {
        (true, true) => format!(
            " Not proven: {} are too few to decide by (throughput {throughput}).",
            counted(trial.duels as u64, "duel")
        ),
        (true, false) => format!(" Not proven: {POOR_REPLAY} (throughput {throughput})."),
        (false, _) if has_statistics => {
            format!(" Proven by duels on top of fresh statistics: throughput {throughput}.")
        }
        (false, _) => format!(" Proven by duels: throughput {throughput}."),
    }
}

fn remainder(drops: usize, fresh: usize) -> String {
    let mut parts = Vec::new();
    if drops > 0 {
        parts.push(format!("{} can go", counted(drops as u64, "index")));
    }
    if fresh > 0 {
        parts.push(format!(
            "{} of stale statistics",
            counted(fresh as u64, "table")
        ));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_finds_nothing() {
        let mut digest = DigestAdvice {
            digest: "1".to_owned(),
            text: "load data infile ?".to_owned(),
            share: 0.5,
            count: 1,
            work: None,
            rows_returned: None,
            counted: 0,
            was_cut: false,
            causes: Vec::new(),
            plan: None,
            not_understood: Some(NotUnderstood::OtherKind),
            refused: None,
        };
        let told = no_cause(&digest);
        assert_eq!(told, "not counted: its grammar is not understood");
        digest.work = Some(crate::work::Work::default());
        assert_eq!(no_cause(&digest), "counted; its grammar is not understood");
        digest.not_understood = None;
        assert_eq!(no_cause(&digest), "finds what it needs");
    }

    #[test]
    fn numbers_are_written_for_people() {
        for (value, expected) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (999.4, "999"),
            (9000.0, "9,000"),
            (1_234_567.0, "1,234,567"),
            (-1200.0, "-1,200"),
        ] {
            assert_eq!(number(value), expected);
        }
        assert_eq!(percent(0.684), "68 %");
        assert_eq!(percent(0.012), "1.2 %");
        assert_eq!(percent(0.9996), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(bytes(3 << 20), "3.0 MB");
        assert_eq!(counted(2, "index"), "2 indexes");
    }
}
