//! The rules: facts to findings, pure.

mod connections;
mod innodb;
mod release;
mod replication;
mod safety;
mod statements;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use niagara_lab::lever::Lever;

use crate::facts::Facts;
use crate::finding::Finding;
use crate::release::Releases;
use crate::rule::Rules;

/// Everything that the rules find, the worst first.
pub fn findings(
    facts: &Facts,
    rules: &Rules,
    releases: &Releases,
    levers: &[Lever],
) -> Vec<Finding> {
    let mut found = safety::findings(facts, rules, levers);
    found.extend(release::findings(facts, releases));
    found.extend(replication::findings(facts, rules));
    found.extend(connections::findings(facts, rules));
    found.extend(statements::findings(facts, rules));
    found.extend(innodb::findings(facts, rules));
    found.extend(tables::findings(facts, rules));
    // Of one level they stay in the order above.
    found.sort_by_key(|finding| rules.of(finding).level);
    found
}
