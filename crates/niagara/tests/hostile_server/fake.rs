//! A server that is made up: it speaks the protocol as far as a misdeed wants it, and keeps what the client has sent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Bytes of a client that are kept: more than all that an honest one sends here.
const KEPT: usize = 4 << 20;

const CAPABILITIES: u32 = 1 | 1 << 3 | 1 << 9 | 1 << 15 | 1 << 19 | 1 << 23 | 1 << 24;
pub const SSL: u32 = 1 << 11;

pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
pub const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
pub const COLUMN: &[u8] =
    b"\x03def\x06sbtest\x01t\x01t\x01c\x01c\x0c\x2d\0\x78\0\0\0\xfd\0\0\0\0\0";

/// One packet.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

/// Packets numbered from `first`.
pub fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let numbered = payloads.iter().enumerate();
    numbered
        .flat_map(|(index, payload)| packet(first.wrapping_add(index as u8), payload))
        .collect()
}

/// The payload of a greeting.
pub fn greeting(version: &[u8], capabilities: u32) -> Vec<u8> {
    let capabilities = CAPABILITIES | capabilities;
    let mut payload = vec![10];
    payload.extend_from_slice(version);
    payload.extend_from_slice(b"\0\x07\0\0\0abcdefgh\0");
    payload.extend_from_slice(&(capabilities as u16).to_le_bytes());
    payload.extend_from_slice(&[45, 2, 0]);
    payload.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    payload
}

/// An answer of one row of one column.
pub fn row(value: &[u8]) -> Vec<u8> {
    let mut row = vec![value.len() as u8];
    row.extend_from_slice(value);
    packets(1, &[&[1], COLUMN, &row, END])
}

/// A connection of a client.
pub struct Peer {
    stream: TcpStream,
    heard: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
}

impl Peer {
    /// One packet of the client; none once it has left.
    pub fn hear(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.fill(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.fill(&mut payload)?;
        Some(payload)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Option<()> {
        self.stream.read_exact(buffer).ok()?;
        let mut heard = self.heard.lock().ok()?;
        let room = KEPT.saturating_sub(heard.len()).min(buffer.len());
        heard.extend_from_slice(&buffer[..room]);
        Some(())
    }

    /// Says this; whether the client is still there.
    pub fn say(&mut self, bytes: &[u8]) -> bool {
        !self.over.load(Ordering::Relaxed) && self.stream.write_all(bytes).is_ok()
    }

    /// Says this over and over until the client leaves; `change` is told how often it was said.
    pub fn say_for_ever(&mut self, mut bytes: impl FnMut(u8) -> Vec<u8>) {
        let mut number = 0_u8;
        while self.say(&bytes(number)) {
            number = number.wrapping_add(1);
        }
    }

    /// A byte a second until the client leaves.
    pub fn dribble(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if !self.say(&[*byte]) {
                return;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        self.wait();
    }

    /// Says nothing and keeps what it hears until the client leaves.
    pub fn wait(&mut self) {
        let mut byte = [0];
        while self.fill(&mut byte).is_some() {}
    }

    /// Ends the connection with a reset.
    pub fn reset(&mut self) {
        let linger = nix::libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        let set =
            nix::sys::socket::setsockopt(&self.stream, nix::sys::socket::sockopt::Linger, &linger);
        assert!(set.is_ok(), "{set:?}");
        // The descriptor that the guard has would keep it open.
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// An honest login.
    pub fn log_in(&mut self) -> Option<()> {
        self.log_in_as(b"9.7.0")
    }

    /// An honest login to a server of this version.
    pub fn log_in_as(&mut self, version: &[u8]) -> Option<()> {
        self.say(&packet(0, &greeting(version, 0)));
        self.hear()?;
        self.say(&packet(2, OK)).then_some(())
    }

    /// An honest login, then this answer to each command.
    pub fn answer(&mut self, mut answer: impl FnMut(&mut Peer, &[u8])) {
        if self.log_in().is_none() {
            return;
        }
        while let Some(command) = self.hear() {
            answer(self, &command);
        }
    }
}

/// The server; it ends with this.
pub struct Fake {
    pub port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Fake {
    /// Serves each client by `misdeed`.
    pub fn start(misdeed: fn(&mut Peer)) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let over = Arc::<AtomicBool>::default();
        let (kept, ended) = (Arc::clone(&heard), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            std::thread::scope(|scope| {
                while let Ok((stream, _)) = listener.accept() {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    // A client that has gone is seen at the latest then.
                    let bound = Some(Duration::from_secs(400));
                    let _ = stream.set_read_timeout(bound);
                    let _ = stream.set_write_timeout(bound);
                    let mut peer = Peer {
                        stream,
                        heard: Arc::clone(&kept),
                        over: Arc::clone(&ended),
                    };
                    scope.spawn(move || misdeed(&mut peer));
                }
            });
        });
        Fake {
            port,
            heard,
            over,
            thread: Some(thread),
        }
    }

    /// What clients have sent.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().expect("no thread panics with it").clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // What waits for the next client sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
