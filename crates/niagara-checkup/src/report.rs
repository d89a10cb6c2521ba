//! A checkup: facts, where the time goes, findings, levers; and its JSON.

use std::collections::{BTreeMap, BTreeSet};

use niagara_lab::lever::Lever;
use niagara_toml::FileError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::busy::{Busy, busy};
use crate::facts::{Facts, Host, Server, Statements};
use crate::finding::{Finding, Level};
use crate::gap::Gap;
use crate::levers::{LeverFact, levers as lever_facts};
use crate::proof::{Ground, Shows, proof, shows};
use crate::release::Releases;
use crate::remedy::{Remedy, remedy};
use crate::rule::Rules;
use crate::rules::findings;
use crate::words;

/// What a checkup says.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checkup {
    /// The address as the user may write it.
    pub(crate) address: String,
    /// What the server is.
    pub(crate) server: Server,
    /// Its process and machine.
    pub(crate) host: Option<Host>,
    /// Where the time goes.
    pub(crate) time: Busy,
    /// What is wrong, the worst first.
    pub(crate) findings: Vec<Line>,
    /// What statements do.
    pub(crate) statements: Option<Statements>,
    /// What the levers know of its settings.
    pub(crate) levers: Vec<LeverFact>,
    /// What could not be read.
    pub(crate) gaps: Vec<Gap>,
    /// What its commands are about.
    #[serde(skip)]
    pub(crate) ground: Ground,
}

/// A finding with its rule and its proof.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Line {
    /// How bad it is.
    pub level: Level,
    #[serde(flatten)]
    pub finding: Finding,
    /// In English.
    pub text: String,
    /// Why it is a finding.
    pub why: String,
    /// What that rests on.
    pub evidence: String,
    /// Levers that change it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<String>,
    /// What to change, once it is proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// What the command shows: the finding, or what its remedy costs.
    pub shows: Shows,
    /// The command that shows it.
    pub proof: String,
}

/// What the facts say.
///
/// # Errors
/// A mistake in the rules' file.
pub fn checkup(facts: Facts, levers: &[Lever], servers: &[String]) -> Result<Checkup, FileError> {
    let rules = Rules::built_in()?;
    let ground = ground(&facts, servers);
    let found = findings(&facts, &rules, &Releases::built_in()?, levers);
    let lines = found.into_iter().map(|finding| {
        let rule = rules.of(&finding);
        let remedy = remedy(&finding, &facts);
        Line {
            level: rule.level,
            text: words::finding(&finding),
            why: rule.why.split_whitespace().collect::<Vec<_>>().join(" "),
            evidence: rule.source.to_owned(),
            levers: rule.levers.to_vec(),
            shows: shows(&finding, remedy.as_ref()),
            proof: proof(&finding, remedy.as_ref()).command(&ground),
            remedy,
            finding,
        }
    });
    Ok(Checkup {
        findings: lines.collect(),
        time: busy(&facts),
        levers: lever_facts(&facts, levers),
        address: facts.address,
        server: facts.server,
        host: facts.host,
        statements: facts.statements,
        gaps: facts.gaps,
        ground,
    })
}

/// The server of the catalogue that is of its series; else its own program, else the name that it would have.
fn ground(facts: &Facts, servers: &[String]) -> Ground {
    let server = &facts.server;
    let name = format!(
        "{}-{}",
        server
            .family
            .to_string()
            .to_lowercase()
            .replace(" server", ""),
        server.version.series()
    );
    let program = facts.host.as_ref().and_then(|host| host.program.clone());
    Ground {
        server: match servers.contains(&name) {
            true => name,
            false => program.unwrap_or(name),
        },
        address: facts.address.clone(),
        login: facts.login.clone(),
        schema: busiest_schema(facts),
        needs_root: facts.needs_root,
    }
}

/// The database with most statements; else the only one with tables.
fn busiest_schema(facts: &Facts) -> Option<String> {
    let mut executions: BTreeMap<&str, f64> = BTreeMap::new();
    for digest in facts.statements.iter().flat_map(|all| &all.digests) {
        if let Some(schema) = &digest.schema {
            *executions.entry(schema).or_default() += digest.count;
        }
    }
    let most = executions.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((schema, _)) = most {
        return Some(schema.to_owned());
    }
    let tables = facts.catalog.iter().flat_map(|catalog| &catalog.tables);
    let schemas: BTreeSet<&str> = tables.map(|table| table.name.schema.as_str()).collect();
    match schemas.len() {
        1 => schemas.first().map(|&schema| schema.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Digest, Table};
    use crate::rules::tests::quiet;

    #[test]
    fn a_pack_is_of_the_busiest_schema() {
        let mut facts = quiet();
        assert_eq!(busiest_schema(&facts).as_deref(), Some("shop"));
        let mut other = Table::default();
        other.name.schema = "blog".to_owned();
        facts.catalog.as_mut().unwrap().tables.push(other);
        assert_eq!(busiest_schema(&facts), None);
        let digest = |schema: Option<&str>, count: f64| Digest {
            schema: schema.map(str::to_owned),
            count,
            ..Digest::default()
        };
        facts.statements = Some(Statements {
            seconds: 1.0,
            digests: vec![
                digest(None, 100.0),
                digest(Some("shop"), 3.0),
                digest(Some("blog"), 2.0),
                digest(Some("blog"), 2.0),
            ],
        });
        assert_eq!(busiest_schema(&facts).as_deref(), Some("blog"));
    }
}
