//! What hostile servers do.

use super::fake::{COLUMN, END, OK, Peer, SSL, greeting, packet, packets, row};

/// Text that must not come to a terminal as it is: a title, a colour, a bell, a line that stands in for another.
pub const ESCAPES: &[u8] = b"\x1b]0;owned\x07\x1b[2J\x1b[31mroot# \x08\x08\r\xc2\x9b31m\x00\x7f";

/// A misdeed.
pub struct Misdeed {
    pub name: &'static str,
    pub act: fn(&mut Peer),
    /// It follows the protocol: a command may end well with what it was told.
    pub may_succeed: bool,
}

const fn of(name: &'static str, act: fn(&mut Peer)) -> Misdeed {
    Misdeed {
        name,
        act,
        may_succeed: false,
    }
}

const fn lie(name: &'static str, act: fn(&mut Peer)) -> Misdeed {
    Misdeed {
        name,
        act,
        may_succeed: true,
    }
}

fn error(message: &[u8]) -> Vec<u8> {
    [b"\xff\x15\x04#28000", message].concat()
}

/// The next packet of a payload without an end.
fn endless_packet(sequence: u8) -> Vec<u8> {
    packet(sequence, &vec![0; 0xff_ffff])
}

/// An answer to the login, whatever the client says.
fn after_login(peer: &mut Peer, bytes: &[u8]) {
    peer.say(&packet(0, &greeting(b"9.7.0", 0)));
    if peer.hear().is_some() {
        peer.say(bytes);
        peer.wait();
    }
}

/// An answer to each command.
fn always(peer: &mut Peer, bytes: &[u8]) {
    peer.answer(|peer, _| {
        peer.say(bytes);
    });
}

/// The head of the answer to a prepare.
fn prepared(columns: u16, parameters: u16) -> Vec<u8> {
    let mut head = vec![0, 1, 0, 0, 0];
    head.extend_from_slice(&columns.to_le_bytes());
    head.extend_from_slice(&parameters.to_le_bytes());
    head.extend_from_slice(&[0, 0, 0]);
    head
}

pub const MISDEEDS: &[Misdeed] = &[
    // Before the login.
    of("silence", |peer| peer.wait()),
    of("a byte a second", |peer| {
        peer.dribble(&packet(0, &greeting(b"9.7.0", 0)));
    }),
    of("closed at once", |_| ()),
    of("reset at once", |peer| peer.reset()),
    of("a server of HTTP", |peer| {
        peer.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        peer.wait();
    }),
    of("protocol version 9", |peer| {
        peer.say(&packet(0, b"\x093.23\0\0\0\0\0"));
        peer.wait();
    }),
    of("protocol version 255", |peer| {
        peer.say(&packet(0, b"\xfe9.7\0\0\0\0\0"));
        peer.wait();
    }),
    of("half a greeting", |peer| {
        let whole = packet(0, &greeting(b"9.7.0", 0));
        peer.say(&whole[..whole.len() / 2]);
    }),
    of("a greeting that ends early", |peer| {
        peer.say(&packet(0, &greeting(b"9.7.0", 0)[..20]));
        peer.wait();
    }),
    of("a greeting of 16 MiB", |peer| {
        let mut payload = greeting(b"9.7.0", 0);
        payload.resize(0xff_fffe, 0);
        peer.say(&packet(0, &payload));
        peer.wait();
    }),
    of("a greeting without an end", |peer| {
        peer.say_for_ever(endless_packet);
    }),
    of("an error with escapes", |peer| {
        peer.say(&packet(0, &error(ESCAPES)));
        peer.wait();
    }),
    of("an error of 60 KiB", |peer| {
        peer.say(&packet(0, &error(&ESCAPES.repeat(1700))));
        peer.wait();
    }),
    of("a version of 64 KiB", |peer| {
        if peer.log_in_as(&b"9.7.0-".repeat(11_000)).is_some() {
            peer.say(&error(b"x"));
        }
    }),
    // The login.
    of("silence after the greeting", |peer| after_login(peer, &[])),
    of("a password in clear", |peer| {
        after_login(peer, &packet(2, b"\xfemysql_clear_password\0"));
    }),
    of("a dialog", |peer| {
        after_login(peer, &packet(2, b"\xfedialog\0Password of root:\0"));
    }),
    of("a plugin with escapes", |peer| {
        after_login(
            peer,
            &packet(2, &[b"\xfe", &ESCAPES[..10], b"\0abcdefgh"].concat()),
        );
    }),
    of("a password of before 4.1", |peer| {
        after_login(peer, &packet(2, &[0xfe]));
    }),
    of("endless plugins", |peer| {
        peer.say(&packet(0, &greeting(b"9.7.0", 0)));
        let mut sequence = 2;
        while peer.hear().is_some() {
            let switch = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
            if !peer.say(&packet(sequence, switch)) {
                return;
            }
            sequence = sequence.wrapping_add(2);
        }
    }),
    of("a key that is none", |peer| {
        let key = [&b"\x01-----BEGIN PUBLIC KEY-----\n"[..], &[b'A'; 500_000]].concat();
        peer.say(&packet(0, &greeting(b"9.7.0", 0)));
        if peer.hear().is_some() {
            peer.say(&packet(
                2,
                b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0",
            ));
            if peer.hear().is_some() {
                peer.say(&packet(4, &[1, 4]));
                if peer.hear().is_some() {
                    peer.say(&packet(6, &key));
                    peer.wait();
                }
            }
        }
    }),
    of("a local file for a login", |peer| {
        after_login(peer, &packet(2, b"\xfb/etc/passwd"));
    }),
    of("two answers to the login", |peer| {
        after_login(peer, &packets(2, &[OK, OK]));
    }),
    of("a refusal with escapes", |peer| {
        after_login(peer, &packet(2, &error(ESCAPES)));
    }),
    of("TLS that is noise", |peer| {
        peer.say(&packet(0, &greeting(b"9.7.0", SSL)));
        if peer.hear().is_some() {
            peer.say(&[0x80; 70_000]);
            peer.wait();
        }
    }),
    of("TLS that is silence", |peer| {
        peer.say(&packet(0, &greeting(b"9.7.0", SSL)));
        if peer.hear().is_some() {
            peer.wait();
        }
    }),
    of("TLS that is clear text", |peer| {
        peer.say(
            &[
                packet(0, &greeting(b"9.7.0", SSL)),
                packet(2, OK),
                packet(3, OK),
            ]
            .concat(),
        );
        peer.wait();
    }),
    // Answers.
    of("silence after the login", |peer| peer.answer(|_, _| ())),
    of("answers of a byte a second", |peer| {
        peer.answer(|peer, _| peer.dribble(&row(&[b'1'; 200])));
    }),
    of("a request for a local file", |peer| {
        always(
            peer,
            &packet(1, &[b"\xfb", super::SECRET_FILE.as_bytes()].concat()),
        );
    }),
    of("rows without an end", |peer| {
        peer.answer(|peer, _| {
            peer.say(&packets(1, &[&[1], COLUMN]));
            peer.say_for_ever(|number| packet(number.wrapping_add(3), b"\x0511111"));
        });
    }),
    of("columns without an end", |peer| {
        peer.answer(|peer, _| {
            peer.say(&packet(1, &[0xfd, 0xff, 0xff, 0xff]));
            peer.say_for_ever(|number| packet(number.wrapping_add(2), COLUMN));
        });
    }),
    of("results without an end", |peer| {
        peer.answer(|peer, _| {
            // More results follow, says the status.
            peer.say_for_ever(|number| packet(number.wrapping_add(1), &[0, 0, 0, 10, 0, 0, 0]));
        });
    }),
    of("ends without an end", |peer| {
        peer.answer(|peer, _| {
            peer.say(&packets(1, &[&[1], COLUMN]));
            peer.say_for_ever(|number| packet(number.wrapping_add(3), &[0xfe, 0xff, 0xff, 8, 0]));
        });
    }),
    of("2^24 columns", |peer| {
        always(peer, &packet(1, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]))
    }),
    of("2^64 columns", |peer| {
        always(
            peer,
            &packet(1, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        );
    }),
    of("values that are longer than their row", |peer| {
        always(
            peer,
            &packets(
                1,
                &[
                    &[1],
                    COLUMN,
                    &[0xfe, 255, 255, 255, 255, 255, 255, 255, 127, b'x'],
                    END,
                ],
            ),
        );
    }),
    of("a definition that is longer than its packet", |peer| {
        always(peer, &packets(1, &[&[1], b"\x03def\xfd\xff\xff\xff"]));
    }),
    of("numbers of packets that jump", |peer| {
        always(peer, &packet(77, OK))
    }),
    of("packets of 16 MiB without an end", |peer| {
        peer.answer(|peer, _| {
            peer.say(&packets(1, &[&[1], COLUMN]));
            peer.say_for_ever(|number| endless_packet(number.wrapping_add(3)));
        });
    }),
    of("closed within a packet", |peer| {
        if peer.log_in().is_some() && peer.hear().is_some() {
            peer.say(&row(b"1")[..20]);
        }
    }),
    of("reset within an answer", |peer| {
        if peer.log_in().is_some() && peer.hear().is_some() {
            peer.say(&packets(1, &[&[1], COLUMN]));
            peer.reset();
        }
    }),
    of("an empty packet", |peer| always(peer, &packet(1, &[]))),
    of("errors with escapes", |peer| {
        always(peer, &packet(1, &error(ESCAPES)))
    }),
    of("errors that are no text", |peer| {
        let noise: Vec<u8> = (0..60_000_u32).map(|at| (at * 7 % 256) as u8).collect();
        always(peer, &packet(1, &error(&noise)));
    }),
    of("an end where a row is due", |peer| {
        always(peer, &packets(1, &[&[1], END, END, END]));
    }),
    of("answers to what was not asked", |peer| {
        peer.answer(|peer, _| {
            peer.say(&[row(b"1"), row(b"2"), packet(0, OK)].concat());
        });
    }),
    lie("65535 parameters and columns", |peer| {
        peer.answer(|peer, command| {
            let answer = match command.first() {
                Some(0x16) => packet(1, &prepared(u16::MAX, u16::MAX)),
                _ => row(b"1"),
            };
            peer.say(&answer);
        });
    }),
    lie("parameters without columns", |peer| {
        peer.answer(|peer, command| {
            let answer = match command.first() {
                Some(0x16) => packets(1, &[&prepared(0, 3), COLUMN, COLUMN, COLUMN, END]),
                _ => row(b"1"),
            };
            peer.say(&answer);
        });
    }),
    // What the protocol allows.
    lie("status that is noise", |peer| {
        always(
            peer,
            &packet(
                1,
                &[0, 0xfc, 255, 255, 0xfd, 255, 255, 255, 0xf7, 0xff, 255, 255],
            ),
        );
    }),
    lie("changes of the session that lie", |peer| {
        // A schema's name of 2^24 bytes in 20.
        let lie = b"\0\0\0\x02\x40\0\0\0\x12\x01\xfd\xff\xff\xffsomewhere\x00\x03\xfe";
        always(peer, &packet(1, lie));
    }),
    lie("yes to everything", |peer| always(peer, &packet(1, OK))),
    lie("one row for everything", |peer| always(peer, &row(b"1"))),
    lie("escapes for everything", |peer| always(peer, &row(ESCAPES))),
    lie("paths of this machine for everything", |peer| {
        always(peer, &row(b"/etc/passwd"))
    }),
    lie("a version with escapes", |peer| {
        let mut version = ESCAPES.to_vec();
        version.retain(|byte| *byte != 0);
        if peer.log_in_as(&version).is_some() {
            while peer.hear().is_some() {
                if !peer.say(&row(&version)) {
                    return;
                }
            }
        }
    }),
];
