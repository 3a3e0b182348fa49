//! Replies that are mostly constants.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::message::PROTOCOL_VERSION;

/// `known`: rustc's version as the executor found it, once it has.
pub fn kernel_info(known: Option<String>) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let rustc = known.unwrap_or_else(installed_rustc);
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL_VERSION,
        "implementation": "onrush",
        "implementation_version": version,
        "language_info": language_info(Some(rustc.clone())),
        "banner": format!("Onrush {version}: Rust {rustc} in Jupyter, with a session that holds your frames"),
        "help_links": [
            { "text": "The Rust Programming Language", "url": "https://doc.rust-lang.org/book/" },
            { "text": "Rust standard library", "url": "https://doc.rust-lang.org/std/" },
        ],
        "supported_features": [],
        "debugger": false,
    })
}

/// The fields of a notebook file about its language.
pub fn language_info(rustc: Option<String>) -> Value {
    json!({
        "name": "rust",
        "version": rustc.unwrap_or_else(installed_rustc),
        "mimetype": "text/x-rust",
        "file_extension": ".rs",
        "pygments_lexer": "rust",
        "codemirror_mode": "rust",
        "nbconvert_exporter": "script",
    })
}

/// The version of the `rustc` in `PATH`, asked once. Empty if there is none: `onrush doctor` and the first cell say so.
fn installed_rustc() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    let ask = || {
        let output = Command::new("rustc").arg("--version").stdin(Stdio::null()).output().ok()?;
        String::from_utf8(output.stdout).ok()?.split_whitespace().nth(1).map(str::to_string)
    };
    VERSION.get_or_init(|| ask().unwrap_or_default()).clone()
}

/// The reply to a request that cannot be served.
pub fn error(msg_type: &str, why: &str) -> Value {
    let line = format!("{msg_type}: {why}");
    json!({ "status": "error", "ename": "RequestError", "evalue": line, "traceback": [line] })
}
