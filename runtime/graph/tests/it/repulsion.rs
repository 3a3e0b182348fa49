//! Forces between all pairs of points.

use onrush_graph::Run;
use onrush_graph::generate::uniform;
use onrush_graph::layout::{EXACT, Point, direct, repulsion};

#[test]
fn forces_of_the_tree_are_those_of_all_pairs() {
    let n = 5000;
    let random = |v: usize, i: u64| uniform(i, v as u64);
    let clouds = |v: usize| {
        let (angle, radius) = (random(v, 1) * 6.3, random(v, 2).powi(6) * 0.1);
        [(v % 7) as f64 + radius * angle.cos(), (v % 3) as f64 + radius * angle.sin()]
    };
    let shapes: [(&str, Vec<Point>); 3] = [
        ("square", (0..n).map(|v| [random(v, 1), random(v, 2)]).collect()),
        ("clouds", (0..n).map(clouds).collect()),
        ("line", (0..n).map(|v| [random(v, 1) * 1e6, 0.0]).collect()),
    ];
    let mass: Vec<f64> = (0..n).map(|v| 1.0 + (v % 10) as f64).collect();
    let all: Vec<u32> = (0..n as u32).collect();
    for (name, points) in shapes {
        let found = repulsion(&points, &mass, 0.0, &Run::silent()).unwrap();
        let error = |v: usize| {
            let exact = direct(v as u32, points[v], &all, &points, &mass, 0.0);
            (exact[0] - found[v][0]).hypot(exact[1] - found[v][1]) / exact[0].hypot(exact[1])
        };
        let errors: Vec<f64> = (0..n).step_by(7).map(error).collect();
        let relative = errors.iter().sum::<f64>() / errors.len() as f64;
        println!("{name}: {relative:.2e}");
        assert!(relative < 0.01, "{name}: {relative}");
    }
}

#[test]
fn points_at_one_place_push_each_other_apart() {
    for n in [3, EXACT + 1] {
        let forces = repulsion(&vec![[2.0, 3.0]; n], &vec![1.0; n], 0.0, &Run::silent()).unwrap();
        assert!(forces.iter().all(|f| f[0].is_finite() && f[0].hypot(f[1]) > 0.0));
        let sum = forces.iter().fold([0.0, 0.0], |a, f| [a[0] + f[0], a[1] + f[1]]);
        assert!(sum[0].abs() + sum[1].abs() < 1e-6 * n as f64, "{sum:?}");
    }
}
