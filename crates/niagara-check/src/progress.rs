//! What a check tells whoever waits for it.

use super::outcome::Part;

/// How far a check is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The part under way; none while servers are fetched.
    pub part: Option<Part>,
    /// What happens now.
    pub text: String,
    /// How much of the part is done, 0 to 1.
    pub done: f64,
}

/// Where a part's progress goes.
pub(super) struct Reporter<'a> {
    part: Part,
    watch: &'a mut dyn FnMut(&Progress),
}

impl<'a> Reporter<'a> {
    pub fn new(part: Part, watch: &'a mut dyn FnMut(&Progress)) -> Reporter<'a> {
        Reporter { part, watch }
    }

    /// `done` of `total` steps are behind it.
    pub fn step(&mut self, done: usize, total: usize, text: &str) {
        (self.watch)(&Progress {
            part: Some(self.part),
            text: text.to_owned(),
            done: done as f64 / total.max(1) as f64,
        });
    }
}
