//! Graphs over frames of edges: which columns are a graph, and the table of algorithms. A call of an algorithm is a step of a plan.

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::value::Value;

/// Columns of a frame of edges as a graph. Every row is an edge; rows with a null at an end are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphSpec {
    /// The columns of the ids at the two ends: one or several.
    pub source: Vec<String>,
    pub target: Vec<String>,
    pub directed: bool,
    /// The column of the weights.
    pub weight: Option<String>,
    /// Frames whose ids are nodes too, also those without an edge.
    pub nodes: Vec<NodeIds>,
}

/// The columns of the ids in a frame of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeIds {
    pub frame: FrameId,
    pub columns: Vec<String>,
}

/// An algorithm with the parameters that were set. Nodes are given as values of the user's ids: one for each column of an id, in
/// their order, under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphCall {
    pub algorithm: String,
    pub params: Vec<(String, Value)>,
    /// Parameters that are frames.
    pub frames: Vec<(String, FrameId)>,
}

impl GraphCall {
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.params.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// All values of a parameter: the parts of an id.
    pub fn values(&self, name: &str) -> Vec<&Value> {
        self.params.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect()
    }

    /// A parameter that is a float, if it was set.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.param(name)? {
            Value::Float(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// A parameter that is a count, if it was set.
    pub fn count(&self, name: &str) -> Option<usize> {
        match self.param(name)? {
            Value::Int(value) => Some(usize::try_from(*value).unwrap_or(0)),
            _ => None,
        }
    }
}

/// What an algorithm gives: a frame, or the only value of a frame of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphResult {
    Frame,
    Float,
    Int,
    Bool,
}

/// A parameter of an algorithm. `kind` is `node` or `frame` for one that must be given, and else `Float`, `Int`, `Bool`, `Text` or
/// `Frame`. `default` is empty if a value is required, and `none` if the value is optional and has no default.
#[derive(Clone, Copy, Debug)]
pub struct GraphParam {
    pub name: &'static str,
    pub kind: &'static str,
    pub default: &'static str,
    pub doc: &'static str,
}

/// An algorithm of the table.
#[derive(Clone, Debug)]
pub struct GraphAlgorithm {
    pub name: &'static str,
    pub doc: &'static str,
    pub params: Vec<GraphParam>,
    pub result: GraphResult,
}

/// The table of algorithms, handed to a macro: names and defaults are NetworkX's.
#[macro_export]
macro_rules! graph_algorithms {
    ($then:ident) => {
        $then! {
            /// The number of edges at each node. A self-loop counts twice.
            degree Degree() {} -> Frame;
            /// The number of edges that lead to each node.
            in_degree InDegree() {} -> Frame;
            /// The number of edges that start at each node.
            out_degree OutDegree() {} -> Frame;
            /// The degree of each node divided by the number of other nodes.
            degree_centrality DegreeCentrality() {} -> Frame;
            /// The share of possible edges that there are.
            density Density() {} -> Float;
            /// The probability of being at each node of a random walk that follows edges by their weights.
            pagerank PageRank() {
                /// The probability of following an edge.
                alpha: Float = "0.85";
                /// Maximum number of iterations.
                max_iter: Int = "100";
                /// Converged if the L1 norm of the change is below this times the number of nodes.
                tol: Float = "1e-6";
                /// Where a jump leads: a frame with `node` and a column of numbers. Other nodes have 0.
                personalization: Frame = "none";
                /// The ranks to start with: a frame with `node` and a column of numbers.
                nstart: Frame = "none";
                /// Where nodes without edges out lead: a frame with `node` and a column of numbers.
                dangling: Frame = "none";
            } -> Frame;
            /// Hubs point to many authorities, and authorities are pointed to by many hubs.
            hits Hits() {
                /// Maximum number of restarts of the Lanczos iteration.
                max_iter: Int = "100";
                /// Converged if the residual of the singular vector, relative to the singular value, is at most this.
                tol: Float = "1e-8";
            } -> Frame;
            /// The centrality of a node is proportional to the sum of the centralities of its neighbors.
            eigenvector_centrality EigenvectorCentrality() {
                /// Maximum number of iterations.
                max_iter: Int = "100";
                /// Converged if the L1 norm of the change is below this times the number of nodes.
                tol: Float = "1e-6";
            } -> Frame;
            /// Centrality by the number of walks to a node, where longer ones count less.
            katz_centrality KatzCentrality() {
                /// Attenuation factor; below 1 / largest eigenvalue.
                alpha: Float = "0.1";
                /// Weight of each node's initial centrality.
                beta: Float = "1.0";
                /// Maximum number of iterations.
                max_iter: Int = "1000";
                /// Converged if the L1 norm of the change is below this times the number of nodes.
                tol: Float = "1e-6";
            } -> Frame;
            /// Nodes that can be reached from `source`: distance in hops, and predecessor on a shortest path.
            bfs Bfs(source: node) {
                /// Maximum number of hops.
                depth_limit: Int = "none";
            } -> Frame;
            /// The nodes of a shortest path by hops, step by step.
            shortest_path ShortestPath(source: node, target: node) {} -> Frame;
            /// The number of hops of a shortest path.
            shortest_path_length ShortestPathLength(source: node, target: node) {} -> Int;
            /// Whether there is a path.
            has_path HasPath(source: node, target: node) {} -> Bool;
            /// Nodes that can be reached from `source`: distance by weight, and predecessor on a shortest path.
            single_source_dijkstra SingleSourceDijkstra(source: node) {
                /// The largest distance.
                cutoff: Float = "none";
            } -> Frame;
            /// The nodes of a shortest path by weights, with their distances from the source.
            dijkstra_path DijkstraPath(source: node, target: node) {} -> Frame;
            /// The sum of the weights of a shortest path.
            dijkstra_path_length DijkstraPathLength(source: node, target: node) {} -> Float;
            /// The component of each node: numbers from 0, in the order of size, then of the smallest id.
            connected_components ConnectedComponents() {} -> Frame;
            /// The number of components.
            number_connected_components NumberConnectedComponents() {} -> Int;
            /// Whether there is a path between any two nodes.
            is_connected IsConnected() {} -> Bool;
            /// The component of each node of a directed graph, ignoring edge directions.
            weakly_connected_components WeaklyConnectedComponents() {} -> Frame;
            /// The component of each node of a directed graph: every node of it can reach every other.
            strongly_connected_components StronglyConnectedComponents() {} -> Frame;
            /// The number of triangles at each node.
            triangles Triangles() {} -> Frame;
            /// The share of pairs of neighbors that are neighbors themselves.
            clustering Clustering() {} -> Frame;
            /// The mean clustering coefficient of all nodes.
            average_clustering AverageClustering() {} -> Float;
            /// The share of paths of two edges that are closed by a third one.
            transitivity Transitivity() {} -> Float;
            /// The largest k for which a node is in the k-core, in which each node has k neighbors.
            core_number CoreNumber() {} -> Frame;
            /// Communities of high modularity by the Louvain method: numbers from 0, the largest first.
            louvain_communities LouvainCommunities() {
                /// Above 1, communities get smaller; below 1, larger.
                resolution: Float = "1.0";
                /// Seed of the node order.
                seed: Int = "0";
            } -> Frame;
            /// Communities of high modularity that are connected, by the Leiden algorithm.
            leiden_communities LeidenCommunities() {
                /// Above 1, communities get smaller; below 1, larger.
                resolution: Float = "1.0";
                /// Seed of the node order.
                seed: Int = "0";
            } -> Frame;
            /// Communities whose nodes have the label of most of their neighbors.
            label_propagation_communities LabelPropagationCommunities() {} -> Frame;
            /// How many more edges lie within communities than chance would put there.
            modularity Modularity(communities: frame) {} -> Float;
            /// The share of shortest paths between pairs of other nodes that lead through each node.
            betweenness_centrality BetweennessCentrality() {
                /// Number of source nodes to sample. Without it, all nodes.
                k: Int = "none";
                /// Seed of the sample.
                seed: Int = "0";
            } -> Frame;
            /// The inverse of the mean distance to each node from those that reach it.
            closeness_centrality ClosenessCentrality() {} -> Frame;
            /// The sum of the inverse distances to each node.
            harmonic_centrality HarmonicCentrality() {} -> Frame;
            /// Edges that connect all nodes of each component at the lowest sum of weights.
            minimum_spanning_edges MinimumSpanningEdges() {} -> Frame;
            /// The share of common neighbors among all neighbors of two nodes.
            jaccard_coefficient JaccardCoefficient() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = "none";
            } -> Frame;
            /// Positions on a circle.
            circular_layout CircularLayout() {} -> Frame;
            /// Positions by springs along edges and forces between all nodes (Fruchterman and Reingold 1991).
            spring_layout SpringLayout() {
                /// Maximum number of iterations.
                iterations: Int = "50";
                /// Seed of the positions to begin with.
                seed: Int = "0";
            } -> Frame;
            /// Positions that show communities: ForceAtlas2.
            forceatlas2_layout ForceAtlas2Layout() {
                /// Maximum number of iterations.
                max_iter: Int = "100";
                /// Factor of the forces that push nodes apart.
                scaling_ratio: Float = "2.0";
                /// Factor of the forces to the middle.
                gravity: Float = "1.0";
                /// Seed of the positions to begin with.
                seed: Int = "0";
            } -> Frame;
            /// Nodes of a directed graph without cycles in an order in which each edge points forwards.
            topological_sort TopologicalSort() {} -> Frame;
            /// The largest number of hops between two nodes.
            diameter Diameter() {} -> Int;
        }
    };
}

macro_rules! rows_of_table {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $type:ident ($($argument:ident: $argument_kind:ident),*) {
            $( $(#[doc = $param_doc:literal])* $param:ident: $kind:ident = $default:literal; )*
        } -> $result:ident;
    )*) => {
        vec![$(GraphAlgorithm {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            params: vec![
                $(GraphParam {
                    name: stringify!($argument),
                    kind: stringify!($argument_kind),
                    default: "",
                    doc: "",
                },)*
                $(GraphParam {
                    name: stringify!($param),
                    kind: stringify!($kind),
                    default: $default,
                    doc: concat!($($param_doc, "\n"),*),
                }),*
            ],
            result: GraphResult::$result,
        }),*]
    };
}

/// All algorithms.
pub fn table() -> Vec<GraphAlgorithm> {
    crate::graph_algorithms!(rows_of_table)
}
