//! Names of frames in queries.

use onrush_session::supervisor::mentions;

#[test]
fn a_query_mentions_whole_words() {
    assert!(mentions("select * from Flights", "flights") && mentions("FROM \"a b\"", "a b"));
    assert!(!mentions("select * from flights2", "flights") && !mentions("", "f"));
}
