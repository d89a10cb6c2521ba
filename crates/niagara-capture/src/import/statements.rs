//! Statements that were seen before, by their skeletons: what is known of them is worked out once.

use std::collections::HashMap;
use std::ops::Range;

use crate::file::{CaptureWriter, DigestEntry, TemplateId};
use crate::sql::{
    Boundary, Class, Concern, Cut, Digest, RoutineMark, SqlMode, Traits, classify,
    digest_is_several, digest_text,
};
use crate::stored::may_call;

/// What says of a literal that it is no text.
const BINARY: &[u8] = b"_binary";

/// Most skeletons that are remembered.
const MAX_KNOWN: usize = 400_000;

/// What is known of a skeleton.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub traits: Traits,
    pub concern: Concern,
    pub boundary: Boundary,
    /// Whether it shows that a stored routine or a trigger has executed it.
    pub routine: RoutineMark,
    /// It names a function that may be a stored one.
    pub may_call: bool,
    /// It is several statements in one command.
    pub several: bool,
    /// Its template, once one of its statements was written.
    template: Option<TemplateId>,
}

impl Known {
    /// The kind of statement.
    pub fn class(&self) -> Class {
        self.traits.class
    }
}

/// Skeletons, and the statement at hand.
#[derive(Debug, Default)]
pub(super) struct Statements {
    known: HashMap<u64, Known>,
    cut: Cut,
    key: u64,
}

impl Statements {
    /// Takes a statement apart; what is known of it.
    pub fn look(&mut self, text: &[u8], mode: SqlMode) -> Known {
        self.cut.read(text, mode);
        let seed = u64::from(self.cut.uncut.is_some());
        self.key = xxhash_rust::xxh3::xxh3_64_with_seed(self.cut.for_digest(), seed);
        if let Some(known) = self.known.get(&self.key) {
            return *known;
        }
        let digest = digest_text(self.cut.for_digest());
        let traits = classify(&digest);
        let known = Known {
            traits,
            concern: Concern::of(&digest),
            boundary: Boundary::of(traits.class, &digest),
            routine: RoutineMark::of(&digest),
            may_call: may_call(&digest),
            several: digest_is_several(&digest),
            template: None,
        };
        if self.known.len() < MAX_KNOWN {
            self.known.insert(self.key, known);
        }
        known
    }

    /// A number of the statement read last, without its literals.
    pub fn skeleton(&self) -> u64 {
        self.key
    }

    /// The template of the statement read last.
    pub fn template(&mut self, known: Known, writer: &mut CaptureWriter) -> TemplateId {
        if let Some(id) = known.template {
            // Two skeletons of one key: the later one is kept whole.
            let same = writer.dictionary().template(id).skeleton == self.cut.skeleton;
            return if same { id } else { TemplateId(0) };
        }
        let text = digest_text(self.cut.for_digest());
        let entry = DigestEntry {
            digest: Digest::of(&text),
            traits: known.traits,
            text,
        };
        let id = writer.template(entry, &self.cut.skeleton);
        if let Some(known) = self.known.get_mut(&self.key) {
            known.template = Some(id);
        }
        id
    }

    /// The parts of `text`, the statement read last, for this template.
    pub fn parts<'a>(
        &'a self,
        text: &'a [u8],
        template: TemplateId,
    ) -> impl Iterator<Item = &'a [u8]> {
        let whole = (template == TemplateId(0)).then_some(text);
        let parts = if whole.is_some() {
            &[][..]
        } else {
            &self.cut.parts[..]
        };
        whole
            .into_iter()
            .chain(parts.iter().map(|range| &text[range.clone()]))
    }

    /// The literals of `text`, the statement read last, but for those that say that they are no text.
    pub fn literals<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let is_binary = |range: &Range<usize>| {
            // A list of literals is one part, and a word before a literal belongs to it.
            let from = range.start.saturating_sub(BINARY.len() + 1);
            let part = &text[from..range.end];
            part.windows(BINARY.len())
                .any(|word| word.eq_ignore_ascii_case(BINARY))
        };
        let parts = self.cut.parts.iter();
        parts
            .filter(move |range| !is_binary(range))
            .map(|range| &text[range.clone()])
    }
}
