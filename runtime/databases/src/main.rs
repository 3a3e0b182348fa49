//! The driver process alone, for its tests. The installed one is a mode of `onrush-session`.

use std::process::ExitCode;

fn main() -> ExitCode {
    onrush_databases::serve()
}
