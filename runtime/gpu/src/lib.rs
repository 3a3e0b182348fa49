//! Plans on a device. `placement` decides which nodes of DataFusion's physical plan become pipelines. `lower` and
//! `aggregates` translate their expressions. `gpu_exec` brings the result back into the plan.
//!
//! Knows no SQL, no steps of the wire, and no optimizer rules.

mod accelerator;
mod add_node;
mod aggregates;
mod arithmetic;
mod blocking;
mod classify;
mod computed_join_keys;
mod concat_exec;
mod cpu_reason;
mod describe;
mod diagnostics;
mod download;
mod fragment;
mod fragment_builder;
mod gpu_exec;
mod host_top_k;
mod join_node;
mod joins;
mod keyed_stage;
mod keyed_windows;
mod list_aggregate;
mod lower;
mod materialized_exec;
mod memory_input;
mod out_of_core;
mod placement;
mod placements;
mod plan_node;
mod powers_of_ten;
mod prefetch;
mod quantile_aggregate;
mod quantiles;
mod regex_dfa;
mod scalar_subquery;
mod single_partition;
mod sort_keys;
mod table_columns;
mod time_zone;
pub mod udf;
mod unnest;
mod window;
mod window_frame;

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
pub use onrush_ops::Tuning;

pub use accelerator::{Accelerator, EngineChoice, MIN_GPU_ROWS, Policy, Prefetch};
pub use blocking::run_inline;
pub use classify::windows;
pub use concat_exec::ConcatExec;
pub use diagnostics::{GPU_LOST, diagnostic};
pub use gpu_exec::{GpuExec, PARTITIONS_METRIC, run_on_device};
pub use memory_input::memory;
pub use placements::Placements;

/// For the tests of plans alone.
#[doc(hidden)]
pub mod inside {
    pub use crate::cpu_reason::CpuReason;
    pub use crate::powers_of_ten::upper;
    pub use crate::regex_dfa::Like;
    pub use crate::time_zone::find as time_zone;
}

/// The plan with fragments for the device, and why other nodes are not in them.
///
/// # Errors
/// As those of DataFusion when it makes a node of a plan again.
pub fn place(
    plan: Arc<dyn ExecutionPlan>,
    accelerator: &Arc<Accelerator>,
) -> Result<(Arc<dyn ExecutionPlan>, Placements)> {
    placement::place(plan, accelerator, out_of_core::run)
}

/// The devices that plans can run on, a line for each: its name, `works` or `missing` or `broken`, a sentence, and what
/// to do. Makes no context.
pub fn probe() -> Vec<String> {
    let state = |state| match state {
        onrush_device::State::Works => "works",
        onrush_device::State::Missing => "missing",
        onrush_device::State::Broken => "broken",
    };
    let findings = onrush_device::probe().into_iter();
    findings.map(|f| [f.what, state(f.state), &f.sentence, f.help.unwrap_or_default()].join("\t")).collect()
}
