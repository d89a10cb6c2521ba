//! Which parentheses are lists of literals: those of `IN`, the rows of `VALUES`, and rows in either.
//!
//! A list ends at its own parenthesis, whatever is in it.

/// Follows the parentheses of a statement, token by token. Beyond 64 open ones the outer are no lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    depth: u32,
    /// Whether each open parenthesis is a list: a bit for each, the lowest for the innermost.
    lists: u64,
    /// Whether rows follow each other in it: the lowest bit is for what is in the innermost parenthesis.
    rows: u64,
    /// Whether it has more than literals.
    mixed: u64,
    opens: Opens,
    /// An operand begins here, behind a parenthesis or a comma.
    begins: bool,
}

/// What a parenthesis would open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Opens {
    #[default]
    Nothing,
    List,
    Row,
}

impl Lists {
    /// How many parentheses are open.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether the innermost parenthesis is a list.
    pub fn is_list(&self) -> bool {
        self.lists & 1 == 1
    }

    /// Whether an operand of a list begins here.
    pub fn begins_operand(&self) -> bool {
        self.is_list() && self.begins
    }

    /// A parenthesis opens: whether it is a row of a list.
    pub fn open(&mut self) -> bool {
        let is_row = self.opens == Opens::Row || (self.begins && (self.lists | self.rows) & 1 == 1);
        let is_list = is_row || self.opens == Opens::List;
        self.rows |= u64::from(self.opens == Opens::Row);
        self.depth += 1;
        self.lists = self.lists << 1 | u64::from(is_list);
        self.rows <<= 1;
        self.mixed <<= 1;
        self.opens = Opens::Nothing;
        self.begins = true;
        is_row
    }

    /// A parenthesis closes: whether more of the same may follow, of nothing but literals so far.
    pub fn close(&mut self) -> bool {
        let is_pure = self.lists & !self.mixed & 1 == 1;
        self.depth = self.depth.saturating_sub(1);
        self.lists >>= 1;
        self.rows >>= 1;
        self.mixed = self.mixed >> 1 | u64::from(!is_pure);
        self.opens = Opens::Nothing;
        self.begins = false;
        is_pure && (self.lists | self.rows) & 1 == 1
    }

    pub fn comma(&mut self) {
        self.opens = Opens::Nothing;
        self.begins = true;
    }

    pub fn literal(&mut self) {
        self.opens = Opens::Nothing;
        self.begins = false;
        self.rows &= !1;
    }

    /// Something that is no literal: an operator, a name in quotes.
    pub fn other(&mut self) {
        self.literal();
        self.mixed |= 1;
    }

    /// A word: whether it is the `ROW` of a row behind another one.
    pub fn word(&mut self, word: &[u8]) -> bool {
        let follows = self.begins && self.rows & 1 == 1;
        let begins_row = follows || self.opens == Opens::Row;
        self.other();
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        match word.len() {
            2 if is(b"in") => self.opens = Opens::List,
            5 if is(b"value") => self.opens = Opens::Row,
            6 if is(b"values") => self.opens = Opens::Row,
            // VALUES ROW(1, 2), ROW(3, 4).
            3 if begins_row && is(b"row") => {
                self.opens = Opens::Row;
                return follows;
            }
            // A query is no list.
            4 if is(b"with") => self.lists &= !1,
            6 if is(b"select") => self.lists &= !1,
            _ => {}
        }
        false
    }
}
