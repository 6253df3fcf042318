//! Pages of lists that are read whole: projects and keys, of which there are hundreds.

/// Rows of a page.
const PAGE: usize = 100;

/// The rows behind the one at `after`, ordered by their places, and the place where the next page goes on. A place
/// stays what it is while rows come and go, so that none is left out or shown twice.
pub(super) fn page<T>(rows: Vec<T>, place: impl Fn(&T) -> String, after: &str) -> (Vec<T>, Option<String>) {
    let mut placed: Vec<(String, T)> = rows.into_iter().map(|row| (place(&row), row)).collect();
    placed.retain(|(place, _)| place.as_str() > after);
    placed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let more = placed.len() > PAGE;
    placed.truncate(PAGE);
    let next = placed.last().filter(|_| more).map(|(place, _)| place.clone());
    (placed.into_iter().map(|(_, row)| row).collect(), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_page_while_others_come() {
        let place = |number: &u32| format!("{number:04}");
        let (first, next) = page((0..250).rev().collect(), place, "");
        assert_eq!((first, next.as_deref()), ((0..100).collect(), Some("0099")));
        // Rows before and behind come meanwhile, and one goes.
        let (second, next) = page((0..260).filter(|n| *n != 99).collect(), place, "0099");
        assert_eq!((second, next.as_deref()), ((100..200).collect(), Some("0199")));
        let (last, next) = page((0..260).collect(), place, "0199");
        assert_eq!((last.len(), next), (60, None));
    }
}
