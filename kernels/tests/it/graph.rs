//! Functions of the headers of graphs at the limits of their numbers, on the emulated device. Expected values are
//! computed by hand.

use onrush_device::{Arguments, Device, Emulation, Options, Owner};
use onrush_kernels::graph::{Kernel, Kernels, THREADS};
use onrush_kernels::{Context, Library, headers};

fn context() -> Context {
    let emulation = Emulation { checked: true, ..Emulation::default() };
    let device = Device::emulated(&emulation, &Options::default()).unwrap();
    Context::new(&Library::new(&device, None), &Owner::new("test")).unwrap()
}

#[test]
fn fixed_point_rounds_to_the_nearest() {
    let context = context();
    let kernel = Kernel {
        name: "fixed",
        parameters: "const f64* values, u64 count, u64* out",
        call: "for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = graph_fixed(values[i])",
    };
    let kernels = Kernels::new(&context, &headers::GRAPH_RANK, &[kernel]);
    let unit = 2f64.powi(-60);
    let values = [0.0, 0.25 * unit, 0.75 * unit, 2.25 * unit, 2.75 * unit, 1.0];
    let (from, out) = (context.upload(&values).unwrap(), context.zeros(8 * values.len() as u64).unwrap());
    let count = values.len() as u64;
    kernels.over("fixed", count, Arguments::new().buffer(&from).value(count).buffer(&out)).unwrap();
    let found = out.read::<u64>(0..values.len(), &context.stream).unwrap();
    assert_eq!(found, [0, 0, 1, 2, 3, 1 << 60]);
}

/// Numbers of nodes may have all 32 bits: an edge that is left out then has a key of 64 ones.
#[test]
fn keys_of_arcs_may_have_all_bits() {
    let context = context();
    let numbers = "struct Same {\n  const u32* ids;\n  __device__ u64 number(u64 row) const { return ids[row]; }\n};\n";
    let kernel = Kernel {
        name: "pack",
        parameters: "const u32* ids, const u32* valid, u32 bits, u64* keys",
        call: "graph_pack(GraphIds<u32>{ids, valid, 0}, GraphIds<u32>{ids, valid, 0}, Same{ids}, Same{ids}, 3, bits, 0, keys)",
    };
    let kernels = Kernels::typed(&context, &headers::GRAPH_BUILD, THREADS, numbers, &[kernel]);
    let ids = context.upload(&[5_u32, 7, 3 << 30]).unwrap();
    let (valid, keys) = (context.upload(&[0b101_u32]).unwrap(), context.zeros(24).unwrap());
    for (bits, expected) in
        [(31, [5 << 31 | 5, (1 << 62) - 1, 3 << 61 | 3 << 30]), (32, [5 << 32 | 5, u64::MAX, 3 << 62 | 3 << 30])]
    {
        let arguments = Arguments::new().buffer(&ids).buffer(&valid).value::<u32>(bits).buffer(&keys);
        kernels.over("pack", 3, arguments).unwrap();
        assert_eq!(keys.read::<u64>(0..3, &context.stream).unwrap(), expected, "{bits} bits");
    }
}
