//! Answers: how they are written, and compared.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

use onrush_frame::Table;
use onrush_oracle::answer::{Tolerance, compare, escaped, is, text, unescaped};
use onrush_wire::Value;

#[test]
fn words_hold_any_text() {
    for text in ["", "a b", "NULL", "tab\tnew\nline", "back\\slash", "\\s", "héllo"] {
        let word = escaped(text);
        assert!(!word.contains([' ', '\t', '\n']), "{word}");
        assert_eq!(unescaped(&word), text);
        assert_ne!(word, "NULL");
    }
}

#[test]
fn numbers_are_compared_as_numbers() {
    assert!(is(&Value::Float(0.1 + 0.2), "0.3", 'R'));
    assert!(!is(&Value::Float(0.1 + 0.2), "0.3001", 'R'));
    assert!(is(&Value::Float(-0.0), "0.0", 'R') && is(&Value::Float(f64::NAN), "nan", 'R'));
    assert!(is(&Value::Float(f64::INFINITY), "inf", 'R') && !is(&Value::Float(f64::INFINITY), "-inf", 'R'));
    assert!(!is(&Value::Null, "0", 'R') && is(&Value::Null, "NULL", 'R'));
    let decimal = |value, scale| Value::Decimal { value, precision: 38, scale };
    assert_eq!([decimal(150, 2), decimal(-5, 3), decimal(0, 4)].map(|d| text(&d)), ["1.5", "-0.005", "0"]);
}

fn table(keys: &[i64], values: &[f64]) -> Table {
    let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
    let values: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let batch = RecordBatch::try_from_iter([("k", keys), ("v", values)]).unwrap();
    Table::new(batch.schema(), vec![batch])
}

#[test]
fn rows_are_paired_in_any_order_within_the_tolerance() {
    let near = Tolerance { relative: 1e-9, absolute: 1e-9 };
    let same = |a: &Table, b: &Table| compare(a, b, &[true, false], near, false);
    let a = table(&[1, 1, 2], &[0.3, 0.1 + 0.2, f64::NAN]);
    let b = table(&[2, 1, 1], &[f64::NAN, 0.1 + 0.2, 0.3]);
    assert_eq!(same(&a, &b), Ok(()));
    assert!(compare(&a, &b, &[true, false], near, true).is_err());
    for wrong in [
        table(&[2, 1, 1], &[f64::NAN, 0.4, 0.3]),
        table(&[2, 1, 3], &[f64::NAN, 0.3, 0.3]),
        table(&[2, 1, 1], &[0.0, 0.3, 0.3]),
        table(&[2, 1], &[f64::NAN, 0.3]),
    ] {
        assert!(same(&a, &wrong).is_err());
    }
}
