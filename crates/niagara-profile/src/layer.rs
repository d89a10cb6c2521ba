//! What a stack was doing, in words that a query's time is divided by: rules are data.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};
use niagara_error::bail;
use regex::RegexSet;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::folded::{Folded, Frame, Place};
use crate::rules;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/data/layers");

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
    /// Stacks that belong to it whatever their innermost frame is.
    #[serde(default)]
    pub stacks: Vec<Chain>,
    /// Kernel time that no layer knows.
    #[serde(default)]
    pub kernel: bool,
    /// Anything that no layer knows.
    #[serde(default)]
    pub rest: bool,
}

/// A stack by two of its functions: the inner one is called by the outer one, directly or not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// One of these functions, `*` standing for anything.
    pub outer: Vec<String>,
    /// And below it one of these.
    pub inner: Vec<String>,
    /// But none of these below that one.
    #[serde(default)]
    pub except: Vec<String>,
    /// And none of these between the two.
    #[serde(default)]
    pub without: Vec<String>,
}

/// All layers.
#[derive(Debug, Clone)]
pub struct Layers {
    layers: Vec<Layer>,
    chains: Vec<Links>,
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
                None => bail!("no layer says `{what} = true`"; remedy: "one of layers/*.toml must"),
            }
        };
        let kernel = position("kernel", &|layer| layer.kernel)?;
        let rest = position("rest", &|layer| layer.rest)?;
        let (first, first_of) = set(&layers, |layer| &layer.functions)?;
        let (otherwise, otherwise_of) = set(&layers, |layer| &layer.otherwise)?;
        let mut chains = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            for chain in &layer.stacks {
                chains.push(Links::of(index, chain)?);
            }
        }
        Ok(Layers {
            layers,
            chains,
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
        let kinds: Vec<Kind> = folded
            .frames()
            .iter()
            .map(|frame| self.kind(frame))
            .collect();
        for (stack, weight) in folded.numbered() {
            let known = stack.iter().filter_map(|&id| kinds.get(id as usize));
            let known: Vec<&Kind> = known.collect();
            let in_kernel = stack
                .last()
                .and_then(|&id| folded.frames().get(id as usize))
                .is_some_and(|frame| frame.place == Place::Kernel);
            weights[self.decide(&known, in_kernel)] += weight;
        }
        weights
    }

    /// The layer that a stack belongs to, outermost frame first.
    pub fn of(&self, stack: &[&Frame]) -> &Layer {
        let kinds: Vec<Kind> = stack.iter().map(|frame| self.kind(frame)).collect();
        let known: Vec<&Kind> = kinds.iter().collect();
        let in_kernel = stack
            .last()
            .is_some_and(|frame| frame.place == Place::Kernel);
        &self.layers[self.decide(&known, in_kernel)]
    }

    /// A stack that a layer knows as such, else a frame that a layer knows, else the kernel, else a frame that a layer knows
    /// where nothing else does, else the rest.
    fn decide(&self, stack: &[&Kind], in_kernel: bool) -> usize {
        let whole = || (0..self.chains.len()).find(|&chain| fits(chain, stack));
        // Few stacks have the beginning of a chain.
        if stack.iter().any(|kind| !kind.links.is_empty())
            && let Some(chain) = whole()
        {
            return self.chains[chain].layer;
        }
        match (stack.iter().rev().find_map(|kind| kind.first), in_kernel) {
            (Some(layer), _) => layer,
            (None, true) => self.kernel,
            (None, false) => {
                let otherwise = stack.iter().rev().find_map(|kind| kind.otherwise);
                otherwise.unwrap_or(self.rest)
            }
        }
    }

    /// What a frame says about the layer of its stack.
    fn kind(&self, frame: &Frame) -> Kind {
        if !frame.named {
            return Kind::default();
        }
        let find = |set: &RegexSet, of: &[usize]| {
            set.matches(&frame.name)
                .into_iter()
                .filter_map(|pattern| of.get(pattern).copied())
                .min()
        };
        let name = &*frame.name;
        let links = self.chains.iter().enumerate().flat_map(|(chain, links)| {
            let parts = [
                (Part::Outer, &links.outer),
                (Part::Inner, &links.inner),
                (Part::Except, &links.except),
                (Part::Without, &links.without),
            ];
            parts
                .into_iter()
                .filter(move |(_, names)| names.is_match(name))
                .map(move |(part, _)| (chain, part))
        });
        Kind {
            first: find(&self.first, &self.first_of),
            otherwise: find(&self.otherwise, &self.otherwise_of),
            links: links.collect(),
        }
    }
}

/// What a frame says about the layer of its stack.
#[derive(Debug, Clone, Default)]
struct Kind {
    /// The layer that it decides for.
    first: Option<usize>,
    /// The layer that it decides for where nothing else does.
    otherwise: Option<usize>,
    /// The chains that it is in, and as what.
    links: Vec<(usize, Part)>,
}

/// A place in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Outer,
    Inner,
    Except,
    Without,
}

/// A chain as it is looked for, with its layer.
#[derive(Debug, Clone)]
struct Links {
    layer: usize,
    outer: RegexSet,
    inner: RegexSet,
    except: RegexSet,
    without: RegexSet,
}

impl Links {
    fn of(layer: usize, chain: &Chain) -> Result<Links> {
        let set = |names: &Vec<String>| {
            rules::any_of(names).context("the names of a layer's `stacks` are too many")
        };
        Ok(Links {
            layer,
            outer: set(&chain.outer)?,
            inner: set(&chain.inner)?,
            except: set(&chain.except)?,
            without: set(&chain.without)?,
        })
    }
}

/// Whether a stack, outermost frame first, has this chain.
fn fits(chain: usize, stack: &[&Kind]) -> bool {
    let is = |kind: &Kind, part: Part| kind.links.contains(&(chain, part));
    let place = |part| stack.iter().position(|kind| is(kind, part));
    let inner = stack.iter().rposition(|kind| is(kind, Part::Inner));
    match (place(Part::Outer), inner) {
        (Some(outer), Some(inner)) => {
            let has = |part: &[&Kind], sought| part.iter().any(|kind| is(kind, sought));
            outer < inner
                && !has(&stack[outer..inner], Part::Without)
                && !has(&stack[inner..], Part::Except)
        }
        _ => false,
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
        // A worker of the thread pool that waits for work waits for the next statement of its connections: whether it
        // sleeps until it is woken or listens itself. What it does with the group's mutex is a lock's.
        let worker = |more: &[(&'static str, Place)]| {
            let outer = [("start_thread", Library), ("get_event", Server)];
            layer_of(&[&outer, more].concat())
        };
        let asleep = [
            ("__x64_sys_futex", Kernel),
            ("futex_wait_queue", Kernel),
            ("schedule", Kernel),
        ];
        let wait = [("___pthread_cond_timedwait64", Library)];
        let lock = [("___pthread_mutex_lock", Library)];
        assert_eq!(worker(&[&wait[..], &asleep].concat()), "network-read");
        assert_eq!(worker(&[&lock[..], &asleep].concat()), "locks");
        let taken_again = [wait[0], ("__pthread_mutex_cond_lock", Library)];
        assert_eq!(worker(&[&taken_again[..], &asleep].concat()), "locks");
        let listens = [
            ("io_poll_wait", Server),
            ("__x64_sys_epoll_wait", Kernel),
            ("schedule", Kernel),
        ];
        assert_eq!(worker(&listens), "network-read");
        // A thread whose connection has gone waits in the thread cache for the next one; a statement's waits are a lock's.
        for (outer, between) in [
            ("do_handle_one_connection", "do_command"),
            (
                "Per_thread_connection_handler::block_until_new_connection",
                "x",
            ),
        ] {
            let cached = [("start_thread", Library), (outer, Server), wait[0]];
            assert_eq!(layer_of(&[&cached[..], &asleep].concat()), "network-read");
            if between == "do_command" {
                let works = [cached[0], cached[1], (between, Server), wait[0]];
                assert_eq!(layer_of(&[&works[..], &asleep].concat()), "locks");
            }
        }
        // With the performance schema another function waits.
        let instrumented = [
            ("pfs_spawn_thread", Server),
            ("handle_one_connection", Server),
            ("psi_cond_timedwait", Server),
        ];
        for waits in [&instrumented[..], &[&instrumented[..], &wait].concat()] {
            assert_eq!(layer_of(&[waits, &asleep].concat()), "network-read");
        }
        // TLS reads and writes a socket as a file.
        let handshake = [
            ("sslaccept", Server),
            ("BIO_read", Library),
            ("read", Library),
            ("ksys_read", Kernel),
            ("vfs_read", Kernel),
            ("sock_read_iter", Kernel),
            ("sock_recvmsg", Kernel),
            ("unix_stream_recvmsg", Kernel),
            ("schedule_timeout", Kernel),
            ("schedule", Kernel),
        ];
        assert_eq!(layer_of(&handshake), "network-read");
        let answer = [
            ("write", Library),
            ("vfs_write", Kernel),
            ("sock_write_iter", Kernel),
            ("unix_stream_sendmsg", Kernel),
        ];
        assert_eq!(layer_of(&answer), "network-write");
        // A condition that a statement waits for is no waiting for the client.
        assert_eq!(with(&[&wait[..], &asleep].concat()), "locks");
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
