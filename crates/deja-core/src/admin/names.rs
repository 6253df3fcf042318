//! What names may be, and how they are quoted.

use super::AdminError;

/// A name for people: 1 to 100 characters, at least one of them to be seen, none of them a control character or one
/// that turns the direction of writing round, no blank at an end.
pub(super) fn name_of(text: &str) -> Result<String, AdminError> {
    let name = text.trim();
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let unseen =
        |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    let refused = name.chars().any(|c| c.is_control() || turns(c));
    if (1..=100).contains(&name.chars().count()) && !refused && !name.chars().all(unseen) {
        return Ok(name.to_owned());
    }
    let wanted = "1 to 100 characters that can be seen";
    let problem = format!("the name '{}' is not allowed: use {wanted}", shown(name));
    Err(AdminError::Invalid(problem).about("name"))
}

/// A model id: not trimmed, because requests are compared byte for byte.
pub(super) fn model_of(text: &str) -> Result<String, AdminError> {
    let blank = |c: char| c.is_control() || c.is_whitespace();
    if (1..=200).contains(&text.len()) && !text.chars().any(blank) {
        return Ok(text.to_owned());
    }
    let wanted = "1 to 200 bytes, without blanks";
    Err(AdminError::Invalid(format!("the model '{}' is not allowed: use {wanted}", shown(text))))
}

/// Model ids, each once, in the order given.
pub(super) fn models_of(texts: Vec<String>) -> Result<Vec<String>, AdminError> {
    let mut models: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        let model = model_of(&text)?;
        if !models.contains(&model) {
            models.push(model);
        }
    }
    Ok(models)
}

/// A text of the operator's, safe to show in one line.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(120).flat_map(char::escape_debug).collect()
}
