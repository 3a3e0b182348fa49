//! Times trainings whose columns are on the device: whole calls of the engine, next to those of the CPU engine on the
//! same machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Float32Array, Int64Array};
use onrush_engine::{Engine, EngineConfig};
use onrush_frame::TaskHandle;
use onrush_wire::learn::{Fit, ModelId, Spec};
use onrush_wire::{Expr, ExprKind, FrameId};

use crate::random::Random;
use crate::{Columns, frame, generate, id, median};

const FEATURES: usize = 50;

/// Estimators with their targets. k-means as cuML's benchmark of 20 clusters.
fn cases() -> Vec<(&'static str, Spec, Option<&'static str>)> {
    let spec = Spec::new;
    vec![
        ("LinearRegression", spec("LinearRegression"), Some("y")),
        ("Ridge", spec("Ridge"), Some("y")),
        ("Lasso", spec("Lasso").with("alpha", 0.01), Some("y")),
        ("ElasticNet", spec("ElasticNet").with("alpha", 0.01), Some("y")),
        ("LogisticRegression", spec("LogisticRegression"), Some("class")),
        ("PCA", spec("PCA").with("n_components", 10), None),
        ("KMeans 20", spec("KMeans").with("n_clusters", 20).with("max_iter", 100), None),
    ]
}

/// As in cuML's benchmark: normally distributed features around 20 centres, a linear target with noise, and whether it
/// is above its mean as a class.
fn data(rows: usize) -> Columns {
    const NAMES: [&str; FEATURES] = [
        "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "x31", "x32",
        "x33", "x34", "x35", "x36", "x37", "x38", "x39", "x40", "x41", "x42", "x43", "x44", "x45", "x46", "x47", "x48",
        "x49",
    ];
    // A number that is about normally distributed.
    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.float()).sum::<f64>() - 6.0
    }
    let group: Vec<usize> = generate(rows, 1, |random| random.below(20) as usize);
    let mut target: Vec<f64> = generate(rows, 2, normal);
    let mut columns: Columns = Vec::new();
    for (j, name) in NAMES.into_iter().enumerate() {
        let mut values: Vec<f32> = generate(rows, 3 + j as u64, |random| normal(random) as f32);
        let mut own = Random(1000 + j as u64);
        let centres: Vec<f64> = (0..20).map(|_| 5.0 * normal(&mut own)).collect();
        let weight = normal(&mut own);
        for ((value, group), target) in values.iter_mut().zip(&group).zip(&mut target) {
            *value += centres[*group] as f32;
            *target += f64::from(*value) * weight;
        }
        columns.push((name, Arc::new(Float32Array::from(values))));
    }
    let middle = target.iter().sum::<f64>() / rows as f64;
    let class = Int64Array::from_iter_values(target.iter().map(|y| i64::from(*y > middle)));
    columns.push(("y", Arc::new(Float32Array::from_iter_values(target.iter().map(|y| *y as f32))) as ArrayRef));
    columns.push(("class", Arc::new(class)));
    columns
}

fn train(engine: &Engine, frame: FrameId, spec: &Spec, target: Option<&str>) -> Result<(Duration, String), String> {
    let features = Some(vec![Expr::new(ExprKind::All { except: ["y", "class"].map(String::from).to_vec() })]);
    let spec = Spec { features, ..spec.clone() };
    let fit = Fit { spec, frame, target: target.map(Expr::column), eval: Vec::new() };
    let model = ModelId(id().0);
    let begun = Instant::now();
    let (info, _) = engine.fit(model, &fit, None, &TaskHandle::new()).map_err(|e| e.message)?;
    let time = begun.elapsed();
    engine.release(&[model]);
    let bars: Vec<String> = info.card.bars.iter().take(2).map(|(name, value)| format!("{name} {value:.9}")).collect();
    let scores = info.card.scores.iter().map(|(name, _, value)| format!("{name} {value:.6}"));
    Ok((time, format!("{}: {}", info.card.place, scores.chain(bars).collect::<Vec<_>>().join(", "))))
}

/// Milliseconds of the first and of repeated trainings, on the device and on the CPU.
pub fn measure(config: &EngineConfig, rows: usize, runs: usize, only: Option<&str>) -> Result<(), String> {
    let columns = data(rows);
    let engine = Engine::new(config.clone()).map_err(|e| e.message)?;
    let cpu =
        Engine::new(EngineConfig { threads: config.threads, ..EngineConfig::default() }).map_err(|e| e.message)?;
    let (here, there) = (frame(&engine, &columns)?, frame(&cpu, &columns)?);
    println!("{rows} rows x {FEATURES} f32, {} threads on the CPU", config.threads);
    println!("{:<20} {:>9} {:>9} {:>9}  result", "training", "first ms", "ms", "cpu ms");
    for (name, spec, target) in cases() {
        if only.is_some_and(|only| !only.split(';').any(|part| name.contains(part))) {
            continue;
        }
        let (first, result) = train(&engine, here, &spec, target)?;
        let mut times = Vec::new();
        for _ in 0..runs {
            times.push(train(&engine, here, &spec, target)?.0);
        }
        let mut host = Vec::new();
        let mut by_host = String::new();
        for _ in 0..runs.min(3) {
            let (time, result) = train(&cpu, there, &spec, target)?;
            host.push(time);
            by_host = result;
        }
        println!(
            "{name:<20} {:>9.1} {:>9.2} {:>9.1}  {result}",
            first.as_secs_f64() * 1e3,
            median(times),
            median(host)
        );
        println!("{:<20} {:>9} {:>9} {:>9}  {by_host}", "", "", "", "");
    }
    Ok(())
}
