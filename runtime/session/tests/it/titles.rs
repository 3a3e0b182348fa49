//! Titles of plans, and names in queries.

use onrush_session::supervisor::{mentions, titled};
use onrush_wire::FrameId;
use onrush_wire::plan::Op;

#[test]
fn titles_are_the_last_steps() {
    let step =
        |input: Option<&str>| titled(input.map(str::to_string), &Op::DropNulls { input: FrameId(1), subset: vec![] });
    assert_eq!(step(None), "drop_nulls");
    assert_eq!(step(Some("read a.csv → filter → sort")), "filter → sort → drop_nulls");
}

#[test]
fn a_query_mentions_whole_words() {
    assert!(mentions("select * from Flights", "flights") && mentions("FROM \"a b\"", "a b"));
    assert!(!mentions("select * from flights2", "flights") && !mentions("", "f"));
}
