//! A URL that somebody typed. What is taken leads to no address inside, however it is written.
#![no_main]

use deja_providers::check_url;
use deja_providers::ssrf::{Reach, reach};
use libfuzzer_sys::fuzz_target;
use url::Host;

fuzz_target!(|text: &str| {
    for allow_private in [false, true] {
        let Ok(url) = check_url(text, allow_private) else { continue };
        let address = match url.host().expect("one that is taken has a host") {
            Host::Ipv4(address) => address.into(),
            Host::Ipv6(address) => address.into(),
            Host::Domain(_) => continue,
        };
        let reach = reach(address);
        assert!(reach == Reach::Public || (allow_private && reach == Reach::Private), "{url}");
    }
});
