//! Joins by one key on a device: foreign-key joins, and joins that are nearly so. Values are calculated by hand: `u.z`
//! is ten times its key.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray, UInt64Array};
use arrow::datatypes::Int64Type;
use onrush_frame::TaskHandle;
use onrush_wire::BinaryOp;
use onrush_wire::plan::{JoinKind, Op};

use super::support::{TestEngine, call, col, lit, only_device, op};

const KEYS: i64 = 1000;

/// Each key of `from..from + KEYS` once, in no order.
fn all_keys(from: i64) -> Vec<i64> {
    (0..KEYS).map(|i| from + i * 377 % KEYS).collect()
}

fn numbers(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

/// `t` with the keys and the rows' numbers, `u` with all keys and ten times as much.
fn query(keys: &[Option<i64>], u: &[i64], sql: &str) -> Vec<Vec<Option<i64>>> {
    let bench = only_device();
    let t = bench.frame(vec![("k", numbers(keys.iter().copied())), ("y", numbers((0..keys.len() as i64).map(Some)))]);
    let u = bench
        .frame(vec![("k", numbers(u.iter().copied().map(Some))), ("z", numbers(u.iter().map(|key| Some(10 * key))))]);
    of(&bench, sql, t, u)
}

fn of(bench: &TestEngine, sql: &str, t: onrush_wire::FrameId, u: onrush_wire::FrameId) -> Vec<Vec<Option<i64>>> {
    let tables = vec![("t".to_string(), t), ("u".to_string(), u)];
    let id = bench.step(Op::Sql { query: sql.to_string(), tables });
    let table = bench.engine.table(id, &[], &TaskHandle::new()).unwrap();
    let mut rows = Vec::new();
    for batch in table.batches() {
        let columns: Vec<_> = batch.columns().iter().map(|column| column.as_primitive::<Int64Type>()).collect();
        rows.extend(
            (0..batch.num_rows()).map(|row| columns.iter().map(|c| c.iter().nth(row).unwrap()).collect::<Vec<_>>()),
        );
    }
    rows
}

const INNER: &str = "select t.k, t.y, u.z from t join u on t.k = u.k order by t.y";
const LEFT: &str = "select t.k, t.y, u.z from t left join u on t.k = u.k order by t.y";

fn expected(keys: &[Option<i64>], u: &[i64], left: bool) -> Vec<Vec<Option<i64>>> {
    let row = |(y, key): (usize, &Option<i64>)| {
        let z = key.filter(|key| u.contains(key)).map(|key| 10 * key);
        (left || z.is_some()).then(|| vec![*key, Some(y as i64), z])
    };
    keys.iter().enumerate().filter_map(row).collect()
}

#[test]
fn rows_that_all_find_one_and_those_that_do_not() {
    let u = all_keys(-300);
    let inside: Vec<Option<i64>> = (0..3001).map(|i| Some(-300 + i * i % KEYS)).collect();
    let with = |other: Option<i64>| inside.iter().copied().chain([other]).collect::<Vec<_>>();
    let lacking: Vec<i64> = u.iter().copied().filter(|key| *key != 33).collect();
    for (keys, u) in [
        (inside.clone(), &u),
        (with(Some(-301)), &u),
        (with(Some(700)), &u),
        (with(Some(i64::MIN)), &u),
        (with(None), &u),
        (with(Some(33)), &lacking),
    ] {
        assert_eq!(query(&keys, u, INNER), expected(&keys, u, false));
        assert_eq!(query(&keys, u, LEFT), expected(&keys, u, true));
        let found = expected(&keys, u, false).len() as i64;
        let count = |how: &str| {
            query(&keys, u, &format!("select count(*) from t where {how} (select 1 from u where u.k = t.k)"))
        };
        assert_eq!(count("exists"), [[Some(found)]]);
        assert_eq!(count("not exists"), [[Some(keys.len() as i64 - found)]]);
        // Another condition stays.
        let few = query(&keys, u, "select count(*), sum(z) from t join u on t.k = u.k where y < 7");
        let z: i64 = expected(&keys, u, false).iter().filter(|row| row[1] < Some(7)).map(|row| row[2].unwrap()).sum();
        assert_eq!(few, [[Some(7), Some(z)]]);
    }
}

/// Each key has two rows on the build side, or the keys are strings of two different dictionaries.
#[test]
fn several_rows_and_texts() {
    let u: Vec<i64> = all_keys(0).into_iter().chain(all_keys(0)).collect();
    let keys: Vec<Option<i64>> = (0..2500).map(|i| Some(i % KEYS)).collect();
    assert_eq!(query(&keys, &u, "select count(*) from t join u on t.k = u.k"), [[Some(5000)]]);

    let bench = only_device();
    let texts = |names: &[&str]| Arc::new(StringArray::from(names.to_vec())) as ArrayRef;
    let t = bench.frame(vec![("k", texts(&["b", "a", "c", "b", "e"])), ("y", numbers((0..5).map(Some)))]);
    let u = bench.frame(vec![("k", texts(&["a", "b", "d"])), ("z", numbers((1..4).map(Some)))]);
    let found = of(&bench, "select y, z from t join u on t.k = u.k order by y", t, u);
    assert_eq!(found, [[Some(0), Some(2)], [Some(1), Some(1)], [Some(3), Some(2)]]);
}

/// The second key is a column of the first build side. The third join follows a join that leaves rows out.
#[test]
fn one_behind_the_other() {
    let bench = only_device();
    let keys: Vec<i64> = (0..2000).map(|i| i * 7 % KEYS).collect();
    let t = bench.frame(vec![("k", numbers(keys.iter().copied().map(Some))), ("y", numbers((0..2000).map(Some)))]);
    let u = bench.frame(vec![
        ("k", numbers(all_keys(0).into_iter().map(Some))),
        ("z", numbers(all_keys(0).into_iter().map(|key| (key % 3 != 0).then_some(KEYS - 1 - key)))),
    ]);
    let sql = "select t.y, b.k, c.z from t join u as a on t.k = a.k join u as b on a.z = b.k left join u as c on t.k = c.k order by t.y";
    let of_key = |key: i64| (key % 3 != 0).then_some(KEYS - 1 - key);
    let row = |(y, key): (usize, &i64)| of_key(*key).map(|b| vec![Some(y as i64), Some(b), of_key(*key)]);
    let expected: Vec<_> = keys.iter().enumerate().filter_map(row).collect();
    assert_eq!(of(&bench, sql, t, u), expected);
}

/// A key of those that lie anywhere: the multiples of 2^64 over the golden ratio (Knuth, "The Art of Computer
/// Programming" 3, 6.4).
fn anywhere(number: i64) -> i64 {
    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64
}

/// The first query looks for keys by their hash, later ones by the numbers that the keys of `t` have.
#[test]
fn keys_that_lie_anywhere_are_numbered_from_the_second_time_on() {
    let all: Vec<i64> = (0..KEYS).map(anywhere).collect();
    let inside: Vec<Option<i64>> = (0..3001).map(|i| Some(anywhere(i * i % KEYS))).collect();
    let with = |other: Option<i64>| inside.iter().copied().chain([other]).collect::<Vec<_>>();
    let lacking: Vec<i64> = all.iter().copied().filter(|key| *key != anywhere(36)).collect();
    let more: Vec<i64> = all.iter().copied().chain((KEYS..KEYS + 500).map(anywhere)).collect();
    for (keys, u) in [
        (inside.clone(), &all),
        (with(Some(anywhere(-5))), &all),
        (with(None), &all),
        (inside.clone(), &lacking),
        (inside.clone(), &more),
    ] {
        let bench = only_device();
        let t =
            bench.frame(vec![("k", numbers(keys.iter().copied())), ("y", numbers((0..keys.len() as i64).map(Some)))]);
        // One key of `u` is null, and finds nothing.
        let of_u = || u.iter().copied().map(Some).chain([None]);
        let tens = of_u().map(|key| key.map(|key| key.wrapping_mul(10)));
        let u_frame = bench.frame(vec![("k", numbers(of_u())), ("z", numbers(tens))]);
        let row = |(y, key): (usize, &Option<i64>), left: bool| {
            let z = key.filter(|key| u.contains(key)).map(|key| key.wrapping_mul(10));
            (left || z.is_some()).then(|| vec![*key, Some(y as i64), z])
        };
        let rows = |left: bool| keys.iter().enumerate().filter_map(|of| row(of, left)).collect::<Vec<_>>();
        let found = rows(false).len() as i64;
        let alone = of_u().flatten().filter(|key| !keys.contains(&Some(*key))).count() as i64 + 1;
        for _ in 0..3 {
            assert_eq!(of(&bench, INNER, t, u_frame), rows(false));
            assert_eq!(of(&bench, LEFT, t, u_frame), rows(true));
            let count = |sql: &str| of(&bench, sql, t, u_frame)[0][0].unwrap();
            let exists = "(select 1 from u where u.k = t.k)";
            assert_eq!(count(&format!("select count(*) from t where exists {exists}")), found);
            let left_out = count(&format!("select count(*) from t where not exists {exists}"));
            assert_eq!(left_out, keys.len() as i64 - found);
            assert_eq!(count("select count(*) from t full join u on t.k = u.k"), keys.len() as i64 + alone);
            // Each key twice.
            let twice = "select count(*) from t join (select k from u union all select k from u) w on t.k = w.k";
            assert_eq!(count(twice), 2 * found);
            assert_eq!(count("select count(*) from t join u on t.k = u.k where t.k > 0 and u.z <> 3"), {
                rows(false).iter().filter(|row| row[0] > Some(0) && row[2] != Some(3)).count() as i64
            });
            bench.engine.forget_results();
        }
        let programs = bench.engine.accelerator().unwrap().gpu.context().library.programs();
        assert!(programs.iter().any(|program| program.body.contains("number_rows")));
    }
}

/// Keys of other types, conditions in addition to the key, and several joins by it. Expected rows are DataFusion's on
/// the CPU.
#[test]
fn numbered_keys_of_other_types_and_conditions() {
    let key = |number: i64| (anywhere(number) as u64) >> 1;
    let frames = |bench: &TestEngine| {
        let some = |row: i64| (row % 11 != 3).then_some(row * row % KEYS);
        let t = bench.frame(vec![
            ("k", numbers((0..2500).map(|row| some(row).map(anywhere)))),
            ("s", Arc::new((0..2500).map(|row| some(row).map(|n| anywhere(n) as i32)).collect::<Int32Array>())),
            ("b", Arc::new((0..2500).map(|row| some(row).map(|n| key(n) | 1 << 63)).collect::<UInt64Array>())),
            ("y", numbers((0..2500).map(Some))),
        ]);
        let some = |row: i64| (row % 7 != 2).then_some(row % 800);
        let u = bench.frame(vec![
            ("k", numbers((0..1000).map(|row| some(row).map(anywhere)))),
            ("s", Arc::new((0..1000).map(|row| some(row).map(|n| anywhere(n) as i32)).collect::<Int32Array>())),
            ("b", Arc::new((0..1000).map(|row| some(row).map(|n| key(n) | 1 << 63)).collect::<UInt64Array>())),
            ("z", numbers((0..1000).map(|row| Some(row * 3)))),
        ]);
        (t, u)
    };
    let (cpu, device) = (TestEngine::on_cpu(), only_device());
    let (on_cpu, on_device) = (frames(&cpu), frames(&device));
    for query in [
        "select y, z from t join u on t.s = u.s order by y, z",
        "select y, z from t left join u on t.b = u.b order by y, z",
        "select y, z from t left join u on t.k = u.k and t.y > u.z order by y, z",
        "select t.y, u.z, v.z from t join u on t.k = u.k left join u v on t.k = v.k and v.z % 2 = 0 order by 1, 2, 3",
        "select count(*) from t where k not in (select k from u where k is not null)",
        "select count(*) from t where k in (select k from u where z > 900) or y < 40",
        "select t.k, count(*), sum(z) from t join u on t.k = u.k and t.s = u.s group by t.k order by t.k",
        "select t.k, sum(u.z) from t join u on t.k = u.k where t.y % 3 = 1 group by t.k order by t.k",
    ] {
        for _ in 0..3 {
            let of = |bench: &TestEngine, (t, u)| bench.sql(query, &[("t", t), ("u", u)]);
            assert_eq!(of(&device, on_device), of(&cpu, on_cpu), "{query}");
            device.engine.forget_results();
        }
    }
    let programs = device.engine.accelerator().unwrap().gpu.context().library.programs();
    // Of 64-bit, of 32-bit and of unsigned keys.
    assert_eq!(programs.iter().filter(|program| program.body.contains("number_rows")).count(), 3);
}

/// Dense keys whose rows are sorted, once and several times each, of tables that are larger than what the cache is said
/// to hold.
#[test]
fn rows_of_large_tables_are_sorted_by_their_keys() {
    let frames = |bench: &TestEngine| {
        let t = bench.frame(vec![
            ("k", numbers((0..3000).map(|row| (row % 13 != 3).then_some(row * row % 2700 - 200)))),
            ("d", numbers((0..3000).map(|row| (row % 11 != 3).then_some(row * 5 % 2600 / 3 * 3)))),
            ("e", numbers((0..3000).map(|row| Some(row % 700)))),
            ("y", numbers((0..3000).map(Some))),
        ]);
        // `k` once each, `n`, too, or none; `d` three times, `e` five times.
        let there = |row: i64| row % 97 != 5;
        let once = |row: i64| row * 377 % 2500;
        let u = bench.frame(vec![
            ("k", numbers((0..2500).map(|row| Some(once(row))))),
            ("n", numbers((0..2500).map(|row| there(row).then_some(once(row))))),
            ("d", numbers((0..2500).map(|row| there(row).then_some(once(row) / 3 * 3)))),
            ("e", numbers((0..2500).map(|row| Some(row % 500)))),
            ("z", numbers((0..2500).map(|row| (row % 5 != 1).then_some(row * 3)))),
            ("f", Arc::new((0..2500).map(|row| (row % 9 != 4).then_some(row as f64 / 8.0)).collect::<Float64Array>())),
            ("b", Arc::new((0..2500).map(|row| (row % 4 != 2).then_some(row % 3 == 0)).collect::<BooleanArray>())),
            ("s", Arc::new((0..2500).map(|row| Some(["amber", "blue"][row % 2])).collect::<StringArray>())),
        ]);
        (t, u)
    };
    let (cpu, device) = (TestEngine::on_cpu(), only_device());
    let (on_cpu, on_device) = (frames(&cpu), frames(&device));
    for query in [
        "select y, z, b from t join u on t.k = u.k order by y",
        "select y, z, f, b from t left join u on t.k = u.n order by y",
        "select y, z, f, b, s from t left join u on t.k = u.k order by y",
        "select y, z, f, b, u.k from t join u on t.d = u.d order by y, u.k",
        "select y, z, f, b, u.k from t left join u on t.d = u.d order by y, u.k",
        "select y, z, s, u.k from t join u on t.d = u.d order by y, u.k",
        "select y, f, u.k from t left join u on t.d = u.d and t.y > u.z order by y, u.k",
        "select y, z, b, u.k from t full join u on t.d = u.d order by y, u.k",
        "select y, z, b, u.k from t full join u on t.k = u.k order by y, u.k",
        "select y, u.z, v.f, u.k, v.k as l from t join u on t.d = u.d join u as v on t.e = v.e order by y, u.k, l",
        "select y, u.k from t join u on t.d = u.d order by y, u.k",
        "select y, u.k from t left join u on t.d = u.d order by y, u.k",
        "select count(*), sum(u.k * y) from t join u on t.d = u.d",
        "select y, u.k from t join u on t.d = u.d where y % 3 = 1 order by y, u.k",
        "select count(*), sum(u.z) from t join u on t.e = u.e",
        "select count(*), sum(y) from t where exists (select 1 from u where u.d = t.k)",
        "select count(*), sum(y) from t where not exists (select 1 from u where u.n = t.k)",
        "select count(*), sum(y) from t where exists (select 1 from u where u.d = t.k and u.z > t.y)",
    ] {
        for _ in 0..2 {
            let of = |bench: &TestEngine, (t, u)| bench.sql(query, &[("t", t), ("u", u)]);
            assert_eq!(of(&device, on_device), of(&cpu, on_cpu), "{query}");
            device.engine.forget_results();
        }
    }
    // Pairs whose columns are written at once, in any order.
    for query in [
        "select y, u.k from t join u on t.d = u.d",
        "select y, z, f, b, u.k from t left join u on t.d = u.d",
        "select y + u.z as a, b from t join u on t.d = u.d where y % 3 = 1",
    ] {
        for _ in 0..2 {
            let of = |bench: &TestEngine, (t, u)| {
                let rows = bench.sql(query, &[("t", t), ("u", u)]);
                let mut rows: Vec<String> = rows.split('|').map(str::to_string).collect();
                rows.sort_unstable();
                rows
            };
            assert!(of(&device, on_device).len() > 2000);
            assert_eq!(of(&device, on_device), of(&cpu, on_cpu), "{query}");
            device.engine.forget_results();
        }
    }
    let programs = device.engine.accelerator().unwrap().gpu.context().library.programs();
    for made in ["join_runs", "join_ordered", "SORT_VALUES", "join_pairs", "output_expanded"] {
        assert!(programs.iter().any(|program| program.body.contains(made)), "{made}");
    }
}

/// Keys that are computed and lie anywhere, of a table that is larger than what the cache is said to hold: the rows of
/// both are moved to their parts. The rows are the processor's, by DataFusion.
#[test]
fn rows_of_both_tables_are_moved_by_hashed_keys() {
    let frames = |bench: &TestEngine| {
        let some = |row: i64| (row % 13 != 3).then_some(row * row % 2700);
        let t = bench.frame(vec![
            ("k", numbers((0..3000).map(|row| some(row).map(anywhere)))),
            ("s", Arc::new((0..3000).map(|row| some(row).map(|n| anywhere(n) as i32)).collect::<Int32Array>())),
            ("y", numbers((0..3000).map(Some))),
            ("c", Arc::new((0..3000).map(|row| Some(["amber", "blue", "coral"][row % 3])).collect::<StringArray>())),
            ("x", Arc::new((0..3000).map(|row| (row % 5 != 2).then_some(row as f64 / 4.0)).collect::<Float64Array>())),
        ]);
        // `k` once each, `d` three times; one in 97 is null.
        let there = |row: i64| row % 97 != 5;
        let u = bench.frame(vec![
            ("k", numbers((0..2500).map(|row| there(row).then_some(anywhere(row * 377 % 2500))))),
            ("d", numbers((0..2500).map(|row| there(row).then_some(anywhere(row * 377 % 2500 / 3 * 3))))),
            ("s", Arc::new((0..2500).map(|row| there(row).then_some(anywhere(row) as i32)).collect::<Int32Array>())),
            ("z", numbers((0..2500).map(|row| (row % 5 != 1).then_some(row * 3)))),
            ("b", Arc::new((0..2500).map(|row| (row % 4 != 2).then_some(row % 3 == 0)).collect::<BooleanArray>())),
            ("s2", Arc::new((0..2500).map(|row| Some(["one", "two"][row % 2])).collect::<StringArray>())),
        ]);
        (t, u)
    };
    let (cpu, device) = (TestEngine::on_cpu(), only_device());
    let (on_cpu, on_device) = (frames(&cpu), frames(&device));
    let moved = |device: &TestEngine| {
        let programs = device.engine.accelerator().unwrap().gpu.context().library.programs();
        programs.iter().filter(|program| program.body.contains("part_move")).count()
    };
    for query in [
        "select count(*), sum(u.z), sum(y) from t join u on t.k | 1 = u.k | 1",
        "select count(*), sum(u.z), sum(y), min(x) from t left join u on t.k | 1 = u.d | 1",
        "select count(*), sum(u.z), sum(y) from t full join u on t.k | 1 = u.d | 1",
        "select b, count(*), sum(z), sum(y) from t join u on t.k | 1 = u.d | 1 group by b order by b",
        "select c, s2, count(*), sum(z), max(x) from t join u on t.k | 1 = u.d | 1 group by c, s2 order by c, s2",
        "select y % 7 as g, count(*), sum(z) from t join u on t.k | 1 = u.k | 1 and t.s % 100 = u.s % 100 group by 1 order by 1",
        "select count(*), sum(z), sum(y) from t join u on t.k | 1 = u.d | 1 where y % 3 = 1 and u.z > 100",
        "select count(*), sum(z), sum(y) from t left join u on t.k | 1 = u.d | 1 and t.y > u.z",
        "select count(*), sum(y) from t where exists (select 1 from u where u.d | 1 = t.k | 1)",
        "select count(*), sum(y) from t where not exists (select 1 from u where u.d | 1 = t.k | 1)",
        "select count(*), sum(y) from t where exists (select 1 from u where u.d | 1 = t.k | 1 and u.z > t.y)",
        "select count(*), sum(y), sum(z) from t join u on t.k | 1 is not distinct from u.k | 1",
    ] {
        for _ in 0..2 {
            let of = |bench: &TestEngine, (t, u)| bench.sql(query, &[("t", t), ("u", u)]);
            assert_eq!(of(&device, on_device), of(&cpu, on_cpu), "{query}");
            device.engine.forget_results();
        }
    }
    // Kernels of the same text are compiled once: other columns, conditions and kinds of joins are others.
    let all = moved(&device);
    assert!(all >= 12, "{all} kernels move rows");
    // The order of rows is observed: they stay where they are.
    let query = "select y, u.z from t join u on t.k | 1 = u.k | 1 order by y";
    let of = |bench: &TestEngine, (t, u)| bench.sql(query, &[("t", t), ("u", u)]);
    assert_eq!(of(&device, on_device), of(&cpu, on_cpu));
    assert_eq!(moved(&device), all);
}

/// A join of frames renames the columns of its right side. They are found on the device all the same: another literal
/// brings no column there.
#[test]
fn renamed_columns_of_a_held_frame_stay_on_the_device() {
    let bench = only_device();
    let left =
        bench.frame(vec![("k", numbers(all_keys(0).into_iter().map(Some))), ("y", numbers((0..KEYS).map(Some)))]);
    let right = bench.frame(vec![
        ("id", numbers((0..KEYS).map(Some))),
        ("name", Arc::new(StringArray::from_iter_values((0..KEYS).map(|id| ["a", "b"][id as usize % 2])))),
    ]);
    let count = |least: i64| {
        let predicate = op(col("y"), BinaryOp::Less, lit(least));
        let input = bench.step(Op::Filter { input: left, predicate });
        let joined = bench.step(Op::Join {
            left: input,
            right,
            how: JoinKind::Inner,
            left_on: vec![col("k")],
            right_on: vec![col("id")],
            suffix: "_right".into(),
        });
        let grouped = Op::GroupBy { input: joined, keys: vec![col("name")], aggs: vec![call("len", [])] };
        bench.rows(bench.step(grouped))
    };
    count(10);
    let residency = &bench.engine.accelerator().unwrap().gpu.residency;
    let before = residency.bytes();
    let changes = residency.changes();
    // By hand: keys of the first 400 rows are multiples of 377 modulo 1,000, of which every other one is even.
    assert_eq!(count(400), "name len|a 200|b 200");
    // The result is kept, a column of names and one of counts.
    assert!(residency.changes() - changes <= 2, "{} columns came", residency.changes() - changes);
    assert!(residency.bytes() < before + 1024);
}
