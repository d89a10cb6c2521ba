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
    /// What the sender has received; none in a connection's very first segment.
    pub acknowledged: Option<u32>,
    /// The sender has no more, or the connection is gone.
    pub ends: bool,
    /// As much of it as was recorded.
    pub payload: &'a [u8],
}

/// Whether packets of this kind of link can be read.
pub(super) fn is_known(link: Linktype) -> bool {
    matches!(
        link,
        Linktype::ETHERNET
            | Linktype::NULL
            | Linktype::LOOP
            | Linktype::RAW
            | Linktype::IPV4
            | Linktype::IPV6
            | Linktype::LINUX_SLL
            | LINUX_SLL2
            | RAW_OF_BSD
            | RAW_OF_OPENBSD
    )
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
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | RAW_OF_BSD | RAW_OF_OPENBSD => {
            LaxSlicedPacket::from_ip(data).ok()?
        }
        // `tcpdump -i any`.
        Linktype::LINUX_SLL => of_type(data.get(14..16)?, data.get(16..)?)?,
        LINUX_SLL2 => of_type(data.get(..2)?, data.get(20..)?)?,
        _ => return None,
    };
    let (from, to) = match packet.net? {
        LaxNetSlice::Ipv4(ip) => (
            IpAddr::V4(ip.header().source_addr()),
            IpAddr::V4(ip.header().destination_addr()),
        ),
        LaxNetSlice::Ipv6(ip) => (
            IpAddr::V6(ip.header().source_addr()),
            IpAddr::V6(ip.header().destination_addr()),
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
        acknowledged: tcp.ack().then(|| tcp.acknowledgment_number()),
        ends: tcp.fin() || tcp.rst(),
        payload: tcp.payload(),
    })
}

/// Of newer versions of `tcpdump -i any`.
const LINUX_SLL2: Linktype = Linktype(276);
/// What BSDs call bare IP; files have it too.
const RAW_OF_BSD: Linktype = Linktype(12);
const RAW_OF_OPENBSD: Linktype = Linktype(14);

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
            .ack(4711);
        builder.write(&mut bytes, b"hello").expect("memory");
        let check = |link, data: &[u8]| {
            assert!(is_known(link));
            let segment = segment(link, data).expect("a segment");
            assert_eq!(segment.from.to_string(), "10.0.0.7:40000");
            assert_eq!((segment.to.port(), segment.sequence), (3306, 77));
            assert!(!segment.syn && !segment.ends);
            assert_eq!(segment.acknowledged, Some(4711));
            assert_eq!(segment.payload, b"hello");
        };
        check(Linktype::ETHERNET, &bytes);
        let ip = &bytes[14..];
        check(Linktype::RAW, ip);
        check(RAW_OF_BSD, ip);
        check(Linktype::NULL, &[&[2, 0, 0, 0], ip].concat());
        check(Linktype::LINUX_SLL, &[&[0; 14][..], &[8, 0], ip].concat());
        check(LINUX_SLL2, &[&[8, 0][..], &[0; 18], ip].concat());
        // In one virtual network, and in one inside of another.
        let tag = [0x81, 0, 0, 5];
        check(
            Linktype::ETHERNET,
            &[&bytes[..12], &tag, &bytes[12..]].concat(),
        );
        check(
            Linktype::ETHERNET,
            &[&bytes[..12], &[0x88, 0xa8, 0, 9], &tag, &bytes[12..]].concat(),
        );
        check(
            Linktype::LINUX_SLL,
            &[&[0; 14][..], &tag, &[8, 0], ip].concat(),
        );
        check(
            LINUX_SLL2,
            &[&[0x81, 0][..], &[0; 18], &[0, 5, 8, 0], ip].concat(),
        );
        // Frames are filled up to their least length.
        check(Linktype::ETHERNET, &[&bytes[..], &[0; 7]].concat());
        // Segments that the network card cuts up later may not say their length.
        let mut large = bytes.clone();
        large[16..18].copy_from_slice(&[0, 0]);
        check(Linktype::ETHERNET, &large);
        let cut = segment(Linktype::ETHERNET, &bytes[..bytes.len() - 2]).expect("a segment");
        assert_eq!(cut.payload, b"hel");
        for length in 0..bytes.len() {
            let _ = segment(Linktype::ETHERNET, &bytes[..length]);
        }
        assert!(!is_known(Linktype(105)));
    }

    #[test]
    fn both_versions_of_ip() {
        let mut bytes = Vec::new();
        let (client, server) = ([0xfd; 16], [0xfc; 16]);
        PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv6(client, server, 64)
            .tcp(40_000, 3306, 77, 1000)
            .write(&mut bytes, b"hello")
            .expect("memory");
        let segment = segment(Linktype::ETHERNET, &bytes).expect("a segment");
        assert_eq!(segment.from.ip(), IpAddr::from(client));
        assert_eq!(segment.to.ip(), IpAddr::from(server));
        assert_eq!(segment.payload, b"hello");
        assert_eq!(segment.acknowledged, None);
    }
}
