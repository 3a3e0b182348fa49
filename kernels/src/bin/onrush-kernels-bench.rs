//! Runs or measures the conformance suite of the CUDA kernels, on a GPU or on the emulated device. It is one
//! self-contained file for a machine without Rust.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onrush_device::{Device, Emulation, Kind, Options, Owner, compile_for, probe};
use onrush_kernels::conformance::{self, Coverage, peers};
use onrush_kernels::{Context, Library};

const USAGE: &str = "usage: onrush-kernels-bench [--device cuda|emulated|checked] [--bench] [--small] [--rows N] [--only NAME] [--cache FOLDER]
       [--also-for ARCHITECTURE] [--probe]

Without --bench: each algorithm against its host reference; exit status 1 if one differs.
  --device   cuda (the first GPU), emulated, or checked: emulated with a look at each access [cuda]
  --small    sizes up to some thousand rows: for compute-sanitizer
  --bench    measure instead, over --rows rows [100000000; emulated 1000000]
  --only     algorithms whose name contains this
  --cache    keep compiled kernels there
  --also-for compile all kernels that were run for this architecture too, such as sm_90: NVRTC needs no GPU
  --probe    say what was found, and stop";

struct Arguments {
    device: String,
    bench: bool,
    depth: Coverage,
    rows: Option<u64>,
    only: String,
    cache: Option<PathBuf>,
    also_for: Option<String>,
    probe: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        device: "cuda".into(),
        bench: false,
        depth: Coverage::Full,
        rows: None,
        only: String::new(),
        cache: None,
        also_for: None,
        probe: false,
    };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => parsed.device = value()?,
            "--bench" => parsed.bench = true,
            "--small" => parsed.depth = Coverage::Small,
            "--rows" => {
                let text = value()?;
                parsed.rows = Some(text.parse().map_err(|_| format!("--rows {text} is not a number"))?);
            }
            "--only" => parsed.only = value()?,
            "--cache" => parsed.cache = Some(value()?.into()),
            "--also-for" => parsed.also_for = Some(value()?),
            "--probe" => parsed.probe = true,
            other => return Err(format!("{other} is not understood\n{USAGE}")),
        }
    }
    Ok(parsed)
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| run(&arguments).map_err(|error| error.to_string())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    if arguments.probe {
        for finding in probe() {
            println!("{:<16} {:?}: {}", finding.what, finding.state, finding.sentence);
        }
        return Ok(true);
    }
    let begun = Instant::now();
    let device = match arguments.device.as_str() {
        "cuda" => Device::cuda(0, &Options::default())?,
        name @ ("emulated" | "checked") => {
            let memory_bytes = 8 << 30;
            let emulation = Emulation { checked: name == "checked", memory_bytes, ..Emulation::default() };
            Device::emulated(&emulation, &Options::default())?
        }
        other => return Err(format!("--device {other}: one of cuda, emulated, checked").into()),
    };
    let properties = device.properties().clone();
    println!("{} ({}), opened in {}", properties.name, properties.architecture, milliseconds(begun.elapsed()));
    let begun = Instant::now();
    device.warm_compiler().join().map_err(|_| "the compiler panicked")??;
    let first = milliseconds(begun.elapsed());
    // The lower bound of the compile time of any kernel.
    let begun = Instant::now();
    device.warm_compiler().join().map_err(|_| "the compiler panicked")??;
    let again = milliseconds(begun.elapsed());
    println!("{}, an empty kernel in {first} at first, then in {again}", device.compiler()?);

    let library = Library::new(&device, arguments.cache.as_deref());
    let context = Context::new(&library, &Owner::new("suite"))?;
    let mut good = if arguments.bench { measure(&context, arguments) } else { check(&context, arguments) };
    if let Some(architecture) = &arguments.also_for {
        good &= compile_all(&library, architecture);
    }
    let statistics = library.statistics();
    let each = statistics.compiling / (statistics.compiled.max(1) as u32);
    println!(
        "kernels: {} compiled ({} each), {} from disk, {} to load all",
        statistics.compiled,
        milliseconds(each),
        statistics.from_disk,
        milliseconds(statistics.loading)
    );
    drop(context);
    device.trim()?;
    let memory = device.memory()?;
    println!(
        "memory: ledger {} used, {} at most; pool {}; driver {} of {} in use, {} before; gap {}",
        memory.used,
        memory.high_water,
        memory.pool,
        memory.driver_total - memory.driver_free,
        memory.driver_total,
        memory.baseline,
        memory.gap()
    );
    Ok(good && memory.used == 0)
}

fn check(context: &Context, arguments: &Arguments) -> bool {
    println!("\n{:<20} {:>8} {:>8} {:>10}", "algorithm", "passed", "failed", "seconds");
    let mut good = true;
    for outcome in conformance::run(context, arguments.depth, &arguments.only) {
        let (failed, seconds) = (outcome.failures.len(), outcome.took.as_secs_f64());
        println!("{:<20} {:>8} {failed:>8} {seconds:>10.1}", outcome.algorithm, outcome.passed);
        outcome.failures.iter().take(5).for_each(|failure| println!("    {failure}"));
        good &= failed == 0 && outcome.passed > 0;
    }
    println!("{}\n", if good { "all agree" } else { "SOME DIFFER" });
    good
}

fn measure(context: &Context, arguments: &Arguments) -> bool {
    let emulated = context.device().properties().kind == Kind::Emulated;
    let rows = arguments.rows.unwrap_or(if emulated { 1_000_000 } else { 100_000_000 });
    // Device-to-device copies on an H200 move this many bytes, reads and writes together.
    let rate = 4.28e12;
    println!(
        "\n{:<60} {:>12} {:>10} {:>10} {:>8} {:>8} {:>9} {:>9}",
        "operation", "rows", "median ms", "wall ms", "GB/s", "x floor", "peer ms", "target ms"
    );
    let mut good = true;
    for (algorithm, measured) in conformance::benchmark(context, rows, &arguments.only) {
        let measurements = match measured {
            Ok(measurements) => measurements,
            Err(error) => {
                println!("{algorithm}: {error}");
                good = false;
                continue;
            }
        };
        for m in measurements {
            let seconds = m.median.as_secs_f64();
            let floor = m.floor_bytes as f64 / rate;
            // Targets are device times on an H200.
            let mark = peers::mark(&m.name, m.rows).map_or(String::new(), |mark| {
                let reached = if seconds * 1e3 <= mark.target { "reached" } else { "MISSED" };
                format!(" {:>9.3} {:>9.2} {reached}", mark.peer, mark.target)
            });
            println!(
                "{:<60} {:>12} {:>10.4} {:>10.4} {:>8.0} {:>8.2}{mark}",
                m.name,
                m.rows,
                seconds * 1e3,
                m.wall.as_secs_f64() * 1e3,
                m.floor_bytes as f64 / seconds / 1e9,
                seconds / floor
            );
        }
    }
    println!();
    good
}

/// Whether NVRTC accepts the sources that the compiler of the emulated device accepted.
fn compile_all(library: &Library, architecture: &str) -> bool {
    let mut good = true;
    for program in library.programs() {
        let begun = Instant::now();
        let entries = program.entries.join(", ");
        match compile_for(architecture, &program.source(), &program.options) {
            Ok(image) => {
                println!("{architecture}: {entries}: {} bytes in {}", image.len(), milliseconds(begun.elapsed()));
            }
            Err(error) => {
                println!("{architecture}: {entries}: {error}");
                good = false;
            }
        }
    }
    good
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
