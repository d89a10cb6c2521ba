//! Which machines ran the duels of a study, where that was not this one.

use std::collections::BTreeMap;

use niagara_store::DuelRecord;

use crate::fleet::FoughtOn;

/// The machines that ran duels, in the order of their first.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    names: Vec<String>,
    /// By duel: the number of its machine.
    of_duel: BTreeMap<u32, usize>,
}

impl Nodes {
    /// A duel was run there.
    pub(crate) fn add(&mut self, fought_on: &FoughtOn) {
        let known = self.names.iter().position(|name| *name == fought_on.node);
        let number = known.unwrap_or_else(|| {
            self.names.push(fought_on.node.clone());
            self.names.len() - 1
        });
        self.of_duel.insert(fought_on.seq, number);
    }

    /// Their names; the number of one is its place here.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of the machine of each duel; nothing where one of them was run here.
    pub(crate) fn numbers<'a>(&self, duels: impl Iterator<Item = &'a DuelRecord>) -> Vec<usize> {
        let numbers: Option<Vec<usize>> = duels
            .map(|duel| self.of_duel.get(&duel.seq).copied())
            .collect();
        numbers.unwrap_or_default()
    }
}
