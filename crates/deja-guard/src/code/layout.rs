//! The same code in another layout: blanks around signs, broken lines, marks at an end that the language does not mind.
//!
//! What is safe depends on the language: a blank parts the words of a shell, the indentation makes the blocks of Python, and a
//! line ends a statement in most. What stands in quotes is never touched. Where a quote does not end in its line, or
//! nothing says what language it is, the layout counts. In Python and JavaScript both quotes are one ([`requoted`]). The words
//! of SQL are the same in small letters and in capitals.

mod data;
mod sql;
mod style;
mod tokens;

use serde::de::IgnoredAny;

use super::bare::words;
use super::lines::is_query;
pub(crate) use data::stands_in;
use tokens::{Kind, Token, tokens};

/// What a layout says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Language {
    Python,
    /// JavaScript and TypeScript.
    Script,
    /// A semicolon ends a statement, and a line nothing: C, Java, Rust.
    Lines,
    Sql,
    Json,
    Yaml,
    /// CSS and what is written like it.
    Style,
    Shell,
    /// Of its names none is known, but it has calls: it is no shell and no data.
    Calls,
    /// Each blank may say something: indented data, markup.
    Strict,
}

impl Language {
    /// The language of that name, as fences have it.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "python" | "python3" | "py" => Self::Python,
            "javascript" | "js" | "typescript" | "ts" => Self::Script,
            "c" | "h" | "cpp" | "c++" | "java" | "csharp" | "cs" | "c#" | "rust" | "rs" => Self::Lines,
            "sql" | "mysql" | "postgresql" | "sqlite" => Self::Sql,
            "json" => Self::Json,
            "bash" | "sh" | "shell" | "zsh" | "console" => Self::Shell,
            "yaml" | "yml" => Self::Yaml,
            "css" | "scss" | "less" => Self::Style,
            "toml" | "ini" | "make" | "makefile" | "dockerfile" | "html" | "xml" | "jsx" | "tsx" | "vue"
            | "markdown" | "md" | "text" | "txt" | "diff" | "haskell" => Self::Strict,
            _ => return None,
        })
    }

    /// Whether a blank beside a sign may say something.
    pub(super) fn minds_blanks(self) -> bool {
        matches!(self, Self::Yaml | Self::Style | Self::Shell | Self::Strict)
    }

    /// The language of `code` by its looks.
    fn of(code: &str) -> Self {
        let heads = |line: &str| {
            let first = line.split_once(' ').map_or("", |(first, _)| first);
            let block = matches!(first, "def" | "class" | "for" | "while" | "if" | "elif" | "with");
            block && line.ends_with(':')
        };
        if is_json(code) {
            Self::Json
        } else if is_query(code.lines().next().unwrap_or_default()) {
            Self::Sql
        } else if code.lines().map(str::trim_start).any(heads) {
            Self::Python
        } else if style::looks(code) {
            Self::Style
        } else if data::looks(code) {
            Self::Yaml
        } else if code.contains("console.log(") {
            Self::Script
        } else if calls(code) {
            Self::Calls
        } else {
            Self::Strict
        }
    }
}

/// Words of prompts that ask about the layout, or for a place in it.
const ABOUT_LAYOUT: [&str; 42] = [
    "uppercase", "lowercase", "capitals", "casing", "semicolon", "semicolons", "comma", "commas", "brace",
    "braces", "bracket", "brackets", "indent", "indented", "indentation", "format", "formatted",
    "formatting", "formatter", "layout", "style", "styled", "whitespace", "space", "spaces", "spacing",
    "blank", "blanks", "tab", "tabs", "line", "lines", "newline", "newlines", "lint", "readable", "pep8",
    "quote", "quotes", "quoted", "quoting", "apostrophe",
];

/// Whether `text` asks about the layout of code: what a line does, where a semicolon is missing.
pub(crate) fn asks_about(text: &str) -> bool {
    words(text).any(|word| ABOUT_LAYOUT.contains(&word.as_str()))
}

/// Whether two pieces of code are the same but for their layout. `named` are the languages that the prompts name for it.
pub(super) fn same(x: &str, y: &str, named: &[Language]) -> bool {
    let language = named.first().copied().unwrap_or_else(|| Language::of(x));
    let agreed = named.iter().all(|other| *other == language);
    let known = !named.is_empty() || Language::of(y) == language;
    agreed && known && normal(x, language).is_some_and(|x| normal(y, language) == Some(x))
}

/// `code` with `"` for `'` where its language takes both for one. `named` is the language that is known of it.
pub(super) fn requoted(code: String, named: Option<Language>) -> String {
    let language = named.unwrap_or_else(|| Language::of(&code));
    let alike = matches!(language, Language::Python | Language::Script | Language::Calls);
    alike.then(|| tokens::requoted(&code, language)).flatten().unwrap_or(code)
}

/// The language that `text` speaks of, if it does: of several it is not known which.
pub(super) fn spoken(text: &str) -> Option<Language> {
    // "console.log" is no shell.
    let named = words(text).filter(|word| word != "console").filter_map(|word| Language::named(&word));
    let mut said = named.filter(|language| *language != Language::Strict);
    let first = said.next()?;
    Some(if said.all(|other| other == first) { first } else { Language::Strict })
}

fn is_json(code: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(code).is_ok()
}

/// Whether it has a name right before a bracket with something in it: no shell has that outside of quotes.
fn calls(code: &str) -> bool {
    let Some(tokens) = tokens(code, Language::Calls) else { return false };
    tokens.windows(3).any(|three| {
        let name = three[0].text.ends_with(|c: char| c.is_alphanumeric());
        name && three[1].text == "(" && !three[1].spaced && three[2].text != ")"
    })
}

/// The code without what its layout does not say.
fn normal(code: &str, language: Language) -> Option<String> {
    match language {
        Language::Strict => return None,
        Language::Shell => return shell(&format!("{code}\n")),
        Language::Style => return style::normal(code),
        Language::Yaml => return data::normal(code),
        Language::Json if !is_json(code) => return None,
        // A string that quotes may stand in.
        Language::Lines if code.contains("r#\"") || code.contains("R\"") => return None,
        // What the first line is indented by is not known.
        _ if code.starts_with([' ', '\t']) => return None,
        _ => {}
    }
    let tokens = tokens(code, language)?;
    let mut writer = Writer::of(language);
    // Where braces make the blocks, the indentation does not.
    writer.indents = !code.lines().any(|line| line.ends_with(") {"));
    for at in 0..tokens.len() {
        writer.write(&tokens, at)?;
    }
    Some(writer.out)
}

/// Commands, whose words blanks part: how many says nothing, nor does a line that a backslash joins to the next.
fn shell(code: &str) -> Option<String> {
    // A text that stands in the script.
    if code.contains("<<") {
        return None;
    }
    let mut out = String::with_capacity(code.len());
    let (mut quote, mut blank) = (None, true);
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                let escaped = chars.next().filter(|next| *next != '\n');
                if let Some(next) = escaped {
                    out.extend([c, next]);
                    blank = false;
                }
                continue;
            }
            (Some(_), '\n') => return None,
            (None, '\n') => {
                if out.ends_with(';') && !out.ends_with(";;") && !out.ends_with("\\;") {
                    out.pop();
                }
                out.push('\n');
                blank = true;
                continue;
            }
            (None, '\'') if let Some(inner) = plain_quote(chars.as_str()) => {
                out.extend(["\"", inner, "\""]);
                chars = chars.as_str()[inner.len() + 1..].chars();
                blank = false;
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                out.extend((!blank).then_some(' '));
                blank = true;
                continue;
            }
            _ => quote = quote.filter(|open| *open != c),
        }
        out.push(c);
        blank = false;
    }
    quote.is_none().then_some(out)
}

/// What stands in single quotes, which are open, and says the same in double ones.
fn plain_quote(rest: &str) -> Option<&str> {
    let (inner, _) = rest.split_once('\'')?;
    (!inner.contains(['"', '\\', '$', '`', '!', '\n'])).then_some(inner)
}

/// A bracket that is open.
struct Open {
    mark: char,
    /// It indexes or calls what stands before it.
    behind_name: bool,
    commas: usize,
}

/// Writes the tokens of code with those blanks, lines and marks alone that say something.
struct Writer<'a> {
    language: Language,
    out: String,
    open: Vec<Open>,
    last: Option<Token<'a>>,
    /// A line ended that says no more than a blank.
    joined: bool,
    /// The statement may be one that another one belongs to.
    branches: bool,
    indents: bool,
    /// How far the open blocks of Python are indented.
    blocks: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn of(language: Language) -> Self {
        Self {
            language,
            out: String::new(),
            open: Vec::new(),
            last: None,
            joined: false,
            branches: false,
            indents: true,
            blocks: Vec::new(),
        }
    }

    fn write(&mut self, tokens: &[Token<'a>], at: usize) -> Option<()> {
        let token = tokens[at];
        let next = tokens.get(at + 1).copied();
        if token.kind == Kind::Line {
            return self.end_line(token, next);
        }
        if self.is_idle(token, &tokens[at + 1..]) {
            return Some(());
        }
        let spaced = token.spaced || self.joined;
        if self.parts(Token { spaced, ..token }, next) {
            self.out.push(' ');
        }
        self.joined = false;
        let calls = next.is_some_and(|next| next.text == "(");
        if self.language == Language::Sql && token.kind == Kind::Word && (calls || sql::is_word(token.text)) {
            self.out.push_str(&token.text.to_uppercase());
        } else {
            self.out.push_str(token.text);
        }
        match token.text {
            "(" | "[" | "{" => {
                let behind_name = self.last.is_some_and(|last| last.kind == Kind::Word || last.closes());
                let mark = token.text.chars().next()?;
                self.open.push(Open { mark, behind_name, commas: 0 });
            }
            ")" | "]" | "}" => drop(self.open.pop()),
            "," => {
                if let Some(open) = self.open.last_mut() {
                    open.commas += 1;
                }
            }
            _ => {}
        }
        let branches = matches!(token.text, "for" | "while" | "if" | "else" | "do" | "with");
        self.branches = (self.branches || branches) && !matches!(token.text, ";" | "{" | "}");
        self.last = Some(token);
        Some(())
    }

    fn within(&self) -> Option<char> {
        self.open.last().map(|open| open.mark)
    }

    fn is_behind(&self, text: &str) -> bool {
        self.last.is_some_and(|last| last.text == text)
    }

    /// Ends a line if that says something.
    fn end_line(&mut self, line: Token<'a>, next: Option<Token<'a>>) -> Option<()> {
        let is = |text: &str| next.is_some_and(|next| next.text == text);
        let noted = |token: Option<Token>| token.is_some_and(|token| token.kind == Kind::Comment);
        let free = !noted(self.last)
            && !noted(next)
            && match self.language {
                Language::Lines | Language::Sql | Language::Json => true,
                Language::Python => self.within().is_some(),
                Language::Script => {
                    matches!(self.within(), Some('(' | '['))
                        || self.is_behind("{")
                        || self.is_behind(",")
                        || self.is_behind(")") && is("{")
                        || is("}")
                        || next.is_some_and(|next| next.text == "." || next.text == "?.")
                }
                _ => self.within() == Some('(') && (self.is_behind("(") || self.is_behind(",") || is(")")),
            };
        if free {
            self.joined = true;
            return Some(());
        }
        self.out.push('\n');
        self.joined = false;
        self.last = None;
        self.branches = false;
        match self.language {
            Language::Python if self.open.is_empty() => {
                let level = self.level(line.text)?;
                self.out.extend(std::iter::repeat_n('\t', level));
            }
            Language::Calls if self.indents => self.out.push_str(line.text),
            _ => {}
        }
        Some(())
    }

    /// How many blocks a line of Python stands in. What a tab is worth is not known.
    fn level(&mut self, indentation: &str) -> Option<usize> {
        let width = indentation.len();
        if indentation.contains(|c| c != ' ') {
            return None;
        }
        let known = self.blocks.len();
        self.blocks.retain(|block| *block <= width);
        if width > 0 && self.blocks.last() != Some(&width) {
            if self.blocks.len() < known {
                return None;
            }
            self.blocks.push(width);
        }
        Some(self.blocks.len())
    }

    /// Whether a mark may be left out: a comma before a bracket, a semicolon at the end of a line.
    fn is_idle(&self, mark: Token<'a>, behind: &[Token<'a>]) -> bool {
        let ends = behind.first().is_none_or(|next| next.kind == Kind::Line);
        let following = behind.iter().find(|token| token.kind != Kind::Line);
        let Some(last) = self.last.filter(|last| !matches!(last.text, "," | ";" | "(" | "[" | "{")) else {
            return false;
        };
        match (mark.text, self.language) {
            (",", _) => {
                let Some(open) = self.open.last() else { return false };
                let list = matches!(self.language, Language::Python | Language::Script);
                match following.map_or("", |next| next.text) {
                    "}" => list || self.language == Language::Lines,
                    // An index may be a pair.
                    "]" => list && !open.behind_name,
                    // One value and a comma are a tuple.
                    ")" => list && open.commas > 0,
                    _ => false,
                }
            }
            (";", Language::Sql) => following.is_none(),
            (";", Language::Python) => ends,
            (";", Language::Script) => {
                // What a line may go on with if nothing ends it, and a statement that is empty.
                let begins = following.is_none_or(|next| {
                    next.text.starts_with(|c: char| {
                        c.is_alphanumeric() || matches!(c, '_' | '$' | '"' | '\'' | '{' | '}')
                    })
                });
                let empty = self.branches && matches!(last.text, ")" | "else" | "do");
                let closes = following.is_some_and(|next| next.text == "}");
                self.within() != Some('(') && (ends || closes) && begins && !empty
            }
            _ => false,
        }
    }

    /// Whether a blank between the last token and this one says something.
    fn parts(&self, token: Token<'a>, next: Option<Token<'a>>) -> bool {
        let Some(last) = self.last else { return false };
        if last.kind == token.kind && token.kind != Kind::Mark {
            return token.spaced;
        }
        // "1 .5" and "1. 5" are no number.
        let number = |token: Token| token.text.starts_with(|c: char| c.is_ascii_digit());
        let point = |token: Token| token.text.starts_with('.');
        if number(last) && point(token) || point(last) && number(token) {
            return token.spaced;
        }
        let opens = |token: Token| matches!(token.text, "(" | "[");
        match self.language {
            Language::Sql => token.spaced && last.kind == Kind::Word && opens(token),
            Language::Calls => {
                let begins = |last: Token| opens(last) || matches!(last.text, "{" | ",");
                // On one side of a sign alone.
                let before = token.kind == Kind::Sign
                    && token.spaced
                    && !begins(last)
                    && !next.is_some_and(|next| next.spaced);
                let behind = last.kind == Kind::Sign && token.spaced && !last.spaced;
                before || behind || token.spaced && last.kind == Kind::Word && opens(token)
            }
            _ => false,
        }
    }
}
