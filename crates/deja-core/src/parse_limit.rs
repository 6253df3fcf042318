//! A limit on answers that are parsed at once. Parsed into a tree of values, an answer takes up to a hundred times its bytes, so
//! few long ones are.

use std::sync::LazyLock;

use crate::id::ProjectId;
use crate::shares::{Held, Shares};

/// Answers of up to so many bytes are parsed at any time.
const SHORT: usize = 64 * 1024;
/// Bytes of the longer ones that are parsed at once, of one project. A longer one takes all of them.
const MOST: usize = 8 * 1024 * 1024;

/// What is parsed at once, in bytes: of all projects twice as much as of one.
static ROOM: LazyLock<Shares> = LazyLock::new(|| Shares::halves(2 * MOST, MOST));

/// Waits for room to parse an answer of so many bytes, which `project` asked for if it did, or to write it. It is taken until what
/// is given is dropped; a short answer needs none.
pub async fn room_to_parse(project: Option<ProjectId>, bytes: usize) -> Option<Held> {
    if bytes <= SHORT {
        return None;
    }
    let mut room = project.map_or_else(|| ROOM.whole(), |project| ROOM.of(project));
    room.take(bytes.min(MOST)).await;
    Some(room)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_long_answer_of_a_project_is_parsed_at_once_and_short_ones_at_any_time() {
        let [one, other] = [1, 2].map(|number| Some(ProjectId::from_bytes([number; 16])));
        let first = room_to_parse(one, 2 * MOST).await;
        let mut second = Box::pin(room_to_parse(one, SHORT + 1));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(room_to_parse(one, SHORT).now_or_never().is_some());
        assert!(room_to_parse(other, MOST).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }
}
