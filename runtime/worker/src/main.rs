//! The worker alone, for its tests and for GPU machines without the rest. The installed worker is a mode of
//! `onrush-session`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match onrush_worker::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => {
            eprintln!("onrush-worker: {diagnostic}");
            ExitCode::FAILURE
        }
    }
}
