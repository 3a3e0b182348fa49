//! Tests of the end of a descent.

use super::*;
use crate::data::Column;

#[test]
fn a_failed_line_search_converges_only_at_a_small_gradient() {
    let classes = vec!["a".to_string(), "b".to_string()];
    let columns = vec![Column::number("x", vec![0.0, 1.0, 2.0, 3.0])];
    let data = Data { y: vec![0.0, 1.0, 0.0, 1.0], classes, ..Data::new(columns) };
    let problem = Problem::new(&data, None, None, true).unwrap();
    assert!(problem.slope(&[0.0, 0.0], &[f64::NAN, 0.0]).is_nan());
    for (gradient, is_stuck) in [(1e-9, false), (0.5, true), (f64::NAN, true)] {
        let end = problem.stalled(vec![0.0, 0.0], Vec::new(), gradient, 1e-8);
        assert_eq!((end.is_stuck, end.converged), (is_stuck, !is_stuck));
    }
}
