//! Communities on a device: the labels of the host, bit for bit.
//!
//! Levels with few arcs go on on the host, where nodes move one by one.

use std::borrow::Cow;

use onrush_device::Buffer;
use onrush_kernels::Context;
use onrush_kernels::graph::communities::{CLASSES, Search, SearchOptions, Whole};
use onrush_kernels::graph::levels::{self, CommunityLevel, CommunityState};

use super::{DeviceError, DeviceGraph, DeviceRounds, DeviceValues, MOST_ARCS, Result};
use crate::community::level::{Level, scale_of};
use crate::community::moving::{self, FEW_ARCS, ModularitySearch, SWEEPS};
use crate::community::{self, CommunityOptions, LeidenPass, LouvainPass, WITHOUT_NEGATIVE, check_options, refine};
use crate::error::{Error, ErrorKind};
use crate::generate;
use crate::graph::Graph;
use crate::run::Run;

const _: () = assert!(CLASSES as u64 == moving::CLASSES);

/// [`community::louvain_communities`] on a device.
///
/// # Errors
/// Errors of the device. Also if a parameter is out of range, a weight is negative, there are too many arcs, or the
/// user stops it.
pub fn louvain_communities(
    graph: &DeviceGraph,
    options: &CommunityOptions,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<u32>> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let first = match begin(graph, options, context, "louvain_communities")? {
        Begin::Level(level) => level,
        Begin::Alone => return alone(graph, context),
        Begin::Small => return on_host(graph, context, |g| community::louvain_communities(g, options, run)),
    };
    let nodes = first.nodes;
    let membership = levels::identity(context, nodes)?;
    let mut pass = LouvainPass::first(first.modularity(context, options.resolution)?);
    let mut owned: Option<CommunityLevel> = None;
    let mut count = nodes;
    while pass.is_within(options) {
        let level = owned.as_ref().unwrap_or(&first);
        if (level.arcs as usize) < FEW_ARCS {
            let found = community::louvain(&downloaded(level, context)?, pass, 0, options, run)?;
            levels::follow(context, &context.upload(&found)?, nodes, &membership)?;
            break;
        }
        run.stage(pass.stage());
        let state = CommunityState::alone(context, level)?;
        if !moved(level, &state, &pass.search(options, 0), context, run)? {
            break;
        }
        let (next, number) = level.aggregate(context, &state)?;
        let found = next.modularity(context, options.resolution)?;
        if found < pass.quality {
            break;
        }
        levels::follow(context, &number, nodes, &membership)?;
        count = next.nodes;
        owned = Some(next);
        let Some(after) = pass.next(found, options) else { break };
        pass = after;
    }
    let labels = levels::by_size(context, &membership, nodes, count)?;
    rounds.finish()?;
    Ok(DeviceValues::new(labels, nodes as usize))
}

/// [`community::leiden_communities`] on a device.
///
/// # Errors
/// Errors of the device. Also if a parameter is out of range, a weight is negative, there are too many arcs, or the
/// user stops it.
pub fn leiden_communities(
    graph: &DeviceGraph,
    options: &CommunityOptions,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<u32>> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let first = match begin(graph, options, context, "leiden_communities")? {
        Begin::Level(level) => level,
        Begin::Alone => return alone(graph, context),
        Begin::Small => return on_host(graph, context, |g| community::leiden_communities(g, options, run)),
    };
    let nodes = first.nodes;
    let membership = levels::identity(context, nodes)?;
    for round in 0..2 {
        let before = copied(context, &membership)?;
        leiden_round(&first, &membership, LeidenPass::first([0, round]), options, context, run)?;
        if levels::is_same(context, &before, &membership, nodes)? {
            break;
        }
    }
    levels::split_apart(context, graph.out_rows(), graph.is_directed(), &membership)?;
    let labels = levels::by_size(context, &membership, nodes, nodes)?;
    rounds.finish()?;
    Ok(DeviceValues::new(labels, nodes as usize))
}

/// [`community::modularity`] on a device. With negative weights it is found on the host.
///
/// # Errors
/// Errors of the device. Also if numbers are missing or too large, the resolution is not finite, or there are too many
/// arcs.
pub fn modularity(
    graph: &DeviceGraph,
    communities: &DeviceValues<u32>,
    resolution: f64,
    context: &Context,
) -> Result<f64> {
    let run = Run::silent();
    let rounds = DeviceRounds::new(graph, context, &run)?;
    let rows = graph.out_rows();
    let is_plain = communities.len() == graph.nodes()
        && resolution.is_finite()
        && levels::is_below(context, communities.buffer(), rows.nodes, rows.nodes)?
        && graph.first_negative(context)?.is_none();
    let level = if is_plain { level_of(graph, context, "modularity")? } else { None };
    let Some(level) = level else {
        return Ok(community::modularity(&graph.download(context)?, &communities.download(context)?, resolution)?);
    };
    let quality = level.modularity_of(context, communities.buffer(), resolution)?;
    rounds.finish()?;
    Ok(quality)
}

/// One round of all levels from `membership`, a community for each node of `first`.
fn leiden_round(
    first: &CommunityLevel,
    membership: &Buffer,
    mut pass: LeidenPass,
    options: &CommunityOptions,
    context: &Context,
    run: &Run,
) -> Result<()> {
    let nodes = first.nodes;
    let node = levels::identity(context, nodes)?;
    let mut start = copied(context, membership)?;
    let mut owned: Option<CommunityLevel> = None;
    while pass.is_within(options) {
        let level = owned.as_ref().unwrap_or(first);
        if (level.arcs as usize) < FEW_ARCS {
            let start = start.read::<u32>(0..level.nodes as usize, &context.stream)?;
            let (labels, last) = community::leiden(&downloaded(level, context)?, start, pass, options, run)?;
            levels::take_labels(context, &node, &context.upload(&labels)?, nodes, membership)?;
            levels::follow(context, &context.upload(&last)?, nodes, &node)?;
            break;
        }
        run.stage(pass.stage(level.nodes as usize));
        let state = CommunityState::of_labels(context, level, start)?;
        let search = pass.search(options);
        moved(level, &state, &search, context, run)?;
        levels::take_labels(context, &node, &state.label, nodes, membership)?;
        if state.is_alone(context, level.nodes)? {
            break;
        }
        let parts = refined(level, &state, &search, context, run)?;
        let (next, number) = level.aggregate(context, &parts)?;
        if next.nodes == level.nodes {
            break;
        }
        levels::follow(context, &number, nodes, &node)?;
        start = levels::start_labels(context, &state.label, &number, level.nodes, next.nodes)?;
        owned = Some(next);
        pass = pass.next();
    }
    Ok(levels::lowest_names(context, &node, nodes, membership)?)
}

/// How a search begins.
enum Begin {
    Level(CommunityLevel),
    /// No weight at all: each node is a community.
    Alone,
    /// Few arcs: the host is faster.
    Small,
}

fn begin(graph: &DeviceGraph, options: &CommunityOptions, context: &Context, name: &str) -> Result<Begin> {
    check_options(options)?;
    graph.check_positive(name, context).map_err(|error| match error {
        DeviceError::Graph(error) => DeviceError::Graph(error.help(WITHOUT_NEGATIVE)),
        other => other,
    })?;
    if sides(graph) * graph.arcs() < FEW_ARCS {
        return Ok(Begin::Small);
    }
    Ok(level_of(graph, context, name)?.map_or(Begin::Alone, Begin::Level))
}

/// Rows that a level has of a graph: those by target, too, if it is directed.
fn sides(graph: &DeviceGraph) -> usize {
    if graph.is_directed() { 2 } else { 1 }
}

/// The first level of a graph without negative weights. `None` if it has no weight at all.
fn level_of(graph: &DeviceGraph, context: &Context, name: &str) -> Result<Option<CommunityLevel>> {
    let rows = graph.out_rows();
    let arcs = sides(graph) * graph.arcs();
    if arcs > MOST_ARCS {
        let message = format!("{arcs} arcs in both directions: {name} on a device has at most {MOST_ARCS}");
        return Err(Error::new(ErrorKind::TooManyArcs, message).help("run the algorithm on the CPU").into());
    }
    let sum = levels::weight_sum(context, rows)?;
    if sum <= 0.0 {
        return Ok(None);
    }
    let into = if graph.is_directed() { Some(graph.in_rows(context)?) } else { None };
    let scale = scale_of(if graph.is_directed() { sum } else { 2.0 * sum });
    let level = CommunityLevel::of(context, rows, into, scale)?;
    Ok((level.total > 0.0).then_some(level))
}

fn alone(graph: &DeviceGraph, context: &Context) -> Result<DeviceValues<u32>> {
    Ok(DeviceValues::new(levels::identity(context, graph.nodes() as u32)?, graph.nodes()))
}

/// The result of the host's algorithm for a small graph.
fn on_host(
    graph: &DeviceGraph,
    context: &Context,
    algorithm: impl FnOnce(&Graph) -> std::result::Result<Vec<u32>, Error>,
) -> Result<DeviceValues<u32>> {
    let found = algorithm(&graph.download(context)?)?;
    let labels = context.upload(&found)?;
    context.stream.synchronize()?;
    Ok(DeviceValues::new(labels, found.len()))
}

fn copied(context: &Context, buffer: &Buffer) -> Result<Buffer> {
    let copy = context.allocate(buffer.bytes())?;
    copy.copy_from(0, buffer, 0, buffer.bytes(), &context.stream)?;
    Ok(copy)
}

fn options_of(search: &ModularitySearch) -> SearchOptions {
    SearchOptions { resolution: search.resolution, key: generate::mixed(search.seed) }
}

/// Moves nodes until little is gained. Whether one moved.
fn moved(
    level: &CommunityLevel,
    state: &CommunityState,
    search: &ModularitySearch,
    context: &Context,
    run: &Run,
) -> Result<bool> {
    let mut passes = Search::new(context, level, state, &options_of(search), None)?;
    let mut moved = false;
    let (mut plan, _) = passes.plan(0)?;
    for sweep in 0..SWEEPS {
        run.check(|| format!("{sweep} sweeps of a level of {}", search.name))?;
        for class in (0..CLASSES).filter(|class| !plan.is_empty(*class)) {
            passes.run(&plan, class)?;
        }
        let (next, did) = passes.plan(sweep as u32 + 1)?;
        moved |= did.moved > 0;
        if search.is_little(did.gained, level.into.is_some(), level.total) {
            break;
        }
        plan = next;
    }
    Ok(moved)
}

/// Parts of communities that are connected.
fn refined(
    level: &CommunityLevel,
    whole: &CommunityState,
    search: &ModularitySearch,
    context: &Context,
    run: &Run,
) -> Result<CommunityState> {
    let parts = CommunityState::alone(context, level)?;
    let cut = level.cut(context, &whole.label)?;
    let whole = Whole { state: whole, cut: &cut };
    let mut passes = Search::new(context, level, &parts, &options_of(search), Some(&whole))?;
    for sweep in refine::SWEEPS_BEFORE..refine::SWEEPS_BEFORE + refine::SWEEPS {
        run.check(|| format!("part of a refinement of {}", search.name))?;
        let (plan, _) = passes.plan(sweep as u32)?;
        for class in (0..CLASSES).filter(|class| !plan.is_empty(*class)) {
            passes.run(&plan, class)?;
        }
    }
    drop(passes);
    Ok(parts)
}

/// A level on the host.
fn downloaded(level: &CommunityLevel, context: &Context) -> Result<Level<'static>> {
    let stream = &context.stream;
    let (nodes, arcs) = (level.nodes as usize, level.arcs as usize);
    let offsets = level.offsets.read::<u32>(0..nodes + 1, stream)?.into_iter().map(|o| o as usize).collect();
    Ok(Level {
        directed: level.into.is_some(),
        offsets: Cow::Owned(offsets),
        targets: Cow::Owned(level.targets.read::<u32>(0..arcs, stream)?),
        weights: level.weights.as_ref().map(|w| w.read::<u64>(0..arcs, stream)).transpose()?,
        unit: level.unit,
        out: level.out.read::<u64>(0..nodes, stream)?,
        into: level.into.as_ref().map_or(Ok(Vec::new()), |w| w.read::<u64>(0..nodes, stream))?,
        inside: level.inside.read::<u64>(0..nodes, stream)?,
        total: level.total,
    })
}
