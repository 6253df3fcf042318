//! Slows guessing of passwords down: after a few failures of one account from one address, or of one address on any
//! accounts, sign-in is refused for a while. By account *and* address, so that nobody can lock somebody else out.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use deja_core::clock::Timestamp;
use parking_lot::Mutex;

/// Failures of one account from one address before sign-in waits.
const PER_ACCOUNT: u32 = 5;
/// Failures of one address on any accounts.
const PER_ADDRESS: u32 = 30;
/// Wrong codes of one account, from wherever. Six digits can be guessed from many addresses, and who gets to guess has the
/// password: nobody else can lock the account's owner out.
const PER_CODE: u32 = 10;
/// How long failures count, from the first one on.
const WINDOW: Duration = Duration::from_mins(15);
/// How much the times of attempts that come at once may be out of order.
const UNORDERED: Duration = Duration::from_secs(1);
/// What is remembered at most; beyond it half goes: those who may still try, then the oldest.
const REMEMBERED: usize = 20_000;

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    since: Timestamp,
}

impl Failures {
    /// How long they still count. If the clock was set back, nobody knows how long ago they were: they are over.
    fn left(self, now: Timestamp) -> Duration {
        let was_set_back = self.since.since(now) > UNORDERED;
        if was_set_back { Duration::ZERO } else { self.since.plus(WINDOW).since(now) }
    }

    fn are_recent(self, now: Timestamp) -> bool {
        !self.left(now).is_zero()
    }
}

/// Who fails: a place with an account (its text as typed, lower case), or a place alone.
type Who = (IpAddr, Option<String>);

/// Remembers failures to sign in.
#[derive(Default)]
pub(crate) struct Throttle {
    failures: Mutex<HashMap<Who, Failures>>,
    /// Wrong codes by account. Apart, so that no flood of passwords makes them forgotten; only who has the password of an
    /// account gets one of these.
    codes: Mutex<HashMap<String, Failures>>,
}

impl Throttle {
    /// Counts an attempt; or says how long sign-in has to wait. Counted before the password is looked at, so that many
    /// guesses at once are no more than one after the other.
    pub(super) fn attempt(&self, account: &str, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let mut failures = self.failures.lock();
        if failures.len() >= REMEMBERED {
            forget(&mut failures, now);
        }
        count_all(&mut failures, &keys(account, address), now)
    }

    /// Counts an attempt with a code of the account's second factor; or says how long it has to wait.
    pub(super) fn attempt_code(&self, account: &str, now: Timestamp) -> Result<(), Duration> {
        let mut codes = self.codes.lock();
        codes.retain(|_, failed| failed.are_recent(now));
        count_all(&mut codes, &[(normal(account), PER_CODE)], now)
    }

    /// Whether anything from this address is looked at, whatever the account; or how long it has to wait.
    pub(crate) fn is_open(&self, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let failures = self.failures.lock();
        let who = (place(address), None);
        let most = most(&who);
        open(&failures, &[(who, most)], now)
    }

    /// Counts a failure of an address, after the fact: what is so long that guessing leads nowhere need not be counted before
    /// it is looked at.
    pub(crate) fn failed(&self, address: IpAddr, now: Timestamp) {
        let mut failures = self.failures.lock();
        if failures.len() >= REMEMBERED {
            forget(&mut failures, now);
        }
        count(&mut failures, (place(address), None), now);
    }

    /// Forgets the wrong codes of an account: the right one came.
    pub(super) fn code_succeeded(&self, account: &str) {
        self.codes.lock().remove(&normal(account));
    }

    /// Takes the attempt back, and the account's failures from this address: its password was right.
    pub(super) fn succeeded(&self, account: &str, address: IpAddr) {
        let mut failures = self.failures.lock();
        let place = place(address);
        failures.remove(&(place, Some(normal(account))));
        if let Some(failed) = failures.get_mut(&(place, None)) {
            failed.count = failed.count.saturating_sub(1);
        }
    }
}

/// Counts one more of each of these; or says how long they have to wait.
fn count_all<K: Clone + Eq + Hash>(
    failures: &mut HashMap<K, Failures>,
    keys: &[(K, u32)],
    now: Timestamp,
) -> Result<(), Duration> {
    open(failures, keys, now)?;
    for (who, _) in keys {
        count(failures, who.clone(), now);
    }
    Ok(())
}

/// Whether none of these has failed too often; or how many whole seconds they have to wait.
fn open<K: Eq + Hash>(
    failures: &HashMap<K, Failures>,
    keys: &[(K, u32)],
    now: Timestamp,
) -> Result<(), Duration> {
    let closed = keys.iter().filter_map(|(who, most)| failures.get(who).filter(|f| f.count >= *most));
    let wait = closed.map(|failed| failed.left(now)).max().unwrap_or_default();
    // Rounded up: who comes a moment too early is refused again.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    if wait.is_zero() { Ok(()) } else { Err(Duration::from_secs(seconds)) }
}

fn count<K: Eq + Hash>(failures: &mut HashMap<K, Failures>, who: K, now: Timestamp) {
    let failed = failures.entry(who).or_insert(Failures { count: 0, since: now });
    if !failed.are_recent(now) {
        *failed = Failures { count: 0, since: now };
    }
    failed.count += 1;
}

fn keys(account: &str, address: IpAddr) -> [(Who, u32); 2] {
    let place = place(address);
    [(place, Some(normal(account))), (place, None)].map(|who| {
        let most = most(&who);
        (who, most)
    })
}

/// Failures before sign-in waits.
fn most((_, account): &Who) -> u32 {
    if account.is_some() { PER_ACCOUNT } else { PER_ADDRESS }
}

/// What one subscriber has: an IPv4 address, or the 64 first bits of an IPv6 address (RFC 6177 and RFC 7421), below
/// which anybody picks addresses at will.
fn place(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
    }
}

/// Bounded, because it is kept.
fn normal(account: &str) -> String {
    account.trim().chars().take(254).flat_map(char::to_lowercase).collect()
}

fn forget(failures: &mut HashMap<Who, Failures>, now: Timestamp) {
    failures.retain(|_, failed| failed.are_recent(now));
    if failures.len() >= REMEMBERED {
        // Whom a flood makes forgotten, may try anew: so first those who may try anyway.
        let rank = |who: &Who, failed: &Failures| (failed.count >= most(who), failed.since);
        let mut ranks: Vec<_> = failures.iter().map(|(who, failed)| rank(who, failed)).collect();
        let half = ranks.len() / 2;
        let (_, middle, _) = ranks.select_nth_unstable(half);
        let middle = *middle;
        failures.retain(|who, failed| rank(who, failed) > middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_785_500_000 + seconds)
    }

    #[test]
    fn five_failures_close_one_account_from_one_address_for_a_while() {
        let throttle = Throttle::default();
        for second in 0..5 {
            assert_eq!(throttle.attempt("ada@example.com", HERE, at(second)), Ok(()));
        }
        assert_eq!(throttle.attempt(" Ada@Example.com", HERE, at(5)), Err(Duration::from_secs(895)));
        let later = at(5).plus(Duration::from_millis(1));
        assert_eq!(throttle.attempt("ada@example.com", HERE, later), Err(Duration::from_secs(895)));
        assert_eq!(throttle.attempt("ada@example.com", THERE, at(5)), Ok(()));
        assert_eq!(throttle.attempt("bob@example.com", HERE, at(5)), Ok(()));
        assert_eq!(throttle.attempt("ada@example.com", HERE, at(900)), Ok(()));
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_nobody_out() {
        let throttle = Throttle::default();
        let year = 365 * 24 * 3600;
        for _ in 0..PER_ADDRESS {
            throttle.failed(HERE, at(year));
        }
        for _ in 0..PER_CODE {
            assert_eq!(throttle.attempt_code("ada@example.com", at(year)), Ok(()));
        }
        for _ in 0..PER_ACCOUNT {
            assert_eq!(throttle.attempt("ada@example.com", THERE, at(year)), Ok(()));
        }
        // Attempts at once are no clock that was set back.
        let before = at(year).minus(Duration::from_millis(1));
        assert_eq!(throttle.attempt("ada@example.com", THERE, before), Err(Duration::from_secs(901)));
        assert_eq!(throttle.is_open(HERE, at(0)), Ok(()));
        assert_eq!(throttle.attempt_code("ada@example.com", at(0)), Ok(()));
        // Failures count from then on.
        for _ in 0..PER_ACCOUNT {
            assert_eq!(throttle.attempt("ada@example.com", THERE, at(0)), Ok(()));
        }
        assert_eq!(throttle.attempt("ada@example.com", THERE, at(1)), Err(Duration::from_secs(899)));
    }

    #[test]
    fn many_accounts_from_one_address_close_the_address() {
        let throttle = Throttle::default();
        for n in 0..30 {
            assert_eq!(throttle.attempt(&format!("user{n}@example.com"), HERE, at(0)), Ok(()));
        }
        assert!(throttle.attempt("somebody@example.com", HERE, at(1)).is_err());
        assert_eq!(throttle.attempt("somebody@example.com", THERE, at(1)), Ok(()));
    }

    #[test]
    fn ten_wrong_codes_close_the_second_step_of_an_account() {
        let throttle = Throttle::default();
        for _ in 0..10 {
            assert_eq!(throttle.attempt_code("ada@example.com", at(0)), Ok(()));
        }
        assert_eq!(throttle.attempt_code("Ada@example.com", at(1)), Err(Duration::from_secs(899)));
        assert_eq!(throttle.attempt_code("bob@example.com", at(1)), Ok(()));
        assert_eq!(throttle.attempt("ada@example.com", HERE, at(1)), Ok(()), "passwords are counted apart");
        throttle.code_succeeded("ada@example.com");
        assert_eq!(throttle.attempt_code("ada@example.com", at(2)), Ok(()));
    }

    #[test]
    fn failures_after_the_fact_close_the_address_for_a_while() {
        let throttle = Throttle::default();
        for _ in 0..30 {
            assert_eq!(throttle.is_open(HERE, at(0)), Ok(()));
            throttle.failed(HERE, at(0));
        }
        assert_eq!(throttle.is_open(HERE, at(1)), Err(Duration::from_secs(899)));
        assert_eq!(throttle.is_open(THERE, at(1)), Ok(()));
        assert_eq!(throttle.is_open(HERE, at(900)), Ok(()));
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_are_one() {
        let throttle = Throttle::default();
        for n in 0..5 {
            let address = format!("2001:db8:0:7:{n:x}:{n:x}::{n:x}").parse().unwrap();
            assert_eq!(throttle.attempt("ada@example.com", address, at(0)), Ok(()));
        }
        let [same, other]: [IpAddr; 2] =
            ["2001:db8:0:7:ffff::1", "2001:db8:0:8::1"].map(|a| a.parse().unwrap());
        assert!(throttle.attempt("ada@example.com", same, at(0)).is_err());
        assert_eq!(throttle.attempt("ada@example.com", other, at(0)), Ok(()));
        throttle.succeeded("ada@example.com", same);
        assert_eq!(throttle.attempt("ada@example.com", same, at(0)), Ok(()));
    }

    #[test]
    fn success_forgets_and_memory_is_bounded() {
        let throttle = Throttle::default();
        for _ in 0..100 {
            for _ in 0..5 {
                assert_eq!(throttle.attempt("ada@example.com", HERE, at(0)), Ok(()));
            }
            throttle.succeeded("ADA@example.com", HERE);
            for _ in 0..4 {
                throttle.succeeded("ADA@example.com", HERE);
            }
        }
        for n in 0..(REMEMBERED as u32 + 10) {
            let _counted = throttle.attempt("x", IpAddr::V4((n + 1).into()), at(i64::from(n / 100)));
        }
        assert!(throttle.failures.lock().len() <= REMEMBERED + 1);
    }

    /// As [`Throttle::failed`], for addresses of their own.
    fn flood(throttle: &Throttle, addresses: std::ops::Range<u32>, second: i64) {
        for n in addresses {
            throttle.failed(IpAddr::V4((n + 1).into()), at(second));
        }
    }

    #[test]
    fn a_flood_makes_what_is_over_forgotten_and_nothing_else() {
        let throttle = Throttle::default();
        flood(&throttle, 0..10_000, 0);
        for _ in 0..PER_ADDRESS {
            throttle.failed(HERE, at(100));
        }
        flood(&throttle, 10_000..REMEMBERED as u32 - 1, 100);
        assert_eq!(throttle.failures.lock().len(), REMEMBERED);
        throttle.failed(THERE, at(900));
        assert_eq!(throttle.failures.lock().len(), REMEMBERED - 10_000 + 1);
        assert_eq!(throttle.is_open(HERE, at(900)), Err(Duration::from_secs(100)));
    }

    /// Whoever makes it can invent as many accounts and addresses as they like.
    #[test]
    fn no_flood_of_passwords_opens_the_second_step_or_a_closed_account() {
        let throttle = Throttle::default();
        for _ in 0..PER_CODE {
            assert_eq!(throttle.attempt_code("ada@example.com", at(0)), Ok(()));
        }
        for _ in 0..PER_ACCOUNT {
            assert_eq!(throttle.attempt("ada@example.com", HERE, at(0)), Ok(()));
        }
        flood(&throttle, 0..3 * REMEMBERED as u32, 1);
        assert_eq!(throttle.attempt_code("ada@example.com", at(2)), Err(Duration::from_secs(898)));
        assert_eq!(throttle.attempt("ada@example.com", HERE, at(2)), Err(Duration::from_secs(898)));
    }

    #[test]
    fn a_flood_makes_the_oldest_half_forgotten() {
        let throttle = Throttle::default();
        flood(&throttle, 0..5000, 0);
        flood(&throttle, 5000..10_001, 1);
        flood(&throttle, 10_001..REMEMBERED as u32 - 1, 2);
        for _ in 0..PER_ADDRESS {
            throttle.failed(HERE, at(2));
        }
        throttle.failed(THERE, at(3));
        assert_eq!(throttle.failures.lock().len(), REMEMBERED / 2);
        assert_eq!(throttle.is_open(HERE, at(3)), Err(Duration::from_secs(899)));
    }
}
