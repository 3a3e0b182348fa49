//! PageRank and HITS on a device. Sums have another order than the host's: results agree to 1e-12 and 1e-7 relative.

use onrush_device::Buffer;
use onrush_kernels::Context;
use onrush_kernels::graph::Csr;
use onrush_kernels::graph::rank::{NodeVector, PageRankState, PageRankVectors, Rank};

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::error::Error;
use crate::link_analysis::{Hits, PageRank, STEPS, largest_eigenvector, normalized, not_converged};
use crate::run::Run;

pub use onrush_kernels::graph::rank::Contributions;

/// [`crate::link_analysis::pagerank`] on a device: rows by target are pulled, one kernel an iteration, sums in f64.
/// Agrees with the host's to 1e-12.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn pagerank(graph: &DeviceGraph, options: &PageRank, context: &Context, run: &Run) -> Result<DeviceValues<f64>> {
    pagerank_of(graph, options, Contributions::Exact, context, run)
}

/// [`pagerank`] with contributions of 32 or 64 bits. With 32 bits it agrees with the host's to 1e-6, NetworkX's
/// tolerance, and is faster if contributions of 64 bits exceed the caches. The L1 change does not fall below about
/// 1e-7: a `tol` of less than that divided by the nodes is not reached.
///
/// # Errors
/// As [`pagerank`].
pub fn pagerank_of(
    graph: &DeviceGraph,
    options: &PageRank,
    contributions: Contributions,
    context: &Context,
    run: &Run,
) -> Result<DeviceValues<f64>> {
    let n = graph.nodes();
    let rounds = DeviceRounds::new(graph, context, run)?;
    graph.check_positive("pagerank", context)?;
    if !(0.0..=1.0).contains(&options.alpha) {
        let message = format!("`alpha` is {}, expected a probability from 0 to 1", options.alpha);
        return Err(Error::parameter(message).into());
    }
    let vector = |name: &str, values: Option<&[f64]>| -> Result<Option<Buffer>> {
        let Some(values) = values else { return Ok(None) };
        Ok(Some(context.upload(&normalized(name, values, n)?)?))
    };
    let personalization = vector("personalization", options.personalization)?;
    let dangling = vector("dangling", options.dangling)?;
    let start = vector("nstart", options.nstart)?;
    if n == 0 {
        return Ok(DeviceValues::new(context.allocate(0)?, 0));
    }
    let vectors = PageRankVectors {
        start: uniform(start.as_ref(), n),
        jump: uniform(personalization.as_ref(), n),
        leave: uniform(dangling.as_ref().or(personalization.as_ref()), n),
    };
    let kernels = Rank::new(context)?;
    let rows = graph.in_rows(context)?.inner(context)?;
    let state = PageRankState::begin(&kernels, graph.out_rows(), rows, &vectors, contributions)?;
    let (max, limit) = (options.max_iter as u64, n as f64 * options.tol);
    let seen = |words: &[u64; 3], _| {
        let change = f64::from_bits(words[2]);
        run.stage(format!("pagerank: iteration {} of at most {max}, change {change:.1e}", words[1]));
        (run.steps)(words[1], max);
    };
    let enqueue = |i: u64| Ok(state.step(options.alpha, limit, i)?);
    let [done, ..] = rounds.until_done::<3>("pagerank", max, &state.state, enqueue, seen)?;
    if done == 0 && options.fail_on_nonconvergence {
        return Err(not_converged("pagerank", options.max_iter, options.tol).into());
    }
    let ranks = state.ranks()?;
    rounds.finish()?;
    Ok(DeviceValues::new(ranks, n))
}

/// A vector, or that of equal values.
fn uniform(values: Option<&Buffer>, n: usize) -> NodeVector<'_> {
    values.map_or(NodeVector::All(1.0 / n as f64), NodeVector::Each)
}

/// Hubs and authorities.
pub type HubsAndAuthorities = (DeviceValues<f64>, DeviceValues<f64>);

/// [`crate::link_analysis::hits`] on a device, by the same restarted Lanczos iteration.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn hits(graph: &DeviceGraph, options: &Hits, context: &Context, run: &Run) -> Result<HubsAndAuthorities> {
    let n = graph.nodes();
    let rounds = DeviceRounds::new(graph, context, run)?;
    graph.check_positive("hits", context)?;
    let start = options.nstart.map(|v| normalized("nstart", v, n)).transpose()?;
    if n == 0 {
        return Ok((DeviceValues::new(context.allocate(0)?, 0), DeviceValues::new(context.allocate(0)?, 0)));
    }
    let (into, out) = (graph.in_rows(context)?, graph.out_rows());
    let work = Lanczos::new(&rounds, into, out)?;
    let mut authorities = match start {
        Some(start) => context.upload(&start)?,
        None => onrush_kernels::graph::filled(context, n as u64, 1.0_f64)?,
    };
    let mut is_done = false;
    for restart in 1..=options.max_iter {
        run.check(|| format!("{restart} of at most {} restarts of hits", options.max_iter))?;
        let (vector, residual) = work.restart(&authorities, options.tol)?;
        authorities = vector;
        run.stage(format!("hits: restart {restart}, residual {residual:.1e}"));
        if residual <= options.tol {
            is_done = true;
            break;
        }
    }
    if !is_done {
        return Err(not_converged("hits", options.max_iter, options.tol).into());
    }
    let kernels = &work.kernels;
    // Rounding leaves tiny negative numbers.
    kernels.clamp(&authorities, n as u32, false)?;
    let hubs = context.allocate(8 * n as u64)?;
    kernels.product(out, &out.bins(context)?, &authorities, &hubs)?;
    if options.normalized {
        kernels.clamp(&authorities, n as u32, true)?;
        kernels.clamp(&hubs, n as u32, true)?;
    }
    rounds.finish()?;
    Ok((DeviceValues::new(hubs, n), DeviceValues::new(authorities, n)))
}

/// A Lanczos iteration on A'A: vectors stay on the device, the tridiagonal matrix is the host's.
struct Lanczos<'a> {
    rounds: &'a DeviceRounds<'a>,
    kernels: Rank<'a>,
    into: &'a Csr,
    out: &'a Csr,
    nodes: u32,
    basis: Buffer,
    next: Buffer,
    product: Buffer,
    /// Products of the basis and the next vector: before and after it is made orthogonal, and its square.
    dots: Buffer,
}

impl<'a> Lanczos<'a> {
    fn new(rounds: &'a DeviceRounds<'a>, into: &'a Csr, out: &'a Csr) -> Result<Lanczos<'a>> {
        let context = rounds.context;
        let bytes = 8 * u64::from(out.nodes);
        Ok(Lanczos {
            rounds,
            kernels: Rank::new(context)?,
            into,
            out,
            nodes: out.nodes,
            basis: context.allocate(bytes * STEPS as u64)?,
            next: context.allocate(bytes)?,
            product: context.allocate(bytes)?,
            dots: context.zeros(8 * STEPS as u64)?,
        })
    }

    /// The square of the length of `next`.
    fn square(&self, of: &Buffer) -> Result<f64> {
        self.kernels.dots(of, 1, self.nodes, of, &self.dots)?;
        let [square] = self.rounds.look::<1>(&self.dots)?;
        Ok(f64::from_bits(square))
    }

    /// Writes `from` times `scale` to the vector `number` of the basis.
    fn keep(&self, from: &Buffer, scale: f64, number: usize) -> Result<()> {
        let to = (&self.basis, 8 * u64::from(self.nodes) * number as u64);
        let nothing = (&self.basis, 0, self.nodes);
        Ok(self.kernels.combine(nothing, (&self.dots, 0.0), Some(from), scale, to)?)
    }

    /// As the host's: the vector that is nearest to the eigenvector of the largest eigenvalue, and its residual.
    fn restart(&self, start: &Buffer, tol: f64) -> Result<(Buffer, f64)> {
        let context = self.rounds.context;
        let n = self.nodes as usize;
        let (mut diagonal, mut off_diagonal) = (Vec::new(), Vec::new());
        let (mut value, mut vector, mut residual) = (0.0, vec![1.0], 0.0);
        let (into_bins, out_bins) = (self.into.bins(context)?, self.out.bins(context)?);
        let mut last = context.allocate(8 * n as u64)?;
        self.keep(start, 1.0 / self.square(start)?.sqrt(), 0)?;
        for step in 0..STEPS.min(n) {
            self.rounds.run.check(|| format!("{step} steps of hits"))?;
            let count = step as u32 + 1;
            last.copy_from(0, &self.basis, 8 * (n * step) as u64, 8 * n as u64, &context.stream)?;
            self.kernels.product(self.out, &out_bins, &last, &self.product)?;
            self.kernels.product(self.into, &into_bins, &self.product, &self.next)?;
            // Twice is enough (Parlett 1980).
            for pass in 0..2 {
                self.kernels.dots(&self.basis, count, self.nodes, &self.next, &self.dots)?;
                if pass == 0 {
                    let words: [u64; STEPS] = self.rounds.look(&self.dots)?;
                    diagonal.push(f64::from_bits(words[step]));
                }
                let all = (&self.basis, count, self.nodes);
                self.kernels.combine(all, (&self.dots, -1.0), Some(&self.next), 1.0, (&self.next, 0))?;
            }
            let length = self.square(&self.next)?.sqrt();
            off_diagonal.push(length);
            (value, vector) = largest_eigenvector(&diagonal, &off_diagonal);
            residual = if value > 0.0 { length * vector[step].abs() / value } else { 0.0 };
            if residual <= tol || length <= 1e-13 * value || step + 1 == STEPS.min(n) {
                break;
            }
            self.keep(&self.next, 1.0 / length, step + 1)?;
        }
        if value <= 0.0 {
            return Ok((onrush_kernels::graph::filled(context, n as u64, 0.0_f64)?, 0.0));
        }
        let sign = if vector[0] < 0.0 { -1.0 } else { 1.0 };
        let factors = context.upload(&vector)?;
        let all = (&self.basis, vector.len() as u32, self.nodes);
        self.kernels.combine(all, (&factors, sign), None, 1.0, (&last, 0))?;
        self.rounds.finish()?;
        Ok((std::mem::replace(&mut last, context.allocate(0)?), residual))
    }
}
