//! URLs that lead inside, in every form that an HTTP client reads, and names that change their mind: neither gets past the
//! guard.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use deja_providers::check_url;
use deja_providers::ssrf::Resolver;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::trial::{Goals, Rounds, Trial};
use crate::util::Random;
use crate::worlds::in_runtime;

pub const TRIAL: Trial = Trial {
    name: "ssrf",
    counts: "rebindings",
    goals: Goals { few: 500, short: 10_000, long: 100_000 },
    play,
};

/// Answers of a resolver in a round.
const REBINDINGS: usize = 100;
/// Addresses in a round, each in all its forms.
const ADDRESSES: usize = 20;

fn play(rounds: &mut Rounds<'_>) {
    while let Some(seed) = rounds.next() {
        let mut random = Random::new(seed);
        let mut forms = 0;
        for _ in 0..ADDRESSES {
            let (address, never) = inside(&mut random);
            for url in urls(&same(address, &mut random), &mut random) {
                assert!(check_url(&url, false).is_err(), "{url} leads to {address}, and is taken");
                // Where private ones are allowed, those that are never called stay out.
                let taken = check_url(&url, true).is_ok();
                assert!(!never || !taken, "{url} leads to {address}, and is taken with private ones");
                forms += 1;
            }
            for url in urls(&beside(address, &mut random), &mut random) {
                assert!(check_url(&url, false).is_err(), "{url} is taken");
                forms += 1;
            }
        }
        rebind(&mut random);
        rounds.saw("forms of URLs", forms);
        rounds.done(REBINDINGS as u64);
    }
}

/// An address that is not called for a user, by the blocks of IANA's registry, and whether it is never called at all.
fn inside(random: &mut Random) -> (Ipv4Addr, bool) {
    let [b, c, d] = [(); 3].map(|()| random.bits() as u8);
    match random.below(14) {
        0 | 1 => (Ipv4Addr::new(127, b, c, d), false),
        2 => (Ipv4Addr::LOCALHOST, false),
        3 => (Ipv4Addr::new(10, b, c, d), false),
        4 => (Ipv4Addr::new(172, 16 + b % 16, c, d), false),
        5 => (Ipv4Addr::new(192, 168, c, d), false),
        6 => (Ipv4Addr::new(169, 254, c, d), true),
        7 => (Ipv4Addr::new(169, 254, 169, 254), true),
        8 => (Ipv4Addr::new(100, 64 + b % 64, c, d), false),
        9 => (Ipv4Addr::new(100, 100, 100, 200), true),
        10 => (Ipv4Addr::new(224 + b % 32, b, c, d), true),
        11 => (Ipv4Addr::new(198, 18 + b % 2, c, d), false),
        12 => (Ipv4Addr::new(168, 63, 129, 16), true),
        _ => (Ipv4Addr::new(0, 1 + b % 255, c, d), true),
    }
}

/// A number of an address as a URL may have it.
fn number(value: u32, random: &mut Random) -> String {
    let zeros = "0".repeat(random.below(4));
    match random.below(4) {
        0 => format!("0x{zeros}{value:x}"),
        1 => format!("0X{value:X}"),
        2 => format!("0{zeros}{value:o}"),
        _ => value.to_string(),
    }
}

/// The same digits in another alphabet, or percent-encoded: clients read them as digits.
fn disguised(text: &str, random: &mut Random) -> String {
    let kind = random.below(3);
    let digit = |digit: char| {
        let value = digit.to_digit(10)?;
        let wide = if kind == 0 { 0xff10 } else { 0x1d7d8 };
        char::from_u32(wide + value).map(String::from)
    };
    let disguise = |letter: char| match letter {
        '.' if kind == 0 => "\u{3002}".to_owned(),
        letter if kind == 2 && letter != '.' => format!("%{:02x}", letter as u32),
        letter => digit(letter).unwrap_or_else(|| letter.to_string()),
    };
    text.chars().map(disguise).collect()
}

/// The halves of an IPv4 address, as IPv6 addresses have them.
fn halves(address: Ipv4Addr) -> [u16; 2] {
    let [a, b, c, d] = address.octets();
    [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
}

/// Hosts that are all the same address.
fn same(address: Ipv4Addr, random: &mut Random) -> Vec<String> {
    let whole = u32::from(address);
    let [a, b, c, d] = address.octets().map(u32::from);
    let parts = |numbers: &[u32], random: &mut Random| {
        let numbers: Vec<String> = numbers.iter().map(|value| number(*value, random)).collect();
        numbers.join(".")
    };
    let mut hosts = vec![
        address.to_string(),
        parts(&[a, b, c, d], random),
        parts(&[a, b, whole & 0xffff], random),
        parts(&[a, whole & 0xff_ffff], random),
        number(whole, random),
        disguised(&address.to_string(), random),
        disguised(&whole.to_string(), random),
    ];
    let dotted: Vec<String> = hosts.iter().map(|host| format!("{host}.")).collect();
    hosts.extend(dotted);
    let [x, y] = halves(address);
    hosts.extend(bracketed(&[
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, x, y),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, x, y),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, x, y),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, x, y),
        Ipv6Addr::new(0x2002, x, y, random.bits() as u16, 0, 0, 0, 1),
    ]));
    hosts.push(format!("[::ffff:{address}]"));
    hosts.push(format!("[64:ff9b::{address}]"));
    hosts
}

/// Hosts that lead inside too.
fn beside(address: Ipv4Addr, random: &mut Random) -> Vec<String> {
    let ([x, y], some) = (halves(address), random.bits() as u16);
    let mut hosts = bracketed(&[
        Ipv6Addr::LOCALHOST,
        Ipv6Addr::UNSPECIFIED,
        Ipv6Addr::new(0x64, 0xff9b, 1, some, 0, 0, x, y),
        Ipv6Addr::new(0x2001, 0, some, some, 0, 0, !x, !y),
        Ipv6Addr::new(0xfe80 | (some & 0x3f), 0, 0, 0, x, y, 0, 1),
        Ipv6Addr::new(0xfc00 | (some & 0x1ff), x, y, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0xff00 | (some & 0xff), 0, 0, 0, 0, 0, x, y),
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    ]);
    let names =
        ["localhost", "LocalHost", "a.b.localhost", "printer.local", "localhost.", "\u{ff4c}ocalhost"];
    hosts.extend([random.pick(&names), "metadata.google.internal", "metadata"].map(String::from));
    // What looks like another host in front of it.
    let decoy = random.pick(&["api.example.com", "8.8.8.8", "api.example.com%40"]);
    hosts.push(format!("{decoy}@{address}"));
    hosts.push(format!("{decoy}:x@{address}"));
    hosts.push(format!("{address}\\@{decoy}"));
    hosts
}

/// IPv6 addresses, short and in full.
fn bracketed(addresses: &[Ipv6Addr]) -> Vec<String> {
    let both = |address: &Ipv6Addr| {
        let segments = address.segments().map(|segment| format!("{segment:04X}"));
        [format!("[{address}]"), format!("[{}]", segments.join(":"))]
    };
    addresses.iter().flat_map(both).collect()
}

fn urls(hosts: &[String], random: &mut Random) -> Vec<String> {
    let url = |host: &String| {
        let scheme = random.pick(&["https://", "HTTPS://", "https:\\\\", "https:/", "https:"]);
        let port = random.pick(&["", ":443", ":8443", ":80", ":00443"]);
        let path = random.pick(&["", "/", "/v1", "\\v1", "/../v1", "/@api.example.com"]);
        format!("{scheme}{host}{port}{path}")
    };
    hosts.iter().map(url).collect()
}

/// A resolver that says something else each time.
#[derive(Clone, Default)]
struct Fickle(Arc<Mutex<VecDeque<Vec<SocketAddr>>>>);

impl Resolve for Fickle {
    fn resolve(&self, _name: Name) -> Resolving {
        let next = self.0.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move { Ok(Box::new(next.into_iter()) as Addrs) })
    }
}

/// One name, whose addresses are public now and inside the next time: none of the latter comes out of the guard.
fn rebind(random: &mut Random) {
    let public = |random: &mut Random| -> IpAddr {
        let [b, c, d] = [(); 3].map(|()| random.bits() as u8);
        if random.one_in(2) {
            Ipv4Addr::new(random.pick(&[1, 8, 93, 151]), b, c, d).into()
        } else {
            Ipv6Addr::new(0x2606, 0x4700, u16::from(b), 0, 0, 0, u16::from(c), u16::from(d)).into()
        }
    };
    let fickle = Fickle::default();
    let guard = Resolver { allow_private: false, inner: fickle.clone() };
    for turn in 0..REBINDINGS {
        let answer: Vec<(IpAddr, bool)> = (0..=random.below(4))
            .map(|_| {
                let wanted = turn % 2 == 0 && random.one_in(2);
                let (address, _) = inside(random);
                let within = if random.one_in(2) { address.into() } else { address.to_ipv6_mapped().into() };
                if wanted { (public(random), true) } else { (within, false) }
            })
            .collect();
        let told = answer.iter().map(|(address, _)| SocketAddr::new(*address, 0)).collect();
        fickle.0.lock().unwrap().push_back(told);
        let name = "api.example.com".parse::<Name>().unwrap();
        let kept: Vec<IpAddr> = match in_runtime(guard.resolve(name)) {
            Ok(kept) => kept.map(|address| address.ip()).collect(),
            Err(_) => Vec::new(),
        };
        let wanted: Vec<IpAddr> =
            answer.iter().filter(|(_, public)| *public).map(|(address, _)| *address).collect();
        assert_eq!(kept, wanted, "of {answer:?}");
    }
}
