//! The orders of long lists: what rows are listed by, and where a page goes on.

use crate::cache::EntryDetail;
use crate::clock::nanos;
use crate::id::EntryId;
use crate::request_log::LogRow;

/// An order of rows by a column. Rows with nothing in the column come last either way, and equal ones go by their
/// identity, in the same direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order<C> {
    /// The column.
    pub by: C,
    /// Whether the greatest comes first.
    pub descends: bool,
}

/// The columns by which a project's entries can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryColumn {
    /// When they were stored.
    Created,
    /// When they were last hit, or else stored: what was not used for longest is evicted first.
    LastUsed,
    /// Prompts that they answered.
    Hits,
}

/// The columns by which a project's requests can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogColumn {
    /// Their numbers: the order in which they came.
    Number,
    /// How similar the entry was that they met, if they met one.
    Similarity,
    /// How long the answer took, if there was one.
    Latency,
    /// Dollars not spent.
    Saved,
}

/// An order of entries.
pub type EntryOrder = Order<EntryColumn>;
/// An order of requests.
pub type LogOrder = Order<LogColumn>;

/// A place in a list, named by a row. The page behind it has all rows that follow this row, whether the row is still there or
/// not. If pages are read one behind the other, each row is on exactly one of them. A row whose value changes meanwhile moves: it
/// may be on two pages or on none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor<I> {
    /// The value of the row in the column: nanoseconds, a count, nanodollars, or the bits of a similarity, which have
    /// the order of similarities.
    pub value: Option<i64>,
    /// The row's identity.
    pub id: I,
}

impl EntryOrder {
    /// The newest first.
    pub const NEWEST: Self = Self { by: EntryColumn::Created, descends: true };

    /// Where an entry stands.
    pub fn cursor(self, detail: &EntryDetail) -> Cursor<EntryId> {
        let created = detail.entry.created;
        let value = match self.by {
            EntryColumn::Created => created.as_nanos(),
            EntryColumn::LastUsed => detail.last_hit.unwrap_or(created).as_nanos(),
            EntryColumn::Hits => signed(detail.hits),
        };
        Cursor { value: Some(value), id: detail.entry.id }
    }
}

impl LogOrder {
    /// The latest first.
    pub const NEWEST: Self = Self { by: LogColumn::Number, descends: true };

    /// Where a request stands.
    pub fn cursor(self, row: &LogRow) -> Cursor<u64> {
        let logged = &row.logged;
        let value = match self.by {
            LogColumn::Number => Some(signed(row.number)),
            // Without its sign, which a zero may have.
            LogColumn::Similarity => {
                logged.met.as_ref().map(|met| met.similarity.get().abs().to_bits().into())
            }
            LogColumn::Latency => logged.latency.map(nanos),
            LogColumn::Saved => Some(signed(logged.saved.as_nanos())),
        };
        Cursor { value, id: row.number }
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
