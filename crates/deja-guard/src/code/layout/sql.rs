//! The words of SQL.

/// Words that are the same in small letters and in capitals. Names of functions are too; those of tables may not be.
const WORDS: [&str; 88] = [
    "add", "all", "alter", "analyze", "and", "as", "asc", "begin", "between", "boolean", "by", "cascade",
    "case", "check", "column", "commit", "constraint", "create", "cross", "database", "date", "default",
    "delete", "desc", "distinct", "drop", "else", "end", "except", "exists", "explain", "false", "foreign",
    "from", "full", "group", "having", "if", "ilike", "in", "index", "inner", "insert", "int", "integer",
    "intersect", "interval", "into", "is", "join", "key", "left", "like", "limit", "not", "null", "offset",
    "on", "or", "order", "outer", "over", "partition", "primary", "references", "rename", "replace",
    "returning", "right", "rollback", "select", "set", "table", "text", "then", "timestamp", "to", "true",
    "union", "unique", "update", "using", "values", "varchar", "view", "when", "where", "with",
];

pub(super) fn is_word(word: &str) -> bool {
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}
