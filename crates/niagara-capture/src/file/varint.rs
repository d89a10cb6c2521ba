//! Numbers in as few bytes as they need: seven bits a byte, lowest first, the eighth says that more follow (LEB128).

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number with a sign: small ones of either sign are short.
pub(super) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a number that may be missing.
pub(super) fn put_option(out: &mut Vec<u8>, number: Option<u64>) {
    put(out, number.map_or(0, |number| number.saturating_add(1)));
}

/// Appends bytes and how many they are.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// What is left to be read; every read gives none at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for (at, &byte) in self.0.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if at == 9 && bits > 1 {
                return None;
            }
            number |= bits << (7 * at);
            if byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Some(number);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A number that may be missing.
    pub fn option(&mut self) -> Option<Option<u64>> {
        self.number().map(|number| number.checked_sub(1))
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut out = Vec::new();
        let numbers = [
            0,
            1,
            127,
            128,
            300,
            u64::from(u32::MAX),
            u64::MAX - 1,
            u64::MAX,
        ];
        let signed = [0, -1, 1, i64::MIN, i64::MAX];
        for number in numbers {
            put(&mut out, number);
        }
        for number in signed {
            put_signed(&mut out, number);
        }
        put_option(&mut out, None);
        put_option(&mut out, Some(0));
        put_bytes(&mut out, b"abc");
        let mut cursor = Cursor(&out);
        for number in numbers {
            assert_eq!(cursor.number(), Some(number));
        }
        for number in signed {
            assert_eq!(cursor.signed(), Some(number));
        }
        assert_eq!(cursor.option(), Some(None));
        assert_eq!(cursor.option(), Some(Some(0)));
        assert_eq!(cursor.bytes(), Some(&b"abc"[..]));
        assert!(cursor.is_empty());
        assert_eq!(cursor.number(), None);
        assert_eq!(Cursor(&[0xff; 11]).number(), None);
    }
}
