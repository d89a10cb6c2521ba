//! Fields of the protocol's packets. Whatever is not there is none: nothing here fails otherwise.

/// Reads one field after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (here, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(here)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    /// A number of `count` bytes, at most eight, lowest first.
    pub(super) fn number(&mut self, count: usize) -> Option<u64> {
        let bytes = self.bytes(count)?;
        let mut all = [0; 8];
        all.get_mut(..count)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(all))
    }

    /// A number whose first byte says its length.
    pub(super) fn lenenc(&mut self) -> Option<u64> {
        match self.u8()? {
            first @ 0..=0xfa => Some(first.into()),
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            _ => None,
        }
    }

    /// Bytes behind their length.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.lenenc()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// Bytes up to a 0, which is read too.
    pub(super) fn zero_ended(&mut self) -> Option<&'a [u8]> {
        let length = memchr::memchr(0, self.0)?;
        let here = self.bytes(length)?;
        self.bytes(1)?;
        Some(here)
    }
}
