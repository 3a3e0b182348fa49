//! The source of kernels, and how it is compiled.

/// CUDA C++ to be compiled: one text, without `#include`. Kernels are `extern "C" __global__`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name in compile errors.
    pub name: String,
    pub text: String,
    /// The kernels that will be launched.
    pub entries: Vec<String>,
}

impl Source {
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        text: impl Into<String>,
        entries: impl IntoIterator<Item = S>,
    ) -> Self {
        let entries = entries.into_iter().map(Into::into).collect();
        Source { name: name.into(), text: text.into(), entries }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CompileOptions {
    /// Let `a * b + c` be rounded once. Off: results are those of the CPU.
    pub contract: bool,
    /// Keep line numbers, for profilers and sanitizers.
    pub lines: bool,
    /// Registers of a thread at most; 0 leaves it to the compiler.
    pub registers: u32,
    /// Compile in half of the time, to slower code: for code that runs until the other is there. Ignored by a device
    /// that does not say [`crate::Device::has_quick_compiler`].
    pub quick: bool,
}
