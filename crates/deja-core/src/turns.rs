//! Turns at reading answers. Read into a tree of values, an answer takes up to a hundred times its bytes, so few long ones are
//! read at once.

use std::sync::LazyLock;

use crate::id::ProjectId;
use crate::shares::{Held, Shares};

/// Answers of up to so many bytes are read at any time.
const SHORT: usize = 64 * 1024;
/// Bytes of the longer ones that are read at once, of one project. A longer one has a turn of its own.
const MOST: usize = 8 * 1024 * 1024;

/// What is read at once, in bytes: of all projects twice as much as of one.
static TURNS: LazyLock<Shares> = LazyLock::new(|| Shares::halves(2 * MOST, MOST));

/// Waits for the turn of an answer of so many bytes, which `project` asked for if it did. It lasts until what is given is dropped;
/// a short answer needs none.
pub async fn turn(project: Option<ProjectId>, bytes: usize) -> Option<Held> {
    if bytes <= SHORT {
        return None;
    }
    let mut turn = project.map_or_else(|| TURNS.whole(), |project| TURNS.of(project));
    turn.take(bytes.min(MOST)).await;
    Some(turn)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_long_answer_of_a_project_is_read_at_once_and_short_ones_at_any_time() {
        let [one, other] = [1, 2].map(|number| Some(ProjectId::from_bytes([number; 16])));
        let first = turn(one, 2 * MOST).await;
        let mut second = Box::pin(turn(one, SHORT + 1));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(turn(one, SHORT).now_or_never().is_some());
        assert!(turn(other, MOST).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }
}
