//! Numbers of ids.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use onrush_graph_arrow::{MISSING, numbered};

fn check(columns: &[ArrayRef], codes: &[u32], ids: &[ArrayRef]) {
    let (found, distinct) = numbered(columns).unwrap();
    assert_eq!(found, codes);
    assert_eq!(distinct.len(), ids.len());
    for (found, wanted) in distinct.iter().zip(ids) {
        assert_eq!(&cast(found, wanted.data_type()).unwrap(), wanted);
    }
}

// By hand.
#[test]
fn ids_get_their_ranks() {
    let ints = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let words = |values: Vec<Option<&str>>| {
        cast(&(Arc::new(StringArray::from(values)) as ArrayRef), &DataType::Utf8View).unwrap()
    };
    check(&[ints(vec![Some(7), None, Some(-1), Some(7)])], &[1, MISSING, 0, 1], &[ints(vec![Some(-1), Some(7)])]);
    let far = vec![Some(i64::MAX), Some(i64::MIN), Some(0)];
    check(&[ints(far)], &[2, 0, 1], &[ints(vec![Some(i64::MIN), Some(0), Some(i64::MAX)])]);
    check(&[ints(vec![None, None])], &[MISSING, MISSING], &[ints(vec![])]);
    let names = vec![Some("b"), Some("a longer name than twelve"), None, Some("b"), Some("")];
    let wanted = words(vec![Some(""), Some("a longer name than twelve"), Some("b")]);
    check(&[words(names)], &[2, 1, MISSING, 2, 0], &[wanted]);
    let pairs = [ints(vec![Some(2), Some(1), Some(2), None]), words(vec![Some("x"), Some("y"), Some("a"), Some("a")])];
    let wanted = [ints(vec![Some(1), Some(2), Some(2)]), words(vec![Some("y"), Some("a"), Some("x")])];
    check(&pairs, &[2, 0, 1, MISSING], &wanted);
}

#[test]
fn many_strings_are_numbered_on_all_threads() {
    let values: Vec<String> = (0..300_000).map(|i: u64| format!("node {}", i * 7919 % 10_007)).collect();
    let array: ArrayRef = Arc::new(StringViewArray::from_iter_values(&values));
    let (codes, ids) = numbered(&[array]).unwrap();
    let ids = ids[0].as_string_view();
    assert_eq!(ids.len(), 10_007);
    assert!((1..ids.len()).all(|i| ids.value(i - 1) < ids.value(i)));
    assert!(values.iter().zip(&codes).all(|(value, code)| ids.value(*code as usize) == value));
}
