//! Candidates without rustc and without a session process: names, paths, columns, files, commands.

use super::*;
use crate::interface::Inspection;
use crate::notebook::{KnownVariable, Notebook};
use onrush_wire::session::NamedFrame;
use onrush_wire::{DataType, Field, FrameId, Schema};

struct Fake;

impl Frames for Fake {
    fn frames(&self) -> Vec<NamedFrame> {
        let frame = |name: &str, columns: &[&str]| {
            let field = |c: &&str| Field { name: c.to_string(), dtype: DataType::Int64, nullable: true };
            let schema = Schema { fields: columns.iter().map(field).collect() };
            NamedFrame { name: name.into(), frame: FrameId(1), schema, rows: Some(3), held: None }
        };
        vec![frame("flights", &["dep_delay", "Sale Price", "dest"]), frame("airports", &["faa", "name"])]
    }

    fn summary(&self, _: FrameId, column: &str) -> Vec<(String, String)> {
        vec![("nulls".into(), format!("{} of 3", column.len()))]
    }
}

fn names() -> Names {
    let mut notebook = Notebook::default();
    for (name, code) in [
        ("flights", "::onrush::prelude::Frame"),
        ("airports", "::onrush::prelude::Frame"),
        ("values", "::std::vec::Vec<i32>"),
        ("größe", "f64"),
    ] {
        let variable = KnownVariable { type_code: code.into(), mutable: false, preview: None, bytes: 0 };
        notebook.variables.insert(name.into(), variable);
    }
    Names { notebook: notebook.into(), ..Names::default() }
}

/// The offers where `|` is.
fn candidates(marked: &str) -> Vec<String> {
    let at = marked.find('|').unwrap();
    let text = marked.replacen('|', "", 1);
    let found = complete(&names(), &text, marked[..at].chars().count(), 0, &Fake);
    found.matches.into_iter().map(|m| m.text).collect()
}

#[track_caller]
fn has(marked: &str, wanted: &[&str]) {
    let found = candidates(marked);
    for name in wanted {
        assert!(found.iter().any(|f| f == name), "{marked}: {name} is not in {found:?}");
    }
}

#[track_caller]
fn has_not(marked: &str, unwanted: &[&str]) {
    let found = candidates(marked);
    for name in unwanted {
        assert!(!found.iter().any(|f| f == name), "{marked}: {name} is in {found:?}");
    }
}

#[test]
fn variables_items_and_keywords() {
    assert_eq!(candidates("let ä = fli|"), ["flights"]);
    has("let abc = 1; ab|", ["abc", "abs"][..1].as_ref());
    has("fn zebra(stripe: i32) -> i32 { st|", &["stripe", "struct"]);
    has_not("fn zebra(stripe: i32) -> i32 { fl|", &["flights"]);
    has("zeb|\nfn zebra() {}", &["zebra"]);
    has("pri|", &["println!", "print!"]);
    has("Str|", &["String"]);
    has("HashM|", &["std::collections::HashMap"]);
    has("use std::collections::HashMap;\nHashM|", &["HashMap"]);
    has("read_c|", &["read_csv"]);
    assert!(candidates("let zebra_one = 1; zebra_|") == ["zebra_one"]);
    assert!(candidates("zebra|").is_empty());
    assert!(candidates("let x = 12|").is_empty() && candidates("fn f|").is_empty() && candidates("// fli|").is_empty());
}

#[test]
fn positions_are_code_points() {
    let found = complete(&names(), "\u{1f980}; grö", 6, 0, &Fake);
    assert_eq!((found.start, found.end, found.matches[0].text.as_str()), (3, 6, "größe"));
    let text = "let e\u{301}te\u{301} = 1; e\u{301}t";
    let found = complete(&names(), text, text.chars().count(), 0, &Fake);
    assert_eq!((found.start, found.end), (15, 18));
    assert_eq!(found.matches[0].text, "e\u{301}te\u{301}");
}

#[test]
fn members_of_variables_and_literals() {
    has("values.|", &["len", "push", "iter"]);
    assert_eq!(candidates("values.sort_uns|"), ["sort_unstable", "sort_unstable_by", "sort_unstable_by_key"]);
    has("\"abc\".to_u|", &["to_uppercase"]);
    has("flights.|", &["filter", "group_by", "left_join", "select"]);
    has("flights.filter(x!(dep_delay.|", &["mean", "fill_null", "str"]);
    has("flights.filter(x!(dest.str.|", &["contains", "to_lowercase"]);
    has_not("flights.filter(x!(dep_delay.|", &["group_by"]);
    has("größe.sq|", &["sqrt"]);
}

#[test]
fn paths_lead_into_modules_and_types() {
    has("use std::coll|", &["collections"]);
    has("use std::io::{Re|", &["Read"]);
    has("use std::{fmt, collections::{BTreeMap, Hash|", &["HashMap", "HashSet"]);
    has("Vec::wi|", &["with_capacity"]);
    has("String::fr|", &["from_utf8", "from"]);
    has("std::collections::HashMap::<i32, i32>::ne|", &["new"]);
    has("f64::|", &["MAX", "NAN"]);
    has("i32::from_s|", &["from_str_radix"]);
    has("enum Shape { Circle(f64), Square { side: f64 } }\nlet s = Shape::|", &["Circle", "Square"]);
    has("struct P; impl P { const N: usize = 1; fn make() -> P { Self::|", &["make", "N"]);
    has("mod geo { pub struct Point; pub fn area() {} }\ngeo::|", &["Point", "area"]);
    has_not("mod geo { struct Point; fn area() {} pub(crate) fn shared() {} }\ngeo::|", &["Point", "area"]);
    has("mod geo { fn area() {} pub(crate) fn shared() {} }\ngeo::|", &["shared"]);
    has("trait Named { fn name() -> String; }\nNamed::|", &["name"]);
    has("std::f64::consts::P|", &["PI"]);
    has("std::fs::read_to|", &["read_to_string"]);
    has("Option::S|", &["Some"]);
    has("fn f<T: Default>() { T::|", &["default"]);
}

#[test]
fn attributes_and_struct_literals() {
    has("#[derive(De|", &["Debug", "Default", "Deserialize"]);
    has("#[de|", &["derive"]);
    has("struct Point { x: f64, y: f64 }\nlet p = Point { x: 1.0, |", &["y"]);
    has_not("struct Point { x: f64, y: f64 }\nlet p = Point { x: 1.0, |", &["x"]);
}

#[test]
fn columns_of_the_frame_in_hand() {
    assert_eq!(candidates("flights.filter(x!(de|")[..2], ["dep_delay", "dest"]);
    assert_eq!(candidates("flights.sort(\"De|"), ["dep_delay", "dest"]);
    assert_eq!(candidates("flights.head(3).select([\"Sale|"), ["Sale Price"]);
    assert_eq!(candidates("flights.group_by([\"dest\", \"|"), ["Sale Price", "dep_delay", "dest"]);
    has("flights.with_columns(x!(speed = dep_delay * 2)).filter(x!(sp|", &["speed"]);
    assert_eq!(candidates("flights.select([\"dest\"]).sort(\"|"), ["dest"]);
    assert_eq!(candidates("flights.group_by(\"dest\").agg(x!(n = len())).sort(\"|"), ["dest", "n"]);
    assert_eq!(candidates("flights.rename([(\"dest\", \"to\")]).select([\"t|"), ["to"]);
    has("flights.left_join(&airports, on(\"dest\", \"faa\")).select([\"|", &["faa", "dest"]);
    has("flights.join_asof(&airports, asof(\"de|", &["dep_delay", "dest"]);
    has("flights.join_asof(&airports, asof(\"x\").by(\"de|", &["dest"]);
    has("flights.join_asof(&airports, on(\"dest\", \"faa\")).select([\"|", &["faa", "dest"]);
    assert_eq!(candidates("let few = flights.select([\"dest\"]);\nfew.sort(\"|"), ["dest"]);
    assert_eq!(candidates("let toy = frame! { a: [1], b: [2] };\ntoy.select([\"|"), ["a", "b"]);
    has("col(\"fa|", &["faa"]);
    assert!(candidates("let s = \"de|").is_empty() && candidates("f(\"de|").is_empty());
    assert!(candidates("flights.filter(x!(dest == \"de|").is_empty());
    assert!(candidates("flights.filter(x!(dest.str.contains(\"de|").is_empty());
}

#[test]
fn queries_name_frames_and_columns() {
    assert_eq!(candidates("sql(\"select * from fl|"), ["flights"]);
    has("sql(\"select de| from flights\")", &["dep_delay", "dest"]);
    has_not("sql(\"select n| from flights\")", &["name"]);
    has("%%sql\nselect f.d| from flights f", &["dest"]);
    has("%%sql\nselect na|\nfrom airports", &["name"]);
    has("%%sql\nselect \"Sa|\nfrom flights", &["Sale Price"]);
    has("%%sql\nselect * from flights wh|", &["where"]);
    has("%%sql\nSELECT * FROM flights ORD|", &["ORDER BY"]);
}

#[test]
fn kernels_have_words_of_their_own() {
    has("%%cuda\n__global__ void k(float* data) { data[thr|", &["threadIdx"]);
    has("%%cuda\n__global__ void k(float* data) { da|", &["data"]);
    has("%%cuda |", &["check"]);
    has_not("%%cuda check\n__global__ void k(float* data) { ch|", &["check"]);
    has_not("%%cuda\n__global__ void k(float* flat) { fl|", &["flights"]);
}

#[test]
fn python_cells_offer_options_and_frames_and_nothing_of_rust() {
    assert_eq!(candidates("%%py|"), ["%%python"]);
    assert_eq!(candidates("%%python |"), ["--as", "-i", "-o"]);
    assert_eq!(candidates("%%python -i |"), ["airports", "flights"]);
    assert_eq!(candidates("%%python -i airports, f|"), ["flights"]);
    assert_eq!(candidates("%%python -i flights -|"), ["--as", "-i", "-o"]);
    assert_eq!(candidates("%%python -o flights --as=po|"), ["polars"]);
    assert!(candidates("%%python -o fl|").is_empty());
    // No worker runs.
    assert!(candidates("%%python -i flights\nfl|").is_empty());
}

#[test]
fn names_inside_of_format_strings() {
    has("let total = 1; println!(\"{to|", &["total"]);
    has("format!(\"{a} {val|}\")", &["values"]);
    assert!(candidates("println!(\"val|").is_empty() && candidates("println!(\"{{val|").is_empty());
}

#[test]
fn commands_and_files() {
    has(":ty|", &[":type"]);
    assert_eq!(candidates(":type val|"), ["values"]);
    has(":opt |", &["0", "3"]);
    // Cargo has it on every machine that compiled this test.
    has(":dep serde_js|", &["serde_json"]);
    assert!(candidates(":dep serde_json = |").is_empty());
    assert_eq!(candidates("%%s|"), ["%%sql"]);
    // Tests run in the crate's folder.
    has("read_csv(\"sr|", &["src/"]);
    has("std::fs::File::open(\"src/comp|", &["compile.rs", "complete/"]);
    has("!ls src/comp|", &["compile.rs"]);
}

#[track_caller]
fn about(marked: &str) -> Inspection {
    let at = marked.find('|').unwrap();
    let text = marked.replacen('|', "", 1);
    inspect(&names(), &text, marked[..at].chars().count(), 0, 0, &Fake)
}

#[test]
fn names_are_explained() {
    for (place, wanted) in [
        ("val|ues", "let values: Vec<i32>"),
        ("values.pu|sh(1)", "fn push(&mut self, value: T)"),
        ("values.push(|", "fn push(&mut self, value: T)"),
        ("read_c|sv", "read_csv"),
        ("println|!", "println!"),
        ("Vec::with_cap|acity", "fn with_capacity(capacity: usize)"),
        ("flights.group_|by", "group_by"),
        ("fli|ghts", "dep_delay"),
        ("flights.select([\"dep_|delay\"])", "3"),
        ("/// Doubles.\nfn twice(n: i32) -> i32 { n * 2 }\ntwi|ce(1)", "Doubles."),
        ("mat|ch x", "pattern"),
    ] {
        let found = about(place);
        assert!(found.found && found.markdown.contains(wanted), "{place}: {}", found.markdown);
    }
    assert!(!about("nothing_known|").found);
}

#[test]
fn functions_are_explained_with_examples_and_other_names() {
    for (place, wanted) in [
        ("flights.group_|by(\"dest\")", "pandas `groupby`"),
        ("flights.group_by(|", "f.group_by(\"city\").agg("),
        ("flights.filter(x!(dep_delay.fill_nu|ll(0) > 1))", "pandas `fillna`"),
        ("flights.filter(x!(dest.str.conta|ins(\"a\")))", "SQL `regexp_matches`, `contains`"),
        // Functions without a method in the prelude.
        ("flights.select(x!(dest.str.strip_chars_sta|rt()))", "at the start"),
        ("flights.select(x!(dep_delay.cb|rt()))", "Cube root."),
        ("flights.select(x!(row_num|ber()))", "Number of the row"),
        ("read_pa|rquet(\"x\")", "`pd.read_parquet`"),
        ("sql(\"select list_so|rt(l) from flights\")", "ascending order"),
        ("%%sql\nselect strf|time(day, '%d') from flights", "by a format"),
    ] {
        let found = about(place);
        assert!(found.found && found.markdown.contains(wanted), "{place}: {}", found.markdown);
    }
    has(":help group|", &["group_by", "group_by_dynamic"]);
    has(":help str.conta|", &["str.contains"]);
}
