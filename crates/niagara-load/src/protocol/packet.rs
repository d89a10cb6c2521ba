//! Reading fields out of packets, with every length checked.

use super::ProtocolError;
use super::text::shown;

/// The longest payload of one packet; longer ones are continued in the next.
pub(crate) const MAX_PAYLOAD: usize = 0xff_ffff;

/// Fields of one payload, read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Fields { rest: payload }
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(ProtocolError::new(format!(
                "a packet ends {} bytes early",
                count - self.rest.len()
            ))),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ProtocolError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Bytes up to a NUL, which is consumed; all that is left when there is none.
    pub(crate) fn until_nul(&mut self) -> &'a [u8] {
        match self.rest.iter().position(|&byte| byte == 0) {
            Some(at) => {
                let text = &self.rest[..at];
                self.rest = &self.rest[at + 1..];
                text
            }
            None => std::mem::take(&mut self.rest),
        }
    }

    /// A length-encoded integer.
    pub(crate) fn lenenc(&mut self) -> Result<u64, ProtocolError> {
        let width = match self.u8()? {
            small @ 0..=0xfa => return Ok(u64::from(small)),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            other => {
                return Err(ProtocolError::new(format!(
                    "a length cannot start with byte {other:#04x}"
                )));
            }
        };
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.bytes(width)?);
        Ok(u64::from_le_bytes(bytes))
    }
}

/// An error as the server sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub code: u16,
    /// The SQL state.
    pub state: [u8; 5],
    pub message: String,
}

/// The SQL state of errors that have none of their own.
const GENERAL_STATE: [u8; 5] = *b"HY000";

impl ServerError {
    /// Reads an ERR packet's payload, which starts with 0xff.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != 0xff {
            return Err(ProtocolError::new("an error packet must start with 0xff"));
        }
        let code = fields.u16()?;
        // Errors before the handshake (too many connections) carry no SQL state.
        let mut text = fields.rest();
        let mut state = GENERAL_STATE;
        if let [b'#', rest @ ..] = text
            && let Some((own, rest)) = rest.split_first_chunk()
        {
            (state, text) = (*own, rest);
        }
        Ok(ServerError {
            code,
            state,
            message: shown(text),
        })
    }
}

impl std::error::Error for ServerError {}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "server error {}: {}", self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers() {
        let read = |bytes: &[u8]| Fields::new(bytes).lenenc();
        assert_eq!(read(&[0xfa]), Ok(250));
        assert_eq!(read(&[0xfc, 1, 1]), Ok(257));
        assert_eq!(read(&[0xfd, 0, 0, 1]), Ok(65536));
        assert_eq!(read(&[0xfe, 1, 0, 0, 0, 0, 0, 0, 1]), Ok((1 << 56) + 1));
        for truncated in [&[][..], &[0xfc, 1], &[0xfd, 1, 2], &[0xfe, 1, 2, 3]] {
            assert!(read(truncated).is_err(), "{truncated:?}");
        }
        assert!(read(&[0xfb]).is_err());
        assert!(read(&[0xff]).is_err());
    }

    #[test]
    fn errors_with_and_without_sql_state() {
        let with = ServerError::parse(b"\xff\x15\x04#28000Access denied").unwrap();
        assert_eq!((with.code, with.message.as_str()), (1045, "Access denied"));
        assert_eq!(with.state, *b"28000");
        let without = ServerError::parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!(
            (without.code, without.message.as_str()),
            (1040, "Too many connections")
        );
        assert!(ServerError::parse(b"\xff\x10").is_err());
        assert!(ServerError::parse(b"").is_err());
        let not_utf8 = ServerError::parse(b"\xff\x10\x04#HY000\xe9t\xe9").unwrap();
        assert_eq!(not_utf8.message, "\u{fffd}t\u{fffd}");
    }
}
