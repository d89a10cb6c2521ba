//! Which machines ran the duels of a study, where that was not this one.

use std::collections::BTreeMap;

use niagara_model::{DuelRecord, FoughtOn};

/// The machines that ran duels, in the order of their first. What several nodes of one machine say is what one machine says.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    machines: Vec<Machine>,
    /// By duel: the number of its machine.
    of_duel: BTreeMap<u32, usize>,
}

/// A machine by what its duels said of it. A node that was started anew is known by its name, and by something else than before.
#[derive(Debug)]
struct Machine {
    nodes: Vec<String>,
    known_by: Vec<String>,
}

impl Machine {
    fn is_of(&self, fought_on: &FoughtOn) -> bool {
        self.nodes.contains(&fought_on.node) || self.known_by.contains(&fought_on.machine)
    }

    fn add(&mut self, fought_on: &FoughtOn) {
        if !self.nodes.contains(&fought_on.node) {
            self.nodes.push(fought_on.node.clone());
        }
        if !fought_on.machine.is_empty() && !self.known_by.contains(&fought_on.machine) {
            self.known_by.push(fought_on.machine.clone());
        }
    }
}

impl Nodes {
    /// A duel was run there.
    pub(crate) fn add(&mut self, fought_on: &FoughtOn) {
        let machines = self.machines.iter();
        let known: Vec<usize> = machines
            .enumerate()
            .filter(|(_, machine)| machine.is_of(fought_on))
            .map(|(number, _)| number)
            .collect();
        let number = known.first().copied().unwrap_or_else(|| {
            self.machines.push(Machine {
                nodes: Vec::new(),
                known_by: Vec::new(),
            });
            self.machines.len() - 1
        });
        // What was taken for several machines is one; from behind, for the others' numbers to stay.
        for other in known.into_iter().skip(1).rev() {
            self.unite(number, other);
        }
        self.machines[number].add(fought_on);
        self.of_duel.insert(fought_on.seq, number);
    }

    /// `other`, which came later, is the same machine as `number`.
    fn unite(&mut self, number: usize, other: usize) {
        let Machine { nodes, known_by } = self.machines.remove(other);
        self.machines[number].nodes.extend(nodes);
        self.machines[number].known_by.extend(known_by);
        for place in self.of_duel.values_mut() {
            *place = match *place {
                place if place == other => number,
                place if place > other => place - 1,
                place => place,
            };
        }
    }

    /// What people call them, `n1` or `n1 and n2 on one machine`; the number of one is its place here.
    pub(crate) fn names(&self) -> Vec<String> {
        let machines = self.machines.iter();
        machines
            .map(|machine| match machine.nodes.as_slice() {
                [first @ .., last] if !first.is_empty() => {
                    format!("{} and {last} on one machine", first.join(", "))
                }
                nodes => nodes.concat(),
            })
            .collect()
    }

    /// The number of the machine of each duel; nothing where one of them was run here.
    pub(crate) fn numbers<'a>(&self, duels: impl Iterator<Item = &'a DuelRecord>) -> Vec<usize> {
        let numbers: Option<Vec<usize>> = duels
            .map(|duel| self.of_duel.get(&duel.seq).copied())
            .collect();
        numbers.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(of: &[(&str, &str)]) -> Nodes {
        let mut nodes = Nodes::default();
        for (seq, (node, machine)) in of.iter().enumerate() {
            nodes.add(&FoughtOn {
                seq: seq as u32,
                duel: String::new(),
                node: (*node).to_owned(),
                machine: (*machine).to_owned(),
                worker: String::new(),
                epoch: 1,
            });
        }
        nodes
    }

    fn numbers(nodes: &Nodes) -> Vec<usize> {
        nodes.of_duel.values().copied().collect()
    }

    #[test]
    fn nodes_of_one_machine_are_one() {
        let all = nodes(&[
            ("n1", "a"),
            ("n2", "a"),
            ("n3", "b"),
            ("n4", "a"),
            ("n1", "a"),
        ]);
        assert_eq!(all.names(), ["n1, n2 and n4 on one machine", "n3"]);
        assert_eq!(numbers(&all), [0, 0, 1, 0, 0]);
    }

    #[test]
    fn nodes_that_say_nothing_of_their_machine_are_taken_for_machines() {
        let all = nodes(&[("n1", ""), ("n2", ""), ("n1", "")]);
        assert_eq!(all.names(), ["n1", "n2"]);
        assert_eq!(numbers(&all), [0, 1, 0]);
    }

    #[test]
    fn a_node_that_was_started_anew_stays_the_same() {
        let all = nodes(&[("n1", "a"), ("n1", "a2"), ("n2", "a2")]);
        assert_eq!(all.names(), ["n1 and n2 on one machine"]);
        assert_eq!(numbers(&all), [0, 0, 0]);
    }

    #[test]
    fn what_was_taken_for_two_is_united_and_the_others_keep_their_duels() {
        let all = nodes(&[
            ("n1", "a"),
            ("n2", "b"),
            ("n3", "c"),
            // n2 was started anew, on n1's machine.
            ("n2", "a"),
            ("n3", "c"),
        ]);
        assert_eq!(all.names(), ["n1 and n2 on one machine", "n3"]);
        assert_eq!(numbers(&all), [0, 0, 1, 0, 1]);
    }
}
