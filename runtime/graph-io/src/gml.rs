//! GML (Himsolt 1997): a tree of keys and values. Read only.
//!
//! The labels are the ids if each node has one and they differ, as NetworkX reads it; else the numbers are. Nested
//! values are JSON in a string.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use crate::error::{ErrorKind, Fault, shown};
use crate::tables::{GraphTables, Id, Tables, Value};
use crate::text::line_of;

/// Lists inside of each other.
const MOST_NESTED_LISTS: usize = 64;

/// A value, and the entries of a list.
enum Gml {
    Value(Value),
    List(Vec<Entry>),
}

struct Entry {
    key: String,
    value: Gml,
    line: usize,
}

pub(crate) fn read(text: &str, cells: usize) -> Result<GraphTables, Fault> {
    let mut parser = Parser { text, at: 0, line: 1, counted: 0 };
    let document = parser.list(0)?;
    let mut graphs = document.into_iter().filter(|entry| entry.key == "graph");
    let Some(Entry { value: Gml::List(graph), .. }) = graphs.next() else {
        let fault = Fault::new(ErrorKind::File, "found no `graph [ ... ]`, expected one");
        return Err(fault.help("is it a GML file?"));
    };
    if let Some(second) = graphs.next() {
        let fault = Fault::file(second.line, "found a second graph, expected one");
        return Err(fault.help("split the file into one for each graph"));
    }
    tables(graph, (text.len(), cells))
}

fn tables(graph: Vec<Entry>, size: (usize, usize)) -> Result<GraphTables, Fault> {
    let is_one = |entry: &Entry| matches!(entry.value, Gml::Value(Value::Int(1)));
    let directed = graph.iter().any(|entry| entry.key == "directed" && is_one(entry));
    let mut tables = Tables::new(directed, size);
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for Entry { key, value, line } in graph {
        match (key.as_str(), value) {
            ("node", Gml::List(entries)) => nodes.push((line, entries)),
            ("edge", Gml::List(entries)) => edges.push((line, entries)),
            _ => {}
        }
    }
    let label = |entries: &[Entry]| match entries.iter().find(|entry| entry.key == "label") {
        Some(Entry { value: Gml::Value(value), .. }) => Some(written(value)),
        _ => None,
    };
    let labels: HashSet<String> = nodes.iter().filter_map(|(_, entries)| label(entries)).collect();
    let by_label = labels.len() == nodes.len();
    let mut rows = HashMap::with_capacity(nodes.len());
    for (line, mut entries) in nodes {
        let at = |fault: Fault| fault.at_line(line);
        let id =
            taken(&mut entries, "id").ok_or_else(|| Fault::file(line, "found a node without `id`, expected one"))?;
        let before = tables.node_count();
        let row = match by_label {
            true => tables.node(Id::of(&taken(&mut entries, "label").unwrap_or_default())),
            false => tables.node(Id::of(&id)),
        };
        let row = row.map_err(at)?;
        if (row as usize) < before || rows.insert(id.clone(), row).is_some() {
            return Err(Fault::file(line, format!("two nodes have the id {}, expected different ids", shown(&id))));
        }
        for entry in entries {
            tables.nodes.set_named(row as usize, &entry.key, flat(entry.value)).map_err(at)?;
        }
    }
    for (line, mut entries) in edges {
        let mut end = |name: &str| {
            let id = taken(&mut entries, name)
                .ok_or_else(|| Fault::file(line, format!("found an edge without `{name}`, expected one")))?;
            rows.get(&id).copied().ok_or_else(|| {
                Fault::file(line, format!("found the {name} {}, expected the id of a node", shown(&id)))
                    .help("each end of an edge is the `id` of a node")
            })
        };
        let (source, target) = (end("source")?, end("target")?);
        let row = tables.edge(source, target);
        for entry in entries {
            tables.edges.set_named(row, &entry.key, flat(entry.value)).map_err(|fault| fault.at_line(line))?;
        }
    }
    tables.finish()
}

/// Takes the value of a key out, as it is written.
fn taken(entries: &mut Vec<Entry>, key: &str) -> Option<String> {
    let at = entries.iter().position(|entry| entry.key == key && matches!(entry.value, Gml::Value(_)))?;
    match entries.remove(at).value {
        Gml::Value(value) => Some(written(&value)),
        Gml::List(_) => None,
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Str(value) | Value::Untyped(value) => value.clone(),
    }
}

fn flat(value: Gml) -> Value {
    match value {
        Gml::Value(value) => value,
        list => Value::Str(json(list).to_string()),
    }
}

/// A list as an object; keys that repeat are an array.
fn json(value: Gml) -> Json {
    let list = match value {
        Gml::Value(Value::Bool(value)) => return Json::from(value),
        Gml::Value(Value::Int(value)) => return Json::from(value),
        Gml::Value(Value::Float(value)) => return Json::from(value),
        Gml::Value(Value::Str(value) | Value::Untyped(value)) => return Json::from(value),
        Gml::List(list) => list,
    };
    let mut object = serde_json::Map::new();
    let mut repeated = HashSet::new();
    for entry in list {
        let value = json(entry.value);
        match object.get_mut(&entry.key) {
            None => _ = object.insert(entry.key, value),
            Some(Json::Array(all)) if repeated.contains(&entry.key) => all.push(value),
            Some(first) => {
                *first = Json::Array(vec![first.take(), value]);
                repeated.insert(entry.key);
            }
        }
    }
    Json::Object(object)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The line at `counted`.
    line: usize,
    counted: usize,
}

impl<'a> Parser<'a> {
    /// Skips spaces and comments.
    fn rest(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            match trimmed.starts_with('#') {
                false => return trimmed,
                true => self.at += trimmed.find('\n').unwrap_or(trimmed.len()),
            }
        }
    }

    fn line(&mut self) -> usize {
        self.line += line_of(&self.text.as_bytes()[self.counted..], self.at - self.counted) - 1;
        self.counted = self.at;
        self.line
    }

    fn expected(&mut self, expected: &str) -> Fault {
        let rest = self.rest();
        let found = match rest.split_whitespace().next() {
            None => "the end of the file".to_string(),
            Some(word) => shown(word),
        };
        Fault::file(self.line(), format!("found {found}, expected {expected}"))
    }

    /// Entries up to a closing bracket, or to the end of the file.
    fn list(&mut self, depth: usize) -> Result<Vec<Entry>, Fault> {
        if depth > MOST_NESTED_LISTS {
            let fault =
                Fault::limit(format!("found more than {MOST_NESTED_LISTS} lists inside of each other, the limit"));
            return Err(fault.at_line(self.line()));
        }
        let mut entries = Vec::new();
        loop {
            let rest = self.rest();
            if rest.is_empty() && depth == 0 {
                return Ok(entries);
            }
            if depth > 0 && rest.starts_with(']') {
                self.at += 1;
                return Ok(entries);
            }
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return Err(self.expected(if depth == 0 { "a key" } else { "a key or `]`" }));
            }
            let line = self.line();
            self.at += length;
            let value = self.value(depth)?;
            entries.push(Entry { key: rest[..length].to_string(), value, line });
        }
    }

    fn value(&mut self, depth: usize) -> Result<Gml, Fault> {
        let rest = self.rest();
        if rest.starts_with('[') {
            self.at += 1;
            return Ok(Gml::List(self.list(depth + 1)?));
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some(length) = quoted.find('"') else { return Err(self.expected("a closing quote")) };
            self.at += length + 2;
            return Ok(Gml::Value(Value::Str(unescaped(&quoted[..length]))));
        }
        let length = rest.find(|c: char| c.is_whitespace() || c == ']' || c == '[').unwrap_or(rest.len());
        let word = &rest[..length];
        match Value::guessed(word) {
            Value::Str(_) => Err(self.expected("a number, a string in quotes or `[`")),
            value => {
                self.at += length;
                Ok(Gml::Value(value))
            }
        }
    }
}

/// Replaces the entities `&amp;`, `&quot;`, `&lt;`, `&gt;`, `&apos;` and `&#...;`. Others stay.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let entity = &rest[at + 1..];
        let end = entity.bytes().take(12).position(|b| b == b';');
        let c = end.and_then(|end| match &entity[..end] {
            "amp" => Some('&'),
            "quot" => Some('"'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "apos" => Some('\''),
            name => {
                let code = name.strip_prefix('#')?;
                let code = match code.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => code.parse(),
                };
                char::from_u32(code.ok()?)
            }
        });
        match (c, end) {
            (Some(c), Some(end)) => {
                out.push(c);
                rest = &entity[end + 1..];
            }
            _ => {
                out.push('&');
                rest = entity;
            }
        }
    }
    out.push_str(rest);
    out
}
