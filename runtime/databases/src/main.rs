//! The driver process alone, for its tests. What is installed is a mode of `onrush-session`.

use std::process::ExitCode;

fn main() -> ExitCode {
    onrush_databases::serve()
}
