//! One message on a stream: its length in four bytes, big end first, then JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use thiserror::Error;

/// Longer ones are not sent, so who announces one is no agent of ours. The figures of 100000 connections have a tenth of it.
const LONGEST: u32 = 64 << 20;

/// Why no message could be read.
#[derive(Debug, Error)]
pub(super) enum FrameError {
    /// The stream failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The stream ended within a message.
    #[error("it ended within a message")]
    Truncated,
    /// What came is longer than any message.
    #[error("it sent something that is not a message of a load agent")]
    TooLong,
    /// What came has the length of a message and is none.
    #[error("it sent a message that is not understood: {0}")]
    Unknown(serde_json::Error),
}

/// Sends one message.
pub(super) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len())
        .ok()
        .filter(|length| *length <= LONGEST)
        .ok_or_else(|| io::Error::other(format!("a message of {} bytes", text.len())))?;
    let mut frame = Vec::with_capacity(text.len() + 4);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&text);
    to.write_all(&frame)?;
    to.flush()
}

/// Waits for one message; `None` when the stream ended after the last one.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, FrameError> {
    let mut head = [0; 4];
    match fill(from, &mut head)? {
        0 => return Ok(None),
        4 => {}
        _ => return Err(FrameError::Truncated),
    }
    let length = u32::from_be_bytes(head);
    if length > LONGEST {
        return Err(FrameError::TooLong);
    }
    // Grows with what really comes: a length alone takes no memory.
    let mut text = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut text)?;
    if text.len() < length as usize {
        return Err(FrameError::Truncated);
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(FrameError::Unknown)
}

/// As much of `buffer` as the stream has; less than all only at its end.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(messages: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages {
            write(&mut bytes, message).unwrap();
        }
        bytes
    }

    /// A stream that hands out one byte at a time.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn messages_come_back_in_order_and_then_the_end() {
        let bytes = framed(&["one", "", "drei"]);
        for mut stream in [
            Box::new(bytes.as_slice()) as Box<dyn Read>,
            Box::new(Drops(&bytes)),
        ] {
            for expected in ["one", "", "drei"] {
                let got: Option<String> = read(&mut stream).unwrap();
                assert_eq!(got.as_deref(), Some(expected));
            }
            assert!(read::<String>(&mut stream).unwrap().is_none());
        }
    }

    #[test]
    fn a_stream_that_ends_within_a_message_says_so() {
        let bytes = framed(&["a message"]);
        for length in 1..bytes.len() {
            let error = read::<String>(&mut &bytes[..length]).unwrap_err();
            assert!(matches!(error, FrameError::Truncated), "{length}: {error}");
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_refused_and_takes_no_memory() {
        // A shell that greets its user: "Welc" is a length of 1.4 GB.
        let error = read::<String>(&mut &b"Welcome to this host\n"[..]).unwrap_err();
        assert!(matches!(error, FrameError::TooLong), "{error}");
        let mut bytes = LONGEST.to_be_bytes().to_vec();
        bytes.extend_from_slice(b"\"short\"");
        let error = read::<String>(&mut bytes.as_slice()).unwrap_err();
        assert!(matches!(error, FrameError::Truncated), "{error}");
    }

    #[test]
    fn unknown_messages_are_errors() {
        let mut bytes = Vec::new();
        write(&mut bytes, &7).unwrap();
        let error = read::<String>(&mut bytes.as_slice()).unwrap_err();
        assert!(matches!(error, FrameError::Unknown(_)), "{error}");
    }
}
