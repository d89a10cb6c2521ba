//! Stacks with how much each weighs.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a frame's code is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The server's program.
    Server,
    /// A library.
    Library,
    /// The kernel.
    Kernel,
    /// No file is mapped there.
    Unknown,
}

impl Place {
    /// For people: `library`.
    pub fn name(self) -> &'static str {
        match self {
            Place::Server => "server",
            Place::Library => "library",
            Place::Kernel => "kernel",
            Place::Unknown => "unknown",
        }
    }
}

/// One frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function, or in brackets the file that has no name for it.
    pub name: String,
    /// Where its code is.
    pub place: Place,
    /// Whether the name is a function's.
    pub named: bool,
    /// The name was told by its neighbours in a stack, not by a symbol table.
    pub inferred: bool,
}

/// Stacks, outermost frame first, with their weights (samples, or seconds).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Folded {
    frames: Vec<Frame>,
    known: HashMap<Frame, u32>,
    stacks: BTreeMap<Vec<u32>, f64>,
}

/// As it is written: every frame once, stacks as places among them.
#[derive(Serialize, Deserialize)]
struct Written {
    frames: Vec<Frame>,
    stacks: Vec<(Vec<u32>, f64)>,
}

impl From<Folded> for Written {
    fn from(folded: Folded) -> Written {
        Written {
            frames: folded.frames,
            stacks: folded.stacks.into_iter().collect(),
        }
    }
}

impl From<Written> for Folded {
    fn from(written: Written) -> Folded {
        let mut folded = Folded::default();
        for (stack, weight) in written.stacks {
            let frames = stack
                .iter()
                .filter_map(|&id| written.frames.get(id as usize));
            folded.add(frames.cloned(), weight);
        }
        folded
    }
}

impl Folded {
    /// Adds a stack, outermost frame first.
    pub fn add(&mut self, stack: impl IntoIterator<Item = Frame>, weight: f64) {
        let stack = stack.into_iter().map(|frame| self.intern(frame)).collect();
        *self.stacks.entry(stack).or_default() += weight;
    }

    /// Adds all stacks of another.
    pub fn merge(&mut self, other: &Folded) {
        for (frames, weight) in other.stacks() {
            self.add(frames.into_iter().cloned(), weight);
        }
    }

    fn intern(&mut self, frame: Frame) -> u32 {
        if let Some(&id) = self.known.get(&frame) {
            return id;
        }
        let id = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.known.insert(frame, id);
        id
    }

    /// All weights together.
    pub fn total(&self) -> f64 {
        self.stacks.values().sum()
    }

    /// The same stacks in another unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Folded {
        let mut scaled = self.clone();
        scaled
            .stacks
            .values_mut()
            .for_each(|weight| *weight *= factor);
        scaled
    }

    /// Whether there is no stack.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Every stack, outermost frame first, with its weight.
    pub fn stacks(&self) -> impl Iterator<Item = (Vec<&Frame>, f64)> {
        self.stacks.iter().map(|(stack, weight)| {
            let frames = stack.iter().filter_map(|&id| self.frames.get(id as usize));
            (frames.collect(), *weight)
        })
    }

    /// Every stack as frame numbers, which are places in [`Folded::frames`].
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (&[u32], f64)> {
        self.stacks
            .iter()
            .map(|(stack, weight)| (&**stack, *weight))
    }

    /// The frames that the stacks are made of.
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// One line a stack, as flame graphs are made from: `main;do_command;recv 12`. Weights are multiplied by `scale`
    /// and rounded; what is rounded to nothing is left out.
    pub fn lines(&self, scale: f64) -> Vec<String> {
        self.stacks()
            .filter_map(|(frames, weight)| {
                let weight = (weight * scale).round();
                let names: Vec<String> = frames
                    .iter()
                    .map(|frame| match frame.place {
                        // The flame graph's own way to colour the kernel.
                        Place::Kernel => format!("{}_[k]", frame.name.replace(';', ":")),
                        _ => frame.name.replace(';', ":"),
                    })
                    .collect();
                (weight >= 1.0 && !names.is_empty())
                    .then(|| format!("{} {weight:.0}", names.join(";")))
            })
            .collect()
    }

    /// Gives frames, by number, names that were inferred.
    pub(crate) fn rename(&mut self, names: &HashMap<u32, String>) {
        let old = std::mem::take(self);
        let frames: Vec<Frame> = (0_u32..)
            .zip(old.frames)
            .map(|(id, frame)| match names.get(&id) {
                Some(name) => Frame {
                    name: name.clone(),
                    named: true,
                    inferred: true,
                    ..frame
                },
                None => frame,
            })
            .collect();
        for (stack, weight) in old.stacks {
            let stack: Vec<Frame> = stack
                .iter()
                .filter_map(|id| frames.get(*id as usize).cloned())
                .collect();
            self.add(stack, weight);
        }
    }

    /// Share of the server's own frames, by weight, whose name was inferred; `None` when there are none.
    pub fn inferred_share(&self) -> Option<f64> {
        self.share_of_own(|frame| frame.inferred)
    }

    /// Share of the server's own frames, by weight, that have a function's name; `None` when there are none.
    pub fn named_share(&self) -> Option<f64> {
        self.share_of_own(|frame| frame.named)
    }

    fn share_of_own(&self, is: impl Fn(&Frame) -> bool) -> Option<f64> {
        let (mut part, mut all) = (0.0, 0.0);
        for (frames, weight) in self.stacks() {
            for frame in frames.iter().filter(|frame| frame.place == Place::Server) {
                all += weight;
                if is(frame) {
                    part += weight;
                }
            }
        }
        (all > 0.0).then(|| part / all)
    }

    /// Weight by function: (in itself, in itself and what it calls), the heaviest in themselves first.
    pub fn functions(&self) -> Vec<(&Frame, f64, f64)> {
        let mut own = vec![0.0; self.frames.len()];
        let mut with_callees = vec![0.0; self.frames.len()];
        for (stack, weight) in &self.stacks {
            if let Some(&leaf) = stack.last() {
                own[leaf as usize] += weight;
            }
            let mut seen: Vec<u32> = stack.clone();
            seen.sort_unstable();
            seen.dedup();
            for id in seen {
                with_callees[id as usize] += weight;
            }
        }
        let mut found: Vec<(&Frame, f64, f64)> = self
            .frames
            .iter()
            .zip(own)
            .zip(with_callees)
            .map(|((frame, own), all)| (frame, own, all))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, place: Place) -> Frame {
        Frame {
            name: name.to_owned(),
            place,
            named: !name.starts_with('['),
            inferred: false,
        }
    }

    #[test]
    fn equal_stacks_are_one() {
        let mut folded = Folded::default();
        let stack = || {
            [
                frame("main", Place::Server),
                frame("[mariadbd]", Place::Server),
                frame("recv", Place::Library),
                frame("tcp_recvmsg", Place::Kernel),
            ]
        };
        folded.add(stack(), 1.0);
        folded.add(stack(), 2.0);
        folded.add(
            [frame("main", Place::Server), frame("main", Place::Server)],
            1.0,
        );
        assert_eq!(folded.total(), 4.0);
        assert_eq!(
            folded.lines(2.0),
            ["main;main 2", "main;[mariadbd];recv;tcp_recvmsg_[k] 6"]
        );
        // Five of the eight server frames, by weight.
        assert_eq!(folded.named_share(), Some(5.0 / 8.0));
        let functions = folded.functions();
        assert_eq!(
            (functions[0].1, &*functions[0].0.name),
            (3.0, "tcp_recvmsg")
        );
        let main = functions
            .iter()
            .find(|(frame, ..)| frame.name == "main")
            .unwrap();
        assert_eq!((main.1, main.2), (1.0, 4.0));
    }
}
