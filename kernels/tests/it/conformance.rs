//! The suite on the emulated device: with a look at each access at small sizes, and without at all sizes.

use onrush_device::{Device, Emulation, Options, Owner};
use onrush_kernels::conformance::{self, Coverage};
use onrush_kernels::{Context, Library};

fn run(checked: bool, depth: Coverage, algorithm: &str) {
    let emulation = Emulation { checked, workers: 4, memory_bytes: 1 << 30, ..Emulation::default() };
    let device = Device::emulated(&emulation, &Options::default()).unwrap();
    let context = Context::new(&Library::new(&device, None), &Owner::new("test")).unwrap();
    let outcomes = conformance::run(&context, depth, algorithm);
    for outcome in &outcomes {
        assert!(outcome.failures.is_empty(), "{}", outcome.failures[..outcome.failures.len().min(3)].join("\n"));
        assert!(outcome.passed > 20, "{} has {} cases", outcome.algorithm, outcome.passed);
    }
    assert_eq!(outcomes.len(), 1);
    drop(context);
    assert_eq!(device.memory().unwrap().used, 0);
}

macro_rules! algorithms {
    ($($name:ident)*) => {
        mod checked {
            $(
                #[test]
                fn $name() {
                    super::run(true, super::Coverage::Small, stringify!($name));
                }
            )*
        }
        mod plain {
            $(
                #[test]
                fn $name() {
                    super::run(false, super::Coverage::Full, stringify!($name));
                }
            )*
        }

        #[test]
        fn every_algorithm_is_tested() {
            assert_eq!(conformance::algorithms().collect::<Vec<_>>(), [$(stringify!($name)),*]);
        }
    };
}
algorithms!(reduce scan gather sort dates decimal top_k dictionary matrix crossfilter raster graph structure);
