//! Variables of a function that are declared without values get marks behind their declarations. An array is filled
//! with a value that the checker knows when it is read. Another variable gets an arbitrary value, and a kernel that
//! depends on it is reported. A compiler does not follow what elements of an array have, and takes a variable that is
//! set in one branch for set. Nothing is parsed: a text that does not compile with the marks is compiled without them.

use std::collections::HashSet;

/// A mark: where it goes, in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumentation {
    pub at: usize,
    pub text: String,
}

/// The variables that get marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkedVariables {
    /// And structs that have some.
    Arrays,
    All,
}

/// Words that begin no declaration, or a declaration of something that is not a function's own.
const OTHERS: &[&str] = &[
    "return",
    "delete",
    "throw",
    "goto",
    "else",
    "do",
    "using",
    "typedef",
    "extern",
    "static",
    "constexpr",
    "__shared__",
    "__constant__",
    "__device__",
    "thread_local",
    "case",
    "default",
    "new",
    "friend",
    "struct",
    "class",
    "union",
    "enum",
];

pub fn marks(text: &str, which: MarkedVariables) -> Vec<Instrumentation> {
    // A macro's variables may be the block's.
    if text.lines().any(|line| line.trim_start().starts_with('#') && line.contains("__shared__")) {
        return Vec::new();
    }
    let text = masked(text);
    let structs = structs_with_arrays(&text);
    let mut marks = Vec::new();
    // Whether each open brace is that of statements.
    let mut open: Vec<bool> = Vec::new();
    let (mut begin, mut brackets) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => brackets += 1,
            ')' => brackets -= 1,
            '{' => {
                let inside = open.last().copied().unwrap_or(false);
                open.push(has_statements(text[begin..at].trim(), inside));
            }
            '}' => _ = open.pop(),
            ';' if brackets == 0 && open.last() == Some(&true) => {
                let names = declared(text[begin..at].trim(), &structs);
                let calls = names.iter().filter_map(|(name, is_array)| match (is_array, which) {
                    (true, _) => Some(format!(" onrush_unset({name});")),
                    (false, MarkedVariables::All) => Some(format!(" onrush_poison({name}, \"{name}\");")),
                    (false, MarkedVariables::Arrays) => None,
                });
                let calls: String = calls.collect();
                if !calls.is_empty() {
                    marks.push(Instrumentation { at: at + 1, text: calls });
                }
            }
            _ => {}
        }
        if matches!(c, '{' | '}') || c == ';' && brackets == 0 {
            begin = at + 1;
            brackets = 0;
        }
    }
    marks
}

pub fn with_marks(text: &str, marks: &[Instrumentation]) -> String {
    let mut out = text.to_string();
    marks.iter().rev().for_each(|mark| out.insert_str(mark.at, &mark.text));
    out
}

/// A column of a marked line, from 1, as it is in the text.
pub fn column_before(text: &str, marks: &[Instrumentation], line: u32, column: u32) -> u32 {
    let start: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
    let mut column = column as usize;
    for mark in marks.iter().filter(|mark| mark.at >= start && !text[start..mark.at].contains('\n')) {
        if start + column > mark.at + 1 {
            column = column.saturating_sub(mark.text.len()).max(mark.at + 1 - start);
        }
    }
    column as u32
}

/// Whether a brace behind this opens statements, in the midst of statements or not.
fn has_statements(head: &str, inside: bool) -> bool {
    let word = |word: &str| head.split(|c: char| !is_word(c)).any(|other| other == word);
    if ["struct", "class", "union", "enum", "namespace", "extern"].into_iter().any(word) && !head.ends_with(')') {
        return false;
    }
    match head.chars().next_back() {
        Some(')') => true,
        // `= {`, `return {`, `f({` and `int a[3]{` are values.
        Some('=' | ',' | '(' | ']') => false,
        Some(':') | None => inside,
        Some(_) => ["const", "noexcept", "else", "do", "mutable"].iter().any(|end| head.ends_with(end)) || word("->"),
    }
}

/// The names that a statement declares without values, and whether each is an array or a struct that has some.
fn declared<'a>(statement: &'a str, structs: &HashSet<String>) -> Vec<(&'a str, bool)> {
    let first = statement.split(|c: char| !is_word(c)).next().unwrap_or("");
    let plain = |c: char| is_word(c) || c.is_whitespace() || "[]*,+-/<>:&%".contains(c);
    if first.is_empty() || statement.split(|c: char| !is_word(c)).any(|word| OTHERS.contains(&word)) {
        return Vec::new();
    }
    let mut depth = 0;
    let parts = statement.split(|c: char| {
        depth += i32::from("[<({".contains(c)) - i32::from("]>)}".contains(c));
        c == ',' && depth == 0
    });
    let is_struct = structs.contains(first);
    let mut names = Vec::new();
    for (number, part) in parts.enumerate() {
        let (declarator, has_value) = part.find(['=', '(', '{']).map_or((part, false), |at| (&part[..at], true));
        let (head, is_array) = declarator.find('[').map_or((declarator, false), |at| (&declarator[..at], true));
        let head = head.trim();
        let name = &head[head.trim_end_matches(is_word).len()..];
        let before = head[..head.len() - name.len()].trim();
        // The first one has its type before it.
        let declares = match number {
            0 => !before.is_empty() && !before.ends_with(|c: char| "+-/%:&,<".contains(c)),
            _ => before.is_empty() || before == "*",
        };
        if !declares || !name.starts_with(|c: char| c.is_alphabetic() || c == '_') || !declarator.chars().all(plain) {
            return Vec::new();
        }
        if !has_value {
            // The target of a pointer is not the function's.
            names.push((name, is_array || is_struct && !before.ends_with('*')));
        }
    }
    names
}

/// The structs that the text defines.
fn structs_with_arrays(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    for part in text.split("struct ").skip(1) {
        let Some((head, rest)) = part.split_once('{') else { continue };
        let body = rest.split('}').next().unwrap_or("");
        let name = head.trim();
        if !name.is_empty() && name.chars().all(is_word) && body.contains('[') {
            found.insert(name.to_string());
        }
    }
    found
}

/// The source with spaces in place of comments, string literals and preprocessor lines.
pub fn masked(text: &str) -> String {
    let mut out: Vec<u8> = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let from = at;
        let line = |from: usize| bytes[from..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |end| from + end);
        at = match rest {
            [b'/', b'/', ..] => line(at),
            [b'#', ..] => {
                let mut end = line(at);
                while end < bytes.len() && bytes[..end].ends_with(b"\\") {
                    end = line(end + 1);
                }
                end
            }
            [b'/', b'*', ..] => {
                rest.windows(2).skip(2).position(|w| w == b"*/").map_or(bytes.len(), |end| at + end + 4)
            }
            [quote @ (b'"' | b'\''), ..] => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != *quote && bytes[end] != b'\n' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                (end + 1).min(bytes.len())
            }
            _ => {
                at += 1;
                continue;
            }
        };
        out[from..at].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    // Outside of string literals and comments C++ has ASCII only.
    out.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b' ');
    String::from_utf8(out).unwrap_or_default()
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(with_marks(text, &marks(text, MarkedVariables::Arrays)), expected);
    }

    #[test]
    fn arrays_without_values_are_marked() {
        check(
            "__global__ void k(int n) {\n int a[4], b, c[2][N]; // x[3];\n a[0] = 1; }",
            "__global__ void k(int n) {\n int a[4], b, c[2][N]; onrush_unset(a); onrush_unset(c); // x[3];\n a[0] = 1; }",
        );
        check(
            "struct H { int bins[4]; };\nvoid f() { if (x) { H h; float* p[3]; } for (;;) H* q; }",
            "struct H { int bins[4]; };\nvoid f() { if (x) { H h; onrush_unset(h); float* p[3]; onrush_unset(p); } for (;;) H* q; }",
        );
        for other in [
            "int a[4];\nstruct P { int v[3]; void f(); };",
            "void f() { int a[4] = {1}; __shared__ int s[4]; static int t[3]; return a[1]; }",
            "void f() { a[3] = 1; a[i]; x += b[3]; delete p[3]; f(a[1], b[2]); \"int a[3];\"; }",
            "void f() { struct P { int v[3]; }; int i; for (int i = 0; i < n; i++) s += a[i]; }",
            "#define SHARED __shared__\nvoid f() { SHARED int a[4]; }",
            "#define F \\\n void f() { int a[4]; }",
            "void f() { int a[] = {1, 2}; auto g = [=](int x) -> int { return x; }; }",
        ] {
            check(other, other);
        }
    }

    #[test]
    fn others_are_marked_by_name() {
        let text = "void f() { float c = max(1, 2), a, *p, b[2]; x * 3; return x; i--; a < b; y = z; if (a) break; int c = 1; for (int i;;); }";
        let expected =
            text.replace("b[2];", "b[2]; onrush_poison(a, \"a\"); onrush_poison(p, \"p\"); onrush_unset(b);");
        assert_eq!(with_marks(text, &marks(text, MarkedVariables::All)), expected);
    }

    #[test]
    fn columns_are_those_of_the_text() {
        let text = "\nvoid f() { int a[4]; a[n] = 1; }";
        let marks = marks(text, MarkedVariables::Arrays);
        let marked = with_marks(text, &marks);
        let column = |text: &str| text.lines().nth(1).unwrap().find("a[n]").unwrap() as u32 + 1;
        assert_eq!(column_before(text, &marks, 2, column(&marked)), column(text));
        assert_eq!(column_before(text, &marks, 2, 5), 5);
    }
}
