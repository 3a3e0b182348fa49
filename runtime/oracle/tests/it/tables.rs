//! Tables in text.

use onrush_oracle::answer::{line, rows};
use onrush_oracle::tables::{chunked, read};

#[test]
fn every_type_is_read() {
    let text = "# comment\ntable t\nb:boolean i:utinyint f:double d:decimal(10,2) t:timestamptz[Europe/Berlin] u:duration s:category\n\
                true 255 -inf -1.50 2020-06-01T00:00:00 5 a\\sb\nNULL NULL nan NULL NULL NULL (empty)\ntable none\nx:date\n";
    let tables = read(text).unwrap();
    let all = rows(&tables[0].table);
    assert_eq!(line(&all[0]), "true\t255\t-inf\t-1.5\t2020-06-01T00:00:00Z\t5us\ta\\sb");
    assert_eq!(line(&all[1]), "NULL\tNULL\tNaN\tNULL\tNULL\tNULL\t(empty)");
    assert_eq!((tables[1].name.as_str(), tables[1].table.rows()), ("none", 0));
    assert_eq!(chunked(&tables[0].table, 1).batches().len(), 2);
    for wrong in ["x", "table t\na", "table t\na:int\n1", "table t\na:bigint\n1 2", "table t\na:bigint\nx"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
