//! What all connections of a workload share, and where one of them is in its transaction.
//!
//! A plan has *templates*: statements as connections prepare them, known by their place. A transaction is a small state
//! machine over them: it says which template is next ([`Transaction::current`]), writes its parameters
//! ([`Transaction::encode`]), is fed the answer and goes on ([`Transaction::advance`]). What it draws and what it keeps of
//! answers has its place before the load begins, so that nothing is allocated under it.

use super::custom::{OwnPlan, OwnTransaction};
use super::parameters::{Parameters, Text};
use super::sysbench::{OltpPlan, OltpTransaction};
use super::template::{Next, Template, Templates, Unexpected};
use super::tpcc::{TpccPlan, TpccTransaction};
use super::{Rng, StatementClass, WorkloadKind, WorkloadSpec};
use crate::error::LoadError;
use crate::protocol::answer::Answer;
use crate::protocol::command::Execute;
use rand::SeedableRng;
use std::time::Duration;

/// What all connections share.
#[derive(Debug)]
pub struct Plan {
    pub templates: Vec<Template>,
    /// What statements are counted as: name and class.
    pub kinds: Vec<(String, StatementClass)>,
    /// The types of transactions that are told apart; empty where there is one only.
    pub types: Vec<String>,
    script: Script,
    seed: u64,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for all connections, and it is looked at for every statement"
)]
enum Script {
    Oltp(OltpPlan),
    Tpcc(Box<TpccPlan>),
    Own(Box<OwnPlan>),
}

impl Plan {
    /// For a spec that was validated, and `threads` connections that draw from `seed`.
    ///
    /// # Errors
    /// The workload's file has a mistake.
    pub fn new(spec: &WorkloadSpec, threads: u32, seed: u64) -> Result<Self, LoadError> {
        let mut templates = Templates::default();
        let (script, types) = match spec.kind {
            WorkloadKind::Tpcc => {
                let plan = TpccPlan::new(spec, seed, &mut templates);
                (Script::Tpcc(Box::new(plan)), TpccPlan::types())
            }
            kind if kind.is_from_file() => {
                let definition = spec.definition()?;
                let plan = OwnPlan::new(definition, spec, threads, seed, &mut templates);
                let types = plan.types();
                (Script::Own(Box::new(plan)), types)
            }
            _ => {
                let plan = OltpPlan::new(spec, threads, seed, &mut templates);
                (Script::Oltp(plan), Vec::new())
            }
        };
        Ok(Plan {
            templates: templates.list,
            kinds: templates.kinds,
            types,
            script,
            seed,
        })
    }

    /// The transactions of connection `number` (from 0): the same for the same number and seed, whatever the server.
    pub fn transaction(&self, number: u32) -> Transaction {
        let rng = Rng::seed_from_u64(
            self.seed
                .wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        );
        match &self.script {
            Script::Oltp(plan) => Transaction::Oltp(plan.transaction(number, rng)),
            Script::Tpcc(plan) => Transaction::Tpcc(Box::new(plan.transaction(number, rng))),
            Script::Own(plan) => Transaction::Own(Box::new(plan.transaction(number, rng))),
        }
    }
}

/// Where one connection is in its transaction.
#[derive(Debug)]
pub enum Transaction {
    Oltp(OltpTransaction),
    // Boxed: it holds an order, and connections of other workloads need not be as large.
    Tpcc(Box<TpccTransaction>),
    Own(Box<OwnTransaction>),
}

/// The same for every workload: the transaction and its part of the plan.
macro_rules! each {
    ($transaction:expr, $plan:expr, ($own:ident, $script:ident) => $do:expr) => {
        match ($transaction, &$plan.script) {
            (Transaction::Oltp($own), Script::Oltp($script)) => $do,
            (Transaction::Tpcc($own), Script::Tpcc($script)) => $do,
            (Transaction::Own($own), Script::Own($script)) => $do,
            // A transaction is made by its own plan.
            _ => unreachable!("a transaction of another plan"),
        }
    };
}

impl Transaction {
    /// A new transaction begins: what stays the same when it is begun again after an error is drawn.
    #[inline]
    pub fn draw(&mut self, plan: &Plan) {
        each!(self, plan, (own, script) => own.draw(script));
    }

    /// Goes to the first statement, for the first time or again after an error.
    #[inline]
    pub fn restart(&mut self, plan: &Plan) {
        each!(self, plan, (own, _script) => own.restart());
    }

    /// The template of the statement that is next. To be asked once for each: it may draw.
    #[inline]
    pub fn current(&mut self, plan: &Plan) -> usize {
        each!(self, plan, (own, script) => own.current(script))
    }

    /// As [`current`](Self::current) said last.
    #[inline]
    pub fn peek(&self, plan: &Plan) -> usize {
        each!(self, plan, (own, script) => own.peek(script))
    }

    /// Writes the parameters of the statement at hand, which is of `template`, into the prepared statement's command.
    #[inline]
    pub fn encode(&mut self, plan: &Plan, template: usize, command: Execute<'_>) {
        self.write(plan, template, command);
    }

    /// Writes the statement at hand as text into `out`, which is emptied.
    pub fn encode_text(&mut self, plan: &Plan, template: usize, out: &mut Vec<u8>) {
        let written = match self {
            Transaction::Oltp(own) => own.encode_text(out),
            Transaction::Tpcc(_) | Transaction::Own(_) => false,
        };
        if !written {
            let sql = &plan.templates[template].sql;
            self.write(plan, template, Text::new(out, sql.as_bytes()));
        }
    }

    fn write(&mut self, plan: &Plan, template: usize, command: impl Parameters) {
        each!(self, plan, (own, script) => own.encode(script, template, command));
    }

    /// Goes on after the answer to the statement at hand.
    #[inline]
    pub fn advance(&mut self, plan: &Plan, answer: &Answer) -> Result<Next, Unexpected> {
        each!(self, plan, (own, script) => own.advance(script, answer))
    }

    /// Whether the server may hold a transaction open that has to be rolled back when a statement fails.
    pub fn is_open(&self, plan: &Plan) -> bool {
        match (self, &plan.script) {
            (Transaction::Own(own), Script::Own(script)) => own.is_open(script),
            (_, Script::Oltp(script)) => script.in_transaction,
            (_, Script::Tpcc(_)) => true,
            (_, Script::Own(_)) => false,
        }
    }

    /// How long the connection rests after the transaction that has just completed.
    pub fn pause(&mut self, plan: &Plan) -> Duration {
        match (self, &plan.script) {
            (Transaction::Tpcc(own), Script::Tpcc(script)) => own.pause(script),
            _ => Duration::ZERO,
        }
    }

    /// Its place in [`Plan::types`].
    #[inline]
    pub fn kind(&self) -> usize {
        match self {
            Transaction::Oltp(_) => 0,
            Transaction::Tpcc(own) => own.kind(),
            Transaction::Own(own) => own.kind(),
        }
    }

    /// The statement at hand, with question marks for its parameters.
    pub fn sql(&self, plan: &Plan) -> String {
        match self {
            Transaction::Oltp(own) => own.bulk_sql(),
            Transaction::Tpcc(_) | Transaction::Own(_) => None,
        }
        .unwrap_or_else(|| plan.templates[self.peek(plan)].sql.clone())
    }
}
