//! Messages of the worker: one JSON object a line, in UTF-8, both ways.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ToWorker {
    /// Run a cell.
    Execute {
        id: u64,
        /// The whole cell, with blank lines in place of the magic: the lines of errors are those of the cell.
        code: String,
        /// The name in tracebacks, such as `In [5]`.
        name: String,
        /// Frames that become Python variables of the same name.
        inputs: Vec<String>,
        /// Python variables that are published after the cell.
        outputs: Vec<String>,
        /// The library of the inputs: `polars`, `pandas`, `pyarrow` or `onrush`.
        #[serde(rename = "as")]
        library: Option<String>,
    },
    Complete {
        id: u64,
        code: String,
        /// In code points.
        cursor: usize,
    },
    /// The answer to a question; `None` if nobody can answer it.
    Input { text: Option<String> },
    /// The kernel has taken these published names.
    Release { names: Vec<String> },
}

/// A message of the worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum FromWorker {
    Stream {
        /// `stdout` or `stderr`.
        name: String,
        text: String,
    },
    Display {
        data: Map<String, Value>,
        #[serde(default)]
        display_id: Option<String>,
        #[serde(default)]
        update: bool,
        /// The value of the cell's last expression.
        #[serde(default)]
        result: bool,
    },
    Clear {
        #[serde(default)]
        wait: bool,
    },
    /// The cell asks for a line.
    Input {
        #[serde(default)]
        prompt: String,
        #[serde(default)]
        password: bool,
    },
    /// An exception ended the cell.
    Error {
        ename: String,
        evalue: String,
        /// The line of the cell; `None` if no line of the cell is to blame.
        #[serde(default)]
        line: Option<u32>,
        /// With ANSI colours.
        #[serde(default)]
        traceback: Vec<String>,
    },
    Matches {
        id: u64,
        matches: Vec<String>,
        /// In code points.
        start: usize,
        end: usize,
    },
    Done {
        id: u64,
        ok: bool,
        /// Pairs of a variable's name and the published name of its table.
        #[serde(default)]
        outputs: Vec<(String, String)>,
    },
    /// A message of a newer worker.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_form_of_the_protocol() {
        let execute = ToWorker::Execute {
            id: 1,
            code: "\nx".into(),
            name: "In [5]".into(),
            inputs: vec!["late".into()],
            outputs: vec![],
            library: Some("pandas".into()),
        };
        let text =
            r#"{"type":"execute","id":1,"code":"\nx","name":"In [5]","inputs":["late"],"outputs":[],"as":"pandas"}"#;
        assert_eq!(serde_json::to_string(&execute).unwrap(), text);
        let read = |text: &str| serde_json::from_str::<FromWorker>(text).unwrap();
        assert_eq!(
            read(r#"{"type":"done","id":1,"ok":true,"outputs":[["out","%python:1:out"]]}"#),
            FromWorker::Done { id: 1, ok: true, outputs: vec![("out".into(), "%python:1:out".into())] }
        );
        let Some(FromWorker::Error { line, .. }) =
            Some(read(r#"{"type":"error","ename":"A","evalue":"b","line":null,"traceback":["x"]}"#))
        else {
            panic!("an error is an error")
        };
        assert_eq!(line, None);
        assert_eq!(read(r#"{"type":"progress","of":3}"#), FromWorker::Unknown);
    }
}
