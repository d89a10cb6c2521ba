//! The answer to COM_STMT_PREPARE as it arrives under load, in pieces of any size.

use super::inbox::Inbox;
use super::packet::ServerError;
use super::prepared::{PrepareReader, Prepared};
use super::response::Progress;
use super::{ExchangeError, ProtocolError};

/// An answer that is being read, or has been.
#[derive(Debug)]
pub(crate) struct Preparing {
    inbox: Inbox,
    reader: PrepareReader,
    result: Option<Result<Prepared, ServerError>>,
}

impl Preparing {
    /// For a connection that agreed on `capabilities`.
    pub(crate) fn new(capabilities: u32) -> Self {
        let mut inbox = Inbox::default();
        inbox.set_sequence(1);
        Preparing {
            inbox,
            reader: PrepareReader::new(capabilities),
            result: None,
        }
    }

    /// The answer's first packet has this number.
    pub(crate) fn expect(&mut self, number: u8) {
        self.inbox.set_sequence(number);
    }

    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ProtocolError> {
        self.inbox.put(bytes);
        while let Some(packet) = self.inbox.packet()? {
            let (result, progress) = match self.reader.packet(packet) {
                Ok(None) => continue,
                Ok(Some(prepared)) => (Ok(prepared), Progress::Done),
                Err(ExchangeError::Server(error)) => (Err(error), Progress::Failed),
                Err(ExchangeError::Protocol(error)) => return Err(error),
            };
            self.result = Some(result);
            if !self.inbox.is_empty() {
                return Err(ProtocolError::new("bytes follow a complete answer"));
            }
            return Ok(progress);
        }
        Ok(Progress::More)
    }

    /// What it came to, once it is complete.
    pub(crate) fn result(&self) -> Option<&Result<Prepared, ServerError>> {
        self.result.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::capability;

    #[test]
    fn an_answer_in_pieces() {
        let head = [12, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let definition = [4, 0, 0, 2, 3, b'd', b'e', b'f'];
        let mut preparing = Preparing::new(capability::DEPRECATE_EOF);
        for byte in head.iter().chain(&definition[..7]) {
            assert_eq!(
                preparing.feed(std::slice::from_ref(byte)),
                Ok(Progress::More)
            );
        }
        assert_eq!(preparing.feed(&definition[7..]), Ok(Progress::Done));
        let prepared = preparing.result().unwrap().as_ref().unwrap();
        assert_eq!((prepared.statement, prepared.parameters), (7, 1));
        let mut refused = Preparing::new(capability::DEPRECATE_EOF);
        let error = b"\x0e\0\0\x01\xff\x7a\x04#42S02none ";
        assert_eq!(refused.feed(error), Ok(Progress::Failed));
        assert_eq!(refused.result().unwrap().as_ref().unwrap_err().code, 1146);
    }
}
