//! Times the restore of a column that was evicted for 800 MB of other numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_engine::{Engine, EngineConfig};
use onrush_frame::TaskHandle;

use crate::{Columns, floats, frame, keys, median, query, words};

struct Case {
    name: &'static str,
    sql: &'static str,
    data: fn() -> Columns,
    /// Bytes of the column on the device.
    bytes: u64,
}

const CASES: &[Case] = &[
    Case {
        name: "1e8 numbers",
        sql: "select sum(n) as s from t",
        data: || vec![("n", keys(100_000_000, 1_000_000, false))],
        bytes: 800_000_000,
    },
    Case {
        name: "3e7 of 6 strings",
        sql: "select count(*) as n from t where w = 'cash'",
        data: || vec![("w", words(30_000_000, false))],
        bytes: 30_000_000,
    },
    Case {
        name: "1e7 strings",
        sql: "select count(*) as n from t where w like '%ash1%'",
        data: || vec![("w", words(10_000_000, true))],
        bytes: 160_000_000,
    },
];

/// Device memory in bytes: enough for the other column, but not for a column of `CASES` in addition.
const MEMORY: u64 = 820_000_000;

/// Measures with and without pinned copies of evicted columns.
pub fn measure(config: &EngineConfig, runs: usize) -> Result<(), String> {
    println!("{:<16} {:>6} {:>9} {:>9} {:>7} {:>12}", "column", "kept", "first ms", "back ms", "GB/s", "bytes aside");
    for case in CASES {
        for kept in [false, true] {
            let engine = Engine::new(EngineConfig { device_memory: Some(MEMORY), ..config.clone() });
            let engine = engine.map_err(|e| e.message)?;
            let Some(accelerator) = engine.accelerator() else { return Err("there is no device".to_string()) };
            let residency = Arc::clone(&accelerator.gpu.residency);
            if !kept {
                residency.set_pinned_limit(0);
            }
            let ours = frame(&engine, &(case.data)())?;
            let others = frame(&engine, &vec![("y", floats(100_000_000, 1))])?;
            let ask = |sql: &str, of| -> Result<Duration, String> {
                engine.forget_results();
                let asked = query(&engine, sql, &[of])?;
                let begun = Instant::now();
                engine.table(asked, &[], &TaskHandle::new()).map_err(|e| e.message)?;
                let time = begun.elapsed();
                engine.release(&[asked]);
                Ok(time)
            };
            let first = ask(case.sql, ours)?;
            let mut back = Vec::new();
            for _ in 0..=runs {
                let changes = residency.changes();
                ask("select sum(y) as s from t", others)?;
                back.push(ask(case.sql, ours)?);
                if residency.changes() == changes {
                    return Err(format!("{} was not evicted", case.name));
                }
            }
            // The first time it is copied.
            let back = median(back.split_off(1));
            println!(
                "{:<16} {:>6} {:>9.1} {:>9.1} {:>7.1} {:>12}",
                case.name,
                kept,
                first.as_secs_f64() * 1e3,
                back,
                case.bytes as f64 / back / 1e6,
                residency.pinned_bytes()
            );
        }
    }
    Ok(())
}
