//! Notebook files: nbformat 4 as JSON. All fields except outputs are kept.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use onrush_cell::LOCK_MIME;
use onrush_view::Bundle;
use onrush_wire::Diagnostic;
use onrush_wire::host::Stream;
use serde::Serialize;
use serde_json::{Value, json};

use crate::notebook::{self, CellError, Output};

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("{path} cannot be read: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a notebook: it is not JSON ({source})")]
    NotJson { path: PathBuf, source: serde_json::Error },
    #[error("{path} is not a notebook: it has no list of `cells`")]
    NoCells { path: PathBuf },
    #[error(
        "{path} is of notebook format {found}, expected 4: open it in JupyterLab and save it, or use `jupyter nbconvert --to notebook`"
    )]
    Version { path: PathBuf, found: String },
    #[error("{path} cannot be written: {source}")]
    Encode { path: PathBuf, source: serde_json::Error },
    #[error("{}", told(.0))]
    Target(Diagnostic),
}

/// A notebook file in memory.
pub struct Document {
    root: Value,
    /// The places of a display id's outputs: cell and output.
    displays: HashMap<String, Vec<(usize, usize)>>,
    /// A clear that waits for the next output.
    clear_next: Option<usize>,
}

/// A code cell to execute.
pub struct CodeCell {
    /// Among all cells.
    pub index: usize,
    pub source: String,
    tags: Vec<String>,
}

impl CodeCell {
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|t| t == tag)
    }
}

impl Document {
    pub fn read(path: &Path) -> Result<Document, DocumentError> {
        let own = || path.to_path_buf();
        let text = fs::read(path).map_err(|source| DocumentError::Read { path: own(), source })?;
        let root: Value =
            serde_json::from_slice(&text).map_err(|source| DocumentError::NotJson { path: own(), source })?;
        let version = &root["nbformat"];
        if version.as_i64() != Some(4) {
            let found = if version.is_null() { "(none given)".to_string() } else { version.to_string() };
            return Err(DocumentError::Version { path: own(), found });
        }
        if !root["cells"].as_array().is_some_and(|cells| cells.iter().all(Value::is_object)) {
            return Err(DocumentError::NoCells { path: own() });
        }
        Ok(Document::of(root))
    }

    /// Reads a notebook's JSON.
    pub fn of(root: Value) -> Document {
        Document { root, displays: HashMap::new(), clear_next: None }
    }

    /// The outputs of a cell, by its index.
    pub fn outputs_of(&self, cell: usize) -> &[Value] {
        self.root["cells"][cell]["outputs"].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn count(&self, cell: usize) -> Option<u64> {
        self.root["cells"][cell]["execution_count"].as_u64()
    }

    fn cells(&self) -> &[Value] {
        self.root["cells"].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn code_cells(&self) -> Vec<CodeCell> {
        let code = |cell: &&Value| cell["cell_type"] == "code";
        let cells = self.cells().iter().enumerate().filter(|(_, cell)| code(cell));
        cells
            .map(|(index, cell)| CodeCell {
                index,
                source: joined(&cell["source"]),
                tags: strings(&cell["metadata"]["tags"]),
            })
            .collect()
    }

    /// Puts a code cell with a tag before the cell `at`. Positions of the cells after it change.
    pub fn insert_code(&mut self, at: usize, source: &str, tag: &str) {
        let mut cell = json!({
            "cell_type": "code", "source": lines(source), "metadata": { "tags": [tag] }, "outputs": [],
            "execution_count": null,
        });
        // Since nbformat 4.5 cells have ids.
        if self.root["nbformat_minor"].as_i64().is_some_and(|minor| minor >= 5) {
            cell["id"] = tag.into();
        }
        if let Some(cells) = self.root["cells"].as_array_mut() {
            cells.insert(at.min(cells.len()), cell);
        }
    }

    /// Removes a cell. Positions of the cells after it change.
    pub fn remove_cell(&mut self, at: usize) {
        if let Some(cells) = self.root["cells"].as_array_mut().filter(|cells| at < cells.len()) {
            cells.remove(at);
        }
    }

    /// Old outputs would look like results of this run.
    pub fn clear_outputs(&mut self) {
        for cell in self.code_cells() {
            let cell = &mut self.root["cells"][cell.index];
            cell["outputs"] = json!([]);
            cell["execution_count"] = Value::Null;
            if let Some(metadata) = cell["metadata"].as_object_mut() {
                metadata.remove("execution");
            }
        }
    }

    pub fn start_cell(&mut self, cell: usize, count: u64) {
        self.root["cells"][cell]["execution_count"] = count.into();
        self.clear_next = None;
    }

    pub fn add_error(&mut self, cell: usize, error: &CellError) {
        let output = json!({
            "output_type": "error", "ename": error.ename, "evalue": error.evalue, "traceback": error.traceback,
        });
        self.push(cell, output);
    }

    pub fn add_output(&mut self, cell: usize, output: Output, count: u64) {
        match output {
            Output::Progress { data } => self.progress(cell, &data),
            Output::Stream { text, .. } if text.is_empty() => {}
            Output::Stream { stream, text } => self.stream(cell, stream, &text),
            Output::Clear { wait: true } => self.clear_next = Some(cell),
            Output::Clear { wait: false } => self.clear(cell),
            Output::Display { data, display_id: Some(id), update: true } => self.update(&id, &data),
            Output::Display { update: true, .. } => {}
            Output::Display { data, display_id, update: false } => {
                let at =
                    self.push(cell, json!({ "output_type": "display_data", "data": stored(&data), "metadata": {} }));
                self.remember(display_id, at);
            }
            Output::Panel { panel, outputs, .. } => {
                let data = notebook::panel_bundle(&panel, &outputs);
                self.push(cell, json!({ "output_type": "display_data", "data": stored(&data), "metadata": {} }));
            }
            Output::Result { data, display_id } => {
                let output = json!({
                    "output_type": "execute_result", "data": stored(&data), "metadata": {}, "execution_count": count,
                });
                let at = self.push(cell, output);
                self.remember(display_id, at);
            }
        }
    }

    /// The line of the last message is the one that stays.
    fn progress(&mut self, cell: usize, data: &Bundle) {
        let metadata = json!({ "onrush": { "progress": true } });
        match self.outputs(cell).iter_mut().find(|output| output["metadata"] == metadata) {
            Some(output) => output["data"] = stored(data),
            None => {
                self.push(cell, json!({ "output_type": "display_data", "data": stored(data), "metadata": metadata }));
            }
        }
    }

    fn outputs(&mut self, cell: usize) -> &mut Vec<Value> {
        let outputs = &mut self.root["cells"][cell]["outputs"];
        if !outputs.is_array() {
            *outputs = json!([]);
        }
        match outputs {
            Value::Array(outputs) => outputs,
            _ => unreachable!("it was made an array above"),
        }
    }

    fn clear(&mut self, cell: usize) {
        self.outputs(cell).clear();
        for places in self.displays.values_mut() {
            places.retain(|(of, _)| *of != cell);
        }
    }

    fn push(&mut self, cell: usize, output: Value) -> (usize, usize) {
        if self.clear_next.take() == Some(cell) {
            self.clear(cell);
        }
        let outputs = self.outputs(cell);
        outputs.push(output);
        (cell, outputs.len() - 1)
    }

    /// Consecutive text of one stream is one output.
    fn stream(&mut self, cell: usize, stream: Stream, text: &str) {
        let name = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        if self.clear_next.is_none()
            && let Some(last) = self.outputs(cell).last_mut()
            && last["output_type"] == "stream"
            && last["name"] == name
        {
            let whole = joined(&last["text"]) + text;
            last["text"] = lines(&whole);
            return;
        }
        self.push(cell, json!({ "output_type": "stream", "name": name, "text": lines(text) }));
    }

    fn remember(&mut self, display_id: Option<String>, at: (usize, usize)) {
        if let Some(id) = display_id {
            self.displays.entry(id).or_default().push(at);
        }
    }

    fn update(&mut self, id: &str, data: &Bundle) {
        for (cell, output) in self.displays.get(id).cloned().unwrap_or_default() {
            if let Some(output) = self.outputs(cell).get_mut(output) {
                output["data"] = stored(data);
            }
        }
    }

    /// The kernel and its language, as Jupyter notes them down.
    pub fn set_language(&mut self, rustc: Option<String>) {
        let metadata = &mut self.root["metadata"];
        if !metadata.is_object() {
            *metadata = json!({});
        }
        if metadata["kernelspec"].is_null() {
            metadata["kernelspec"] = json!({ "display_name": "Rust (Onrush)", "language": "rust", "name": "onrush" });
        }
        metadata["language_info"] = crate::kernel::language_info(rustc);
    }

    /// The versions of the notebook's crates, from the last output that has them, go into its metadata too: tools that
    /// strip outputs leave them there.
    pub fn set_lock(&mut self) {
        let outputs = self.cells().iter().filter_map(|cell| cell["outputs"].as_array()).flatten();
        let lock = outputs.map(|output| &output["data"][LOCK_MIME]["lock"]).rfind(|lock| !lock.is_null()).cloned();
        let Some(lock) = lock else { return };
        let own = &mut self.root["metadata"]["onrush"];
        if !own.is_object() {
            *own = json!({});
        }
        own["lock"] = lock;
    }

    /// In nbformat's own layout: one space of indentation, sorted keys, a newline at the end. In one step.
    pub fn write(&self, path: &Path) -> Result<(), DocumentError> {
        let mut text = Vec::new();
        let layout = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, layout);
        let failed = |source| DocumentError::Encode { path: path.to_path_buf(), source };
        self.root.serialize(&mut serializer).map_err(failed)?;
        text.push(b'\n');
        onrush_files::write(path, &text).map(drop).map_err(DocumentError::Target)
    }
}

/// Says before the cells run that their outputs cannot be written.
pub fn check_writable(path: &Path) -> Result<(), DocumentError> {
    onrush_files::Target::open(path).map(drop).map_err(DocumentError::Target)
}

/// The message, and the help in brackets.
fn told(why: &Diagnostic) -> String {
    match why.help.is_empty() {
        true => why.message.clone(),
        false => format!("{} ({})", why.message, why.help.join("; ")),
    }
}

/// Text is a string or a list of strings.
pub fn joined(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn lines(text: &str) -> Value {
    Value::from(text.split_inclusive('\n').collect::<Vec<_>>())
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|tag| Some(tag.as_str()?.to_string())).collect()
}

/// A bundle as nbformat stores it: text as lines, JSON and base64 as they are.
fn stored(data: &Bundle) -> Value {
    let entry = |(mime, value): (&String, &Value)| {
        let is_text = (mime.starts_with("text/") || mime == "image/svg+xml" || mime == "application/javascript")
            && !mime.ends_with("json");
        let value = match value {
            Value::String(text) if is_text => lines(text),
            // The frame ends with this run: the same cells then have the same outputs.
            Value::Object(table) if mime == onrush_view::TABLE => Value::Object(
                table.iter().filter(|(key, _)| *key != "frame").map(|(k, v)| (k.clone(), v.clone())).collect(),
            ),
            other => other.clone(),
        };
        (mime.clone(), value)
    };
    Value::Object(data.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(cells: Value) -> Document {
        let root = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": { "mine": 1 }, "cells": cells });
        Document { root, displays: HashMap::new(), clear_next: None }
    }

    fn text(stream: Stream, text: &str) -> Output {
        Output::Stream { stream, text: text.into() }
    }

    fn bundle(text: &str) -> Bundle {
        Bundle::from_iter([("text/plain".to_string(), Value::from(text))])
    }

    #[test]
    fn code_cells_with_their_tags() {
        let document = document(json!([
            { "cell_type": "markdown", "source": "# T", "metadata": {} },
            { "cell_type": "code", "source": ["let a = 1;\n", "a"], "metadata": { "tags": ["raises-exception"] } },
        ]));
        let cells = document.code_cells();
        assert_eq!(cells.len(), 1);
        assert_eq!((cells[0].index, cells[0].source.as_str()), (1, "let a = 1;\na"));
        assert!(cells[0].has_tag("raises-exception"));
    }

    #[test]
    fn the_last_line_of_progress_stays() {
        let mut document = document(json!([{ "cell_type": "code", "source": "a", "metadata": {}, "outputs": [] }]));
        document.start_cell(0, 1);
        document.add_output(0, Output::Progress { data: bundle("files 1 of 3") }, 1);
        document.add_output(0, text(Stream::Stdout, "a\n"), 1);
        document.add_output(0, Output::Progress { data: bundle("files 3 of 3 in 1 s") }, 1);
        let expected = json!([
            { "output_type": "display_data", "data": { "text/plain": ["files 3 of 3 in 1 s"] },
              "metadata": { "onrush": { "progress": true } } },
            { "output_type": "stream", "name": "stdout", "text": ["a\n"] },
        ]);
        assert_eq!(Value::from(document.outputs_of(0)), expected);
    }

    #[test]
    fn outputs_are_as_nbformat_stores_them() {
        let mut document = document(json!([{ "cell_type": "code", "source": "a", "metadata": {}, "outputs": [1] }]));
        document.clear_outputs();
        document.start_cell(0, 3);
        document.add_output(0, text(Stream::Stdout, "a\n"), 3);
        document.add_output(0, text(Stream::Stdout, "b\nc"), 3);
        document.add_output(0, text(Stream::Stderr, "e"), 3);
        let shown = Output::Display { data: bundle("old"), display_id: Some("d".into()), update: false };
        document.add_output(0, shown, 3);
        document.add_output(0, Output::Result { data: bundle("4\n2"), display_id: None }, 3);
        document.add_output(0, Output::Display { data: bundle("new"), display_id: Some("d".into()), update: true }, 3);
        let expected = json!([
            { "output_type": "stream", "name": "stdout", "text": ["a\n", "b\n", "c"] },
            { "output_type": "stream", "name": "stderr", "text": ["e"] },
            { "output_type": "display_data", "data": { "text/plain": ["new"] }, "metadata": {} },
            { "output_type": "execute_result", "data": { "text/plain": ["4\n", "2"] }, "metadata": {}, "execution_count": 3 },
        ]);
        assert_eq!(document.root["cells"][0]["outputs"], expected);
        assert_eq!(document.root["cells"][0]["execution_count"], 3);
        assert_eq!(document.root["metadata"]["mine"], 1);
    }

    #[test]
    fn a_waiting_clear_takes_effect_with_the_next_output() {
        let mut document = document(json!([{ "cell_type": "code", "source": "a", "metadata": {} }]));
        document.start_cell(0, 1);
        document.add_output(0, text(Stream::Stdout, "1"), 1);
        document.add_output(0, Output::Clear { wait: true }, 1);
        assert_eq!(document.outputs(0).len(), 1);
        document.add_output(0, text(Stream::Stdout, "2"), 1);
        assert_eq!(
            document.root["cells"][0]["outputs"],
            json!([{ "output_type": "stream", "name": "stdout", "text": ["2"] }])
        );
    }
}
