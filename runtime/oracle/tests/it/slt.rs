//! Files of queries.

use onrush_oracle::slt::{Expect, read};

#[test]
fn files_are_read() {
    let text = "# about\n\nquery IT rowsort\nselect a, s\n  from t\n----\n1 x\n2 (empty)\n\nskipif cuda\nquery error overflow\nselect 1\n\
                \nonlyif cpu\nquery I\nselect 2\n----\n";
    let cases = read(text).unwrap();
    assert_eq!(cases.len(), 3);
    assert_eq!((cases[0].line, cases[0].sql.as_str()), (3, "select a, s\nfrom t"));
    let rows = vec![vec!["1".to_string(), "x".to_string()], vec!["2".to_string(), "(empty)".to_string()]];
    assert_eq!(cases[0].expect, Expect::Rows { letters: "IT".to_string(), sorted: true, rows });
    assert_eq!(cases[1].expect, Expect::Error("overflow".to_string()));
    assert!(!cases[1].is_for("cuda") && cases[1].is_for("cpu"));
    assert!(cases[2].is_for("cpu") && !cases[2].is_for("cuda"));
    for wrong in ["selct", "query\nselect 1\n----\n", "query I\nselect 1\n", "query error x\nselect 1\n----\n1"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
