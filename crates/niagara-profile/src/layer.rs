//! What a stack was doing, in words that a query's time is divided by: rules are data.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use include_dir::{Dir, include_dir};
use regex::RegexSet;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::folded::{Folded, Frame, Place};
use crate::rules;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../layers");

/// One layer: what time is spent on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The file's name.
    #[serde(skip)]
    pub id: String,
    /// For people: `network read`.
    pub title: String,
    /// Where it stands among the others, the lowest first; rules are tried in this order.
    pub order: u32,
    /// What belongs to it.
    pub what: String,
    /// Functions by name, `*` standing for anything. The innermost frame that a layer knows decides.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Functions that belong to it only where no other frame of the stack says more.
    #[serde(default)]
    pub otherwise: Vec<String>,
    /// Kernel time that no layer knows.
    #[serde(default)]
    pub kernel: bool,
    /// Anything that no layer knows.
    #[serde(default)]
    pub rest: bool,
}

/// All layers.
#[derive(Debug, Clone)]
pub struct Layers {
    layers: Vec<Layer>,
    first: RegexSet,
    first_of: Vec<usize>,
    otherwise: RegexSet,
    otherwise_of: Vec<usize>,
    kernel: usize,
    rest: usize,
}

impl Layers {
    /// Those of the program.
    ///
    /// # Errors
    /// A file among them is wrong.
    pub fn built_in() -> Result<Layers> {
        Layers::parse(rules::files(&BUILT_IN))
    }

    /// Reads layers from (file name without its ending, text).
    ///
    /// # Errors
    /// A file that is no layer, with its line; no layer for the rest.
    pub fn parse<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Result<Layers> {
        let mut layers = Vec::new();
        for (name, text) in files {
            let layer: Layer = rules::read("layers", name, text)?;
            layers.push(Layer {
                id: name.to_owned(),
                ..layer
            });
        }
        layers.sort_by_key(|layer| layer.order);
        let position = |what: &str, is: &dyn Fn(&Layer) -> bool| -> Result<usize> {
            match layers.iter().position(is) {
                Some(index) => Ok(index),
                None => bail!("no layer says `{what} = true`\nremedy: one of layers/*.toml must"),
            }
        };
        let kernel = position("kernel", &|layer| layer.kernel)?;
        let rest = position("rest", &|layer| layer.rest)?;
        let (first, first_of) = set(&layers, |layer| &layer.functions)?;
        let (otherwise, otherwise_of) = set(&layers, |layer| &layer.otherwise)?;
        Ok(Layers {
            layers,
            first,
            first_of,
            otherwise,
            otherwise_of,
            kernel,
            rest,
        })
    }

    /// The layers, in order.
    pub fn all(&self) -> &[Layer] {
        &self.layers
    }

    /// Weight by layer, in the order of [`Layers::all`]; together they are the weight of all stacks.
    pub fn divide(&self, folded: &Folded) -> Vec<f64> {
        let mut weights = vec![0.0; self.layers.len()];
        let kinds: Vec<(Option<usize>, Option<usize>)> = folded
            .frames()
            .iter()
            .map(|frame| self.kind(frame))
            .collect();
        for (stack, weight) in folded.numbered() {
            let kind = |id: &u32| kinds.get(*id as usize).copied().unwrap_or_default();
            let first = stack.iter().rev().find_map(|id| kind(id).0);
            let in_kernel = stack
                .last()
                .and_then(|&id| folded.frames().get(id as usize))
                .is_some_and(|frame| frame.place == Place::Kernel);
            let otherwise = || stack.iter().rev().find_map(|id| kind(id).1);
            let layer = self.decide(first, in_kernel, otherwise);
            weights[layer] += weight;
        }
        weights
    }

    /// The layer that a stack belongs to, outermost frame first.
    pub fn of(&self, stack: &[&Frame]) -> &Layer {
        let kinds: Vec<_> = stack.iter().map(|frame| self.kind(frame)).collect();
        let first = kinds.iter().rev().find_map(|kind| kind.0);
        let in_kernel = stack
            .last()
            .is_some_and(|frame| frame.place == Place::Kernel);
        let otherwise = || kinds.iter().rev().find_map(|kind| kind.1);
        &self.layers[self.decide(first, in_kernel, otherwise)]
    }

    /// A frame that a layer knows, else the kernel, else a frame that a layer knows where nothing else does, else the rest.
    fn decide(
        &self,
        first: Option<usize>,
        in_kernel: bool,
        otherwise: impl FnOnce() -> Option<usize>,
    ) -> usize {
        match (first, in_kernel) {
            (Some(layer), _) => layer,
            (None, true) => self.kernel,
            (None, false) => otherwise().unwrap_or(self.rest),
        }
    }

    /// The layers that a frame decides for: at once, and where nothing else does.
    fn kind(&self, frame: &Frame) -> (Option<usize>, Option<usize>) {
        if !frame.named {
            return (None, None);
        }
        let find = |set: &RegexSet, of: &[usize]| {
            set.matches(&frame.name)
                .into_iter()
                .filter_map(|pattern| of.get(pattern).copied())
                .min()
        };
        (
            find(&self.first, &self.first_of),
            find(&self.otherwise, &self.otherwise_of),
        )
    }
}

/// All patterns of all layers as one set, with the layer of each.
fn set(
    layers: &[Layer],
    patterns: impl Fn(&Layer) -> &Vec<String>,
) -> Result<(RegexSet, Vec<usize>)> {
    let mut all = Vec::new();
    let mut of = Vec::new();
    let mut seen = BTreeMap::new();
    for (index, layer) in layers.iter().enumerate() {
        for pattern in patterns(layer) {
            if let Some(other) = seen.insert(pattern.clone(), &layer.id) {
                bail!(
                    "layers/{}.toml: {pattern} is in layers/{other}.toml too",
                    layer.id
                );
            }
            all.push(pattern);
            of.push(index);
        }
    }
    Ok((
        rules::any_of(all).context("the layers' patterns are too many")?,
        of,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(names: &[(&str, Place)]) -> Vec<Frame> {
        names
            .iter()
            .map(|(name, place)| Frame {
                name: (*name).to_owned(),
                place: *place,
                named: !name.starts_with('['),
                inferred: false,
            })
            .collect()
    }

    fn layer_of(names: &[(&str, Place)]) -> String {
        let layers = Layers::built_in().unwrap();
        let frames = frames(names);
        let stack: Vec<&Frame> = frames.iter().collect();
        let mut folded = Folded::default();
        folded.add(frames.clone(), 1.0);
        let weights = layers.divide(&folded);
        assert_eq!(weights.iter().sum::<f64>(), 1.0);
        let found = layers.of(&stack);
        let index = weights.iter().position(|weight| *weight == 1.0).unwrap();
        assert_eq!(layers.all()[index].id, found.id);
        found.id.clone()
    }

    #[test]
    fn the_innermost_known_frame_decides() {
        use Place::{Kernel, Library, Server};
        let command = [
            ("start_thread", Library),
            ("do_command", Server),
            ("dispatch_command", Server),
        ];
        let with = |more: &[(&'static str, Place)]| layer_of(&[&command, more].concat());
        assert_eq!(with(&[("JOIN::exec", Server)]), "sql");
        assert_eq!(
            with(&[
                ("JOIN::exec", Server),
                ("ha_innobase::index_read", Server),
                ("row_search_mvcc", Server)
            ]),
            "engine"
        );
        assert_eq!(
            with(&[
                ("JOIN::exec", Server),
                ("malloc", Library),
                ("[libc.so.6]", Library)
            ]),
            "memory"
        );
        assert_eq!(
            with(&[
                ("pthread_mutex_lock", Library),
                ("__x64_sys_futex", Kernel),
                ("schedule", Kernel)
            ]),
            "locks"
        );
        assert_eq!(
            with(&[
                ("net_flush", Server),
                ("send", Library),
                ("__x64_sys_sendto", Kernel),
                ("tcp_sendmsg", Kernel)
            ]),
            "network-write"
        );
        assert_eq!(
            with(&[
                ("my_net_read_packet", Server),
                ("recv", Library),
                ("__x64_sys_recvfrom", Kernel)
            ]),
            "network-read"
        );
        assert_eq!(
            with(&[
                ("asm_sysvec_apic_timer_interrupt", Kernel),
                ("update_process_times", Kernel)
            ]),
            "kernel"
        );
        assert_eq!(layer_of(&[("[unknown]", Place::Unknown)]), "rest");
        // Names of the table cache and of MyISAM that begin as those of mallocs do.
        for (function, layer) in [
            ("tc_acquire_table", "table"),
            ("tc_malloc", "memory"),
            ("mi_rkey", "engine"),
            ("_mi_search", "engine"),
            ("mi_malloc_aligned", "memory"),
            ("_mi_malloc_generic", "memory"),
        ] {
            assert_eq!(with(&[("JOIN::exec", Server), (function, Server)]), layer);
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let error = Layers::parse([("mine", "title = \"x\"\norder = 1\ncolour = 2\n")].into_iter())
            .unwrap_err()
            .to_string();
        assert!(error.contains("layers/mine.toml:3"), "{error}");
    }
}
