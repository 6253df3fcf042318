//! Reproducible randomness. Tests print the seed when they fail.

use deja_core::random::split_mix;
use serde_json::Value;

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator that starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Changes or removes a value somewhere in `value`, or adds one there. A new value is one of `any`, and a new member has one of
    /// `names`.
    pub fn change(&mut self, value: &mut Value, names: &[&str], any: fn(&mut Self) -> Value) {
        let descends = !self.one_in(4);
        match value {
            Value::Object(members) if !members.is_empty() && descends => {
                let name = members.keys().nth(self.below(members.len())).cloned().unwrap_or_default();
                if self.one_in(6) {
                    members.remove(&name);
                } else {
                    self.change(&mut members[&name], names, any);
                }
            }
            Value::Array(items) if !items.is_empty() && descends => {
                let at = self.below(items.len());
                if self.one_in(6) {
                    items.remove(at);
                } else {
                    self.change(&mut items[at], names, any);
                }
            }
            Value::Object(members) => drop(members.insert(self.pick(names).to_owned(), any(self))),
            Value::Array(items) => items.push(any(self)),
            value => *value = any(self),
        }
    }

    /// Changes, removes, adds, cuts off or repeats bytes of a JSON text, so many times.
    pub fn damage(&mut self, bytes: &mut Vec<u8>, times: usize) {
        for _ in 0..times {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] = self.bits() as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, self.pick(b"{}[]\",:\\0.e-\x00\xff")),
                3 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..),
            }
        }
    }
}
