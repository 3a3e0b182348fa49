//! LIKE as what is cheapest.

use onrush_gpu::inside::Like;

#[test]
fn like_is_split_into_what_is_cheapest() {
    let of = |pattern: &str| match Like::of(pattern) {
        Like::Equal(text) => format!("= {text}"),
        Like::Starts(text) => format!("starts {text}"),
        Like::Ends(text) => format!("ends {text}"),
        Like::Contains(text) => format!("contains {text}"),
        Like::Pattern(text) => text,
    };
    assert_eq!(of("abc"), "= abc");
    assert_eq!(of("abc%"), "starts abc");
    assert_eq!(of("%abc"), "ends abc");
    assert_eq!(of("%abc%"), "contains abc");
    assert_eq!(of("%"), "starts ");
    assert_eq!(of("%a%b%"), "(?s)\\A.*a.*b.*\\z");
    assert_eq!(of("a_c"), "(?s)\\Aa.c\\z");
    assert_eq!(of("10\\%"), "(?s)\\A10%\\z");
    assert_eq!(of("a.c\\"), "(?s)\\Aa\\.c\\\\\\z");
}
