//! Strings as lists.

use onrush_sql::inside::{parts, value_of};

/// From DuckDB 2.0: `cast('...' as varchar[])`.
#[test]
fn lists_of_strings() {
    let check = |text: &str, expect: &[Option<&str>]| {
        let found: Vec<Option<String>> =
            parts(text, '[', ']', true).unwrap().unwrap().into_iter().map(value_of).collect();
        assert_eq!(found.iter().map(|v| v.as_deref()).collect::<Vec<_>>(), expect, "{text}");
    };
    check("[hello, world]", &[Some("hello"), Some("world")]);
    check(r#"["]", "a, b"]"#, &[Some("]"), Some("a, b")]);
    check("[NULL, , 'null']", &[None, Some(""), Some("null")]);
    check("[[1, 2], [3]]", &[Some("[1, 2]"), Some("[3]")]);
    check(r"[can\'t, x]", &[Some("can't"), Some("x")]);
    check(r"[a\,b, c]", &[Some(r"a\"), Some("b"), Some("c")]);
    check("[]", &[]);
    assert!(parts("x", '[', ']', true).is_err());
}
