//! Code among prose: calls, names, paths, terms, commands.

use std::borrow::Cow;

use super::IDLE;
use super::terms::{declarations, schedules};
use crate::lexicon::lexicon;

/// A command or a statement, word by word.
pub(crate) type Run = Vec<String>;

/// Words that a bracket may stand open for.
const MOST: usize = 16;

/// Programs whose names are no English words.
const COMMANDS: [&str; 37] = [
    "mv", "cp", "ln", "ls", "rm", "scp", "ssh", "rsync", "git", "docker", "kubectl", "helm", "terraform",
    "tar", "chmod", "chown", "grep", "egrep", "sed", "awk", "curl", "wget", "npm", "npx", "pip", "conda",
    "sudo", "apt", "cargo", "gcc", "psql", "mysql", "ffmpeg", "mkdir", "rmdir", "systemctl", "diff",
];

/// Words that begin a statement of SQL.
const STATEMENTS: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "CREATE", "WHERE"];

/// The words of `text` in lower case, without signs.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn blank(c: char) -> bool {
    c.is_whitespace() || c == '`'
}

/// Whether a command stands in `text`, whose words blanks part.
pub(crate) fn commands(text: &str) -> bool {
    text.split(blank).any(|token| COMMANDS.contains(&token))
}

/// The pieces of code in `text`.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    if !text.contains(|c: char| c.is_uppercase() || !c.is_alphanumeric() && !blank(c)) {
        return pieces;
    }
    let tokens: Vec<&str> = text.split(blank).filter(|token| !token.is_empty()).collect();
    pieces.extend(schedules(&tokens));
    pieces.extend(declarations(&tokens));
    let mut at = 0;
    while at < tokens.len() {
        let (mut last, used) = closed(&tokens[at..]);
        at += used;
        let mut term = String::new();
        while let Some([sign, _]) = tokens.get(at..at + 2)
            && let Some(operator) = operator(sign)
        {
            let (operand, used) = closed(&tokens[at + 1..]);
            if !joins(&last, operator, &operand) {
                break;
            }
            term.push_str(&last);
            term.push_str(sign);
            last = operand;
            at += 1 + used;
        }
        if !term.is_empty() || is_code(&last) {
            term.push_str(&last);
            pieces.push(normal(&term));
        }
    }
    pieces
}

/// The first token without the marks of a sentence, and if it opens a bracket all up to where that is closed; and how many
/// tokens that is.
fn closed<'a>(tokens: &[&'a str]) -> (Cow<'a, str>, usize) {
    let depth = |token: &str| {
        token.chars().fold(0isize, |depth, c| match c {
            '(' | '[' | '{' => depth + 1,
            ')' | ']' | '}' => depth - 1,
            _ => depth,
        })
    };
    let first = tokens[0];
    // Most are.
    if first.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return (Cow::Borrowed(first), 1);
    }
    let mut open = depth(first);
    if open > 0 && (is_call(first) || first.starts_with(['[', '{', '('])) {
        for (at, token) in tokens.iter().enumerate().take(MOST).skip(1) {
            open += depth(token);
            let word = token.trim_matches(|c: char| !c.is_alphanumeric());
            if !word.is_empty() && function(word) {
                break;
            }
            if open <= 0 {
                let all = &tokens[..=at];
                let is_aside = first.starts_with('(') && all.iter().any(|token| is_word(token));
                if is_aside {
                    break;
                }
                return (Cow::Owned(trimmed(&all.concat()).to_owned()), at + 1);
            }
        }
    }
    (Cow::Borrowed(trimmed(first)), 1)
}

/// Has two letters at least.
fn is_word(token: &str) -> bool {
    token.chars().filter(|c| c.is_alphabetic()).nth(1).is_some()
}

/// A name right before a bracket. "Item(s)" is none.
fn is_call(token: &str) -> bool {
    token.split_once('(').is_some_and(|(name, rest)| {
        name.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && !(name.len() > 1 && ["s)", "es)", "ren)"].iter().any(|end| rest.starts_with(end)))
    })
}

/// Without quotes, the end of a sentence, a bracket that is not closed, emphasis and the mark of a quoted line.
fn trimmed(token: &str) -> &str {
    let ends =
        |c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '”' | '’' | '“' | '‘' | '…');
    let opens = |c: char| matches!(c, '"' | '\'' | '“' | '‘' | '„' | '>');
    let mut token = token.trim_end_matches(ends).trim_start_matches(opens);
    // "(tom@example.com)": an aside of one name.
    let name = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    let aside = token.strip_prefix('(').and_then(|token| token.strip_suffix(')'));
    token = aside.filter(|aside| aside.chars().all(name)).unwrap_or(token);
    if token.starts_with('(') && !token.contains(')') {
        token = token.trim_start_matches('(').trim_start_matches(opens);
    }
    if token.ends_with(')') && !token.contains('(') {
        token = token.trim_end_matches(')').trim_end_matches(ends);
    }
    for mark in ['*', '_'] {
        let inner = token.strip_prefix(mark).and_then(|token| token.strip_suffix(mark));
        token = inner.filter(|inner| !inner.starts_with('_')).unwrap_or(token);
    }
    token
}

/// A word of English that says little by itself: no operand.
fn function(word: &str) -> bool {
    let class = lexicon().class(&word.to_lowercase());
    word.chars().count() > 1 && class & IDLE != 0
}

/// Signs that make one term of any two values, of two of which one is simple, and of two simple ones.
const SIGNS: [&[&str]; 3] = [
    &[
        "=", "==", "===", "!=", "!==", "<=", ">=", "<>", "+=", "-=", "*=", "/=", "%=", ":=", "|", "||", "&&",
        "??", "::", "=~",
    ],
    &["<", ">"],
    &["+", "-", "*", "/", "%", "^", "**", "//", "<<", ">>", "|>"],
];

/// How simple the values beside `sign` must be, as the place in [`SIGNS`].
fn operator(sign: &str) -> Option<usize> {
    let is_sign = sign.starts_with(|c: char| c.is_ascii_punctuation());
    SIGNS.iter().position(|signs| is_sign && signs.contains(&sign))
}

/// Whether an operator makes one term of what stands beside it.
fn joins(left: &str, operator: usize, right: &str) -> bool {
    let operand = |text: &str| text.contains(char::is_alphanumeric) && !function(text);
    let number = |text: &str| !text.contains(char::is_alphabetic);
    let simple = |text: &str| {
        let numbered = text.is_ascii() && text.starts_with(|c: char| c.is_ascii_digit());
        numbered || number(text) || text.chars().count() == 1 || is_code(text)
    };
    operand(left)
        && operand(right)
        && match operator {
            0 => true,
            1 => simple(left) || simple(right),
            _ => simple(left) && simple(right) && !(number(left) && number(right)),
        }
}

/// Whether a token is written as code is and prose is not.
fn is_code(token: &str) -> bool {
    if token.bytes().all(|byte| byte.is_ascii_lowercase()) || !token.contains(char::is_alphanumeric) {
        return false;
    }
    // "2>&1"
    let redirects =
        token.contains(">&") && token.bytes().all(|byte| byte.is_ascii_digit() || b"<>&-".contains(&byte));
    if redirects
        || tag(token).is_some()
        || is_call(token)
        || is_dotted(token)
        || is_path(token)
        || token.contains("://")
        || token.ends_with(",)")
    {
        return true;
    }
    let letters = token.chars().filter(|c| c.is_alphabetic()).take(2).count();
    let digits = token.contains(|c: char| c.is_ascii_digit());
    let types = token.contains('<') && token.contains('>');
    let camel = token.chars().take_while(|c| c.is_lowercase()).nth(1).is_some();
    let (mut before, mut humps) = (' ', 0);
    let mut chars = token.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let inner = before.is_alphanumeric() && after.is_alphanumeric();
        let prefix = before == ' ' && after.is_alphabetic();
        let is_sign = match c {
            '=' | '{' | '[' => true,
            // A mark at an edge is that of a table.
            '|' => before != ' ' && after != ' ',
            '\\' => after.is_alphanumeric(),
            '_' => before.is_alphanumeric() || after.is_alphanumeric(),
            '$' | '@' => after.is_alphabetic(),
            '~' | '^' => letters > 0 && before != ' ',
            '<' | '>' => {
                before != '-'
                    && (types || inner && letters == 0 || letters > 0 && (digits || token.len() <= 3))
            }
            '!' => prefix,
            '&' => prefix || after == '&',
            // "C++" is a name.
            '+' if after == '+' => letters == 1 && !token.starts_with(['c', 'C', 'g']),
            '*' | '+' => inner && letters > 0,
            '.' => after == '.' && before.is_ascii_digit(),
            '?' => after == '.',
            ':' => after == ':',
            // Not "iPhone" nor "PayPal".
            c if c.is_uppercase() && before.is_lowercase() => {
                humps += 1;
                camel || humps > 1
            }
            _ => false,
        };
        if is_sign {
            return true;
        }
        before = c;
    }
    false
}

/// Whether a piece says something by its signs, and not by the words between them alone.
pub(crate) fn is_signed(piece: &str) -> bool {
    piece.contains(['=', '<', '>', '|', '\\', '{', '[', '~', '^', '+', '*', '!', '&', '?', '(', ','])
}

/// The name in `<div>` and `[name]`: people write it without the signs too.
fn tag(token: &str) -> Option<&str> {
    [('<', '>'), ('[', ']')].iter().find_map(|(open, close)| {
        let name = token.strip_prefix(*open)?.strip_suffix(*close)?;
        name.chars().all(char::is_alphanumeric).then_some(name)
    })
}

/// `os.path`, `df.groupby`: words of two letters and more, no new sentence without a blank.
fn is_dotted(token: &str) -> bool {
    let mut parts = token.split('.');
    let first = parts.next().unwrap_or_default();
    let named = |part: &str| {
        part.chars().count() > 1
            && part.starts_with(char::is_alphabetic)
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    token.contains('.')
        && named(first)
        && parts.all(|part| named(part) && part.starts_with(char::is_lowercase))
}

/// `/etc/hosts`, `~/x`, `src/lib/x`.
fn is_path(token: &str) -> bool {
    let begins = ["/", "./", "../", "~/"].iter().any(|begin| {
        token
            .strip_prefix(begin)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '.'))
    });
    let parts = token.split('/').filter(|part| !part.is_empty());
    begins
        || parts.clone().count() > 2
            && token.contains('.')
            && parts.into_iter().all(|part| part.contains(char::is_alphabetic))
}

/// Files and folders that programs read at home alone.
const AT_HOME: [&str; 19] = [
    "bashrc", "bash_profile", "bash_aliases", "bash_history", "bash_logout", "zshrc", "zprofile", "zshenv",
    "zsh_history", "profile", "inputrc", "vimrc", "tmux.conf", "gitconfig", "ssh", "aws", "kube", "netrc",
    "condarc",
];

/// `.bashrc` for `~/.bashrc`: the shell's is at home. A `.env` there is another one than that of a project.
pub(crate) fn home(path: &str) -> &str {
    let file = path.strip_prefix("~/").filter(|file| {
        let first = file.split('/').next().unwrap_or_default();
        first.strip_prefix('.').is_some_and(|name| AT_HOME.contains(&name))
    });
    file.unwrap_or(path)
}

/// In lower case. `foo()` names what `foo` does, and `<foo>` too, and `https://example.com/` what `example.com` does.
fn normal(piece: &str) -> String {
    let piece = home(piece);
    let piece = piece.strip_suffix("()").unwrap_or(piece);
    let piece = piece.strip_prefix("https://").map_or(piece, |rest| rest.strip_suffix('/').unwrap_or(rest));
    // "[a-z]" and "[A-Z]" are two.
    if piece.contains('[') && piece.contains('-') {
        return piece.to_owned();
    }
    tag(piece).unwrap_or(piece).to_lowercase()
}

/// The commands and statements in `text`, each of three words at least: from its name to a word that goes on in English.
pub(crate) fn runs(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    for line in text.lines() {
        let mut tokens = line.split(blank).filter(|token| !token.is_empty()).peekable();
        while let Some(token) = tokens.next() {
            if !STATEMENTS.contains(&token) && !COMMANDS.contains(&token) {
                continue;
            }
            let mut run = vec![token.to_lowercase()];
            // "git show" and "kubectl get": these verbs are a program's too.
            let goes_on = |next: &str, second: bool| {
                second && matches!(next, "get" | "show") || !goes_on_in_english(next)
            };
            while let Some(next) = tokens.next_if(|next| goes_on(next, run.len() == 1)) {
                let named = next.trim_end_matches([',', ';', '?', '.']);
                run.push(if named.is_empty() { next } else { named }.to_lowercase());
            }
            if run.len() > 2 {
                runs.push(run);
            }
        }
    }
    runs
}

fn goes_on_in_english(word: &str) -> bool {
    let small = word.chars().all(char::is_lowercase) && word.chars().count() > 1;
    let verb = matches!(
        word,
        "mean" | "means" | "work" | "works" | "show" | "return" | "returns" | "print" | "select" | "delete"
    );
    let names = matches!(word, "called" | "named");
    small && (function(word) || verb || names)
}

/// The words in capitals of a text that is not all in capitals, in lower case.
pub(crate) fn capitals(text: &str) -> Vec<String> {
    if text.bytes().filter(u8::is_ascii_uppercase).count() < 3 {
        return Vec::new();
    }
    let words =
        || text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.contains(char::is_alphabetic));
    let upper = |word: &&str| word.len() > 2 && !word.contains(char::is_lowercase);
    if words().filter(upper).count() * 2 > words().count() {
        return Vec::new();
    }
    words().filter(upper).map(str::to_lowercase).collect()
}
