//! What many events share: digests, templates of statements, names.

use super::varint::{self, Cursor};
use crate::sql::{COMMENT, Class, Digest, LITERAL, Traits};

/// A number of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DigestId(pub u32);

/// A number of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TemplateId(pub u32);

/// A number of a name: of a database, or of a user. 0 is the empty one: none, or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NameId(pub u32);

/// Most entries of each kind, and most bytes of all: what a reader has to hold.
const MAX_ENTRIES: usize = 200_000;
const MAX_BYTES: usize = 96 << 20;

/// A digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestEntry {
    /// Its number outside of this file.
    pub digest: Digest,
    /// The kind of statement.
    pub traits: Traits,
    /// Its text.
    pub text: Vec<u8>,
}

/// A statement without its literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its digest.
    pub digest: DigestId,
    /// The statement with a byte in the place of each literal and comment ([`LITERAL`], [`COMMENT`]).
    pub skeleton: Vec<u8>,
    /// How many there are.
    pub parts: u32,
}

/// All that many events share.
#[derive(Debug)]
pub struct Dictionary {
    digests: Vec<DigestEntry>,
    templates: Vec<Template>,
    names: Vec<Vec<u8>>,
    bytes: usize,
    /// Additions that are not written yet.
    pending: Vec<u8>,
}

const DIGEST: u8 = 1;
const TEMPLATE: u8 = 2;
const NAME: u8 = 3;

impl Default for Dictionary {
    fn default() -> Dictionary {
        Dictionary::new()
    }
}

impl Dictionary {
    /// With what every capture has: the digest and the template of statements that found the dictionary full, and the
    /// empty name.
    pub fn new() -> Dictionary {
        let text = b"(other statements)".to_vec();
        Dictionary {
            digests: vec![DigestEntry {
                digest: Digest::of(&text),
                traits: Traits {
                    class: Class::Other,
                    volatile: false,
                },
                text,
            }],
            templates: vec![Template {
                digest: DigestId(0),
                skeleton: vec![LITERAL],
                parts: 1,
            }],
            names: vec![Vec::new()],
            bytes: 0,
            pending: Vec::new(),
        }
    }

    fn has_room(&self, entries: usize, bytes: usize) -> bool {
        entries < MAX_ENTRIES && self.bytes + bytes <= MAX_BYTES
    }

    /// Adds a digest; none when the dictionary is full.
    pub(super) fn add_digest(&mut self, entry: DigestEntry) -> Option<DigestId> {
        if !self.has_room(self.digests.len(), entry.text.len()) {
            return None;
        }
        self.pending.push(DIGEST);
        self.pending
            .extend_from_slice(&entry.digest.0.to_le_bytes());
        self.pending.push(entry.traits.class as u8);
        self.pending.push(u8::from(entry.traits.volatile));
        varint::put_bytes(&mut self.pending, &entry.text);
        self.bytes += entry.text.len();
        self.digests.push(entry);
        Some(DigestId(self.digests.len() as u32 - 1))
    }

    /// Adds a template; none when the dictionary is full.
    pub(super) fn add_template(&mut self, digest: DigestId, skeleton: &[u8]) -> Option<TemplateId> {
        if !self.has_room(self.templates.len(), skeleton.len()) {
            return None;
        }
        self.pending.push(TEMPLATE);
        varint::put(&mut self.pending, u64::from(digest.0));
        varint::put_bytes(&mut self.pending, skeleton);
        self.bytes += skeleton.len();
        self.templates.push(Template {
            digest,
            skeleton: skeleton.to_vec(),
            parts: count_parts(skeleton),
        });
        Some(TemplateId(self.templates.len() as u32 - 1))
    }

    /// Adds a name; none when the dictionary is full.
    pub(super) fn add_name(&mut self, name: &[u8]) -> Option<NameId> {
        if !self.has_room(self.names.len(), name.len()) {
            return None;
        }
        self.pending.push(NAME);
        varint::put_bytes(&mut self.pending, name);
        self.bytes += name.len();
        self.names.push(name.to_vec());
        Some(NameId(self.names.len() as u32 - 1))
    }

    /// What was added since the last call, as it is written.
    pub(super) fn take_pending(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    /// Reads additions; none when they are damaged.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let mut cursor = Cursor(bytes);
        while !cursor.is_empty() {
            match cursor.byte()? {
                DIGEST => {
                    let digest = Digest(u64::from_le_bytes(cursor.take(8)?.try_into().ok()?));
                    let class = Class::from_number(cursor.byte()?)?;
                    let volatile = cursor.byte()? == 1;
                    let text = cursor.bytes()?.to_vec();
                    let traits = Traits { class, volatile };
                    self.add_digest(DigestEntry {
                        digest,
                        traits,
                        text,
                    })?;
                }
                TEMPLATE => {
                    let digest = DigestId(u32::try_from(cursor.number()?).ok()?);
                    self.digests.get(digest.0 as usize)?;
                    self.add_template(digest, cursor.bytes()?)?;
                }
                NAME => {
                    self.add_name(cursor.bytes()?)?;
                }
                _ => return None,
            }
            self.pending.clear();
        }
        Some(())
    }

    /// All digests, in the order of their numbers.
    pub fn digests(&self) -> &[DigestEntry] {
        &self.digests
    }

    /// All templates, in the order of their numbers.
    pub(crate) fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// A template; that of statements without one for a number that is none.
    pub fn template(&self, id: TemplateId) -> &Template {
        self.templates
            .get(id.0 as usize)
            .unwrap_or(&self.templates[0])
    }

    /// A digest; that of statements without one for a number that is none.
    pub fn digest(&self, id: DigestId) -> &DigestEntry {
        self.digests.get(id.0 as usize).unwrap_or(&self.digests[0])
    }

    /// A name; the empty one for a number that is none.
    pub fn name(&self, id: NameId) -> &[u8] {
        self.names.get(id.0 as usize).map_or(b"", |name| name)
    }

    /// All names, in the order of their numbers.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    pub(super) fn has_name(&self, id: NameId) -> bool {
        (id.0 as usize) < self.names.len()
    }
}

/// How many literals and comments a skeleton has a place for.
fn count_parts(skeleton: &[u8]) -> u32 {
    memchr::memchr2_iter(LITERAL, COMMENT, skeleton).count() as u32
}
