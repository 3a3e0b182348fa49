//! Rules about committed notebooks: the format that every front end reads, the kernel `onrush`, and no paths of the
//! machine they ran on.

use serde::Deserialize;
use serde_json::Value;

use super::{Finding, SourceFile, Tree, finding};

#[derive(Deserialize)]
struct Notebook {
    nbformat: u32,
    nbformat_minor: u32,
    metadata: Metadata,
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Metadata {
    kernelspec: Option<Kernelspec>,
}

#[derive(Deserialize)]
struct Kernelspec {
    name: String,
}

#[derive(Deserialize)]
struct Cell {
    id: Option<String>,
    cell_type: String,
    metadata: Value,
    #[serde(default)]
    outputs: Vec<Value>,
}

impl Cell {
    fn may_fail(&self) -> bool {
        let tags = self.metadata.get("tags").and_then(Value::as_array);
        tags.is_some_and(|tags| tags.iter().any(|tag| tag == "raises-exception"))
    }
}

pub fn well_formed(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().filter(|file| file.is("ipynb")).flat_map(check).collect()
}

fn check(file: &SourceFile) -> Vec<Finding> {
    let report = |message: String| finding("notebooks", file.path.display().to_string(), message);
    let notebook: Notebook = match serde_json::from_str(&file.text) {
        Ok(notebook) => notebook,
        Err(error) => return vec![report(format!("not a notebook: {error}"))],
    };
    let mut findings = Vec::new();
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5) {
        findings.push(report("the format is older than 4.5: cells have no ids".to_string()));
    }
    // The notebooks of guides run on machines whose kernels are Python's.
    let wanted = if file.path.starts_with("docs") { "python3" } else { "onrush" };
    if notebook.metadata.kernelspec.is_none_or(|spec| spec.name != wanted) {
        findings.push(report(format!("the kernelspec is not `{wanted}`")));
    }
    let mut ids = Vec::new();
    for cell in &notebook.cells {
        match cell.id.as_deref() {
            None | Some("") => findings.push(report(format!("a {} cell has no id", cell.cell_type))),
            Some(id) if ids.contains(&id) => findings.push(report(format!("two cells have the id `{id}`"))),
            Some(id) => ids.push(id),
        }
        let id = cell.id.as_deref().unwrap_or_default();
        for output in &cell.outputs {
            if output.get("output_type").is_some_and(|kind| kind == "error") && !cell.may_fail() {
                findings.push(report(format!("the cell `{id}` holds an error and is not tagged `raises-exception`")));
            }
            let text = output.to_string();
            // `/tmp` and `/home` are paths of one machine too, but only in the output of a cell; the sources are
            // checked elsewhere.
            for path in ["/tmp/", "/home/", "/Users/"] {
                if text.contains(path) {
                    findings.push(report(format!("an output of the cell `{id}` names `{path}`")));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_notebook_is_told_apart() {
        let cell = |id: &str, tags: &str, output: &str| {
            format!(
                r#"{{"id":"{id}","cell_type":"code","metadata":{{"tags":[{tags}]}},"source":"","outputs":[{output}]}}"#
            )
        };
        let notebook = |cells: &[String]| SourceFile {
            path: "notebooks/x.ipynb".into(),
            text: format!(
                r#"{{"nbformat":4,"nbformat_minor":5,"metadata":{{"kernelspec":{{"name":"onrush"}}}},"cells":[{}]}}"#,
                cells.join(",")
            ),
        };
        let error = r#"{"output_type":"error","ename":"E0308"}"#;
        assert!(check(&notebook(&[cell("a", "", ""), cell("b", r#""raises-exception""#, error)])).is_empty());
        assert_eq!(check(&notebook(&[cell("a", "", ""), cell("a", "", error)])).len(), 2);
        assert_eq!(check(&notebook(&[cell("a", "", r#"{"text":"wrote /tmp/x"}"#)])).len(), 1);
        assert_eq!(check(&SourceFile { path: "x.ipynb".into(), text: "{".into() }).len(), 1);
    }
}
