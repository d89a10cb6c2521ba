//! Blocks: a kind, two lengths, a checksum, and what they hold, compressed.

use std::io::{self, Read, Write};

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum BlockKind {
    Dictionary = 1,
    Events = 2,
    Summary = 3,
}

/// Longest block, in bytes: the longest statement and what surrounds it.
const MAX_RAW: u32 = 1 << 30;

/// The level of compression: what it saves above this costs more time than reading the log.
const LEVEL: i32 = 1;

/// Bytes before what a block holds.
pub(super) const HEAD: u64 = 17;

/// Writes a block; its length in the file.
pub(super) fn write(
    out: &mut impl Write,
    compressor: &mut zstd::bulk::Compressor<'_>,
    kind: BlockKind,
    raw: &[u8],
) -> io::Result<u64> {
    let stored = compressor.compress(raw)?;
    let length = |bytes: &[u8]| {
        u32::try_from(bytes.len())
            .ok()
            .filter(|&length| length <= MAX_RAW)
    };
    let (Some(raw_length), Some(stored_length)) = (length(raw), length(&stored)) else {
        return Err(io::Error::other("a block is longer than the format allows"));
    };
    out.write_all(&[kind as u8])?;
    out.write_all(&raw_length.to_le_bytes())?;
    out.write_all(&stored_length.to_le_bytes())?;
    out.write_all(&xxhash_rust::xxh3::xxh3_64(&stored).to_le_bytes())?;
    out.write_all(&stored)?;
    Ok(HEAD + u64::from(stored_length))
}

/// A compressor for [`write`].
pub(super) fn compressor() -> io::Result<zstd::bulk::Compressor<'static>> {
    zstd::bulk::Compressor::new(LEVEL)
}

/// Reads a block into `raw`; its kind and its length in the file.
pub(super) fn read(
    input: &mut impl Read,
    stored: &mut Vec<u8>,
    raw: &mut Vec<u8>,
) -> Result<(BlockKind, u64), String> {
    let mut head = [0; HEAD as usize];
    input
        .read_exact(&mut head)
        .map_err(|_| "the file ends in the middle of a block".to_owned())?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let kind = match head[0] {
        1 => BlockKind::Dictionary,
        2 => BlockKind::Events,
        3 => BlockKind::Summary,
        other => return Err(format!("a block of the unknown kind {other}")),
    };
    let (raw_length, stored_length) = (word(1), word(5));
    if raw_length > MAX_RAW || stored_length > MAX_RAW {
        return Err("a block with an impossible length".to_owned());
    }
    let mut sum = [0; 8];
    sum.copy_from_slice(&head[9..17]);
    stored.clear();
    // What is there, not what the head says: that may be damaged.
    input
        .take(u64::from(stored_length))
        .read_to_end(stored)
        .map_err(|error| error.to_string())?;
    if stored.len() as u64 != u64::from(stored_length) {
        return Err("the file ends in the middle of a block".to_owned());
    }
    if xxhash_rust::xxh3::xxh3_64(stored) != u64::from_le_bytes(sum) {
        return Err("the checksum of a block does not fit".to_owned());
    }
    raw.clear();
    let limit = u64::from(raw_length) + 1;
    zstd::stream::read::Decoder::new(&stored[..])
        .and_then(|decoder| decoder.take(limit).read_to_end(raw))
        .map_err(|error| format!("a block cannot be decompressed: {error}"))?;
    if raw.len() as u64 != u64::from(raw_length) {
        return Err("a block has another length than it says".to_owned());
    }
    Ok((kind, HEAD + u64::from(stored_length)))
}
