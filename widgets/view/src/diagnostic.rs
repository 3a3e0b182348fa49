//! A diagnostic as lines of text, in the format of rustc: message, place, source with underlines, notes, help. Plain or
//! with ANSI colours. Positions count characters; underlines are laid out in terminal cells.

use onrush_wire::diagnostic::Severity;
use onrush_wire::{Call, Class, Diagnostic, Label};
use unicode_width::UnicodeWidthStr;

use crate::html::visible;

/// Width of a tab, in cells.
const TAB: usize = 4;
/// Width of a line, in cells, for terminals: text wraps, and source is cut around its labels.
const WIDTH: usize = 80;
/// Minimum width of label text that is far to the right, in cells.
const ENOUGH: usize = 40;
/// Minimum width of source, whatever the number of digits of its line number, in cells.
const NARROWEST_SOURCE: usize = 40;
/// Minimum width of text, however far to the right it begins, in cells.
const NARROWEST: usize = 28;
/// The start of a continuation line, in colours: by it a wider front end joins the lines
/// (`widgets/web/ts/error/parse_traceback.ts`).
const GOES_ON: &str = "\x1b[0m";

/// The lines of a traceback.
pub fn lines(
    diagnostic: &Diagnostic,
    source: &dyn Fn(&str) -> Option<String>,
    title: &dyn Fn(&str) -> String,
    ansi: bool,
) -> Vec<String> {
    let diagnostic = &legible(diagnostic);
    let paint = Paint { ansi };
    let (word, color) = match diagnostic.severity {
        Severity::Error => ("error", RED),
        Severity::Warning => ("warning", YELLOW),
    };
    let code = if diagnostic.code.is_empty() { String::new() } else { format!("[{}]", diagnostic.code) };
    let mut out = Vec::new();
    for (i, line) in diagnostic.message.lines().enumerate() {
        // Continuation lines are indented by two cells.
        let first = if i == 0 { word.len() + code.width() + 2 } else { 0 };
        for (n, part) in wrapped(line, first, 2).into_iter().enumerate() {
            out.push(match (i, n) {
                (0, 0) => {
                    let head = paint.with(color, &format!("{word}{code}"));
                    format!("{head}{}", paint.with(BOLD, &format!(": {part}")))
                }
                (_, 0) => part,
                (0, _) => format!("{}  {}", paint.goes_on(), paint.with(BOLD, &part)),
                _ => format!("{}  {part}", paint.goes_on()),
            });
        }
    }
    if out.is_empty() {
        out.push(paint.with(color, &format!("{word}{code}")));
    }

    let files = by_file(&diagnostic.labels);
    let gutter = diagnostic.labels.iter().map(|l| l.span.line.to_string().len()).max().unwrap_or(1);
    let margin = " ".repeat(gutter);
    for (i, (file, labels)) in files.iter().enumerate() {
        let main = labels.iter().find(|l| l.primary).unwrap_or(&labels[0]);
        let arrow = if i == 0 { "-->" } else { ":::" };
        out.push(format!(
            "{margin}{} {}, line {}, column {}",
            paint.with(BLUE, arrow),
            title(file),
            main.span.line,
            main.span.column
        ));
        match source(file) {
            Some(text) => snippet(&mut out, &text, labels, gutter, color, paint),
            None => {
                for label in labels.iter().filter(|l| !l.text.is_empty()) {
                    let place =
                        if label.span == main.span { String::new() } else { format!("line {}: ", label.span.line) };
                    push_item(
                        &mut out,
                        &format!("{margin} {} ", paint.with(BLUE, "=")),
                        gutter + 3,
                        &format!("{place}{}", label.text),
                        paint,
                    );
                }
            }
        }
    }

    let framed = !diagnostic.labels.is_empty();
    for (name, items) in [("note", &diagnostic.notes), ("help", &diagnostic.help)] {
        for item in items {
            let (start, width) = if framed {
                (format!("{margin} {} {}: ", paint.with(BLUE, "="), paint.with(BOLD, name)), gutter + 5 + name.len())
            } else {
                (format!("{}: ", paint.with(BOLD, name)), name.len() + 2)
            };
            push_item(&mut out, &start, width, item, paint);
        }
    }
    // The place itself has been shown: the trace lists the callers.
    if diagnostic.trace.len() > 1 {
        let calls: Vec<String> = diagnostic.trace.iter().map(|call| described(call, title)).collect();
        let start = format!("{margin} {} {}: ", paint.with(BLUE, "="), paint.with(BOLD, "trace"));
        push_lines(&mut out, &start, gutter + 10, &calls.join("\n"));
    }
    out
}

/// Escapes control characters and direction marks: names of columns and values may hold anything. A name between
/// backticks stays on its line.
fn legible(diagnostic: &Diagnostic) -> Diagnostic {
    let mut diagnostic = diagnostic.clone();
    // In the output of the user's own program line breaks are kept.
    let has_names = matches!(diagnostic.class, Class::Plan | Class::Data);
    let clean = |text: &mut String| {
        let is_plain = |c: char| matches!(c, '\n' | '\t') || visible(c).is_none();
        if text.chars().all(is_plain) && !(has_names && text.contains('`')) {
            return;
        }
        let quotes = has_names && text.matches('`').count().is_multiple_of(2);
        let mut is_name = false;
        let mut out = String::with_capacity(text.len());
        for c in text.replace("\r\n", "\n").chars() {
            is_name ^= quotes && c == '`';
            match visible(c).filter(|_| is_name || !matches!(c, '\n' | '\t')) {
                Some(sign) => out.push_str(&sign),
                None => out.push(c),
            }
        }
        *text = out;
    };
    clean(&mut diagnostic.message);
    diagnostic.labels.iter_mut().for_each(|label| clean(&mut label.text));
    diagnostic.notes.iter_mut().chain(&mut diagnostic.help).for_each(clean);
    diagnostic
}

/// `In [1], line 6, in `mean``.
fn described(call: &Call, title: &dyn Fn(&str) -> String) -> String {
    let line = call.line.map(|line| format!(", line {line}")).unwrap_or_default();
    let function = match call.function.rsplit_once("{{closure}}") {
        None if call.function.is_empty() => String::new(),
        None => format!(", in `{}`", call.function),
        Some((around, _)) => {
            let around = around.split("::{{closure}}").next().unwrap_or(around).trim_end_matches("::");
            if around.is_empty() { ", in a closure".to_string() } else { format!(", in a closure of `{around}`") }
        }
    };
    format!("{}{line}{function}", title(&call.file))
}

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const BLUE: &str = "\x1b[1;34m";
const BOLD: &str = "\x1b[1m";

#[derive(Clone, Copy)]
struct Paint {
    ansi: bool,
}

impl Paint {
    fn with(self, color: &str, text: &str) -> String {
        if self.ansi && !text.is_empty() { format!("{color}{text}\x1b[0m") } else { text.to_string() }
    }

    fn goes_on(self) -> &'static str {
        if self.ansi { GOES_ON } else { "" }
    }
}

/// Wraps a line of text: the first line begins at cell `first`, the others at `others`. Code in backticks is kept
/// together if possible, and indented lines are code and not wrapped.
fn wrapped(line: &str, first: usize, others: usize) -> Vec<String> {
    if first + line.width() <= WIDTH || line.starts_with(' ') {
        return vec![line.to_string()];
    }
    let room = |start: usize| WIDTH.saturating_sub(start).max(NARROWEST);
    let mut words: Vec<String> = Vec::new();
    let mut is_code = false;
    for word in line.split(' ') {
        match words.last_mut().filter(|last| is_code && last.width() + 1 + word.width() <= room(others)) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_string()),
        }
        is_code ^= word.matches('`').count() % 2 == 1;
    }
    let (mut out, mut now, mut start) = (Vec::new(), String::new(), first);
    for (i, word) in words.into_iter().enumerate() {
        if i > 0 && now.width() + 1 + word.width() > room(start) {
            out.push(std::mem::replace(&mut now, word));
            start = others;
        } else {
            if i > 0 {
                now.push(' ');
            }
            now.push_str(&word);
        }
    }
    out.push(now);
    out
}

/// An item whose further lines are aligned with its first; continuation lines are indented by two cells.
fn push_item(out: &mut Vec<String>, start: &str, width: usize, text: &str, paint: Paint) {
    for (i, line) in text.lines().enumerate() {
        for (n, part) in wrapped(line, width, width + 2).into_iter().enumerate() {
            out.push(match (i, n) {
                (0, 0) => format!("{start}{part}"),
                (_, 0) => format!("{}{part}", " ".repeat(width)),
                _ => format!("{}{}{part}", paint.goes_on(), " ".repeat(width + 2)),
            });
        }
    }
}

/// An item whose lines are not wrapped.
fn push_lines(out: &mut Vec<String>, start: &str, width: usize, text: &str) {
    for (i, line) in text.lines().enumerate() {
        if i == 0 {
            out.push(format!("{start}{line}"));
        } else {
            out.push(format!("{}{line}", " ".repeat(width)));
        }
    }
}

/// Labels by file; the file of the first primary label first.
fn by_file(labels: &[Label]) -> Vec<(&str, Vec<&Label>)> {
    let mut files: Vec<(&str, Vec<&Label>)> = Vec::new();
    let mut sorted: Vec<&Label> = labels.iter().collect();
    sorted.sort_by_key(|l| !l.primary);
    for label in sorted {
        match files.iter_mut().find(|(file, _)| *file == label.span.file) {
            Some((_, list)) => list.push(label),
            None => files.push((&label.span.file, vec![label])),
        }
    }
    files
}

/// The position of a label in a drawn line, in cells.
#[derive(Clone, Copy)]
struct Mark<'a> {
    start: usize,
    end: usize,
    primary: bool,
    text: &'a str,
}

fn snippet(out: &mut Vec<String>, text: &str, labels: &[&Label], gutter: usize, color: &str, paint: Paint) {
    let margin = " ".repeat(gutter);
    let bar = paint.with(BLUE, "|");
    let width = WIDTH.saturating_sub(gutter + 3).max(NARROWEST_SOURCE);
    let source: Vec<&str> = text.lines().collect();
    let mut numbers: Vec<u32> = labels.iter().map(|l| l.span.line).collect();
    numbers.sort_unstable();
    numbers.dedup();
    out.push(format!("{margin} {bar}"));
    let mut previous: Option<u32> = None;
    for number in numbers {
        match previous {
            Some(p) if number == p + 2 => {
                if let Some(line) = source.get(p as usize) {
                    let shown = Line::new(line, &[]).cut(0, width).0;
                    out.push(numbered(p + 1, gutter, &shown, paint));
                }
            }
            Some(p) if number > p + 2 => out.push(paint.with(BLUE, "...")),
            _ => {}
        }
        previous = Some(number);
        // A place past the end (a missing bracket, say) is under an empty line.
        let line = (number as usize).checked_sub(1).and_then(|i| source.get(i)).copied().unwrap_or("");
        let here: Vec<&Label> = labels.iter().copied().filter(|l| l.span.line == number).collect();
        for (shown, marks) in Line::new(line, &here).parts(width) {
            out.push(numbered(number, gutter, &shown, paint));
            for below in underlines(&marks, width, color, paint) {
                out.push(format!("{margin} {bar} {below}"));
            }
        }
    }
    out.push(format!("{margin} {bar}"));
}

fn numbered(number: u32, gutter: usize, shown: &str, paint: Paint) -> String {
    let line = format!("{} {shown}", paint.with(BLUE, &format!("{number:>gutter$} |")));
    line.trim_end().to_string()
}

/// A source line as drawn: tabs as spaces, control characters as control pictures.
struct Line<'a> {
    text: String,
    marks: Vec<Mark<'a>>,
}

impl<'a> Line<'a> {
    fn new(source: &str, labels: &[&'a Label]) -> Self {
        let mut text = String::new();
        // The byte offset in `text` of each source character, and the end of the last one.
        let mut starts = Vec::new();
        for c in source.chars() {
            starts.push(text.len());
            match c {
                '\t' => text.push_str(&" ".repeat(TAB - text.width() % TAB)),
                c if (c as u32) < 0x20 => text.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
                c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                    text.push('\u{fffd}')
                }
                c => text.push(c),
            }
        }
        starts.push(text.len());
        let cell = |character: usize| text[..starts[character.min(starts.len() - 1)]].width();
        let mut marks: Vec<Mark> = labels
            .iter()
            .map(|label| {
                let first = (label.span.column as usize).saturating_sub(1);
                let start = cell(first) + first.saturating_sub(starts.len() - 1).min(1);
                let end = cell(first.saturating_add(label.span.length as usize)).max(start + 1);
                Mark { start, end, primary: label.primary, text: &label.text }
            })
            .collect();
        marks.sort_by_key(|m| (m.start, !m.primary));
        Line { text, marks }
    }

    /// The line and its marks; a line that is too long is cut into as many pieces as its marks need, from left to
    /// right.
    fn parts(&self, width: usize) -> Vec<(String, Vec<Mark<'a>>)> {
        let whole = self.text.width();
        if whole <= width {
            return vec![(self.text.clone(), self.marks.clone())];
        }
        // There may be an ellipsis at both ends.
        let room = width - 2;
        let mut groups: Vec<Vec<Mark>> = Vec::new();
        for mark in &self.marks {
            match groups.last_mut().filter(|group| mark.end <= group[0].start + room) {
                Some(group) => group.push(*mark),
                None => groups.push(vec![*mark]),
            }
        }
        let part = |mut marks: Vec<Mark<'a>>| {
            let start = marks[0].start;
            let end = marks.iter().map(|mark| mark.end).max().unwrap_or(start);
            let around = room.saturating_sub(end - start) / 2;
            let (shown, shift) = self.cut(start.saturating_sub(around).min(whole - room), width);
            for mark in &mut marks {
                mark.start = mark.start.saturating_add_signed(-shift);
                mark.end = mark.end.saturating_add_signed(-shift).min(width).max(mark.start + 1);
            }
            (shown, marks)
        };
        groups.into_iter().map(part).collect()
    }

    /// At most so many cells of the line, from `from` on, and the shift of its marks to the left.
    fn cut(&self, from: usize, width: usize) -> (String, isize) {
        let whole = self.text.width();
        if whole <= width {
            return (self.text.clone(), 0);
        }
        let mut shown = String::new();
        let mut first = None;
        let mut position = 0;
        for c in self.text.chars() {
            let cells = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if position >= from {
                let first = *first.get_or_insert(position);
                let before = usize::from(first > 0);
                // The rest, or as much as leaves space for the ellipsis.
                if before + whole - first > width && before + position + cells - first > width - 1 {
                    shown.push('…');
                    break;
                }
                shown.push(c);
            }
            position += cells;
        }
        match first.unwrap_or(0) {
            0 => (shown, 0),
            first => (format!("…{shown}"), first as isize - 1),
        }
    }
}

/// The rows under a source line: the underlines with the text of the rightmost label, then the other labels. They go
/// from right to left, each connected by a bar. Nothing exceeds `width`: text of places far to the right begins further
/// left.
fn underlines(marks: &[Mark], width: usize, color: &str, paint: Paint) -> Vec<String> {
    let folded = |text: &str, room: usize| -> Vec<String> {
        let start = WIDTH.saturating_sub(room);
        text.lines().flat_map(|line| wrapped(line, start, start)).collect()
    };
    let widest = |lines: &[String]| lines.iter().map(|line| line.width()).max().unwrap_or(0);
    let fits = |text: &str, start: usize| {
        let room = width.saturating_sub(start);
        room >= ENOUGH || text.lines().all(|line| line.width() <= room)
    };
    // The start cells of the texts, if there were enough space, and their lines.
    let words_of = |text: &str, start: usize| -> (usize, Vec<String>) {
        if fits(text, start) {
            return (start, folded(text, width.saturating_sub(start)));
        }
        let lines = folded(text, ENOUGH);
        (start.min(width.saturating_sub(widest(&lines))), lines)
    };
    let visible: Vec<(usize, usize, &Mark)> = marks.iter().map(|m| (m.start, m.end, m)).collect();
    let Some(last) = visible.last() else { return Vec::new() };
    let mut cells: Vec<Option<bool>> = vec![None; visible.iter().map(|(_, end, _)| *end).max().unwrap_or(0)];
    for primary in [false, true] {
        for (start, end, _) in visible.iter().filter(|(_, _, m)| m.primary == primary) {
            cells[*start..*end].fill(Some(primary));
        }
    }
    let style = |primary: bool| if primary { color } else { BLUE };
    let mut first = String::new();
    let mut i = 0;
    while i < cells.len() {
        let run = cells[i..].iter().take_while(|c| **c == cells[i]).count();
        first.push_str(&match cells[i] {
            None => " ".repeat(run),
            Some(primary) => paint.with(style(primary), &if primary { "^" } else { "-" }.repeat(run)),
        });
        i += run;
    }
    // Text next to the underlines only if nothing is to the right of them.
    let beside = last.1 >= cells.len() && fits(last.2.text, last.1 + 1);
    let mut out = Vec::new();
    let mut hanging: Vec<&(usize, usize, &Mark)> = visible.iter().filter(|(_, _, m)| !m.text.is_empty()).collect();
    let mut words = words_of(last.2.text, last.1 + 1).1.into_iter();
    if beside && !last.2.text.is_empty() {
        hanging.pop();
        first.push(' ');
        first.push_str(&paint.with(style(last.2.primary), &words.next().unwrap_or_default()));
        out.push(first);
        for line in words {
            out.push(format!("{}{}", " ".repeat(last.1 + 1), paint.with(style(last.2.primary), &line)));
        }
    } else {
        out.push(first);
    }
    if hanging.is_empty() {
        return out;
    }
    let bars = |upto: usize| {
        let mut row = String::new();
        let mut width = 0;
        for (start, _, mark) in hanging[..upto].iter() {
            if *start < width {
                continue;
            }
            row.push_str(&" ".repeat(start - width));
            row.push_str(&paint.with(style(mark.primary), "|"));
            width = start + 1;
        }
        (row, width)
    };
    out.push(bars(hanging.len()).0);
    for i in (0..hanging.len()).rev() {
        let (start, _, mark) = &hanging[i];
        // Texts of the same place are below each other, without a second bar.
        let left = hanging[..i].iter().filter(|(other, _, _)| *other < *start).count();
        let (at, lines) = words_of(mark.text, *start);
        // Bars that are covered by text of a place further right continue below it.
        let free = hanging[..left].iter().filter(|(other, _, _)| *other + 1 < at).count();
        let (row, width) = bars(if at < *start { free } else { left });
        for (n, line) in lines.iter().enumerate() {
            let lead = if n == 0 { row.clone() } else { " ".repeat(width) };
            out.push(format!(
                "{lead}{}{}",
                " ".repeat(at.saturating_sub(width)),
                paint.with(style(mark.primary), line)
            ));
        }
        if at < *start && left > 0 {
            out.push(bars(left).0);
        }
    }
    out
}
