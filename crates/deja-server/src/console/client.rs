//! Who sends a request, and by which address it came, as far as that can be known.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use ipnet::IpNet;

use super::Console;
use super::error::ConsoleError;
use crate::listener::Peer;

/// The address of a browser: the other end of the connection, or whom a trusted proxy there speaks for.
pub(super) struct Address(pub(super) IpAddr);

impl FromRequestParts<Arc<Console>> for Address {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Arc<Console>) -> Result<Self, ConsoleError> {
        Ok(Self(address(parts, &console.trusted_proxies)))
    }
}

/// Where a request comes from, behind proxies that are trusted.
pub(crate) fn address(parts: &Parts, trusted_proxies: &[IpNet]) -> IpAddr {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).to_canonical();
    sender(peer, &parts.headers, trusted_proxies)
}

/// Where a browser reached deja, without a slash at the end: what `Host` says, by the scheme of the public URL. Clients reach
/// it there too, whatever the settings say.
pub(super) struct Origin(pub(super) String);

impl FromRequestParts<Arc<Console>> for Origin {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, console: &Arc<Console>) -> Result<Self, ConsoleError> {
        let named = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        let named = named.or(parts.uri.authority().map(Authority::as_str)).filter(|host| is_host(host));
        Ok(Self(match named {
            Some(host) => format!("{}://{host}", if console.secure { "https" } else { "http" }),
            None => console.admin.public_url.clone(),
        }))
    }
}

/// Whether it is a name or an address with at most a port: what stands in snippets must not end a quoted word.
fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

/// The last address of `X-Forwarded-For` that is no trusted proxy's. What stands before it, anybody may have written.
fn sender(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let trusted = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
    let lines = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    let mut sender = peer;
    for hop in hops.into_iter().rev() {
        let Some(before) = hop_address(hop.trim()).filter(|_| trusted(&sender)) else { break };
        sender = before.to_canonical();
    }
    sender
}

/// An address as proxies write it: some put the port behind it, and brackets around an IPv6 address.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, forwarded: &[&str], proxies: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let proxies: Vec<IpNet> = proxies.iter().map(|network| network.parse().unwrap()).collect();
        sender(peer.parse().unwrap(), &headers, &proxies).to_string()
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_nothing_else() {
        for host in ["deja.example", "127.0.0.1:8080", "[::1]:8080", "deja_1:80"] {
            assert!(is_host(host), "{host}");
        }
        for other in ["", "a b", "me@deja", "a/b", "$(id)", "a\"b", "a'b", "é"] {
            assert!(!is_host(other), "{other}");
        }
    }

    #[test]
    fn only_trusted_proxies_say_who_sends() {
        let (inside, both) = (&["10.0.0.0/8"][..], &["10.0.0.0/8", "192.0.2.7/32"][..]);
        for (peer, forwarded, proxies, sender) in [
            ("10.0.0.2", &["203.0.113.9"][..], inside, "203.0.113.9"),
            // Somebody wrote an address of their choice in front.
            ("10.0.0.2", &["198.51.100.1, 203.0.113.9"], inside, "203.0.113.9"),
            ("10.0.0.2", &["198.51.100.1", "203.0.113.9"], inside, "203.0.113.9"),
            // Two proxies, one behind the other.
            ("10.0.0.2", &["203.0.113.9, 192.0.2.7"], both, "203.0.113.9"),
            ("10.0.0.2", &["203.0.113.9, 192.0.2.7"], inside, "192.0.2.7"),
            // Nobody to be trusted, or nothing to be read.
            ("203.0.113.9", &["10.0.0.1"], inside, "203.0.113.9"),
            ("10.0.0.2", &["203.0.113.9"], &[], "10.0.0.2"),
            ("10.0.0.2", &["unknown"], inside, "10.0.0.2"),
            ("10.0.0.2", &[], inside, "10.0.0.2"),
            ("10.0.0.2", &["2001:db8::1"], inside, "2001:db8::1"),
            // As some proxies write it.
            ("10.0.0.2", &["198.51.100.7:4711"], inside, "198.51.100.7"),
            ("10.0.0.2", &["[2001:db8::1]:443"], inside, "2001:db8::1"),
            ("10.0.0.2", &["[2001:db8::1]"], inside, "2001:db8::1"),
            ("10.0.0.2", &["203.0.113.9:1, 192.0.2.7:2"], both, "203.0.113.9"),
            ("10.0.0.2", &["203.0.113.9:"], inside, "10.0.0.2"),
        ] {
            assert_eq!(seen(peer, forwarded, proxies), sender, "{peer} {forwarded:?} {proxies:?}");
        }
    }
}
