//! `onrush run -p NAME=VALUE`: values for the variables of the cell that is tagged `parameters`, as papermill gives
//! them.

use super::ipynb::Document;

/// The tag of the cell with the defaults, and that of the cell with the values: papermill's.
const DEFAULTS: &str = "parameters";
const VALUES: &str = "injected-parameters";

/// `n=7` of the command line.
pub fn named(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_string(), value.to_string())),
        _ => Err(format!("`{text}` is not NAME=VALUE, such as n=7")),
    }
}

/// Puts a cell with the values after the tagged cell, in place of one that an earlier run has put there. Without a
/// tagged cell it is the first one. Gives what is to be said about it.
///
/// # Errors
/// If a value does not fit the variable that the tagged cell defines.
pub fn inject(document: &mut Document, given: &[(String, String)]) -> Result<Vec<String>, String> {
    if let Some(earlier) = document.code_cells().iter().find(|cell| cell.has_tag(VALUES)) {
        document.remove_cell(earlier.index);
    }
    let cells = document.code_cells();
    let tagged = cells.iter().find(|cell| cell.has_tag(DEFAULTS));
    let injected = onrush_cell::injected_parameters(tagged.map(|cell| cell.source.as_str()), given)?;
    let mut notes = Vec::new();
    let at = match tagged {
        Some(cell) => {
            let known = |name: &String| format!("the cell `{DEFAULTS}` does not define `{name}`: it is a new variable");
            notes.extend(injected.unknown.iter().map(known));
            cell.index + 1
        }
        None => {
            notes.push(format!("no cell has the tag `{DEFAULTS}`: the values are in a new first cell"));
            0
        }
    };
    document.insert_code(at, &injected.source, VALUES);
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn notebook(tag: &str) -> Document {
        let code = |source: &str, tags: Value| {
            json!({ "cell_type": "code", "id": source, "source": [source], "metadata": { "tags": tags }, "outputs": [],
                "execution_count": null })
        };
        let text = json!({ "cell_type": "markdown", "id": "t", "source": "# T", "metadata": {} });
        let cells = json!([text, code("let n = 1;", json!([tag])), code("n", json!([]))]);
        Document::of(json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells }))
    }

    fn sources(document: &Document) -> Vec<String> {
        document.code_cells().into_iter().map(|cell| cell.source).collect()
    }

    // The place of papermill 2 for its cell: after the tagged one, before all cells without one, in place of its own.
    #[test]
    fn the_values_follow_the_defaults() {
        let mut document = notebook("parameters");
        let given = |value: &str| [("n".to_string(), value.to_string())];
        assert_eq!(inject(&mut document, &given("7")), Ok(Vec::new()));
        assert_eq!(sources(&document), ["let n = 1;", "// Parameters\nlet n = 7;", "n"]);
        assert_eq!(inject(&mut document, &given("8")), Ok(Vec::new()));
        assert_eq!(sources(&document), ["let n = 1;", "// Parameters\nlet n = 8;", "n"]);
        let mut other = notebook("x");
        let notes = inject(&mut other, &given("7")).unwrap();
        assert!(notes[0].contains("no cell has the tag"), "{notes:?}");
        assert_eq!(sources(&other)[0], "// Parameters\nlet n = 7;");
        let unknown = inject(&mut document, &[("m".to_string(), "1".to_string())]).unwrap();
        assert!(unknown[0].contains("does not define `m`"), "{unknown:?}");
    }

    #[test]
    fn a_parameter_has_a_name_and_a_value() {
        assert_eq!(named("n=7"), Ok(("n".to_string(), "7".to_string())));
        assert_eq!(named("query=a = b"), Ok(("query".to_string(), "a = b".to_string())));
        assert!(named("n").is_err() && named("=7").is_err());
    }
}
