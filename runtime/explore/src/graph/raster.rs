//! Counts of nodes and edges at each pixel.

use std::thread;

use onrush_expr::diagnostics::plan_error;
use onrush_frame::TaskHandle;
use onrush_wire::Diagnostic;
use onrush_wire::format_integer::thousands;
use onrush_wire::visual::{GraphRaster, Window};

use crate::plot::clipped;

/// Edges that are drawn: of more, a sample by hash.
const EDGES: usize = 2_000_000;
/// Most pixels of a side.
const SIDE: u32 = 4_096;
/// Edges between two looks at whether the user stopped it.
const CHUNK: usize = 1 << 14;

/// Bytes of the counts of all threads at most.
const COUNTS: usize = 256 << 20;

/// The size of a raster that is drawn for a size that is asked for.
pub fn size(width: u32, height: u32) -> (u32, u32) {
    (width.clamp(1, SIDE), height.clamp(1, SIDE))
}

/// Positions of nodes, and the nodes at both ends of each edge.
pub struct Canvas<'a> {
    pub x: &'a [f64],
    pub y: &'a [f64],
    pub ends: [&'a [u32]; 2],
}

/// A well-mixed number (the finaliser of SplitMix64).
pub fn hash(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Counts the nodes in each pixel of a window and the edges through it. Gives the number of nodes in the window, and a
/// note if not all edges were counted. A pixel's value is that of datashader: `(x - x0) * width / (x1 - x0)` rounded
/// down, the last pixel with the upper edge.
///
/// # Errors
/// If the window has no extent, or the user stops it.
pub fn raster(
    canvas: &Canvas<'_>,
    window: Window,
    (width, height): (u32, u32),
    task: &TaskHandle,
) -> Result<(GraphRaster, u64, Option<String>), Diagnostic> {
    let Window { x0, y0, x1, y1 } = window;
    let is_extent = |low: f64, high: f64| low.is_finite() && high.is_finite() && low < high;
    if !is_extent(x0, x1) || !is_extent(y0, y1) {
        let message = format!("the window from ({x0}, {y0}) to ({x1}, {y1}) has no extent");
        return Err(
            plan_error("argument", message).help("expected finite numbers, each lower bound below its upper bound")
        );
    }
    let (width, height) = size(width, height);
    let pixels = width as usize * height as usize;
    // Continuous coordinates in pixels, with rows from the top.
    let place = |node: u32| {
        let (x, y) = (canvas.x[node as usize], canvas.y[node as usize]);
        ((x - x0) * f64::from(width) / (x1 - x0), (y1 - y) * f64::from(height) / (y1 - y0))
    };
    let (right, bottom) = (f64::from(width), f64::from(height));
    let picture = Window { x0: 0.0, y0: 0.0, x1: right, y1: bottom };
    let pixel = |(x, y): (f64, f64)| {
        let is_inside = (0.0..=right).contains(&x) && (0.0..=bottom).contains(&y);
        let cell = |value: f64, size: u32| (value as u32).min(size - 1) as usize;
        is_inside.then(|| cell(y, height) * width as usize + cell(x, width))
    };
    let mut node_counts = vec![0; pixels];
    let mut inside = 0;
    for node in 0..canvas.x.len() as u32 {
        if let Some(pixel) = pixel(place(node)) {
            node_counts[pixel] += 1;
            inside += 1;
        }
    }
    let edges = canvas.ends[0].len();
    let is_sampled = edges > EDGES;
    let limit = (u128::from(u64::MAX) * EDGES as u128 / edges.max(1) as u128) as u64;
    let threads = thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(edges / (4 * CHUNK) + 1)
        .min((COUNTS / (4 * pixels)).max(1));
    let part = edges.div_ceil(threads).max(1);
    let draw = |begin: usize| {
        let mut counts = vec![0_u32; pixels];
        for edge in begin..(begin + part).min(edges) {
            if edge % CHUNK == 0 && task.cancelled() {
                break;
            }
            if is_sampled && hash(edge as u64) > limit {
                continue;
            }
            let (from, to) = (place(canvas.ends[0][edge]), place(canvas.ends[1][edge]));
            let Some((from, to, _)) = clipped(picture, from, to) else { continue };
            let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0);
            let (dx, dy) = ((to.0 - from.0) / steps, (to.1 - from.1) / steps);
            let mut last = usize::MAX;
            for step in 0..=steps as u32 {
                let at = (from.0 + dx * f64::from(step), from.1 + dy * f64::from(step));
                if let Some(pixel) = pixel(at).filter(|pixel| *pixel != last) {
                    counts[pixel] += 1;
                    last = pixel;
                }
            }
        }
        counts
    };
    let parts: Vec<Vec<u32>> = thread::scope(|scope| {
        let draw = &draw;
        let parts: Vec<_> = (0..threads).map(|part_of| scope.spawn(move || draw(part_of * part))).collect();
        parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    task.check()?;
    let mut edge_counts = vec![0; pixels];
    parts.iter().for_each(|part| edge_counts.iter_mut().zip(part).for_each(|(sum, count)| *sum += count));
    let note =
        is_sampled.then(|| format!("about {} of {} edges drawn", thousands(EDGES as u64), thousands(edges as u64)));
    Ok((GraphRaster { window, width, height, node_counts, edge_counts }, inside, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    // By hand: nodes in the corner pixels of a square of 4 x 4, and an edge along its diagonal.
    #[test]
    fn nodes_and_edges_are_counted_in_pixels() {
        let (x, y) = ([0.5, 3.5, f64::NAN], [0.5, 3.5, 0.0]);
        let canvas = Canvas { x: &x, y: &y, ends: [&[0, 0], &[1, 2]] };
        let window = Window { x0: 0.0, y0: 0.0, x1: 4.0, y1: 4.0 };
        let (raster, inside, note) = raster(&canvas, window, (4, 4), &TaskHandle::default()).unwrap();
        assert_eq!(raster.node_counts, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(inside, 2);
        assert_eq!(note, None);
        assert!([3, 6, 9, 12].iter().all(|pixel| raster.edge_counts[*pixel] == 1), "{:?}", raster.edge_counts);
    }

    #[test]
    fn a_window_shows_the_part_of_a_line_inside() {
        let (x, y) = ([-1e6, 1e6], [0.5, 0.5]);
        let canvas = Canvas { x: &x, y: &y, ends: [&[0], &[1]] };
        let window = Window { x0: 0.0, y0: 0.0, x1: 1.0, y1: 1.0 };
        let (raster, inside, _) = raster(&canvas, window, (8, 3), &TaskHandle::default()).unwrap();
        assert_eq!(inside, 0);
        assert_eq!(raster.edge_counts[8..16], [1; 8]);
        assert_eq!(raster.edge_counts.iter().sum::<u32>(), 8);
    }

    #[test]
    fn a_window_without_extent_is_an_error() {
        let canvas = Canvas { x: &[0.0], y: &[0.0], ends: [&[], &[]] };
        let window = Window { x0: 1.0, y0: 0.0, x1: 1.0, y1: f64::NAN };
        assert_eq!(super::raster(&canvas, window, (8, 3), &TaskHandle::default()).unwrap_err().code, "argument");
    }
}
