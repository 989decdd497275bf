//! Finds the differing words of a changed line.

use std::ops::Range;

/// Longer lines are not compared.
const MAX_COMPARED_LINE_BYTES: usize = 2_000;

/// Returns the differing part of each of two lines; `None` if they share too little to be versions of one line.
pub(super) fn different(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    if old.len() > MAX_COMPARED_LINE_BYTES || new.len() > MAX_COMPARED_LINE_BYTES || old == new {
        return None;
    }
    let start = word_start(old, old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count());
    let (old_rest, new_rest) = (old.get(start..)?, new.get(start..)?);
    let same = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    let end = word_end(old_rest, new_rest, same);
    let shared = old.get(..start)?.trim().len() + old_rest.get(old_rest.len() - end..)?.trim().len();
    let is_one_line = shared * 3 >= old.trim().len().max(new.trim().len());
    is_one_line.then_some((start..old.len() - end, start..new.len() - end))
}

/// Returns the start of the word at a position, always on a character boundary.
fn word_start(text: &str, place: usize) -> usize {
    let before = text.get(..text.floor_char_boundary(place)).unwrap_or_default();
    before.trim_end_matches(is_word).len()
}

/// Returns the length of the common suffix that does not split a word in either text.
fn word_end(old: &str, new: &str, same: usize) -> usize {
    let behind = old.get(old.ceil_char_boundary(old.len() - same)..).unwrap_or_default();
    let before = |text: &str| text.strip_suffix(behind).is_some_and(|before| before.ends_with(is_word));
    if before(old) || before(new) { behind.trim_start_matches(is_word).len() } else { behind.len() }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::different;

    #[track_caller]
    fn check(old: &str, new: &str, expected: Option<(&str, &str)>) {
        let found = different(old, new).map(|(a, b)| (old.get(a).unwrap(), new.get(b).unwrap()));
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn words_are_found() {
        check("let a = 1;", "let a = 2;", Some(("1", "2")));
        check("foo(alpha, x)", "foo(alphabet, x)", Some(("alpha", "alphabet")));
        check("fn x() {", "pub fn x() {", Some(("", "pub ")));
        check("größe = 1 + 2;", "große = 1 + 2;", Some(("größe", "große")));
        check("same", "same", None);
        check("all of it", "is something else", None);
    }
}
