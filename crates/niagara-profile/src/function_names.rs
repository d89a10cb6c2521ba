//! Names of functions that a stripped server does not export, by who calls them and whom they call: rules as data.
//!
//! A function of one source file alone has no name in a packaged server. Its neighbours in a stack have, and the source
//! says who stands between them. A rule that fits one stack names the function in all of them; names that are found so
//! are counted apart from those of symbol tables.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use include_dir::{Dir, include_dir};
use niagara_error::bail;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::folded::{Folded, Place};
use crate::rules;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/data/function-names");
/// A chain of functions without names is named from its ends inwards, one of them in a pass.
const PASSES: usize = 6;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    function: Vec<RuleText>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleText {
    name: String,
    #[serde(default)]
    callers: Vec<String>,
    #[serde(default)]
    callees: Vec<String>,
    #[serde(default)]
    within: Vec<String>,
}

/// The rules.
#[derive(Debug)]
pub struct Names(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    name: String,
    caller: Option<Regex>,
    callee: Option<Regex>,
    /// Some caller, however far up.
    within: Option<Regex>,
}

impl Names {
    /// Those of the program.
    ///
    /// # Errors
    /// A file among them is wrong.
    pub fn built_in() -> Result<Names> {
        let mut found = Vec::new();
        for (name, text) in rules::files(&BUILT_IN) {
            found.extend(parse(name, text)?);
        }
        Ok(Names(found))
    }

    /// Names what can be named among the server's own functions.
    pub fn infer(&self, folded: &mut Folded) {
        for _ in 0..PASSES {
            let mut votes: HashMap<u32, BTreeMap<usize, f64>> = HashMap::new();
            for (stack, weight) in folded.numbered() {
                for (at, id) in stack.iter().enumerate() {
                    let frame = &folded.frames()[*id as usize];
                    if frame.named || frame.place != Place::Server {
                        continue;
                    }
                    let name = |at: Option<usize>| {
                        let id = stack.get(at?)?;
                        let frame = folded.frames().get(*id as usize)?;
                        frame.named.then_some(&*frame.name)
                    };
                    let (caller, callee) = (name(at.checked_sub(1)), name(Some(at + 1)));
                    let is_within = |rule: &Rule| {
                        let Some(pattern) = &rule.within else {
                            return true;
                        };
                        (0..at).any(|at| name(Some(at)).is_some_and(|name| pattern.is_match(name)))
                    };
                    let fits = |rule: &Rule| rule.fits(caller, callee) && is_within(rule);
                    if let Some(rule) = self.0.iter().position(fits) {
                        *votes.entry(*id).or_default().entry(rule).or_default() += weight;
                    }
                }
            }
            if votes.is_empty() {
                return;
            }
            let names = votes.into_iter().filter_map(|(id, rules)| {
                let (rule, _) = rules.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
                Some((id, self.0.get(rule)?.name.clone()))
            });
            folded.rename(&names.collect());
        }
    }
}

impl Rule {
    fn fits(&self, caller: Option<&str>, callee: Option<&str>) -> bool {
        let fits = |rule: &Option<Regex>, name: Option<&str>| match rule {
            Some(pattern) => name.is_some_and(|name| pattern.is_match(name)),
            None => true,
        };
        fits(&self.caller, caller) && fits(&self.callee, callee)
    }
}

fn parse(name: &str, text: &str) -> Result<Vec<Rule>> {
    let parsed: Text = rules::read("function-names", name, text)?;
    let mut found = Vec::new();
    for rule in &parsed.function {
        if rule.callers.is_empty() && rule.callees.is_empty() {
            bail!(
                "function-names/{name}.toml: {} has neither callers nor callees", rule.name;
                remedy: "name one of them"
            );
        }
        found.push(Rule {
            name: rule.name.clone(),
            caller: rules::one_of(&rule.callers)?,
            callee: rules::one_of(&rule.callees)?,
            within: rules::one_of(&rule.within)?,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::Frame;

    #[test]
    fn a_rule_names_a_function_in_every_stack() {
        let frame = |name: &str| Frame {
            name: name.to_owned(),
            place: Place::Server,
            named: !name.starts_with('['),
            inferred: false,
        };
        let mut folded = Folded::default();
        let mut add = |names: &[&str]| folded.add(names.iter().map(|name| frame(name)), 1.0);
        add(&["mysql_execute_command", "[m+0x10]", "handle_select"]);
        add(&["mysql_execute_command", "[m+0x10]", "[m+0x30]"]);
        add(&["mysql_execute_command", "[m+0x20]", "other"]);
        let rules = parse(
            "test",
            "[[function]]\nname = \"execute_sqlcom_select\"\ncallers = [\"mysql_execute_command\"]\ncallees = [\"handle_select\"]\n\
             [[function]]\nname = \"check\"\ncallers = [\"execute_sqlcom_select\"]\n",
        );
        Names(rules.unwrap()).infer(&mut folded);
        let mut lines = folded.lines(1.0);
        lines.sort();
        assert_eq!(
            lines,
            [
                "mysql_execute_command;[m+0x20];other 1",
                "mysql_execute_command;execute_sqlcom_select;check 1",
                "mysql_execute_command;execute_sqlcom_select;handle_select 1",
            ]
        );
        assert_eq!(folded.inferred_share(), Some(3.0 / 9.0));
        assert_eq!(folded.named_share(), Some(8.0 / 9.0));
    }

    /// A stack from the outermost function to the innermost, with the built-in rules' names.
    fn named(stack: &[&str]) -> String {
        let mut folded = Folded::default();
        let frames = stack.iter().map(|name| Frame {
            name: (*name).to_owned(),
            place: match name.contains("pthread") {
                true => Place::Library,
                false => Place::Server,
            },
            named: !name.starts_with('['),
            inferred: false,
        });
        folded.add(frames, 1.0);
        Names::built_in().unwrap().infer(&mut folded);
        folded.lines(1.0).remove(0)
    }

    #[test]
    fn a_wait_for_a_row_has_its_name_and_other_timed_waits_have_not() {
        let found = named(&[
            "mysql_update",
            "handler::read_range_first",
            "handler::ha_index_read_map",
            "[m+0x50]",
            "[m+0x40]",
            "[m+0x30]",
            "[m+0x20]",
            "___pthread_cond_timedwait",
        ]);
        assert!(
            found.contains("row_search_mvcc;row_mysql_handle_errors;lock_wait;"),
            "{found}"
        );
        let cleaner = named(&["start_thread", "[m+0x60]", "___pthread_cond_timedwait"]);
        assert!(!cleaner.contains("lock_wait"), "{cleaner}");
    }

    #[test]
    fn the_built_in_rules_are_valid() {
        assert!(!Names::built_in().unwrap().0.is_empty());
        assert!(parse("x", "[[function]]\nname = \"lonely\"\n").is_err());
    }
}
