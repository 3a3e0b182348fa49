//! Triangles, core numbers, common neighbours and levels of communities against plain loops, and their speed.

use std::collections::{BTreeMap, BTreeSet};

use super::shapes::{self, HostRows, shapes};
use crate::conformance::{Bench, Cases, same};
use crate::error::Result;
use crate::graph::cores::Cores;
use crate::graph::levels::{self, CommunityLevel, CommunityState, NO_COMMUNITY};
use crate::graph::similarity::{Measure, similarities};
use crate::graph::{simple, triangles};
use crate::library::Context;

pub fn check(cases: &mut Cases) {
    for (name, rows) in shapes(cases.depth) {
        let neighbors: Vec<BTreeSet<u32>> = (0..rows.nodes() as u32)
            .map(|v| row(&rows, v).iter().map(|(target, _)| *target).filter(|target| *target != v).collect())
            .collect();
        cases.case(
            || format!("triangles {name}"),
            |context| {
                let csr = rows.upload(context)?;
                let degrees = simple::degrees(context, &csr)?;
                let found = triangles::triangles(context, &simple::oriented(context, &csr, &degrees)?)?;
                let found = found.read::<u64>(0..rows.nodes(), &context.stream)?;
                let twice = |v: &BTreeSet<u32>| v.iter().map(|u| common(&neighbors[*u as usize], v)).sum::<u64>();
                let expected: Vec<u64> = neighbors.iter().map(|v| twice(v) / 2).collect();
                Ok(same(&found, &expected))
            },
        );
        cases.case(
            || format!("core numbers {name}"),
            |context| {
                let csr = simple::simple(context, &rows.upload(context)?)?;
                let cores = Cores::new(context, &csr)?;
                while rows.nodes() > 0 && cores.state.read_one::<u64>(&context.stream)? == 0 {
                    cores.step()?;
                }
                let found = cores.core.read::<u32>(0..rows.nodes(), &context.stream)?;
                Ok(same(&found, &core_numbers(&neighbors)))
            },
        );
        cases.case(
            || format!("common neighbours {name}"),
            |context| {
                let csr = simple::simple(context, &rows.upload(context)?)?;
                let n = rows.nodes() as u32;
                let pairs: Vec<(u32, u32)> =
                    (0..if n == 0 { 0 } else { 300 }).map(|i| (i % n, (i * 7 + 1) % n)).collect();
                let (first, second): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
                let (first, second) = (context.upload(&first)?, context.upload(&second)?);
                let measure = Measure::CommonNeighbors;
                let found = similarities(context, &csr, measure, &first, &second, pairs.len() as u64)?;
                let found = found.read::<f64>(0..pairs.len(), &context.stream)?;
                let of = |(u, v): &(u32, u32)| common(&neighbors[*u as usize], &neighbors[*v as usize]) as f64;
                Ok(same(&found, &pairs.iter().map(of).collect::<Vec<f64>>()))
            },
        );
        for weighted in [false, true] {
            cases
                .case(|| format!("level {name}, weighted {weighted}"), |context| check_level(context, &rows, weighted));
        }
        cases.case(|| format!("connected parts {name}"), |context| check_parts(context, &rows));
    }
}

fn row(rows: &HostRows, v: u32) -> Vec<(u32, f64)> {
    let arcs = rows.offsets[v as usize] as usize..rows.offsets[v as usize + 1] as usize;
    arcs.map(|arc| (rows.targets[arc], rows.weights[arc])).collect()
}

fn common(a: &BTreeSet<u32>, b: &BTreeSet<u32>) -> u64 {
    a.intersection(b).count() as u64
}

fn core_numbers(neighbors: &[BTreeSet<u32>]) -> Vec<u32> {
    let mut left: Vec<u32> = neighbors.iter().map(|v| v.len() as u32).collect();
    let mut core = vec![u32::MAX; left.len()];
    for k in 0.. {
        if core.iter().all(|c| *c != u32::MAX) {
            break;
        }
        let mut taken: Vec<usize> = (0..left.len()).filter(|v| core[*v] == u32::MAX && left[*v] <= k).collect();
        taken.iter().for_each(|v| core[*v] = k);
        while let Some(v) = taken.pop() {
            for u in &neighbors[v] {
                let u = *u as usize;
                left[u] = left[u].saturating_sub(1);
                if core[u] == u32::MAX && left[u] <= k {
                    core[u] = k;
                    taken.push(u);
                }
            }
        }
    }
    core
}

/// Communities by remainders: neighbours in some of them, and members far apart.
fn labels_of(rows: &HostRows) -> Vec<u32> {
    let n = rows.nodes() as u32;
    (0..n).map(|v| (v * 5 % n.min(13)) * (n / 13).max(1) % n).collect()
}

fn check_level(context: &Context, rows: &HostRows, weighted: bool) -> Result<std::result::Result<(), String>> {
    const SCALE: f64 = 1024.0;
    let csr = rows.upload(context)?;
    let csr = if weighted { csr } else { csr.unweighted() };
    let fixed = |weight: f64| if weighted { (weight * SCALE).round() as u64 } else { SCALE as u64 };
    let labels = labels_of(rows);
    let takes_part = |v: u32| rows.degree(v) > 0;
    let used: BTreeSet<u32> = (0u32..).zip(&labels).filter(|(v, _)| takes_part(*v)).map(|(_, label)| *label).collect();
    let rank: BTreeMap<u32, u32> = used.into_iter().zip(0..).collect();
    let number: Vec<u32> =
        (0u32..).zip(&labels).map(|(v, label)| if takes_part(v) { rank[label] } else { NO_COMMUNITY }).collect();
    let count = rank.len();
    let (mut out, mut inside) = (vec![0; count], vec![0; count]);
    let mut between: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); count];
    for v in 0..rows.nodes() as u32 {
        for (target, weight) in row(rows, v) {
            let (from, to) = (number[v as usize], number[target as usize]);
            // A self-loop is one arc, and counts for both of its ends.
            let sides = if target == v { 2 } else { 1 };
            out[from as usize] += sides * fixed(weight);
            match from == to {
                true => inside[from as usize] += sides * fixed(weight),
                false => *between[from as usize].entry(to).or_default() += fixed(weight),
            }
        }
    }
    let level = CommunityLevel::of(context, &csr, None, SCALE)?;
    let state = CommunityState::of_labels(context, &level, context.upload(&labels)?)?;
    let (next, found) = level.aggregate(context, &state)?;
    let stream = &context.stream;
    let arcs = next.arcs as usize;
    let targets: Vec<u32> = between.iter().flat_map(|row| row.keys().copied()).collect();
    let weights: Vec<u64> = between.iter().flat_map(|row| row.values().copied()).collect();
    let lengths: Vec<u32> = between.iter().map(|row| row.len() as u32).collect();
    let offsets = next.offsets.read::<u32>(0..count + 1, stream)?;
    let found_lengths: Vec<u32> = offsets.windows(2).map(|w| w[1] - w[0]).collect();
    let found_weights = next.weights.as_ref().map_or(Ok(Vec::new()), |w| w.read::<u64>(0..arcs, stream))?;
    Ok(same(&found.read::<u32>(0..rows.nodes(), stream)?, &number)
        .and(same(&[next.nodes], &[count as u32]))
        .and(same(&found_lengths, &lengths))
        .and(same(&next.targets.read::<u32>(0..arcs, stream)?, &targets))
        .and(same(&found_weights, &weights))
        .and(same(&next.out.read::<u64>(0..count, stream)?, &out))
        .and(same(&next.inside.read::<u64>(0..count, stream)?, &inside)))
}

/// Communities are split into connected parts, then numbered by size.
fn check_parts(context: &Context, rows: &HostRows) -> Result<std::result::Result<(), String>> {
    let labels = labels_of(rows);
    let n = rows.nodes();
    let mut lowest = vec![u32::MAX; n];
    for root in 0..n as u32 {
        let mut stack = vec![root];
        while let Some(v) = stack.pop() {
            if lowest[v as usize] == u32::MAX && labels[v as usize] == labels[root as usize] {
                lowest[v as usize] = root;
                stack.extend(row(rows, v).iter().map(|(target, _)| *target));
            }
        }
    }
    let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
    lowest.iter().for_each(|root| *sizes.entry(*root).or_default() += 1);
    let mut order: Vec<(u32, u32)> = sizes.into_iter().collect();
    order.sort_by_key(|(root, size)| (std::cmp::Reverse(*size), *root));
    let number: BTreeMap<u32, u32> = order.into_iter().map(|(root, _)| root).zip(0..).collect();
    let expected: Vec<u32> = lowest.iter().map(|root| number[root]).collect();
    let membership = context.upload(&labels)?;
    levels::split_apart(context, &rows.upload(context)?, false, &membership)?;
    let parts = membership.read::<u32>(0..n, &context.stream)?;
    let found = levels::by_size(context, &membership, n as u32, n as u32)?;
    Ok(same(&parts, &lowest).and(same(&found.read::<u32>(0..n, &context.stream)?, &expected)))
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    // About 16 arcs a node.
    let rows = shapes::random(bench.rows.clamp(64, 50_000_000) as usize / 16, bench.rows as usize, 3);
    let csr = rows.upload(bench.context)?.unweighted();
    let arcs = u64::from(csr.arcs);
    bench.measure("triangles", arcs, 4 * arcs, |context| {
        let degrees = simple::degrees(context, &csr)?;
        triangles::triangles(context, &simple::oriented(context, &csr, &degrees)?).map(drop)
    })?;
    let labels = bench.context.upload(&labels_of(&rows))?;
    let level = CommunityLevel::of(bench.context, &csr, None, 1024.0)?;
    let state = CommunityState::of_labels(bench.context, &level, labels)?;
    bench.measure("level of communities", arcs, 4 * arcs, |context| level.aggregate(context, &state).map(drop))
}
