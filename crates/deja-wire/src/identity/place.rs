//! What a member of a request is to its identity. Each wire has tables that say so; here they are applied.

use std::collections::BTreeSet;

use super::Options;
use super::document::{Kind, Sink, Value, put_list, put_object};
use super::reason::{self, UNEXPECTED_VALUE};

/// What a value is to the identity of its request.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Nothing.
    Ignored,
    /// A part of it.
    Kept,
    /// A part of it, and only the same request may be answered from the cache.
    Exact(&'static str),
    /// Not to be cached.
    Bypass(&'static str),
    /// An object: the table says what its members are.
    Object(Members),
    /// A list: the table says what its items are.
    List(Items),
    /// A part of it: a text that stands for a list of one part of this type.
    Part(&'static str),
    /// A part of it: a text that stands for a list of one turn of the user, with one part of this type.
    Turn(&'static str),
}

/// The table of an object: what the member of a name is.
pub(super) type Members = fn(&str, Value<'_>, &Options) -> Place;

/// The table of a list: what an item is.
pub(super) type Items = fn(Value<'_>, &Options) -> Place;

/// Why a request is not matched by meaning, or not cached.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) exact: BTreeSet<&'static str>,
    pub(super) bypass: BTreeSet<&'static str>,
}

impl Verdict {
    /// Takes up what a value is, and all that it holds.
    pub(super) fn take(&mut self, place: Place, value: Value<'_>, options: &Options) {
        match place {
            Place::Ignored | Place::Kept | Place::Part(_) | Place::Turn(_) => {}
            Place::Exact(reason) => {
                self.exact.insert(reason);
            }
            Place::Bypass(reason) => {
                self.bypass.insert(reason);
            }
            Place::Object(table) if value.kind() == Kind::Object => {
                for (name, member) in value.members() {
                    self.take(table(&name, member, options), member, options);
                }
            }
            Place::List(table) if value.kind() == Kind::List => {
                for item in value.items() {
                    self.take(table(item, options), item, options);
                }
            }
            Place::Object(_) | Place::List(_) => {
                self.exact.insert(UNEXPECTED_VALUE);
            }
        }
    }
}

/// Puts the canonical form of a value without what is ignored in it, and with `null` for the question.
pub(super) fn put(
    sink: &mut dyn Sink,
    place: Place,
    value: Value<'_>,
    question: Option<Value<'_>>,
    options: &Options,
) {
    let asked = question.is_some_and(|question| question.is(value));
    match place {
        Place::Turn(kind) => {
            sink.put(r#"[{"content":"#);
            put(sink, Place::Part(kind), value, question, options);
            sink.put(r#","role":"user"}]"#);
        }
        _ if asked => sink.put("null"),
        Place::Part(kind) => {
            sink.put(r#"[{"text":"#);
            value.put(sink);
            sink.put(r#","type":""#);
            sink.put(kind);
            sink.put(r#""}]"#);
        }
        Place::Object(table) if value.kind() == Kind::Object => {
            let members = value.sorted_members().into_iter();
            let kept =
                members.filter(|(name, member)| !matches!(table(name, *member, options), Place::Ignored));
            put_object(sink, kept, |sink, name, member| {
                put(sink, table(name, member, options), member, question, options);
            });
        }
        Place::List(table) if value.kind() == Kind::List => {
            put_list(sink, value.items(), |sink, item| {
                put(sink, table(item, options), item, question, options);
            });
        }
        _ => value.put(sink),
    }
}

/// A member that must be of some kind, or `null`, which providers take for a member that is not there.
pub(super) fn kept_if(right: bool, value: Value<'_>) -> Place {
    if right || value.is_null() { Place::Kept } else { Place::Exact(UNEXPECTED_VALUE) }
}

pub(super) fn number(value: Value<'_>) -> Place {
    kept_if(value.kind() == Kind::Number, value)
}

pub(super) fn text(value: Value<'_>) -> Place {
    kept_if(value.kind() == Kind::Text, value)
}

/// A list of texts.
pub(super) fn texts(value: Value<'_>) -> Place {
    kept_if(value.kind() == Kind::List && value.items().all(|item| item.kind() == Kind::Text), value)
}

/// A member that changes nothing, if it is of the right kind.
pub(super) fn ignored_if(right: bool) -> Place {
    if right { Place::Ignored } else { Place::Exact(UNEXPECTED_VALUE) }
}

/// A member with which only the same request may be answered from the cache.
pub(super) fn exact(value: Value<'_>, reason: &'static str) -> Place {
    if value.is_null() { Place::Kept } else { Place::Exact(reason) }
}

/// `true` or `false`, where it changes nothing which.
pub(super) fn ignored_flag(value: Value<'_>) -> Place {
    ignored_if(matches!(value.kind(), Kind::Flag | Kind::Null))
}

/// What is not cached where it is `true`.
pub(super) fn bypass_if_true(value: Value<'_>, reason: &'static str) -> Place {
    if value.scalar() == "true" { Place::Bypass(reason) } else { kept_if(value.scalar() == "false", value) }
}

/// What is not cached where it is there.
pub(super) fn bypass_if_given(value: Value<'_>, reason: &'static str) -> Place {
    if value.is_null() { Place::Kept } else { Place::Bypass(reason) }
}

/// How many answers are wanted: one is what comes without asking.
pub(super) fn answers(value: Value<'_>, reason: &'static str) -> Place {
    match value.scalar() {
        "1" => Place::Ignored,
        number if number.parse::<f64>().is_ok_and(|number| number > 1.0) => Place::Bypass(reason),
        _ => kept_if(false, value),
    }
}

/// An object whose members are as the table says, or `null`.
pub(super) fn object(value: Value<'_>, table: Members) -> Place {
    if value.is_null() { Place::Kept } else { Place::Object(table) }
}

/// An object whose members are as the table says, or `null`. It is ignored if all of its members are.
pub(super) fn object_if_any(value: Value<'_>, table: Members, options: &Options) -> Place {
    let ignored = |name: &str, member| matches!(table(name, member, options), Place::Ignored);
    if value.kind() == Kind::Object && value.members().all(|(name, member)| ignored(&name, member)) {
        return Place::Ignored;
    }
    object(value, table)
}

/// A list whose items are as the table says, or `null`. An empty one has a place of its own.
pub(super) fn list(value: Value<'_>, table: Items, empty: Place) -> Place {
    match value.kind() {
        Kind::Null => Place::Kept,
        Kind::List if value.items().next().is_none() => empty,
        _ => Place::List(table),
    }
}

/// A turn's content: a text, or parts.
pub(super) fn content(value: Value<'_>, kind: &'static str, part: Items) -> Place {
    if value.kind() == Kind::Text { Place::Part(kind) } else { list(value, part, Place::Kept) }
}

/// Who the answer is for.
pub(super) fn end_user(value: Value<'_>, options: &Options) -> Place {
    match text(value) {
        Place::Kept if options.share_end_users => Place::Ignored,
        place => place,
    }
}

/// JSON mode and schemas.
pub(super) fn json(value: Value<'_>, options: &Options) -> Place {
    if options.semantic_json { Place::Kept } else { exact(value, reason::JSON) }
}

/// Tools that the application runs, and how they are chosen.
pub(super) fn tools(value: Value<'_>, options: &Options) -> Place {
    if options.semantic_tools { Place::Kept } else { exact(value, reason::TOOLS) }
}
