//! Finds the devices and compilers of the machine, in sentences. It comes before their use, because a missing library
//! is a panic further down.

use crate::cuda::{self, nvrtc};
use crate::emulated;
use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Works,
    Missing,
    Broken,
}

/// One thing that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub what: &'static str,
    pub state: State,
    /// The find, or why it is not used. One sentence without a full stop.
    pub sentence: String,
    pub help: Option<&'static str>,
}

/// The GPU, NVRTC and the compiler of the emulated device. Makes no context, and never panics.
pub fn probe() -> Vec<Finding> {
    let driver = cuda::probe();
    let version = driver.as_ref().map_or(0, |found| found.version);
    let mut findings = vec![match &driver {
        Ok(found) => works("GPU", found.sentence()),
        Err(error) => not_there("GPU", error),
    }];
    // Without a driver any NVRTC will do for the sentence.
    findings.push(match nvrtc::Nvrtc::find(if version == 0 { u32::MAX } else { version / 1000 }) {
        Ok(nvrtc) => works("NVRTC", format!("NVRTC {}.{} in {}", nvrtc.version.0, nvrtc.version.1, nvrtc.place)),
        Err(error) => not_there("NVRTC", &error),
    });
    findings.push(match emulated::find_compiler() {
        Ok(compiler) => {
            works("emulated device", format!("{}, compiles CUDA kernels for the processor", compiler.identity))
        }
        Err(error) => not_there("emulated device", &error),
    });
    findings
}

fn works(what: &'static str, sentence: String) -> Finding {
    Finding { what, state: State::Works, sentence, help: None }
}

fn not_there(what: &'static str, error: &Error) -> Finding {
    let missing = matches!(error, Error::NoDriver | Error::NoGpu | Error::NoNvrtc { .. } | Error::NoHostCompiler);
    let state = if missing { State::Missing } else { State::Broken };
    Finding { what, state, sentence: error.to_string(), help: error.help() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_gets_a_sentence() {
        let findings = probe();
        assert_eq!(findings.iter().map(|f| f.what).collect::<Vec<_>>(), ["GPU", "NVRTC", "emulated device"]);
        for finding in findings {
            assert!(!finding.sentence.is_empty() && !finding.sentence.ends_with('.'), "{finding:?}");
            assert!(finding.state == State::Works || finding.help.is_some(), "{finding:?}");
        }
    }
}
