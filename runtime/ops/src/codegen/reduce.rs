//! Reduction kernels for aggregates without keys: accumulators in registers, merged by block and by grid. The result
//! is one slot, laid out as in `codegen/group.rs`.

use std::fmt::Write;
use std::hash::Hash;

use onrush_kernels::Program;

use super::group::taken;
use super::output;
use super::{Inputs, KernelBody, Parameters, Writer};
use crate::column::output_column::OutputColumn;
use crate::ir::aggregate::{Pass, SlotLayout, UpdateOp};
use crate::ir::expr::{DeviceType, NodeId};
use crate::launch::stream_context::{REDUCTION_THREADS, StatusBlock};

pub const THREADS: u32 = REDUCTION_THREADS;

/// The structure of the accumulators.
pub(super) fn totals(layout: &SlotLayout, round: Pass) -> String {
    let (mut fields, mut clear, mut merge, mut adds) = (String::new(), String::new(), String::new(), String::new());
    for (index, accumulator) in layout.in_pass(round) {
        let a = format!("a{index}");
        let way = accumulator.op.update_op();
        let (c_type, start) = match way {
            UpdateOp::Float => ("f64", "0"),
            UpdateOp::Product => ("f64", "1"),
            UpdateOp::ProductInteger => ("u64", "1"),
            UpdateOp::Integer | UpdateOp::Count | UpdateOp::MaxUnsigned => ("u64", "0"),
            UpdateOp::Min => ("i64", "Limits<i64>::high()"),
            UpdateOp::Max => ("i64", "Limits<i64>::low()"),
            UpdateOp::MinUnsigned => ("u64", "Limits<u64>::high()"),
            UpdateOp::Welford => {
                let _ = write!(fields, "Moments {a}; ");
                let _ = write!(clear, "{a}.clear(); ");
                let _ = write!(merge, "{a}.merge(o.{a}); ");
                continue;
            }
            UpdateOp::I128 => {
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
        let _ = match way {
            UpdateOp::Float | UpdateOp::Integer | UpdateOp::Count => write!(merge, "{a} += o.{a}; "),
            UpdateOp::Product | UpdateOp::ProductInteger => write!(merge, "{a} *= o.{a}; "),
            UpdateOp::Min | UpdateOp::MinUnsigned => write!(merge, "{a} = smaller({a}, o.{a}); "),
            _ => write!(merge, "{a} = larger({a}, o.{a}); "),
        };
    }
    format!(
        "struct Totals {{\n  {fields}\n  __device__ __forceinline__ void clear() {{ {clear}}}\n{adds}  \
         __device__ __forceinline__ void merge(const Totals& o) {{ {merge}}}\n}};\n"
    )
}

pub(super) fn add(way: UpdateOp, index: usize, value: &str) -> String {
    match way {
        UpdateOp::Float => format!("t.a{index} += {value};"),
        UpdateOp::Product => format!("t.a{index} *= {value};"),
        UpdateOp::ProductInteger => format!("t.a{index} *= (u64){value};"),
        UpdateOp::Integer => format!("t.a{index} += (u64){value};"),
        UpdateOp::I128 => format!("t.add{index}({value});"),
        UpdateOp::Welford => format!("t.a{index}.add({value});"),
        UpdateOp::Count => format!("t.a{index}++;"),
        UpdateOp::Min | UpdateOp::MinUnsigned => format!("t.a{index} = smaller(t.a{index}, {value});"),
        UpdateOp::Max | UpdateOp::MaxUnsigned => format!("t.a{index} = larger(t.a{index}, {value});"),
    }
}

/// Addresses: `partials` has room for the words of each block. `out` is the slot, from which the second round reads the
/// results of the first.
pub fn parameters(
    body: &KernelBody,
    round: Pass,
    status: &StatusBlock,
    partials: u64,
    out: u64,
    layout: &SlotLayout,
) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    parameters.address("u32*", "ticket", status.ticket());
    parameters.address("Totals*", "partials", partials);
    let first = layout.in_pass(round).next().map_or(0, |(index, _)| layout.at[index]);
    parameters.address("Totals*", "out", out + u64::from(first) * 8);
    parameters.address("const u64*", "slot", out);
    parameters
}

/// The output that the last thread computes from the only row.
pub struct FinalOutput<'a> {
    body: &'a KernelBody<'a>,
    roots: &'a [NodeId],
    parameters: Parameters,
}

impl<'a> FinalOutput<'a> {
    /// Addresses: the word of row errors, and the completion flag.
    pub fn new(
        body: &'a KernelBody,
        roots: &'a [NodeId],
        targets: &[OutputColumn],
        (fault, told): (u64, u64),
    ) -> FinalOutput<'a> {
        let mut parameters = body.parameters(fault);
        output::declare(&mut parameters, body, roots, targets);
        parameters.address("volatile u64*", "told", told);
        FinalOutput { body, roots, parameters }
    }

    /// All that its text depends on.
    pub fn codegen_key(&self) -> impl Hash {
        (self.body.key("ending"), self.roots.to_vec())
    }

    /// Appends its parameters to those of the kernel, under separate names.
    pub fn extend(&self, parameters: &mut Parameters) {
        parameters.extend(&self.parameters.renamed("end_"));
    }

    /// The function of the kernel's last thread.
    fn text(&self) -> String {
        let mut writer = Writer::new(self.body, Inputs::Memory, "  ");
        for ((index, root), nullable) in self.roots.iter().enumerate().zip(self.body.nullable(self.roots)) {
            let names = writer.value(*root);
            writer.note(&names);
            let value = match self.body.graph.kind(*root) {
                DeviceType::Bool => format!("({}) ? 1u : 0u", names.value),
                _ => names.value.clone(),
            };
            writer.line(&format!("o{index}[0] = {value};"));
            if nullable {
                writer.line(&format!("ov{index}[0] = ({}) ? 1u : 0u;", names.ok()));
            }
        }
        format!(
            "__device__ __forceinline__ void end_row({}) {{\n  u32 faults = 0;\n  const u64 row = 0;\n{}  \
             if (faults != 0) atomicOr(fault, 1u);\n  tell(fault, nullptr, told);\n}}\n",
            self.parameters.text(),
            writer.text,
        )
    }

    fn call(&self) -> String {
        format!("end_row({})", self.parameters.renamed("end_").names().join(", "))
    }
}

pub fn program(
    body: &KernelBody,
    layout: &SlotLayout,
    round: Pass,
    parameters: &Parameters,
    ending: Option<&FinalOutput>,
) -> Program {
    let roots: Vec<NodeId> = layout.in_pass(round).flat_map(|(_, a)| a.values(round)).chain(body.filter).collect();
    let unroll = body.unroll(&roots);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    for (index, accumulator) in layout.in_pass(round) {
        let way = accumulator.op.update_op();
        match accumulator.value(round) {
            None => writer.line(&add(way, index, "")),
            Some(of) => {
                let names = writer.value(of);
                writer.note(&names);
                let with = accumulator.with.map(|with| writer.value(with));
                let (value, condition) = taken(layout, accumulator, &names, with.as_ref());
                let text = add(way, index, &value);
                match condition {
                    Some(condition) => writer.line(&format!("if ({condition}) {text}")),
                    None => writer.line(&text),
                }
            }
        }
    }
    writer.line("}");
    let loads = body.loads(&roots);
    let (name, end) = match ending {
        // The slot is read again as other types than it was written as.
        Some(ending) => (
            "reduce_row",
            format!("if (merge_grid(t, partials, ticket, out)) {{ __threadfence(); {}; }}\n", ending.call()),
        ),
        None => ("reduce_rows", "merge_grid(t, partials, ticket, out);\n".to_string()),
    };
    let text = format!(
        "{}{}extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({}) {{\n  u32 faults = 0;\n  Totals t;\n  t.clear();\n{}  {end}}}\n",
        totals(layout, round),
        loads.columns,
        parameters.text(),
        body.rows_loop(&loads, unroll, &writer.text),
    );
    match ending {
        Some(ending) => {
            let entry = "reduce_row";
            let mut program = body.program(&[], format!("{}{text}", ending.text()), entry);
            let after = ending.body.program(&[], ending.text(), entry);
            program.headers.extend(after.headers);
            program.before.extend(after.before);
            program
        }
        None => body.program(&[], text, "reduce_rows"),
    }
}
