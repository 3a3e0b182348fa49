//! Why an algorithm has no result.

/// What was found, what was expected, and ways out.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// A word for the kind of error, such as `parameter`, `weight` or `no_path`.
    pub code: &'static str,
    pub message: String,
    pub help: Vec<String>,
    /// The user stopped the work.
    pub stopped: bool,
    /// The nodes that the message names.
    pub nodes: Vec<u32>,
    /// The edge that the message names, as `edge 7`.
    pub edge: Option<u32>,
}

impl Error {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), help: Vec::new(), stopped: false, nodes: Vec::new(), edge: None }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    pub fn nodes(mut self, nodes: impl IntoIterator<Item = u32>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    pub fn edge(mut self, edge: u32) -> Self {
        self.edge = Some(edge);
        self
    }

    /// The user stopped the work.
    pub fn stopped(message: impl Into<String>) -> Self {
        Error { stopped: true, ..Error::new("interrupted", message) }
    }

    /// A parameter has a value outside of its range.
    pub fn parameter(message: impl Into<String>) -> Self {
        Error::new("parameter", message)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
