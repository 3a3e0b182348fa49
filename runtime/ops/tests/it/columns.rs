//! Columns of all types on their way to the device and back, and tables one after the other.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeListArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, ListArray,
    StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type};
use onrush_ops::{DeviceTable, DeviceType, ExprGraph, kind_of};

use super::support::{
    DEVICES, Nulls, SIZES, STRINGS, check, column, download, float, long, one_of, project, random, sliced, upload,
};

fn lists(rows: usize, nulls: Nulls) -> ArrayRef {
    let list = |row: usize| -> Option<Vec<Option<i64>>> {
        let length = random(row, 31) % 4;
        let element = |at: u64| (!(row as u64 + at).is_multiple_of(5)).then(|| long(row + at as usize, 32));
        nulls.is_valid(row, rows).then(|| (0..length).map(element).collect())
    };
    Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>((0..rows).map(list)))
}

fn structs(rows: usize, nulls: Nulls) -> ArrayRef {
    let fields = vec![Field::new("number", DataType::Int64, true), Field::new("name", DataType::Utf8, true)];
    let columns = [
        column::<Int64Array, i64>(rows, Nulls::Alternating, |row| long(row, 33)),
        column::<StringArray, &str>(rows, Nulls::Last, |row| one_of(&STRINGS, row, 34)),
    ];
    let valid: Vec<bool> = (0..rows).map(|row| nulls.is_valid(row, rows)).collect();
    // A null struct has null fields, as comparisons of arrays look below.
    let columns = columns.iter().map(|column| {
        let null = BooleanArray::from(valid.iter().map(|valid| !valid).collect::<Vec<_>>());
        arrow::compute::nullif(column, &null).unwrap()
    });
    let columns = columns.collect();
    Arc::new(StructArray::new(fields.into(), columns, Some(NullBuffer::from(valid))))
}

/// A column of each type.
pub fn table(rows: usize, nulls: Nulls) -> Vec<ArrayRef> {
    let text = |row: usize| one_of(&STRINGS, row, 22);
    let decimals = |precision: u8| -> ArrayRef {
        let value = |row: usize| i128::from(long(row, 23)) % 10_i128.pow(precision.into());
        let values = (0..rows).map(|row| nulls.is_valid(row, rows).then(|| value(row)));
        Arc::new(values.collect::<Decimal128Array>().with_precision_and_scale(precision, 2).unwrap())
    };
    let words: DictionaryArray<Int32Type> = (0..rows).map(|row| nulls.is_valid(row, rows).then(|| text(row))).collect();
    let long = |row: usize| long(row, 24);
    let of_two = {
        let pair = |row: usize| nulls.is_valid(row, rows).then(|| [Some(long(row)), None]);
        FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>((0..rows).map(pair), 2)
    };
    let list = lists(rows, nulls);
    let large = cast(&list, &DataType::LargeList(Arc::new(Field::new("item", DataType::Int64, true)))).unwrap();
    vec![
        column::<BooleanArray, bool>(rows, nulls, |row| random(row, 21).is_multiple_of(2)),
        column::<Int8Array, i8>(rows, nulls, |row| long(row) as i8),
        column::<Int16Array, i16>(rows, nulls, |row| long(row) as i16),
        column::<Int32Array, i32>(rows, nulls, |row| long(row) as i32),
        column::<Int64Array, i64>(rows, nulls, long),
        column::<UInt8Array, u8>(rows, nulls, |row| long(row) as u8),
        column::<UInt16Array, u16>(rows, nulls, |row| long(row) as u16),
        column::<UInt32Array, u32>(rows, nulls, |row| long(row) as u32),
        column::<UInt64Array, u64>(rows, nulls, |row| long(row) as u64),
        column::<Float32Array, f32>(rows, nulls, |row| float(row, 25) as f32),
        column::<Float64Array, f64>(rows, nulls, |row| float(row, 25)),
        column::<Date32Array, i32>(rows, nulls, |row| long(row) as i32),
        column::<TimestampMicrosecondArray, i64>(rows, nulls, long),
        decimals(9),
        decimals(18),
        decimals(38),
        column::<StringArray, &str>(rows, nulls, text),
        column::<LargeStringArray, &str>(rows, nulls, text),
        column::<StringViewArray, &str>(rows, nulls, text),
        Arc::new(words),
        list,
        large,
        Arc::new(of_two),
        structs(rows, nulls),
    ]
}

/// Expected are the arrays themselves.
#[test]
fn upload_and_download_of_all_types_gives_the_arrays_back() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let columns = table(rows, nulls);
            for as_bytes in [false, true] {
                let mut graph = ExprGraph::new();
                let input = |(index, column): (usize, &ArrayRef)| {
                    let kind = kind_of(column.data_type()).unwrap();
                    graph
                        .input(index, if as_bytes && kind == DeviceType::DictIndex { DeviceType::String } else { kind })
                };
                let ids = columns.iter().enumerate().map(input).collect();
                check(project(graph, ids), &[&columns], &columns);
            }
        }
    }
}

/// Expected from `arrow-select`.
#[test]
fn concat_of_tables_with_odd_row_counts_gives_their_rows_in_order() {
    for gpu in DEVICES.all() {
        let lane = gpu.lane(0).unwrap();
        for (counts, nulls) in [
            (vec![1, 31, 33], [Nulls::None, Nulls::First, Nulls::None]),
            (vec![33, 0, 1], [Nulls::Alternating, Nulls::None, Nulls::All]),
            (vec![1025, 7, 1023], [Nulls::None, Nulls::Last, Nulls::Alternating]),
            (vec![5], [Nulls::First; 3]),
        ] {
            for as_bytes in [false, true] {
                let tables: Vec<Vec<ArrayRef>> =
                    counts.iter().zip(nulls).map(|(rows, nulls)| table(*rows, nulls)).collect();
                let uploaded: Vec<DeviceTable> = tables
                    .iter()
                    .map(|columns| {
                        let chunks: Vec<_> = columns
                            .iter()
                            .map(|column| if column.is_empty() { vec![Arc::clone(column)] } else { sliced(column) })
                            .collect();
                        upload(&lane, &chunks, &|_| as_bytes).unwrap()
                    })
                    .collect();
                let all = DeviceTable::concat(&lane.context, &uploaded).unwrap();
                lane.context.stream.synchronize().unwrap();
                let types: Vec<DataType> = tables[0].iter().map(|column| column.data_type().clone()).collect();
                let found = download(gpu, &lane, &all, &types).unwrap();
                for (index, found) in found.iter().enumerate() {
                    let parts: Vec<&dyn Array> = tables.iter().map(|columns| columns[index].as_ref()).collect();
                    assert_eq!(found, &concat(&parts).unwrap(), "{counts:?} {:?}", types[index]);
                }
            }
        }
    }
}

/// By hand: IEEE 754 has a sign and a payload for NaN. The one NaN is that of Rust's constants.
#[test]
fn every_nan_of_a_large_table_becomes_one() {
    for gpu in DEVICES.all() {
        let lane = gpu.lane(0).unwrap();
        let doubles: ArrayRef = Arc::new(Float64Array::from_iter((0..40_000).map(|row| match row % 5 {
            0 => None,
            1 => Some(-f64::NAN),
            2 => Some(f64::NEG_INFINITY),
            3 => Some(f64::from_bits(0x7ff0_0000_0000_0001)),
            _ => Some(-0.0),
        })));
        let singles: ArrayRef = Arc::new(Float32Array::from_iter_values((0..40_000).map(|row| match row % 3 {
            0 => -f32::NAN,
            1 => f32::INFINITY,
            _ => 1.5,
        })));
        let longs: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40_000));
        let columns = [doubles, singles, longs];
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let chunks: Vec<_> = columns.iter().map(|column| vec![Arc::clone(column)]).collect();
        let table = upload(&lane, &chunks, &|_| false).unwrap();
        assert_eq!(table.unify_nans(&lane).unwrap(), [true; 3]);
        let found = download(gpu, &lane, &table, &types).unwrap();
        let doubles = found[0].as_primitive::<arrow::datatypes::Float64Type>();
        let expected = [None, Some(f64::NAN), Some(f64::NEG_INFINITY), Some(f64::NAN), Some(-0.0)];
        for (row, value) in doubles.iter().enumerate() {
            assert_eq!(value.map(f64::to_bits), expected[row % 5].map(f64::to_bits), "row {row}");
        }
        let singles = found[1].as_primitive::<arrow::datatypes::Float32Type>();
        for (row, value) in singles.values().iter().enumerate() {
            assert_eq!(value.to_bits(), [f32::NAN, f32::INFINITY, 1.5][row % 3].to_bits(), "row {row}");
        }
        assert_eq!(&found[2], &columns[2]);
        // A launch for a few rows would take longer than the host's look at them.
        let few: Vec<_> = columns.iter().map(|column| vec![column.slice(0, 10)]).collect();
        assert_eq!(upload(&lane, &few, &|_| false).unwrap().unify_nans(&lane).unwrap(), [false, false, true]);
    }
}
