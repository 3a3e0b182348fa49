//! Calls whose algorithm runs on a device. Results are those of the host: `runtime/graph/src/device.rs` says which bit
//! for bit.

use std::cell::RefCell;

use arrow::array::{ArrayRef, RecordBatch};
use onrush_device::Buffer;
use onrush_graph::device::{self, DeviceError, DeviceGraph, DeviceValues};
use onrush_graph::similarity::Scores;
use onrush_graph::{ErrorKind, Run};
use onrush_kernels::Context;
use onrush_kernels::graph::widened;
use onrush_wire::Diagnostic;
use onrush_wire::graph::GraphCall;

use crate::arguments::{Arguments, Columns, counts, floats, scalar};
use crate::calls::centrality::{betweenness_options, with_hits, with_pagerank};
use crate::calls::{batch, check_exact, communities, layouts, pairs, paths};
use crate::error::diagnose;
use crate::index::Index;
use crate::numbering::MISSING;

/// The reason for which a call on a device has no result.
#[derive(Debug)]
pub enum DeviceCallError {
    /// For the user.
    Call(Diagnostic),
    /// The graph has more arcs than a device numbers: the host has to run the call.
    TooManyArcs,
    /// An error of the device or of the compiler of CUDA kernels.
    Device(onrush_kernels::Error),
}

impl From<Diagnostic> for DeviceCallError {
    fn from(error: Diagnostic) -> Self {
        DeviceCallError::Call(error)
    }
}

impl From<DeviceError> for DeviceCallError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Graph(error) if error.kind == ErrorKind::TooManyArcs => DeviceCallError::TooManyArcs,
            DeviceError::Graph(error) => DeviceCallError::Call(diagnose(&error)),
            DeviceError::Kernels(error) => DeviceCallError::Device(error),
        }
    }
}

/// Algorithms that a device runs, with the parameters that they take there. Others run on the host.
const DEVICE_PARAMETERS: &[(&str, &[&str])] = &[
    ("pagerank", &["alpha", "max_iter", "tol", "personalization", "nstart", "dangling"]),
    ("hits", &["max_iter", "tol", "nstart", "normalized"]),
    ("bfs", &["source", "depth_limit"]),
    ("single_source_dijkstra", &["source", "cutoff"]),
    ("connected_components", &[]),
    ("weakly_connected_components", &[]),
    ("number_connected_components", &[]),
    ("triangles", &[]),
    ("clustering", &[]),
    ("transitivity", &[]),
    ("core_number", &[]),
    ("betweenness_centrality", &["k", "seed", "normalized", "endpoints"]),
    ("common_neighbors", &["pairs", "top"]),
    ("jaccard_coefficient", &["pairs", "top"]),
    ("overlap", &["pairs", "top"]),
    ("sorensen", &["pairs", "top"]),
    ("cosine", &["pairs", "top"]),
    ("adamic_adar_index", &["pairs", "top"]),
    ("resource_allocation_index", &["pairs", "top"]),
    ("preferential_attachment", &["pairs", "top"]),
    (
        "forceatlas2_layout",
        &[
            "max_iter",
            "jitter_tolerance",
            "scaling_ratio",
            "gravity",
            "distributed_action",
            "strong_gravity",
            "linlog",
            "seed",
            "pos",
        ],
    ),
    ("louvain_communities", &["resolution", "threshold", "max_level", "seed"]),
    ("leiden_communities", &["resolution", "max_level", "seed"]),
];

/// Whether a device runs a call.
pub fn runs_on_device(call: &GraphCall) -> bool {
    let given = call.params.iter().map(|(name, _)| name).chain(call.frames.iter().map(|(name, _)| name));
    let taken = DEVICE_PARAMETERS.iter().find(|(name, _)| *name == call.algorithm);
    // Without pairs the host walks over all pairs at distance 2.
    let is_complete = taken.is_some_and(|(_, names)| !names.contains(&"pairs") || !call.frames.is_empty());
    is_complete && taken.is_some_and(|(_, names)| given.into_iter().all(|name| names.contains(&name.as_str())))
}

/// A result, and those of its columns that are on the device too: 64 bits a row, in the type of the column.
pub struct DeviceResult {
    pub batch: RecordBatch,
    /// Positions of columns, and their values.
    pub resident: Vec<(usize, Buffer)>,
}

/// The result of a call for which [`runs_on_device`] holds. `graph` is the graph of the index on the device.
///
/// # Errors
/// Errors of [`crate::call`], and errors of the device.
pub fn call_on_device(
    index: &Index,
    graph: &DeviceGraph,
    call: &GraphCall,
    frames: &[(String, RecordBatch)],
    context: &Context,
    run: &Run<'_>,
) -> Result<DeviceResult, DeviceCallError> {
    let args = Arguments::new(index, call, frames, run)?;
    check_exact(&args)?;
    let kept = RefCell::new(Vec::new());
    let columns = columns(&args, graph, context, &kept)?;
    let position = |name: &String| columns.iter().position(|(column, _)| column == name);
    let resident = kept.into_inner().into_iter().filter_map(|(name, values)| Some((position(&name)?, values)));
    let resident = resident.collect();
    Ok(DeviceResult { batch: batch(columns)?, resident })
}

/// Columns of a result that stay on the device, by name.
type BufferCache = RefCell<Vec<(String, Buffer)>>;

/// Values as a column of the result that stays on the device.
fn floats_of(
    name: &str,
    values: DeviceValues<f64>,
    context: &Context,
    kept: &BufferCache,
) -> Result<ArrayRef, DeviceError> {
    let array = floats(values.download(context)?);
    kept.borrow_mut().push((name.to_string(), values.into_buffer()));
    Ok(array)
}

/// Counts of 64 bits as a column of the result that stays on the device.
fn counts_of(
    name: &str,
    values: DeviceValues<u64>,
    context: &Context,
    kept: &BufferCache,
) -> Result<ArrayRef, DeviceError> {
    let array = counts(values.download(context)?);
    kept.borrow_mut().push((name.to_string(), values.into_buffer()));
    Ok(array)
}

fn columns(
    args: &Arguments<'_>,
    graph: &DeviceGraph,
    context: &Context,
    kept: &BufferCache,
) -> Result<Columns, DeviceCallError> {
    let run = args.run;
    let error = |error: DeviceError| match error {
        // The device does not keep the numbers of edges: the host finds the edge again.
        DeviceError::Graph(error) if error.kind == ErrorKind::Weight && error.edge.is_none() => {
            let edge = args.graph().check_positive(&args.call.algorithm).err().and_then(|found| found.edge);
            let message = match edge {
                Some(edge) => error.message.replacen("an edge", &format!("edge {edge}"), 1),
                None => error.message.clone(),
            };
            DeviceCallError::Call(args.failed(&onrush_graph::Error { edge, message, ..error }))
        }
        DeviceError::Graph(error) if error.kind != ErrorKind::TooManyArcs => DeviceCallError::Call(args.failed(&error)),
        error => error.into(),
    };
    let name = args.call.algorithm.as_str();
    // A row for each node with one value, which stays on the device.
    let floats_by_node = |values: DeviceValues<f64>| -> Result<Columns, DeviceCallError> {
        Ok(args.one(name, floats_of(name, values, context, kept)?))
    };
    let labels_by_node = |name: &str, values: &DeviceValues<u32>| -> Result<Columns, DeviceCallError> {
        let array = counts(values.download(context)?);
        let wide = widened(context, values.buffer(), values.len() as u64).map_err(DeviceCallError::Device)?;
        context.stream.synchronize().map_err(|e| DeviceCallError::Device(e.into()))?;
        kept.borrow_mut().push((name.to_string(), wide));
        Ok(args.one(name, array))
    };
    Ok(match name {
        "pagerank" => {
            let ranks = with_pagerank(args, |options| device::link_analysis::pagerank(graph, options, context, run))?;
            floats_by_node(ranks.map_err(error)?)?
        }
        "hits" => {
            let found = with_hits(args, |options| device::link_analysis::hits(graph, options, context, run))?;
            let (hubs, authorities) = found.map_err(error)?;
            let hubs = floats_of("hubs", hubs, context, kept)?;
            args.by_node(vec![("hubs", hubs), ("authorities", floats_of("authorities", authorities, context, kept)?)])
        }
        "bfs" => {
            let limit = paths::hops(args, "depth_limit")?;
            let found = device::traversal::bfs(graph, args.node("source")?, limit, context, run).map_err(error)?;
            let (distance, before) = (found.distance.download(context)?, found.predecessor.download(context)?);
            paths::reached(args, &distance, |d| *d != MISSING, |d| counts(d.to_vec()), Some(&before))?
        }
        "single_source_dijkstra" => {
            let (source, cutoff) = (args.node("source")?, args.get("cutoff")?);
            let found = device::shortest_paths::single_source_dijkstra(graph, source, cutoff, context, run);
            let found = found.map_err(error)?;
            let (distance, before) = (found.distance.download(context)?, found.predecessor.download(context)?);
            args.index.check_sums(&distance)?;
            paths::reached(args, &distance, |d| d.is_finite(), |d| floats(d.to_vec()), Some(&before))?
        }
        "connected_components" => {
            let found = device::components::connected_components(graph, context, run).map_err(error)?;
            labels_by_node("component", &found.component)?
        }
        "weakly_connected_components" => {
            let found = device::components::weakly_connected_components(graph, context, run).map_err(error)?;
            labels_by_node("component", &found.component)?
        }
        "number_connected_components" => {
            let found = device::components::connected_components(graph, context, run).map_err(error)?;
            scalar(name, counts(vec![found.count() as u64]))
        }
        "triangles" => {
            let found = device::cluster::triangles(graph, context, run).map_err(error)?;
            args.one(name, counts_of(name, found, context, kept)?)
        }
        "clustering" => floats_by_node(device::cluster::clustering(graph, false, context, run).map_err(error)?)?,
        "transitivity" => {
            scalar(name, floats(vec![device::cluster::transitivity(graph, context, run).map_err(error)?]))
        }
        "core_number" => labels_by_node(name, &device::cores::core_number(graph, context, run).map_err(error)?)?,
        "louvain_communities" => {
            let options = communities::louvain_options(args)?;
            let found = device::community::louvain_communities(graph, &options, context, run).map_err(error)?;
            labels_by_node("community", &found)?
        }
        "leiden_communities" => {
            let options = communities::leiden_options(args)?;
            let found = device::community::leiden_communities(graph, &options, context, run).map_err(error)?;
            labels_by_node("community", &found)?
        }
        "betweenness_centrality" => {
            let options = betweenness_options(args)?;
            let found = device::betweenness::betweenness_centrality(graph, &options, context, run).map_err(error)?;
            floats_by_node(found)?
        }
        "forceatlas2_layout" => {
            let (pos, options) = (args.points("pos")?, layouts::force_atlas_options(args)?);
            let found = device::layout::forceatlas2_layout(graph, &options, pos.as_deref(), context, run);
            layouts::positions(args, &found.map_err(error)?.download(context)?)
        }
        _ => {
            let score = match name {
                "common_neighbors" => device::similarity::common_neighbors,
                "jaccard_coefficient" => device::similarity::jaccard_coefficient,
                "overlap" => device::similarity::overlap,
                "sorensen" => device::similarity::sorensen,
                "cosine" => device::similarity::cosine,
                "adamic_adar_index" => device::similarity::adamic_adar_index,
                "resource_allocation_index" => device::similarity::resource_allocation_index,
                "preferential_attachment" => device::similarity::preferential_attachment,
                other => return Err(crate::error::internal(format!("no device runs `{other}`")).into()),
            };
            let pairs = args.pairs("pairs")?.unwrap_or_default();
            let values = score(graph, &pairs, context, run).map_err(error)?.download(context)?;
            pairs::result(args, &Scores { pairs, values })?
        }
    })
}
