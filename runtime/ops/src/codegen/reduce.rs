//! Aggregates of all rows as one group: accumulators in registers, merged by block and by grid. The result is the words of one slot, as
//! `codegen/group.rs` lays them out.

use std::fmt::Write;

use onrush_device::Buffer;
use onrush_kernels::Program;

use super::{Body, Inputs, Parameters, Writer};
use crate::aggregate::{Accumulator, Layout, What};
use crate::graph::Id;

pub const THREADS: u32 = 256;

/// The structure of the accumulators.
fn totals(layout: &Layout) -> String {
    let (mut fields, mut clear, mut merge, mut adds) = (String::new(), String::new(), String::new(), String::new());
    for (index, accumulator) in layout.accumulators.iter().enumerate() {
        let a = format!("a{index}");
        let (c_type, start) = match accumulator.what {
            What::SumFloat => ("f64", "0"),
            What::SumInteger | What::Count | What::GreatestUnsigned => ("u64", "0"),
            What::Least => ("i64", "Limits<i64>::high()"),
            What::Greatest => ("i64", "Limits<i64>::low()"),
            What::LeastUnsigned => ("u64", "Limits<u64>::high()"),
            What::SumWide => {
                // Two words, so that the structure is the words of a slot.
                let _ = write!(fields, "u64 {a}, {a}h; ");
                let _ = write!(clear, "{a} = 0; {a}h = 0; ");
                let _ = write!(merge, "add{index}(wide_of(o.{a}, o.{a}h)); ");
                let _ = writeln!(
                    adds,
                    "  __device__ __forceinline__ void add{index}(i128 x) {{ u128 sum = (u128)x + (u128)wide_of({a}, {a}h); \
                     {a} = (u64)sum; {a}h = (u64)(sum >> 64); }}"
                );
                continue;
            }
        };
        let _ = write!(fields, "{c_type} {a}; ");
        let _ = write!(clear, "{a} = {start}; ");
        let _ = write!(merge, "{} ", join(accumulator, index));
    }
    format!(
        "struct Totals {{\n  {fields}\n  __device__ __forceinline__ void clear() {{ {clear}}}\n{adds}  \
         __device__ __forceinline__ void merge(const Totals& o) {{ {merge}}}\n}};\n"
    )
}

fn join(accumulator: &Accumulator, index: usize) -> String {
    let a = format!("a{index}");
    match accumulator.what {
        What::SumFloat | What::SumInteger | What::Count => format!("{a} += o.{a};"),
        What::Least | What::LeastUnsigned => format!("{a} = smaller({a}, o.{a});"),
        What::Greatest | What::GreatestUnsigned => format!("{a} = larger({a}, o.{a});"),
        What::SumWide => String::new(),
    }
}

fn add(accumulator: &Accumulator, index: usize, value: &str) -> String {
    match accumulator.what {
        What::SumFloat => format!("t.a{index} += {value};"),
        What::SumInteger => format!("t.a{index} += (u64){value};"),
        What::SumWide => format!("t.add{index}({value});"),
        What::Count => format!("t.a{index}++;"),
        What::Least | What::LeastUnsigned => format!("t.a{index} = smaller(t.a{index}, {value});"),
        What::Greatest | What::GreatestUnsigned => format!("t.a{index} = larger(t.a{index}, {value});"),
    }
}

/// `partials` has room for the words of each block.
pub fn kernel(
    body: &Body,
    layout: &Layout,
    fault: u64,
    ticket: u64,
    partials: &Buffer,
    out: &Buffer,
) -> (Program, Parameters) {
    let roots: Vec<Id> = layout.accumulators.iter().filter_map(|a| a.of).chain(body.filter).collect();
    let mut parameters = body.parameters(fault);
    parameters.address("u32*", "ticket", ticket);
    parameters.buffer("Totals*", "partials", partials);
    parameters.buffer("Totals*", "out", out);
    let unroll = body.unroll(&roots);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    for (index, accumulator) in layout.accumulators.iter().enumerate() {
        match accumulator.of {
            None => writer.line(&add(accumulator, index, "")),
            Some(of) => {
                let names = writer.value(of);
                writer.note(&names);
                let text = add(accumulator, index, &names.value);
                match &names.valid {
                    Some(valid) => writer.line(&format!("if ({valid}) {text}")),
                    None => writer.line(&text),
                }
            }
        }
    }
    writer.line("}");
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) reduce_rows({}) {{\n  u32 faults = 0;\n  Totals t;\n  t.clear();\n  \
         const u64 stride = threads_in_grid();\n#pragma unroll 1\n  \
         for (u64 first = thread_in_grid(); first < rows; first += stride * {unroll}) {{\n{}\
         #pragma unroll\n    for (int k = 0; k < {unroll}; k++) {{\n      u64 row = first + k * stride;\n      if (row < rows) {{\n{}      }}\n    }}\n  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n  merge_grid(t, partials, ticket, out);\n}}\n",
        totals(layout),
        parameters.text(),
        body.loads(&body.inputs(&roots), unroll),
        writer.text,
    );
    (body.program(&[], text, "reduce_rows"), parameters)
}
