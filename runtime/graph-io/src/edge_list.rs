//! Edge lists: a line for each edge, as NetworkX's `read_edgelist` and `read_weighted_edgelist`, GAP's `.el` and
//! `.wel`, and CSV.
//!
//! The third column is the weight, or a Python dict of attributes as `write_edgelist` writes it. Lines that begin with
//! `#` or `%` are comments. A header with columns `source` and `target`, also as a comment, names more columns. The
//! comment `# directed` in the first line says that the graph is directed.

use std::fmt::Write;

use crate::error::{ErrorKind, Fault, shown};
use crate::output::{Cell, GraphColumns};
use crate::tables::{GraphTables, Id, Tables, Value};
use crate::text::lines;
use crate::tokens::{PythonDict, csv_fields};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// Spaces and tabs.
    Space,
    Char(char),
}

impl Separator {
    fn name(self) -> &'static str {
        match self {
            Separator::Space => "spaces",
            Separator::Char('\t') => "tabs",
            Separator::Char(_) => "commas",
        }
    }
}

const DIRECTED: &str = "# directed";

pub(crate) fn read(text: &str, separator: Separator, directed: bool, cells: usize) -> Result<GraphTables, Fault> {
    let directed = directed || text.lines().next().is_some_and(|line| line.trim() == DIRECTED);
    let mut tables = Tables::new(directed, (text.len(), cells));
    // The columns of edges by their positions in a line: 0 and 1 are unused where there is no header.
    let mut header: Option<Header> = None;
    let mut fields = Vec::new();
    let mut is_first = true;
    for (number, line) in lines(text) {
        // A tab at the end is an empty field.
        let content = if separator == Separator::Char('\t') { line.trim_matches([' ', '\r']) } else { line.trim() };
        let comment = content.strip_prefix(['#', '%']);
        // NetworkX cuts a line at `#`. A string of a dict keeps it here.
        let content = match content.find('#') {
            Some(at) if separator == Separator::Space && !content[..at].contains('{') => content[..at].trim_end(),
            _ => content,
        };
        if comment.is_some() || content.trim().is_empty() {
            // Prose between spaces may have the words too.
            if header.is_none() && is_first && separator != Separator::Space {
                header = Header::of(comment.unwrap_or_default(), separator, &mut tables);
            }
            continue;
        }
        if std::mem::replace(&mut is_first, false) && header.is_none() {
            header = Header::of(content, separator, &mut tables);
            if header.is_some() {
                continue;
            }
        }
        // A header says what the last field is, and names all attributes.
        let (content, dict) = if header.is_none() { without_dict(content) } else { (content, None) };
        split(content, separator, &mut fields).map_err(|fault| fault.at_line(number))?;
        edge(&fields, dict, header.as_ref(), separator, &mut tables).map_err(|fault| fault.at_line(number))?;
    }
    tables.finish()
}

/// The columns that a header names.
struct Header {
    names: Vec<String>,
    source: usize,
    target: usize,
    /// The attribute of each column; unused for the ids.
    columns: Vec<usize>,
}

impl Header {
    /// `None` if the line does not name a source and a target.
    fn of(line: &str, separator: Separator, tables: &mut Tables) -> Option<Header> {
        let mut fields = Vec::new();
        split(line.trim_start_matches(' '), separator, &mut fields).ok()?;
        let names: Vec<String> = fields.iter().map(|name| name.trim().to_string()).collect();
        let at = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let (source, target) = (at("source")?, at("target")?);
        let is_end = |i: usize| i == source || i == target;
        let columns =
            names.iter().enumerate().map(|(i, name)| if is_end(i) { 0 } else { tables.edges.column(name) }).collect();
        Some(Header { source, target, columns, names })
    }
}

/// A line without the Python dict at its end, and the dict.
fn without_dict(line: &str) -> (&str, Option<&str>) {
    match line.ends_with('}').then(|| line.find('{')).flatten() {
        Some(at) => (line[..at].trim_end_matches([' ', '\t', ',']), Some(&line[at..])),
        None => (line, None),
    }
}

/// Splits a line into its fields.
fn split<'a>(line: &'a str, separator: Separator, fields: &mut Vec<std::borrow::Cow<'a, str>>) -> Result<(), Fault> {
    fields.clear();
    match separator {
        Separator::Space => fields.extend(line.split_ascii_whitespace().map(Into::into)),
        Separator::Char(separator) => csv_fields(line, separator, fields)?,
    }
    Ok(())
}

fn edge(
    fields: &[std::borrow::Cow<'_, str>],
    dict: Option<&str>,
    header: Option<&Header>,
    separator: Separator,
    tables: &mut Tables,
) -> Result<(), Fault> {
    if let Some(header) = header {
        if fields.len() != header.names.len() {
            let message = format!("found {} fields, expected {} as in the header", fields.len(), header.names.len());
            return Err(
                Fault::new(ErrorKind::File, message).help("give each line a field for each column of the header")
            );
        }
        let source = tables.node(Id::of(fields[header.source].trim()))?;
        let target = tables.node(Id::of(fields[header.target].trim()))?;
        let row = tables.edge(source, target);
        for (i, field) in fields.iter().enumerate() {
            if i != header.source && i != header.target && !field.is_empty() {
                tables.edges.set(row, header.columns[i], Value::untyped(field))?;
            }
        }
        return Ok(());
    }
    let [source, target, rest @ ..] = fields else {
        let message = format!("found {}, expected two ids separated by {}", shown(&fields.join(" ")), separator.name());
        return Err(
            Fault::new(ErrorKind::File, message).help("an edge is a line such as `1 2` or, with a weight, `1 2 0.5`")
        );
    };
    let source = tables.node(Id::of(source.trim()))?;
    let target = tables.node(Id::of(target.trim()))?;
    let row = tables.edge(source, target);
    match rest {
        [] => {}
        [weight] if dict.is_none() => match Value::guessed(weight.trim()) {
            Value::Str(text) => {
                let message = format!("found {}, expected a number: the third column is the weight", shown(&text));
                let help = "name the columns in a header such as `source,target,kind`, or read the file as a table";
                return Err(Fault::new(ErrorKind::File, message).help(help));
            }
            value => tables.edges.set_named(row, "weight", value)?,
        },
        _ => {
            let message = format!("found {} columns, expected two ids and a weight", fields.len());
            let help = "name the columns in a header such as `source,target,weight,kind`, or read the file as a table";
            return Err(Fault::new(ErrorKind::File, message).help(help));
        }
    }
    if let Some(dict) = dict {
        for entry in PythonDict::of(dict) {
            let (name, value) = entry?;
            if let Some(value) = value {
                tables.edges.set_named(row, &name, value)?;
            }
        }
    }
    Ok(())
}

/// Writes lines that NetworkX's `read_edgelist` reads: ids, then a weight, or a dict if there are other attributes.
/// With commas or tabs, a comment names the columns if there are others than the weight.
pub(crate) fn write(graph: &GraphColumns, separator: Separator, is_gap: bool) -> Result<String, Fault> {
    let format = if is_gap { "a GAP edge list" } else { "an edge list" };
    graph.check_edges_only(format, true)?;
    let attributes: Vec<&str> = graph.edge_attributes.iter().map(|column| column.name.as_str()).collect();
    if is_gap {
        if !graph.directed {
            let message = "a GAP edge list is directed, the graph is not";
            let help = "write an `.edgelist`, or make the graph directed";
            return Err(Fault::new(ErrorKind::Format, message).help(help));
        }
        if let Some(name) = attributes.iter().find(|name| **name != "weight") {
            let message = format!("a GAP edge list has weights only, the graph has the attribute `{name}`");
            return Err(Fault::new(ErrorKind::Format, message).help("write an `.edgelist`, or leave the column out"));
        }
    }
    let between = match separator {
        Separator::Space => ' ',
        Separator::Char(separator) => separator,
    };
    let mut out = String::new();
    if graph.directed && !is_gap {
        out.push_str(DIRECTED);
        out.push('\n');
    }
    let plain = match attributes[..] {
        [] => true,
        // A missing weight would look like an edge of a list without weights, which is not an error.
        ["weight"] => true,
        _ => false,
    };
    if !plain && separator != Separator::Space {
        let names = ["source", "target"].into_iter().chain(attributes.iter().copied());
        let fields: Vec<String> = names.map(|name| field(name, separator)).collect::<Result<_, _>>()?;
        let _ = writeln!(out, "# {}", fields.join(&between.to_string()));
    }
    for edge in 0..graph.edge_count {
        let (source, target) = graph.ends(edge);
        let ends = [field(&source.to_string(), separator)?, field(&target.to_string(), separator)?];
        if ends[0].starts_with(['#', '%']) {
            let message = format!("the id {} begins as a comment does", shown(&ends[0]));
            return Err(Fault::new(ErrorKind::Format, message).help("write GraphML, GEXF or node-link JSON"));
        }
        let _ = write!(out, "{}{between}{}", ends[0], ends[1]);
        if plain {
            if let Some((_, weight)) = graph.attributes_of_edge(edge).next() {
                let _ = write!(out, "{between}{}", number(weight)?);
            }
        } else if separator == Separator::Space {
            let entries: Vec<String> = graph
                .attributes_of_edge(edge)
                .map(|(column, cell)| Ok(format!("{}: {}", python(Cell::Str(&column.name))?, python(cell)?)))
                .collect::<Result<_, Fault>>()?;
            let _ = write!(out, " {{{}}}", entries.join(", "));
        } else {
            for column in &graph.edge_attributes {
                out.push(between);
                if let Some(cell) = column.values.get(edge) {
                    out.push_str(&field(&cell.to_string(), separator)?);
                }
            }
        }
        out.push('\n');
    }
    Ok(out)
}

/// A weight; strings are not written without a name.
fn number(cell: Cell<'_>) -> Result<String, Fault> {
    match cell {
        Cell::Int(_) | Cell::Float(_) => Ok(cell.to_string()),
        Cell::Bool(_) | Cell::Str(_) => {
            let message = format!("found the weight {}, expected a number", shown(&cell.to_string()));
            Err(Fault::new(ErrorKind::Format, message)
                .help("cast the column `weight` to a number, or give it another name"))
        }
    }
}

/// A field of a line, quoted as in CSV if it has to be.
fn field(text: &str, separator: Separator) -> Result<String, Fault> {
    let has_line_end = text.contains(['\n', '\r']);
    match separator {
        Separator::Space if text.is_empty() || text.contains(char::is_whitespace) || text.contains(['#', '{', '}']) => {
            let message = format!("the id {} is empty, or has a space, a brace or `#`", shown(text));
            Err(Fault::new(ErrorKind::Format, message).help("write a CSV, GraphML, GEXF or node-link JSON"))
        }
        Separator::Char(separator) if !has_line_end => {
            let needs_quotes = text.contains([separator, '"']) || text != text.trim() || text.ends_with('}');
            Ok(if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() })
        }
        _ if has_line_end => {
            let message = format!("{} has an end of a line", shown(text));
            Err(Fault::new(ErrorKind::Format, message).help("write GraphML, GEXF or node-link JSON"))
        }
        _ => Ok(text.to_string()),
    }
}

/// A value as Python writes it.
fn python(cell: Cell<'_>) -> Result<String, Fault> {
    Ok(match cell {
        Cell::Bool(value) => if value { "True" } else { "False" }.to_string(),
        // There are no literals for these numbers: the exponent overflows.
        Cell::Float(value) if value.is_infinite() => if value > 0.0 { "1e999" } else { "-1e999" }.to_string(),
        Cell::Float(value) if value.is_nan() => {
            let message = "found NaN, for which Python has no literal";
            return Err(Fault::new(ErrorKind::Format, message).help("replace NaN by null, or write GraphML"));
        }
        Cell::Int(_) | Cell::Float(_) => cell.to_string(),
        Cell::Str(text) => {
            let mut quoted = String::from("'");
            for c in text.chars() {
                match c {
                    '\'' | '\\' => quoted.extend(['\\', c]),
                    '\n' => quoted.push_str("\\n"),
                    '\r' => quoted.push_str("\\r"),
                    // NetworkX cuts a line at `#`, even inside of a string.
                    '#' => quoted.push_str("\\x23"),
                    c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}') => {
                        let _ = write!(quoted, "\\u{:04x}", u32::from(c));
                    }
                    c => quoted.push(c),
                }
            }
            quoted.push('\'');
            quoted
        }
    })
}
