//! Columns of few distinct strings.

use arrow::array::StringViewBuilder;

use onrush_ops::column::local;

// Expected codes are counted by hand.
#[test]
fn rows_are_found_by_view_and_by_text() {
    let mut builder = StringViewBuilder::new();
    // The second long string lies apart from the first one, with the same text.
    let rows =
        [Some("b"), Some("longer than twelve bytes"), None, Some("b"), Some("longer than twelve bytes"), Some("")];
    rows.iter().for_each(|row| builder.append_option(*row));
    let views = builder.finish();
    let found = local(&views, 3).unwrap();
    assert_eq!(found.codes, [0, 1, 0, 0, 1, 2]);
    assert_eq!(found.distinct, ["b", "longer than twelve bytes", ""]);
    assert!(local(&views, 2).is_none());
}
