//! Similarity of pairs of nodes: `cuda/graph_similarity.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

macro_rules! measures {
    ($($measure:ident $constant:literal $name:literal)*) => {
        /// The measure that is computed from common neighbours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Measure {
            $($measure),*
        }

        impl Measure {
            pub const ALL: &[Measure] = &[$(Measure::$measure),*];

            fn kernel(self) -> &'static str {
                match self {
                    $(Measure::$measure => $name),*
                }
            }
        }

        const KERNELS: &[Kernel] = &[
            $(Kernel {
                name: $name,
                parameters: "const u32* offsets, const u32* targets, const u32* first, const u32* second, u64 pairs, f64* out",
                call: concat!("similarities<", $constant, ">(offsets, targets, first, second, pairs, out)"),
            }),*
        ];
    };
}

measures! {
    CommonNeighbors "COMMON_NEIGHBORS" "common_neighbors"
    Jaccard "JACCARD" "jaccard"
    AdamicAdar "ADAMIC_ADAR" "adamic_adar"
    ResourceAllocation "RESOURCE_ALLOCATION" "resource_allocation"
    PreferentialAttachment "PREFERENTIAL_ATTACHMENT" "preferential_attachment"
    Overlap "OVERLAP" "overlap"
    Sorensen "SORENSEN" "sorensen"
    Cosine "COSINE" "cosine"
}

/// A value for each pair `first[i]`, `second[i]` of nodes of a simple undirected graph: u32 numbers below that of the
/// nodes.
///
/// # Errors
/// Errors of the device.
pub fn similarities(
    context: &Context,
    rows: &Csr,
    measure: Measure,
    first: &Buffer,
    second: &Buffer,
    pairs: u64,
) -> Result<Buffer> {
    let out = context.allocate(8 * pairs)?;
    let arguments = Arguments::new().buffer(&rows.offsets).buffer(&rows.targets).buffer(first).buffer(second);
    let kernels = Kernels::new(context, &headers::GRAPH_SIMILARITY, KERNELS);
    kernels.over(measure.kernel(), 32 * pairs, arguments.value(pairs).buffer(&out))?;
    Ok(out)
}
