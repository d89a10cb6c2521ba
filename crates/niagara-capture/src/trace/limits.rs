//! How large a trace may be: it is held in memory as a whole.

/// Longest statement that is replayed, in bytes: it has to fit one packet of the protocol (16 MiB less one byte, the
/// command's byte included).
pub(super) const MAX_STATEMENT: usize = (1 << 24) - 3;
/// Most statements of a trace: they are numbered in 32 bits, and each takes 40 bytes and its text.
pub(super) const MAX_STATEMENTS: usize = 100_000_000;
/// Most bytes of all texts together, equal ones counted once: 16 GiB.
pub(super) const MAX_TEXT: u64 = 16 << 30;
