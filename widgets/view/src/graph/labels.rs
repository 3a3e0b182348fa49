//! Labels of nodes that do not overlap, by a grid of cells of 60 pixels. In each cell the most important node comes
//! first, as in sigma.js. `widgets/web/ts/graph/labels.ts` has the same rules.

use std::collections::HashMap;

/// Pixels of a cell.
const CELL: f64 = 60.0;
/// Nodes of one cell that are tried, if there are many.
const TRIED: usize = 2;
/// Up to this number of nodes all are tried.
const FEW: usize = 200;
const MOST: usize = 300;
/// Between a node and its label, and between two labels.
const GAP: f64 = 3.0;

/// A node that may be labelled.
pub struct Candidate {
    pub x: f64,
    pub y: f64,
    pub radius: f64,
    /// Width of the text, in pixels. Zero: no label.
    pub width: f64,
    pub importance: f64,
}

/// A box: left, top, right, bottom.
pub type Rect = [f64; 4];

fn overlap(a: &Rect, b: &Rect) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// The labelled nodes with the boxes of their labels, which lie inside of the area.
pub fn place(nodes: &[Candidate], height: f64, area: Rect) -> Vec<(usize, Rect)> {
    let mut order: Vec<usize> = (0..nodes.len()).filter(|i| nodes[*i].width > 0.0).collect();
    order.sort_by(|a, b| nodes[*b].importance.total_cmp(&nodes[*a].importance).then(a.cmp(b)));
    let mut in_cell: HashMap<(i64, i64), usize> = HashMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for i in order {
        let cell = ((nodes[i].x / CELL).floor() as i64, (nodes[i].y / CELL).floor() as i64);
        let rank = in_cell.entry(cell).or_default();
        if *rank < TRIED || nodes.len() <= FEW {
            ranked.push((*rank, i));
        }
        *rank += 1;
    }
    // A stable sort keeps the order by importance.
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut placed: Vec<(usize, Rect)> = Vec::new();
    for (_, i) in ranked {
        if placed.len() == MOST {
            break;
        }
        let free = |rect: &Rect| {
            let is_inside = rect[0] >= area[0] && rect[1] >= area[1] && rect[2] <= area[2] && rect[3] <= area[3];
            is_inside && placed.iter().all(|(_, other)| !overlap(rect, other))
        };
        let hidden = |rect: &Rect| match nodes.len() <= FEW {
            true => nodes.iter().enumerate().filter(|(j, node)| *j != i && covers(rect, node)).count(),
            false => 0,
        };
        let best = sides(&nodes[i], height).into_iter().filter(free).enumerate();
        // The side at which it hides no node; else the first side that is free.
        if let Some((_, rect)) = best.min_by_key(|(side, rect)| (hidden(rect), *side)) {
            placed.push((i, rect));
        }
    }
    placed
}

/// Whether a label at this place hides a part of the node.
fn covers(rect: &Rect, node: &Candidate) -> bool {
    let r = node.radius;
    overlap(rect, &[node.x - r, node.y - r, node.x + r, node.y + r])
}

/// Right of the node, left, above, below.
fn sides(node: &Candidate, height: f64) -> [Rect; 4] {
    let Candidate { x, y, radius, width, .. } = *node;
    let (away, half) = (radius + GAP, height / 2.0);
    let at = |left: f64, top: f64| [left, top, left + width, top + height];
    [
        at(x + away, y - half),
        at(x - away - width, y - half),
        at(x - width / 2.0, y - away - height + GAP),
        at(x - width / 2.0, y + away - GAP),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knuth's MMIX generator.
    struct Random(u64);

    impl Random {
        fn next(&mut self, below: u64) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % below) as f64
        }
    }

    #[test]
    fn labels_overlap_neither_each_other_nor_the_edge() {
        let mut random = Random(7);
        for count in [1, 2, 10, 100, 199, 201, 1000, 5000] {
            for spread in [1, 20, 600] {
                let mut node = |_| Candidate {
                    x: random.next(spread) + 20.0,
                    y: random.next(spread) + 20.0,
                    radius: random.next(12) + 1.0,
                    width: random.next(120),
                    importance: random.next(40),
                };
                let nodes: Vec<Candidate> = (0..count).map(&mut node).collect();
                let area = [0.0, 0.0, 640.0, 400.0];
                let placed = place(&nodes, 13.0, area);
                for (n, (i, a)) in placed.iter().enumerate() {
                    assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= 640.0 && a[3] <= 400.0, "{a:?}");
                    assert!((a[2] - a[0] - nodes[*i].width).abs() < 1e-9 && (a[3] - a[1] - 13.0).abs() < 1e-9);
                    for (j, b) in &placed[n + 1..] {
                        assert!(i != j && !overlap(a, b), "{count} nodes: {a:?} and {b:?}");
                    }
                }
                assert!(placed.len() <= MOST);
            }
        }
    }

    #[test]
    fn the_most_important_node_of_each_cell_has_a_label() {
        let node = |x: f64, importance: f64| Candidate { x, y: 100.0, radius: 4.0, width: 50.0, importance };
        // Two nodes of one cell whose labels cannot both be drawn on any side, and one that is far from them.
        let crowd: Vec<Candidate> = (0..12).map(|i| node(100.0, f64::from(i))).chain([node(400.0, 0.0)]).collect();
        let placed = place(&crowd, 13.0, [0.0, 0.0, 640.0, 200.0]);
        assert_eq!(placed.first().map(|(i, _)| *i), Some(11));
        assert!(placed.iter().any(|(i, _)| *i == 12), "{placed:?}");
        assert!(placed.len() < 13, "{placed:?}");
        // The label of a lone node is at its right side, in the middle of its height.
        assert_eq!(placed.iter().find(|(i, _)| *i == 12).map(|(_, rect)| *rect), Some([407.0, 93.5, 457.0, 106.5]));
    }

    #[test]
    fn a_label_goes_where_it_hides_no_node() {
        let node = |x: f64, y: f64, width: f64| Candidate { x, y, radius: 5.0, width, importance: width };
        let nodes = [node(100.0, 100.0, 40.0), node(130.0, 100.0, 0.0)];
        let placed = place(&nodes, 13.0, [0.0, 0.0, 300.0, 200.0]);
        assert_eq!(placed, [(0, [52.0, 93.5, 92.0, 106.5])]);
    }
}
