//! One form of lists: their bullets, "Age = 30" for "Age: 30", and the table that says the same.

use std::borrow::Cow;

/// Words of prompts that ask about the form itself.
const ABOUT_FORM: [&str; 16] = [
    "markdown", "bullet", "bullets", "bulleted", "bulletpoints", "numbered", "numbering", "table", "column",
    "columns", "rows", "format", "formatting", "yaml", "syntax", "latex",
];

/// Heads of tables whose two columns are named for what they are.
const NAMED: [&str; 9] = ["", "field", "key", "item", "property", "attribute", "parameter", "name", "test"];
const VALUED: [&str; 3] = ["", "value", "result"];

/// A text with its lists in one form.
pub(crate) struct Listed<'a> {
    pub(crate) text: Cow<'a, str>,
    /// A table or "Age = 30" was made "Age: 30". As code its values would be compared letter by letter.
    pub(crate) equated: bool,
}

/// Fenced code is as it was, and so is all of a text about the form of lists.
pub(crate) fn listed(text: &str) -> Listed<'_> {
    let marked = |line: &&str| {
        let line = line.trim_start();
        line.starts_with('|') || item(line).is_some() || line.contains(" = ")
    };
    if text.lines().filter(marked).nth(1).is_none() || is_about_form(text) {
        return Listed { text: Cow::Borrowed(text), equated: false };
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<Cow<str>> = Vec::with_capacity(lines.len());
    let (mut fence, mut equated, mut at) = (None, false, 0);
    // Where the lines begin that no fence holds.
    let mut free = 0;
    while at < lines.len() {
        let line = lines[at].trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        if mark.is_some() && fence.is_none() {
            equated |= equate(&mut out[free..]);
            fence = mark;
        } else if mark.is_some() && fence == mark {
            fence = None;
            free = out.len();
        }
        let (rest, mut used) = (&lines[at..], 0);
        if fence.is_none() {
            let (rows, is_list) = table(rest, &mut out);
            equated |= is_list;
            used = rows + items(&rest[rows..], &mut out);
        }
        if used == 0 {
            out.push(Cow::Borrowed(lines[at]));
        }
        at += used.max(1);
    }
    if fence.is_none() {
        equated |= equate(&mut out[free..]);
    }
    Listed { text: Cow::Owned(out.join("\n")), equated }
}

fn is_about_form(text: &str) -> bool {
    // Lines with a plus are added: a patch.
    let patch = text.lines().any(|line| line.starts_with('+'));
    let mut words = text.split(|c: char| !c.is_alphabetic());
    patch || words.any(|word| ABOUT_FORM.contains(&word.to_lowercase().as_str()))
}

/// What marks an item of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Sign(char),
    Number(usize),
}

/// The mark of an item and what it says.
fn item(line: &str) -> Option<(Mark, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (mark, said) = match line.chars().next()? {
        sign @ ('-' | '*' | '•' | '–') => (Mark::Sign(sign), &line[sign.len_utf8()..]),
        _ if (1..=3).contains(&digits) => {
            let behind = line[digits..].strip_prefix(['.', ')'])?;
            (Mark::Number(line[..digits].parse().ok()?), behind)
        }
        _ => return None,
    };
    let text = said.trim_start();
    (text.len() < said.len() && !text.is_empty()).then_some((mark, text))
}

/// Writes the items that `lines` begin with without their marks, two at least; says how many lines they are.
fn items<'a>(lines: &[&'a str], out: &mut Vec<Cow<'a, str>>) -> usize {
    let indented = |line: &str| line.len() - line.trim_start().len();
    let mut said = Vec::new();
    for line in lines {
        let Some((mark, text)) = item(line.trim_start()) else { break };
        let follows = match (mark, lines[0].trim_start()) {
            (Mark::Sign(_), first) => item(first).is_some_and(|(first, _)| first == mark),
            (Mark::Number(number), _) => number == said.len() + 1,
        };
        if !follows || indented(line) != indented(lines[0]) {
            break;
        }
        said.push(Cow::Borrowed(text));
    }
    if said.len() < 2 {
        return 0;
    }
    let used = said.len();
    out.append(&mut said);
    used
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    (cells.len() > 1).then_some(cells)
}

/// Writes the table that `lines` begin with as a list of values, if it is one of pairs or of one row, and as it is otherwise; says
/// how many lines it is, and whether it became a list.
fn table<'a>(lines: &[&'a str], out: &mut Vec<Cow<'a, str>>) -> (usize, bool) {
    let [head, rule, rest @ ..] = lines else { return (0, false) };
    let (Some(head), Some(rule)) = (cells(head), cells(rule)) else { return (0, false) };
    let ruled = rule.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':')));
    if !ruled || rule.len() != head.len() {
        return (0, false);
    }
    let rows = rest.iter().map_while(|line| cells(line).filter(|row| row.len() == head.len()));
    let rows: Vec<Vec<&str>> = rows.collect();
    let used = rows.len() + 2;
    if rows.is_empty() {
        return (0, false);
    }
    let is = |cell: &str, names: &[&str]| names.contains(&cell.to_lowercase().as_str());
    let pair = |key: &str, value: &str| Cow::Owned(format!("{key}: {value}"));
    let pairs = head.len() == 2;
    // A colon within would stand for two.
    if !(pairs || rows.len() == 1) || head.iter().chain(rows.iter().flatten()).any(|cell| cell.contains(':'))
    {
        // All of it at once: a text of such tables takes no quadratic time.
        out.extend(lines[..used].iter().map(|line| Cow::Borrowed(*line)));
        return (used, false);
    }
    if pairs && is(head[0], &NAMED) && is(head[1], &VALUED) {
        out.extend(rows.iter().map(|row| pair(row[0], row[1])));
    } else if rows.len() == 1 {
        out.extend(head.iter().zip(&rows[0]).map(|(key, value)| pair(key, value)));
    } else {
        out.extend([&head].into_iter().chain(&rows).map(|row| pair(row[0], row[1])));
    }
    (used, true)
}

/// Writes "Age: 30" for "Age = 30" in two lines and more. What computes is code: "Speed = distance / time".
fn equate(lines: &mut [Cow<'_, str>]) -> bool {
    let (mut from, mut equated) = (0, false);
    while from < lines.len() {
        let pairs: Vec<String> = lines[from..].iter().map_while(|line| equation(line)).collect();
        let used = pairs.len();
        if used > 1 {
            equated = true;
            for (line, pair) in lines[from..].iter_mut().zip(pairs) {
                *line = Cow::Owned(pair);
            }
        }
        from += used.max(1);
    }
    equated
}

/// "Age: 30" of "Age = 30": a number with its unit, or a name.
fn equation(line: &str) -> Option<String> {
    let (key, value) = line.split_once(" = ")?;
    let (key, value) = (key.trim(), value.trim());
    let number =
        value.trim_start_matches(['$', '€', '£', '-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let said = |part: &str| {
        let figures = part.chars().all(|c| c.is_ascii_digit() || matches!(c, '/' | ':' | '.'));
        figures
            || part
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | ',' | '%' | '$' | '€' | '£' | '-' | '°'))
    };
    let told = value.split(' ').count() <= MOST_WORDS && value.split(' ').all(said);
    (is_name(key) && told && (number || is_name(value))).then(|| format!("{key}: {value}"))
}

/// Words of a key or a value at most.
const MOST_WORDS: usize = 4;

/// Words of which the first has a capital.
fn is_name(text: &str) -> bool {
    let words = || text.split(' ');
    text.starts_with(char::is_uppercase)
        && text.len() > 1
        && words().count() <= MOST_WORDS
        && words().all(|word| word.chars().all(char::is_alphabetic))
}

/// The lists of values in `text`, in lower case and line by line, two and more like "City: Rome"; and what it says beside them.
pub(crate) fn values(text: &str) -> (Vec<String>, String) {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let (mut values, mut beside) = (Vec::new(), String::new());
    for run in lines.chunk_by(|x, y| x.contains(": ") && y.contains(": ")) {
        if run.len() > 1 {
            values.extend(run.iter().map(|line| line.to_lowercase()));
        } else {
            beside.extend([run[0], "\n"]);
        }
    }
    (values, beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_lines_and_their_values_are_named() {
        let (rows, table) = ("|a|b|\n|-|:-:|\n|c|d|\n|e|f|", "|Key|Value|\n|-|-|\n|a|b|\n|c|d|");
        for (text, form, equated) in [
            ("- a\n- bcd", "a\nbcd", false),
            ("x\n  * a\n  * b\ny", "x\na\nb\ny", false),
            ("\u{2022} a\n\u{2022} b\n\u{2013} c", "a\nb\n\u{2013} c", false),
            ("1. a\n2. b\n4. c", "a\nb\n4. c", false),
            ("1) a\n2) b", "a\nb", false),
            ("001. a\n002. b", "a\nb", false),
            ("2. a\n3. b", "2. a\n3. b", false),
            ("0001. a\n0002. b", "0001. a\n0002. b", false),
            ("1 a\n2 b", "1 a\n2 b", false),
            ("- a\n  - b", "- a\n  - b", false),
            ("- a\n* b", "- a\n* b", false),
            ("-a\n-b\n- ", "-a\n-b\n- ", false),
            ("- a\n- b\n- c\n\n- d\n- e", "a\nb\nc\n\nd\ne", false),
            ("- a", "- a", false),
            ("- a\n- b\n+ c", "- a\n- b\n+ c", false),
            ("Table:\n- a\n- b", "Table:\n- a\n- b", false),
            ("Tables:\n- a\n- b", "Tables:\na\nb", false),
            ("```\n- a\n- b\n```\n- c\n- d", "```\n- a\n- b\n```\nc\nd", false),
            ("~~~\n- a\n```\n- b\n- c", "~~~\n- a\n```\n- b\n- c", false),
            ("x\n~~~\n- a\n- b\n~~~", "x\n~~~\n- a\n- b\n~~~", false),
            (table, "a: b\nc: d", true),
            (rows, "a: b\nc: d\ne: f", true),
            ("|Item|Price|\n|-|-|\n|a|b|\n|c|d|", "Item: Price\na: b\nc: d", true),
            ("|x|Value|\n|-|-|\n|a|b|\n|c|d|", "x: Value\na: b\nc: d", true),
            ("| a | b | c |\n|-|-|-|\n| d | e | f |\nx", "a: d\nb: e\nc: f\nx", true),
            ("|a|b|\n|-|-|\n|c|d|", "a: c\nb: d", true),
            ("|a|b|c|\n|-|-|-|\n|d|e|f|\n|g|h|i|", "|a|b|c|\n|-|-|-|\n|d|e|f|\n|g|h|i|", false),
            ("|a|b|\n|-|-|", "|a|b|\n|-|-|", false),
            ("|a|b|\n|-|x|\n|c|d|", "|a|b|\n|-|x|\n|c|d|", false),
            ("|a|b|\n|:|:|\n|c|d|", "|a|b|\n|:|:|\n|c|d|", false),
            ("|a|b|\n|-|-|-|\n|c|d|", "|a|b|\n|-|-|-|\n|c|d|", false),
            ("|a|b|\n|-|-|\n|c:d|e|", "|a|b|\n|-|-|\n|c:d|e|", false),
            ("|a|\n|-|\n|b|", "|a|\n|-|\n|b|", false),
            ("|a|b|\n|-|-|\n|c|d|\n- e\n- f", "a: c\nb: d\ne\nf", true),
            ("- a\n- b\nAge = 3\nCar = Ox", "a\nb\nAge: 3\nCar: Ox", true),
        ] {
            let listed = listed(text);
            assert_eq!((&*listed.text, listed.equated), (form, equated), "{text}");
        }
    }

    #[test]
    fn what_is_set_in_two_lines_is_told() {
        for (text, form) in [
            ("Age = 30\nCity = Rome", "Age: 30\nCity: Rome"),
            ("Age = 30\n\nCity = Rome", "Age = 30\n\nCity = Rome"),
            ("x\nAge = 3\nBmi = 4\ny\nHip = 5\nLeg = 6", "x\nAge: 3\nBmi: 4\ny\nHip: 5\nLeg: 6"),
            ("Age = 30\nage = 40", "Age = 30\nage = 40"),
            ("Age = 30\nX = 40", "Age = 30\nX = 40"),
            ("Age = 30\nSpeed = distance", "Age = 30\nSpeed = distance"),
            ("Age = 30\nSpeed = Way / Time", "Age = 30\nSpeed = Way / Time"),
            ("Age = 30\nSpeed = 3 + 4", "Age = 30\nSpeed = 3 + 4"),
            ("Pay = -$3,000.50\nRate = 5 %", "Pay: -$3,000.50\nRate: 5 %"),
            ("Date = 1/2/2024\nTime = 10:30", "Date: 1/2/2024\nTime: 10:30"),
            ("Age = 30\nSize = 1 m or 2", "Age: 30\nSize: 1 m or 2"),
            ("Age = 30\nSize = 1 m or 2 m", "Age = 30\nSize = 1 m or 2 m"),
            ("Age = 30\nMy Own Best Friend = Tom", "Age: 30\nMy Own Best Friend: Tom"),
            ("Age = 30\nMy Own Very Best Friend = Tom", "Age = 30\nMy Own Very Best Friend = Tom"),
            ("Age = 30\nRoom2 = 40", "Age = 30\nRoom2 = 40"),
            ("```\nAge = 30\nBmi = 40\n```", "```\nAge = 30\nBmi = 40\n```"),
            ("```\nAge = 30\nBmi = 40", "```\nAge = 30\nBmi = 40"),
            ("Age = 3\nBmi = 4\n```\nx", "Age: 3\nBmi: 4\n```\nx"),
            (
                "Age = 3\nBmi = 4\n```\nx\n```\nHip = 5\nLeg = 6",
                "Age: 3\nBmi: 4\n```\nx\n```\nHip: 5\nLeg: 6",
            ),
        ] {
            let listed = listed(text);
            assert_eq!((&*listed.text, listed.equated), (form, form.contains(": ")), "{text}");
        }
    }

    #[test]
    fn values_are_two_lines_and_more() {
        let (of, beside) = values("Note: who?\n\nAge: 30\n City: Rome\nx\nEnd: y");
        assert_eq!(
            (of.join("|").as_str(), beside.as_str()),
            ("age: 30|city: rome", "Note: who?\n\nx\nEnd: y\n")
        );
    }
}
