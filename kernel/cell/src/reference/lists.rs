//! The entries, made of the prelude's index, of what the engine knows, and of the reviewed lists.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::{FunctionEntry, FunctionKind, Placement};
use crate::index::{Index, last, prelude};

const FRAMES: &str = include_str!("../../data/reference/frames.txt");
const EXPRESSIONS: &str = include_str!("../../data/reference/expressions.txt");
const SQL: &str = include_str!("../../data/reference/sql.txt");
/// The engine's list: `x NAME KIND PLACE USAGE ALIASES`, `step NAME PLACE` and `sql NAME PLACE`, separated by tabs.
const ENGINE: &str = include_str!("../../data/reference/functions.txt");

/// Types that frames and expressions are not, by section, in the order of the page.
pub const SECTIONS: &[(&str, &[&str])] = &[
    (
        "Readers and writers",
        &[
            "CsvReader",
            "JsonReader",
            "ParquetReader",
            "ExcelReader",
            "CsvWriter",
            "JsonWriter",
            "ParquetWriter",
            "IpcWriter",
            "ExcelWriter",
        ],
    ),
    ("Clusters", &["Cluster"]),
    ("Joins, groups and conditions", &["On", "Asof", "Resample", "When", "Then"]),
    ("Columns in Rust", &["Column", "Matrix", "Buffer"]),
    ("Plots", &["Plot", "Dashboard"]),
    ("Rich output", &["MimeBundle"]),
    ("Graphs", &["Graph", "GraphReader", "GraphView", "GraphPlot", "EgoGraph"]),
    (
        "Models",
        &[
            "Model",
            "FittedModel",
            "Report",
            "Shap",
            "ShapOptions",
            "Pipeline",
            "ColumnTransformer",
            "FeatureUnion",
            "TransformedTargetRegressor",
            "VotingClassifier",
            "VotingRegressor",
            "StackingClassifier",
            "StackingRegressor",
            "BaggingClassifier",
            "BaggingRegressor",
            "CalibratedClassifierCV",
            "OneVsRestClassifier",
            "OneVsOneClassifier",
            "AdaBoostClassifier",
            "AdaBoostRegressor",
            "SelectFromModel",
            "RFE",
            "RFECV",
            "SequentialFeatureSelector",
            "GridSearchCV",
            "RandomizedSearchCV",
            "TpeSearchCV",
            "HalvingGridSearchCV",
            "HalvingRandomSearchCV",
            "SplitOptions",
            "Cv",
            "KFold",
            "StratifiedKFold",
            "GroupKFold",
            "StratifiedGroupKFold",
            "TimeSeriesSplit",
            "RepeatedKFold",
            "RepeatedStratifiedKFold",
            "ShuffleSplit",
            "StratifiedShuffleSplit",
            "GroupShuffleSplit",
            "TrainSizes",
            "Permutations",
        ],
    ),
    (
        "Controls",
        &[
            "Slider",
            "RangeSlider",
            "Checkbox",
            "Choice",
            "Choices",
            "TextField",
            "NumberField",
            "Button",
            "TextLabel",
            "ProgressBar",
            "ControlBox",
        ],
    ),
];

/// All entries, by kind, in the order of the lists.
pub fn entries() -> &'static [FunctionEntry] {
    static ENTRIES: OnceLock<Vec<FunctionEntry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let index = prelude();
        let code = Code::of(&index);
        let engine = Engine::read();
        let mut entries = of_frames(&code, &engine);
        entries.extend(of_expressions(&code, &engine));
        entries.extend(of_sql(&engine));
        entries.extend(of_objects(&code));
        entries
    })
}

/// One line of a list, with the lines below it.
struct Row {
    section: &'static str,
    fields: Vec<&'static str>,
    /// `: sentence`
    sentence: &'static str,
    /// `~ steps`
    steps: &'static str,
}

fn rows(text: &'static str, fields: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut section = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let below = rows.last_mut();
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let (Some(sentence), Some(row)) = (line.strip_prefix(": "), below) {
            row.sentence = sentence;
        } else if let (Some(steps), Some(row)) = (line.strip_prefix("~ "), rows.last_mut()) {
            row.steps = steps;
        } else {
            let fields = line.splitn(fields, " | ").map(|field| if field == "-" { "" } else { field }).collect();
            rows.push(Row { section, fields, sentence: "", steps: "" });
        }
    }
    rows
}

fn names(field: &'static str) -> Vec<&'static str> {
    // Not inside of brackets: `regr(a, b)`.
    field.split(", ").filter(|name| !name.is_empty()).collect()
}

/// Signatures and sentences of the prelude, by type and name.
struct Code {
    methods: HashMap<(String, String), (String, String)>,
    /// In their order.
    order: Vec<(String, String)>,
    /// Functions and macros of the prelude.
    functions: HashMap<String, (String, String)>,
}

impl Code {
    fn of(index: &Index) -> Self {
        let (mut methods, mut order) = (HashMap::new(), Vec::new());
        // The crates after it have types of the same names.
        let own = index.items().take_while(|item| !item.path.starts_with("onrush_wire"));
        for item in own.filter(|item| item.kind == "impl") {
            for member in item.members().filter(|member| member.kind == 'm') {
                let key = (last(item.path).to_string(), member.name.to_string());
                let text = (member.signature.to_string(), sentence(&member.docs()));
                if methods.insert(key.clone(), text).is_none() {
                    order.push(key);
                }
            }
        }
        let exported = index.children("onrush::prelude");
        let of_kind = |kind: &'static str| exported.iter().filter(move |(_, item)| item.kind == kind);
        // A macro is what cells call where a function has its name, too: `input!`.
        let functions = of_kind("fn").chain(of_kind("macro"));
        let functions =
            functions.map(|(name, item)| (name.to_string(), (item.signature.to_string(), sentence(&item.docs()))));
        Code { methods, order, functions: functions.collect() }
    }

    fn method(&self, owner: &str, name: &str) -> Option<&(String, String)> {
        self.methods.get(&(owner.to_string(), name.to_string()))
    }

    /// A method of an expression, or a function that gives one.
    fn expression(&self, name: &str) -> Option<&(String, String)> {
        let (owner, name) = match name.split_once('.') {
            Some(("str", name)) => ("ExprStr", name),
            Some(("dt", name)) => ("ExprDt", name),
            Some(("list", name)) => ("ExprList", name),
            Some(_) => return None,
            None => ("Expr", name),
        };
        self.method(owner, name).or_else(|| self.functions.get(name).filter(|_| owner == "Expr"))
    }
}

/// The first sentence of a documentation.
fn sentence(docs: &str) -> String {
    let text = docs.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut is_code, mut before) = (false, ' ');
    for (at, c) in text.char_indices() {
        let after = text[at + c.len_utf8()..].chars().next();
        match c {
            '`' => is_code = !is_code,
            '.' if !is_code && before != '.' && after.is_none_or(|c| c == ' ') => return text[..=at].to_string(),
            _ => {}
        }
        before = c;
    }
    text
}

/// A function of expressions, as the engine knows it.
struct Function {
    usage: &'static str,
    aliases: Vec<&'static str>,
    place: Option<Placement>,
}

struct Engine {
    functions: HashMap<&'static str, Function>,
    steps: HashMap<&'static str, Option<Placement>>,
    sql: HashMap<&'static str, Option<Placement>>,
}

impl Engine {
    fn read() -> Self {
        let mut engine = Engine { functions: HashMap::new(), steps: HashMap::new(), sql: HashMap::new() };
        for line in ENGINE.lines() {
            let fields: Vec<&'static str> = line.split('\t').collect();
            match fields[..] {
                ["x", name, _, at, usage, aliases] => {
                    let aliases = aliases.split(',').filter(|alias| !alias.is_empty()).collect();
                    engine.functions.insert(name, Function { usage, aliases, place: place(at) });
                }
                ["step", name, at] => drop(engine.steps.insert(name, place(at))),
                ["sql", name, at] => drop(engine.sql.insert(name, place(at))),
                _ => {}
            }
        }
        engine
    }

    /// The place of several steps together.
    fn place_of(&self, steps: &str) -> Option<Placement> {
        let places: Option<Vec<Placement>> =
            steps.split_whitespace().map(|step| self.steps.get(step).copied().flatten()).collect();
        let places = places.filter(|places| !places.is_empty())?;
        let all = |wanted| places.iter().all(|place| *place == wanted);
        Some(match (all(Placement::Gpu), all(Placement::Cpu)) {
            (true, _) => Placement::Gpu,
            (_, true) => Placement::Cpu,
            _ => Placement::Partly,
        })
    }
}

fn place(text: &str) -> Option<Placement> {
    Some(match text {
        "gpu" => Placement::Gpu,
        "cpu" => Placement::Cpu,
        "partly" => Placement::Partly,
        _ => return None,
    })
}

/// An entry of a list with the fields name, pandas, Polars, SQL and example.
fn listed(row: &Row, kind: FunctionKind, owner: &str, code: Option<&(String, String)>) -> FunctionEntry {
    let field = |at: usize| row.fields.get(at).copied().unwrap_or_default();
    let (signature, docs) = code.cloned().unwrap_or_default();
    FunctionEntry {
        kind,
        owner: owner.to_string(),
        name: field(0).to_string(),
        section: row.section,
        signature,
        sentence: if row.sentence.is_empty() { docs } else { row.sentence.to_string() },
        example: field(4),
        pandas: names(field(1)),
        polars: names(field(2)),
        sql: names(field(3)),
        aliases: Vec::new(),
        place: None,
    }
}

fn of_frames(code: &Code, engine: &Engine) -> Vec<FunctionEntry> {
    let entry = |row: &Row| {
        let name = row.fields[0];
        let found = match row.section {
            "prelude" => code.functions.get(name),
            owner => code.method(owner, name),
        };
        let entry = match row.section {
            "prelude" => listed(row, FunctionKind::Function, "", found),
            "GroupBy" => listed(row, FunctionKind::Group, "GroupBy", found),
            owner => listed(row, FunctionKind::Frame, owner, found),
        };
        FunctionEntry { place: engine.place_of(row.steps), ..entry }
    };
    rows(FRAMES, 5).iter().map(entry).collect()
}

fn of_expressions(code: &Code, engine: &Engine) -> Vec<FunctionEntry> {
    let entry = |row: &Row| {
        let name = row.fields[0];
        let function = engine.functions.get(name);
        let mut names = std::iter::once(name).chain(function.into_iter().flat_map(|f| f.aliases.iter().copied()));
        let entry = listed(row, FunctionKind::Expression, "", names.find_map(|name| code.expression(name)));
        match function {
            // The prelude's method may lack options that `x!` takes.
            Some(f) => FunctionEntry { signature: f.usage.into(), aliases: f.aliases.clone(), place: f.place, ..entry },
            None => entry,
        }
    };
    rows(EXPRESSIONS, 5).iter().map(entry).collect()
}

fn of_sql(engine: &Engine) -> Vec<FunctionEntry> {
    let entry = |row: &Row| {
        let mut all = names(row.fields[0]);
        let name = all.remove(0);
        FunctionEntry {
            kind: FunctionKind::Sql,
            owner: String::new(),
            name: name.to_string(),
            section: row.section,
            signature: String::new(),
            sentence: row.fields.get(2).copied().unwrap_or_default().to_string(),
            example: row.fields.get(1).copied().unwrap_or_default(),
            pandas: Vec::new(),
            polars: Vec::new(),
            sql: Vec::new(),
            aliases: all,
            place: engine.sql.get(name).copied().flatten(),
        }
    };
    rows(SQL, 3).iter().map(entry).collect()
}

fn of_objects(code: &Code) -> Vec<FunctionEntry> {
    let entry = |section: &'static str, owner: &str, name: &str| {
        let row = Row { section, fields: Vec::new(), sentence: "", steps: "" };
        FunctionEntry { name: name.to_string(), ..listed(&row, FunctionKind::Object, owner, code.method(owner, name)) }
    };
    let mut all = Vec::new();
    for (section, owners) in SECTIONS {
        for owner in *owners {
            let names = code.order.iter().filter(|(of, _)| of == owner);
            all.extend(names.map(|(_, name)| entry(section, owner, name)));
        }
    }
    let known: HashSet<&str> =
        FRAMES.lines().chain(EXPRESSIONS.lines()).filter_map(|l| l.split(" | ").next()).collect();
    let mut rest: Vec<&String> = code.functions.keys().filter(|name| !known.contains(name.as_str())).collect();
    rest.sort();
    for name in rest {
        let row = Row { section: "Other functions", fields: Vec::new(), sentence: "", steps: "" };
        all.push(FunctionEntry {
            name: name.clone(),
            ..listed(&row, FunctionKind::Object, "", code.functions.get(name))
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of the prelude whose methods are not for users' cells, or are documented with another type.
    const LEFT_OUT: &[&str] = &["Frame", "GroupBy", "Expr", "Exprs", "ExprStr", "ExprDt", "ExprList"];

    #[test]
    fn every_method_and_function_has_an_entry() {
        let index = prelude();
        let code = Code::of(&index);
        let engine = Engine::read();
        let mut wrong = Vec::new();
        let has = |kind: FunctionKind, name: &str| entries().iter().any(|e| e.kind == kind && e.name == name);
        let aliases: HashSet<&str> = engine.functions.values().flat_map(|f| f.aliases.iter().copied()).collect();
        for (owner, name) in &code.order {
            let (kind, list, name) = match owner.as_str() {
                "Frame" => (FunctionKind::Frame, "frames.txt", name.clone()),
                "GroupBy" => (FunctionKind::Group, "frames.txt", name.clone()),
                "Expr" => (FunctionKind::Expression, "expressions.txt", name.clone()),
                "ExprStr" => (FunctionKind::Expression, "expressions.txt", format!("str.{name}")),
                "ExprDt" => (FunctionKind::Expression, "expressions.txt", format!("dt.{name}")),
                "ExprList" => (FunctionKind::Expression, "expressions.txt", format!("list.{name}")),
                _ => continue,
            };
            if !has(kind, &name) && !aliases.contains(name.as_str()) {
                wrong.push(format!("`{owner}::{name}` has no line in kernel/cell/data/reference/{list}"));
            }
        }
        for name in engine.functions.keys() {
            if !has(FunctionKind::Expression, name) {
                wrong.push(format!("the function `{name}` of `x!` has no line in data/reference/expressions.txt"));
            }
        }
        let made = |name: &&String| code.functions[*name].0.ends_with("-> Frame");
        for name in code.functions.keys().filter(made) {
            if !has(FunctionKind::Function, name) && !has(FunctionKind::Object, name) {
                wrong.push(format!("the function `{name}` has no line in data/reference/frames.txt"));
            }
        }
        for entry in entries() {
            let title = entry.title();
            if entry.sentence.is_empty() {
                wrong.push(format!("`{title}` has neither a documentation nor a sentence in its list"));
            }
            if entry.signature.is_empty() && entry.kind != FunctionKind::Sql {
                wrong.push(format!("`{title}` is in a list of data/reference, but not in the code"));
            }
        }
        let mut seen = HashSet::new();
        for entry in entries().iter().filter(|entry| !seen.insert((entry.kind, entry.title()))) {
            wrong.push(format!("`{}` is listed twice", entry.title()));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(LEFT_OUT.iter().all(|name| code.order.iter().any(|(owner, _)| owner == name)));
    }

    #[test]
    fn the_types_of_the_prelude_are_in_a_section() {
        let index = prelude();
        let code = Code::of(&index);
        let listed: HashSet<&str> = SECTIONS.iter().flat_map(|(_, owners)| owners.iter().copied()).collect();
        let exported: HashSet<&str> = index.children("onrush::prelude").into_iter().map(|(name, _)| name).collect();
        let owners: HashSet<&str> = code.order.iter().map(|(owner, _)| owner.as_str()).collect();
        let mut missing: Vec<&&str> = owners.iter().filter(|owner| exported.contains(**owner)).collect();
        missing.retain(|owner| !listed.contains(**owner) && !LEFT_OUT.contains(owner));
        assert!(missing.is_empty(), "no section of reference/lists.rs has {missing:?}");
        let gone: Vec<&&str> = listed.iter().filter(|owner| !owners.contains(**owner)).collect();
        assert!(gone.is_empty(), "no such types: {gone:?}");
    }

    #[test]
    fn sentences_end_at_a_full_stop_outside_of_code() {
        assert_eq!(sentence("Sum. Nulls."), "Sum.");
        assert_eq!(sentence("By `f.a. b`, twice.\nMore."), "By `f.a. b`, twice.");
        assert_eq!(sentence("Without end"), "Without end");
    }
}
