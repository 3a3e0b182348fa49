//! `docs/models.md` is written from the table of estimators.
//! `ONRUSH_WRITE=1 cargo test -p onrush-wire --test it -- models_page` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use onrush_wire::learn::{AttributeType, Check, EstimatorKind, Param, ParamType, table};

const WIDTH: usize = 120;

/// Lines of at most [`WIDTH`] characters.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out + &line + "\n"
}

fn default(value: &Param) -> String {
    match value {
        Param::None => "none".to_string(),
        Param::Str(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

fn check(check: &Check) -> String {
    match check {
        Check::Any => String::new(),
        Check::AtLeast(low) => format!(" At least {low}."),
        Check::Above(low) => format!(" Above {low}."),
        Check::Within(low, high) => format!(" From {low} to {high}."),
        Check::OneOf(words) => {
            format!(" One of {}.", words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "))
        }
    }
}

fn type_name(dtype: ParamType) -> &'static str {
    match dtype {
        ParamType::Float => "number",
        ParamType::Int => "integer",
        ParamType::Bool => "boolean",
        ParamType::Str => "string",
        ParamType::Floats => "numbers",
        ParamType::Strs => "strings",
        ParamType::Any => "value",
    }
}

fn page() -> String {
    let mut out = include_str!("../../../../docs/models-intro.md").to_string();
    let kinds = [
        (EstimatorKind::Regressor, "Regressors"),
        (EstimatorKind::Classifier, "Classifiers"),
        (EstimatorKind::Clusterer, "Clustering"),
        (EstimatorKind::Transformer, "Transformers"),
        (EstimatorKind::SupervisedTransformer, "Transformers that look at the target"),
        (EstimatorKind::Index, "Neighbors"),
        (EstimatorKind::Meta, "Made of other estimators"),
    ];
    for (kind, title) in kinds {
        let of_kind: Vec<_> = table().iter().filter(|e| e.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {title}\n");
        for estimator in of_kind {
            let _ = write!(out, "\n### {}\n{}", estimator.name, wrapped(estimator.doc));
            if estimator.device {
                out.push_str("Can be trained on a GPU: see \"Where it runs\".\n");
            }
            let takes: Vec<&str> = [(estimator.missing, "missing values"), (estimator.categories, "categories")]
                .into_iter()
                .filter_map(|(yes, word)| yes.then_some(word))
                .collect();
            if !takes.is_empty() {
                let _ = write!(out, "{}", wrapped(&format!("Takes {}.", takes.join(" and "))));
            }
            if !estimator.params.is_empty() {
                out.push('\n');
            }
            for param in &estimator.params {
                let text = format!(
                    "- `{}` ({}, default {}): {}{}",
                    param.name,
                    type_name(param.dtype),
                    default(&param.default),
                    param.doc.trim(),
                    check(&param.check)
                );
                let lines = wrapped(&text);
                let mut lines = lines.lines();
                let _ = writeln!(out, "{}", lines.next().unwrap_or_default());
                for line in lines {
                    let _ = writeln!(out, "  {line}");
                }
            }
            let attributes: Vec<String> = estimator
                .attributes
                .iter()
                .map(|(name, dtype)| match dtype {
                    AttributeType::Frame => format!("`{name}` (frame)"),
                    AttributeType::Float => format!("`{name}` (number)"),
                    AttributeType::Int => format!("`{name}` (integer)"),
                    AttributeType::Strs => format!("`{name}` (strings)"),
                })
                .collect();
            if !attributes.is_empty() {
                let _ = write!(out, "\n{}", wrapped(&format!("Attributes: {}.", attributes.join(", "))));
            }
        }
    }
    out
}

/// The public names of scikit-learn by module, and the place of each here.
fn coverage() -> String {
    let names: BTreeMap<String, Vec<String>> =
        serde_json::from_str(include_str!("../../../../tests/learn/names.json")).unwrap();
    let elsewhere: Elsewhere = serde_json::from_str(include_str!("../../../../tests/learn/elsewhere.json")).unwrap();
    let mut out = String::from("# scikit-learn's names, and their places here\n\n");
    out.push_str(&wrapped(
        "Every public class and function of scikit-learn 1.9. Estimators have the same name here: [Models](models.md) \
         lists their parameters.",
    ));
    for (module, names) in &names {
        let _ = write!(out, "\n## {module}\n\n| scikit-learn | here |\n|---|---|\n");
        let mut absent = Vec::new();
        for name in names {
            let place = match table().iter().any(|e| e.name == name) {
                true => format!("[`{name}`](models.md#{})", name.to_lowercase()),
                false => match elsewhere.names.get(name) {
                    Some(place) => place.clone(),
                    None => {
                        absent.push(format!("`{name}`"));
                        continue;
                    }
                },
            };
            let _ = writeln!(out, "| `{name}` | {place} |");
        }
        if !absent.is_empty() {
            let why = elsewhere.modules.get(module).map_or("not there yet", String::as_str);
            let _ = write!(out, "\n{}", wrapped(&format!("Others ({why}): {}.", absent.join(", "))));
        }
    }
    out.replace("| scikit-learn | here |\n|---|---|\n\nOthers", "Others")
}

/// The equivalents of functions and displays of scikit-learn, and for each module the reason for names without one.
#[derive(serde::Deserialize)]
struct Elsewhere {
    names: BTreeMap<String, String>,
    modules: BTreeMap<String, String>,
}

#[test]
fn the_page_of_coverage_is_that_of_the_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/models-coverage.md");
    let wanted = coverage();
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/models-coverage.md differs from the table: ONRUSH_WRITE=1 writes it");
}

#[test]
fn the_page_of_models_is_that_of_the_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let wanted = page();
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/models.md differs from the table: ONRUSH_WRITE=1 writes it");
}

#[test]
fn every_estimator_and_parameter_is_documented_once() {
    let mut names: Vec<&str> = table().iter().map(|e| e.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "a name occurs twice");
    for estimator in table() {
        assert!(!estimator.doc.trim().is_empty(), "{}", estimator.name);
        for param in &estimator.params {
            assert!(!param.doc.trim().is_empty(), "{}.{}", estimator.name, param.name);
        }
    }
}
