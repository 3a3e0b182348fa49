//! `if (n = 3)`: C++ sets the variable and goes on, on a GPU as well, and nobody means it.

use super::unset::masked;

/// Line and column, from 1, of a `=` in a condition that sets a variable to a number.
pub fn assignment(text: &str) -> Option<(u32, u32)> {
    let masked = masked(text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let at = ["if", "while"].into_iter().flat_map(|word| masked.match_indices(word)).find_map(|(at, word)| {
        let free = !masked[..at].ends_with(is_word);
        let inner = masked[at + word.len()..].trim_start().strip_prefix('(').filter(|_| free)?;
        let inside = inner.split([')', '(', ';', '{']).next()?;
        let (left, right) = inside.split_once('=')?;
        let is_place = left.trim().starts_with(|c: char| c.is_alphabetic() || c == '_')
            && left.chars().all(|c| is_word(c) || c.is_whitespace() || ".[]>".contains(c))
            && left.split_whitespace().count() == 1
            // The compiler has a better word for these.
            && !["threadIdx", "blockIdx", "blockDim", "gridDim"].iter().any(|own| left.trim().starts_with(own));
        let is_number = right.trim().starts_with(|c: char| c.is_ascii_digit())
            && right.trim().chars().all(|c| is_word(c) || c == '.');
        (is_place && is_number).then(|| masked.len() - inner.len() + left.len())
    })?;
    let start = masked[..at].rfind('\n').map_or(0, |end| end + 1);
    Some((masked[..at].matches('\n').count() as u32 + 1, text[start..at].chars().count() as u32 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_is_no_comparison() {
        assert_eq!(assignment("\n  if (n = 3) x = 1;"), Some((2, 9)));
        assert_eq!(assignment("while (a[i].x = 0.5f) {}"), Some((1, 15)));
        for right in [
            "if (n == 3) x = 3;",
            "if (n <= 3 && m >= 4 || (p != 2)) {}",
            "while (x = next(3)) {}",
            "if (int a = 3) {}",
            "// if (n = 3)",
        ] {
            assert_eq!(assignment(right), None, "{right}");
        }
    }
}
