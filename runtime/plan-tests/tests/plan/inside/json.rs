//! JSON documents and paths.

use onrush_sql::inside::{Json, Path};

/// From DuckDB 2.0: `json_extract`.
#[test]
fn paths_lead_to_values() {
    let document = Json::parse(r#"{"duck": [1, 2, 3], "a": {"b": "x"}, "z": 1.50}"#).unwrap();
    let check = |path: &str, expect: &[&str]| {
        let found = Path::parse(path).unwrap();
        let found: Vec<String> = found.of(&document).iter().map(ToString::to_string).collect();
        assert_eq!(found, expect, "{path}");
    };
    check("$.duck[1]", &["2"]);
    check("$.duck[-1]", &["3"]);
    check("$.duck[*]", &["1", "2", "3"]);
    check("/duck/0", &["1"]);
    check("$.a.b", &["\"x\""]);
    check("a", &["{\"b\":\"x\"}"]);
    check("$.z", &["1.50"]);
    check("$.nothing", &[]);
    check("$..b", &["\"x\""]);
    assert!(Path::parse("$x").is_err());
}

#[test]
fn what_is_wrong_is_told() {
    for text in ["", "{", "[1,]", "{\"a\" 1}", "01", "1 2", "\"\\x\"", "nul", "{a: 1}"] {
        assert!(Json::parse(text).is_err(), "{text}");
    }
    assert!(Json::parse(&"[".repeat(100_000)).is_err());
}
