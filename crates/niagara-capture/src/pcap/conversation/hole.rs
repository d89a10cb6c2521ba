//! A hole in what a client sent.

/// Something of a client's that was not recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hole {
    /// The number behind it.
    pub end: u32,
    /// Its length in bytes; none: all that was before the recording.
    pub length: Option<u32>,
}
