//! The forces of ForceAtlas2: `cuda/graph_layout.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Csr, Kernel, Kernels, levels, numbers};
use crate::error::Result;
use crate::headers;
use crate::library::Context;
use crate::scalar::Scalar;
use crate::scan::{Bounds, scan};
use crate::sort::sort_with;

/// Halvings of the square at most.
const LEVELS: u32 = 21;
/// Blocks of sums over all nodes.
const BLOCKS: u32 = 264;
/// Threads of a block that has a row alone.
const WIDE: u32 = 512;
/// Bytes of a cell.
const CELL: u64 = 64;
/// Powers of two of degrees: nodes of fewer arcs have eight lanes, those of more a block.
const FEW: u32 = 5;
const MANY: u32 = 10;

macro_rules! attraction {
    ($name:literal, $linlog:literal, $lanes:literal) => {
        Kernel {
            name: $name,
            parameters: "const u32* offsets, const u32* targets, const f64* weights, const u32* order, u32 begin, u32 end, \
                         const double2* points, double2* forces",
            call: concat!(
                "attract<",
                $linlog,
                ", ",
                $lanes,
                ">(offsets, targets, weights, order, begin, end, points, forces)"
            ),
        }
    };
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "summarize_",
        parameters: "const double2* points, u64 nodes, f64* partials",
        call: "summarize(points, nodes, partials)",
    },
    Kernel {
        name: "curve_keys_",
        parameters: "const double2* points, u64 nodes, f64 low_x, f64 low_y, f64 side, u64* keys, u64* numbers",
        call: "curve_keys(points, nodes, low_x, low_y, side, keys, numbers)",
    },
    Kernel {
        name: "take_order_",
        parameters: "const u64* numbers, const double2* points, const f64* mass, u64 nodes, u32* order, double2* sorted, \
                     f64* sorted_mass",
        call: "take_order(numbers, points, mass, nodes, order, sorted, sorted_mass)",
    },
    Kernel {
        name: "count_cells_",
        parameters: "const u64* keys, u64 nodes, u32* counts",
        call: "count_cells(keys, nodes, counts)",
    },
    Kernel {
        name: "write_cells_",
        parameters: "const u64* keys, u64 nodes, const u64* starts, f64 unit, LayoutCell* cells",
        call: "write_cells(keys, nodes, starts, unit, cells)",
    },
    Kernel {
        name: "sum_cells_",
        parameters: "LayoutCell* cells, u64 count, u32 level, const double2* points, const f64* mass",
        call: "sum_cells(cells, count, level, points, mass)",
    },
    Kernel {
        name: "tree_forces_",
        parameters: "const LayoutCell* cells, u32 count, const u32* order, const double2* points, const f64* mass, u64 nodes, \
                     double2* forces",
        call: "tree_forces(cells, count, order, points, mass, nodes, forces)",
    },
    Kernel {
        name: "exact_forces_",
        parameters: "const double2* points, const f64* mass, u64 nodes, double2* forces",
        call: "exact_forces(points, mass, nodes, forces)",
    },
    Kernel {
        name: "take_masses_",
        parameters: "const u64* first, const u64* second, u64 nodes, f64* mass",
        call: "take_masses(first, second, nodes, mass)",
    },
    attraction!("attract_8", "false", "8"),
    attraction!("attract_32", "false", "32"),
    attraction!("attract_8_linlog", "true", "8"),
    attraction!("attract_32_linlog", "true", "32"),
    Kernel {
        name: "add_forces_",
        parameters: "LayoutForces options, const double2* points, const f64* mass, const double2* repulsion, u64 nodes, \
                     double2* forces, f64* partials",
        call: "add_forces(options, points, mass, repulsion, nodes, forces, partials)",
    },
    Kernel {
        name: "move_points_",
        parameters: "const double2* forces, const f64* mass, u64 nodes, f64 speed, double2* points, f64* partials",
        call: "move_points(forces, mass, nodes, speed, points, partials)",
    },
];

const WIDE_KERNELS: &[Kernel] =
    &[attraction!("attract_block", "false", "0"), attraction!("attract_block_linlog", "true", "0")];

/// The terms of the forces.
#[derive(Clone, Copy, Debug)]
pub struct ForceOptions {
    pub scaling_ratio: f64,
    pub gravity: f64,
    pub distributed_action: bool,
    pub strong_gravity: bool,
    pub linlog: bool,
    /// Cells are far from this multiple of their side on.
    pub theta: f64,
    /// Up to so many points all pairs are added up.
    pub exact: usize,
}

/// The statistics of all points.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub mean: [f64; 2],
    low: [f64; 2],
    side: f64,
}

/// Nodes in the plane, and the forces on them.
pub struct Layout<'a> {
    kernels: Kernels<'a>,
    wide: Kernels<'a>,
    rows: &'a Csr,
    weighted: bool,
    /// Two f64 for each node.
    pub points: Buffer,
    mass: Buffer,
    forces: Buffer,
    repulsion: Buffer,
    partials: Buffer,
}

impl<'a> Layout<'a> {
    /// Nodes at `points`. The mass is the degree + 1; `into` are the rows by target of a directed graph, whose edges
    /// attract their sources alone.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(
        context: &'a Context,
        rows: &'a Csr,
        into: Option<&Csr>,
        weighted: bool,
        points: Buffer,
    ) -> Result<Layout<'a>> {
        let nodes = u64::from(rows.nodes);
        let kernels = Kernels::new(context, &headers::GRAPH_LAYOUT, KERNELS);
        let first = levels::row_lengths(context, rows, if into.is_some() { 1 } else { 2 })?;
        let second = into.map(|into| levels::row_lengths(context, into, 1)).transpose()?;
        let mass = context.allocate(8 * nodes)?;
        let arguments = Arguments::new().buffer(&first).optional(second.as_ref()).value(nodes).buffer(&mass);
        kernels.over("take_masses_", nodes, arguments)?;
        rows.classes(context)?;
        Ok(Layout {
            kernels,
            wide: Kernels::with_threads(context, &headers::GRAPH_LAYOUT, WIDE, WIDE_KERNELS),
            rows,
            weighted,
            points,
            mass,
            forces: context.allocate(16 * nodes)?,
            repulsion: context.allocate(16 * nodes)?,
            partials: context.allocate(8 * 6 * u64::from(BLOCKS))?,
        })
    }

    fn nodes(&self) -> u64 {
        u64::from(self.rows.nodes)
    }

    /// The sums of partial results, `N` of each block.
    fn partials<const N: usize>(&self) -> Result<Vec<[f64; N]>> {
        let all = self.partials.read::<f64>(0..N * BLOCKS as usize, &self.kernels.context.stream)?;
        Ok(all.as_chunks::<N>().0.to_vec())
    }

    /// The positions of the points. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn extent(&self) -> Result<Extent> {
        let arguments = Arguments::new().buffer(&self.points).value(self.nodes()).buffer(&self.partials);
        self.kernels.blocks("summarize_", BLOCKS, 0, arguments)?;
        let parts = self.partials::<6>()?;
        let sum = |i: usize| parts.iter().map(|p| p[i]).sum::<f64>() / self.nodes() as f64;
        let low = |i: usize| parts.iter().map(|p| p[i]).fold(f64::INFINITY, f64::min);
        let side = (-low(4) - low(2)).max(-low(5) - low(3)).max(f64::MIN_POSITIVE);
        Ok(Extent { mean: [sum(0), sum(1)], low: [low(2), low(3)], side })
    }

    /// All forces. The sums of swings and of tractions by mass. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn add_forces(&self, extent: &Extent, options: &ForceOptions) -> Result<[f64; 2]> {
        self.repel(extent, options)?;
        self.attract(options)?;
        let flags = u64::from(options.distributed_action) | u64::from(options.strong_gravity) << 32;
        let [x, y] = extent.mean.map(f64::to_bits);
        let values = [x, y, options.scaling_ratio.to_bits(), options.gravity.to_bits(), flags];
        let arguments = Arguments::new().value(values).buffer(&self.points).buffer(&self.mass).buffer(&self.repulsion);
        let arguments = arguments.value(self.nodes()).buffer(&self.forces).buffer(&self.partials);
        self.kernels.blocks("add_forces_", BLOCKS, 0, arguments)?;
        let parts = self.partials::<2>()?;
        Ok([0, 1].map(|i| parts.iter().map(|p| p[i]).sum()))
    }

    /// Moves all nodes. The sum of their steps along both axes. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn advance(&self, speed: f64) -> Result<f64> {
        let arguments = Arguments::new().buffer(&self.forces).buffer(&self.mass).value(self.nodes()).value(speed);
        self.kernels.blocks("move_points_", BLOCKS, 0, arguments.buffer(&self.points).buffer(&self.partials))?;
        Ok(self.partials::<1>()?.iter().map(|p| p[0]).sum())
    }

    /// The forces, two f64 for each node.
    pub fn forces(&self) -> &Buffer {
        &self.forces
    }

    fn repel(&self, extent: &Extent, options: &ForceOptions) -> Result<()> {
        let (nodes, context, kernels) = (self.nodes(), self.kernels.context, &self.kernels);
        if nodes <= options.exact as u64 {
            let arguments = Arguments::new().buffer(&self.points).buffer(&self.mass).value(nodes);
            return kernels.over("exact_forces_", nodes, arguments.buffer(&self.repulsion));
        }
        let (keys, values) = (context.allocate(8 * nodes)?, context.allocate(8 * nodes)?);
        let arguments = Arguments::new().buffer(&self.points).value(nodes).value(extent.low[0]).value(extent.low[1]);
        kernels.over("curve_keys_", nodes, arguments.value(extent.side).buffer(&keys).buffer(&values))?;
        let (keys, values) = sort_with(context, (Scalar::U64, nodes, (1 << (2 * LEVELS)) - 1), keys, values)?;
        let (order, points) = (context.allocate(4 * nodes)?, context.allocate(16 * nodes)?);
        let mass = context.allocate(8 * nodes)?;
        let arguments = Arguments::new().buffer(&values).buffer(&self.points).buffer(&self.mass).value(nodes);
        kernels.over("take_order_", nodes, arguments.buffer(&order).buffer(&points).buffer(&mass))?;
        let counts = context.zeros(4 * (nodes + 1))?;
        kernels.over("count_cells_", nodes, Arguments::new().buffer(&keys).value(nodes).buffer(&counts))?;
        let starts = scan(context, &numbers(&counts, nodes + 1), Bounds::Exclusive)?;
        let count = starts.read::<u64>(nodes as usize..nodes as usize + 1, &context.stream)?[0];
        let cells = context.allocate(CELL * count)?;
        let arguments = Arguments::new().buffer(&keys).value(nodes).buffer(&starts).value(extent.side / options.theta);
        kernels.over("write_cells_", nodes, arguments.buffer(&cells))?;
        for level in (0..=LEVELS).rev() {
            let arguments = Arguments::new().buffer(&cells).value(count).value(level).buffer(&points).buffer(&mass);
            kernels.over("sum_cells_", count, arguments)?;
        }
        let arguments =
            Arguments::new().buffer(&cells).value(count as u32).buffer(&order).buffer(&points).buffer(&mass);
        kernels.over("tree_forces_", nodes, arguments.value(nodes).buffer(&self.repulsion))
    }

    fn attract(&self, options: &ForceOptions) -> Result<()> {
        let rows = self.rows;
        let classes = rows.classes(self.kernels.context)?;
        let weights = rows.weights.as_deref().filter(|_| self.weighted);
        let arguments = |begin: u32, end: u32| {
            let arguments = Arguments::new().buffer(&rows.offsets).buffer(&rows.targets).optional(weights);
            arguments.buffer(&classes.order).value(begin).value(end).buffer(&self.points).buffer(&self.forces)
        };
        let name = |plain, linlog| if options.linlog { linlog } else { plain };
        let many = classes.range(MANY, 32);
        if !many.is_empty() {
            let name = name("attract_block", "attract_block_linlog");
            let blocks = self.wide.resident(name, 0)?.min(many.len() as u32);
            self.wide.blocks(name, blocks, 0, arguments(many.start, many.end))?;
        }
        let some = classes.range(FEW, MANY);
        let name_32 = name("attract_32", "attract_32_linlog");
        self.kernels.over(name_32, 32 * some.len() as u64, arguments(some.start, some.end))?;
        // Nodes without arcs, too: their forces must be 0.
        let items = 8 * u64::from(rows.nodes - some.end);
        self.kernels.over(name("attract_8", "attract_8_linlog"), items, arguments(some.end, rows.nodes))
    }
}
