//! Which CPUs a side of a placement gets, whatever the machine: `all but last max(1, cpus / 4)`.

use niagara_server::machine::Cpu;

use super::expression::{Expression, ExpressionError, Quantities};

/// The forms, for messages.
pub(crate) const FORMS: &str =
    "all, first N, last N, all but first N, all but last N, one per core, node N, all but node N";

/// A choice among the machine's CPUs. Neighbours in the order share a core, then a socket, then a node, so
/// that the last quarter of a machine is whole cores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CpuChoice {
    All,
    OnePerCore,
    First { count: Expression, rest: bool },
    Last { count: Expression, rest: bool },
    Node { number: Expression, rest: bool },
}

impl CpuChoice {
    pub(crate) fn parse(text: &str) -> Result<Self, ExpressionError> {
        let trimmed = text.trim();
        match trimmed {
            "all" => return Ok(Self::All),
            "one per core" => return Ok(Self::OnePerCore),
            _ => {}
        }
        let (rest, inner) = match trimmed.strip_prefix("all but ") {
            Some(inner) => (true, inner),
            None => (false, trimmed),
        };
        let (word, number) = inner.split_once(' ').unwrap_or((inner, ""));
        if !["first", "last", "node"].contains(&word) {
            return Err(ExpressionError {
                at: 0,
                cause: format!("`{trimmed}` does not say which CPUs"),
                remedy: format!("write one of: {FORMS}"),
            });
        }
        let before = text.len() - number.len();
        let count = Expression::parse(number).map_err(|error| ExpressionError {
            at: error.at + before,
            ..error
        })?;
        Ok(match word {
            "first" => Self::First { count, rest },
            "last" => Self::Last { count, rest },
            _ => Self::Node {
                number: count,
                rest,
            },
        })
    }

    /// The CPUs on this machine; the reason why none are left.
    pub(crate) fn cpus(&self, cpu: &Cpu, quantities: &Quantities) -> Result<Vec<usize>, String> {
        let all = cpu.numbers();
        let split = |count: &Expression| -> Result<usize, String> {
            Ok((count.value(quantities)? as usize).min(all.len()))
        };
        let chosen = match self {
            Self::All => all,
            Self::OnePerCore => cpu.one_per_core(),
            Self::First { count, rest } => {
                let (first, others) = all.split_at(split(count)?);
                (if *rest { others } else { first }).to_vec()
            }
            Self::Last { count, rest } => {
                let (others, last) = all.split_at(all.len() - split(count)?);
                (if *rest { others } else { last }).to_vec()
            }
            Self::Node { number, rest } => {
                let node = number.value(quantities)? as usize;
                let on_node =
                    |place: &&niagara_server::machine::Place| (place.node == node) != *rest;
                cpu.places
                    .iter()
                    .filter(on_node)
                    .map(|place| place.cpu)
                    .collect()
            }
        };
        if chosen.is_empty() {
            return Err(format!(
                "this machine has too few CPUs ({}): none would be left",
                cpu.threads
            ));
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use niagara_server::machine::Place;

    /// Two nodes of one core each, two threads a core; siblings are (0, 2) and (1, 3).
    fn machine() -> Cpu {
        let place = |node, cpu| Place {
            node,
            socket: node,
            core: 0,
            cpu,
        };
        Cpu {
            threads: 4,
            places: vec![place(0, 0), place(0, 2), place(1, 1), place(1, 3)],
            ..Cpu::default()
        }
    }

    fn cpus(text: &str) -> Result<Vec<usize>, String> {
        let quantities = Quantities {
            cpus: 4.0,
            memory: 0.0,
            server_memory: 0.0,
            data: 0.0,
        };
        CpuChoice::parse(text)
            .expect("a valid choice")
            .cpus(&machine(), &quantities)
    }

    #[test]
    fn every_form() {
        assert_eq!(cpus("all"), Ok(vec![0, 2, 1, 3]));
        assert_eq!(cpus("one per core"), Ok(vec![0, 1]));
        assert_eq!(cpus("first 1"), Ok(vec![0]));
        assert_eq!(cpus("all but first 1"), Ok(vec![2, 1, 3]));
        assert_eq!(cpus("last max(1, cpus / 4)"), Ok(vec![3]));
        assert_eq!(cpus("all but last cpus / 2"), Ok(vec![0, 2]));
        assert_eq!(cpus("node 1"), Ok(vec![1, 3]));
        assert_eq!(cpus("all but node 1"), Ok(vec![0, 2]));
    }

    #[test]
    fn empty_cpu_choices_are_refused() {
        assert!(
            cpus("all but first 9")
                .expect_err("none left")
                .contains("too few CPUs")
        );
        assert!(
            CpuChoice::parse("some")
                .expect_err("no form")
                .remedy
                .contains("all but last N")
        );
        let error = CpuChoice::parse("last cpu").expect_err("no such name");
        assert_eq!(error.at, 5);
        assert!(error.remedy.contains("did you mean `cpus`"));
    }
}
