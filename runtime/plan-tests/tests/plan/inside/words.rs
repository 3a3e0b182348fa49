//! Keys of sorts as words.

use std::cmp::Ordering;

use arrow::array::{BooleanArray, Float64Array, Int32Array, StringArray, StringViewArray};
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices};
use arrow::datatypes::{Field, Schema};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Decimal128Array};
use datafusion::physical_expr::LexOrdering;
use onrush_parallel::inside::{Layout, SortKeys};

const ROWS: usize = 400;

fn columns() -> Vec<ArrayRef> {
    let number = |row: usize, most: usize| (row * 7919 + row * row * 31) % most;
    let null = |row: usize, of: usize| number(row, of) == 0;
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, -2.5, 7.0];
    let strings = ["", "a", "a\0", "ab", "prefix of eight", "prefix of eight bytes", "prefix of eighu", "z"];
    let same = |row: usize| format!("customer#{:06}", number(row, 37));
    vec![
        Arc::new((0..ROWS).map(|row| (!null(row, 7)).then(|| number(row, 9) as i32 - 4)).collect::<Int32Array>()),
        Arc::new((0..ROWS).map(|row| (!null(row, 11)).then(|| floats[number(row, 8)])).collect::<Float64Array>()),
        Arc::new((0..ROWS).map(|row| (!null(row, 5)).then(|| strings[number(row, 8)])).collect::<StringArray>()),
        Arc::new((0..ROWS).map(|row| Some(same(row))).collect::<StringViewArray>()),
        Arc::new((0..ROWS).map(|row| (!null(row, 4)).then_some(row % 3 == 1)).collect::<BooleanArray>()),
        Arc::new(
            (0..ROWS)
                .map(|row| (!null(row, 6)).then(|| (number(row, 13) as i128 - 6) << (8 * (row % 15))))
                .collect::<Decimal128Array>(),
        ),
    ]
}

/// Arrow's sort of two keys and the number of the row is the expected order.
#[test]
fn words_order_as_arrow_sorts() {
    let columns = columns();
    let fields: Vec<Field> =
        columns.iter().enumerate().map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true)).collect();
    let schema = Schema::new(fields);
    let rows: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS as i32));
    let both = [false, true];
    for (a, b) in (0..columns.len()).flat_map(|a| (0..columns.len()).map(move |b| (a, b))) {
        for (descending, nulls_first) in both.iter().flat_map(|d| both.map(|n| (*d, n))) {
            let options = [SortOptions { descending, nulls_first }, SortOptions::default()];
            let column = |place: usize, options: SortOptions| SortColumn {
                values: Arc::clone(&columns[place]),
                options: Some(options),
            };
            let by_row = SortColumn { values: Arc::clone(&rows), options: None };
            let keys = [column(a, options[0]), column(b, options[1]), by_row];
            let expected = lexsort_to_indices(&keys, None).unwrap();
            let key = |place: usize, options: SortOptions| {
                let column = Column::new(schema.field(place).name(), place);
                PhysicalSortExpr::new(Arc::new(column), options)
            };
            let order = LexOrdering::new([key(a, options[0]), key(b, options[1])]).unwrap();
            // An ordering has each column once.
            let places = if order.len() == 1 { vec![a] } else { vec![a, b] };
            let of = |range: std::ops::Range<usize>| -> Vec<SortKeys> {
                let slice = |place: &usize| columns[*place].slice(range.start, range.len());
                places.iter().map(|place| SortKeys::new(&slice(place)).unwrap()).collect()
            };
            let units = [of(0..150), of(150..ROWS)];
            let layout = Layout::new(&order, &units.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            let words = |row: u32| {
                let row = row as usize;
                let (unit, row) = if row < 150 { (0, row) } else { (1, row - 150) };
                let first = layout.first_words(&units[unit], if unit == 0 { 150 } else { ROWS - 150 })[row];
                let words: Vec<u64> = (0..layout.levels()).map(|level| layout.word(&units[unit], row, level)).collect();
                assert_eq!(words.first().copied().unwrap_or_default(), first);
                words
            };
            let mut sorted: Vec<u32> = (0..ROWS as u32).collect();
            let all: Vec<Vec<u64>> = sorted.iter().map(|row| words(*row)).collect();
            sorted.sort_by(|a, b| match all[*a as usize].cmp(&all[*b as usize]) {
                Ordering::Equal => a.cmp(b),
                order => order,
            });
            assert_eq!(sorted, expected.values().to_vec(), "{a} {b} {descending} {nulls_first}");
        }
    }
}
