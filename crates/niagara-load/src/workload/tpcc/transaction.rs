//! Where a connection is in one of the five transactions: a state machine over the statements.

use super::inputs::{Customer, Deck, Inputs, Terminal, Type};
use super::options::Tpcc;
use super::random::Constants;
use super::statements::{Places, Sql};
use super::{DISTRICTS, MAX_LINES};
use crate::protocol::answer::Answer;
use crate::workload::draw::Rng;
use crate::workload::family::{Script, Steps};
use crate::workload::parameters::Parameters;
use crate::workload::template::{Next, Templates, Unexpected};
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct TpccScript {
    pub places: Places,
    constants: Constants,
    warehouses: u32,
    /// Rows of several keys are asked for at once.
    pub batch: bool,
    think_time: bool,
}

impl TpccScript {
    /// For a spec that was validated; `seed` decides the constants of the run.
    pub(crate) fn new(spec: &Tpcc, as_text: bool, seed: u64, templates: &mut Templates) -> Self {
        TpccScript {
            places: Places::new(spec.batch, as_text, templates),
            constants: Constants::run(&mut Rng::seed_from_u64(seed)),
            warehouses: spec.warehouses,
            batch: spec.batch,
            think_time: spec.think_time,
        }
    }
}

impl Script for TpccScript {
    type Transaction = Box<TpccTransaction>;

    fn types(&self) -> Vec<String> {
        Type::ALL.iter().map(|kind| kind.name().into()).collect()
    }

    fn transaction(&self, number: u32, mut rng: Rng) -> Box<TpccTransaction> {
        let mut deck = Deck::new();
        let upcoming = deck.draw(&mut rng);
        Box::new(TpccTransaction {
            terminal: Terminal::new(number, self.warehouses),
            deck,
            upcoming,
            kind: Type::NewOrder,
            inputs: Inputs::new(),
            work: Work::default(),
            sql: Sql::Begin,
            place: 0,
            rng,
        })
    }
}

/// What a transaction keeps of the answers; the meaning of each is its transaction's.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// The number of the order at hand.
    pub order: i32,
    /// The customer's number, once it is known.
    pub customer: i32,
    /// By line: price of the item in hundredths, quantity in stock afterwards, and where it comes from in this district.
    pub prices: [i64; MAX_LINES],
    pub quantities: [i32; MAX_LINES],
    pub district_info: [[u8; 24]; MAX_LINES],
    /// Of payment: names of warehouse and district, and how long they are.
    pub names: [([u8; 10], usize); 2],
    /// By district of a delivery: the oldest order (0: there is none), its customer, its sum in hundredths.
    pub orders: [i32; DISTRICTS as usize],
    pub customers: [i32; DISTRICTS as usize],
    pub sums: [i64; DISTRICTS as usize],
}

/// Where one connection is.
#[derive(Debug)]
pub(crate) struct TpccTransaction {
    pub rng: Rng,
    terminal: Terminal,
    deck: Deck,
    /// The type of the transaction after this one.
    upcoming: Type,
    kind: Type,
    pub inputs: Inputs,
    pub work: Work,
    /// The statement at hand.
    pub sql: Sql,
    /// Of a statement that is repeated: line or district, from 0.
    pub place: usize,
}

impl Steps for TpccTransaction {
    type Script = TpccScript;

    /// The next transaction: its type and its inputs.
    fn draw(&mut self, script: &TpccScript) {
        self.kind = self.upcoming;
        self.upcoming = self.deck.draw(&mut self.rng);
        self.inputs
            .draw(self.kind, &mut self.rng, &script.constants, &self.terminal);
    }

    /// Goes to the first statement, with the same inputs.
    fn restart(&mut self) {
        self.sql = Sql::Begin;
        self.place = 0;
        self.work.customer = match self.inputs.customer {
            Customer::Number(number) => number,
            Customer::Name(_) => 0,
        };
    }

    /// Its type's place in [`TpccScript::types`].
    fn kind(&self) -> usize {
        self.kind as usize
    }

    /// How long its terminal is idle after it: think time of this one, keying time of the next (clauses 5.2.5.4 and
    /// 5.2.5.7). Zero unless think times are asked for.
    fn pause(&mut self, script: &TpccScript) -> Duration {
        if !script.think_time {
            return Duration::ZERO;
        }
        let (_, mean) = self.kind.times();
        let (keying, _) = self.upcoming.times();
        let uniform: f64 = 1.0 - self.rng.random::<f64>();
        let think = (-uniform.ln() * mean).min(10.0 * mean);
        Duration::from_secs_f64(keying + think)
    }

    #[inline]
    fn peek(&self, script: &TpccScript) -> usize {
        script.places.template(self.sql, self.inputs.count)
    }

    /// Writes the parameters of the statement at hand.
    fn encode(&mut self, script: &TpccScript, template: usize, command: impl Parameters) {
        let (sql, rows) = script.places.of(template);
        match self.kind {
            _ if matches!(sql, Sql::Begin | Sql::Commit | Sql::Rollback) => command.finish(),
            Type::NewOrder => self.encode_order(sql, rows, command),
            Type::Payment => self.encode_payment(sql, command),
            Type::OrderStatus => self.encode_status(sql, command),
            Type::Delivery => self.encode_delivery(sql, rows, command),
            Type::StockLevel => self.encode_level(sql, command),
        }
    }

    /// Follows an answer.
    fn advance(&mut self, script: &TpccScript, answer: &Answer) -> Result<Next, Unexpected> {
        if matches!(self.sql, Sql::Commit | Sql::Rollback) {
            return Ok(Next::Complete);
        }
        match self.kind {
            Type::NewOrder => self.advance_order(script, answer)?,
            Type::Payment => self.advance_payment(answer)?,
            Type::OrderStatus => self.advance_status(answer)?,
            Type::Delivery => self.advance_delivery(script, answer)?,
            Type::StockLevel => self.advance_level(answer)?,
        }
        Ok(Next::Statement)
    }

    fn is_open(&self, _script: &TpccScript) -> bool {
        true
    }
}

impl TpccTransaction {
    /// The customer in the middle of those with the name, in the order of their first names (clause 2.5.2.2).
    pub(crate) fn take_middle_customer(&mut self, answer: &Answer) -> Result<(), Unexpected> {
        let count = answer.rows();
        let mut row = answer
            .row(count.div_ceil(2).saturating_sub(1))
            .ok_or_else(|| missing("no customer has the last name"))?;
        self.work.customer = number(row.int()?)?;
        Ok(())
    }
}

/// An answer without what must be there.
pub(super) fn missing(what: &'static str) -> Unexpected {
    Unexpected::Data(what.into())
}

/// A number that must not be NULL.
pub(super) fn number(value: Option<i64>) -> Result<i32, Unexpected> {
    value
        .and_then(|number| i32::try_from(number).ok())
        .ok_or_else(|| missing("a number is NULL or out of range"))
}

/// An amount that must not be NULL.
pub(super) fn amount(value: Option<i64>) -> Result<i64, Unexpected> {
    value.ok_or_else(|| missing("an amount is NULL"))
}

/// A text as it fits an array, and how long it is.
pub(super) fn keep<const N: usize>(text: Option<&[u8]>) -> Result<([u8; N], usize), Unexpected> {
    let text = text.ok_or_else(|| missing("a text is NULL"))?;
    let length = text.len().min(N);
    let mut kept = [0; N];
    kept[..length].copy_from_slice(&text[..length]);
    Ok((kept, length))
}
