//! Options that several subcommands have: the engine, limits of memory and times. They become variables of the
//! environment.

use std::time::Duration;

use clap::{Args, ValueEnum};
use onrush_wire::{limits, paths};

/// Where frames are computed.
#[derive(Args, Clone, Debug)]
pub struct EngineArgs {
    /// Where frames are computed [default: auto, the GPU if one works]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<Engine>,
    /// Memory of a GPU that a session may use, such as 8G [default: 90 % of what is free]
    #[arg(long, value_name = "SIZE", value_parser = device_memory)]
    pub device_memory: Option<String>,
}

/// What cells may use.
#[derive(Args, Clone, Debug)]
pub struct CellArgs {
    /// Memory that variables of cells may use, such as 4G, or none [default: half of the memory]
    #[arg(long, value_name = "SIZE", value_parser = cell_memory)]
    pub cell_memory: Option<String>,
}

/// The text as it was given, if it is a size.
fn cell_memory(text: &str) -> Result<String, String> {
    limits::parse_cell_memory(text).map(|_| text.to_string())
}

/// The text as it was given, if it is a size of GPU memory.
fn device_memory(text: &str) -> Result<String, String> {
    match limits::parse_size(text) {
        Some(_) => Ok(text.to_string()),
        None => Err(format!("`{text}` is not a size: write 8G or 512M")),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Engine {
    /// The GPU if one works, else the CPU
    Auto,
    /// The CPU
    Cpu,
    /// The GPU; fails without one
    Cuda,
    /// CUDA kernels on the CPU, for learning and tests
    Emulated,
}

impl EngineArgs {
    fn value(&self) -> Option<&'static str> {
        self.engine.map(|engine| match engine {
            Engine::Auto => "auto",
            Engine::Cpu => "cpu",
            Engine::Cuda => "cuda",
            Engine::Emulated => "emulated",
        })
    }
}

/// The given options as variables of the environment.
pub fn settings<'a>(engine: &'a EngineArgs, cells: &'a CellArgs) -> Vec<(&'static str, &'a str)> {
    let given = [
        (paths::ENGINE, engine.value()),
        (paths::DEVICE_MEMORY, engine.device_memory.as_deref()),
        (paths::CELL_MEMORY, cells.cell_memory.as_deref()),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// `2m`, `90s`, `1h` or a number of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 =
        text[..split].trim().parse().map_err(|_| format!("`{text}` is not a time: write 90s, 2m or 1h"))?;
    let unit = match text[split..].trim() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("`{other}` is not a unit of time: write s, m or h")),
    };
    Duration::try_from_secs_f64(number * unit).map_err(|_| format!("`{text}` is not a time that can be waited for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(duration("soon").is_err());
        assert!(duration("-1s").is_err());
        assert!(duration("1d").is_err());
    }
}
