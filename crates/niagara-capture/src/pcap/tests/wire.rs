//! Recordings, made up segment by segment: what a client and a server said, as TCP carried it.

use etherparse::PacketBuilder;

pub(super) const SSL: u32 = 1 << 11;
pub(super) const DEPRECATE_EOF: u32 = 1 << 24;
pub(super) const COMPRESS: u32 = 1 << 5;
pub(super) const QUERY_ATTRIBUTES: u32 = 1 << 27;
/// LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS, PLUGIN_AUTH.
pub(super) const PLAIN: u32 = 1 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 17 | 1 << 19;

/// SERVER_STATUS_AUTOCOMMIT, and IN_TRANS.
pub(super) const AUTOCOMMIT: u8 = 2;
pub(super) const IN_TRANSACTION: u8 = 3;

/// A file of recorded packets (pcap, Ethernet).
pub(super) struct Wire {
    pub bytes: Vec<u8>,
    at_us: u64,
}

impl Wire {
    pub(super) fn new() -> Wire {
        Wire::of_link(1)
    }

    pub(super) fn of_link(link: u32) -> Wire {
        let mut bytes = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, link] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Wire {
            bytes,
            at_us: 1_795_380_000_000_000,
        }
    }

    /// The file after this one.
    pub(super) fn next_file(&self) -> Wire {
        Wire {
            at_us: self.at_us,
            ..Wire::new()
        }
    }

    /// A packet, 100 µs after the one before.
    pub(super) fn record(&mut self, packet: &[u8]) {
        self.at_us += 100;
        let head = [
            self.at_us / 1_000_000,
            self.at_us % 1_000_000,
            packet.len() as u64,
            packet.len() as u64,
        ];
        for word in head {
            self.bytes.extend_from_slice(&(word as u32).to_le_bytes());
        }
        self.bytes.extend_from_slice(packet);
    }

    pub(super) fn wait(&mut self, micros: u64) {
        self.at_us += micros;
    }

    /// The clock is set back.
    pub(super) fn set_back(&mut self, micros: u64) {
        self.at_us -= micros;
    }
}

/// A connection: where both ends are.
pub(super) struct Link {
    client: ([u8; 4], u16),
    server: ([u8; 4], u16),
    client_next: u32,
    server_next: u32,
    /// What is sent now is not recorded.
    pub lost: bool,
    /// What client and server have received where it is not all that was sent.
    pub received: [Option<u32>; 2],
}

impl Link {
    pub(super) fn new(port: u16) -> Link {
        Link {
            client: ([10, 0, 0, 7], port),
            server: ([10, 0, 0, 1], 3306),
            client_next: 0xffff_fff0 - u32::from(port),
            server_next: u32::from(port) * 7919,
            lost: false,
            received: [None; 2],
        }
    }

    /// The numbers of what client and server send next.
    pub(super) fn numbers(&self) -> [u32; 2] {
        [self.client_next, self.server_next]
    }

    /// Of another client.
    pub(super) fn from(self, client: [u8; 4]) -> Link {
        Link {
            client: (client, self.client.1),
            ..self
        }
    }

    /// The same connection as it is seen behind a translation of addresses.
    pub(super) fn translated(&self) -> Link {
        Link {
            client: ([172, 17, 0, 1], self.client.1),
            server: ([172, 17, 0, 2], 3306),
            ..*self
        }
    }

    /// A segment; `flags`: SYN 1, FIN 2.
    fn segment(&mut self, from_client: bool, flags: u8, bytes: &[u8]) -> Vec<u8> {
        let [client_has, server_has] = self.received;
        let (from, to, next, ack) = match from_client {
            true => (
                self.client,
                self.server,
                &mut self.client_next,
                client_has.unwrap_or(self.server_next),
            ),
            false => (
                self.server,
                self.client,
                &mut self.server_next,
                server_has.unwrap_or(self.client_next),
            ),
        };
        let mut builder = PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4(from.0, to.0, 64)
            .tcp(from.1, to.1, *next, 1000);
        if !(from_client && flags & 1 != 0) {
            builder = builder.ack(ack);
        }
        if flags & 1 != 0 {
            builder = builder.syn();
        }
        if flags & 2 != 0 {
            builder = builder.fin();
        }
        *next = next.wrapping_add(bytes.len() as u32 + u32::from(flags != 0));
        let mut packet = Vec::new();
        builder.write(&mut packet, bytes).unwrap();
        packet
    }

    /// A segment that is recorded later, or not at all.
    pub(super) fn unrecorded(&mut self, from_client: bool, bytes: &[u8]) -> Vec<u8> {
        self.segment(from_client, 0, bytes)
    }

    fn send(&mut self, wire: &mut Wire, from_client: bool, bytes: &[u8]) {
        let packet = self.segment(from_client, 0, bytes);
        if !self.lost {
            wire.record(&packet);
        }
    }

    pub(super) fn client(&mut self, wire: &mut Wire, bytes: &[u8]) {
        self.send(wire, true, bytes);
    }

    pub(super) fn server(&mut self, wire: &mut Wire, bytes: &[u8]) {
        self.send(wire, false, bytes);
    }

    /// In segments of so many bytes.
    pub(super) fn client_in_pieces(&mut self, wire: &mut Wire, bytes: &[u8], size: usize) {
        for piece in bytes.chunks(size) {
            self.client(wire, piece);
        }
    }

    /// The client has received everything.
    pub(super) fn acknowledge(&mut self, wire: &mut Wire) {
        self.client(wire, &[]);
    }

    pub(super) fn connect(&mut self, wire: &mut Wire) {
        for (from_client, flags) in [(true, 1), (false, 1), (true, 0)] {
            let packet = self.segment(from_client, flags, &[]);
            wire.record(&packet);
        }
    }

    pub(super) fn close(&mut self, wire: &mut Wire) {
        let packet = self.segment(true, 2, &[]);
        wire.record(&packet);
    }

    /// Connects and logs in with these capabilities.
    pub(super) fn log_in(&mut self, wire: &mut Wire, capabilities: u32) {
        self.connect(wire);
        self.server(wire, &packet(0, &greeting(self.client.1)));
        self.client(wire, &packet(1, &login(capabilities)));
        self.server(wire, &packet(2, &ok(0, AUTOCOMMIT)));
    }

    /// A question and its answer.
    pub(super) fn ask(&mut self, wire: &mut Wire, command: &[u8], answer: &[u8]) {
        self.client(wire, command);
        self.server(wire, answer);
    }
}

/// A packet of the protocol.
pub(super) fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// Packets in a row, from this number on.
pub(super) fn packets(first: u8, bodies: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for (place, body) in bodies.iter().enumerate() {
        all.extend(packet(first.wrapping_add(place as u8), body));
    }
    all
}

/// That of a server of MySQL which can everything; `id` makes it one of a kind.
pub(super) fn greeting(id: u16) -> Vec<u8> {
    let mut body = b"\x0a8.0.36\0".to_vec();
    body.extend_from_slice(&u32::from(id).to_le_bytes());
    body.extend_from_slice(b"abcdefgh\0\xff\xff\xff\x02\0\xff\xff\x15");
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    body
}

pub(super) fn login(capabilities: u32) -> Vec<u8> {
    let mut body = capabilities.to_le_bytes().to_vec();
    body.extend_from_slice(&[0, 0, 0, 1, 255]);
    body.extend_from_slice(&[0; 23]);
    body.extend_from_slice(b"app\0\x04hashshop\0");
    body
}

pub(super) fn query(sql: &str) -> Vec<u8> {
    packet(0, &[b"\x03", sql.as_bytes()].concat())
}

pub(super) fn prepare(sql: &str) -> Vec<u8> {
    packet(0, &[b"\x16", sql.as_bytes()].concat())
}

/// An execution without parameters, or with one number.
pub(super) fn execute(statement: u32, number: Option<u8>) -> Vec<u8> {
    let mut body = vec![0x17];
    body.extend_from_slice(&statement.to_le_bytes());
    body.extend_from_slice(&[0, 1, 0, 0, 0]);
    if let Some(number) = number {
        // No NULL, new types: a TINYINT.
        body.extend_from_slice(&[0, 1, 1, 0, number]);
    }
    packet(0, &body)
}

/// An OK of so many rows.
pub(super) fn ok(rows: u8, status: u8) -> Vec<u8> {
    vec![0, rows, 0, status, 0, 0, 0]
}

pub(super) fn error(number: u16) -> Vec<u8> {
    [&[0xff][..], &number.to_le_bytes(), b"#42000no"].concat()
}

pub(super) const COLUMN: &[u8] =
    b"\x03def\x04shop\x04item\x04item\x01a\x01a\x0c\x21\0\x28\0\0\0\xfd\0\0\0\0\0";
pub(super) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

/// A result of one column with so many rows, as servers of old end it.
pub(super) fn rows(count: usize) -> Vec<u8> {
    let mut bodies: Vec<&[u8]> = vec![&[1], COLUMN, EOF];
    bodies.extend(std::iter::repeat_n(&b"\x04pear"[..], count));
    bodies.push(EOF);
    packets(1, &bodies)
}

/// The answer to a prepare of a statement with so many parameters and no columns, as servers of old end it.
pub(super) fn prepared(statement: u32, parameters: u8) -> Vec<u8> {
    let mut first = vec![0];
    first.extend_from_slice(&statement.to_le_bytes());
    first.extend_from_slice(&[0, 0, parameters, 0, 0, 0, 0]);
    let mut bodies: Vec<&[u8]> = vec![&first];
    bodies.extend(std::iter::repeat_n(COLUMN, parameters.into()));
    if parameters > 0 {
        bodies.push(EOF);
    }
    packets(1, &bodies)
}
