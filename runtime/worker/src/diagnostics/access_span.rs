//! The place on a line of CUDA C++ at which a message points. The checker reports the line of an access, the accessed
//! memory and whether it is written. The rest is read from the line as it was written. Nothing is parsed: what is not
//! clear is the whole line.

use std::ops::Range;

use crate::source::instrument_uninitialized::is_word;

/// `name` or `name[…]` on a line, and what happens to it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// In bytes of the line.
    pub range: Range<usize>,
    /// Whether it is left of `=`, of `+=` or a similar operator, or next to `++` or `--`.
    pub is_written: bool,
    /// Not by `=` alone.
    pub is_read: bool,
}

/// All of them; without an index only where `is_scalar`.
pub fn mentions(line: &str, name: &str, is_scalar: bool) -> Vec<Mention> {
    let found = line.match_indices(name).filter_map(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + name.len()..]);
        if before.ends_with(is_word) || before.ends_with('.') || before.ends_with("->") || after.starts_with(is_word) {
            return None;
        }
        let end = start + name.len() + brackets(after).or(is_scalar.then_some(0))?;
        let (before, after) = (before.trim_end(), line[end..].trim_start());
        let counted = ["++", "--"].iter().any(|sign| after.starts_with(sign) || before.ends_with(sign));
        let changed =
            ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="].iter().any(|o| after.starts_with(o));
        let set = after.starts_with('=') && !after.starts_with("==");
        Some(Mention { range: start..end, is_written: counted || changed || set, is_read: !set })
    });
    found.collect()
}

/// The one that an access is, if only one can be.
pub fn pick(all: &[Mention], writes: bool) -> Option<&Mention> {
    if let [only] = all {
        return Some(only);
    }
    let written: Vec<&Mention> = all.iter().filter(|mention| mention.is_written).collect();
    let only_read: Vec<&Mention> = all.iter().filter(|mention| !mention.is_written).collect();
    match (writes, written.as_slice(), only_read.as_slice()) {
        (true, [one], _) | (false, _, [one]) => Some(one),
        _ => None,
    }
}

/// The only one of several reads whose index goes the way that a wrong index has gone: `in[i - 1]` for one below 0.
pub fn by_direction<'a>(line: &str, all: &'a [Mention], below: bool) -> Option<&'a Mention> {
    let sign = if below { '-' } else { '+' };
    let mut going = all.iter().filter(|mention| line[mention.range.clone()].contains(sign));
    going.next().filter(|_| going.next().is_none())
}

/// Whether the line changes what it reads, and reads it nowhere else: `sum[0] += x`, `bins[b]++`, `x[i] = x[i] + 1`.
pub fn adds_up(line: &str, all: &[Mention]) -> bool {
    match all {
        // By another name: `*total += x`, `(*total)++`.
        [] => ["+=", "-=", "*=", "|=", ")++", ")--"].iter().any(|change| line.contains(change)),
        [only] => only.is_written && only.is_read,
        [to, from] => to.is_written && line[to.range.clone()] == line[from.range.clone()],
        _ => false,
    }
}

/// The part of a line up to the index that is wrong, and its part before that index: `s[y][x + 1]` and `s[y]`. The
/// column is that of the closing bracket, or of the beginning of it all: then what has the index has so many
/// dimensions.
pub fn indexed(line: &str, column: u32, dimensions: u32) -> Option<(Range<usize>, &str)> {
    let end = column as usize;
    if let Some(open) = line.get(..end).filter(|text| text.ends_with(']')).and_then(opening) {
        return whole_index(line, open, end);
    }
    let start =
        end.checked_sub(1).filter(|start| line.get(..*start).is_some_and(|before| !before.ends_with(is_word)))?;
    let word = &line[start..];
    let mut at = start + (word.len() - word.trim_start_matches(|c: char| is_word(c) || c == '.').len());
    let mut all = Vec::new();
    while let Some(length) = first_bracket(&line[at..]) {
        all.push((at, at + length));
        at += length;
    }
    let (open, close) = *all.get(all.len().checked_sub(dimensions as usize)?)?;
    (open > start).then(|| (start..close, &line[start..open]))
}

/// The operand of the index from `open` to `end`, and both together.
fn whole_index(line: &str, open: usize, end: usize) -> Option<(Range<usize>, &str)> {
    let mut start = open;
    loop {
        let rest = &line[..start];
        let word = rest.trim_end_matches(is_word);
        start = if word.len() < rest.len() {
            word.len()
        } else if let Some(open) = opening(rest) {
            open
        } else if let Some(object) = rest.strip_suffix('.').or_else(|| rest.strip_suffix("->")) {
            object.len()
        } else {
            break;
        };
    }
    let array = line[start..open].trim();
    (!array.is_empty()).then_some((start..end, array))
}

/// A call of a function, to its closing bracket if that is on the line.
pub fn call(line: &str, function: &str) -> Option<Range<usize>> {
    let start = line.find(&format!("{function}("))?;
    let mut depth = 0;
    for (at, c) in line[start..].char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && c == ')' {
            return Some(start..start + at + 1);
        }
    }
    Some(start..start + function.len())
}

/// The length of one or more `[…]` at the start of a text.
fn brackets(text: &str) -> Option<usize> {
    let mut end = None;
    while let Some(length) = first_bracket(&text[end.unwrap_or(0)..]) {
        end = Some(end.unwrap_or(0) + length);
    }
    end
}

/// The length of one `[…]` at the start of a text.
fn first_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(at + 1),
            ']' => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The begin of the `[…]` or `(…)` at the end of a text.
fn opening(text: &str) -> Option<usize> {
    if !text.ends_with([']', ')']) {
        return None;
    }
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        depth += i32::from(matches!(c, ']' | ')')) - i32::from(matches!(c, '[' | '('));
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, name: &str, read: Option<&str>, written: Option<&str>, adds: bool) {
        let all = mentions(line, name, name == "total");
        let text = |writes| pick(&all, writes).map(|mention| &line[mention.range.clone()]);
        assert_eq!((text(false), text(true), adds_up(line, &all)), (read, written, adds), "{line}");
    }

    #[test]
    fn accesses_are_found_on_their_line() {
        check("s[t] += s[t - k];", "s", Some("s[t - k]"), Some("s[t]"), false);
        check("if (i < n) d[i] = d[i + 1];", "d", Some("d[i + 1]"), Some("d[i]"), false);
        check("bins[data[i]]++;", "bins", Some("bins[data[i]]"), Some("bins[data[i]]"), true);
        check("x[i] = x[i] + 1;", "x", Some("x[i]"), Some("x[i]"), true);
        check("d[i] = d[i - 1] + d[i + 1];", "d", None, Some("d[i]"), false);
        check("if (s[a] == s[b]) out.s[0] = s[c];", "s", None, None, false);
        check("*q++ = 2;", "data", None, None, false);
        check("*q += 2;", "data", None, None, true);
        check("total += own[t];", "total", Some("total"), Some("total"), true);
        check("subtotal = total;", "total", Some("total"), Some("total"), false);
    }

    #[test]
    fn arrays_are_found_before_their_bracket() {
        #[track_caller]
        fn check(line: &str, expected: Option<(&str, &str)>) {
            let column = line.find('!').map_or(0, |at| at as u32);
            let line = line.replace('!', "");
            assert_eq!(indexed(&line, column, 1).map(|(range, array)| (&line[range], array)), expected);
        }
        check("  s[y][x + 1]! = a[0];", Some(("s[y][x + 1]", "s[y]")));
        check("x = p.list(n)[a[i]]!;", Some(("p.list(n)[a[i]]", "p.list(n)")));
        check("größe = loc[n]!;", Some(("loc[n]", "loc")));
        check("AT(loc, n)!;", None);
        check("loc! + 1", None);
        assert_eq!(indexed("größe[0]", 3, 1), None);
        let from = |column, dimensions| indexed("x = s[y][x + 1] + t;", column, dimensions).map(|(_, array)| array);
        assert_eq!((from(5, 1), from(5, 2), from(5, 3), from(19, 1)), (Some("s[y]"), Some("s"), None, None));
    }
}
