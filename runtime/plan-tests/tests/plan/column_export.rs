//! Device columns that another process maps: some are exported, others are not, and neither is copied through the host.
//! Expected values are closed forms.

use std::os::fd::AsFd;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType as Arrow;
use onrush_device::{Device, Owner, Pod};
use onrush_engine::{EngineConfig, ExportedColumn};
use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;
use onrush_wire::{DataType, FrameId};

use super::support::*;

/// More than a megabyte of 64-bit numbers.
const ROWS: i64 = 200_000;

fn lend(bench: &TestEngine, frame: FrameId, column: &str) -> Option<ExportedColumn> {
    let table = bench.engine.table(frame, &[column.to_string()], &TaskHandle::new()).unwrap();
    bench.engine.export_column(&table, &TaskHandle::new()).unwrap()
}

fn device_of(bench: &TestEngine) -> &Device {
    bench.engine.accelerator().expect("it has a device").gpu.context().device()
}

/// What a process finds that maps the descriptor.
fn values<T: Pod>(bench: &TestEngine, loan: &ExportedColumn) -> Vec<T> {
    let device = device_of(bench);
    let stream = device.stream().unwrap();
    let mapped = device.import(&Owner::new("a borrower"), loan.memory.as_fd(), loan.bytes, &stream).unwrap();
    mapped.read::<T>(0..loan.bytes as usize / size_of::<T>(), &stream).unwrap()
}

fn persisted(bench: &TestEngine, of: FrameId) -> FrameId {
    let new = bench.id();
    bench.engine.persist(of, new, &TaskHandle::new()).unwrap();
    bench.engine.release(&[of]);
    new
}

/// Twelve times as many rows, so that bytes are enough, too: the numbers from 0 to 99 over and over, as each type, in
/// three batches.
fn of_all_types(bench: &TestEngine) -> FrameId {
    let types = [
        Arrow::Int8,
        Arrow::Int16,
        Arrow::Int32,
        Arrow::Int64,
        Arrow::UInt8,
        Arrow::UInt16,
        Arrow::UInt32,
        Arrow::UInt64,
        Arrow::Float32,
        Arrow::Float64,
    ];
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..12 * ROWS).map(|row| row % 100)));
    let columns = types.map(|dtype| (dtype.to_string(), cast(&numbers, &dtype).unwrap()));
    let whole = RecordBatch::try_from_iter(columns).unwrap();
    let rows = whole.num_rows();
    // The second begins in the middle of a buffer.
    bench.batches(vec![whole.slice(0, 7), whole.slice(7, rows - 1_007), whole.slice(rows - 1_000, 1_000)])
}

#[test]
fn numbers_of_each_type_are_lent() {
    let bench = device();
    let frame = of_all_types(&bench);
    macro_rules! check {
        ($($t:ty: $name:literal $dtype:ident),*) => {$(
            let loan = lend(&bench, frame, $name).expect($name);
            assert_eq!((loan.rows, loan.bytes), (12 * ROWS as u64, 12 * ROWS as u64 * size_of::<$t>() as u64));
            assert_eq!((&loan.dtype, loan.emulated), (&DataType::$dtype, !is_cuda()));
            assert_eq!(loan.device, device_of(&bench).properties().name);
            let found = values::<$t>(&bench, &loan);
            assert!(found.iter().enumerate().all(|(row, value)| *value == (row % 100) as u8 as $t), $name);
        )*};
    }
    check!(i8: "Int8" Int8, i16: "Int16" Int16, i32: "Int32" Int32, i64: "Int64" Int64);
    check!(u8: "UInt8" UInt8, u16: "UInt16" UInt16, u32: "UInt32" UInt32, u64: "UInt64" UInt64);
    check!(f32: "Float32" Float32, f64: "Float64" Float64);
}

#[test]
fn a_column_on_the_device_is_not_copied_there_again() {
    let bench = device();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let frame = bench.frame(vec![("n", numbers)]);
    let sum = format!("s|{}", ROWS * (ROWS - 1) / 2);
    assert_eq!(bench.sql("select sum(n) as s from t", &[("t", frame)]), sum);
    let ledger = device_of(&bench).ledger();
    let before = (bench.engine.device_changes(), ledger.total().used);
    let loan = lend(&bench, frame, "n").expect("it is large enough");
    // The engine has no mapping of the copy left.
    assert_eq!((bench.engine.device_changes(), ledger.total().used), before);
    assert_eq!(values::<i64>(&bench, &loan).iter().sum::<i64>(), ROWS * (ROWS - 1) / 2);
    // The copy is separate: it outlives the frame and the column on the device.
    bench.engine.release(&[frame]);
    bench.engine.forget_results();
    bench.engine.accelerator().unwrap().gpu.residency.sweep();
    assert_eq!(values::<i64>(&bench, &loan), Vec::from_iter(0..ROWS));
}

/// The kernel that computes it leaves it on the device.
#[test]
fn a_column_that_was_computed_on_the_device_is_lent_from_there() {
    let bench = only_device();
    let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..ROWS).map(|n| n as f64)));
    let source = bench.frame(vec![("x", numbers)]);
    let query = "select x * 2 as y from t where x >= 1000".to_string();
    let doubled = bench.step(Op::Sql { query, tables: vec![("t".to_string(), source)] });
    let doubled = persisted(&bench, doubled);
    let before = bench.engine.device_changes();
    let loan = lend(&bench, doubled, "y").expect("it is large enough");
    assert_eq!(bench.engine.device_changes(), before);
    let expected: Vec<f64> = (1_000..ROWS).map(|n| 2.0 * n as f64).collect();
    assert_eq!(values::<f64>(&bench, &loan), expected);
}

#[test]
fn what_cannot_be_lent_goes_over_the_host() {
    let rows = || 0..ROWS;
    let columns = |bench: &TestEngine| {
        let numbers = Int64Array::from_iter_values(rows());
        let one_null = Int64Array::from_iter(rows().map(|n| (n != 77).then_some(n)));
        let decimals = Decimal128Array::from_iter_values(rows().map(i128::from));
        bench.frame(vec![
            ("n", Arc::new(numbers) as ArrayRef),
            ("null", Arc::new(one_null)),
            ("text", Arc::new(StringArray::from_iter_values(rows().map(|n| (n % 9).to_string())))),
            ("decimal", Arc::new(decimals.with_precision_and_scale(9, 2).unwrap())),
            ("wide", Arc::new(Decimal128Array::from_iter_values(rows().map(i128::from)))),
            ("day", Arc::new(Date32Array::from_iter_values(rows().map(|n| n as i32)))),
            ("flag", bools(&rows().map(|n| Some(n % 2 == 0)).collect::<Vec<_>>())),
        ])
    };
    let bench = device();
    let frame = columns(&bench);
    for column in ["null", "text", "decimal", "wide", "day", "flag"] {
        assert!(lend(&bench, frame, column).is_none(), "{column}");
    }
    assert!(lend(&bench, frame, "n").is_some());
    // Too few: 131 072 numbers of 8 bytes are a megabyte.
    for (few, is_lent) in [(0, false), (131_071, false), (131_072, true)] {
        let frame = bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..few)) as ArrayRef)]);
        assert_eq!(lend(&bench, frame, "n").is_some(), is_lent, "{few}");
    }
    // No device.
    let bench = TestEngine::on_cpu();
    let frame = columns(&bench);
    assert!(lend(&bench, frame, "n").is_none());
}

/// There is room for the column, and none for its copy.
#[test]
fn without_memory_for_the_copy_nothing_is_lent() {
    let room = |bytes: u64| EngineConfig { device_memory: Some(bytes), ..on_device() };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..4 * ROWS));
    let bytes = 8 * 4 * ROWS as u64;
    for (memory, is_lent) in [(bytes * 3 / 2, false), (bytes * 3, true)] {
        let bench = TestEngine::of(room(memory));
        let frame = bench.frame(vec![("n", Arc::clone(&numbers))]);
        assert_eq!(lend(&bench, frame, "n").is_some(), is_lent, "{memory}");
        let sum = 4 * ROWS * (4 * ROWS - 1) / 2;
        assert_eq!(bench.sql("select sum(n) as s from t", &[("t", frame)]), format!("s|{sum}"));
    }
}

/// Each thread maps the column that was exported to it, while other threads run queries and exports.
#[test]
fn several_threads_are_lent_what_each_asked_for() {
    let bench = device();
    let frame = of_all_types(&bench);
    std::thread::scope(|scope| {
        for (thread, column) in ["Int32", "UInt32", "Int64"].into_iter().enumerate() {
            let bench = &bench;
            scope.spawn(move || {
                for _ in 0..3 {
                    let loan = lend(bench, frame, column).expect(column);
                    let own = bench.frame(vec![(
                        "n",
                        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n * thread as i64))) as ArrayRef,
                    )]);
                    let other = lend(bench, own, "n").expect("it is large enough");
                    let wide = if column == "Int64" { 8 } else { 4 };
                    let bytes = values::<u8>(bench, &loan);
                    assert!(bytes.chunks(wide).enumerate().all(|(row, value)| value[0] == (row % 100) as u8));
                    let expected = thread as i64 * ROWS * (ROWS - 1) / 2;
                    assert_eq!(values::<i64>(bench, &other).iter().sum::<i64>(), expected);
                    bench.engine.release(&[own]);
                }
            });
        }
    });
}
