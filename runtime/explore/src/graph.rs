//! Pictures and cards of graphs: positions of nodes, the columns that are drawn, rasters of large graphs.

mod nodes;
mod raster;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use lru::LruCache;
use onrush_engine::{Engine, Index};
use onrush_expr::diagnostics::plan_error;
use onrush_expr::error::internal;
use onrush_frame::TaskHandle;
use onrush_wire::format_integer::thousands;
use onrush_wire::visual::{
    Drawing, GraphCard, GraphCardRequest, GraphPlot, GraphPlotRequest, MAX_LINKS, MAX_NODES, NodeLink, Positions,
    VisualAsk, VisualHead, WeightRange, Window,
};
use onrush_wire::{Diagnostic, codec};
use parking_lot::Mutex;

use nodes::NodeRows;
use raster::{Canvas, raster};

/// Pictures whose positions are kept.
const KEPT: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// The width and the height of a raster, if none is given.
const RASTER: (u32, u32) = (800, 600);

/// A graph with positions.
struct GraphPositions {
    index: Arc<Index>,
    /// By node; NaN for one without a position.
    x: Vec<f64>,
    y: Vec<f64>,
    missing: usize,
}

/// Positions of pictures that were drawn last: pan and zoom of a live picture do not compute them again.
pub struct Pictures(Mutex<LruCache<Vec<u8>, Arc<GraphPositions>>>);

impl Default for Pictures {
    fn default() -> Self {
        Pictures(Mutex::new(LruCache::new(KEPT)))
    }
}

impl Pictures {
    /// The data of a picture.
    ///
    /// # Errors
    /// An unknown column, positions that are no numbers, and everything that the layout and the frames can fail with.
    pub fn plot(
        &self,
        engine: &Engine,
        request: &GraphPlotRequest,
        task: &TaskHandle,
    ) -> Result<GraphPlot, Diagnostic> {
        let placed = self.placed(engine, request, task)?;
        let index = &placed.index;
        let graph = index.graph();
        let mut notes = Vec::new();
        if placed.missing > 0 {
            notes.push(format!("{} nodes without a position left out", thousands(placed.missing as u64)));
        }
        if index.left_out > 0 {
            notes.push(format!("{} rows with a null at an end left out", thousands(index.left_out as u64)));
        }
        let most = request.max_nodes.min(MAX_NODES) as usize;
        let drawing = match graph.nodes() > most {
            true => {
                if request.nodes.is_some() {
                    NodeRows::read(engine, request, index, task)?.check(request)?;
                }
                if request.color.is_some() || request.size.is_some() || request.label.is_some() {
                    notes.push("a raster has no colour, size and label of nodes".to_string());
                }
                notes.push(format!("{} nodes are drawn as a raster", thousands(graph.nodes() as u64)));
                let (width, height) =
                    (request.style.width.unwrap_or(RASTER.0), request.style.height.unwrap_or(RASTER.1));
                let (width, height) = raster::size(width, height);
                let window = window(&placed).with_aspect(width, height);
                let (raster, _, sampled) = raster(&canvas(&placed), window, (width, height), task)?;
                notes.extend(sampled);
                Drawing::Raster(raster)
            }
            false => Drawing::Points(points(engine, request, &placed, task, &mut notes)?),
        };
        let positions = match &request.positions {
            Positions::Layout(call) => call.algorithm.clone(),
            Positions::Columns { x, y } => format!("{x}, {y}"),
        };
        Ok(GraphPlot {
            nodes: graph.nodes() as u64,
            edges: graph.edges() as u64,
            directed: graph.is_directed(),
            positions,
            drawing,
            style: request.style.clone(),
            notes,
        })
    }

    /// Answers a live picture, with the named parts of the answer: u32 in little endian.
    ///
    /// # Errors
    /// As [`Pictures::plot`], and a window without an extent.
    pub fn answer(
        &self,
        engine: &Engine,
        request: &GraphPlotRequest,
        ask: &VisualAsk,
        task: &TaskHandle,
    ) -> Result<(VisualHead, Vec<(&'static str, Vec<u8>)>), Diagnostic> {
        match ask {
            VisualAsk::Forget => {
                let key = key(request);
                self.0.lock().pop(&key);
                Ok((VisualHead::Done, Vec::new()))
            }
            VisualAsk::Raster { window, width, height } => {
                let placed = self.placed(engine, request, task)?;
                let (raster, nodes, sampled) = raster(&canvas(&placed), *window, (*width, *height), task)?;
                let bytes = |counts: &[u32]| counts.iter().flat_map(|count| count.to_le_bytes()).collect::<Vec<u8>>();
                let parts =
                    vec![("node_counts", bytes(&raster.node_counts)), ("edge_counts", bytes(&raster.edge_counts))];
                Ok((VisualHead::Raster { nodes, notes: sampled.into_iter().collect() }, parts))
            }
            _ => Err(plan_error("argument", "this is a picture of a graph, which has no such request")),
        }
    }

    /// The index and the positions, computed or kept.
    fn placed(
        &self,
        engine: &Engine,
        request: &GraphPlotRequest,
        task: &TaskHandle,
    ) -> Result<Arc<GraphPositions>, Diagnostic> {
        let key = key(request);
        let found = self.0.lock().get(&key).map(Arc::clone);
        if let Some(placed) = found {
            return Ok(placed);
        }
        let index = engine.graph_index(request.edges, &request.graph, task)?;
        let (x, y) = match &request.positions {
            Positions::Layout(call) => {
                let batch = engine.graph_call(&index, call, task)?;
                let axis = |name: &str| {
                    let column = batch.column_by_name(name).ok_or_else(|| internal("a layout has no positions"))?;
                    Ok::<_, Diagnostic>(column.as_primitive::<Float64Type>().values().to_vec())
                };
                (axis("x")?, axis("y")?)
            }
            Positions::Columns { x, y } => {
                let rows = NodeRows::read(engine, request, &index, task)?;
                (coordinates(&rows, x)?, coordinates(&rows, y)?)
            }
        };
        let missing = x.iter().zip(&y).filter(|(x, y)| !(x.is_finite() && y.is_finite())).count();
        let placed = Arc::new(GraphPositions { index, x, y, missing });
        self.0.lock().put(key, Arc::clone(&placed));
        Ok(placed)
    }
}

/// The cache key of positions: without the looks, and with the frame of nodes only if it has the positions.
fn key(request: &GraphPlotRequest) -> Vec<u8> {
    let nodes = matches!(request.positions, Positions::Columns { .. }).then_some(request.nodes);
    codec::content(&(request.edges, &request.graph, &request.positions, nodes))
}

/// A column of positions, by node.
fn coordinates(rows: &NodeRows, name: &str) -> Result<Vec<f64>, Diagnostic> {
    let column = rows.column(name)?;
    if !column.data_type().is_numeric() {
        let found = onrush_expr::diagnostics::type_name(column.data_type());
        let message = format!("the position `{name}` is `{found}`, expected numbers");
        return Err(plan_error("type-mismatch", message));
    }
    let values = cast(&column, &DataType::Float64).map_err(|e| internal(&e.to_string()))?;
    Ok(values.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

fn canvas(placed: &GraphPositions) -> Canvas<'_> {
    Canvas { x: &placed.x, y: &placed.y, ends: [&placed.index.ends().nodes[0], &placed.index.ends().nodes[1]] }
}

/// The smallest window with all nodes; one around a single place.
fn window(placed: &GraphPositions) -> Window {
    let both = placed.x.iter().zip(&placed.y).filter(|(x, y)| x.is_finite() && y.is_finite());
    let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let [x0, y0, x1, y1] =
        both.fold(start, |[x0, y0, x1, y1], (x, y)| [x0.min(*x), y0.min(*y), x1.max(*x), y1.max(*y)]);
    if x0 > x1 {
        return Window { x0: 0.0, y0: 0.0, x1: 1.0, y1: 1.0 };
    }
    // An axis on which all nodes have one place gets some extent.
    let longer = (x1 - x0).max(y1 - y0);
    let extent = if longer > 0.0 { longer } else { 1.0 };
    let around = |low: f64, high: f64| match low < high {
        true => (low, high),
        false => (low - extent / 2.0, high + extent / 2.0),
    };
    let ((x0, x1), (y0, y1)) = (around(x0, x1), around(y0, y1));
    Window { x0, y0, x1, y1 }
}

/// The nodes and links of a small graph.
fn points(
    engine: &Engine,
    request: &GraphPlotRequest,
    placed: &GraphPositions,
    task: &TaskHandle,
    notes: &mut Vec<String>,
) -> Result<NodeLink, Diagnostic> {
    let index = &placed.index;
    let graph = index.graph();
    let is_placed = |node: &u32| placed.x[*node as usize].is_finite() && placed.y[*node as usize].is_finite();
    let nodes: Vec<u32> = (0..graph.nodes() as u32).filter(is_placed).collect();
    let mut position = vec![None; graph.nodes()];
    nodes.iter().enumerate().for_each(|(at, node)| position[*node as usize] = Some(at as u32));
    let window = window(placed);
    let scale = 1.0 / (window.x1 - window.x0).max(window.y1 - window.y0);
    let degree = onrush_graph::degree::degree(graph);
    let mut picture = NodeLink {
        ids: nodes.iter().map(|node| index.label(*node)).collect(),
        x: nodes.iter().map(|node| ((placed.x[*node as usize] - window.x0) * scale) as f32).collect(),
        y: nodes.iter().map(|node| ((placed.y[*node as usize] - window.y0) * scale) as f32).collect(),
        degrees: nodes.iter().map(|node| u32::try_from(degree[*node as usize]).unwrap_or(u32::MAX)).collect(),
        ..NodeLink::default()
    };
    if request.nodes.is_some() {
        NodeRows::read(engine, request, index, task)?.fill(request, &nodes, &mut picture)?;
    }
    let weights = graph.edge_weights();
    let ends = &index.ends().nodes;
    let mut merged: HashMap<(u32, u32), f64> = HashMap::new();
    let mut order = Vec::new();
    for edge in 0..graph.edges() {
        let (from, to) = (position[ends[0][edge] as usize], position[ends[1][edge] as usize]);
        let (Some(from), Some(to)) = (from, to) else { continue };
        let pair = if graph.is_directed() { (from, to) } else { (from.min(to), from.max(to)) };
        *merged.entry(pair).or_insert_with(|| {
            order.push(pair);
            0.0
        }) += weights.map_or(1.0, |weights| weights[edge]);
    }
    if order.len() > MAX_LINKS as usize {
        notes.push(format!("{} of {} links drawn", thousands(u64::from(MAX_LINKS)), thousands(order.len() as u64)));
        order.sort_by_cached_key(|pair| raster::hash(u64::from(pair.0) << 32 | u64::from(pair.1)));
        order.truncate(MAX_LINKS as usize);
    }
    order.sort_unstable();
    picture.widths = order.iter().map(|pair| merged[pair] as f32).collect();
    picture.links = order;
    Ok(picture)
}

/// The figures of a graph's card.
///
/// # Errors
/// Everything that the frames can fail with, and ids that cannot be ordered.
pub fn graph_card(engine: &Engine, request: &GraphCardRequest, task: &TaskHandle) -> Result<GraphCard, Diagnostic> {
    let index = engine.graph_index(request.edges, &request.graph, task)?;
    let graph = index.graph();
    let (mut degree, pairs) =
        engine.on_learners(|| (onrush_graph::degree::degree(graph), graph.simple().out_rows().targets.len() as u64));
    task.check()?;
    degree.sort_unstable();
    let bucket = |degree: u64| (u64::BITS - degree.leading_zeros()) as usize;
    let mut degrees = vec![0; degree.last().map_or(0, |most| bucket(*most) + 1)];
    degree.iter().for_each(|degree| degrees[bucket(*degree)] += 1);
    let nodes = degree.len();
    let median = match nodes {
        0 => 0.0,
        nodes => (degree[(nodes - 1) / 2] + degree[nodes / 2]) as f64 / 2.0,
    };
    let (components, largest_component) = engine.graph_components(&index, task)?;
    let weight = request.graph.weight.as_ref().zip(graph.edge_weights()).filter(|(_, weights)| !weights.is_empty());
    Ok(GraphCard {
        directed: graph.is_directed(),
        source: request.graph.source.clone(),
        target: request.graph.target.clone(),
        nodes: nodes as u64,
        edges: graph.edges() as u64,
        pairs: if graph.is_directed() { pairs } else { pairs / 2 },
        self_loops: graph.number_of_selfloops() as u64,
        left_out: index.left_out as u64,
        weight: weight.map(|(column, weights)| WeightRange {
            column: column.clone(),
            min: weights.iter().copied().fold(f64::INFINITY, f64::min),
            max: weights.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }),
        density: onrush_graph::degree::density(graph),
        degree_mean: if nodes == 0 { 0.0 } else { degree.iter().sum::<u64>() as f64 / nodes as f64 },
        degree_median: median,
        degree_max: degree.last().copied().unwrap_or(0),
        degrees,
        components,
        largest_component,
        bytes: index.bytes(),
        location: "memory".to_string(),
    })
}
