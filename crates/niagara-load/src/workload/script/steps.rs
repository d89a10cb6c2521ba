//! A script has no plan of statements: [`engine::script_loop`](crate::engine::script_loop) drives it. A plan has what its
//! statements are counted as.

use crate::protocol::answer::Answer;
use crate::workload::Rng;
use crate::workload::family::{Script, Steps};
use crate::workload::parameters::Parameters;
use crate::workload::template::{Next, Unexpected};

/// Places in [`Plan::kinds`](crate::workload::plan::Plan::kinds).
pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const OTHER: u16 = 2;

/// No statements are known.
#[derive(Debug)]
pub(crate) struct NoPlan;

impl Script for NoPlan {
    type Transaction = NoPlan;

    fn transaction(&self, _number: u32, _rng: Rng) -> NoPlan {
        NoPlan
    }
}

impl Steps for NoPlan {
    type Script = NoPlan;

    fn draw(&mut self, _script: &NoPlan) {}

    fn restart(&mut self) {}

    fn peek(&self, _script: &NoPlan) -> usize {
        0
    }

    fn encode(&mut self, _script: &NoPlan, _template: usize, _command: impl Parameters) {}

    fn advance(&mut self, _script: &NoPlan, _answer: &Answer) -> Result<Next, Unexpected> {
        Ok(Next::Complete)
    }

    fn is_open(&self, _script: &NoPlan) -> bool {
        false
    }
}
