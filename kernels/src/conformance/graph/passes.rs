//! Passes of algorithms against plain loops over host rows.

use std::collections::VecDeque;

use onrush_device::Buffer;

use super::shapes::HostRows;
use crate::column::Column;
use crate::conformance::{Cases, same};
use crate::error::Result;
use crate::graph::build::{EdgeColumns, build};
use crate::graph::paths::{Paths, Predecessors};
use crate::graph::rank::{Contributions, NodeVector, PageRankState, PageRankVectors, Rank};
use crate::graph::search::{HopSearch, NONE, predecessors};
use crate::graph::{Csr, completion_flag, components, look_and_clear, widened};
use crate::library::Context;
use crate::scalar::Scalar;

pub fn check(cases: &mut Cases, name: &str, rows: &HostRows) {
    check_sums(cases, name, rows);
    check_pagerank(cases, name, rows);
    if rows.nodes() > 0 {
        check_search(cases, name, rows);
        check_paths(cases, name, rows);
    }
    check_components(cases, name, rows);
    check_widened(cases, name, rows);
    check_build(cases, name, rows);
}

fn check_widened(cases: &mut Cases, name: &str, rows: &HostRows) {
    cases.case(
        || format!("widened targets of {name}"),
        |context| {
            let targets = context.upload(&rows.targets)?;
            let found = widened(context, &targets, rows.targets.len() as u64)?;
            let found = found.read::<u64>(0..rows.targets.len(), &context.stream)?;
            let expected: Vec<u64> = rows.targets.iter().map(|target| u64::from(*target)).collect();
            Ok(same(&found, &expected))
        },
    );
}

/// Each value within 1e-12 of the expected one.
fn near(found: &[f64], expected: &[f64]) -> std::result::Result<(), String> {
    near_to(found, expected, 1e-12)
}

fn near_to(found: &[f64], expected: &[f64], tolerance: f64) -> std::result::Result<(), String> {
    let differs = |(f, e): (&f64, &f64)| (f - e).abs() > tolerance * e.abs();
    match found.iter().zip(expected).position(differs) {
        Some(at) => Err(format!("value {at} is {:e}, expected {:e}", found[at], expected[at])),
        None if found.len() != expected.len() => Err(format!("{} values, expected {}", found.len(), expected.len())),
        None => Ok(()),
    }
}

/// A sum in units of 2^-60.
fn near_sum(found: f64, expected: f64, tolerance: f64) -> std::result::Result<(), String> {
    match (found - expected).abs() <= tolerance {
        true => Ok(()),
        false => Err(format!("the change is {found:e}, expected {expected:e}")),
    }
}

fn values(nodes: usize) -> Vec<f64> {
    (0..nodes).map(|v| ((v * 7919) % 1009) as f64 / 64.0).collect()
}

fn check_sums(cases: &mut Cases, name: &str, rows: &HostRows) {
    for weighted in [false, true] {
        let name = || format!("sums of {name}, weighted {weighted}");
        cases.case(name, |context| {
            let csr = rows.upload(context)?;
            let csr = if weighted { csr } else { csr.unweighted() };
            let (x, n) = (values(rows.nodes()), rows.nodes());
            let (there, out) = (context.upload(&x)?, context.allocate(8 * n as u64)?);
            let kernels = Rank::new(context)?;
            let bins = csr.bins(context)?;
            let weight = |w: f64| if weighted { w } else { 1.0 };
            kernels.product(&csr, &bins, &there, &out)?;
            let found = out.read::<f64>(0..n, &context.stream)?;
            let row = |v: u32| rows.row(v).map(|(u, w)| weight(w) * x[u as usize]).sum::<f64>();
            let products = near(&found, &(0..n as u32).map(row).collect::<Vec<f64>>());
            kernels.scale_of_rows(&csr, &bins, &out)?;
            let found = out.read::<f64>(0..n, &context.stream)?;
            let row = |v: u32| match rows.row(v).map(|(_, w)| weight(w)).sum::<f64>() {
                0.0 => 0.0,
                sum => 1.0 / sum,
            };
            Ok(products.and(near(&found, &(0..n as u32).map(row).collect::<Vec<f64>>())))
        });
    }
    cases.case(
        || format!("degrees of {name}"),
        |context| {
            let (csr, n) = (rows.upload(context)?, rows.nodes());
            let out = context.allocate(8 * n as u64)?;
            Rank::new(context)?.degrees(&csr, None, &out)?;
            let expected = |v: u32| rows.row(v).map(|(u, _)| if u == v { 2 } else { 1 }).sum::<u64>();
            let found = out.read::<u64>(0..n, &context.stream)?;
            Ok(same(&found, &(0..n as u32).map(expected).collect::<Vec<u64>>()))
        },
    );
}

/// Three iterations.
fn check_pagerank(cases: &mut Cases, name: &str, rows: &HostRows) {
    for (contributions, tolerance) in [(Contributions::Exact, 1e-12), (Contributions::Narrow, 1e-6)] {
        let name = || format!("pagerank of {name}, {contributions:?}");
        cases.case(name, |context| iterated(context, rows, contributions, tolerance));
    }
}

type CheckResult = std::result::Result<(), String>;

fn iterated(context: &Context, rows: &HostRows, contributions: Contributions, tolerance: f64) -> Result<CheckResult> {
    {
        let (csr, n) = (rows.upload(context)?, rows.nodes());
        let kernels = Rank::new(context)?;
        let uniform = 1.0 / n.max(1) as f64;
        let total: f64 = values(n).iter().sum();
        let jump: Vec<f64> = values(n).iter().map(|x| x / total.max(1.0)).collect();
        let jump_there = context.upload(&jump)?;
        let vectors = PageRankVectors {
            start: NodeVector::All(uniform),
            jump: NodeVector::Each(&jump_there),
            leave: NodeVector::All(uniform),
        };
        let state = PageRankState::begin(&kernels, &csr, csr.inner(context)?, &vectors, contributions)?;
        let mut rank = vec![uniform; n];
        let sums: Vec<f64> = (0..n as u32).map(|v| rows.row(v).map(|(_, w)| w).sum()).collect();
        let mut change = 0.0;
        for iteration in 0..3 {
            state.step(0.85, 0.0, iteration)?;
            let lost: f64 = (0..n).filter(|v| sums[*v] == 0.0).map(|v| rank[v]).sum();
            let next: Vec<f64> = (0..n as u32)
                .map(|v| {
                    let sum: f64 = rows.row(v).map(|(u, w)| w * rank[u as usize] / sums[u as usize].max(1e-9)).sum();
                    0.85 * (sum + lost * uniform) + (1.0 - 0.85) * jump[v as usize]
                })
                .collect();
            change = next.iter().zip(&rank).map(|(a, b)| (a - b).abs()).sum();
            rank = next;
        }
        let words = state.state.read::<u64>(0..3, &context.stream)?;
        let state_agrees = same(&words[..2], &[0, 3]).and(near_sum(f64::from_bits(words[2]), change, tolerance));
        Ok(near_to(&state.ranks()?.read::<f64>(0..n, &context.stream)?, &rank, tolerance).and(state_agrees))
    }
}

fn hops(rows: &HostRows, source: u32) -> Vec<u32> {
    let mut distance = vec![NONE; rows.nodes()];
    distance[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for (v, _) in rows.row(u) {
            if distance[v as usize] == NONE {
                distance[v as usize] = distance[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    distance
}

/// The levels of a search, outwards but for every `inwards`-th.
fn searched(context: &Context, csr: &Csr, source: u32, inwards: u32) -> Result<Buffer> {
    let flag = completion_flag(context)?;
    let mut search = HopSearch::begin(context, csr, &[source])?;
    let [mut size, _, mut entries] = look_and_clear(context, &flag, &search.state)?;
    let mut depth = 0;
    while size > 0 {
        depth += 1;
        if depth % inwards == 0 {
            search.inwards(csr, depth)?;
            [size, _, _] = look_and_clear(context, &flag, &search.state)?;
            search.queue(depth)?;
            [_, _, entries] = look_and_clear(context, &flag, &search.state)?;
        } else {
            search.outwards(entries, depth)?;
            [size, _, entries] = look_and_clear(context, &flag, &search.state)?;
        }
    }
    context.stream.synchronize()?;
    Ok(search.distance)
}

fn check_search(cases: &mut Cases, name: &str, rows: &HostRows) {
    let n = rows.nodes();
    let source = n as u32 / 3;
    let expected = hops(rows, source);
    let nearer = |v: u32| match expected[v as usize] {
        NONE | 0 => NONE,
        d => rows.row(v).find(|(u, _)| expected[*u as usize] == d - 1).map_or(NONE, |(u, _)| u),
    };
    for inwards in [1, 2, u32::MAX] {
        let name = || format!("search of {name}, every {inwards} levels inwards");
        cases.case(name, |context| {
            let csr = rows.upload(context)?;
            let distance = searched(context, &csr, source, inwards)?;
            let found = distance.read::<u32>(0..n, &context.stream)?;
            Ok(same(&found, &expected))
        });
    }
    for (how, is_pull) in [("pulled", true), ("pushed", false)] {
        let name = || format!("predecessors of {name}, {how}");
        cases.case(name, |context| {
            let csr = rows.upload(context)?;
            let distance = context.upload(&expected)?;
            let found = predecessors(context, &csr, is_pull.then_some(&csr), &distance)?;
            let found = found.read::<u32>(0..n, &context.stream)?;
            Ok(same(&found, &(0..n as u32).map(nearer).collect::<Vec<u32>>()))
        });
    }
}

/// Distances by relaxing all arcs until nothing changes.
fn lengths(rows: &HostRows, source: u32) -> Vec<f64> {
    let mut distance = vec![f64::INFINITY; rows.nodes()];
    distance[source as usize] = 0.0;
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for (v, w) in rows.row(u) {
            let there = distance[u as usize] + w;
            if there < distance[v as usize] {
                distance[v as usize] = there;
                queue.push_back(v);
            }
        }
    }
    distance
}

fn check_paths(cases: &mut Cases, name: &str, rows: &HostRows) {
    let n = rows.nodes();
    let source = n as u32 / 2;
    let expected = lengths(rows, source);
    for delta in [0.4, 3.0, f64::MAX] {
        let name = || format!("paths of {name}, near parts of {delta}");
        cases.case(name, |context| {
            let csr = rows.upload(context)?;
            let flag = completion_flag(context)?;
            let mut paths = Paths::begin(context, &csr, &[source])?;
            let (mut bound, mut far) = (delta, 0);
            let [mut entries] = look_and_clear(context, &flag, &paths.state)?;
            loop {
                while entries > 0 {
                    paths.relax(entries, bound, f64::INFINITY)?;
                    far = paths.state.read::<u64>(0..2, &context.stream)?[1];
                    [entries] = look_and_clear(context, &flag, &paths.state)?;
                }
                if far == 0 {
                    break;
                }
                paths.split(far, bound, bound + delta)?;
                bound += delta;
                far = paths.state.read::<u64>(0..2, &context.stream)?[1];
                [entries] = look_and_clear(context, &flag, &paths.state)?;
            }
            Ok(same(&paths.distance.read::<f64>(0..n, &context.stream)?, &expected))
        });
    }
    for (how, is_pull) in [("pulled", true), ("pushed", false)] {
        let name = || format!("nodes before on paths of {name}, {how}");
        cases.case(name, |context| {
            let csr = rows.upload(context)?;
            let distance = context.upload(&expected)?;
            let found = Predecessors::begin(context, &csr, is_pull.then_some(&csr), &distance, &[source])?;
            let (d, open) = (&expected, found.state.read_one::<u64>(&context.stream)?);
            let is_before = |v: usize, u: usize, w: f64| d[u] < d[v] && d[u] + w == d[v];
            let before = |v: u32| {
                let first = rows.row(v).find(|(u, w)| is_before(v as usize, *u as usize, *w));
                first.filter(|_| v != source).map_or(NONE, |(u, _)| u)
            };
            let wanted: Vec<u32> = (0..n as u32).map(before).collect();
            let left = (0..n).filter(|v| wanted[*v] == NONE && d[*v].is_finite() && *v != source as usize).count();
            let found = found.predecessor.read::<u32>(0..n, &context.stream)?;
            Ok(same(&found, &wanted).and(same(&[open], &[left as u64])))
        });
    }
}

fn check_components(cases: &mut Cases, name: &str, rows: &HostRows) {
    let n = rows.nodes();
    let mut expected = vec![NONE; n];
    for v in 0..n as u32 {
        if expected[v as usize] == NONE {
            let reached = hops(rows, v);
            (0..n).filter(|u| reached[*u] != NONE).for_each(|u| expected[u] = v);
        }
    }
    for (how, is_skipping) in [("all arcs", false), ("arcs outside of the largest", true)] {
        let name = || format!("components of {name}, {how}");
        cases.case(name, |context| {
            let csr = rows.upload(context)?;
            let labels = components::labels(context, &csr, is_skipping.then_some(&csr))?;
            let found = same(&labels.read::<u32>(0..n, &context.stream)?, &expected);
            let numbers = components::numbers(context, &labels, n as u32)?;
            let mut roots: Vec<(u32, u32)> = Vec::new();
            for v in (0..n as u32).filter(|v| expected[*v as usize] == *v) {
                roots.push((expected.iter().filter(|label| **label == v).count() as u32, v));
            }
            roots.sort_by_key(|(size, v)| (u32::MAX - size, *v));
            let number = |label: &u32| roots.iter().position(|(_, v)| v == label).map_or(NONE, |p| p as u32);
            let wanted: Vec<u32> = expected.iter().map(number).collect();
            let sizes: Vec<u32> = roots.iter().map(|(size, _)| *size).collect();
            let component = numbers.component.read::<u32>(0..n, &context.stream)?;
            let found_sizes = numbers.sizes.read::<u32>(0..numbers.count as usize, &context.stream)?;
            Ok(found.and(same(&component, &wanted)).and(same(&found_sizes, &sizes)))
        });
    }
}

/// The rows of edges whose ids are nodes' numbers, all of which occur.
fn check_build(cases: &mut Cases, name: &str, rows: &HostRows) {
    let mut ends: Vec<(u32, u32, u32, f64)> = Vec::new();
    for u in 0..rows.nodes() as u32 {
        let arcs = rows.offsets[u as usize] as usize..rows.offsets[u as usize + 1] as usize;
        ends.extend(arcs.map(|arc| (rows.edges[arc], u, rows.targets[arc], rows.weights[arc])));
    }
    ends.sort_by_key(|(edge, u, ..)| (*edge, *u));
    ends.dedup_by_key(|(edge, ..)| *edge);
    for step in [1, 1_i64 << 40] {
        let name = || format!("rows of columns of {name}, ids {step} apart");
        cases.case(name, |context| {
            let used: Vec<u32> = (0..rows.nodes() as u32).filter(|v| rows.degree(*v) > 0).collect();
            let number = |v: u32| used.binary_search(&v).unwrap_or_default() as u32;
            let id = |v: &u32| (i64::from(*v) - 20) * step;
            let sources = context.upload(&ends.iter().map(|e| id(&e.1)).collect::<Vec<i64>>())?;
            let targets = context.upload(&ends.iter().map(|e| id(&e.2)).collect::<Vec<i64>>())?;
            let weights = context.upload(&ends.iter().map(|e| e.3).collect::<Vec<f64>>())?;
            let columns = EdgeColumns {
                sources: Column::new(Scalar::I64, &sources),
                targets: Column::new(Scalar::I64, &targets),
                weights: Some(Column::new(Scalar::F64, &weights)),
                directed: false,
                with_edges: true,
            };
            let built = build(context, &columns)?;
            let mut arcs = Vec::new();
            for (edge, u, v, w) in &ends {
                arcs.push((number(*u), number(*v), *edge, *w));
                if u != v {
                    arcs.push((number(*v), number(*u), *edge, *w));
                }
            }
            let found = HostRows::read(context, &built.csr)?.same(&HostRows::of(used.len(), &arcs));
            let ids = built.ids.read::<i64>(0..used.len(), &context.stream)?;
            Ok(found.and(same(&ids, &used.iter().map(id).collect::<Vec<i64>>())))
        });
    }
}
