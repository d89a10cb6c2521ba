//! How many nodes are worth having.

/// Seconds of polling between two duels on a node.
const BETWEEN: f64 = 0.2;
/// Share of the nodes' seconds that are to go into duels.
const WORTH: f64 = 0.9;

/// Share of the seconds held that go into duels, when `duels` of `seconds` each are run on `nodes` that take `start` seconds
/// until their first: the last ones leave half a duel idle on average.
fn share_in_duels(duels: usize, seconds: f64, start: f64, nodes: usize) -> f64 {
    if duels == 0 || nodes == 0 {
        return 0.0;
    }
    let each = duels.div_ceil(nodes) as f64;
    let held = nodes as f64 * (start + each * (seconds + BETWEEN) + seconds / 2.0);
    duels as f64 * seconds / held
}

/// The most nodes of which nine tenths of their time go into duels; 1 where no number does.
pub fn nodes_worth_having(duels: usize, seconds: f64, start: f64) -> usize {
    (1..=duels.max(1))
        .rev()
        .find(|nodes| share_in_duels(duels, seconds, start, *nodes) >= WORTH)
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_duels_of_fifteen_seconds_a_node_are_worth_it() {
        assert!(share_in_duels(80, 15.0, 20.0, 4) >= 0.89);
        assert!((3..=4).contains(&nodes_worth_having(80, 15.0, 20.0)));
        assert_eq!(nodes_worth_having(4, 15.0, 20.0), 1);
        assert_eq!(nodes_worth_having(0, 15.0, 20.0), 1);
        assert!(nodes_worth_having(1000, 15.0, 20.0) > 30);
    }
}
