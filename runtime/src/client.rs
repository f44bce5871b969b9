//! Who is at the other end: the peer of the connection, or, behind a proxy of
//! ours, the address that the proxy saw.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};

use crate::config::Network;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address. Anyone can send `X-Forwarded-For`, so it counts only from
/// a trusted peer, and of its list only what trusted proxies have added: the last
/// address that is not one of theirs.
pub(crate) fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer;
    let lists = headers.get_all(FORWARDED_FOR).iter().map(|v| v.to_str().unwrap_or(""));
    let entries: Vec<&str> = lists.flat_map(|list| list.split(',')).collect();
    for entry in entries.into_iter().rev() {
        if !is_trusted(client) {
            break;
        }
        // Behind what cannot be read nobody is known.
        let Some(address) = parse(entry.trim()) else { break };
        client = address;
    }
    client
}

/// An address, with or without a port.
fn parse(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|e| e.strip_suffix(']')).unwrap_or(entry);
    bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|a| a.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted = [Network::Loopback, Network::parse("10.0.0.0/8").unwrap()];
        for (peer, lists, client) in [
            ("127.0.0.1", &[][..], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.5"], "203.0.113.5"),
            ("203.0.113.9", &["203.0.113.5"], "203.0.113.9"),
            ("127.0.0.1", &["1.1.1.1, 203.0.113.5"], "203.0.113.5"),
            ("127.0.0.1", &["1.1.1.1, 203.0.113.5, 10.0.0.3"], "203.0.113.5"),
            ("127.0.0.1", &["1.1.1.1", "203.0.113.5,10.0.0.3"], "203.0.113.5"),
            ("127.0.0.1", &["10.0.0.1, 10.0.0.3"], "10.0.0.1"),
            ("127.0.0.1", &["203.0.113.5, unknown, 10.0.0.3"], "10.0.0.3"),
            ("::1", &["203.0.113.5:4711"], "203.0.113.5"),
            ("::1", &["[2001:db8::5]:4711"], "2001:db8::5"),
            ("::1", &["[2001:db8::5]"], "2001:db8::5"),
        ] {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append(FORWARDED_FOR, list.parse().unwrap());
            }
            let found = address(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{peer} {lists:?}");
        }
    }
}
