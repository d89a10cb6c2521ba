//! What nodes were held for, in words and rows that add up.

use niagara_model::{NodeAccount, NodeReason, NodeTrouble, SharedMachine};

use crate::number;

/// Whole seconds whose sum is the rounded sum of `parts`: those with the largest fractions are rounded up.
fn whole(parts: &[f64]) -> Vec<u64> {
    let all = parts.iter().sum::<f64>().round() as u64;
    let mut whole: Vec<u64> = parts.iter().map(|part| part.floor() as u64).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|&a, &b| parts[b].fract().total_cmp(&parts[a].fract()));
    let missing = all.saturating_sub(whole.iter().sum());
    for &place in order.iter().cycle().take(missing as usize) {
        whole[place] += 1;
    }
    whole
}

/// Each part of the node-seconds with its name, to the second; the first row is their sum.
pub(crate) fn rows(account: &NodeAccount) -> Vec<(&'static str, u64)> {
    let parts = account.seconds.parts();
    let seconds = whole(&parts.map(|(_, seconds)| seconds));
    let all = ("held", seconds.iter().sum());
    let named = parts.iter().map(|(name, _)| *name).zip(seconds);
    std::iter::once(all).chain(named).collect()
}

/// What went wrong on nodes, and workers that had no node to themselves, a line each.
pub(crate) fn troubles(account: &NodeAccount) -> Vec<String> {
    let losses = account.losses.iter();
    let lost = losses.map(|NodeTrouble { node, reason }| {
        let reason = first_line(reason);
        format!("lost and run again: a duel on {node} ({reason})")
    });
    let aside = account.set_aside.iter();
    let aside = aside
        .map(|NodeTrouble { node, reason }| format!("set aside: {node} ({})", first_line(reason)));
    let shared = account.on_one_machine.iter();
    let shared = shared.map(|shared| {
        let SharedMachine { worker, node, .. } = shared;
        format!("no machine of its own: {worker} on {node} ({shared})")
    });
    lost.chain(aside).chain(shared).collect()
}

fn first_line(reason: &NodeReason) -> String {
    let text = reason.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The account in one sentence: `2 workers held nodes for 310 s: 200 s (65 %) under load in duels that count, …`.
fn sentence(account: &NodeAccount) -> String {
    let rows = rows(account);
    let parts: Vec<String> = rows[1..]
        .iter()
        .enumerate()
        .map(|(place, (name, seconds))| match place {
            0 => format!(
                "{seconds} s ({:.0} %) {name}",
                100.0 * account.seconds.share_of_load()
            ),
            _ => format!("{seconds} s {name}"),
        })
        .collect();
    format!(
        "{} held nodes for {} s: {}",
        number::count(account.workers, "worker"),
        rows[0].1,
        parts.join(", ")
    )
}

/// The account in one sentence, and what went wrong, a line each.
pub(crate) fn node_account_lines(account: &NodeAccount) -> Vec<String> {
    let mut lines = vec![sentence(account)];
    lines.extend(troubles(account));
    lines
}

#[cfg(test)]
mod tests {
    use niagara_model::NodeSeconds;

    use super::*;

    #[test]
    fn whole_seconds_add_up_to_the_whole() {
        for parts in [
            vec![0.5, 0.5, 0.5, 0.5],
            vec![10.4, 2.4, 3.4, 0.0, 0.4],
            vec![0.0, 0.0],
            vec![7.9, 1.05, 0.05],
        ] {
            let sum: f64 = parts.iter().sum();
            let found = whole(&parts);
            assert_eq!(found.iter().sum::<u64>(), sum.round() as u64, "{parts:?}");
            for (part, seconds) in parts.iter().zip(&found) {
                assert!((part - *seconds as f64).abs() <= 1.0, "{parts:?} {found:?}");
            }
        }
    }

    #[test]
    fn an_account_is_told_with_what_went_wrong() {
        let trouble = |reason| NodeTrouble {
            node: "n1".into(),
            reason,
        };
        let account = NodeAccount {
            workers: 2,
            held: 20.0,
            seconds: NodeSeconds {
                load: 12.4,
                restarts: 3.4,
                waiting: 4.2,
                ..NodeSeconds::default()
            },
            set_aside: vec![trouble(NodeReason::FailedOften {
                times: 2,
                last: Box::new(NodeReason::Signal),
            })],
            losses: vec![trouble(NodeReason::of("no disk\nmore"))],
            on_one_machine: vec![SharedMachine {
                worker: "w2".into(),
                node: "n1".into(),
                with: "w1".into(),
                with_node: "n1".into(),
                turns: true,
            }],
        };
        assert_eq!(
            node_account_lines(&account),
            [
                "2 workers held nodes for 20 s: 13 s (62 %) under load in duels that count, 3 s restarts around them, 0 s starting, \
                 0 s staging, 4 s waiting, 0 s lost, 0 s tail",
                "lost and run again: a duel on n1 (no disk)",
                "set aside: n1 (it failed 2 times, last: ended by a signal (cancelled, preempted or out of time))",
                "no machine of its own: w2 on n1 (it shares the machine of w1 on n1, where one duel is run at a time: they take turns)",
            ]
        );
    }
}
