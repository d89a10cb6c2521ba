//! The English of events.

use crate::Event;

impl Event {
    /// What happened and its details, for people. `None` for decisions, and for events of nodes: the report sums them up elsewhere.
    pub fn words(&self) -> Option<(&'static str, String)> {
        Some(match self {
            Self::Resumed { command } => ("resumed", command.clone()),
            Self::NextPart { command } => ("next part", command.clone()),
            Self::SideFailed { error } => ("side failed", error.to_string()),
            Self::SetAside(lever) => ("set aside", format!("{}: {}", lever.lever, lever.reason)),
            Self::StartSettings { settings } => {
                let settings = settings.iter();
                let shown: Vec<_> = settings
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                ("start settings", shown.join(", "))
            }
            Self::Origin { note } => ("origin", note.to_string()),
            Self::Steps { duel, seconds } => {
                let [a, b] = seconds.each_ref().map(|steps| {
                    let steps = steps.iter();
                    let shown: Vec<_> = steps
                        .map(|(name, took)| format!("{name} {took:.3} s"))
                        .collect();
                    shown.join(", ")
                });
                ("steps", format!("duel {duel}: A {a}; B {b}"))
            }
            Self::FoughtOn(_) | Self::NodesHeld(_) | Self::Decision { .. } => return None,
        })
    }
}
