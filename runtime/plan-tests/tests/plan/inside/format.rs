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
    check("%,d %'d", &[Value::Integer(1234567), Value::Integer(1234567)], "1,234,567 1'234'567");
    check("%.d %.3d", &[Value::Integer(-1234567), Value::Integer(5)], "-1.234.567 005");
    check("%,.0f %,.3g", &[Value::Integer(9007199254740993), Value::Integer(-5)], "9,007,199,254,740,993 -005");
    check("%d", &[Value::Integer(120381902481294715712)], "120381902481294715712");
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
    check("{:.3} {:.3}", &[Value::Float(0.0), Value::Float(100.0)], "0.00 100.0");
    check("{:.3} {:.5}", &[Value::Float(1234.5), Value::Float(0.001)], "1.23e+03 0.001");
    check("{:tss}", &[Value::Integer(1234567)], "1s234s567");
    assert!(braces("{", &[]).is_err());
}
