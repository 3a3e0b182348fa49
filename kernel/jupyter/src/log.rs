//! The kernel's own log: one line on standard error, where Jupyter's console shows it.

use std::fmt::Arguments;
use std::io::Write;

/// Never fails: a kernel whose standard error is closed goes on.
pub fn line(text: Arguments<'_>) {
    let time = chrono::Local::now().format("%H:%M:%S%.3f");
    let _ = writeln!(std::io::stderr(), "[onrush {time}] {text}");
}
