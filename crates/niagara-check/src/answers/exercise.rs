//! The statements of a comparison on one server, whose answers nobody looks at: what a build is trained on, so that no kind of
//! statement is foreign to it.

use std::time::Instant;

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_load::{Admin, LoadError};
use niagara_server::{Cancel, Install, RunningServer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::script::{Kind, Scope, Script, Section, Statement};
use super::{ANSWERED_ENGINES, BULK, SCRIPT, WORDS, template};
use crate::server::{connect, endpoint};

/// Seed of the data and of what is drawn.
const SEED: u64 = 1;

/// Has `server` execute the statements of `data/checks/answers.sql`, with tables in every engine that it has, again and again until
/// `seconds` are over, once at least; how many it executed. What it refuses it is meant to refuse, or does not know.
///
/// # Errors
/// Stopped on request; the server is lost.
pub fn exercise(
    server: &RunningServer,
    install: &Install,
    seconds: f64,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
) -> Result<u64> {
    let began = Instant::now();
    let script = Script::parse("data/checks/answers.sql (built in)", SCRIPT)?;
    let mut exercise = Exercise {
        admin: connect(&endpoint(server))?,
        words: WORDS.lines().filter(|line| !line.is_empty()).collect(),
        is_mariadb: install.family.is_mariadb(),
        executed: 0,
        accepted: 0,
    };
    let mut round = 0;
    while round == 0 || began.elapsed().as_secs_f64() < seconds {
        round += 1;
        for engine in exercise.engines()? {
            for section in &script.sections {
                cancel.check()?;
                if exercise.applies(&section.scope, &engine) {
                    exercise.section(section, &engine, round)?;
                }
                tell(&format!(
                    "round {round}, {engine}: {} statements",
                    exercise.executed
                ));
            }
        }
    }
    if exercise.accepted * 2 < exercise.executed {
        bail!(
            "the server refused {} of {} statements of the check",
            exercise.executed - exercise.accepted,
            exercise.executed;
            remedy: "niagara server check --part answers tells which"
        );
    }
    Ok(exercise.executed)
}

struct Exercise<'a> {
    admin: Admin,
    words: Vec<&'a str>,
    is_mariadb: bool,
    executed: u64,
    accepted: u64,
}

impl Exercise<'_> {
    /// Those of the engines that this server has.
    fn engines(&mut self) -> Result<Vec<String>> {
        let rows = self.admin.rows("SHOW ENGINES")?;
        let has = |engine: &str| {
            rows.iter().any(|row| {
                let cell = |place: usize| row.get(place).and_then(|cell| cell.as_deref());
                let usable = cell(1).is_some_and(|support| !["NO", "DISABLED"].contains(&support));
                usable && cell(0).is_some_and(|name| name.eq_ignore_ascii_case(engine))
            })
        };
        let engines = ANSWERED_ENGINES.into_iter().filter(|engine| has(engine));
        Ok(engines.map(str::to_owned).collect())
    }

    fn applies(&self, scope: &Scope, engine: &str) -> bool {
        let family = scope
            .mariadb
            .is_none_or(|mariadb| mariadb == self.is_mariadb);
        family && scope.engine.as_deref().is_none_or(|name| name == engine)
    }

    fn section(&mut self, section: &Section, engine: &str, round: u64) -> Result<()> {
        if section.kind == Kind::Tables {
            self.begin(engine)?;
        }
        let seed = niagara_stats::derive_seed(SEED, &section.name, round);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        match section.kind {
            Kind::Tables | Kind::Queries => {
                for statement in &section.statements {
                    self.one(statement, 0, &mut rng)?;
                }
            }
            Kind::Fill(count) => {
                for statement in &section.statements {
                    self.fill(statement, count, &mut rng)?;
                }
            }
            Kind::Changes(count) => {
                for number in 0..count {
                    let drawn = rng.random_range(0..section.statements.len());
                    self.one(&section.statements[drawn], number, &mut rng)?;
                }
            }
        }
        Ok(())
    }

    /// An empty database with tables in this engine.
    fn begin(&mut self, engine: &str) -> Result<()> {
        let database = format!("niagara_{}", engine.to_lowercase());
        for sql in [
            format!("DROP DATABASE IF EXISTS {database}"),
            format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"),
            format!("USE {database}"),
            format!("SET default_storage_engine = {engine}"),
        ] {
            self.admin
                .rows(&sql)
                .with_context(|| format!("the server under training refuses: {sql}"))?;
        }
        Ok(())
    }

    fn one(&mut self, statement: &Statement, row: usize, rng: &mut ChaCha8Rng) -> Result<()> {
        let sql = self.filled(&statement.text, statement, row, rng)?;
        self.execute(&sql)
    }

    fn fill(&mut self, statement: &Statement, count: usize, rng: &mut ChaCha8Rng) -> Result<()> {
        let Some((head, row)) = statement.text.split_once("VALUES") else {
            return self.one(statement, 0, rng);
        };
        let mut number = 0;
        while number < count {
            let mut rows = Vec::with_capacity(BULK);
            for _ in 0..BULK.min(count - number) {
                number += 1;
                rows.push(self.filled(row.trim(), statement, number, rng)?);
            }
            self.execute(&format!("{head}VALUES {}", rows.join(",")))?;
        }
        Ok(())
    }

    fn filled(
        &self,
        text: &str,
        statement: &Statement,
        row: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<String> {
        template::fill(text, row, &self.words, rng)
            .map_err(|cause| anyhow::anyhow!("data/checks/answers.sql:{}: {cause}", statement.line))
    }

    fn execute(&mut self, sql: &str) -> Result<()> {
        self.executed += 1;
        match self.admin.rows(sql) {
            Ok(_) => self.accepted += 1,
            // Some have to be refused.
            Err(LoadError::Query { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
