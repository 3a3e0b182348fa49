//! Times algorithms on graphs on a device, next to cuGraph's figures, and checks them against the host's. It is one
//! self-contained file for a machine without Rust.
//!
//! R-MAT graphs as those of the peer: Graph500's probabilities, undirected, one edge for each pair, no self-loops,
//! weights from the ends. Times are wall times with a wait for the device, median of the runs after one to warm up.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onrush_device::{Device, Emulation, Options, Owner, compile_for};
use onrush_graph::betweenness::{self, BetweennessOptions, Sources};
use onrush_graph::community::{self, CommunityOptions};
use onrush_graph::device::index::{DeviceIndex, index};
use onrush_graph::device::link_analysis::Contributions;
use onrush_graph::device::{self, DeviceGraph, DeviceValues};
use onrush_graph::layout::{ForceAtlas2, forceatlas2_layout};
use onrush_graph::link_analysis::{Hits, PageRank};
use onrush_graph::{
    Graph, Run, cluster, components, cores, generate, link_analysis, shortest_paths, similarity, traversal,
};
use onrush_kernels::graph::build::EdgeColumns;
use onrush_kernels::{Column, Context, Library, Scalar};
use rayon::prelude::*;

type AnyError = Box<dyn std::error::Error>;

const USAGE: &str =
    "usage: onrush-graph-bench [--device cuda|emulated|checked] [--check SCALE] [--scale SCALE]... [--runs N]
       [--only NAME] [--cache FOLDER] [--also-for ARCHITECTURE]

  --device   cuda (the first GPU), emulated, or checked: emulated with a look at each access [cuda]
  --check    compare all algorithms with the host's on an R-MAT graph of 2^SCALE nodes; exit status 1 if one differs
  --scale    measure on an R-MAT graph of 2^SCALE nodes; peers' figures are for 20 and 23
  --runs     runs of each operation after the first [5]
  --only     operations whose name contains this
  --cache    keep compiled kernels there
  --also-for compile all kernels that were run for this architecture too, such as sm_90: NVRTC needs no GPU";

/// Milliseconds of libcugraph 26.10 on one H200, the most that is accepted, and the goal, by operation and scale.
const PEERS: &[(&str, u32, f64, f64, f64)] = &[
    ("build", 20, 10.1, 10.0, 3.0),
    ("pagerank", 20, 7.6, 7.6, 3.0),
    ("build and pagerank", 20, 17.7, 17.7, 6.0),
    ("bfs", 20, 1.4, 1.4, 0.5),
    ("sssp", 20, 48.0, 48.0, 8.0),
    ("components", 20, 18.8, 19.0, 1.5),
    ("hits", 20, 8.4, 8.4, 8.4),
    ("louvain", 20, 3303.0, 165.0, 60.0),
    ("leiden", 20, 530.0, 27.0, 27.0),
    ("triangles", 20, 99.0, 99.0, 12.0),
    ("core number", 20, 185.0, 185.0, 20.0),
    ("betweenness, 100 sources", 20, 821.0, 821.0, 100.0),
    ("forceatlas2, 100 iterations", 20, 1606.0, 1606.0, 200.0),
    ("build", 23, 92.6, 93.0, 20.0),
    ("pagerank", 23, 41.8, 42.0, 21.0),
    ("build and pagerank", 23, 134.4, 134.4, 41.0),
    ("bfs", 23, 2.4, 2.4, 0.8),
    ("sssp", 23, 96.0, 96.0, 16.0),
    ("components", 23, 28.4, 28.0, 4.0),
    ("hits", 23, 36.1, 36.1, 36.1),
    ("louvain", 23, 3516.0, 176.0, 100.0),
    ("leiden", 23, 3240.0, 162.0, 150.0),
    ("triangles", 23, 1724.0, 1724.0, 150.0),
    ("core number", 23, 317.0, 317.0, 35.0),
];

struct Arguments {
    device: String,
    check: Option<u32>,
    scales: Vec<u32>,
    runs: usize,
    only: String,
    cache: Option<PathBuf>,
    also_for: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        device: "cuda".into(),
        check: None,
        scales: Vec::new(),
        runs: 5,
        only: String::new(),
        cache: None,
        also_for: None,
    };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse::<u32>().map_err(|_| format!("{text} is not a number"));
        match argument.as_str() {
            "--device" => parsed.device = value()?,
            "--check" => parsed.check = Some(number(value()?)?),
            "--scale" => parsed.scales.push(number(value()?)?),
            "--runs" => parsed.runs = number(value()?)?.max(1) as usize,
            "--only" => parsed.only = value()?,
            "--cache" => parsed.cache = Some(value()?.into()),
            "--also-for" => parsed.also_for = Some(value()?),
            other => return Err(format!("{other} is not understood\n{USAGE}")),
        }
    }
    Ok(parsed)
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| run(&arguments).map_err(|error| error.to_string())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, AnyError> {
    let device = match arguments.device.as_str() {
        "cuda" => Device::cuda(0, &Options::default())?,
        name @ ("emulated" | "checked") => {
            let memory_bytes = 8 << 30;
            let emulation = Emulation { checked: name == "checked", memory_bytes, ..Emulation::default() };
            Device::emulated(&emulation, &Options::default())?
        }
        other => return Err(format!("--device {other}: one of cuda, emulated, checked").into()),
    };
    println!("{} ({})", device.properties().name, device.properties().architecture);
    let library = Library::new(&device, arguments.cache.as_deref());
    let context = Context::new(&library, &Owner::new("graphs"))?;
    let mut good = true;
    if let Some(scale) = arguments.check {
        good &= check(&context, scale)?;
    }
    for scale in &arguments.scales {
        measure(&context, *scale, arguments)?;
    }
    if let Some(architecture) = &arguments.also_for {
        for program in library.programs() {
            let entries = program.entries.join(", ");
            match compile_for(architecture, &program.source(), &program.options) {
                Ok(image) => println!("{architecture}: {entries}: {} bytes", image.len()),
                Err(error) => {
                    println!("{architecture}: {entries}: {error}");
                    good = false;
                }
            }
        }
    }
    let statistics = library.statistics();
    println!("kernels: {} compiled in {:?}", statistics.compiled, statistics.compiling);
    drop(context);
    let used = device.memory()?.used;
    if used != 0 {
        println!("{used} bytes are not freed");
    }
    Ok(good && used == 0)
}

/// Edges of an R-MAT graph, one for each pair, and their weights.
struct Edges {
    sources: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Edges {
    fn rmat(scale: u32) -> Edges {
        let (sources, targets) = generate::rmat(scale, 16, 7);
        let ends = sources.into_par_iter().zip(targets).filter(|(u, v)| u != v);
        let mut pairs: Vec<u64> = ends.map(|(u, v)| u64::from(u.min(v)) << 32 | u64::from(u.max(v))).collect();
        pairs.par_sort_unstable();
        pairs.dedup();
        let weight = |low: u64, high: u64| {
            let x = ((low * 2_654_435_761 + high * 40_503) % 1_000_003) as f32;
            f64::from(x / 1_000_003.0 + 1e-6)
        };
        Edges {
            sources: pairs.par_iter().map(|p| (p >> 32) as u32).collect(),
            targets: pairs.par_iter().map(|p| *p as u32).collect(),
            weights: pairs.par_iter().map(|p| weight(p >> 32, p & 0xffff_ffff)).collect(),
        }
    }
}

/// Columns of ids on a device.
struct OnDevice {
    sources: onrush_device::Buffer,
    targets: onrush_device::Buffer,
    weights: onrush_device::Buffer,
    rows: u64,
}

impl OnDevice {
    fn upload(context: &Context, edges: &Edges) -> Result<OnDevice, AnyError> {
        let signed = |ends: &[u32]| ends.par_iter().map(|v| *v as i32).collect::<Vec<i32>>();
        Ok(OnDevice {
            sources: context.upload(&signed(&edges.sources))?,
            targets: context.upload(&signed(&edges.targets))?,
            weights: context.upload(&edges.weights)?,
            rows: edges.sources.len() as u64,
        })
    }

    fn index(&self, context: &Context, weighted: bool) -> Result<DeviceIndex, AnyError> {
        let columns = EdgeColumns {
            sources: Column::new(Scalar::I32, &self.sources).slice(0, self.rows),
            targets: Column::new(Scalar::I32, &self.targets).slice(0, self.rows),
            weights: weighted.then(|| Column::new(Scalar::F64, &self.weights)),
            directed: false,
            with_edges: false,
        };
        Ok(index(context, &columns)?)
    }
}

/// Compares with the host's: bit for bit, ranks to 1e-12, hubs and authorities to 1e-7 of the largest.
fn check(context: &Context, scale: u32) -> Result<bool, AnyError> {
    let edges = Edges::rmat(scale);
    let on_device = OnDevice::upload(context, &edges)?;
    let weighted = on_device.index(context, true)?;
    let ids = weighted.ids.read::<i32>(0..weighted.graph.nodes(), &context.stream)?;
    let number = |v: &u32| ids.binary_search(&(*v as i32)).unwrap_or_default() as u32;
    let ends = |ends: &[u32]| ends.par_iter().map(number).collect::<Vec<u32>>();
    let (sources, targets) = (ends(&edges.sources), ends(&edges.targets));
    let host = Graph::new(false, ids.len() as u32, &sources, &targets, Some(edges.weights.clone()))?;
    let run = Run::silent();
    let mut good = true;
    let mut say = |name: &str, agrees: bool| {
        println!("{name:<28} {}", if agrees { "agrees" } else { "DIFFERS" });
        good &= agrees;
    };
    let graph = &weighted.graph;
    let rows = graph.out_rows();
    let found = rows.targets.read::<u32>(0..rows.arcs as usize, &context.stream)?;
    say("build: targets", found == host.out_rows().targets);
    let found = rows.offsets.read::<u32>(0..graph.nodes() + 1, &context.stream)?;
    say("build: offsets", found.iter().map(|o| *o as usize).eq(host.out_rows().offsets.iter().copied()));
    let plain = graph.unweighted();
    let near = |found: &[f64], expected: &[f64], tolerance: f64| {
        found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= tolerance * e.abs())
    };
    let options = PageRank { tol: 1e-12, max_iter: 500, ..PageRank::default() };
    for (name, host, graph) in [("pagerank", host.unweighted(), &plain), ("pagerank, weighted", host.clone(), graph)] {
        let expected = link_analysis::pagerank(&host, &options, &run)?;
        let found = device::link_analysis::pagerank(graph, &options, context, &run)?.download(context)?;
        say(name, near(&found, &expected, 1e-12));
        // Changes are not below the rounding of 32 bits.
        let options = PageRank { tol: 1e-8, ..options };
        let expected = link_analysis::pagerank(&host, &options, &run)?;
        let narrow = device::link_analysis::pagerank_of(graph, &options, Contributions::Narrow, context, &run)?;
        say(&format!("{name}, narrow"), near(&narrow.download(context)?, &expected, 1e-6));
    }
    let (hubs, authorities) = link_analysis::hits(&host.unweighted(), &Hits::default(), &run)?;
    let found = device::link_analysis::hits(&plain, &Hits::default(), context, &run)?;
    let close = |found: &[f64], expected: &[f64]| {
        let largest = expected.iter().copied().fold(0.0, f64::max);
        found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= 1e-7 * largest)
    };
    say("hits", close(&found.0.download(context)?, &hubs) && close(&found.1.download(context)?, &authorities));
    for source in [0, ids.len() as u32 / 2] {
        let expected = traversal::bfs(&host, source, None, &run)?;
        let found = device::traversal::bfs(graph, source, None, context, &run)?;
        say("bfs: distance", found.distance.download(context)? == expected.distance);
        say("bfs: predecessor", found.predecessor.download(context)? == expected.predecessor);
        let expected = shortest_paths::single_source_dijkstra(&host, source, None, &run)?;
        let found = device::shortest_paths::single_source_dijkstra(graph, source, None, context, &run)?;
        say("sssp: distance", found.distance.download(context)? == expected.distance);
        say("sssp: predecessor", found.predecessor.download(context)? == expected.predecessor);
    }
    let expected = components::connected_components(&host, &run)?;
    let found = device::components::connected_components(graph, context, &run)?.download(context)?;
    say("components", found == expected);
    let options = CommunityOptions::default();
    for (name, host, graph) in [("", host.unweighted(), &plain), (", weighted", host.clone(), graph)] {
        let expected = community::louvain_communities(&host, &options, &run)?;
        let found = device::community::louvain_communities(graph, &options, context, &run)?;
        say(&format!("louvain{name}"), found.download(context)? == expected);
        let quality = device::community::modularity(graph, &found, 1.0, context)?;
        say(&format!("modularity{name}"), (quality - community::modularity(&host, &expected, 1.0)?).abs() < 1e-12);
        let expected = community::leiden_communities(&host, &options, &run)?;
        let found = device::community::leiden_communities(graph, &options, context, &run)?;
        say(&format!("leiden{name}"), found.download(context)? == expected);
    }
    let expected = cluster::triangles(&host, &run)?;
    say("triangles", device::cluster::triangles(graph, context, &run)?.download(context)? == expected);
    let expected = cluster::clustering(&host, false, &run)?;
    say("clustering", device::cluster::clustering(&plain, false, context, &run)?.download(context)? == expected);
    let options = BetweennessOptions { sources: Sources::Sample { k: 20, seed: 1 }, ..BetweennessOptions::default() };
    let expected = betweenness::betweenness_centrality(&host, &options, &run)?;
    let found = device::betweenness::betweenness_centrality(&plain, &options, context, &run)?;
    say("betweenness", near(&found.download(context)?, &expected, 1e-9));
    let pairs: Vec<(u32, u32)> = (0..ids.len() as u32 / 2).map(|v| (v, v + 1)).collect();
    let expected = similarity::adamic_adar_index(&host, Some(&pairs), &run)?.values;
    let found = device::similarity::adamic_adar_index(graph, &pairs, context, &run)?;
    say("adamic_adar", near(&found.download(context)?, &expected, 1e-12));
    let options = ForceAtlas2 { max_iter: 1, ..ForceAtlas2::default() };
    let expected = forceatlas2_layout(&host, &options, None, &run)?;
    let found = device::layout::forceatlas2_layout(&plain, &options, None, context, &run)?.download(context)?;
    let (found, expected) = (found.as_flattened(), expected.as_flattened());
    say("forceatlas2, one iteration", near(found, expected, 1e-6));
    let expected = cores::core_number(&host, &run)?;
    say("core number", device::cores::core_number(graph, context, &run)?.download(context)? == expected);
    Ok(good)
}

/// Prints one line for each operation.
struct Table<'a> {
    context: &'a Context,
    scale: u32,
    arcs: u64,
    arguments: &'a Arguments,
}

impl Table<'_> {
    fn time<T>(&self, name: &str, mut work: impl FnMut() -> Result<T, AnyError>) -> Result<(), AnyError> {
        if !name.contains(&self.arguments.only) {
            return Ok(());
        }
        drop(work()?);
        let mut times = Vec::new();
        for _ in 0..self.arguments.runs {
            self.context.stream.synchronize()?;
            let begun = Instant::now();
            let made = work()?;
            self.context.stream.synchronize()?;
            times.push(begun.elapsed());
            drop(made);
        }
        times.sort();
        self.say(name, times[times.len() / 2], times[0]);
        Ok(())
    }

    fn say(&self, name: &str, median: Duration, fastest: Duration) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let peer = PEERS.iter().find(|(its, scale, ..)| *its == name && *scale == self.scale);
        let peer = peer.map_or(String::new(), |(_, _, peer, accept, goal)| {
            let reached = match ms(median) {
                ms if ms <= *goal => "goal",
                ms if ms <= *accept => "accepted",
                _ => "MISSED",
            };
            format!("{peer:>9.1} {accept:>9.1} {goal:>9.1} {:>7.2} {reached}", peer / ms(median))
        });
        println!("{:<6} {:>11} {name:<24} {:>9.3} {:>9.3} {peer}", self.scale, self.arcs, ms(median), ms(fastest));
    }
}

fn measure(context: &Context, scale: u32, arguments: &Arguments) -> Result<(), AnyError> {
    let begun = Instant::now();
    let edges = Edges::rmat(scale);
    let made = begun.elapsed();
    let on_device = OnDevice::upload(context, &edges)?;
    drop(edges);
    let weighted = on_device.index(context, true)?.graph;
    let plain = weighted.unweighted();
    let arcs = plain.arcs() as u64;
    println!("R-MAT {scale}: {} nodes, {arcs} arcs, made in {made:.1?}, in all {:.1?}", plain.nodes(), begun.elapsed());
    println!(
        "{:<6} {:>11} {:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "scale", "arcs", "operation", "ms", "fastest", "peer", "accept", "goal", "x peer"
    );
    let table = Table { context, scale, arcs, arguments };
    let run = Run::silent();
    // The tolerance of 0 is not reached: each run has 20 iterations.
    let iterations = PageRank { tol: 0.0, max_iter: 20, fail_on_nonconvergence: false, ..PageRank::default() };
    let pagerank = |graph: &DeviceGraph, contributions: Contributions| {
        Ok(device::link_analysis::pagerank_of(graph, &iterations, contributions, context, &run)?)
    };
    table.time("build", || on_device.index(context, false))?;
    table.time("build with weights", || on_device.index(context, true))?;
    table.time("build and pagerank", || {
        let made = on_device.index(context, false)?;
        pagerank(&made.graph, Contributions::Exact)?;
        Ok(made)
    })?;
    table.time("pagerank", || pagerank(&plain, Contributions::Exact))?;
    table.time("pagerank, narrow", || pagerank(&plain, Contributions::Narrow))?;
    table.time("pagerank, weighted", || pagerank(&weighted, Contributions::Exact))?;
    table.time("hits", || Ok(device::link_analysis::hits(&plain, &Hits::default(), context, &run)?))?;
    table.time("bfs", || Ok(device::traversal::bfs(&plain, 0, None, context, &run)?))?;
    table.time("sssp", || Ok(device::shortest_paths::single_source_dijkstra(&weighted, 0, None, context, &run)?))?;
    table.time("components", || Ok(device::components::connected_components(&plain, context, &run)?))?;
    table.time("degree", || Ok(device::degree::degree(&plain, context)?))?;
    let options = CommunityOptions::default();
    let louvain = || Ok(device::community::louvain_communities(&plain, &options, context, &run)?);
    let leiden = || Ok(device::community::leiden_communities(&plain, &options, context, &run)?);
    table.time("louvain", louvain)?;
    table.time("leiden", leiden)?;
    for (name, found) in [("louvain", &louvain as &dyn Fn() -> _), ("leiden", &leiden)] {
        if name.contains(&arguments.only) {
            let found: Result<DeviceValues<u32>, AnyError> = found();
            let quality = device::community::modularity(&plain, &found?, 1.0, context)?;
            println!("{scale:<6} {arcs:>11} modularity of {name}: {quality:.5}");
        }
    }
    table.time("triangles", || Ok(device::cluster::triangles(&plain, context, &run)?))?;
    if scale < 23 {
        let sources = Sources::Sample { k: 100, seed: 1 };
        let options = BetweennessOptions { sources, ..BetweennessOptions::default() };
        let betweenness = || Ok(device::betweenness::betweenness_centrality(&plain, &options, context, &run)?);
        table.time("betweenness, 100 sources", betweenness)?;
        let options = ForceAtlas2::default();
        let layout = || Ok(device::layout::forceatlas2_layout(&plain, &options, None, context, &run)?);
        table.time("forceatlas2, 100 iterations", layout)?;
    }
    let node = |i: u64| (generate::hash(3, i) % plain.nodes().max(1) as u64) as u32;
    let pairs: Vec<(u32, u32)> = (0..1_000_000).map(|i| (node(2 * i), node(2 * i + 1))).collect();
    let jaccard = || Ok(device::similarity::jaccard_coefficient(&plain, &pairs, context, &run)?);
    table.time("jaccard, 1e6 pairs", jaccard)?;
    table.time("core number", || Ok(device::cores::core_number(&plain, context, &run)?))?;
    Ok(())
}
