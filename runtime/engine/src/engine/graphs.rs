//! Graphs: the ids at the ends of edges become numbers of nodes, and results of algorithms become frames with the ids.
//!
//! The algorithms are in `runtime/graph`. The numbers and rows of a graph (its index) are kept for the next calls, by the key of the
//! frame and the columns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{CastOptions, cast, cast_with_options, concat, take};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use arrow::row::{RowConverter, SortField};
use onrush_expr::check::{self, type_name};
use onrush_expr::error::internal;
use onrush_expr::types;
use onrush_frame::{Table, TaskHandle};
use onrush_graph::{Error, Run, betweenness, closeness, cluster, community, components, cores, dag, degree};
use onrush_graph::{
    distance_measures, eigenvector, layout, link_analysis, shortest_paths, similarity, traversal, tree,
};
use onrush_logical::key;
use onrush_logical::ops::Inputs;
use onrush_wire::graph::{GraphCall, GraphSpec};
use onrush_wire::plan::Op;
use onrush_wire::{Class, Diagnostic, Expr, FrameId, Span, Value};
use rayon::prelude::*;

use super::{Engine, Frame, placed, resident};

/// A graph whose nodes have numbers.
pub(super) struct Index {
    graph: onrush_graph::Graph,
    /// The id of each node, in ascending order.
    ids: ArrayRef,
    /// The nodes at both ends of each edge.
    ends: [Vec<u32>; 2],
}

impl Index {
    /// About: rows in both directions, the distinct pairs, ends, weights and ids.
    fn bytes(&self) -> u64 {
        let edges = self.graph.edges() as u64;
        let weights = if self.graph.is_weighted() { 3 * 8 * edges } else { 0 };
        48 * edges + weights + 32 * self.graph.nodes() as u64 + self.ids.get_array_memory_size() as u64
    }
}

/// Indexes that were used last, with their keys.
#[derive(Default)]
pub(super) struct Indexes(Mutex<Vec<(u128, Arc<Index>)>>);

/// Indexes that are kept.
const KEPT: usize = 4;

impl Indexes {
    fn get(&self, key: u128) -> Option<Arc<Index>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(known, _)| *known == key)?;
        let found = all.remove(at);
        all.push(found.clone());
        Some(found.1)
    }

    /// Keeps an index, and as many of the others as fit into `most` bytes with it.
    fn put(&self, key: u128, index: &Arc<Index>, most: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(known, _)| *known != key);
        all.push((key, Arc::clone(index)));
        let bytes = |all: &[(u128, Arc<Index>)]| all.iter().map(|(_, index)| index.bytes()).sum::<u64>();
        while !all.is_empty() && (all.len() > KEPT || bytes(&all) > most) {
            all.remove(0);
        }
    }

    /// Bytes of all indexes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(_, index)| index.bytes()).sum()
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Engine {
    /// The result of an algorithm, computed at once.
    pub(super) fn graph_step(
        &self,
        input: FrameId,
        spec: &GraphSpec,
        call: &GraphCall,
        (key, at): (u128, Option<&Span>),
        task: &TaskHandle,
    ) -> Result<Frame, Diagnostic> {
        let work = || {
            let frame = self.frame(input)?;
            let index_key = key::hash(|h| {
                use std::hash::Hash;
                let GraphSpec { source, target, directed, weight } = spec;
                ("graph", frame.key, source, target, directed, weight).hash(h);
            });
            let index = match self.graphs.get(index_key) {
                Some(index) => index,
                None => {
                    let index = Arc::new(self.index(input, spec, task)?);
                    self.graphs.put(index_key, &index, self.memory_limit() / 8);
                    index
                }
            };
            task.stage(call.algorithm.clone());
            let stopped = || task.cancelled();
            let stage = |text: String| task.stage(text);
            let steps = |done: u64, of: u64| task.set_steps(done, of);
            let run = Run { is_stopped: &stopped, stage: &stage, steps: &steps };
            let columns = self.on_learners(|| columns(&index, call, &run));
            if task.cancelled() {
                return Err(onrush_frame::Cancelled.into());
            }
            let columns = columns?;
            let fields: Vec<Field> =
                columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
            let schema = Arc::new(Schema::new(fields));
            let arrays = columns.into_iter().map(|(_, array)| array).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|e| internal(&e.to_string()))?;
            resident(key, call.algorithm.clone(), Arc::new(Table::new(schema, vec![batch])))
        };
        work().map_err(|d| placed(d, at))
    }

    /// Reads the edges and numbers their ends.
    fn index(&self, input: FrameId, spec: &GraphSpec, task: &TaskHandle) -> Result<Index, Diagnostic> {
        const NAMES: [&str; 3] = ["__onrush_source", "__onrush_target", "__onrush_edge_weight"];
        let columns = [Some(&spec.source), Some(&spec.target), spec.weight.as_ref()];
        let named = columns.into_iter().flatten().zip(NAMES);
        let exprs = named.map(|(column, name)| Expr::column(column.as_str()).alias(name)).collect();
        let table = self.run_op(&Op::Select { input, exprs }, task)?;
        task.stage("number the nodes");
        let whole = |position: usize| table.column(position).map_err(|e| internal(&e.to_string()));
        let (source, target) = (ids(&whole(0)?)?, ids(&whole(1)?)?);
        if source.data_type() != target.data_type() {
            let (a, b) = (type_name(source.data_type()), type_name(target.data_type()));
            let message = format!(
                "`{}` is `{a}` and `{}` is `{b}`: both ends of an edge need one type",
                spec.source, spec.target
            );
            return Err(check::plan_error("type-mismatch", message).help("`cast` one of the columns"));
        }
        let weight = match &spec.weight {
            Some(name) => Some(weights(name, &whole(2)?)?),
            None => None,
        };
        // Only rows with both ends are edges. An id that occurs in none of them does not become a node.
        let kept: Vec<usize> = (0..source.len()).filter(|row| source.is_valid(*row) && target.is_valid(*row)).collect();
        let rows = UInt32Array::from_iter_values(kept.iter().map(|row| *row as u32));
        let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
        let ends = match kept.len() == source.len() {
            true => concat(&[source.as_ref(), target.as_ref()]).map_err(broken)?,
            false => {
                let (from, to) =
                    (take(&source, &rows, None).map_err(broken)?, take(&target, &rows, None).map_err(broken)?);
                concat(&[from.as_ref(), to.as_ref()]).map_err(broken)?
            }
        };
        if task.cancelled() {
            return Err(onrush_frame::Cancelled.into());
        }
        let (codes, ids) = self.on_learners(|| numbered(&ends))?;
        let (from, to) = codes.split_at(kept.len());
        let weight = match (weight, &spec.weight) {
            (Some(values), Some(name)) => {
                let values: Vec<f64> = kept.iter().map(|edge| values[*edge]).collect();
                if let Some(edge) = values.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
                    let found = match values[edge] {
                        value if value.is_nan() => "null".to_string(),
                        value => value.to_string(),
                    };
                    let message = format!("the weight `{name}` is {found} in row {}", kept[edge]);
                    return Err(check::plan_error(
                        "weight",
                        format!("{message}: expected finite numbers of at least 0"),
                    )
                    .help("`drop_nulls_in` and `filter_edges` leave such edges out"));
                }
                Some(values)
            }
            _ => None,
        };
        let ends = [from.to_vec(), to.to_vec()];
        let graph = self
            .on_learners(|| onrush_graph::Graph::new(spec.directed, ids.len() as u32, &ends[0], &ends[1], weight))
            .map_err(|e| diagnose(&e))?;
        Ok(Index { graph, ids, ends })
    }
}

/// The number of an id that is null, and of a node that was not reached.
const MISSING: u32 = traversal::NONE;

/// Ids in a type that can be compared: integers as 64 bits, strings as views.
fn ids(array: &ArrayRef) -> Result<ArrayRef, Diagnostic> {
    let dtype = match array.data_type() {
        dtype if types::is_string(dtype) => DataType::Utf8View,
        DataType::UInt64 => DataType::UInt64,
        dtype if dtype.is_integer() => DataType::Int64,
        dtype => dtype.clone(),
    };
    cast(array, &dtype).map_err(|e| internal(&e.to_string()))
}

/// Weights as f64; null is NaN.
fn weights(name: &str, array: &ArrayRef) -> Result<Vec<f64>, Diagnostic> {
    if !types::is_number(array.data_type()) && !types::is_decimal(array.data_type()) {
        let message = format!("the weight `{name}` is `{}`, expected numbers", type_name(array.data_type()));
        return Err(check::plan_error("type-mismatch", message));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let values = cast_with_options(array, &DataType::Float64, &options).map_err(|e| internal(&e.to_string()))?;
    Ok(values.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// The number of each id, in ascending order of the ids, and the ids. Nulls have none.
fn numbered(array: &ArrayRef) -> Result<(Vec<u32>, ArrayRef), Diagnostic> {
    let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
    let too_many = || Diagnostic::error(Class::Resources, "size", "a graph has at most 4,294,967,294 nodes");
    if array.data_type() == &DataType::Int64 {
        let values = array.as_primitive::<Int64Type>();
        let mut sorted: Vec<i64> = values.iter().flatten().collect();
        sorted.par_sort_unstable();
        sorted.dedup();
        if sorted.len() >= MISSING as usize {
            return Err(too_many());
        }
        let (first, last) = (sorted.first().copied().unwrap_or(0), sorted.last().copied().unwrap_or(0));
        // Most ids lie close together.
        let span = last.checked_sub(first).and_then(|span| usize::try_from(span).ok());
        let table = span.filter(|span| *span <= 8 * sorted.len() + 1024).map(|span| {
            let mut table = vec![MISSING; span + 1];
            sorted.iter().enumerate().for_each(|(code, id)| table[(id - first) as usize] = code as u32);
            table
        });
        let code = |id: i64| match &table {
            Some(table) => table[(id - first) as usize],
            None => sorted.partition_point(|other| *other < id) as u32,
        };
        let codes = (0..values.len()).into_par_iter().with_min_len(1 << 14);
        let codes = codes.map(|row| if values.is_valid(row) { code(values.value(row)) } else { MISSING }).collect();
        return Ok((codes, Arc::new(Int64Array::from(sorted))));
    }
    let converter = RowConverter::new(vec![SortField::new(array.data_type().clone())]).map_err(|_| {
        let message = format!("`{}` cannot be an id of a node", type_name(array.data_type()));
        check::plan_error("type-mismatch", message)
    })?;
    let rows = converter.convert_columns(&[Arc::clone(array)]).map_err(broken)?;
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let mut first: Vec<u32> = Vec::new();
    let mut codes = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        codes.push(match array.is_valid(row) {
            false => MISSING,
            true => *known.entry(rows.row(row).data()).or_insert_with(|| {
                first.push(row as u32);
                first.len() as u32 - 1
            }),
        });
    }
    let mut order: Vec<u32> = (0..first.len() as u32).collect();
    order
        .par_sort_unstable_by(|a, b| rows.row(first[*a as usize] as usize).cmp(&rows.row(first[*b as usize] as usize)));
    let mut rank = vec![0; first.len()];
    order.iter().enumerate().for_each(|(position, code)| rank[*code as usize] = position as u32);
    codes.iter_mut().filter(|code| **code != MISSING).for_each(|code| *code = rank[*code as usize]);
    let firsts = UInt32Array::from_iter_values(order.iter().map(|code| first[*code as usize]));
    Ok((codes, take(array, &firsts, None).map_err(broken)?))
}

/// An error of an algorithm for the user.
fn diagnose(error: &Error) -> Diagnostic {
    let mut diagnostic = check::plan_error(error.code, error.message.clone());
    for help in &error.help {
        diagnostic = diagnostic.help(help.clone());
    }
    diagnostic
}

/// An id as it is shown in messages.
fn shown(value: &Value) -> String {
    let text = onrush_frame::array_from_value(value)
        .ok()
        .and_then(|array| arrow::util::display::array_value_to_string(&array, 0).ok());
    text.unwrap_or_default()
}

/// The number of the node that a parameter names.
fn node(index: &Index, call: &GraphCall, name: &str) -> Result<u32, Diagnostic> {
    let value = call.param(name).ok_or_else(|| internal("a node is missing"))?;
    // A number that the type of the ids cannot represent exactly cannot be an id.
    let wanted = onrush_frame::array_from_value(value).and_then(|array| {
        let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
        let wanted = cast(&array, index.ids.data_type()).map_err(broken)?;
        let back = cast(&wanted, array.data_type()).map_err(broken)?;
        if back == array { Ok(wanted) } else { Err(internal("another value")) }
    });
    let converter = RowConverter::new(vec![SortField::new(index.ids.data_type().clone())]);
    let found = match (wanted, converter) {
        (Ok(wanted), Ok(converter)) if wanted.is_valid(0) => {
            let rows = converter.convert_columns(&[Arc::clone(&index.ids)]).map_err(|e| internal(&e.to_string()))?;
            let own = converter.convert_columns(&[wanted]).map_err(|e| internal(&e.to_string()))?;
            let (mut low, mut high) = (0, index.ids.len());
            while low < high {
                let middle = low.midpoint(high);
                if rows.row(middle) < own.row(0) { low = middle + 1 } else { high = middle }
            }
            (low < index.ids.len() && rows.row(low) == own.row(0)).then_some(low as u32)
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let error = check::plan_error("unknown-node", format!("no node `{}`", shown(value)));
        let names: Vec<String> =
            (0..index.ids.len().min(100_000)).map(|row| shown(&onrush_frame::value_at(&index.ids, row))).collect();
        match check::nearest(&shown(value), names.iter().map(String::as_str)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.note(format!("the graph has {} nodes", index.ids.len())),
        }
    })
}

type Columns = Vec<(&'static str, ArrayRef)>;

fn floats(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

fn counts<T: Into<u64>>(values: Vec<T>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.into_iter().map(|value| value.into() as i64)))
}

/// Ids of nodes by their numbers; none for [`MISSING`].
fn ids_of(index: &Index, nodes: impl IntoIterator<Item = u32>) -> Result<ArrayRef, Diagnostic> {
    let nodes = UInt32Array::from_iter(nodes.into_iter().map(|node| (node != MISSING).then_some(node)));
    take(&index.ids, &nodes, None).map_err(|e| internal(&e.to_string()))
}

/// The columns of a result.
fn columns(index: &Index, call: &GraphCall, run: &Run<'_>) -> Result<Columns, Diagnostic> {
    let graph = &index.graph;
    let name = call.algorithm.as_str();
    let error = |e: Error| diagnose(&e);
    let float = |name: &str, default: f64| call.float(name).unwrap_or(default);
    let count = |name: &str, default: usize| call.count(name).unwrap_or(default);
    let by_node = |columns: Columns| -> Result<Columns, Diagnostic> {
        Ok(std::iter::once(("node", Arc::clone(&index.ids))).chain(columns).collect())
    };
    let one = |name: &'static str, values: ArrayRef| by_node(vec![(name, values)]);
    match name {
        "nodes" | "degree" => one("degree", counts(degree::degree(graph))),
        "in_degree" => one("in_degree", counts(degree::in_degree(graph))),
        "out_degree" => one("out_degree", counts(degree::out_degree(graph))),
        "degree_centrality" => one("degree_centrality", floats(degree::degree_centrality(graph))),
        "density" => Ok(vec![("density", floats(vec![degree::density(graph)]))]),
        "pagerank" => {
            let default = link_analysis::PageRank::default();
            let options = link_analysis::PageRank {
                alpha: float("alpha", default.alpha),
                max_iter: count("max_iter", default.max_iter),
                tol: float("tol", default.tol),
                ..default
            };
            one("pagerank", floats(link_analysis::pagerank(graph, &options, run).map_err(error)?))
        }
        "hits" => {
            let default = link_analysis::Hits::default();
            let options = link_analysis::Hits {
                max_iter: count("max_iter", default.max_iter),
                tol: float("tol", default.tol),
                ..default
            };
            let (hubs, authorities) = link_analysis::hits(graph, &options, run).map_err(error)?;
            by_node(vec![("hubs", floats(hubs)), ("authorities", floats(authorities))])
        }
        "eigenvector_centrality" => {
            let default = eigenvector::Eigenvector::default();
            let options = eigenvector::Eigenvector {
                max_iter: count("max_iter", default.max_iter),
                tol: float("tol", default.tol),
                ..default
            };
            let values = eigenvector::eigenvector_centrality(graph, &options, run).map_err(error)?;
            one("eigenvector_centrality", floats(values))
        }
        "katz_centrality" => {
            let default = eigenvector::Katz::default();
            let options = eigenvector::Katz {
                alpha: float("alpha", default.alpha),
                max_iter: count("max_iter", default.max_iter),
                tol: float("tol", default.tol),
                ..default
            };
            one("katz_centrality", floats(eigenvector::katz_centrality(graph, &options, run).map_err(error)?))
        }
        "connected_components" | "weakly_connected_components" | "strongly_connected_components" => {
            let found = match name {
                "connected_components" => components::connected_components(graph, run),
                "weakly_connected_components" => components::weakly_connected_components(graph, run),
                _ => components::strongly_connected_components(graph, run),
            };
            one("component", counts(found.map_err(error)?.component))
        }
        "number_connected_components" => {
            let found = components::connected_components(graph, run).map_err(error)?;
            Ok(vec![("number_connected_components", counts(vec![found.count() as u64]))])
        }
        "is_connected" => {
            let found = components::is_connected(graph, run).map_err(error)?;
            Ok(vec![("is_connected", Arc::new(BooleanArray::from(vec![found])))])
        }
        "triangles" => one("triangles", counts(cluster::triangles(graph, run).map_err(error)?)),
        "clustering" => one("clustering", floats(cluster::clustering(graph, false, run).map_err(error)?)),
        "average_clustering" => {
            let found = cluster::average_clustering(graph, false, true, run).map_err(error)?;
            Ok(vec![("average_clustering", floats(vec![found]))])
        }
        "transitivity" => Ok(vec![("transitivity", floats(vec![cluster::transitivity(graph, run).map_err(error)?]))]),
        "core_number" => one("core_number", counts(cores::core_number(graph, run).map_err(error)?)),
        "louvain_communities" | "leiden_communities" => {
            let options = community::CommunityOptions {
                resolution: float("resolution", 1.0),
                seed: count("seed", 0) as u64,
                ..community::CommunityOptions::default()
            };
            let found = match name {
                "louvain_communities" => community::louvain_communities(graph, &options, run),
                _ => community::leiden_communities(graph, &options, run),
            };
            one("community", counts(found.map_err(error)?))
        }
        "label_propagation_communities" => {
            one("community", counts(community::label_propagation_communities(graph, run).map_err(error)?))
        }
        "betweenness_centrality" => {
            let sources = match call.count("k") {
                Some(k) => betweenness::Sources::Sample { k: k.min(graph.nodes()), seed: count("seed", 0) as u64 },
                None => betweenness::Sources::All,
            };
            let options = betweenness::BetweennessOptions { sources, ..betweenness::BetweennessOptions::default() };
            let found = betweenness::betweenness_centrality(graph, &options, run).map_err(error)?;
            one("betweenness_centrality", floats(found))
        }
        "closeness_centrality" => {
            let found = closeness::closeness_centrality(graph, false, true, run).map_err(error)?;
            one("closeness_centrality", floats(found))
        }
        "harmonic_centrality" => {
            one("harmonic_centrality", floats(closeness::harmonic_centrality(graph, false, run).map_err(error)?))
        }
        "topological_sort" => {
            let order = dag::topological_sort(graph, run).map_err(error)?;
            let steps = counts((0..order.len() as u64).collect::<Vec<u64>>());
            Ok(vec![("position", steps), ("node", ids_of(index, order)?)])
        }
        "diameter" => {
            let found = distance_measures::diameter(graph, run).map_err(error)?;
            Ok(vec![("diameter", counts(vec![found]))])
        }
        _ => pairs_and_positions(index, call, run),
    }
}

/// The columns of edges, of pairs of nodes and of layouts.
fn pairs_and_positions(index: &Index, call: &GraphCall, run: &Run<'_>) -> Result<Columns, Diagnostic> {
    let graph = &index.graph;
    let error = |e: Error| diagnose(&e);
    let count = |name: &str, default: usize| call.count(name).unwrap_or(default);
    let float = |name: &str, default: f64| call.float(name).unwrap_or(default);
    let seed = count("seed", 0) as u64;
    let placed = |points: Vec<[f64; 2]>| -> Result<Columns, Diagnostic> {
        let axis = |k: usize| floats(points.iter().map(|point| point[k]).collect());
        Ok(vec![("node", Arc::clone(&index.ids)), ("x", axis(0)), ("y", axis(1))])
    };
    match call.algorithm.as_str() {
        "minimum_spanning_edges" => {
            let edges = tree::minimum_spanning_edges(graph, run).map_err(error)?;
            let end = |ends: &[u32]| ids_of(index, edges.iter().map(|edge| ends[*edge as usize]));
            let mut columns = vec![("source", end(&index.ends[0])?), ("target", end(&index.ends[1])?)];
            if let Some(weights) = graph.edge_weights() {
                columns.push(("weight", floats(edges.iter().map(|edge| weights[*edge as usize]).collect())));
            }
            Ok(columns)
        }
        "jaccard_coefficient" => {
            let found = similarity::jaccard_coefficient(graph, None, run).map_err(error)?;
            Ok(vec![
                ("node_1", ids_of(index, found.pairs.iter().map(|pair| pair.0))?),
                ("node_2", ids_of(index, found.pairs.iter().map(|pair| pair.1))?),
                ("jaccard_coefficient", floats(found.values)),
            ])
        }
        "circular_layout" => placed(layout::circular_layout(graph.nodes(), 1.0, [0.0, 0.0])),
        "spring_layout" => {
            let default = layout::Spring::default();
            let options = layout::Spring { iterations: count("iterations", default.iterations), seed, ..default };
            placed(layout::spring_layout(graph, &options, None, run).map_err(error)?)
        }
        "forceatlas2_layout" => {
            let default = layout::ForceAtlas2::default();
            let options = layout::ForceAtlas2 {
                max_iter: count("max_iter", default.max_iter),
                scaling_ratio: float("scaling_ratio", default.scaling_ratio),
                gravity: float("gravity", default.gravity),
                seed,
                ..default
            };
            placed(layout::forceatlas2_layout(graph, &options, None, run).map_err(error)?)
        }
        _ => paths(index, call, run),
    }
}

/// The columns of searches and paths.
fn paths(index: &Index, call: &GraphCall, run: &Run<'_>) -> Result<Columns, Diagnostic> {
    let graph = &index.graph;
    let error = |e: Error| diagnose(&e);
    let named = |name: &str| node(index, call, name);
    let path = |weighted: bool| {
        let (source, target) = (named("source")?, named("target")?);
        shortest_paths::shortest_path(graph, source, target, weighted, run)
            .map_err(|e| no_path(index, e, source, target))
    };
    let steps = |nodes: &[u32]| counts((0..nodes.len() as u64).collect::<Vec<u64>>());
    Ok(match call.algorithm.as_str() {
        "bfs" => {
            let limit = call.count("depth_limit").and_then(|limit| u32::try_from(limit).ok());
            let found = traversal::bfs(graph, named("source")?, limit, run).map_err(error)?;
            let reached = (0..graph.nodes() as u32).filter(|v| found.distance[*v as usize] != MISSING);
            let reached: Vec<u32> = reached.collect();
            let distance = reached.iter().map(|v| found.distance[*v as usize]).collect::<Vec<u32>>();
            let before = reached.iter().map(|v| found.predecessor[*v as usize]).collect::<Vec<u32>>();
            vec![
                ("node", ids_of(index, reached)?),
                ("distance", counts(distance)),
                ("predecessor", ids_of(index, before)?),
            ]
        }
        "single_source_dijkstra" => {
            let cutoff = call.float("cutoff");
            let found = shortest_paths::single_source_dijkstra(graph, named("source")?, cutoff, run).map_err(error)?;
            let reached = (0..graph.nodes() as u32).filter(|v| found.distance[*v as usize].is_finite());
            let reached: Vec<u32> = reached.collect();
            let distance = reached.iter().map(|v| found.distance[*v as usize]).collect();
            let before = reached.iter().map(|v| found.predecessor[*v as usize]).collect::<Vec<u32>>();
            vec![
                ("node", ids_of(index, reached)?),
                ("distance", floats(distance)),
                ("predecessor", ids_of(index, before)?),
            ]
        }
        "shortest_path" => {
            let found = path(false)?;
            vec![("step", steps(&found.nodes)), ("node", ids_of(index, found.nodes)?)]
        }
        "shortest_path_length" => vec![("shortest_path_length", counts(vec![path(false)?.edges.len() as u64]))],
        "dijkstra_path" => {
            let found = path(true)?;
            let distance = floats(found.distance);
            vec![("step", steps(&found.nodes)), ("node", ids_of(index, found.nodes)?), ("distance", distance)]
        }
        "dijkstra_path_length" => {
            vec![("dijkstra_path_length", floats(vec![path(true)?.distance.last().copied().unwrap_or(0.0)]))]
        }
        "has_path" => {
            let found = shortest_paths::has_path(graph, named("source")?, named("target")?, run).map_err(error)?;
            vec![("has_path", Arc::new(BooleanArray::from(vec![found])))]
        }
        other => return Err(internal(&format!("the engine knows no algorithm `{other}`"))),
    })
}

/// An unreachable target with the names of both nodes.
fn no_path(index: &Index, error: Error, source: u32, target: u32) -> Diagnostic {
    if error.code != "no_path" {
        return diagnose(&error);
    }
    let name = |node: u32| shown(&onrush_frame::value_at(&index.ids, node as usize));
    let mut diagnostic = diagnose(&error);
    diagnostic.message = format!("no path leads from `{}` to `{}`", name(source), name(target));
    diagnostic
}
