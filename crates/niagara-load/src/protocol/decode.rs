//! Every decoder on bytes of any kind: what the fuzzer calls, and a test replays.

use super::answer::Format;
use super::auth::Channel;
use super::capability;
use super::inbox::Inbox;
use super::login::{Account, Encryption, Login, Step};
use super::prepared::PrepareReader;
use super::response::{Progress, ResponseReader};
use super::rows::RowReader;

/// Bytes handed over at once where a decoder sees them in pieces.
const PIECE: usize = 1448;

/// Decodes what a hostile server could send. The first byte says in which situation, the rest is the server's:
/// `l`, `s`, `t`: a login over TCP, a Unix socket, TLS; `p`, `P`: the answer to a prepare, without and with EOF packets;
/// `r`, `R`: answers to statements, without and with EOF packets; `q`, `Q`: the same where rows are wanted.
///
/// # Panics
/// A decoder has a mistake.
pub fn decode(input: &[u8]) {
    let Some((&situation, bytes)) = input.split_first() else {
        return;
    };
    match situation {
        b'l' => log_in(bytes, Channel::Open, Encryption::Never),
        b's' => log_in(bytes, Channel::Local, Encryption::Never),
        b't' => log_in(bytes, Channel::Open, Encryption::IfOffered),
        b'p' => prepare(bytes, capability::DEPRECATE_EOF),
        b'P' => prepare(bytes, 0),
        b'q' => rows(bytes, capability::DEPRECATE_EOF),
        b'Q' => rows(bytes, 0),
        b'r' => answers(bytes, capability::DEPRECATE_EOF),
        b'R' => answers(bytes, 0),
        _ => {}
    }
}

fn log_in(bytes: &[u8], channel: Channel, encryption: Encryption) {
    let account = Account {
        user: "niagara",
        password: "falls",
        database: Some("sbtest"),
    };
    let mut login = Login::new(account, channel, encryption);
    each_packet(bytes, 0, |inbox, payload| {
        let answer = match login.packet(payload) {
            Ok(Step::Send(_)) => true,
            Ok(Step::Wait) => false,
            Ok(Step::Encrypt(_)) => login.encrypted().is_ok(),
            Ok(Step::Done) | Err(_) => return false,
        };
        inbox.set_sequence(inbox.sequence().wrapping_add(u8::from(answer)));
        true
    });
}

fn prepare(bytes: &[u8], capabilities: u32) {
    let mut reader = PrepareReader::new(capabilities);
    each_packet(bytes, 1, |_, payload| reader.packet(payload) == Ok(None));
}

fn rows(bytes: &[u8], capabilities: u32) {
    let mut reader = RowReader::new(capabilities);
    each_packet(bytes, 1, |_, payload| reader.packet(payload) == Ok(None));
}

/// Calls `take` with every packet until it returns false.
fn each_packet(bytes: &[u8], sequence: u8, mut take: impl FnMut(&mut Inbox, &[u8]) -> bool) {
    let mut inbox = Inbox::default();
    inbox.set_sequence(sequence);
    for piece in bytes.chunks(PIECE) {
        inbox.put(piece);
        while let Ok(Some(payload)) = inbox.packet().map(|packet| packet.map(<[u8]>::to_vec)) {
            if !take(&mut inbox, &payload) {
                return;
            }
        }
    }
}

/// Reads byte by byte, and what made an answer complete again as a whole: both must come to the same.
fn answers(bytes: &[u8], capabilities: u32) {
    let mut slow = ResponseReader::new(capabilities);
    let mut quick = ResponseReader::new(capabilities);
    // A third one keeps rows, and every value of them is read.
    let mut keeping = ResponseReader::new(capabilities);
    keeping.keep_rows(true, Format::Binary);
    if keeping.feed(bytes).is_ok() {
        for row in (0..keeping.answer().rows()).filter_map(|row| keeping.answer().row(row)) {
            let mut values = row.clone();
            while values.value().is_ok() {}
        }
    }
    let mut start = 0;
    for end in 1..=bytes.len() {
        let progress = match slow.feed(&bytes[end - 1..end]) {
            Ok(Progress::More) => continue,
            Ok(progress) => progress,
            Err(_) => return,
        };
        assert_eq!(quick.feed(&bytes[start..end]), Ok(progress));
        if progress == Progress::Failed {
            assert_eq!(slow.error(), quick.error());
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use std::path::Path;

    /// Conversations of real servers, whole and damaged.
    #[test]
    fn real_packets_and_damaged_ones() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/decode");
        let mut inputs: Vec<Vec<u8>> = std::fs::read_dir(&corpus)
            .unwrap()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
            .collect();
        inputs.sort();
        assert!(inputs.len() > 20, "{} files in the corpus", inputs.len());
        for situation in b"lstpPrRqQ" {
            assert!(inputs.iter().any(|input| input[0] == *situation));
        }
        let mut rng = rand::rngs::Xoshiro256PlusPlus::seed_from_u64(1);
        for input in &inputs {
            decode(input);
            // A login takes signatures and a key, which are slow without optimisation.
            let times = if b"lst".contains(&input[0]) { 20 } else { 300 };
            for _ in 0..times {
                let mut damaged = input.clone();
                for _ in 0..rng.random_range(1..6) {
                    let at = rng.random_range(1..damaged.len());
                    match rng.random_range(0..4) {
                        0 => damaged[at] = rng.random(),
                        1 => damaged[at] ^= 1 << rng.random_range(0..8),
                        2 => damaged.truncate(at.max(2)),
                        _ => damaged.insert(at, *[0, 0xfb, 0xfc, 0xfe, 0xff].get(at % 5).unwrap()),
                    }
                }
                decode(&damaged);
            }
        }
    }
}
