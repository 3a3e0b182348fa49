//! `if (n = 3)` and `if (i < n);`: C++ sets the variable or does nothing, on a GPU as well, and nobody means it.

use super::instrument_uninitialized::{is_word, masked};

/// Line and column, from 1, of a `=` in a condition that sets a variable to a number.
pub fn assignment(text: &str) -> Option<(u32, u32)> {
    let masked = masked(text);
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
    Some(place(text, at))
}

/// Line and column, from 1, of a `;` behind an `if (…)` without an `else`.
pub fn alone(text: &str) -> Option<(u32, u32)> {
    let masked = masked(text);
    let at = masked.match_indices("if").find_map(|(at, word)| {
        let inner = masked[at + word.len()..].trim_start();
        let free = !masked[..at].ends_with(is_word) && inner.starts_with('(');
        let mut depth = 0;
        let end = inner.find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let behind = inner[end.filter(|_| free)? + 1..].trim_start();
        let follows = behind.strip_prefix(';')?.trim_start();
        (!follows.starts_with("else")).then(|| masked.len() - behind.len())
    })?;
    Some(place(text, at))
}

fn place(text: &str, at: usize) -> (u32, u32) {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    (text[..at].matches('\n').count() as u32 + 1, text[start..at].chars().count() as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_depends_on_is_no_condition() {
        assert_eq!(alone("\n  if (f(n) < (3))  ;\n x = 1;"), Some((2, 20)));
        for right in [
            "#define LOG(x)\nif (n) LOG(3);",
            "if (n) { ; }",
            "while (!flag);",
            "if (n) ; else x = 1;",
            "notif (n);",
            "// if (n);",
        ] {
            assert_eq!(alone(right), None, "{right}");
        }
    }

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
