//! What a transaction is asked for: drawn once, and the same when it is begun again after a deadlock.

use super::random::Constants;
use super::{DISTRICTS, FEWEST_LINES, ITEMS, MAX_LINES};
use crate::workload::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// The five transactions, in the order of the clauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Type {
    pub(crate) const ALL: [Type; 5] = [
        Type::NewOrder,
        Type::Payment,
        Type::OrderStatus,
        Type::Delivery,
        Type::StockLevel,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::NewOrder => "new_order",
            Type::Payment => "payment",
            Type::OrderStatus => "order_status",
            Type::Delivery => "delivery",
            Type::StockLevel => "stock_level",
        }
    }

    /// Of a hundred transactions (clause 5.2.3: 43 % payments and 4 % of the three others at least).
    fn share(self) -> usize {
        match self {
            Type::NewOrder => 45,
            Type::Payment => 43,
            _ => 4,
        }
    }

    /// Least keying time and mean think time, in seconds (clause 5.2.5.7).
    pub(crate) fn times(self) -> (f64, f64) {
        match self {
            Type::NewOrder => (18.0, 12.0),
            Type::Payment => (3.0, 12.0),
            Type::OrderStatus => (2.0, 10.0),
            Type::Delivery | Type::StockLevel => (2.0, 5.0),
        }
    }
}

/// The mix as a deck of cards (clause 5.2.4.2): every hundred transactions of a connection have exactly its shares, in
/// random order.
#[derive(Debug)]
pub(super) struct Deck {
    cards: [Type; 100],
    next: usize,
}

impl Deck {
    pub(super) fn new() -> Self {
        let mut cards = [Type::NewOrder; 100];
        let mut place = 0;
        for kind in Type::ALL {
            cards[place..place + kind.share()].fill(kind);
            place += kind.share();
        }
        Deck { cards, next: 100 }
    }

    pub(super) fn draw(&mut self, rng: &mut Rng) -> Type {
        if self.next == self.cards.len() {
            self.cards.shuffle(rng);
            self.next = 0;
        }
        self.next += 1;
        self.cards[self.next - 1]
    }
}

/// A line of an order.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Line {
    pub item: i32,
    pub supplier: i32,
    pub quantity: i32,
}

/// How a customer is named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Customer {
    Number(i32),
    /// The number of the last name.
    Name(i32),
}

/// The inputs of all five; each uses its own.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub warehouse: i32,
    pub district: i32,
    /// Of order-status and payment.
    pub customer: Customer,
    /// Where a payment's customer belongs.
    pub customer_warehouse: i32,
    pub customer_district: i32,
    /// Of a payment, in hundredths.
    pub amount: i64,
    pub lines: [Line; MAX_LINES],
    pub count: usize,
    /// The carrier of a delivery.
    pub carrier: i32,
    /// The threshold of stock-level.
    pub threshold: i32,
}

impl Inputs {
    pub(crate) fn new() -> Self {
        Inputs {
            warehouse: 1,
            district: 1,
            customer: Customer::Number(1),
            customer_warehouse: 1,
            customer_district: 1,
            amount: 0,
            lines: [Line::default(); MAX_LINES],
            count: FEWEST_LINES,
            carrier: 1,
            threshold: 10,
        }
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Whether all of it comes from the order's own warehouse.
    pub(crate) fn all_local(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.supplier == self.warehouse)
    }

    /// Draws what `kind` asks for, at a terminal of a warehouse and district.
    pub(crate) fn draw(
        &mut self,
        kind: Type,
        rng: &mut Rng,
        constants: &Constants,
        terminal: &Terminal,
    ) {
        self.warehouse = terminal.warehouse;
        self.district = rng.random_range(1..=DISTRICTS);
        match kind {
            Type::NewOrder => self.draw_order(rng, constants, terminal),
            Type::Payment => {
                self.draw_customer(rng, constants);
                (self.customer_warehouse, self.customer_district) =
                    match terminal.other_warehouse(rng, 15) {
                        Some(other) => (other, rng.random_range(1..=DISTRICTS)),
                        None => (self.warehouse, self.district),
                    };
                self.amount = rng.random_range(100..=500_000);
            }
            Type::OrderStatus => self.draw_customer(rng, constants),
            Type::Delivery => self.carrier = rng.random_range(1..=10),
            Type::StockLevel => {
                self.district = terminal.district;
                self.threshold = rng.random_range(10..=20);
            }
        }
    }

    /// Clause 2.4.1.
    fn draw_order(&mut self, rng: &mut Rng, constants: &Constants, terminal: &Terminal) {
        self.customer = Customer::Number(constants.customer(rng));
        self.count = rng.random_range(FEWEST_LINES..=MAX_LINES);
        let unused_item = rng.random_range(1..=100) == 1;
        for place in 0..self.count {
            let supplier = terminal.other_warehouse(rng, 1);
            self.lines[place] = Line {
                item: constants.item(rng),
                supplier: supplier.unwrap_or(terminal.warehouse),
                quantity: rng.random_range(1..=10),
            };
        }
        if unused_item {
            self.lines[self.count - 1].item = ITEMS + 1;
        }
    }

    /// By last name in 60 of 100 cases (clauses 2.5.1.2 and 2.6.1.2).
    fn draw_customer(&mut self, rng: &mut Rng, constants: &Constants) {
        self.customer = if rng.random_range(1..=100) <= 60 {
            Customer::Name(constants.last_name(rng))
        } else {
            Customer::Number(constants.customer(rng))
        };
    }
}

/// Where a connection's transactions are entered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub warehouse: i32,
    /// For stock-level only; the others draw theirs.
    pub district: i32,
    pub warehouses: i32,
}

impl Terminal {
    /// That of connection `number` (from 0): warehouse by warehouse, then district by district.
    pub(crate) fn new(number: u32, warehouses: u32) -> Self {
        // Validation holds the number of warehouses within i32.
        Terminal {
            warehouse: (number % warehouses) as i32 + 1,
            district: (number / warehouses % DISTRICTS as u32) as i32 + 1,
            warehouses: warehouses as i32,
        }
    }

    /// Another warehouse in `percent` of the cases, if there is one.
    fn other_warehouse(&self, rng: &mut Rng, percent: i32) -> Option<i32> {
        let is_remote = rng.random_range(1..=100) <= percent;
        if !is_remote || self.warehouses == 1 {
            return None;
        }
        let other = rng.random_range(1..self.warehouses);
        Some(other + i32::from(other >= self.warehouse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_deck_has_the_mix() {
        let mut deck = Deck::new();
        let mut rng = Rng::seed_from_u64(3);
        let mut orders = Vec::new();
        for _ in 0..20 {
            let hundred: Vec<Type> = (0..100).map(|_| deck.draw(&mut rng)).collect();
            for kind in Type::ALL {
                let count = hundred.iter().filter(|card| **card == kind).count();
                assert_eq!(count, kind.share());
            }
            orders.push(hundred);
        }
        orders.dedup();
        assert_eq!(orders.len(), 20, "the order is another one every time");
    }

    /// Shares of what is drawn, within four standard deviations.
    #[test]
    fn rare_cases_are_as_rare_as_they_should() {
        let constants = Constants::load();
        let mut rng = Rng::seed_from_u64(11);
        let mut inputs = Inputs::new();
        let terminal = Terminal::new(7, 5);
        assert_eq!((terminal.warehouse, terminal.district), (3, 2));
        let n = 200_000;
        let (mut unused, mut lines, mut remote_lines) = (0, 0, 0);
        let (mut remote, mut named) = (0, 0);
        for _ in 0..n {
            inputs.draw(Type::NewOrder, &mut rng, &constants, &terminal);
            assert!((FEWEST_LINES..=MAX_LINES).contains(&inputs.count));
            lines += inputs.count;
            unused += usize::from(inputs.lines().iter().any(|line| line.item > ITEMS));
            let others = |line: &&Line| line.supplier != 3;
            remote_lines += inputs.lines().iter().filter(others).count();
            assert_eq!(
                inputs.all_local(),
                inputs.lines().iter().filter(others).count() == 0
            );
            inputs.draw(Type::Payment, &mut rng, &constants, &terminal);
            remote += usize::from(inputs.customer_warehouse != 3);
            assert!((1..=5).contains(&inputs.customer_warehouse));
            named += usize::from(matches!(inputs.customer, Customer::Name(_)));
        }
        for (what, count, of, share) in [
            ("unused items", unused, n, 0.01),
            ("remote lines", remote_lines, lines, 0.01),
            ("remote payments", remote, n, 0.15),
            ("by name", named, n, 0.6),
        ] {
            let sd = (of as f64 * share * (1.0 - share)).sqrt();
            let excess = (count as f64 - of as f64 * share) / sd;
            assert!(excess.abs() < 4.0, "{what}: {count} of {of}");
        }
        assert!((lines as f64 / n as f64 - 10.0).abs() < 0.05);
    }

    #[test]
    fn one_warehouse_has_no_other() {
        let mut rng = Rng::seed_from_u64(1);
        let terminal = Terminal::new(12, 1);
        assert_eq!((terminal.warehouse, terminal.district), (1, 3));
        assert!((0..10_000).all(|_| terminal.other_warehouse(&mut rng, 100).is_none()));
    }
}
