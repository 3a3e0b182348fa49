//! Writes the graphs of the tests into a folder, for `tests/graph/expect_files.py`:
//! `cargo run -p onrush-graph-io --example written tests/graph/files`.

#[path = "../tests/it/support.rs"]
mod graphs;

use std::path::PathBuf;

use onrush_graph_io::{Error, write};

fn main() -> Result<(), Error> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_string()));
    for (name, graph) in graphs::files() {
        write(folder.join(name), None, &graph)?;
    }
    Ok(())
}
