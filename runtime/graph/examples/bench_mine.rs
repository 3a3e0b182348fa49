use std::time::Instant;

use onrush_device::{Device, Emulation, Options, Owner};
use onrush_graph::community::{self, CommunityOptions, modularity};
use onrush_graph::device::{self, DeviceGraph};
use onrush_graph::{Graph, Run, cluster, cores, generate};
use onrush_kernels::{Context, Library};

type Any = Box<dyn std::error::Error>;

fn main() -> Result<(), Any> {
    let arguments: Vec<String> = std::env::args().collect();
    let cuda = arguments[1] == "cuda";
    let mode = arguments[2].as_str();
    let only = arguments.get(4).cloned().unwrap_or_default();
    let device = if cuda {
        Device::cuda(0, &Options::default())?
    } else {
        Device::emulated(&Emulation { memory_bytes: 8 << 30, ..Emulation::default() }, &Options::default())?
    };
    println!("{}", device.properties().name);
    let context = Context::new(
        &Library::new(&device, std::env::var("CACHE").ok().as_deref().map(std::path::Path::new)),
        &Owner::new("bench"),
    )?;
    for scale in arguments[3].split(',') {
        let scale: u32 = scale.parse()?;
        let begin = Instant::now();
        let (s, t) = generate::rmat(scale, 16, 1);
        let (s, t): (Vec<u32>, Vec<u32>) =
            if only == "core" { s.into_iter().zip(t).filter(|(u, v)| u != v).unzip() } else { (s, t) };
        let graph = Graph::new(false, 1 << scale, &s, &t, None)?;
        drop((s, t));
        println!(
            "scale {scale}: {} arcs, made in {:.1} s",
            graph.out_rows().targets.len(),
            begin.elapsed().as_secs_f64()
        );
        let there = DeviceGraph::upload(&context, &graph, false)?;
        let options = CommunityOptions::default();
        for name in ["louvain", "leiden", "triangles", "core"] {
            if !only.is_empty() && !only.split('+').any(|o| o == name) {
                continue;
            }
            let mut best = f64::INFINITY;
            let mut labels: Vec<u64> = Vec::new();
            let rounds = if mode == "time" { 3 } else { 1 };
            for round in 0..rounds {
                let begin = Instant::now();
                let verbose = round + 1 == rounds && name != "core" && mode == "time";
                let stage = |text: String| {
                    if verbose {
                        println!("    {:8.1} {text}", begin.elapsed().as_secs_f64() * 1e3)
                    }
                };
                let run = Run { is_stopped: &|| false, stage: &stage, steps: &|_, _| {} };
                let wide = |v: Vec<u32>| v.into_iter().map(u64::from).collect::<Vec<u64>>();
                let took;
                match name {
                    "louvain" | "leiden" => {
                        let found = match name {
                            "louvain" => device::community::louvain_communities(&there, &options, &context, &run)?,
                            _ => device::community::leiden_communities(&there, &options, &context, &run)?,
                        };
                        took = begin.elapsed();
                        labels = wide(found.download(&context)?);
                    }
                    "triangles" => {
                        let found = device::cluster::triangles(&there, &context, &run)?;
                        took = begin.elapsed();
                        labels = found.download(&context)?;
                    }
                    _ => match device::cores::core_number(&there, &context, &run) {
                        Ok(found) => {
                            took = begin.elapsed();
                            labels = wide(found.download(&context)?);
                        }
                        Err(e) => {
                            println!("{e}");
                            break;
                        }
                    },
                };
                best = best.min(took.as_secs_f64() * 1e3);
                println!("  {name} run {:.1}", took.as_secs_f64() * 1e3);
            }
            let run = Run::silent();
            let extra = match name {
                "louvain" | "leiden" => {
                    let labels: Vec<u32> = labels.iter().map(|l| *l as u32).collect();
                    format!("modularity {:.5}", modularity(&graph, &labels, 1.0)?)
                }
                _ => format!("sum {}, max {}", labels.iter().sum::<u64>(), labels.iter().max().unwrap_or(&0)),
            };
            println!("{name:<24} {best:9.1} ms, {extra}");
            if mode == "compare" {
                let begin = Instant::now();
                let wide = |v: Vec<u32>| v.into_iter().map(u64::from).collect::<Vec<u64>>();
                let expected = match name {
                    "louvain" => wide(community::louvain_communities(&graph, &options, &run)?),
                    "leiden" => wide(community::leiden_communities(&graph, &options, &run)?),
                    "triangles" => cluster::triangles(&graph, &run)?,
                    _ => cores::core_number(&graph, &run).map(wide).unwrap_or_default(),
                };
                let took = begin.elapsed().as_secs_f64() * 1e3;
                println!("{name:<24} host {took:.1} ms, {}", if labels == expected { "same" } else { "DIFFERENT" });
            }
        }
    }
    Ok(())
}
