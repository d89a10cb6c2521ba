//! A lever's change before it meets a machine.

use std::collections::BTreeMap;

use niagara_origin::data::ChangeStatement;
use niagara_server::{Family, Scheduling, TransportKind};

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
    pub malloc: Option<String>,
    pub huge_pages_heap: Option<bool>,
    pub huge_pages_text: Option<bool>,
    pub transport: Option<TransportKind>,
    pub server_cpus: Option<CpuChoice>,
    pub client_cpus: Option<CpuChoice>,
    pub scheduling: Option<Scheduling>,
    pub environment: BTreeMap<String, Value>,
    pub lock_memory: Option<bool>,
    pub build: BTreeMap<String, String>,
    pub sql: Vec<ChangeStatement>,
}

impl Template {
    /// Of no use to an application on another host.
    pub(crate) fn local_only(&self) -> bool {
        self.transport == Some(TransportKind::Unix) || self.client_cpus.is_some()
    }

    /// Whether another malloc is all that it brings.
    pub(crate) fn sets_only_malloc(&self) -> bool {
        let malloc = Self {
            malloc: self.malloc.clone(),
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
        let literal = |(name, value): (&String, &Value)| -> Result<(String, String), String> {
            let text = match value {
                Value::Literal(text) => text.clone(),
                Value::Computed(expression) => expression
                    .value(&quantities)
                    .map_err(|why| format!("{name}: {why}"))?
                    .to_string(),
            };
            Ok((name.clone(), text))
        };
        let cpus = |choice: &Option<CpuChoice>| -> Result<Option<Vec<usize>>, String> {
            choice
                .as_ref()
                .map(|choice| choice.cpus(&context.machine.cpu, &quantities))
                .transpose()
        };
        Ok(Change {
            config: self
                .variables(context.family)
                .map(literal)
                .collect::<Result<_, _>>()?,
            malloc: self.malloc.clone(),
            huge_pages_heap: self.huge_pages_heap,
            huge_pages_text: self.huge_pages_text,
            transport: self.transport,
            server_cpus: cpus(&self.server_cpus)?,
            client_cpus: cpus(&self.client_cpus)?,
            scheduling: self.scheduling,
            environment: self
                .environment
                .iter()
                .map(literal)
                .collect::<Result<_, _>>()?,
            lock_memory: self.lock_memory,
            build: self.build.clone(),
            sql: self.sql.clone(),
            rewrite: Vec::new(),
        })
    }
}
