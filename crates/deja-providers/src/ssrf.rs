//! Which addresses deja calls on behalf of a user (SSRF guard).
//!
//! A URL typed by a user is checked twice. [`check_url`] runs when it is saved and before every request: it
//! sees the scheme, the host's name and literal addresses. [`Resolver`] runs at connect: it sees what a name
//! resolves to now, so that a name which changes its mind (DNS rebinding) gains nothing. Link-local and cloud
//! metadata addresses are refused whatever the settings say. Sources: IANA special-purpose registries
//! (RFC 6890), RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The kind of network that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The public internet.
    Public,
    /// This machine or a private network: called only where the operator allows it.
    Private,
    /// Link-local, cloud metadata, multicast, reserved: never called.
    Never,
}

/// A URL that deja does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not a URL.
    #[error("the URL cannot be read ({0}): write one such as https://llm.example.com/v1")]
    Malformed(String),
    /// Neither http nor https.
    #[error("the URL must begin with https://")]
    Scheme,
    /// Plain http to the public internet.
    #[error("the URL must begin with https:// unless private addresses are allowed")]
    Https,
    /// `user:password@`.
    #[error("the URL must not hold a user name or password")]
    Credentials,
    /// `?…` or `#…`.
    #[error("the URL must not hold a query or a fragment")]
    QueryOrFragment,
    /// No host.
    #[error("the URL names no host")]
    Host,
    /// An address or a name that is private, while private ones are not allowed.
    #[error("the URL leads to this machine or a private network, which the operator has not allowed")]
    Private,
    /// An address or a name that is never called.
    #[error("the URL leads to an address that is never called")]
    Forbidden,
}

/// Raised by [`Resolver`] when no address of a name may be called.
#[derive(Clone, Debug, thiserror::Error)]
#[error("every address of the name is one that is not called")]
pub(crate) struct ForbiddenName;

/// Longest URL taken.
const MAX_URL: usize = 2048;

/// Names of cloud metadata services; their addresses are in [`NEVER_V4`] and [`NEVER_V6`] too.
const METADATA_NAMES: [&str; 5] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"];

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(segments: [u16; 8], prefix: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)
}

const NEVER_V4: [Ipv4Net; 13] = [
    v4(0, 0, 0, 0, 8),          // "this network"
    v4(169, 254, 0, 0, 16),     // link-local, with 169.254.169.254: metadata
    v4(100, 100, 100, 200, 32), // metadata of Alibaba Cloud, inside the CGNAT range
    v4(168, 63, 129, 16, 32),   // Azure's host service
    v4(192, 0, 0, 0, 24),       // IETF protocol assignments, with 192.0.0.192: metadata of Oracle Cloud
    v4(192, 0, 2, 0, 24),       // documentation
    v4(198, 51, 100, 0, 24),    // documentation
    v4(203, 0, 113, 0, 24),     // documentation
    v4(192, 88, 99, 0, 24),     // 6to4 relays, deprecated
    v4(192, 31, 196, 0, 24),    // AS112
    v4(192, 175, 48, 0, 24),    // AS112
    v4(224, 0, 0, 0, 4),        // multicast
    v4(240, 0, 0, 0, 4),        // reserved, with 255.255.255.255: broadcast
];
const PRIVATE_V4: [Ipv4Net; 6] = [
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10), // CGNAT
    v4(127, 0, 0, 0, 8),
    v4(172, 16, 0, 0, 12),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15), // benchmarks
];
const NEVER_V6: [Ipv6Net; 11] = [
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),          // link-local
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), // metadata of AWS
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),  // metadata of Google Cloud
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),           // multicast
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),           // discard
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32),          // Teredo: hides an IPv4 address behind two others
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),      // documentation
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),          // documentation
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48),          // benchmarks
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),       // NAT64, local: the IPv4 address may stand anywhere in it
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),          // segment routing
];
const PRIVATE_V6: [Ipv6Net; 3] = [
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),  // unique local
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), // site-local, deprecated
];
/// IPv6 ranges with an IPv4 address inside, and the byte at which it begins.
const EMBEDDING_V6: [(Ipv6Net, usize); 5] = [
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), 12),    // IPv4-mapped
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), 12),    // IPv4-translated
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), 12), // NAT64
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), 2),     // 6to4
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), 12),         // IPv4-compatible, with :: itself
];

/// The kind of network that `address` is in.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    if NEVER_V4.iter().any(|net| net.contains(&address)) {
        Reach::Never
    } else if PRIVATE_V4.iter().any(|net| net.contains(&address)) {
        Reach::Private
    } else {
        Reach::Public
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if NEVER_V6.iter().any(|net| net.contains(&address)) {
        return Reach::Never;
    }
    if PRIVATE_V6.iter().any(|net| net.contains(&address)) {
        return Reach::Private;
    }
    let bytes = address.octets();
    for (net, start) in EMBEDDING_V6 {
        if net.contains(&address) {
            return reach_v4(Ipv4Addr::new(
                bytes[start],
                bytes[start + 1],
                bytes[start + 2],
                bytes[start + 3],
            ));
        }
    }
    // Everything that was ever given out for the public internet lies in 2000::/3.
    if address.segments()[0] >> 13 == 1 { Reach::Public } else { Reach::Never }
}

/// Whether `address` may be called.
fn allowed(address: IpAddr, allow_private: bool) -> Result<(), UrlError> {
    match reach(address) {
        Reach::Public => Ok(()),
        Reach::Private if allow_private => Ok(()),
        Reach::Private => Err(UrlError::Private),
        Reach::Never => Err(UrlError::Forbidden),
    }
}

/// The URL that a user typed, if deja takes it. Addresses in odd forms (`0x7f.1`, `2130706433`, `[::ffff:10.0.0.1]`)
/// are read as any HTTP client would read them.
pub fn check_url(text: &str, allow_private: bool) -> Result<Url, UrlError> {
    if text.len() > MAX_URL || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(UrlError::Malformed("too long, or with a blank in it".to_owned()));
    }
    let url = Url::parse(text).map_err(|error| UrlError::Malformed(error.to_string()))?;
    check(&url, allow_private)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(UrlError::QueryOrFragment);
    }
    Ok(url)
}

/// Where a URL leads, before every request. Its query is deja's own.
pub(crate) fn check(url: &Url, allow_private: bool) -> Result<(), UrlError> {
    match url.scheme() {
        "https" => {}
        "http" if allow_private => {}
        "http" => return Err(UrlError::Https),
        _ => return Err(UrlError::Scheme),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlError::Credentials);
    }
    match url.host().ok_or(UrlError::Host)? {
        Host::Ipv4(address) => allowed(address.into(), allow_private),
        Host::Ipv6(address) => allowed(address.into(), allow_private),
        Host::Domain(name) => check_name(name, allow_private),
    }
}

fn check_name(name: &str, allow_private: bool) -> Result<(), UrlError> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if name.is_empty() {
        return Err(UrlError::Host);
    }
    if METADATA_NAMES.contains(&name.as_str()) {
        return Err(UrlError::Forbidden);
    }
    let top = name.rsplit('.').next().unwrap_or(&name);
    let local = matches!(top, "localhost" | "local");
    if local && !allow_private { Err(UrlError::Private) } else { Ok(()) }
}

/// Resolves names with another resolver and gives only the addresses that may be called.
#[derive(Clone, Copy, Debug)]
pub struct Resolver<R> {
    /// Whether private addresses may be called.
    pub allow_private: bool,
    /// The resolver that is asked.
    pub inner: R,
}

impl<R: Resolve> Resolve for Resolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        if check_name(name.as_str(), allow_private).is_err() {
            return Box::pin(async { Err(ForbiddenName.into()) });
        }
        let found = self.inner.resolve(name);
        Box::pin(async move {
            let addresses = filter(found.await?, allow_private)?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The system's resolver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The addresses that may be called; an error if there were some and none may.
fn filter(
    found: impl Iterator<Item = SocketAddr>,
    allow_private: bool,
) -> Result<Vec<SocketAddr>, ForbiddenName> {
    let (mut kept, mut refused) = (Vec::new(), false);
    for address in found {
        match allowed(address.ip(), allow_private) {
            Ok(()) => kept.push(address),
            Err(_) => refused = true,
        }
    }
    if kept.is_empty() && refused { Err(ForbiddenName) } else { Ok(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_callable_addresses_come_out_of_the_resolver() {
        let mixed: Vec<SocketAddr> =
            ["10.0.0.1:0", "93.184.216.34:0", "169.254.169.254:0"].map(|a| a.parse().unwrap()).to_vec();
        assert_eq!(filter(mixed.clone().into_iter(), false).unwrap(), [mixed[1]]);
        assert_eq!(filter(mixed.clone().into_iter(), true).unwrap(), [mixed[0], mixed[1]]);
        assert!(filter(std::iter::once(mixed[2]), true).is_err());
        assert!(filter(std::iter::once(mixed[0]), false).is_err());
        assert!(filter(std::iter::empty(), false).unwrap().is_empty());
    }

    #[tokio::test]
    async fn localhost_resolves_only_where_private_addresses_are_allowed() {
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(Resolver { allow_private: false, inner: System }.resolve(name()).await.is_err());
        assert!(
            Resolver { allow_private: true, inner: System }.resolve(name()).await.unwrap().next().is_some()
        );
        let metadata = "metadata.google.internal".parse::<Name>().unwrap();
        assert!(Resolver { allow_private: true, inner: System }.resolve(metadata).await.is_err());
    }
}
