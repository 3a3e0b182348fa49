//! `printf` and `format`.

use onrush_sql::inside::{Value, braces, c_style};

/// From DuckDB 2.0: `select printf(...)`.
#[test]
fn conversions_of_c() {
    let check = |pattern: &str, values: &[Value], expect: &str| {
        assert_eq!(c_style(pattern, values).as_deref(), Ok(expect), "{pattern}");
    };
    check("%05d|%s", &[Value::Integer(42), Value::Text("x".into())], "00042|x");
    check("%.2f %e", &[Value::Float(2.71428), Value::Float(12345.678)], "2.71 1.234568e+04");
    check("%-6s|%6s|", &[Value::Text("ab".into()), Value::Text("cd".into())], "ab    |    cd|");
    check("%x %X %o 100%%", &[Value::Integer(255), Value::Integer(255), Value::Integer(8)], "ff FF 10 100%");
    assert!(c_style("%d", &[]).is_err());
}

/// From DuckDB 2.0: `select format(...)`.
#[test]
fn places_in_braces() {
    let check = |pattern: &str, values: &[Value], expect: &str| {
        assert_eq!(braces(pattern, values).as_deref(), Ok(expect), "{pattern}");
    };
    check("{} and {}", &[Value::Integer(1), Value::Text("b".into())], "1 and b");
    check("{1}-{0}", &[Value::Integer(1), Value::Integer(2)], "2-1");
    check("{:,}", &[Value::Integer(1234567)], "1,234,567");
    check(
        "{:>6}|{:<6}|{:^6}",
        &[Value::Text("a".into()), Value::Text("b".into()), Value::Text("c".into())],
        "     a|b     |  c   ",
    );
    check("{:.3f}", &[Value::Float(2.0)], "2.000");
    assert!(braces("{", &[]).is_err());
}
