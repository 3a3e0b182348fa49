//! Graphs as compressed sparse rows on a device: `cuda/graph.cuh`. Algorithms on them are loops of `runtime/graph`,
//! over the passes of the modules here.

pub mod betweenness;
pub mod build;
pub mod communities;
pub mod components;
pub mod cores;
pub mod layout;
pub mod levels;
pub mod paths;
pub mod rank;
mod rows;
pub mod search;
pub mod similarity;
pub mod simple;
pub mod triangles;

use onrush_device::{Arguments, Buffer, CompletionFlag, Grid, Pod};

use crate::error::Result;
use crate::headers::{self, Header};
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

pub use rows::{Bins, Csr, DegreeClasses, InnerRows};

/// Nodes of a graph, and arcs, at most: offsets have 32 bits, and loops of 32 bits step by up to 4,096.
pub const MOST_ARCS: u32 = u32::MAX - 4096;

/// Threads of a block, where a kernel says nothing else.
pub const THREADS: u32 = 256;

/// A kernel of a graph algorithm: its name, its parameters, and the call of a function of a header.
pub struct Kernel {
    pub name: &'static str,
    pub parameters: &'static str,
    pub call: &'static str,
}

impl Kernel {
    fn text(&self, threads: u32) -> String {
        let (name, parameters, call) = (self.name, self.parameters, self.call);
        format!("extern \"C\" __global__ void __launch_bounds__({threads}) {name}({parameters}) {{\n  {call};\n}}\n")
    }
}

/// The kernels of one header, compiled as one program.
pub struct Kernels<'a> {
    pub context: &'a Context,
    program: Program,
    threads: u32,
}

impl<'a> Kernels<'a> {
    /// Kernels with [`THREADS`] threads a block.
    pub fn new(context: &'a Context, header: &'static Header, kernels: &[Kernel]) -> Kernels<'a> {
        Kernels::with_threads(context, header, THREADS, kernels)
    }

    pub fn with_threads(
        context: &'a Context,
        header: &'static Header,
        threads: u32,
        kernels: &[Kernel],
    ) -> Kernels<'a> {
        let body = kernels.iter().map(|k| k.text(threads)).collect();
        let program = Program::new(&[header], body, kernels.iter().map(|k| k.name));
        Kernels { context, program, threads }
    }

    /// Kernels that use type names, which `types` defines.
    pub fn typed(
        context: &'a Context,
        header: &'static Header,
        threads: u32,
        types: &str,
        kernels: &[Kernel],
    ) -> Kernels<'a> {
        let body = types.to_string() + &kernels.iter().map(|k| k.text(threads)).collect::<String>();
        let program = Program::new(&[header], body, kernels.iter().map(|k| k.name));
        Kernels { context, program, threads }
    }

    /// Launches a kernel that strides over `items`: as many blocks as are resident at most.
    ///
    /// # Errors
    /// Those of the device and of the compiler.
    pub fn over(&self, name: &str, items: u64, arguments: Arguments) -> Result<()> {
        let function = self.context.library.function(&self.program, name)?;
        fill(self.context, &function, arguments, items, self.threads, 0)
    }

    /// Launches a kernel with so many blocks, each with so many bytes of dynamic shared memory.
    ///
    /// # Errors
    /// Those of the device and of the compiler.
    pub fn blocks(&self, name: &str, blocks: u32, shared: u32, arguments: Arguments) -> Result<()> {
        let function = self.context.library.function(&self.program, name)?;
        let grid = Grid::new(blocks, self.threads).shared(shared);
        // SAFETY: the modules of this folder write kernels and arguments next to each other; their buffers have the
        // lengths that the kernels take.
        unsafe { function.launch(&grid, arguments, &self.context.stream)? };
        Ok(())
    }

    /// Blocks that are resident at once.
    ///
    /// # Errors
    /// Those of the device and of the compiler.
    pub fn resident(&self, name: &str, shared: u32) -> Result<u32> {
        Ok(self.context.library.function(&self.program, name)?.resident_blocks(self.threads, shared)?)
    }
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "signal",
        parameters: "u64* words, u32 count, u32 clears, volatile u64* flag",
        call: "if (thread_in_grid() == 0) graph_signal(words, count, clears, flag)",
    },
    Kernel { name: "fill_32", parameters: "u32* out, u64 count, u32 value", call: "graph_fill(out, count, value)" },
    Kernel { name: "fill_64", parameters: "u64* out, u64 count, u64 value", call: "graph_fill(out, count, value)" },
    Kernel { name: "class_keys", parameters: "GraphRows rows, u32* keys", call: "graph_class_keys(rows, keys)" },
    Kernel {
        name: "begins",
        parameters: "const u32* keys, u32 rows, u32 count, u32* begins",
        call: "graph_begins(keys, rows, count, begins)",
    },
    Kernel {
        name: "inner_numbers",
        parameters: "GraphRows rows, const u32* order, u32* inner, u32* degrees",
        call: "graph_inner_numbers(rows, order, inner, degrees)",
    },
    Kernel {
        name: "narrow",
        parameters: "const u64* values, u64 count, u32* out",
        call: "graph_narrow(values, count, out)",
    },
    Kernel {
        name: "widen",
        parameters: "const u32* values, u64 count, u64* out",
        call: "graph_widen(values, count, out)",
    },
    Kernel {
        name: "inner_rows",
        parameters: "GraphRows rows, GraphBins bins, const u32* inner, const u32* offsets, u32* targets, f64* \
                     weights, u32* ticket",
        call: "graph_inner_rows(rows, bins, inner, offsets, targets, weights, ticket)",
    },
    Kernel {
        name: "transpose",
        parameters: "GraphRows rows, const u32* edges, const u32* order, u32* targets, f64* weights, u32* edges_out",
        call: "graph_transpose(rows, edges, order, targets, weights, edges_out)",
    },
];

fn kernels(context: &Context) -> Kernels<'_> {
    Kernels::new(context, &headers::GRAPH, KERNELS)
}

/// Words of a loop's state at most that [`look`] copies.
pub const MOST_WORDS: usize = 24;

/// A completion flag for [`look`].
///
/// # Errors
/// Errors of the device.
pub fn completion_flag(context: &Context) -> Result<CompletionFlag> {
    Ok(CompletionFlag::new(context.device(), 8 * MOST_WORDS)?)
}

/// Waits for the stream and copies the first words of a loop's state: a few microseconds, where a copy takes twenty.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// If there are more than [`MOST_WORDS`], or more than the buffer has.
pub fn look<const N: usize>(context: &Context, flag: &CompletionFlag, words: &Buffer) -> Result<[u64; N]> {
    signal(context, flag, words, 0)
}

/// [`look`], and makes the words 0 for the next iteration.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// As [`look`].
pub fn look_and_clear<const N: usize>(context: &Context, flag: &CompletionFlag, words: &Buffer) -> Result<[u64; N]> {
    signal(context, flag, words, 1)
}

fn signal<const N: usize>(context: &Context, flag: &CompletionFlag, words: &Buffer, clears: u32) -> Result<[u64; N]> {
    assert!(N <= MOST_WORDS && words.bytes() >= 8 * N as u64, "{N} words of {} bytes", words.bytes());
    flag.empty();
    let arguments = Arguments::new().buffer(words).value(N as u32).value(clears).value(flag.address());
    kernels(context).blocks("signal", 1, 0, arguments)?;
    flag.wait(&context.stream)?;
    let mut found = [0; N];
    found.copy_from_slice(&flag.copy::<u64>(0, N));
    Ok(found)
}

/// A buffer of `count` equal values of 4 or 8 bytes.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// For values of another size.
pub fn filled<T: Pod>(context: &Context, count: u64, value: T) -> Result<Buffer> {
    let out = context.allocate(count * size_of::<T>() as u64)?;
    fill_with(context, &out, value)?;
    Ok(out)
}

/// Sets all values of a buffer, of 4 or 8 bytes each.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// For values of another size.
pub fn fill_with<T: Pod>(context: &Context, out: &Buffer, value: T) -> Result<()> {
    let name = match size_of::<T>() {
        4 => "fill_32",
        8 => "fill_64",
        bytes => panic!("values of {bytes} bytes: expected 4 or 8"),
    };
    let count = out.bytes() / size_of::<T>() as u64;
    kernels(context).over(name, count, Arguments::new().buffer(out).value(count).value(value))
}

/// Values of 32 bits as values of 64 bits.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// If the buffer has fewer than `count` values.
pub fn widened(context: &Context, values: &Buffer, count: u64) -> Result<Buffer> {
    assert!(values.bytes() >= 4 * count, "{count} values in {} bytes", values.bytes());
    let out = context.allocate(8 * count)?;
    kernels(context).over("widen", count, Arguments::new().buffer(values).value(count).buffer(&out))?;
    Ok(out)
}

/// A column of numbers of 32 bits.
fn numbers(buffer: &Buffer, rows: u64) -> crate::column::Column<'_> {
    crate::column::Column::new(Scalar::U32, buffer).slice(0, rows)
}
