//! Queries with windows, with aggregates that are more than sums, and with strings that are computed or searched.
//! Results are summed, so that the download is not measured.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use super::{Columns, Query, floats, keys, scattered, shuffled, words};

const NONE: Query = Query {
    name: "",
    sql: "",
    peer: f64::NAN,
    target: f64::NAN,
    bytes: 24.0,
    rows: Some(10_000_000),
    data: |n| vec![("k", keys(n, 1000, false)), ("i", keys(n, n as u64, false)), ("y", floats(n, 1))],
    beside: None,
};

const PAIRS: &str = "select count(*) as n, max(m) as s from (select a, b, avg(y) as m from t group by a, b)";

/// Two keys that lie anywhere, in so many pairs.
fn pairs(rows: usize, n: u64) -> Columns {
    let made = |of: &dyn Fn(u64) -> u64| -> ArrayRef {
        let numbers = keys(rows, n, false);
        let numbers = numbers.as_primitive::<Int64Type>();
        Arc::new(Int64Array::from_iter_values(numbers.values().iter().map(|pair| scattered(of(*pair as u64)))))
    };
    vec![("a", made(&|pair| pair % 1009)), ("b", made(&|pair| pair)), ("y", floats(rows, 1))]
}

pub fn scattered_once(rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..rows as u64).map(scattered)))
}

/// Keys that lie anywhere, once each, in no order: another one for each seed.
fn scattered_shuffled(rows: usize, seed: u64) -> ArrayRef {
    let numbers = shuffled(rows, seed);
    let numbers = numbers.as_primitive::<Int64Type>();
    Arc::new(Int64Array::from_iter_values(numbers.values().iter().map(|number| scattered(*number as u64))))
}

const ONCE: &str = "select t.k, t.y, u.z from t join u on t.k = u.k";

pub const QUERIES: &[Query] = &[
    Query { name: "two keys, 1e6 pairs", sql: PAIRS, rows: None, data: |n| pairs(n, 1_000_000), ..NONE },
    Query { name: "two keys, 1e7 pairs", sql: PAIRS, rows: None, data: |n| pairs(n, 10_000_000), ..NONE },
    Query {
        name: "made key, 1e7",
        sql: "select count(*) as n, max(m) as s from (select avg(y) as m from t group by k | 1)",
        rows: None,
        bytes: 16.0,
        data: |n| vec![("k", keys(n, 10_000_000, true)), ("y", floats(n, 1))],
        ..NONE
    },
    Query {
        name: "two made keys, 1e6 pairs",
        sql: "select count(*) as n, max(m) as s from (select avg(y) as m from t group by a | 1, b | 1)",
        rows: None,
        data: |n| pairs(n, 1_000_000),
        ..NONE
    },
    Query {
        name: "two made keys, 1e7 pairs",
        sql: "select count(*) as n, max(m) as s from (select avg(y) as m from t group by a | 1, b | 1)",
        rows: None,
        data: |n| pairs(n, 10_000_000),
        ..NONE
    },
    Query {
        name: "keys once each, 1e7",
        sql: ONCE,
        rows: Some(10_000_000),
        bytes: 56.0,
        data: |n| vec![("k", shuffled(n, 1)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", shuffled(n, 2)), ("z", floats(n, 2))]),
        ..NONE
    },
    Query {
        name: "keys once each, 1e8",
        sql: ONCE,
        rows: None,
        bytes: 56.0,
        data: |n| vec![("k", shuffled(n, 1)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", shuffled(n, 2)), ("z", floats(n, 2))]),
        ..NONE
    },
    Query {
        name: "self-merge, made keys",
        sql: "select count(*) as n, sum(u.z) as s from t join u on t.k // 2 = u.k // 2",
        rows: None,
        bytes: 24.0,
        data: |n| vec![("k", scattered_once(n))],
        beside: Some(|n| vec![("k", scattered_once(n)), ("z", floats(n, 2))]),
        ..NONE
    },
    Query {
        name: "made keys once each",
        sql: "select count(*) as n, sum(u.z) as s from t join u on t.k | 1 = u.k | 1",
        rows: None,
        bytes: 24.0,
        data: |n| vec![("k", scattered_shuffled(n, 1))],
        beside: Some(|n| vec![("k", scattered_shuffled(n, 2)), ("z", floats(n, 2))]),
        ..NONE
    },
    Query {
        name: "made keys, a tenth",
        sql: "select count(*) as n, sum(u.z) as s from t join u on t.k | 1 = u.k | 1",
        rows: None,
        bytes: 8.0,
        data: |n| vec![("k", keys(n, n as u64 / 10, true))],
        beside: Some(|n| vec![("k", scattered_shuffled(n / 10, 2)), ("z", floats(n / 10, 2))]),
        ..NONE
    },
    Query {
        name: "made keys, semi",
        sql: "select count(*) as n from t where exists (select 1 from u where t.k | 1 = u.k | 1)",
        rows: None,
        bytes: 16.0,
        data: |n| vec![("k", scattered_shuffled(n, 1))],
        beside: Some(|n| vec![("k", scattered_shuffled(n, 2)), ("z", floats(n, 2))]),
        ..NONE
    },
    Query {
        name: "corr, 100",
        sql: "select k, corr(x, y) as c from t group by k",
        rows: None,
        data: |n| vec![("k", keys(n, 100, false)), ("x", floats(n, 2)), ("y", floats(n, 1))],
        ..NONE
    },
    Query {
        name: "variance, 100",
        sql: "select k, var_samp(y) as v from t group by k",
        rows: None,
        bytes: 16.0,
        data: |n| vec![("k", keys(n, 100, false)), ("y", floats(n, 1))],
        ..NONE
    },
    Query { name: "median, 1000", sql: "select k, median(y) as m from t group by k", bytes: 16.0, ..NONE },
    Query { name: "distinct, 1000", sql: "select k, count(distinct i) as n from t group by k", bytes: 16.0, ..NONE },
    Query {
        name: "rank",
        sql: "select sum(r) as s from (select rank() over (partition by k order by i) as r from t)",
        bytes: 16.0,
        ..NONE
    },
    Query {
        name: "lag",
        sql: "select sum(i - p) as s from (select i, lag(i) over (partition by k order by i, y) as p from t)",
        ..NONE
    },
    Query {
        name: "running sum",
        sql: "select sum(r % 7) as s from (select sum(i) over (partition by k order by i, y) as r from t)",
        ..NONE
    },
    Query {
        name: "sliding mean",
        sql: "select max(m) as s from (select avg(i) over (partition by k order by i, y rows between 6 preceding and current row) as m from t)",
        ..NONE
    },
    Query {
        name: "sliding mean, 5000 rows",
        sql: "select max(m) as s from (select avg(y) over (partition by k order by i rows between 4999 preceding and current row) as m from t)",
        ..NONE
    },
    Query {
        name: "sliding minimum, 5000 rows",
        sql: "select max(m) as s from (select min(y) over (partition by k order by i rows between 4999 preceding and current row) as m from t)",
        ..NONE
    },
    Query {
        name: "floats as strings",
        sql: "select sum(length(cast(y as varchar))) as n from t",
        bytes: 8.0,
        data: |n| vec![("y", floats(n, 1))],
        ..NONE
    },
    Query {
        name: "matches, 1e7 strings",
        sql: "select sum(regexp_count(s, '[aeiou]+')) as n from t",
        bytes: 19.0,
        data: |n| vec![("s", words(n, true))],
        ..NONE
    },
    Query {
        name: "sliding variance",
        sql: "select count(v) as s from (select var_samp(y) over (partition by k order by i, y rows between 6 preceding and current row) as v from t)",
        ..NONE
    },
    Query {
        name: "range of values",
        sql: "select sum(n) as s from (select count(*) over (partition by k order by i range between 1000 preceding and 1000 following) as n from t)",
        ..NONE
    },
    Query {
        name: "sort by decimals",
        sql: "select sum(r % 1000) as s from (select row_number() over (order by cast(i as decimal(38, 2)), y) as r from t)",
        bytes: 24.0,
        ..NONE
    },
];
