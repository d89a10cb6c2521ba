//! A lever's change before it meets a machine.

use std::collections::BTreeMap;

use niagara_origin::data::ChangeStatement;
use niagara_server::{Family, ProcessSettings, Scheduling};

use super::change::Change;
use super::context::Context;
use super::cpu_choice::CpuChoice;
use super::expression::Expression;

/// A value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Literal(String),
    Computed(Expression),
}

/// What `[change]` says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Template {
    /// Variables of every branch.
    pub config: BTreeMap<String, Value>,
    /// Variables of MariaDB only.
    pub mariadb: BTreeMap<String, Value>,
    /// Variables of MySQL and Percona Server only.
    pub mysql: BTreeMap<String, Value>,
    pub runtime: ProcessSettings<CpuChoice, Scheduling, Value>,
    pub build: BTreeMap<String, String>,
    pub sql: Vec<ChangeStatement>,
}

impl Template {
    /// Of no use to an application on another host.
    pub(crate) fn local_only(&self) -> bool {
        self.runtime.is_on_socket() || self.runtime.client_cpus.is_some()
    }

    /// Whether another malloc is all that it brings.
    pub(crate) fn sets_only_malloc(&self) -> bool {
        let malloc = Self {
            runtime: ProcessSettings {
                malloc: self.runtime.malloc.clone(),
                ..ProcessSettings::default()
            },
            ..Self::default()
        };
        *self == malloc
    }

    /// Variables that a branch gets.
    pub(crate) fn variables(&self, family: Family) -> impl Iterator<Item = (&String, &Value)> {
        let own = if family.is_mariadb() {
            &self.mariadb
        } else {
            &self.mysql
        };
        self.config.iter().chain(own)
    }

    /// The change on this machine; the reason why there is none.
    pub(crate) fn resolve(&self, context: &Context) -> Result<Change, String> {
        let quantities = context.quantities();
        let literal = |name: &str, value: &Value| -> Result<String, String> {
            match value {
                Value::Literal(text) => Ok(text.clone()),
                Value::Computed(expression) => {
                    let number = expression.value(&quantities);
                    let number = number.map_err(|why| format!("{name}: {why}"))?;
                    Ok(number.to_string())
                }
            }
        };
        Ok(Change {
            config: self
                .variables(context.family)
                .map(|(name, value)| Ok((name.clone(), literal(name, value)?)))
                .collect::<Result<_, String>>()?,
            runtime: self.runtime.clone().resolve(
                |choice| choice.cpus(&context.machine.cpu, &quantities),
                Ok,
                |name, value| literal(name, &value),
            )?,
            build: self.build.clone(),
            sql: self.sql.clone(),
            rewrite: Vec::new(),
        })
    }
}
