//! The columns of the rollups' sums, the same in both databases.

use deja_core::analytics::Totals;

/// The columns of [`Totals::as_array`], in its order.
pub(crate) const SUMS: [&str; Totals::FIELDS] = [
    "exact_hits", "semantic_hits", "misses", "errors", "refused", "rate_limited", "input_tokens",
    "output_tokens", "saved_input_tokens", "saved_output_tokens", "saved", "spent", "passed", "new_scopes",
    "new_instructions", "new_turns", "new_contexts", "new_end_users", "new_parameters", "unknown_models",
    "forbidden_models", "closed_projects", "not_cached", "unpriced", "too_long",
];

/// What a sum stops at: a provider may claim any number of tokens, and counting must go on after that.
pub(crate) const MOST: i64 = i64::MAX;

/// The sum of two numbers, neither below 0. `least` is the database's name of the function for the smaller one.
pub(crate) fn plus(least: &str, a: &str, b: &str) -> String {
    format!("{a} + {least}({b}, {MOST} - {a})")
}

/// Each column in the form that `form` gives it, as a list.
pub(crate) fn sums(form: impl FnMut(&str) -> String) -> String {
    SUMS.map(form).join(", ")
}
