//! Rules of DataFusion that are chosen by name.

use onrush_optimizer::{AGAIN, AGAIN_SIMPLE, Logical, unconditional};

/// Those that are chosen by name have these names in DataFusion.
#[test]
fn the_rules_are_there() {
    let (logical, physical) = unconditional();
    let always = ["simplify_expressions", "propagate_empty_relation", "optimize_projections", "window_filters"];
    assert_eq!(logical, always);
    let all = format!("{:?}", Logical::new(false));
    assert!(AGAIN.iter().chain(AGAIN_SIMPLE).all(|rule| all.contains(&format!("{rule:?}"))), "{all}");
    assert_eq!(physical, ["ProjectionPushdown", "EnsureCooperative", "filter_first"]);
}
