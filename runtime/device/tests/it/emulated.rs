//! The emulated device, by kernels whose answers are known: what CUDA has built in, and what the checker must see and
//! must not.

use std::os::fd::AsFd;

use onrush_device::{
    Arguments, CompileOptions, CompletionFlag, Device, Emulation, Error, Grid, Options, Owner, Result, Source,
};

fn device(checked: bool) -> Device {
    let emulation = Emulation { checked, workers: 4, ..Emulation::default() };
    Device::emulated(&emulation, &Options::default()).unwrap()
}

/// Runs `kernel(u32* out, u32 n)` over zeros and gives back what it wrote.
fn run_on(device: &Device, text: &str, grid: Grid, length: usize) -> Result<Vec<u32>> {
    let stream = device.stream()?;
    let entries = ["kernel", "other"].into_iter().filter(|name| text.contains(&format!("void {name}(")));
    let source = Source::new("test.cu", text, entries);
    let module = device.load(&device.compile(&source, &CompileOptions::default())?)?;
    let out = device.zeros(&Owner::new("test"), 4 * length as u64, &stream)?;
    let arguments = Arguments::new().buffer(&out).value(length as u32);
    // SAFETY: the parameters are those of all kernels here.
    unsafe { module.function("kernel")?.launch(&grid, arguments, &stream)? };
    out.read(0..length, &stream)
}

/// On both modes.
#[track_caller]
fn check(text: &str, grid: Grid, length: usize, expected: impl Fn(u32) -> u32) {
    for checked in [false, true] {
        let found = run_on(&device(checked), text, grid, length).unwrap();
        let expected: Vec<u32> = (0..length as u32).map(&expected).collect();
        assert_eq!(found, expected, "checked: {checked}");
    }
}

/// The checker's message about a wrong kernel.
#[track_caller]
fn fault(text: &str, grid: Grid, length: usize) -> String {
    match run_on(&device(true), text, grid, length) {
        Err(Error::Kernel { kernel, reason, .. }) => {
            assert_eq!(kernel, "kernel");
            reason
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the checker saw nothing"),
    }
}

/// Whether the compiler is clang++, which sees a little less than g++ and reports other columns.
fn is_clang() -> bool {
    device(true).compiler().unwrap().contains("clang")
}

#[test]
fn indices_are_those_of_cuda() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = i * gridDim.x;
    }"#;
    check(text, Grid::new(4, 96), 300, |i| i * 4);
}

#[test]
fn blocks_share_memory_behind_barriers() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        __shared__ unsigned tile[64];
        tile[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
        __syncthreads();
        out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
        int odd = __syncthreads_count(threadIdx.x & 1);
        if (odd != 32 || __syncthreads_and(threadIdx.x < 63) || !__syncthreads_or(threadIdx.x == 63)) out[0] = 12345;
    }"#;
    check(text, Grid::new(3, 64), 192, |i| i / 64 * 64 + 63 - i % 64);
}

#[test]
fn dynamic_shared_memory() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        unsigned* tile = (unsigned*)onrush_fiber->dynamic_shared;
        tile[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = tile[threadIdx.x ^ 1];
    }"#;
    check(text, Grid::new(1, 128).shared(512), 128, |i| i ^ 1);
}

#[test]
fn warps_shuffle_and_vote() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        unsigned t = threadIdx.x, lane = t & 31, all = 0xffffffffu;
        unsigned r = 0;
        r |= __shfl_sync(all, t, 5) != (t & ~31u) + 5;
        r |= (__shfl_up_sync(all, t, 3, 16) != ((lane & 15) < 3 ? t : t - 3)) << 1;
        r |= (__shfl_down_sync(all, (unsigned long long)t << 32, 2, 8) >> 32 != ((lane & 7) > 5 ? t : t + 2)) << 2;
        r |= (__shfl_xor_sync(all, (double)t, 9) != (double)(t ^ 9)) << 3;
        r |= (__ballot_sync(all, lane % 3 == 0) != 0x49249249u) << 4;
        r |= (__match_any_sync(all, lane / 8) != 0xffu << lane / 8 * 8) << 5;
        int same;
        r |= (__match_all_sync(all, lane, &same) != 0 || same) << 6;
        r |= (__reduce_add_sync(all, lane) != 496) << 7;
        if (lane < 16) r |= (__any_sync(0xffffu, lane == 20) || !__all_sync(0xffffu, lane < 16)) << 8;
        else r |= (__shfl_sync(0xffff0000u, t, 17) != (t & ~31u) + 17) << 9;
        r |= (__popc(0xf0f0u) != 8 || __clz(1) != 31 || __ffs(8) != 4 || __brev(1u) != 1u << 31) << 10;
        r |= (__umulhi(1u << 31, 6) != 3 || __byte_perm(0x33221100u, 0x77665544u, 0x7250u) != 0x77225500u) << 11;
        out[t] = r;
    }"#;
    check(text, Grid::new(1, 64), 64, |_| 0);
}

#[test]
fn atomics_count_every_thread() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        atomicAdd(&out[0], 2u);
        atomicMax(&out[1], blockIdx.x * blockDim.x + threadIdx.x);
        atomicAdd((double*)&out[2], 0.5);
        if (atomicCAS(&out[4], 0u, 7u) == 0) atomicExch(&out[5], 9u);
        atomicInc(&out[6], 9u);
    }"#;
    // 2.5 * 1280 = 640.0 is 0x4084000000000000; 1280 increments modulo 10 are 0.
    let expected = [2560, 1279, 0, 0x4084_0000, 7, 9, 0, 0];
    check(text, Grid::new(10, 128), 8, |i| expected[i as usize]);
}

#[test]
fn blocks_wait_for_earlier_blocks() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        // The last block first: each waits for the one with the next number.
        if (threadIdx.x == 0) {
            unsigned ticket = atomicAdd(&out[n - 1], 1u);
            unsigned value = 1;
            if (ticket > 0) {
                while ((value = atomicAdd(&out[ticket - 1], 0u)) == 0) __nanosleep(20);
                value++;
            }
            __threadfence();
            atomicExch(&out[ticket], value);
        }
    }"#;
    check(text, Grid::new(40, 32), 41, |i| if i == 40 { 40 } else { i + 1 });
}

#[test]
fn blocks_wait_for_later_blocks() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        if (threadIdx.x == 0) {
            atomicAdd(&out[0], 1u);
            while (atomicCAS(&out[0], n, n) != gridDim.x) {}
        }
        __syncthreads();
        if (threadIdx.x == 1) out[blockIdx.x + 1] = 5;
    }"#;
    check(text, Grid::new(20, 32), 21, |i| if i == 0 { 20 } else { 5 });
}

#[test]
fn threads_of_a_block_wait_for_each_other() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        for (bool done = false; !done;) {
            if (atomicCAS(&out[0], 0u, 1u) == 0) {
                __threadfence();
                out[1]++;
                __threadfence();
                atomicExch(&out[0], 0u);
                done = true;
            }
        }
    }"#;
    check(text, Grid::new(2, 64), 2, |i| if i == 0 { 0 } else { 128 });
}

#[test]
fn a_write_past_the_end_is_seen() {
    let text = "extern \"C\" __global__ void kernel(unsigned* out, unsigned n) {\n  out[threadIdx.x] = 1;\n}";
    let reason = fault(text, Grid::new(1, 32), 31);
    assert_eq!(
        reason,
        "thread (31,0,0) of block (0,0,0) writes 4 bytes at offset 124 of an allocation of 124 bytes at test.cu:2: \
         past its end"
    );
}

#[test]
fn a_missing_barrier_is_a_race() {
    let text = "extern \"C\" __global__ void kernel(unsigned* out, unsigned n) {\n  __shared__ unsigned tile[64];\n  \
                tile[threadIdx.x] = threadIdx.x;\n  out[threadIdx.x] = tile[threadIdx.x ^ 32];\n}";
    let reason = fault(text, Grid::new(1, 64), 64);
    assert!(reason.starts_with("race: thread (") && reason.ends_with("with no barrier between"), "{reason}");
    assert!(
        reason.contains("of shared memory at test.cu:4, which") || reason.contains("at test.cu:3, which"),
        "{reason}"
    );
}

#[test]
fn blocks_that_write_the_same_place_race() {
    let text =
        "extern \"C\" __global__ void kernel(unsigned* out, unsigned n) {\n  if (threadIdx.x == 0) out[0] += 1;\n}";
    let reason = fault(text, Grid::new(2, 32), 4);
    assert!(reason.starts_with("race: thread (0,0,0) of block (1,0,0)"), "{reason}");
    assert!(reason.contains("which thread (0,0,0) of block (0,0,0) wrote at test.cu:2"), "{reason}");
    // The same with a lock is none: `threads_of_a_block_wait_for_each_other`.
}

#[test]
fn publishing_without_a_fence_is_a_race() {
    let text = |fence: &str| {
        format!(
            r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {{
                out[2 + blockIdx.x * 32 + threadIdx.x] = 3;
                __syncthreads();
                __shared__ unsigned ticket;
                if (threadIdx.x == 0) {{
                    {fence}
                    ticket = atomicAdd(&out[0], 1u);
                }}
                __syncthreads();
                if (ticket == gridDim.x - 1) atomicAdd(&out[1], out[2 + (31 - threadIdx.x)] + out[2 + 32 + threadIdx.x]);
            }}"#
        )
    };
    let reason = fault(&text(""), Grid::new(2, 32), 66);
    assert!(reason.ends_with("with no fence and atomic operation between"), "{reason}");
    check(&text("__threadfence();"), Grid::new(2, 32), 66, |i| [2, 192].get(i as usize).copied().unwrap_or(3));
}

#[test]
fn a_barrier_that_not_all_reach_is_a_deadlock() {
    let text = "extern \"C\" __global__ void kernel(unsigned* out, unsigned n) {\n  if (threadIdx.x < 7)\n    __syncwarp();\n  \
                __syncthreads();\n}";
    let reason = fault(text, Grid::new(1, 32), 4);
    assert_eq!(
        reason,
        "deadlock: thread (0,0,0) of block (0,0,0) waits at __syncwarp at test.cu:3 with mask 0xffffffff, and lane 7 of its \
         warp waits at __syncthreads at test.cu:4"
    );
}

#[test]
fn shared_memory_does_not_start_as_zeros() {
    let text = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        __shared__ unsigned tile[32];
        if (n == 0) tile[threadIdx.x] = 1;
        out[threadIdx.x] = tile[threadIdx.x];
    }"#;
    let found = run_on(&device(true), text, Grid::new(1, 32), 32).unwrap();
    assert_eq!(found, [0xa5a5_a5a5; 32]);
}

#[test]
fn a_source_that_does_not_compile_shows_its_line() {
    let error = run_on(&device(false), "\nextern \"C\" __global__ void kernel(int x) { y = x; }", Grid::new(1, 1), 1);
    match error {
        Err(Error::Compile { name, log }) => {
            assert_eq!(name, "test.cu");
            assert!(log.contains("test.cu:2"), "{log}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn memory_is_counted_and_bounded() {
    let emulation = Emulation { memory_bytes: 1 << 20, ..Emulation::default() };
    let device = Device::emulated(&emulation, &Options { capacity: Some(1 << 19), cache: None }).unwrap();
    let stream = device.stream().unwrap();
    let (a, b) = (Owner::new("a.ipynb"), Owner::new("b.ipynb"));
    let values: Vec<u64> = (0..1000).collect();
    let first = device.upload(&a, &values, &stream).unwrap();
    assert_eq!(first.read::<u64>(990..1000, &stream).unwrap(), values[990..]);
    assert!(matches!(device.allocate(&b, 1 << 19, &stream), Err(Error::OutOfMemory { free: 516_096, .. })));
    let report = device.memory().unwrap();
    assert_eq!((report.used, report.pool, report.gap()), (8192, 8000, 0));
    drop(first);
    let report = device.memory().unwrap();
    assert_eq!((report.used, report.high_water, report.pool, report.gap()), (0, 8192, 0, 0));
}

#[test]
fn a_kernel_that_asks_for_no_index_may_be_the_first() {
    let first = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) { out[0] = n; }"#;
    let second = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) { out[threadIdx.x] = n; }"#;
    let device = device(true);
    assert_eq!(run_on(&device, first, Grid::new(1, 1), 1).unwrap(), [1]);
    assert_eq!(run_on(&device, second, Grid::new(1, 2), 2).unwrap(), [2, 2]);
}

/// The checker's message in strict mode.
#[track_caller]
fn strict_fault(text: &str, grid: Grid, length: usize) -> onrush_device::Fault {
    let emulation = Emulation { checked: true, strict: true, ..Emulation::default() };
    let device = Device::emulated(&emulation, &Options::default()).unwrap();
    match run_on(&device, text, grid, length) {
        Err(Error::Kernel { fault: Some(fault), .. }) => *fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn where_people_learn_barriers_are_for_all_threads() {
    use onrush_device::FaultKind::{BarrierDivergence, BarrierExit};
    let two = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        if (threadIdx.x < 32) {
            __syncthreads();
        } else {
            __syncthreads();
        }
        out[threadIdx.x] = 1;
    }"#;
    let fault = strict_fault(two, Grid::new(1, 64), 64);
    assert_eq!(fault.kind, BarrierDivergence);
    assert_eq!(
        fault.parties.map(|party| (party.thread, party.line)),
        [([0, 0, 0], "test.cu:3".to_string()), ([32, 0, 0], "test.cu:5".to_string())]
    );
    let one = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        out[threadIdx.x] = 1;
        if (threadIdx.x > 3) __syncthreads();
    }"#;
    let fault = strict_fault(one, Grid::new(1, 8), 8);
    assert_eq!(fault.kind, BarrierExit);
    assert_eq!(
        fault.parties.map(|party| (party.thread, party.line)),
        [([4, 0, 0], "test.cu:3".to_string()), ([0, 0, 0], "test.cu:3".to_string())]
    );
}

#[test]
fn who_spins_is_named_where_it_spins() {
    let emulation = Emulation { checked: true, patience: std::time::Duration::from_secs(1), ..Emulation::default() };
    let device = Device::emulated(&emulation, &Options::default()).unwrap();
    let said = |body: &str, threads: u32| {
        let text = format!("extern \"C\" __global__ void kernel(unsigned* out, unsigned n) {{\n{body}\n}}");
        match run_on(&device, &text, Grid::new(1, threads), 8) {
            Err(Error::Kernel { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    // The first thread has the lock and waits at the barrier for the others, which wait for the lock.
    let lock = "while (atomicCAS(out, 0u, 1u) != 0) {}\n__syncthreads();\natomicExch(out, 0u);";
    let reason = said(lock, 8);
    assert!(reason.contains("thread (1,0,0) of block (0,0,0) at test.cu:2"), "{reason}");
    let forgotten = "unsigned i = 0;\nwhile (i < n) {\nout[i] = 1;\n}";
    let reason = said(forgotten, 1);
    assert!(reason.contains("thread (0,0,0) of block (0,0,0) at test.cu:4"), "{reason}");
}

#[test]
fn where_people_learn_shared_memory_is_written_first_and_each_kernel_has_its_own() {
    use onrush_device::FaultKind::{OutOfBounds, Race, UninitializedShared};
    let unwritten = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        __shared__ unsigned bins[4];
        atomicAdd(&bins[n % 4], 1u);
        __syncthreads();
        out[threadIdx.x] = bins[n % 4];
    }"#;
    let fault = strict_fault(unwritten, Grid::new(1, 6), 6);
    assert_eq!((fault.kind, fault.offset), (UninitializedShared, 264));
    // Somebody writes it, and nobody waits: then it is a race.
    let hasty = r#"extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        __shared__ unsigned tile[8];
        tile[threadIdx.x] = n;
        out[threadIdx.x] = tile[7 - threadIdx.x];
    }"#;
    assert_eq!(strict_fault(hasty, Grid::new(1, 8), 8).kind, Race);
    // The bytes behind `tile` belong to the other kernel.
    let two = r#"extern "C" __global__ void other(unsigned* out, unsigned n) {
        __shared__ unsigned mine[64];
        mine[threadIdx.x] = n;
        out[0] = mine[threadIdx.x];
    }
    extern "C" __global__ void kernel(unsigned* out, unsigned n) {
        __shared__ unsigned tile[8];
        tile[threadIdx.x + 1] = n;
        out[threadIdx.x] = tile[threadIdx.x + 1];
    }"#;
    assert_eq!(strict_fault(two, Grid::new(1, 8), 8).kind, OutOfBounds);
}

#[test]
fn a_kernel_signals_its_result_to_the_host() {
    let text = r#"extern "C" __global__ void signals(volatile unsigned long long* flag, unsigned long long value) {
        if (blockIdx.x * blockDim.x + threadIdx.x != 70) return;
        flag[1] = value;
        __threadfence_system();
        flag[0] = 3;
    }"#;
    for checked in [false, true] {
        let device = device(checked);
        let stream = device.stream().unwrap();
        let source = Source::new("signals.cu", text, ["signals"]);
        let module = device.load(&device.compile(&source, &CompileOptions::default()).unwrap()).unwrap();
        let flag = CompletionFlag::new(&device, 0).unwrap();
        for (threads, word) in [(128, Some(3)), (64, None)] {
            flag.empty();
            let arguments = Arguments::new().value(flag.address()).value(41_u64);
            // SAFETY: the parameters are those of the kernel, and the words are there.
            unsafe { module.function("signals").unwrap().launch(&Grid::new(1, threads), arguments, &stream).unwrap() };
            assert_eq!(flag.wait(&stream).unwrap(), word);
        }
        assert_eq!(flag.value(), 41);
    }
}

#[test]
fn a_kernel_finds_in_the_flag_what_the_host_put_there() {
    let text = r#"extern "C" __global__ void doubles(volatile unsigned long long* flag, const unsigned* from, unsigned long long* to) {
        to[threadIdx.x] = 2ull * from[threadIdx.x];
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x == 0) flag[0] = 1;
    }"#;
    for checked in [false, true] {
        let device = device(checked);
        let stream = device.stream().unwrap();
        let source = Source::new("doubles.cu", text, ["doubles"]);
        let module = device.load(&device.compile(&source, &CompileOptions::default()).unwrap()).unwrap();
        let flag = CompletionFlag::new(&device, 64 + 12).unwrap();
        let from = flag.put(64, &[1_u32, 20, u32::MAX]);
        let arguments = Arguments::new().value(flag.address()).value(from).value(flag.room_address());
        // SAFETY: the parameters are those of the kernel, and there is room for three numbers at each place.
        unsafe { module.function("doubles").unwrap().launch(&Grid::new(1, 3), arguments, &stream).unwrap() };
        assert_eq!(flag.wait(&stream).unwrap(), Some(1));
        assert_eq!(flag.copy::<u64>(0, 3), [2, 40, 8_589_934_590]);
        assert_eq!(flag.copy::<u32>(68, 2), [20, u32::MAX]);
    }
}

#[test]
fn exported_memory_is_the_same_in_both_mappings() {
    let device = device(true);
    let (owner, stream) = (Owner::new("test"), device.stream().unwrap());
    let used = device.ledger().total().used;
    let (buffer, memory) = device.export(&owner, 10_000, &stream).unwrap();
    buffer.write(0, &[7u8; 10_000], &stream).unwrap();
    let other = device.import(&owner, memory.as_fd(), 10_000, &stream).unwrap();
    assert_ne!(buffer.address(), other.address());
    buffer.write(9_998, &[1u8, 2], &stream).unwrap();
    assert_eq!(other.read::<u8>(9_997..10_000, &stream).unwrap(), [7, 1, 2]);
    buffer.protect().unwrap();
    drop(buffer);
    assert_eq!(other.read::<u8>(0..2, &stream).unwrap(), [7, 7]);
    // More than there is would end the process at the first access.
    assert!(matches!(
        device.import(&owner, memory.as_fd(), 20_000, &stream),
        Err(Error::OutOfRange { bytes: 20_000, length: 10_000, .. })
    ));
    drop(other);
    assert_eq!(device.ledger().total().used, used);
}

/// More pieces than threads, a last one that is short, and starts that are no piece's.
#[test]
fn large_copies_are_whole() {
    let device = device(false);
    let (owner, stream) = (Owner::new("test"), device.stream().unwrap());
    let values: Vec<u32> = (0..10_000_019).collect();
    let buffer = device.upload(&owner, &values, &stream).unwrap();
    assert!(buffer.read::<u32>(0..values.len(), &stream).unwrap() == values);
    assert!(buffer.read::<u32>(12_345..9_999_999, &stream).unwrap() == values[12_345..9_999_999]);
    buffer.write(4 * 1_000_003, &values[..8_000_000], &stream).unwrap();
    let found = buffer.read::<u32>(0..values.len(), &stream).unwrap();
    assert!(found[..1_000_003] == values[..1_000_003] && found[9_000_003..] == values[9_000_003..]);
    assert!(found[1_000_003..9_000_003] == values[..8_000_000]);
}

/// `kernel`'s body, with the thread's number as `t`.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "{before}\nextern \"C\" __global__ void kernel(unsigned* out, unsigned n) {{\n  unsigned t = threadIdx.x;\n{body}\n}}"
    )
}

#[test]
fn a_thread_that_reads_what_it_changes_does_not_hide_another_reader() {
    // A tree without barriers: the one that adds up `s[t + k]` and the one that changes it are two threads, and both
    // read it.
    let tree = |barrier: &str| {
        kernel(
            "",
            &format!(
                "  __shared__ unsigned s[64];\n  s[t] = t;\n  __syncthreads();\n  for (int k = 32; k > 0; k /= 2) {{\n    \
                 if (t < k) s[t] += s[t + k];\n    {barrier}\n  }}\n  if (t == 0) out[0] = s[0];"
            ),
        )
    };
    let reason = fault(&tree(""), Grid::new(1, 64), 1);
    assert!(reason.starts_with("race: ") && reason.ends_with("with no barrier between"), "{reason}");
    check(&tree("__syncthreads();"), Grid::new(1, 64), 1, |_| 2016);
    let two = kernel("", "  if (t == 0) out[0] = out[1];\n  if (t == 1) out[1] += 5;");
    let reason = fault(&two, Grid::new(1, 2), 2);
    assert_eq!(
        reason,
        "race: thread (1,0,0) of block (0,0,0) writes offset 4 of device memory at test.cu:5, which thread (0,0,0) of block \
         (0,0,0) read at test.cu:4, with no barrier between"
    );
    // An addition of floats reads first, atomically.
    let atomic = kernel("", "  if (t == 0) out[0] = out[1];\n  if (t == 1) atomicAdd((float*)&out[1], 1.0f);");
    let reason = fault(&atomic, Grid::new(1, 2), 2);
    assert!(
        reason.contains("updates offset 4 of device memory") && reason.contains("(0,0,0) read at test.cu:4"),
        "{reason}"
    );
    // Readers of other warps and blocks, before and after.
    let many = kernel("", "  out[1 + blockIdx.x * 96 + t] = out[0];\n  if (t == 95 && blockIdx.x == 1) out[0] += 1;");
    let reason = fault(&many, Grid::new(3, 96), 300);
    assert!(reason.contains("offset 0 of device memory"), "{reason}");
}

#[test]
fn variables_of_a_module_are_looked_at() {
    let count = |update: &str| {
        kernel("__device__ unsigned before, counter;", &format!("  {update};\n  if (n == 0) out[0] = counter;"))
    };
    let reason = fault(&count("counter++"), Grid::new(1, 32), 1);
    assert!(reason.contains("of the module's variables at test.cu:4, which thread (0,0,0)"), "{reason}");
    let tell = "  __syncthreads();\n  out[t] = counter + table[t % 4];";
    let right = kernel(
        "__device__ unsigned counter;\n__constant__ unsigned table[4] = {1, 2, 3, 4};",
        &format!("  atomicAdd(&counter, 1u);\n{tell}"),
    );
    check(&right, Grid::new(1, 64), 64, |i| 65 + i % 4);
}

#[test]
fn what_comes_from_a_lane_that_is_not_there_is_no_number() {
    let text = kernel(
        "",
        "  float v = 1;\n  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);\n  out[t] = v != v;\n  \
         out[t] += 2 * (__shfl_sync(0xffffu, 1.0, 17) != 1.0);",
    );
    let text = text.replace("out[t] += 2", "if (t < 16) out[t] += 2");
    let found = run_on(&device(true), &text, Grid::new(1, 20), 20).unwrap();
    assert_eq!((found[0], found[1]), (3, 3));
    assert!(run_on(&device(true), &text, Grid::new(1, 32), 32).unwrap()[0] == 2);
}

#[test]
fn indices_end_with_their_array() {
    use onrush_device::FaultKind::OutOfBounds;
    let said = |before: &str, body: &str| {
        let fault = strict_fault(&kernel(before, body), Grid::new(1, 4), 4);
        assert_eq!(
            (&fault.kind, &fault.memory),
            (&OutOfBounds, &onrush_device::Memory::Array { dimensions: 1 }),
            "{body}"
        );
        let column = if is_clang() { None } else { fault.column };
        (fault.parties[0].line.clone(), column, fault.offset, fault.size)
    };
    let at = |column: u32| (!is_clang()).then_some(column);
    let line = |number: u32| format!("test.cu:{number}");
    // On a thread's stack. The column is that of the closing bracket (clang++ has another).
    assert_eq!(said("", "  float loc[4] = {};\n  out[t] = loc[n];"), (line(5), at(17), 4, 4));
    assert_eq!(
        said("", "  float loc[4] = {};\n  loc[(int)t - 1] = 1;\n  out[t] = loc[n % 4];"),
        (line(5), at(17), -1, 4)
    );
    // Within the block's shared memory, and within the row of another.
    assert_eq!(said("", "  __shared__ float s[8], other[8];\n  s[t + 5] = 1;"), (line(5), at(10), 8, 8));
    assert_eq!(said("", "  __shared__ float s[4][4];\n  s[0][t + 1] = 1;"), (line(5), at(13), 4, 4));
    assert_eq!(said("__device__ int arr[4];", "  out[t] = arr[t + 1];"), (line(4), at(21), 4, 4));
}

#[test]
fn what_is_undefined_is_a_fault() {
    use onrush_device::FaultKind::{Division, Misaligned, Shift};
    let said = |body: &str| strict_fault(&kernel("", body), Grid::new(1, 1), 64);
    let misaligned = |name: &str| Misaligned { type_name: name.to_string() };
    if !is_clang() {
        let fault = said("  float4* v = (float4*)(out + n / 64);\n  float4 q = v[1];\n  out[0] = q.x;");
        assert_eq!((fault.kind, fault.offset, fault.bytes), (misaligned("float4"), 20, 16));
    }
    let fault = said("  double* v = (double*)(out + n / 64);\n  *v = 1.5;");
    assert_eq!((fault.kind, fault.offset, fault.bytes), (misaligned("double"), 4, 8));
    let fault = said("  int none = n - 64;\n  out[0] = 5 / none;");
    assert_eq!((fault.kind, fault.parties[0].line.as_str()), (Division, "test.cu:5"));
    assert_eq!(said("  out[0] = 5 % (n - 64);").kind, Division);
    let fault = said("  out[0] = 1 << (n - 24);");
    assert_eq!((fault.kind, fault.offset, fault.size), (Shift, 40, 32));
    // The processor says it, and no compiler.
    let device = device(true);
    let lowest = kernel("", "  int low = -2147483647 - 1 + (int)(n - 64);\n  out[0] = low / (63 - (int)n);");
    match run_on(&device, &lowest, Grid::new(1, 1), 64) {
        Err(Error::Kernel { reason, .. }) => {
            assert!(reason.ends_with("or the lowest one by -1 at test.cu:5"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
    // Correct code of CUDA and C++: sums that wrap, bits that leave, casts that do not fit, an address past the end.
    let right = r#"
  __shared__ __align__(16) unsigned s[8];
  float4* v = (float4*)(s + 4);
  v[0] = make_float4(1, 2, 3, 4);
  unsigned* end = &s[8];
  int sum = 2147483647;
  sum += (int)t + 1;
  out[0] = (sum < 0) + (1 << 31 < 0) + (-1 << 4 == -16) + (end - s == 8) + (v->w == 4) + ((int)(float)n == 64);
  out[1] = (int)(3e9f * n) != 5;"#;
    let found = run_on(&device, &kernel("", right), Grid::new(1, 1), 64).unwrap();
    assert_eq!(found[..2], [6, 1]);
}
