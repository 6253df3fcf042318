//! The turns of a request: whether they are one question with at most instructions, and what is asked.

use std::borrow::Cow;
use std::collections::VecDeque;

use sha2::{Digest, Sha256};

use super::Options;
use super::document::{Kind, Value};
use super::gemini::member;
use super::place::Members;
use super::reason::{MULTI_TURN, NO_QUESTION, TOO_LONG};

/// So many turns are shown to people at most.
const SHOWN: usize = 200;
/// Members of a turn without a content that say what a tool was asked, and what it gave.
const OF_TOOLS: [&str; 4] = ["arguments", "input", "name", "output"];

/// Where a wire has what.
pub(super) struct Layout {
    /// What the members of a request are.
    pub(super) members: Members,
    /// The member with the instructions.
    pub(super) instructions: Option<&'static str>,
    /// The member with the turns.
    pub(super) turns: &'static str,
    /// The member of a turn with its text or its parts.
    pub(super) content: &'static str,
    /// The type of a part with text, if parts have types.
    pub(super) part: Option<&'static str>,
    /// Whose turns at the beginning are instructions.
    pub(super) leading: &'static [&'static str],
    /// Whose turns are talk.
    pub(super) speakers: &'static [&'static str],
    /// Whether a turn without a role is the user's.
    pub(super) silent_user: bool,
}

/// What is said to whom.
pub(super) struct Turns<'a> {
    layout: &'static Layout,
    instructions: Vec<Value<'a>>,
    /// The turns after the instructions, the newest last: as many as are shown.
    recent: VecDeque<Turn<'a>>,
    /// How many turns there are after the instructions.
    count: usize,
    /// Whether all turns are talk.
    talk: bool,
}

struct Turn<'a> {
    item: Value<'a>,
    role: Cow<'a, str>,
    /// A text or a list of parts.
    content: Option<Value<'a>>,
}

/// One question.
pub(super) struct Question<'a> {
    /// Where it is.
    pub(super) at: Value<'a>,
    /// Its text, parts joined by a line feed.
    pub(super) text: String,
    /// SHA-256 of its text; where it has more parts than one, of the parts, each with its length in front.
    pub(super) hash: [u8; 32],
}

impl<'a> Turns<'a> {
    pub(super) fn read(layout: &'static Layout, body: Value<'a>) -> Self {
        let mut turns =
            Self { layout, instructions: Vec::new(), recent: VecDeque::new(), count: 0, talk: true };
        let instructions = layout.instructions.and_then(|wanted| member(body, wanted));
        let instructions = instructions.filter(|value| !value.is_null());
        turns.instructions.extend(instructions.map(|value| value.get(layout.content).unwrap_or(value)));
        let Some(list) = body.get(layout.turns) else { return turns };
        if list.kind() == Kind::Text {
            turns.push(Turn { item: list, role: "user".into(), content: Some(list) });
        }
        for item in list.items() {
            let role = match item.get("role").or_else(|| item.get("type")) {
                Some(role) => role.text().unwrap_or_default(),
                None if layout.silent_user => "user".into(),
                None => Cow::default(),
            };
            let content = item.get(layout.content);
            match content {
                Some(content) if turns.count == 0 && layout.leading.contains(&&*role) => {
                    turns.instructions.push(content);
                }
                _ => turns.push(Turn { item, role, content }),
            }
        }
        turns
    }

    fn push(&mut self, turn: Turn<'a>) {
        self.count += 1;
        self.talk &= self.layout.speakers.contains(&&*turn.role);
        if self.recent.len() == SHOWN {
            self.recent.pop_front();
        }
        self.recent.push_back(turn);
    }

    /// The question, if they are one question with at most instructions; or why they are not.
    pub(super) fn question(&self, options: &Options) -> Result<Question<'a>, &'static str> {
        let last = self.recent.back().ok_or(NO_QUESTION)?;
        if self.count > 1 && !(options.semantic_history && self.talk) {
            return Err(MULTI_TURN);
        }
        let at = last.content.filter(|_| last.role == "user").ok_or(NO_QUESTION)?;
        let parts = self.texts(at).ok_or(NO_QUESTION)?;
        if parts.iter().map(|part| part.len() + 1).sum::<usize>() > options.max_text_bytes + 1 {
            return Err(TOO_LONG);
        }
        let text = parts.join("\n");
        if text.trim().is_empty() {
            return Err(NO_QUESTION);
        }
        let hash = match &*parts {
            [_] => Sha256::digest(&text),
            parts => parts
                .iter()
                // No text begins with this byte.
                .fold(Sha256::new_with_prefix([0xff]), |hash, part| {
                    hash.chain_update((part.len() as u64).to_be_bytes()).chain_update(part.as_bytes())
                })
                .finalize(),
        };
        Ok(Question { at, text, hash: hash.into() })
    }

    /// The texts of a content that is nothing but text.
    fn texts(&self, content: Value<'a>) -> Option<Vec<Cow<'a, str>>> {
        if let Some(text) = content.text() {
            return Some(vec![text]);
        }
        content
            .items()
            .map(|part| {
                let typed =
                    self.layout.part.is_none_or(|kind| part.get("type").is_some_and(|own| own.is_text(kind)));
                part.get("text").filter(|_| typed).and_then(Value::text)
            })
            .collect()
    }

    /// The instructions, joined by a line feed.
    pub(super) fn instructions(&self, options: &Options) -> Result<Option<String>, &'static str> {
        if self.instructions.is_empty() {
            return Ok(None);
        }
        let texts: Vec<_> =
            self.instructions.iter().flat_map(|content| self.texts(*content).unwrap_or_default()).collect();
        if texts.iter().map(|text| text.len() + 1).sum::<usize>() > options.max_text_bytes + 1 {
            return Err(TOO_LONG);
        }
        Ok(Some(texts.join("\n")))
    }

    /// The turns as a JSON array of `[role, text]`, for people: instructions first. Where the texts are longer than the limit,
    /// the newest are there.
    pub(super) fn transcript(&self, options: &Options) -> String {
        let mut room = options.max_text_bytes;
        let mut shown = VecDeque::new();
        for turn in self.recent.iter().rev() {
            let text = self.shown(turn, &mut room);
            shown.push_front((turn.role.clone(), text));
            if room == 0 {
                break;
            }
        }
        let mut instructions = String::new();
        for content in &self.instructions {
            show(*content, &mut instructions, &mut room);
        }
        if !instructions.is_empty() {
            shown.push_front(("system".into(), instructions));
        }
        serde_json::json!(shown).to_string()
    }

    /// The texts of the turns before the last one, as many as are shown.
    pub(super) fn earlier(&self) -> String {
        self.first(String::new(), self.recent.len().saturating_sub(1))
    }

    /// The texts of the instructions and of the turns, as many as are shown.
    pub(super) fn all(&self) -> String {
        let (mut instructions, mut room) = (String::new(), usize::MAX);
        for content in &self.instructions {
            show(*content, &mut instructions, &mut room);
        }
        self.first(instructions, self.recent.len())
    }

    /// `texts` with those of the first turns that are shown behind them.
    fn first(&self, mut texts: String, turns: usize) -> String {
        let mut room = usize::MAX;
        for turn in self.recent.iter().take(turns) {
            let text = self.shown(turn, &mut room);
            append(&mut texts, &text, &mut room);
        }
        texts
    }

    /// The text of a turn. If it has no text: the names of its members, and what it says of a tool.
    fn shown(&self, turn: &Turn<'a>, room: &mut usize) -> String {
        let mut text = String::new();
        if let Some(content) = turn.content {
            show(content, &mut text, room);
        }
        if text.is_empty() {
            let members = turn.item.sorted_members().into_iter();
            let left = members.filter(|(name, _)| ![self.layout.content, "role", "type"].contains(&&**name));
            for (name, value) in left {
                let told = value.text().filter(|_| OF_TOOLS.contains(&&*name));
                let told = told.map(|told| format!(" {}", &told[..told.floor_char_boundary(*room)]));
                append(&mut text, &format!("[{name}]{}", told.unwrap_or_default()), room);
                for call in value.items().filter_map(|call| call.get("function")) {
                    let [name, arguments] =
                        ["name", "arguments"].map(|name| call.get(name).and_then(Value::text));
                    let arguments = arguments.unwrap_or_default();
                    let arguments = &arguments[..arguments.floor_char_boundary(*room)];
                    append(&mut text, &format!("{}({arguments})", name.unwrap_or_default()), room);
                }
            }
        }
        text
    }
}

/// Appends the texts of a content, and of parts that are no text the types, with the name of a tool and what it gave, as long
/// as there is room.
fn show(content: Value<'_>, shown: &mut String, room: &mut usize) {
    if let Some(text) = content.text() {
        append(shown, &text, room);
    }
    for part in content.items() {
        if *room == 0 {
            return;
        }
        if let Some(text) = part.get("text").and_then(Value::text) {
            append(shown, &text, room);
            continue;
        }
        let kind = part
            .get("type")
            .and_then(Value::text)
            .or_else(|| Some(part.sorted_members().into_iter().next()?.0));
        let kind = kind.unwrap_or_default();
        let name = part.get("name").or_else(|| part.get(&kind)?.get("name")).and_then(Value::text);
        let name = name.map(|name| format!(" {name}")).unwrap_or_default();
        append(shown, &format!("[{kind}]{name}"), room);
        if let Some(result) = part.get("content") {
            show(result, shown, room);
        }
    }
}

/// Appends a line, cut to the room that there is.
fn append(shown: &mut String, line: &str, room: &mut usize) {
    if !shown.is_empty() && *room > 0 {
        shown.push('\n');
        *room -= 1;
    }
    let end = line.floor_char_boundary(*room);
    shown.push_str(&line[..end]);
    *room = if end < line.len() { 0 } else { *room - end };
}
