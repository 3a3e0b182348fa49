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
    check("$.z", &["1.5"]);
    check("", &["{\"duck\":[1,2,3],\"a\":{\"b\":\"x\"},\"z\":1.5}"]);
    check("$.*", &["[1,2,3]", "{\"b\":\"x\"}", "1.5"]);
    check("$[*]", &[]);
    check("$..[*]", &["1", "2", "3"]);
    check("$.**.b", &["\"x\""]);
    check("$..[0]", &["1"]);
    check("$.\"a\"", &["{\"b\":\"x\"}"]);
    check("$.nothing", &[]);
    check("$..b", &["\"x\""]);
    let nested = Json::parse(r#"{"a": {"b": [1, 2]}, "d": [3]}"#).unwrap();
    let found: Vec<String> = Path::parse("$..[0]").unwrap().of(&nested).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["3", "1"]);
    assert!(Path::parse("$x").is_err());
    assert!(Path::parse("$..").is_err());
}

#[test]
fn what_is_wrong_is_told() {
    for text in ["", "{", "[1,,]", "[,]", "{\"a\" 1}", "01", "1 2", "\"\\x\"", "nul", "{a: 1}"] {
        assert!(Json::parse(text).is_err(), "{text}");
    }
    assert!(Json::parse(&"[".repeat(100_000)).is_err());
}

/// From DuckDB 2.0: `json(...)`.
#[test]
fn more_than_the_standard_is_read() {
    let check = |text: &str, expect: &str| assert_eq!(Json::parse(text).unwrap().to_string(), expect, "{text}");
    check("[1,]", "[1]");
    check("{\"a\": -inf, \"b\": NaN,}", "{\"a\":-inf,\"b\":NaN}");
    check("[34.5e+6, 1.50, 1e21, 1e-7, 1e400]", "[34500000.0,1.5,1e21,1e-7,1e400]");
    check("[18446744073709551616, -5]", "[18446744073709551616,-5]");
}

/// From DuckDB 2.0: `json_merge_patch` and `json_contains`.
#[test]
fn documents_are_merged_and_searched() {
    let parse = |text: &str| Json::parse(text).unwrap();
    let check = |own: &str, patch: &str, expect: &str| {
        assert_eq!(parse(own).merged(parse(patch)).to_string(), expect, "{own} {patch}");
    };
    check(r#"{"a":1,"b":{"x":1,"y":2},"z":3}"#, r#"{"b":{"x":5}}"#, r#"{"a":1,"z":3,"b":{"y":2,"x":5}}"#);
    check("3", r#"{"a":null,"b":1}"#, r#"{"a":null,"b":1}"#);
    check(r#"{"a":1,"b":2}"#, r#"{"a":null}"#, r#"{"b":2}"#);
    assert!(!parse(r#"{"a":{"b":42}}"#).contains(&parse(r#"{"a":42}"#)));
    assert!(parse(r#"{"a":{"b":42}}"#).contains(&parse(r#"{"b":42}"#)));
    assert!(parse("[1,[2,3]]").contains(&parse("[2]")));
}
