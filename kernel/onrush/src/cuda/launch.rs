//! Runtime support for generated code: defines the CUDA kernels of a cell and launches them.

use std::fmt::{self, Debug};
use std::time::Duration;

use onrush_wire::worker::{Argument, ArgumentValue, Launch, Source};
use onrush_wire::{Class, Diagnostic, Label, Span};

use super::buffer::{AnyBuffer, Buffer, Element};
use super::extent::{Blocks, Threads};
use super::function::Function;
use super::worker::{self, Target};
use crate::raise::{here, raise};

const MAX_THREADS: i128 = 1024;
const MAX_SHARED: u64 = 48 << 10;

/// A `%%cuda` cell in its generated code.
pub struct Program {
    pub number: u64,
    /// The line of the magic.
    pub line: u32,
    pub file: &'static str,
    pub target: Target,
    pub text: &'static str,
    pub declarations: &'static str,
    pub kernels: &'static [&'static str],
    pub signatures: &'static [&'static str],
    /// The source without its kernels, and the functions that expressions can call.
    pub device: &'static str,
    pub functions: &'static [Function],
    /// The functions that expressions cannot call, with the reason, for the hint of `kernel/cell/src/hints.rs`.
    pub refusals: &'static [&'static str],
}

impl Program {
    pub(super) fn source(&self) -> Source {
        Source {
            file: self.file.to_string(),
            text: self.text.to_string(),
            declarations: self.declarations.to_string(),
            kernels: self.kernels.iter().map(|name| name.to_string()).collect(),
        }
    }
}

/// The functions that a `%%cuda` cell has defined.
pub struct Definitions {
    signatures: &'static [&'static str],
}

impl Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.signatures.join("\n"))
    }
}

/// Compiles the CUDA kernels of a cell.
#[inline(never)]
pub fn define(program: &'static Program) -> Definitions {
    if let Err(mut diagnostic) = worker::with(program.target, |worker| worker.load(program)) {
        if diagnostic.labels.is_empty() {
            let span = Span { file: program.file.to_string(), line: program.line, column: 1, length: 6 };
            diagnostic = diagnostic.at(span, "");
        }
        raise(diagnostic);
    }
    Definitions { signatures: program.signatures }
}

pub(super) enum LaunchArgument<'a> {
    Read(&'a dyn AnyBuffer),
    Write(&'a mut dyn AnyBuffer),
    Scalar(Vec<u8>),
}

impl LaunchArgument<'_> {
    pub(super) fn buffer(&self) -> Option<&dyn AnyBuffer> {
        match self {
            LaunchArgument::Read(buffer) => Some(*buffer),
            LaunchArgument::Write(buffer) => Some(&**buffer),
            LaunchArgument::Scalar(_) => None,
        }
    }
}

/// A launch with its arguments.
pub struct Call<'a> {
    program: &'static Program,
    kernel: &'static str,
    blocks: [i128; 3],
    threads: [i128; 3],
    shared: u64,
    arguments: Vec<(&'static str, LaunchArgument<'a>)>,
}

impl<'a> Call<'a> {
    pub fn new(program: &'static Program, kernel: &'static str, blocks: impl Blocks, threads: impl Threads) -> Self {
        let (blocks, shared, threads) = (blocks.blocks(), threads.shared_bytes(), threads.threads());
        Call { program, kernel, blocks, threads, shared, arguments: Vec::new() }
    }

    pub fn read<T: Element>(mut self, name: &'static str, buffer: &'a Buffer<T>) -> Self {
        self.arguments.push((name, LaunchArgument::Read(buffer)));
        self
    }

    pub fn write<T: Element>(mut self, name: &'static str, buffer: &'a mut Buffer<T>) -> Self {
        self.arguments.push((name, LaunchArgument::Write(buffer)));
        self
    }

    pub fn scalar(mut self, name: &'static str, value: impl Scalar) -> Self {
        self.arguments.push((name, LaunchArgument::Scalar(value.bytes())));
        self
    }

    /// Runs the kernel to its end. Raises if the launch fails or the kernel faults.
    #[track_caller]
    pub fn launch(self) -> LaunchReport {
        let mut at = here(self.kernel);
        at.length = self.kernel.chars().count() as u32;
        self.run(at)
    }

    #[inline(never)]
    fn run(mut self, at: Span) -> LaunchReport {
        let launch = self.message().unwrap_or_else(|diagnostic| raise(diagnostic.at(at.clone(), "")));
        let buffers = self.arguments.iter().filter_map(|(_, given)| given.buffer());
        let bytes = buffers.map(|buffer| buffer.length() * u64::from(buffer.element())).sum();
        let program = self.program;
        let (outcome, printed) = worker::launch(program, &launch, &mut self.arguments);
        print!("{}", printed.text);
        if printed.left_out > 0 {
            println!("\n… and {} bytes more", printed.left_out);
        }
        crate::process::flush();
        match outcome {
            Ok((nanoseconds, device)) => LaunchReport {
                kernel: self.kernel,
                blocks: launch.blocks,
                threads: launch.threads,
                time: Duration::from_nanos(nanoseconds),
                bytes,
                device,
            },
            Err(mut diagnostic) => {
                let text = if diagnostic.labels.is_empty() { "" } else { "launched here" };
                let primary = diagnostic.labels.is_empty();
                diagnostic.labels.push(Label { span: at, text: text.to_string(), primary });
                raise(diagnostic)
            }
        }
    }

    /// The request to the worker, if the launch is within the limits of GPUs.
    fn message(&self) -> Result<Launch, Diagnostic> {
        let refused = |message: String, help: String| {
            Err(Diagnostic::error(Class::Plan, "cuda-launch", format!("`{}`: {message}", self.kernel)).help(help))
        };
        let shown = |sizes: &[i128; 3]| match sizes {
            [x, 1, 1] => format!("{x}"),
            [x, y, 1] => format!("({x}, {y})"),
            [x, y, z] => format!("({x}, {y}, {z})"),
        };
        for (what, sizes) in [("blocks", &self.blocks), ("threads", &self.threads)] {
            if sizes.iter().any(|size| *size < 1) {
                return refused(
                    format!("{} {what}, and there must be at least one in each direction", shown(sizes)),
                    "`n.div_ceil(256)` blocks of 256 threads are enough for n elements".to_string(),
                );
            }
        }
        let threads: i128 = self.threads.iter().product();
        if threads > MAX_THREADS {
            let sizes = shown(&self.threads);
            let product = if self.threads[1] * self.threads[2] > 1 { format!(" = {threads}") } else { String::new() };
            return refused(
                format!("{sizes}{product} threads in a block, and a block has at most {MAX_THREADS}"),
                "use more blocks of fewer threads; blocks come first: `name(blocks, threads, …)`".to_string(),
            );
        }
        if self.threads[2] > 64 {
            return refused(
                format!("{} threads in the third direction, and there are at most 64", self.threads[2]),
                "use more blocks in that direction".to_string(),
            );
        }
        if self.blocks[0] > i128::from(i32::MAX) || self.blocks[1..].iter().any(|size| *size > 65535) {
            return refused(
                format!("{} blocks, and a grid has at most ({}, 65535, 65535)", shown(&self.blocks), i32::MAX),
                "use more threads in a block, or let each thread do several elements".to_string(),
            );
        }
        if self.shared > MAX_SHARED {
            return refused(
                format!("{} bytes of dynamic shared memory, and a block has {MAX_SHARED}", self.shared),
                "use fewer threads in a block, or narrower numbers".to_string(),
            );
        }
        let named = |buffer: &dyn AnyBuffer, written| ArgumentValue::Buffer {
            buffer: buffer.number(),
            element: buffer.element(),
            written,
        };
        let sizes = |sizes: &[i128; 3]| sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        let argument = |(name, given): &(&'static str, LaunchArgument<'_>)| Argument {
            name: name.to_string(),
            value: match given {
                LaunchArgument::Scalar(bytes) => ArgumentValue::Scalar(bytes.clone()),
                LaunchArgument::Read(buffer) => named(*buffer, false),
                LaunchArgument::Write(buffer) => named(&**buffer, true),
            },
        };
        Ok(Launch {
            module: self.program.number,
            kernel: self.kernel.to_string(),
            blocks: sizes(&self.blocks),
            threads: sizes(&self.threads),
            shared: self.shared as u32,
            arguments: self.arguments.iter().map(argument).collect(),
        })
    }
}

/// A number that a kernel takes by value.
pub trait Scalar {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! scalars {
    ($($t:ty),*) => {$(
        impl Scalar for $t {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}
scalars!(i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64);

impl Scalar for bool {
    fn bytes(self) -> Vec<u8> {
        vec![u8::from(self)]
    }
}

/// A finished launch. It shows the time on the device and the throughput of its buffers.
#[derive(Clone, PartialEq)]
pub struct LaunchReport {
    kernel: &'static str,
    blocks: [u32; 3],
    threads: [u32; 3],
    time: Duration,
    bytes: u64,
    device: String,
}

impl LaunchReport {
    /// The time by the device's clock, without the copies before and after.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// The bytes of all buffers that the kernel was given.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of all buffers, each once, divided by the time, in 10⁹ bytes per second.
    pub fn gb_per_second(&self) -> f64 {
        self.bytes as f64 / 1e9 / self.time.as_secs_f64().max(1e-9)
    }
}

fn sizes(sizes: &[u32; 3]) -> String {
    match sizes {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}×{y}"),
        [x, y, z] => format!("{x}×{y}×{z}"),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

impl Debug for LaunchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, threads) = (sizes(&self.blocks), sizes(&self.threads));
        let plural = |number: &str| if number == "1" { "" } else { "s" };
        write!(
            f,
            "{}: {blocks} block{} of {threads} thread{}, {:.3} ms",
            self.kernel,
            plural(&blocks),
            plural(&threads),
            self.time.as_secs_f64() * 1e3
        )?;
        if self.bytes > 0 {
            let (rate, unit) = match self.gb_per_second() {
                rate if rate < 1.0 => (rate * 1e3, "MB/s"),
                rate => (rate, "GB/s"),
            };
            write!(f, ", {} at {rate:.1} {unit}", bytes(self.bytes))?;
        }
        write!(f, " ({})", self.device)
    }
}
