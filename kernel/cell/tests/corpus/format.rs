//! The text form of a notebook-in-miniature: cells, and below each what it must give. Running them is not done here.
//!
//! ```text
//! //! What this notebook is about.
//! //---
//! let x = 1;
//! //---
//! println!("{x}"); x + 1
//! //> 1
//! //= 2
//! ```
//! `//>` is a line of standard output, `//2>` of standard error, `//=` of something that is shown, `//!` of a
//! diagnostic. A line of output that has no end is followed by `\`. `…` stands for any text.

/// A file of the corpus.
#[derive(Debug)]
pub struct Notebook {
    /// The text above the first cell.
    pub header: String,
    pub cells: Vec<Cell>,
}

#[derive(Debug)]
pub struct Cell {
    pub code: String,
    /// The lines below the code, with their marks.
    pub expected: Vec<String>,
}

const BREAK: &str = "//---";
const MARKS: [&str; 4] = ["//>", "//2>", "//=", "//!"];

pub fn parse(text: &str) -> Notebook {
    let mut pieces: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.lines() {
        if line == BREAK {
            pieces.push(Vec::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push(line);
        }
    }
    let header = pieces.remove(0).join("\n");
    let cell = |lines: Vec<&str>| {
        let is_mark = |line: &&str| MARKS.iter().any(|mark| line.starts_with(mark));
        let code = lines.iter().rposition(|line| !is_mark(line)).map_or(0, |at| at + 1);
        let expected = lines[code..].iter().map(|line| line.trim_end().to_string()).collect();
        Cell { code: lines[..code].join("\n"), expected }
    };
    Notebook { header, cells: pieces.into_iter().map(cell).collect() }
}

/// The file again, with other expectations.
pub fn write(notebook: &Notebook, actual: &[Vec<String>]) -> String {
    let mut out = format!("{}\n", notebook.header);
    for (cell, lines) in notebook.cells.iter().zip(actual) {
        out.push_str(&format!("{BREAK}\n{}\n", cell.code));
        lines.iter().for_each(|line| out.push_str(&format!("{}\n", line.trim_end())));
    }
    out
}

/// The difference between the lines that a cell gives and those that it must give; `None` if they are the same. The
/// labels, notes and help of a diagnostic may be left out.
pub fn difference(expected: &[String], actual: &[String]) -> Option<String> {
    let mut rest = actual.iter().peekable();
    for line in expected {
        loop {
            match rest.next() {
                Some(found) if fits(line, found.trim_end()) => break,
                Some(found) if is_detail(found) => {}
                Some(found) => return Some(format!("expected: {line}\n   found: {found}")),
                None => return Some(format!("expected: {line}\n   found: nothing more")),
            }
        }
    }
    rest.find(|line| !is_detail(line)).map(|line| format!("expected: nothing more\n   found: {line}"))
}

fn is_detail(line: &str) -> bool {
    line.starts_with("//!  ")
}

/// Whether a text is as expected, where `…` stands for anything.
fn fits(expected: &str, text: &str) -> bool {
    let mut pieces = expected.split('…');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
