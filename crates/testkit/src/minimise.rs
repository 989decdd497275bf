//! Shrinks a failing stream until it is short enough to read.

/// Removes lines as long as the rest still fails, large blocks first.
#[must_use]
pub fn shrink_stream(stream: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
    let mut block = lines.len().div_ceil(2);
    while block > 0 {
        let mut at = 0;
        while at < lines.len() {
            let end = lines.len().min(at + block);
            let rest: Vec<&[u8]> = lines.iter().take(at).chain(lines.iter().skip(end)).copied().collect();
            if fails(&rest.concat()) {
                lines = rest;
            } else {
                at = end;
            }
        }
        block /= 2;
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::shrink_stream;

    #[test]
    fn only_what_is_needed_stays() {
        let fails = |stream: &[u8]| stream.contains(&b'x') && stream.contains(&b'y');
        assert_eq!(shrink_stream(b"a\nx\nb\nc\ny\nd\n", fails), b"x\ny\n");
    }
}
