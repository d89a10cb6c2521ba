//! What all connections of a workload share, and where one of them is in its transaction.
//!
//! A plan has *templates*: statements as connections prepare them, known by their place. A transaction is a small state
//! machine over them: it says which template is next ([`Transaction::current`]), writes its parameters
//! ([`Transaction::encode`]), is fed the answer and moves on ([`Transaction::advance`]). What it draws and what it keeps of
//! answers has its place before the load begins, so that nothing is allocated under it.

use super::parameters::Text;
use super::registry::{self, Script};
use super::script::NoPlan;
use super::template::{Next, Template, Templates, Unexpected};
use super::{Rng, StatementClass, WorkloadSpec};
use crate::protocol::answer::Answer;
use crate::protocol::command::Execute;
use rand::SeedableRng;
use std::time::Duration;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Plan {
    pub templates: Vec<Template>,
    /// What statements are counted as: name and class.
    pub kinds: Vec<(String, StatementClass)>,
    /// The types of transactions that are told apart; empty where there is one only.
    pub types: Vec<String>,
    script: Script,
    seed: u64,
}

impl Plan {
    /// For a spec that was validated, and `threads` connections that draw from `seed`.
    pub(crate) fn new(spec: &WorkloadSpec, threads: u32, seed: u64) -> Self {
        let mut templates = Templates::default();
        let script = spec
            .workload
            .script(&spec.common, threads, seed, &mut templates);
        Plan {
            templates: templates.list,
            kinds: templates.kinds,
            types: script.types(),
            script,
            seed,
        }
    }

    /// Of a program: no statements are known before it runs.
    pub(crate) fn empty() -> Self {
        Plan {
            templates: Vec::new(),
            kinds: Vec::new(),
            types: Vec::new(),
            script: Script::Script(NoPlan),
            seed: 0,
        }
    }

    /// Whether it is of a program, whose statements nobody knows.
    pub(crate) fn is_of_script(&self) -> bool {
        matches!(self.script, Script::Script(_))
    }

    /// The transactions of connection `number` (from 0): the same for the same number and seed, whatever the server.
    pub(crate) fn transaction(&self, number: u32) -> Transaction {
        let rng = Rng::seed_from_u64(
            self.seed
                .wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        );
        Transaction(self.script.transaction(number, rng))
    }
}

/// Where one connection is in its transaction.
#[derive(Debug)]
pub(crate) struct Transaction(registry::Transaction);

impl Transaction {
    /// A new transaction begins: what stays the same when it is begun again after an error is drawn.
    #[inline]
    pub(crate) fn draw(&mut self, plan: &Plan) {
        self.0.draw(&plan.script);
    }

    /// What was drawn is there already, by the server: what can be drawn anew is, for the same type of transaction.
    pub(crate) fn redraw(&mut self, plan: &Plan) {
        self.0.redraw(&plan.script);
    }

    /// Goes to the first statement, for the first time or again after an error.
    #[inline]
    pub(crate) fn restart(&mut self, plan: &Plan) {
        self.0.restart(&plan.script);
    }

    /// The template of the statement that is next. To be asked once for each: it may draw.
    #[inline]
    pub(crate) fn current(&mut self, plan: &Plan) -> usize {
        self.0.current(&plan.script)
    }

    /// As [`current`](Self::current) said last.
    #[inline]
    pub(crate) fn peek(&self, plan: &Plan) -> usize {
        self.0.peek(&plan.script)
    }

    /// Writes the parameters of the statement at hand, which is of `template`, into the prepared statement's command.
    #[inline]
    pub(crate) fn encode(&mut self, plan: &Plan, template: usize, command: Execute<'_>) {
        self.0.encode(&plan.script, template, command);
    }

    /// Writes the statement at hand as text into `out`, which is emptied.
    pub(crate) fn encode_text(&mut self, plan: &Plan, template: usize, out: &mut Vec<u8>) {
        if !self.0.encode_text(&plan.script, out) {
            let text = Text::new(out, plan.templates[template].sql.as_bytes());
            self.0.encode(&plan.script, template, text);
        }
    }

    /// Moves on after the answer to the statement at hand.
    #[inline]
    pub(crate) fn advance(&mut self, plan: &Plan, answer: &Answer) -> Result<Next, Unexpected> {
        self.0.advance(&plan.script, answer)
    }

    /// Whether the server may hold a transaction open that has to be rolled back when a statement fails.
    pub(crate) fn is_open(&self, plan: &Plan) -> bool {
        self.0.is_open(&plan.script)
    }

    /// How long the connection rests after the transaction that has just completed.
    pub(crate) fn pause(&mut self, plan: &Plan) -> Duration {
        self.0.pause(&plan.script)
    }

    /// Its place in [`Plan::types`].
    #[inline]
    pub(crate) fn kind(&self, plan: &Plan) -> usize {
        self.0.kind(&plan.script)
    }

    /// The statement at hand, with question marks for its parameters.
    pub(crate) fn sql(&self, plan: &Plan) -> String {
        let own = self.0.sql(&plan.script);
        own.unwrap_or_else(|| plan.templates[self.peek(plan)].sql.clone())
    }
}
