//! `onrush kit`: builds the prelude that cells link against, before the first notebook needs it.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use onrush_wire::paths;

/// Between two lines where they cannot be replaced.
const QUIET: Duration = Duration::from_secs(15);

/// Prints what is being done; returns when the prelude is there.
pub fn build() -> Result<(), String> {
    let begun = Instant::now();
    let live = std::io::stderr().is_terminal();
    let mut last = String::new();
    let mut printed: Option<Instant> = None;
    let mut progress = |what: String, fraction: Option<f32>| {
        if live {
            let part = fraction.map(|fraction| format!(" {:.0} %", fraction * 100.0)).unwrap_or_default();
            eprint!("\r\x1b[K{what}{part}  {} s", begun.elapsed().as_secs());
            let _ = std::io::stderr().flush();
        } else if what != last && printed.is_none_or(|at| at.elapsed() > QUIET) {
            // A log file does not need every crate.
            printed = Some(Instant::now());
            eprintln!("{what}");
        }
        last = what;
    };
    let kit = onrush_cell::prelude_build::ensure(&paths::cache_dir(), &mut progress);
    if live && !last.is_empty() {
        eprintln!();
    }
    let kit = kit.map_err(|diagnostic| diagnostic.to_string())?;
    let folder = kit.paths.prelude.parent().unwrap_or(&kit.paths.prelude);
    println!("The prelude for rustc {} is ready in\n  {}", kit.toolchain.version(), folder.display());
    Ok(())
}
