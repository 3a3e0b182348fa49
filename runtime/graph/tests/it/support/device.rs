//! The emulated device, and graphs for tests of algorithms on it.

use onrush_device::{Device, Emulation, Options, Owner};
use onrush_graph::{Graph, generate};
use onrush_kernels::{Context, Library};

use crate::support::graphs;

/// An emulated device and a stream on it.
pub struct Emulated {
    pub device: Device,
    pub context: Context,
}

impl Emulated {
    pub fn new() -> Emulated {
        let emulation = Emulation { workers: 4, memory_bytes: 1 << 30, ..Emulation::default() };
        let device = Device::emulated(&emulation, &Options::default()).unwrap();
        let context = Context::new(&Library::new(&device, None), &Owner::new("test")).unwrap();
        Emulated { device, context }
    }

    /// All memory is freed once the graphs are dropped.
    pub fn assert_freed(self) {
        let Emulated { device, context } = self;
        drop(context);
        assert_eq!(device.memory().unwrap().used, 0);
    }
}

/// The graphs of `graphs.json`, random ones with loops, parallel edges and equal weights, and shapes that are one long
/// row or one long path. Weights are at least 0.
pub fn cases() -> Vec<(String, Graph)> {
    let absolute = |weights: Option<Vec<f64>>| weights.map(|w| w.iter().map(|x| x.abs()).collect());
    let mut all: Vec<(String, Graph)> = graphs()
        .into_iter()
        .map(|g| {
            (g.name.clone(), Graph::new(g.directed, g.n, &g.sources, &g.targets, absolute(g.weights.clone())).unwrap())
        })
        .collect();
    for (directed, scale) in [(false, 8), (true, 9), (false, 11)] {
        let (s, t) = generate::rmat(scale, 8, 3);
        let weights = (0..s.len()).map(|e| (generate::hash(1, e as u64) % 9) as f64 / 4.0).collect();
        let graph = Graph::new(directed, 1 << scale, &s, &t, Some(weights)).unwrap();
        all.push((format!("rmat {scale}, directed {directed}"), graph));
    }
    let (s, t) = generate::path(700);
    all.push(("path".into(), Graph::new(false, 703, &s, &t, None).unwrap()));
    all.push(("directed path".into(), Graph::new(true, 703, &s, &t, None).unwrap()));
    let (s, t) = generate::star(3000);
    all.push(("star".into(), Graph::new(false, 3001, &s, &t, None).unwrap()));
    all.push(("star outwards".into(), Graph::new(true, 3001, &s, &t, None).unwrap()));
    all.push(("star inwards".into(), Graph::new(true, 3001, &t, &s, None).unwrap()));
    all.push(("isolated".into(), Graph::new(false, 40, &[], &[], None).unwrap()));
    all.push(("empty".into(), Graph::new(true, 0, &[], &[], None).unwrap()));
    all
}
