//! What a form was filled with. Only what was touched is saved, and not silently over what was changed meanwhile.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, from_value};

use super::error::ConsoleError;
use super::form::Problem;
use super::page::Visit;

/// What is sealed in a form.
const BEFORE: &str = "settings that a form was filled with";

/// The field, the name and the value of a setting that a form has no words for.
pub(super) const UNNAMED: (&str, &str, String) = ("form", "another setting", String::new());

/// Which settings a form changes.
pub(super) struct Touched {
    names: Vec<String>,
    /// Of these, what has another value than the form was filled with, and another than it asks for.
    overtaken: Vec<String>,
}

/// For a hidden field of a form that is filled with these settings.
pub(super) fn seal(visit: &Visit, filled: &impl Serialize) -> Result<String, ConsoleError> {
    visit.seal_filled(BEFORE, filled)
}

/// The settings of a form that are not the ones it was filled with: what was not touched is left as it is, because
/// somebody else may have changed it since. `now` is what is set.
pub(super) fn touched<T: Serialize + DeserializeOwned>(
    visit: &Visit,
    patch: T,
    before: &str,
    now: &T,
) -> Result<(T, Touched), ConsoleError> {
    let Some(before) = visit.open_filled::<Map<String, Value>>(BEFORE, before) else {
        return Ok((patch, Touched { names: Vec::new(), overtaken: Vec::new() }));
    };
    let (mut wanted, now) = (values(&patch)?, values(now)?);
    wanted.retain(|name, value| before.get(name) != Some(value));
    let sent = wanted.iter().filter(|(_, value)| !value.is_null());
    let touched = Touched::of(&before, sent, &now);
    Ok((from_value(Value::Object(wanted)).map_err(ConsoleError::failed)?, touched))
}

fn values(patch: &impl Serialize) -> Result<Map<String, Value>, ConsoleError> {
    serde_json::to_value(patch).and_then(from_value).map_err(ConsoleError::failed)
}

/// The settings that a form asks for.
#[cfg(test)]
pub(super) fn names(patch: &impl Serialize) -> Result<Vec<String>, ConsoleError> {
    let set = values(patch)?.into_iter().filter(|(_, value)| !value.is_null());
    Ok(set.map(|(name, _)| name).collect())
}

impl Touched {
    /// `wanted` are settings that a form asks for.
    pub(super) fn of<'a>(
        before: &Map<String, Value>,
        wanted: impl Iterator<Item = (&'a String, &'a Value)>,
        now: &Map<String, Value>,
    ) -> Self {
        let touched = wanted.filter(|(name, value)| before.get(*name) != Some(value));
        let (mut names, mut overtaken) = (Vec::new(), Vec::new());
        for (name, value) in touched {
            let now = now.get(name);
            if now != before.get(name) && now != Some(value) {
                overtaken.push(name.clone());
            }
            names.push(name.clone());
        }
        Self { names, overtaken }
    }

    /// What the form has in this setting: what was typed if it was touched, and otherwise what is set now.
    pub(super) fn or_now<T>(&self, name: &str, typed: T, now: T) -> T {
        if self.names.iter().any(|touched| touched == name) { typed } else { now }
    }

    /// What is wrong with it, if something was changed meanwhile; `told` gives the field of a setting, its name and its present
    /// value.
    pub(super) fn problem(
        &self,
        told: impl Fn(&str) -> (&'static str, &'static str, String),
    ) -> Option<Problem> {
        let all: Vec<_> = self.overtaken.iter().map(|name| told(name)).collect();
        let (field, ..) = all.first()?;
        let each = all.iter().map(|(_, name, now)| match now.as_str() {
            "" => format!("{name} (now empty)"),
            now => format!("{name} (now {now})"),
        });
        let each = each.collect::<Vec<_>>().join(", ");
        let text = format!(
            "Changed meanwhile, by somebody else or in another window: {each}. Nothing was saved. What you typed is \
             still here: save again to put it in place of that."
        );
        Some(Problem::of(field, text))
    }
}
