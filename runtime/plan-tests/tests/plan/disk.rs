//! Rows that frames hold and that memory has no room for: they go to disk and are read from there. Expected sums are
//! closed forms.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use onrush_engine::{EngineChoice, EngineConfig, Policy};
use onrush_frame::TaskHandle;
use onrush_wire::FrameId;

use super::support::*;

const ROWS: i64 = 200_000;

fn bench(choice: EngineChoice, disk: &Path) -> TestEngine {
    TestEngine::of(EngineConfig {
        choice,
        policy: (choice != EngineChoice::Cpu).then_some(Policy::Only),
        cache: Some(onrush_wire::paths::cache_dir()),
        memory_limit: 16 << 20,
        disk: Some(disk.to_path_buf()),
        ..EngineConfig::default()
    })
}

/// Some 5 MB: two numbers and a text, which is null for each tenth row.
fn rows(bench: &TestEngine, from: i64) -> FrameId {
    let numbers = Int64Array::from_iter_values(from..from + ROWS);
    let groups = Int64Array::from_iter_values((0..ROWS).map(|n| n % 7));
    let texts =
        StringArray::from_iter((0..ROWS).map(|n| (n % 10 > 0).then_some(["ash", "oak", "elm"][(n % 3) as usize])));
    bench.frame(vec![("n", Arc::new(numbers) as ArrayRef), ("g", Arc::new(groups)), ("t", Arc::new(texts))])
}

fn persisted(bench: &TestEngine, of: FrameId) -> FrameId {
    let new = bench.id();
    bench.engine.persist(of, new, &TaskHandle::new()).unwrap();
    bench.engine.release(&[of]);
    new
}

fn on_disk(bench: &TestEngine, id: FrameId) -> bool {
    let residents = bench.engine.residents();
    residents.iter().find(|(other, _)| *other == id).expect("it holds its rows").1.is_on_disk()
}

/// The sum, the count of valid strings and the count of `oak`, by hand. `oak` is at n % 3 == 1, but rows with n % 30 ==
/// 10 are null.
fn expected(from: i64) -> String {
    let oaks = (0..ROWS).filter(|n| n % 3 == 1).count() - (0..ROWS).filter(|n| n % 30 == 10).count();
    format!("s c o g|{} {} {oaks} 6", ROWS * from + ROWS * (ROWS - 1) / 2, ROWS - ROWS / 10)
}

/// Twenty numbers in a row: 32 MB, where 12 are the limit of all.
fn wide() -> String {
    let columns: Vec<String> = (0..20).map(|k| format!("n + {k} as a{k}")).collect();
    format!("select {} from t", columns.join(", "))
}

const QUERY: &str = "select sum(n) as s, count(t) as c, count(*) filter (where t = 'oak') as o, max(g) as g from t";

#[test]
fn what_was_used_longest_ago_goes_to_disk() {
    for choice in choices() {
        let folder = tempfile::tempdir().unwrap();
        let bench = bench(choice, &folder.path().join("made"));
        let (first, second) = (rows(&bench, 0), rows(&bench, 1_000));
        assert!(!on_disk(&bench, first) && !on_disk(&bench, second));
        for (frame, from) in [(second, 1_000), (first, 0)] {
            assert_eq!(bench.sql(QUERY, &[("t", frame)]), expected(from));
        }
        let third = rows(&bench, 5_000_000);
        assert_eq!((on_disk(&bench, first), on_disk(&bench, second), on_disk(&bench, third)), (false, true, false));
        let tables = bench.engine.residents();
        let moved = &tables.iter().find(|(id, _)| *id == second).unwrap().1;
        // What had been read on the device is there still.
        assert_eq!(bench.engine.place(moved) == "disk", choice == EngineChoice::Cpu, "{}", bench.engine.place(moved));
        drop(tables);
        assert!(bench.engine.resident_bytes() <= 12 << 20, "{}", bench.engine.resident_bytes());
        for round in 0..2 {
            for (frame, from) in [(first, 0), (second, 1_000), (third, 5_000_000)] {
                assert_eq!(bench.sql(QUERY, &[("t", frame)]), expected(from), "{choice:?}, round {round}");
            }
        }
        // A join of one that is on disk and one that is not, a step of frames, and what is shown.
        let query = "select count(*) as c, sum(a.n) as s from a join b on a.n = b.n where b.t = 'oak'";
        let both = bench.sql(query, &[("a", first), ("b", second)]);
        let common = (1_000..ROWS).filter(|n| (n - 1_000) % 3 == 1 && (n - 1_000) % 10 > 0);
        assert_eq!(both, format!("c s|{} {}", common.clone().count(), common.sum::<i64>()));
        let shown = bench.engine.preview(second, 2, 1, true, &TaskHandle::new()).unwrap();
        assert!(shown.location.starts_with("disk"), "{}", shown.location);
        assert_eq!((shown.total_rows, shown.columns[2].nulls), (ROWS as u64, Some(ROWS as u64 / 10)));
        bench.engine.release(&[first, second, third]);
        assert!(bench.engine.residents().is_empty());
    }
}

#[test]
fn more_than_memory_is_held_on_disk() {
    for choice in choices() {
        let folder = tempfile::tempdir().unwrap();
        let bench = bench(choice, folder.path());
        let one = rows(&bench, 0);
        let many = persisted(&bench, bench.try_sql(&wide(), &[("t", one)]).unwrap());
        assert!(on_disk(&bench, many));
        assert!(bench.engine.resident_bytes() <= 12 << 20);
        let found = bench.sql("select count(*) as c, sum(a0) as a, sum(a19) as b, max(a7) as m from t", &[("t", many)]);
        let sum = ROWS * (ROWS - 1) / 2;
        assert_eq!(found, format!("c a b m|{ROWS} {sum} {} {}", sum + 19 * ROWS, ROWS + 6));
    }
}

#[test]
fn without_a_disk_rows_stay_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let bench = bench(EngineChoice::Cpu, &file);
    let frames: Vec<FrameId> = (0..4).map(|n| rows(&bench, n)).collect();
    assert!(frames.iter().all(|frame| !on_disk(&bench, *frame)));
    assert_eq!(bench.sql(QUERY, &[("t", frames[3])]), expected(3));
    let many = bench.try_sql(&wide(), &[("t", frames[0])]).unwrap();
    let error = bench.engine.persist(many, bench.id(), &TaskHandle::new()).unwrap_err();
    assert_eq!(error.code, "out-of-memory");
    assert!(error.message.contains("12 MB for all frames") && error.message.contains(&file.display().to_string()));
    assert_eq!(bench.sql(QUERY, &[("t", frames[0])]), expected(0));
}

#[test]
fn an_interrupt_leaves_rows_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let bench = bench(EngineChoice::Cpu, folder.path());
    let one = rows(&bench, 0);
    let two = rows(&bench, 7);
    let derived = bench.try_sql("select n + 1 as n, g, t from t", &[("t", two)]).unwrap();
    let task = TaskHandle::new();
    task.cancel();
    assert!(bench.engine.persist(derived, bench.id(), &task).is_err());
    assert!(!on_disk(&bench, one) && !on_disk(&bench, two));
    assert_eq!(bench.sql(QUERY, &[("t", derived)]), expected(8));
}
