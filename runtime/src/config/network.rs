//! Ranges of addresses, as `trusted_proxies` lists them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One address, or all that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// This computer: `127.0.0.0/8` and `::1`.
    Loopback,
    /// An address and how many of its bits count.
    Range(IpAddr, u8),
}

impl Network {
    /// Reads `loopback`, `10.0.0.7`, `10.0.0.0/8` or `fd00::/8`.
    ///
    /// # Errors
    /// What is wrong with it and how to write it.
    pub fn parse(text: &str) -> Result<Network, String> {
        if text == "loopback" {
            return Ok(Network::Loopback);
        }
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let parsed = address.parse::<IpAddr>().ok().and_then(|address| {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Some(most), |b| b.parse().ok().filter(|b| *b <= most))?;
            Some(Network::Range(address, bits))
        });
        parsed.ok_or_else(|| {
            format!(
                "`{text}` is no address; write it as \"10.0.0.7\", \"10.0.0.0/8\", \"fd00::/8\" or \"loopback\""
            )
        })
    }

    /// Whether the address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (*self, address.to_canonical()) {
            (Network::Loopback, address) => address.is_loopback(),
            (Network::Range(IpAddr::V4(own), bits), IpAddr::V4(given)) => {
                let mask = |a: Ipv4Addr| u32::from(a).checked_shr(32 - u32::from(bits)).unwrap_or(0);
                mask(own) == mask(given)
            }
            (Network::Range(IpAddr::V6(own), bits), IpAddr::V6(given)) => {
                let mask = |a: Ipv6Addr| u128::from(a).checked_shr(128 - u32::from(bits)).unwrap_or(0);
                mask(own) == mask(given)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Loopback => f.write_str("loopback"),
            Network::Range(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (network, address, inside) in [
            ("loopback", "127.0.0.9", true),
            ("loopback", "::ffff:127.0.0.1", true),
            ("loopback", "10.0.0.1", false),
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.8", false),
            ("10.0.0.0/8", "10.9.9.9", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("0.0.0.0/0", "11.0.0.0", true),
            ("0.0.0.0/0", "::2", false),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe12::1", false),
            ("::/0", "fe12::1", true),
        ] {
            let network = Network::parse(network).unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), inside, "{network} {address}");
        }
        for bad in ["", "10.0.0", "10.0.0.0/33", "::/129", "a/8", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(Network::parse(bad).is_err(), "{bad}");
        }
    }
}
