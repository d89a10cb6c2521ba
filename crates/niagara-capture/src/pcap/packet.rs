//! From what lies on the wire to segments of TCP.

use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::Linktype;

/// A segment of TCP.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub sequence: u32,
    pub syn: bool,
    /// It answers one of the other side's.
    pub acknowledges: bool,
    /// The sender has no more, or the connection is gone.
    pub ends: bool,
    pub payload: &'a [u8],
    /// A part of its payload was not recorded.
    pub is_cut: bool,
}

/// The segment that a packet of this kind of link holds; none of everything else.
pub(super) fn segment(link: Linktype, data: &[u8]) -> Option<Segment<'_>> {
    let of_type = |kind: &[u8], rest| {
        let kind = u16::from_be_bytes([*kind.first()?, *kind.get(1)?]);
        Some(LaxSlicedPacket::from_ether_type(EtherType(kind), rest))
    };
    let packet = match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok()?,
        // Loopback devices of the BSDs: four bytes that say the family.
        Linktype::NULL | Linktype::LOOP => LaxSlicedPacket::from_ip(data.get(4..)?).ok()?,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => LaxSlicedPacket::from_ip(data).ok()?,
        // `tcpdump -i any`.
        Linktype::LINUX_SLL => of_type(data.get(14..16)?, data.get(16..)?)?,
        LINUX_SLL2 => of_type(data.get(..2)?, data.get(20..)?)?,
        _ => return None,
    };
    let (from, to, payload) = match packet.net? {
        LaxNetSlice::Ipv4(ip) => (
            IpAddr::V4(ip.header().source_addr()),
            IpAddr::V4(ip.header().destination_addr()),
            ip.payload().clone(),
        ),
        LaxNetSlice::Ipv6(ip) => (
            IpAddr::V6(ip.header().source_addr()),
            IpAddr::V6(ip.header().destination_addr()),
            ip.payload().clone(),
        ),
        _ => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else {
        return None;
    };
    Some(Segment {
        from: SocketAddr::new(from, tcp.source_port()),
        to: SocketAddr::new(to, tcp.destination_port()),
        sequence: tcp.sequence_number(),
        syn: tcp.syn(),
        acknowledges: tcp.ack(),
        ends: tcp.fin() || tcp.rst(),
        payload: tcp.payload(),
        is_cut: payload.incomplete || payload.fragmented,
    })
}

/// Of newer versions of `tcpdump -i any`.
const LINUX_SLL2: Linktype = Linktype(276);

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn segments_are_found_behind_any_link() {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4([10, 0, 0, 7], [10, 0, 0, 1], 64)
            .tcp(40_000, 3306, 77, 1000)
            .syn();
        builder.write(&mut bytes, b"hello").expect("memory");
        let check = |link, data: &[u8]| {
            let segment = segment(link, data).expect("a segment");
            assert_eq!(segment.from.to_string(), "10.0.0.7:40000");
            assert_eq!((segment.to.port(), segment.sequence), (3306, 77));
            assert!(segment.syn && !segment.ends && !segment.is_cut);
            assert_eq!(segment.payload, b"hello");
        };
        check(Linktype::ETHERNET, &bytes);
        let ip = &bytes[14..];
        check(Linktype::RAW, ip);
        check(Linktype::NULL, &[&[2, 0, 0, 0], ip].concat());
        check(Linktype::LINUX_SLL, &[&[0; 14][..], &[8, 0], ip].concat());
        check(LINUX_SLL2, &[&[8, 0][..], &[0; 18], ip].concat());
        let cut = segment(Linktype::ETHERNET, &bytes[..bytes.len() - 2]).expect("a segment");
        assert!(cut.is_cut);
        for length in 0..bytes.len() {
            let _ = segment(Linktype::ETHERNET, &bytes[..length]);
        }
    }
}
