//! Formats integers for users. Numbers of bytes are in [`crate::limits::size`].

/// `336776` as `336 776`, with a narrow space that does not break.
pub fn thousands(n: u64) -> String {
    grouped(n, '\u{202f}')
}

/// With `separator` between groups of three digits.
pub fn grouped(n: u64, separator: char) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 * separator.len_utf8());
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let all = [0, 999, 1_000, 336_776, 1_234_567].map(|n| grouped(n, ','));
        assert_eq!(all, ["0", "999", "1,000", "336,776", "1,234,567"]);
        assert_eq!(thousands(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
