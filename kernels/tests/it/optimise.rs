//! Kernels that were compiled quickly are replaced.

use std::process::Command;
use std::time::{Duration, Instant};

use onrush_device::{Arguments, Device, Emulation, Options, Owner};
use onrush_kernels::graph::{Kernel, Kernels};
use onrush_kernels::{Context, Library, headers};

/// The value that a kernel writes: 7.
fn seven(library: &Library) -> u64 {
    let context = Context::new(library, &Owner::new("test")).unwrap();
    let kernel = Kernel { name: "seven", parameters: "u64* out", call: "if (thread_in_grid() == 0) *out = 7" };
    let out = context.zeros(8).unwrap();
    let kernels = Kernels::new(&context, &headers::GRAPH_RANK, &[kernel]);
    kernels.over("seven", 1, Arguments::new().buffer(&out)).unwrap();
    out.read_one::<u64>(&context.stream).unwrap()
}

/// In a separate process: code is optimised while nobody waits for a compiler.
#[test]
fn quick_kernels_are_replaced_by_optimised_ones() {
    if std::env::var_os("ONRUSH_TEST_CHILD").is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "optimise::quick_kernels_are_replaced_by_optimised_ones", "--nocapture"])
            .env("ONRUSH_TEST_CHILD", "1");
        let ran = child.output().unwrap();
        let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        println!("{said}");
        return assert!(ran.status.success() && said.contains("1 passed"), "{}\n{said}", ran.status);
    }
    let folder = tempfile::tempdir().unwrap();
    let emulation = Emulation { quick: true, ..Emulation::default() };
    let device = Device::emulated(&emulation, &Options::default()).unwrap();
    let library = || Library::new(&device, Some(folder.path()));
    let first = library();
    assert_eq!((seven(&first), first.generation()), (7, 0));
    // Nothing is on disk before the optimised kernel is there.
    let again = library();
    assert_eq!((seven(&again), again.statistics().from_disk), (7, 0));
    let begun = Instant::now();
    while first.generation() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the kernel was not replaced");
        std::thread::yield_now();
    }
    assert_eq!((seven(&first), first.statistics().optimised), (7, 1));
    let later = library();
    assert_eq!((seven(&later), later.statistics().from_disk, later.statistics().compiled), (7, 1, 0));
}
