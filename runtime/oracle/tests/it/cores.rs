//! The same bits on any number of cores.

/// All queries of the corpus, and random plans over tables of some hundred rows. No expected values: runs are compared
/// with each other; the other tests of this folder compare with DuckDB.
#[test]
fn results_do_not_depend_on_the_number_of_cores() {
    if let Err(difference) = onrush_oracle::cores::run("", 300, 20_261_126) {
        panic!("{difference}");
    }
}
