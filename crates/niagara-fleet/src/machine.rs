//! Which machine a worker is on, and whether others may work there at the same time: two duels at once on one machine disturb
//! each other.

use serde::{Deserialize, Serialize};

/// What a worker says of its machine. That of a worker which says nothing is taken to be its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// What tells its kernel from others; empty where nothing does.
    pub id: String,
    /// Who may work beside it.
    pub sharing: Sharing,
}

/// Who may work on a machine beside a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Nobody.
    #[default]
    Nobody,
    /// Workers that take turns with it by the same lock.
    Turns {
        /// What tells this lock from others.
        lock: String,
    },
    /// Everybody: what it does disturbs nobody, and is disturbed by nobody.
    Everybody,
}

impl Machine {
    /// The machine of this process. Containers and whatever else shares a kernel are on one machine: they have its boot in common,
    /// whatever they call their host.
    pub fn here(sharing: Sharing) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        Self {
            id: boot.unwrap_or_default().trim().to_owned(),
            sharing,
        }
    }

    /// What it is known by beside its nodes' names; empty where what is done on it says nothing of it, or nothing tells it from
    /// others.
    pub(crate) fn known_by(&self) -> &str {
        match self.sharing {
            Sharing::Everybody => "",
            Sharing::Nobody | Sharing::Turns { .. } => &self.id,
        }
    }

    /// Whether these are one machine, and what is done on it by one could disturb the other.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        let minds = |machine: &Self| machine.sharing != Sharing::Everybody;
        !self.id.is_empty() && self.id == other.id && minds(self) && minds(other)
    }

    /// Whether only one of the two may be given duels: nothing else keeps them apart.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        self.is_shared_with(other) && !self.takes_turns_with(other)
    }

    fn takes_turns_with(&self, other: &Self) -> bool {
        matches!(self.sharing, Sharing::Turns { .. }) && self.sharing == other.sharing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(id: &str, sharing: Sharing) -> Machine {
        Machine {
            id: id.to_owned(),
            sharing,
        }
    }

    fn turns(lock: &str) -> Sharing {
        Sharing::Turns {
            lock: lock.to_owned(),
        }
    }

    #[test]
    fn who_shares_a_machine_and_who_is_kept_apart() {
        for (other, shared, excluded) in [
            (machine("a", Sharing::Nobody), true, true),
            (machine("a", turns("8:1")), true, true),
            (machine("a", Sharing::Everybody), false, false),
            (machine("b", Sharing::Nobody), false, false),
            (Machine::default(), false, false),
        ] {
            let one = machine("a", Sharing::Nobody);
            for (one, other) in [(&one, &other), (&other, &one)] {
                assert_eq!(one.is_shared_with(other), shared, "{other:?}");
                assert_eq!(one.excludes(other), excluded, "{other:?}");
            }
        }
        let one = machine("a", turns("8:1"));
        assert!(one.is_shared_with(&one) && !one.excludes(&one));
        assert!(one.excludes(&machine("a", turns("8:2"))), "another lock");
        // Two that know nothing are not taken for one.
        assert!(!Machine::default().is_shared_with(&Machine::default()));
    }

    #[test]
    fn what_disturbs_nobody_says_nothing_of_its_machine() {
        assert_eq!(machine("a", Sharing::Nobody).known_by(), "a");
        assert_eq!(machine("a", turns("8:1")).known_by(), "a");
        assert_eq!(machine("a", Sharing::Everybody).known_by(), "");
    }

    #[test]
    fn a_machine_knows_itself_again() {
        let here = Machine::here(Sharing::Nobody);
        assert!(!here.id.is_empty());
        assert!(here.excludes(&Machine::here(Sharing::Nobody)));
    }
}
