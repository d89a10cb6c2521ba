//! The answer to COM_STMT_PREPARE: a head, then definitions of parameters and of columns, which are stepped over.

use super::packet::{Fields, ServerError};
use super::{ExchangeError, ProtocolError, capability};

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub statement: u32,
    pub columns: u16,
    pub parameters: u16,
}

impl Prepared {
    /// Reads the first packet of the answer, which starts with 0.
    fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != 0 {
            return Err(ProtocolError::new(
                "the answer to COM_STMT_PREPARE must start with 0",
            ));
        }
        Ok(Prepared {
            statement: fields.u32()?,
            columns: fields.u16()?,
            parameters: fields.u16()?,
        })
    }
}

/// Reads one answer, a packet at a time.
#[derive(Debug)]
pub(crate) struct PrepareReader {
    deprecate_eof: bool,
    prepared: Option<Prepared>,
    /// Definitions of parameters, then of columns, that have not come yet.
    left: [u16; 2],
    /// An EOF is due after the definitions that came last.
    eof_due: bool,
}

impl PrepareReader {
    /// For a connection that agreed on `capabilities`.
    pub(crate) fn new(capabilities: u32) -> Self {
        PrepareReader {
            deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0,
            prepared: None,
            left: [0; 2],
            eof_due: false,
        }
    }

    /// Takes the next packet; the statement when it was the last one.
    pub(crate) fn packet(&mut self, payload: &[u8]) -> Result<Option<Prepared>, ExchangeError> {
        let first = *payload
            .first()
            .ok_or_else(|| ProtocolError::new("an empty packet within an answer"))?;
        if first == 0xff {
            return Err(ServerError::parse(payload)?.into());
        }
        match self.prepared {
            None => {
                let prepared = Prepared::parse(payload)?;
                self.prepared = Some(prepared);
                self.left = [prepared.parameters, prepared.columns];
            }
            Some(_) if self.eof_due => {
                if first != 0xfe || payload.len() > 5 {
                    return Err(ProtocolError::new("no EOF after definitions").into());
                }
                self.eof_due = false;
            }
            Some(_) => {
                if first == 0xfe {
                    return Err(ProtocolError::new("an EOF among definitions").into());
                }
                if let Some(left) = self.left.iter_mut().find(|left| **left > 0) {
                    *left -= 1;
                    self.eof_due = *left == 0 && !self.deprecate_eof;
                }
            }
        }
        let complete = self.left == [0; 2] && !self.eof_due;
        Ok(self.prepared.filter(|_| complete))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &[u8] = b"\x03def\x06sbtest";
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

    fn head(parameters: u16, columns: u16) -> Vec<u8> {
        let mut head = vec![0, 7, 0, 0, 0];
        head.extend_from_slice(&columns.to_le_bytes());
        head.extend_from_slice(&parameters.to_le_bytes());
        head.extend_from_slice(&[0, 0, 0]);
        head
    }

    #[test]
    fn answers_of_both_kinds() {
        for (deprecate_eof, parameters, columns) in [
            (true, 2, 1),
            (false, 2, 1),
            (true, 0, 3),
            (false, 0, 3),
            (false, 1, 0),
            (true, 0, 0),
        ] {
            let capabilities = if deprecate_eof {
                capability::DEPRECATE_EOF
            } else {
                0
            };
            let head = head(parameters, columns);
            let mut packets: Vec<&[u8]> = vec![&head];
            for count in [parameters, columns] {
                packets.extend(vec![DEFINITION; usize::from(count)]);
                if count > 0 && !deprecate_eof {
                    packets.push(EOF);
                }
            }
            let mut reader = PrepareReader::new(capabilities);
            let (last, others) = packets.split_last().unwrap();
            for packet in others {
                assert_eq!(reader.packet(packet), Ok(None));
            }
            let prepared = reader.packet(last).unwrap().unwrap();
            assert_eq!(
                (prepared.statement, prepared.parameters, prepared.columns),
                (7, parameters, columns)
            );
        }
    }

    #[test]
    fn errors_at_any_point() {
        let error = b"\xff\xbd\x04#40001Deadlock found";
        let mut reader = PrepareReader::new(capability::DEPRECATE_EOF);
        assert!(matches!(
            reader.packet(error),
            Err(ExchangeError::Server(_))
        ));
        let mut reader = PrepareReader::new(capability::DEPRECATE_EOF);
        assert_eq!(reader.packet(&head(2, 0)), Ok(None));
        assert_eq!(reader.packet(DEFINITION), Ok(None));
        assert!(matches!(
            reader.packet(error),
            Err(ExchangeError::Server(_))
        ));
    }

    #[test]
    fn malformed_responses_are_errors() {
        let whole = head(1, 1);
        for length in 0..9 {
            assert!(PrepareReader::new(0).packet(&whole[..length]).is_err());
        }
        assert!(PrepareReader::new(0).packet(&[1; 12]).is_err());
        for (capabilities, packet) in [(0, EOF), (0, &[][..]), (capability::DEPRECATE_EOF, EOF)] {
            let mut reader = PrepareReader::new(capabilities);
            assert_eq!(reader.packet(&whole), Ok(None));
            assert!(reader.packet(packet).is_err());
        }
        let mut reader = PrepareReader::new(0);
        assert_eq!(reader.packet(&whole), Ok(None));
        assert_eq!(reader.packet(DEFINITION), Ok(None));
        assert!(reader.packet(DEFINITION).is_err());
    }
}
