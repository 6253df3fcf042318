//! Addresses that are never called, and those that are called only where the operator allows it.

use deja_core::provider::{FailureClass, ProviderConfig, ProviderKind};
use deja_providers::ssrf::{Reach, reach};
use deja_providers::{BuiltIn, Registry, UrlError, check_url};
use secrecy::SecretString;

use crate::server::{Server, chat, config, prices, settings};

#[test]
fn addresses() {
    for (kind, addresses) in [
        (
            Reach::Public,
            "93.184.216.34 8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 192.167.255.255 \
             169.253.255.255 11.0.0.1 126.255.255.255 128.0.0.1 223.255.255.255 198.17.0.1 198.20.0.1 \
             2606:4700:4700::1111 2a00:1450::1 2620:fe::fe ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1",
        ),
        (
            Reach::Private,
            "127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 \
             100.127.255.255 198.18.0.1 198.19.255.255 ::1 fc00::1 fd12:3456::1 fec0::1 ::ffff:127.0.0.1 \
             ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 2002:7f00:1:: 2002:a00:1::1 ::ffff:0:10.0.0.1",
        ),
        (
            Reach::Never,
            "0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 \
             192.0.2.1 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: fe80::1 \
             febf::1 ff02::1 fd00:ec2::254 fd20:ce::254 2001:db8::1 2001::1 100::1 ::ffff:169.254.169.254 \
             64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: ::169.254.169.254 64:ff9b:1::a00:1 4000::1 ::ffff:0.0.0.0 ::ffff:100.100.100.200 2002:6464:64c8::1 \
             64:ff9b::a83f:8110",
        ),
    ] {
        for address in addresses.split_whitespace() {
            assert_eq!(reach(address.parse().unwrap()), kind, "{address}");
        }
    }
}

#[test]
fn urls() {
    use UrlError::{Credentials, Forbidden, Https, Private, QueryOrFragment, Scheme};
    // (URL, what is wrong without private addresses, what is wrong with them)
    let table = [
        ("https://api.example.com/v1", None, None),
        ("https://api.example.com:8443", None, None),
        ("https://8.8.8.8/v1", None, None),
        ("https://[2606:4700:4700::1111]/v1", None, None),
        ("http://api.example.com/v1", Some(Https), None),
        ("https://localhost/v1", Some(Private), None),
        ("https://LOCALHOST./v1", Some(Private), None),
        ("https://a.localhost/v1", Some(Private), None),
        ("https://printer.local/v1", Some(Private), None),
        ("https://127.0.0.1/v1", Some(Private), None),
        ("https://127.1/v1", Some(Private), None),
        ("https://2130706433/v1", Some(Private), None),
        ("https://0x7f.0.0.1/v1", Some(Private), None),
        ("https://0177.0.0.1/v1", Some(Private), None),
        ("https://①②⑦.0.0.1/v1", Some(Private), None),
        ("https://127.0.0.1./v1", Some(Private), None),
        ("https://[::1]/v1", Some(Private), None),
        ("https://[::ffff:10.0.0.1]/v1", Some(Private), None),
        ("https://10.1.2.3/v1", Some(Private), None),
        ("http://192.168.0.10:11434/v1", Some(Https), None),
        ("https://169.254.169.254/latest", Some(Forbidden), Some(Forbidden)),
        ("https://2852039166/latest", Some(Forbidden), Some(Forbidden)),
        ("https://[::ffff:169.254.169.254]/", Some(Forbidden), Some(Forbidden)),
        ("https://[fd00:ec2::254]/", Some(Forbidden), Some(Forbidden)),
        ("https://[fe80::1]/", Some(Forbidden), Some(Forbidden)),
        ("https://metadata.google.internal/", Some(Forbidden), Some(Forbidden)),
        ("https://Metadata.Google.Internal./", Some(Forbidden), Some(Forbidden)),
        ("https://0/", Some(Forbidden), Some(Forbidden)),
        ("https://user@example.com/", Some(Credentials), Some(Credentials)),
        ("https://u:p@example.com/", Some(Credentials), Some(Credentials)),
        ("https://example.com/?a=b", Some(QueryOrFragment), Some(QueryOrFragment)),
        ("https://example.com/#x", Some(QueryOrFragment), Some(QueryOrFragment)),
        ("ftp://example.com/", Some(Scheme), Some(Scheme)),
        ("file:///etc/passwd", Some(Scheme), Some(Scheme)),
        ("gopher://127.0.0.1:70/", Some(Scheme), Some(Scheme)),
    ];
    for (url, public, private) in table {
        assert_eq!(check_url(url, false).err(), public, "{url}");
        assert_eq!(check_url(url, true).err(), private, "{url}");
    }
    for url in [
        "", "example.com", "https://", "https:// a", "https://a\n.com", "https://e.com/a b",
        "https://e.com/\u{1}", "https://1.2.3.4.5/", "//x",
    ] {
        assert!(check_url(url, true).is_err(), "{url:?}");
    }
    let long = |length: usize| format!("https://e.com/{}", "a".repeat(length - "https://e.com/".len()));
    assert_eq!([2048, 2049, 3000].map(|length| check_url(&long(length), true).is_ok()), [true, false, false]);
}

#[tokio::test]
async fn a_guarded_provider_calls_no_private_address() {
    let server = Server::always(chat("x"));
    let registry = Registry::new(BuiltIn::default(), settings(), prices()).unwrap();
    let port = server.url.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "[::1]", "2130706433", "169.254.169.254"] {
        for kind in ProviderKind::ALL {
            let config = ProviderConfig { kind, ..config(&format!("https://{host}:{port}"), false) };
            let provider = registry.custom(&config, Some(SecretString::from("k-secret")));
            let error = provider.complete("m", None, "Hi").await.unwrap_err();
            let got = (error.class, error.provider.as_str());
            assert_eq!(got, (FailureClass::Forbidden, "acme"), "{host} {kind}: {error}");
        }
    }
    assert!(server.requests().is_empty());
    let provider = registry.custom(&config(&server.url, true), None);
    assert_eq!(provider.complete("m", None, "Hi").await.unwrap().text, "x");
}

#[tokio::test]
async fn metadata_is_refused_even_where_private_addresses_are_allowed() {
    let registry = Registry::new(BuiltIn::default(), settings(), prices()).unwrap();
    for url in
        ["http://169.254.169.254/v1", "http://[fd00:ec2::254]/v1", "http://metadata.google.internal/v1"]
    {
        let error = registry.custom(&config(url, true), None).complete("m", None, "Hi").await.unwrap_err();
        assert_eq!(error.class, FailureClass::Forbidden, "{url}");
    }
}
