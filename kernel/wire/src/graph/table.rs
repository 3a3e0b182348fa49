//! The table of algorithms.

/// The table of algorithms, handed to a macro: names and defaults are NetworkX's. An option without a default has
/// `none`. An algorithm with a single result and options has a second method for a call with options.
#[macro_export]
macro_rules! graph_algorithms {
    ($then:ident) => {
        $then! {
            // Degrees.
            /// The number of edges at each node. A self-loop counts twice.
            degree Degree() {} -> Frame;
            /// The number of edges that lead to each node.
            in_degree InDegree() {} -> Frame;
            /// The number of edges that start at each node.
            out_degree OutDegree() {} -> Frame;
            /// The degree of each node divided by the number of other nodes.
            degree_centrality DegreeCentrality() {} -> Frame;
            /// The in-degree of each node of a directed graph divided by the number of other nodes.
            in_degree_centrality InDegreeCentrality() {} -> Frame;
            /// The out-degree of each node of a directed graph divided by the number of other nodes.
            out_degree_centrality OutDegreeCentrality() {} -> Frame;
            /// The mean degree of the neighbors of each node. 0 of a node without edges.
            average_neighbor_degree AverageNeighborDegree() {
                /// Which neighbors in a directed graph: `in`, `out` or `in+out`.
                source: Text = "out";
                /// Which of their degrees: `in`, `out` or `in+out`.
                target: Text = "out";
                /// Whether the mean is weighted.
                weighted: Bool = false;
            } -> Frame;
            /// The correlation of the degrees at both ends of edges. NaN if all degrees are equal.
            degree_assortativity_coefficient DegreeAssortativityCoefficient() {
                /// The degree at the source in a directed graph: `in` or `out`.
                x: Text = "out";
                /// The degree at the target in a directed graph: `in` or `out`.
                y: Text = "in";
                /// Whether weights add up instead of edges.
                weighted: Bool = false;
            } -> Float, degree_assortativity_coefficient_with;
            /// The nodes without edges.
            isolates Isolates() {} -> Frame;
            /// The number of edges from a node to itself.
            number_of_selfloops NumberOfSelfloops() {} -> Int;
            /// The share of possible edges that there are.
            density Density() {} -> Float;
            /// The share of the edges of a directed graph that have an edge the other way.
            reciprocity Reciprocity() {} -> Float;
            // Ranks and centralities.
            /// The probability of being at each node of a random walk that follows edges by their weights.
            pagerank PageRank() {
                /// The probability of following an edge.
                alpha: Float = 0.85;
                /// Maximum number of iterations.
                max_iter: Int = 100;
                /// Converged if the L1 norm of the change is below this times the number of nodes.
                tol: Float = 1e-6;
                /// Where a jump leads: a frame with `node` and a column of numbers. Other nodes have 0.
                personalization: Frame = none;
                /// The ranks to start with: a frame with `node` and a column of numbers.
                nstart: Frame = none;
                /// Where nodes without edges out lead: a frame with `node` and a column of numbers.
                dangling: Frame = none;
            } -> Frame;
            /// Hubs point to many authorities, and authorities are pointed to by many hubs.
            hits Hits() {
                /// Maximum number of restarts of the Lanczos iteration.
                max_iter: Int = 100;
                /// Converged if the residual of the singular vector, relative to the singular value, is at most this.
                tol: Float = 1e-8;
                /// Authorities to start with: a frame with `node` and a column of numbers.
                nstart: Frame = none;
                /// Whether hubs and authorities each add up to 1.
                normalized: Bool = true;
            } -> Frame;
            /// The centrality of a node is proportional to the sum of the centralities of its neighbors.
            eigenvector_centrality EigenvectorCentrality() {
                /// Maximum number of iterations.
                max_iter: Int = 100;
                /// Converged if the L1 norm of the change is below this times the number of nodes.
                tol: Float = 1e-6;
                /// The vector to start with: a frame with `node` and a column of numbers.
                nstart: Frame = none;
                /// Whether a neighbor counts by the weight of the edge.
                weighted: Bool = false;
            } -> Frame;
            /// Centrality by the number of walks to a node, where longer ones count less.
            katz_centrality KatzCentrality() {
                /// Attenuation factor; below 1 / largest eigenvalue.
                alpha: Float = 0.1;
                /// Weight of each node's initial centrality.
                beta: Float = 1.0;
                /// Maximum number of iterations.
                max_iter: Int = 1000;
                /// Converged if the L1 norm of the change is below this times the number of nodes.
                tol: Float = 1e-6;
                /// The vector to start with: a frame with `node` and a column of numbers. Other nodes have 0.
                nstart: Frame = none;
                /// Whether the vector has the length 1.
                normalized: Bool = true;
                /// Whether an edge of a walk counts by its weight.
                weighted: Bool = false;
            } -> Frame;
            /// The share of shortest paths between pairs of other nodes that lead through each node.
            betweenness_centrality BetweennessCentrality() {
                /// Number of source nodes to sample. Without it, all nodes.
                k: Int = none;
                /// Whether the number of paths is divided by the number of pairs of nodes.
                normalized: Bool = true;
                /// Whether distances are sums of weights instead of hops.
                weighted: Bool = false;
                /// Whether a path counts for its ends too.
                endpoints: Bool = false;
                /// Seed of the sample.
                seed: Int = 0;
            } -> Frame;
            /// The share of shortest paths between pairs of nodes that lead through each edge: by row of the frame of
            /// edges.
            edge_betweenness_centrality EdgeBetweennessCentrality() {
                /// Number of source nodes to sample. Without it, all nodes.
                k: Int = none;
                /// Whether the number of paths is divided by the number of pairs of nodes.
                normalized: Bool = true;
                /// Whether distances are sums of weights instead of hops.
                weighted: Bool = false;
                /// Seed of the sample.
                seed: Int = 0;
            } -> Frame;
            /// The inverse of the mean distance to each node from those that reach it.
            closeness_centrality ClosenessCentrality() {
                /// Whether distances are sums of weights instead of hops.
                weighted: Bool = false;
                /// Whether it is multiplied by the share of nodes that reach the node (Wasserman and Faust 1994).
                wf_improved: Bool = true;
            } -> Frame;
            /// The sum of the inverse distances to each node.
            harmonic_centrality HarmonicCentrality() {
                /// Whether distances are sums of weights instead of hops.
                weighted: Bool = false;
            } -> Frame;
            // Searches and shortest paths.
            /// Nodes that can be reached from `source`: distance in hops, and predecessor on a shortest path.
            bfs Bfs(source: node) {
                /// Maximum number of hops.
                depth_limit: Int = none;
            } -> Frame;
            /// Nodes that can be reached from `source`, in the order of their distances in hops, with the layer.
            bfs_layers BfsLayers(source: node) {} -> Frame;
            /// The nodes whose distance from `source` is `distance` hops.
            descendants_at_distance DescendantsAtDistance(source: node, distance: int) {} -> Frame;
            /// The distance in hops of each node that can be reached from `source`.
            single_source_shortest_path_length SingleSourceShortestPathLength(source: node) {
                /// The largest distance.
                cutoff: Int = none;
            } -> Frame;
            /// The nodes of a shortest path, step by step, each with the row of the edge that leads to it.
            shortest_path ShortestPath(source: node, target: node) {
                /// Whether distances are sums of weights instead of hops.
                weighted: Bool = false;
            } -> Frame;
            /// The number of hops of a shortest path.
            shortest_path_length ShortestPathLength(source: node, target: node) {} -> Int;
            /// Whether there is a path.
            has_path HasPath(source: node, target: node) {} -> Bool;
            /// The mean distance of all pairs of nodes.
            average_shortest_path_length AverageShortestPathLength() {
                /// Whether distances are sums of weights instead of hops.
                weighted: Bool = false;
            } -> Float, average_shortest_path_length_with;
            /// Nodes that can be reached from `source`: distance by weight, and predecessor on a shortest path.
            single_source_dijkstra SingleSourceDijkstra(source: node) {
                /// The largest distance.
                cutoff: Float = none;
            } -> Frame;
            /// Nodes that can be reached from the nearest of `sources`, a frame with `node`: distance by weight,
            /// predecessor, and nearest source.
            multi_source_dijkstra MultiSourceDijkstra(sources: frame) {
                /// The largest distance.
                cutoff: Float = none;
            } -> Frame;
            /// The nodes of a shortest path by weights, with their distances from the source, and the row of the edge
            /// that leads to each.
            dijkstra_path DijkstraPath(source: node, target: node) {} -> Frame;
            /// The sum of the weights of a shortest path.
            dijkstra_path_length DijkstraPathLength(source: node, target: node) {} -> Float;
            /// As `single_source_dijkstra`; weights may be negative.
            single_source_bellman_ford SingleSourceBellmanFord(source: node) {} -> Frame;
            /// As `dijkstra_path`; weights may be negative.
            bellman_ford_path BellmanFordPath(source: node, target: node) {} -> Frame;
            /// As `dijkstra_path_length`; weights may be negative.
            bellman_ford_path_length BellmanFordPathLength(source: node, target: node) {} -> Float;
            /// Whether there is a cycle whose weights add up to less than 0.
            negative_edge_cycle NegativeEdgeCycle() {} -> Bool;
            /// The number of hops from each node to the farthest.
            eccentricity Eccentricity() {} -> Frame;
            /// The largest number of hops between two nodes.
            diameter Diameter() {} -> Int;
            /// The smallest eccentricity.
            radius Radius() {} -> Int;
            /// The nodes whose eccentricity is the radius.
            center Center() {} -> Frame;
            /// The nodes whose eccentricity is the diameter.
            periphery Periphery() {} -> Frame;
            /// Random walks from each node, as node2vec learns from: a row for each step with the walk, the step and
            /// the node.
            random_walks RandomWalks() {
                /// The most edges of a walk.
                length: Int = 10;
                /// Walks from each node.
                per_node: Int = 1;
                /// Above 1, walks return to the node before less often.
                p: Float = 1.0;
                /// Above 1, walks stay near the node before.
                q: Float = 1.0;
                /// Whether edges are chosen in proportion to their weights.
                weighted: Bool = true;
                /// The nodes where walks begin: a frame with `node`. Without it, all nodes.
                starts: Frame = none;
                /// Seed of the walks.
                seed: Int = 0;
            } -> Frame;
            // Components and orders.
            /// The component of each node: numbers from 0, in the order of size, then of the smallest id.
            connected_components ConnectedComponents() {} -> Frame;
            /// The number of components.
            number_connected_components NumberConnectedComponents() {} -> Int;
            /// Whether there is a path between any two nodes.
            is_connected IsConnected() {} -> Bool;
            /// The component of each node of a directed graph, ignoring edge directions.
            weakly_connected_components WeaklyConnectedComponents() {} -> Frame;
            /// The number of components of a directed graph, ignoring edge directions.
            number_weakly_connected_components NumberWeaklyConnectedComponents() {} -> Int;
            /// Whether there is a path between any two nodes of a directed graph, ignoring edge directions.
            is_weakly_connected IsWeaklyConnected() {} -> Bool;
            /// The component of each node of a directed graph: every node of it can reach every other.
            strongly_connected_components StronglyConnectedComponents() {} -> Frame;
            /// The number of strongly connected components of a directed graph.
            number_strongly_connected_components NumberStronglyConnectedComponents() {} -> Int;
            /// Whether every node of a directed graph can reach every other.
            is_strongly_connected IsStronglyConnected() {} -> Bool;
            /// The edges without which a component falls apart.
            bridges Bridges() {} -> Frame;
            /// The nodes without which a component falls apart.
            articulation_points ArticulationPoints() {} -> Frame;
            /// Nodes of a directed graph without cycles in an order in which each edge points forwards.
            topological_sort TopologicalSort() {} -> Frame;
            /// The generation of each node of a directed graph without cycles: edges lead to later ones, and each
            /// node is in the earliest possible one.
            topological_generations TopologicalGenerations() {} -> Frame;
            /// Whether the graph is directed and has no cycles.
            is_directed_acyclic_graph IsDirectedAcyclicGraph() {} -> Bool;
            /// The other nodes from which there is a path to `source`.
            ancestors Ancestors(source: node) {} -> Frame;
            /// The other nodes to which there is a path from `source`.
            descendants Descendants(source: node) {} -> Frame;
            /// Edges that connect all nodes of each component at the lowest sum of weights.
            minimum_spanning_edges MinimumSpanningEdges() {} -> Frame;
            /// Edges that connect all nodes of each component at the highest sum of weights.
            maximum_spanning_edges MaximumSpanningEdges() {} -> Frame;
            // Triangles, cores and communities.
            /// The number of triangles at each node.
            triangles Triangles() {} -> Frame;
            /// The share of pairs of neighbors that are neighbors themselves.
            clustering Clustering() {
                /// Whether a triangle counts by the geometric mean of its weights, relative to the largest weight.
                weighted: Bool = false;
            } -> Frame;
            /// The mean clustering coefficient of all nodes.
            average_clustering AverageClustering() {
                /// Whether a triangle counts by the geometric mean of its weights, relative to the largest weight.
                weighted: Bool = false;
                /// Whether nodes whose coefficient is 0 count.
                count_zeros: Bool = true;
            } -> Float, average_clustering_with;
            /// The share of paths of two edges that are closed by a third one.
            transitivity Transitivity() {} -> Float;
            /// The share of possible squares at each node that there are.
            square_clustering SquareClustering() {} -> Frame;
            /// The largest k for which a node is in the k-core, in which each node has k neighbors.
            core_number CoreNumber() {} -> Frame;
            /// The edges of the k-truss, in which each edge is in k - 2 triangles.
            k_truss KTruss(k: int) {} -> Frame;
            /// Communities of high modularity by the Louvain method: numbers from 0, the largest first.
            louvain_communities LouvainCommunities() {
                /// Above 1, communities get smaller; below 1, larger.
                resolution: Float = 1.0;
                /// Ends after a level that adds no more than this to the modularity.
                threshold: Float = 1e-7;
                /// The most levels. Without it, until nothing is gained.
                max_level: Int = none;
                /// Seed of the node order.
                seed: Int = 0;
            } -> Frame;
            /// Communities of high modularity that are connected, by the Leiden algorithm.
            leiden_communities LeidenCommunities() {
                /// Above 1, communities get smaller; below 1, larger.
                resolution: Float = 1.0;
                /// The most levels. Without it, until nothing is gained.
                max_level: Int = none;
                /// Seed of the node order.
                seed: Int = 0;
            } -> Frame;
            /// Communities whose nodes have the label of most of their neighbors.
            label_propagation_communities LabelPropagationCommunities() {} -> Frame;
            /// How many more edges lie within communities, a frame with `node` and `community`, than chance would put
            /// there.
            modularity Modularity(communities: frame) {
                /// Factor of the edges that chance would put there.
                resolution: Float = 1.0;
            } -> Float, modularity_with;
            /// The share of the edges that lie within communities, a frame with `node` and `community`.
            coverage Coverage(communities: frame) {} -> Float;
            /// The share of pairs of nodes that are neighbors in one community or no neighbors in two.
            performance Performance(communities: frame) {} -> Float;
            /// The weight of the edges out of each community, over the sum of the degrees in it or outside, whichever
            /// is smaller.
            conductance Conductance(communities: frame) {
                /// Whether weights add up instead of edges.
                weighted: Bool = false;
            } -> Frame;
            // Pairs of nodes.
            /// The number of neighbors that two nodes share.
            common_neighbors CommonNeighbors() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The share of common neighbors among all neighbors of two nodes.
            jaccard_coefficient JaccardCoefficient() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The common neighbors of two nodes over the neighbors of the one that has fewer.
            overlap Overlap() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The common neighbors of two nodes over the mean number of their neighbors.
            sorensen Sorensen() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The common neighbors of two nodes over the geometric mean of the numbers of their neighbors.
            cosine Cosine() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The sum of 1 / log(degree) of the common neighbors of two nodes.
            adamic_adar_index AdamicAdarIndex() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The sum of 1 / degree of the common neighbors of two nodes.
            resource_allocation_index ResourceAllocationIndex() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            /// The product of the degrees of two nodes.
            preferential_attachment PreferentialAttachment() {
                /// A frame with two nodes in each row. Without it, all pairs at distance 2.
                pairs: Frame = none;
                /// Only so many pairs, those of the highest scores. Without it, all in the order of their ids.
                top: Int = none;
            } -> Frame;
            // Layouts.
            /// Positions on a circle.
            circular_layout CircularLayout() {
                /// The largest distance from the middle along an axis.
                scale: Float = 1.0;
            } -> Frame;
            /// Positions by the eigenvectors of the Laplacian.
            spectral_layout SpectralLayout() {
                /// The largest distance from the middle along an axis.
                scale: Float = 1.0;
                /// Whether weights multiply the attraction.
                weighted: Bool = true;
            } -> Frame;
            /// Positions by springs along edges and forces between all nodes (Fruchterman and Reingold 1991).
            spring_layout SpringLayout() {
                /// The distance of nodes that the forces aim at. Without it, 1 / sqrt(number of nodes).
                k: Float = none;
                /// Maximum number of iterations.
                iterations: Int = 50;
                /// Ends when the steps of an iteration are shorter: their Euclidean norm over the number of nodes.
                threshold: Float = 1e-4;
                /// Whether weights multiply the attraction.
                weighted: Bool = true;
                /// The largest distance from the middle along an axis.
                scale: Float = 1.0;
                /// Positions to begin with: a frame with `node`, `x` and `y`, a row for each node.
                pos: Frame = none;
                /// Nodes that keep their positions: a frame with `node`.
                fixed: Frame = none;
                /// Seed of the positions to begin with.
                seed: Int = 0;
            } -> Frame;
            /// Positions that show communities: ForceAtlas2.
            forceatlas2_layout ForceAtlas2Layout() {
                /// Maximum number of iterations.
                max_iter: Int = 100;
                /// Above 1, nodes may swing more.
                jitter_tolerance: Float = 1.0;
                /// Factor of the forces that push nodes apart.
                scaling_ratio: Float = 2.0;
                /// Factor of the forces to the middle.
                gravity: Float = 1.0;
                /// Whether hubs attract less, so that they go to the border.
                distributed_action: Bool = false;
                /// Whether gravity grows with the distance.
                strong_gravity: Bool = false;
                /// Whether attraction grows with the logarithm of the distance: tighter clusters.
                linlog: Bool = false;
                /// Whether weights multiply the attraction.
                weighted: Bool = false;
                /// Positions to begin with: a frame with `node`, `x` and `y`, a row for each node.
                pos: Frame = none;
                /// Seed of the positions to begin with.
                seed: Int = 0;
            } -> Frame;
        }
    };
}
