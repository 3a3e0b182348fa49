//! The parts of a call.

use std::time::Instant;

use crate::median;

/// Times of single steps on the host, in microseconds.
pub fn costs(gpu: &onrush_ops::Executor) -> Result<(), String> {
    let context = gpu.context();
    let say = |e: onrush_kernels::Error| e.to_string();
    let body = "extern \"C\" __global__ void nothing(u64* out) { if (thread_in_grid() == 0) *out = 1; }\n".to_string();
    let program = onrush_kernels::Program::new(&[&onrush_kernels::headers::PRELUDE], body, ["nothing"]);
    let nothing = context.library.function(&program, "nothing").map_err(say)?;
    let word = context.zeros(64).map_err(say)?;
    let launch = || -> onrush_ops::Result<()> {
        let arguments = onrush_device::Arguments::new().buffer(&word);
        onrush_ops::launch::launch(context, &nothing, arguments, 32, 32, 0)
    };
    type Step<'a> = (&'a str, Box<dyn Fn() -> onrush_ops::Result<()> + 'a>);
    let steps: Vec<Step> = vec![
        ("allocate and free 64 bytes", Box::new(|| Ok(context.allocate(64).map(drop)?))),
        ("allocate and free 1 MiB", Box::new(|| Ok(context.allocate(1 << 20).map(drop)?))),
        ("fill 64 bytes", Box::new(|| Ok(word.fill(0, &context.stream)?))),
        ("launch", Box::new(launch)),
        ("read 16 bytes", Box::new(|| Ok(word.read::<u64>(0..2, &context.stream).map(drop)?))),
        (
            "launch and wait",
            Box::new(|| {
                launch()?;
                Ok(context.stream.synchronize()?)
            }),
        ),
        (
            "fill, launch twice, read",
            Box::new(|| {
                word.fill(0, &context.stream)?;
                launch()?;
                launch()?;
                Ok(word.read::<u64>(0..2, &context.stream).map(drop)?)
            }),
        ),
    ];
    for (name, step) in steps {
        let mut times = Vec::new();
        for _ in 0..201 {
            let begun = Instant::now();
            step().map_err(|e| e.to_string())?;
            times.push(begun.elapsed());
            context.stream.synchronize().map_err(|e| e.to_string())?;
        }
        println!("{name:<32} {:>8.1} us", median(times) * 1e3);
    }
    copies(gpu)
}

/// Bandwidth of the bus, from the host's pageable memory and to new memory, as columns come and go.
fn copies(gpu: &onrush_ops::Executor) -> Result<(), String> {
    let context = gpu.context();
    for megabytes in [1, 4, 16, 64, 256, 1024] {
        let values: Vec<u64> = (0..megabytes << 17).collect();
        let buffer = context.upload(&values).map_err(|e| e.to_string())?;
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            let begun = Instant::now();
            buffer.write(0, &values, &context.stream).map_err(|e| e.to_string())?;
            context.stream.synchronize().map_err(|e| e.to_string())?;
            to.push(begun.elapsed());
            let begun = Instant::now();
            let back = buffer.read::<u64>(0..values.len(), &context.stream).map_err(|e| e.to_string())?;
            from.push(begun.elapsed());
            if back != values {
                return Err(format!("{megabytes} MB came back as something else"));
            }
        }
        let rate = |times| (values.len() * 8) as f64 / median(times) / 1e6;
        println!("{megabytes:>5} MB to the device {:>6.1} GB/s, to the host {:>6.1} GB/s", rate(to), rate(from));
    }
    Ok(())
}
