//! How many nodes are worth having.

/// Seconds of polling between two duels on a node.
const BETWEEN: f64 = 0.2;
/// Share of the nodes' seconds that are to go into duels.
const WORTH: f64 = 0.9;

/// What is to be run: questions one after the other, each by duels that may run side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Questions.
    pub questions: usize,
    /// Duels of each.
    pub duels: usize,
    /// Seconds of a duel.
    pub seconds: f64,
    /// Seconds that a node takes until its first.
    pub start: f64,
}

impl Plan {
    /// Share of the seconds held that go into duels on this many nodes: each question's last duels leave half a duel idle on
    /// average.
    fn share_in_duels(&self, nodes: usize) -> f64 {
        if self.questions == 0 || self.duels == 0 || nodes == 0 {
            return 0.0;
        }
        let rounds = self.duels.div_ceil(nodes) as f64;
        let question = rounds * (self.seconds + BETWEEN) + self.seconds / 2.0;
        let held = nodes as f64 * (self.start + self.questions as f64 * question);
        (self.questions * self.duels) as f64 * self.seconds / held
    }

    /// The most nodes of which nine tenths of their time go into duels; 1 where no number does.
    pub fn nodes_worth_having(&self) -> usize {
        (1..=self.duels.max(1))
            .rev()
            .find(|nodes| self.share_in_duels(*nodes) >= WORTH)
            .unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(questions: usize, duels: usize) -> Plan {
        Plan {
            questions,
            duels,
            seconds: 15.0,
            start: 20.0,
        }
    }

    #[test]
    fn twenty_duels_of_fifteen_seconds_a_node_are_worth_it() {
        assert!(plan(1, 80).share_in_duels(4) >= 0.89);
        assert!((3..=4).contains(&plan(1, 80).nodes_worth_having()));
        assert_eq!(plan(1, 4).nodes_worth_having(), 1);
        assert_eq!(plan(1, 0).nodes_worth_having(), 1);
        assert_eq!(plan(0, 80).nodes_worth_having(), 1);
        assert!(plan(1, 1000).nodes_worth_having() > 30);
    }

    #[test]
    fn many_questions_share_the_start_but_each_has_its_own_end() {
        assert!(plan(8, 44).nodes_worth_having() > plan(1, 44).nodes_worth_having());
        assert!(plan(8, 44).nodes_worth_having() < plan(1, 8 * 44).nodes_worth_having());
    }
}
