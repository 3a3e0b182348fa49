//! The worker as a process, asked as a cell process asks it. On a GPU with `ONRUSH_ENGINE=cuda`, also from a copy of the two programs on a
//! machine without Rust: ONRUSH_WORKER names the other one. Expected values are by hand.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onrush_wire::worker::{Argument, ArgumentValue, FromWorker, LENT, Launch, Launched, Source, ToWorker};
use onrush_wire::{Diagnostic, stream};
use rustix::fs::{MemfdFlags, memfd_create};

struct Worker {
    child: Child,
    socket: UnixStream,
    memory: File,
    emulated: bool,
}

impl Worker {
    fn start() -> Worker {
        let (socket, other) = UnixStream::pair().unwrap();
        let memory = File::from(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        let built = option_env!("CARGO_BIN_EXE_onrush-worker").unwrap_or("onrush-worker");
        let program = std::env::var("ONRUSH_WORKER").unwrap_or_else(|_| built.to_string());
        let mut command = Command::new(program);
        if std::env::var_os("ONRUSH_ENGINE").is_none() {
            command.env("ONRUSH_ENGINE", "emulated");
        }
        let shared = memory.try_clone().unwrap();
        let child = command.stdin(OwnedFd::from(other)).stdout(shared).stderr(Stdio::inherit()).spawn().unwrap();
        let mut worker = Worker { child, socket, memory, emulated: true };
        match worker.ask(&ToWorker::Hello) {
            FromWorker::Ready { device, emulated } => {
                println!("{device}");
                worker.emulated = emulated;
            }
            other => panic!("{other:?}"),
        }
        worker
    }

    fn ask(&mut self, request: &ToWorker) -> FromWorker {
        self.ask_with(request, &[]).0
    }

    fn ask_with(&mut self, request: &ToWorker, descriptors: &[BorrowedFd<'_>]) -> (FromWorker, Vec<OwnedFd>) {
        stream::send(&self.socket, request, descriptors).unwrap();
        stream::receive(&self.socket).unwrap()
    }

    fn load(&mut self, text: &str, kernel: &str, parameters: &str) -> Result<(), Diagnostic> {
        let source = Source {
            file: "cell_1.rs".into(),
            text: text.into(),
            declarations: format!("extern \"C\" __global__ void {kernel}({parameters});"),
            kernels: vec![kernel.into()],
        };
        match self.ask(&ToWorker::Load { module: 1, source }) {
            FromWorker::Done => Ok(()),
            FromWorker::Failed { diagnostic, .. } => Err(diagnostic),
            other => panic!("{other:?}"),
        }
    }

    fn write(&mut self, buffer: u64, values: &[i32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.memory.write_all_at(&bytes, 0).unwrap();
        let length = bytes.len() as u64;
        let answer = self.ask(&ToWorker::Write { buffer, bytes: length, offset: 0, length });
        assert_eq!(answer, FromWorker::Done);
    }

    fn read(&mut self, buffer: u64, length: usize) -> Vec<i32> {
        let answer = self.ask(&ToWorker::Read { buffer, offset: 0, length: 4 * length as u64 });
        assert_eq!(answer, FromWorker::Done);
        let mut bytes = vec![0u8; 4 * length];
        self.memory.read_exact_at(&mut bytes, 0).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|part| i32::from_le_bytes(*part)).collect()
    }

    /// `kernel(int* data, int n)` on buffer 1.
    fn message(kernel: &str, blocks: u32, threads: u32, shared: u32, n: i32) -> ToWorker {
        let argument = |name: &str, value| Argument { name: name.into(), value };
        ToWorker::Launch(Launch {
            module: 1,
            kernel: kernel.into(),
            blocks: [blocks, 1, 1],
            threads: [threads, 1, 1],
            shared,
            arguments: vec![
                argument("data", ArgumentValue::Buffer { buffer: 1, element: 4, written: true }),
                argument("n", ArgumentValue::Scalar(n.to_le_bytes().to_vec())),
            ],
        })
    }

    fn launch(&mut self, message: &ToWorker) -> Result<Launched, Diagnostic> {
        self.launch_lending(message).map(|(launched, _)| launched)
    }

    fn launch_lending(&mut self, message: &ToWorker) -> Result<(Launched, Vec<OwnedFd>), Diagnostic> {
        match self.ask_with(message, &[]) {
            (FromWorker::Launched(launched), descriptors) => Ok((launched, descriptors)),
            (FromWorker::Failed { diagnostic, .. }, _) => Err(diagnostic),
            other => panic!("{other:?}"),
        }
    }

    fn import(&mut self, buffer: u64, length: usize, memory: &OwnedFd) {
        let request = ToWorker::Import { buffer, bytes: 4 * length as u64 };
        assert_eq!(self.ask_with(&request, &[memory.as_fd()]).0, FromWorker::Done);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PARAMETERS: &str = "int* data, int n";

#[test]
fn kernels_compute_and_print() {
    let mut worker = Worker::start();
    let text = "\n__global__ void twice(int* data, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                if (i < n) data[i] *= 2;\n    if (i == 3) printf(\"%d\\n\", data[3]);\n}\n";
    worker.load(text, "twice", PARAMETERS).unwrap();
    worker.write(1, &[1, 2, 3, 4, 5]);
    let launched = worker.launch(&Worker::message("twice", 2, 4, 0, 5)).unwrap();
    assert_eq!(launched.printed.text, "8\n");
    assert!(launched.nanoseconds > 0);
    assert_eq!(worker.read(1, 5), [2, 4, 6, 8, 10]);
}

#[test]
fn dynamic_shared_memory_is_the_launchs() {
    let mut worker = Worker::start();
    let text = "\n__global__ void reverse(int* data, int n) {\n    extern __shared__ int tile[];\n    \
                tile[threadIdx.x] = data[threadIdx.x];\n    __syncthreads();\n    data[threadIdx.x] = tile[n - 1 - threadIdx.x];\n}\n";
    worker.load(text, "reverse", PARAMETERS).unwrap();
    worker.write(1, &[1, 2, 3, 4]);
    worker.launch(&Worker::message("reverse", 1, 4, 16, 4)).unwrap();
    assert_eq!(worker.read(1, 4), [4, 3, 2, 1]);
}

#[test]
fn names_of_the_headers_are_there() {
    let mut worker = Worker::start();
    let text = "\n__device__ float low = -INFINITY; __constant__ double none = NAN;\n__global__ void names(int* data, int n) {\n    \
                data[0] = INT_MAX; data[1] = INT_MIN; data[2] = UINT_MAX == 0xffffffffu; data[3] = LLONG_MIN < -INT64_MAX;\n    \
                data[4] = FLT_MAX < INFINITY && low < -FLT_MAX; data[5] = none != none && CUDART_NAN_F != CUDART_NAN_F;\n    \
                data[6] = FLT_EPSILON > FLT_MIN && DBL_EPSILON < FLT_EPSILON && DBL_MAX > FLT_MAX;\n    \
                data[7] = (int)(1000 * M_PI); data[8] = CUDART_INF_F == CUDART_INF; data[9] = (int)(100 * CUDART_PI_F);\n}\n";
    worker.load(text, "names", PARAMETERS).unwrap();
    worker.write(1, &[0; 10]);
    worker.launch(&Worker::message("names", 1, 1, 0, 0)).unwrap();
    assert_eq!(worker.read(1, 10), [i32::MAX, i32::MIN, 1, 1, 1, 1, 1, 3141, 1, 314]);
}

#[test]
fn mathematics_of_whole_numbers_and_of_two_types() {
    let mut worker = Worker::start();
    let text = "\n__global__ void whole(int* data, int n) {\n    long long big = 3; float half = 0.5f; double two = 2;\n    \
                data[0] = sqrt(n); data[1] = pow(2, n); data[2] = floor(n / 2); data[3] = min(threadIdx.x, n); data[4] = max(n, 4u);\n    \
                data[5] = pow(big, 2); data[6] = 100 * pow(half, two); data[7] = fmax(n, 12); data[8] = 10 * min(half, two);\n    \
                data[9] = 10 * __saturatef(half) + 100 * __fdividef(half, half) + __expf(0.0f) + __sinf(0.0f) + __cosf(0.0f)\n        \
                + __logf(1.0f) + __powf(2.0f, 3.0f);\n    \
                unsigned char from[4] = {1, 1, 0, 0}; memcpy(&data[10], from, 4); memset(&data[11], 1, 4); data[12] = clock64() >= 0 && clock() != 1;\n}\n";
    worker.load(text, "whole", PARAMETERS).unwrap();
    worker.write(1, &[0; 13]);
    worker.launch(&Worker::message("whole", 1, 1, 0, 9)).unwrap();
    assert_eq!(worker.read(1, 13), [3, 512, 4, 0, 9, 9, 25, 12, 5, 115, 0x101, 0x0101_0101, 1]);
}

#[test]
fn static_kernels_are_kernels() {
    let mut worker = Worker::start();
    worker.load("\nstatic __global__ void k(int* data, int n) { data[0] = n; }\n", "k", PARAMETERS).unwrap();
    worker.write(1, &[0]);
    worker.launch(&Worker::message("k", 1, 1, 0, 7)).unwrap();
    assert_eq!(worker.read(1, 1), [7]);
}

#[test]
fn a_kernel_without_a_definition_is_said_before_its_launch() {
    let mut worker = Worker::start();
    for text in [
        "\n#ifdef NEVER\n__global__ void k(int* data, int n) {}\n#endif\n",
        "\nnamespace a {\n__global__ void k(int* data, int n) {}\n}\n",
    ] {
        let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
        assert!(diagnostic.message.contains("the kernel `k` has no definition"), "{diagnostic}");
        assert_eq!(diagnostic.labels[0].span.line, 3);
    }
}

#[test]
fn a_missing_semicolon_has_advice() {
    let mut worker = Worker::start();
    let text = "\n__global__ void k(int* data, int n) {\n    int i = 1\n    data[i] = 1;\n}\n";
    let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
    assert!(diagnostic.help[0].contains("`;` at the end of the statement before"), "{diagnostic}");
}

#[test]
fn what_does_not_compile_names_its_line() {
    let mut worker = Worker::start();
    let text = "\n__global__ void k(int* data, int n) {\n    data[0] = m;\n}\n";
    let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
    assert!(diagnostic.message.contains("`m`"), "{diagnostic}");
    let span = &diagnostic.labels[0].span;
    assert_eq!((span.file.as_str(), span.line, span.column, span.length), ("cell_1.rs", 3, 15, 1));
}

#[test]
fn a_fault_is_said() {
    let mut worker = Worker::start();
    let text = "\n__global__ void far(int* data, int n) {\n    data[(long long)n * 1000000000] = 1;\n}\n";
    worker.load(text, "far", PARAMETERS).unwrap();
    worker.write(1, &[1, 2, 3, 4]);
    let diagnostic = worker.launch(&Worker::message("far", 1, 1, 0, 1000)).unwrap_err();
    let said = diagnostic.to_string();
    // A GPU knows that it was wrong, and not where.
    assert!(said.contains("`far`") && (worker.emulated || said.contains("ONRUSH_ENGINE=emulated")), "{said}");
    assert!(!worker.emulated || diagnostic.labels[0].span.line == 3, "{said}");
    let mut next = Worker::start();
    next.load(text, "far", PARAMETERS).unwrap();
    next.write(1, &[1, 2]);
    next.launch(&Worker::message("far", 1, 1, 0, 0)).unwrap();
    assert_eq!(next.read(1, 2), [1, 2]);
}

#[test]
fn an_endless_kernel_ends_with_its_cell() {
    let mut worker = Worker::start();
    let text =
        "\n__global__ void forever(int* data, int n) {\n    volatile int* p = data;\n    while (true) p[0] = n;\n}\n";
    worker.load(text, "forever", PARAMETERS).unwrap();
    worker.write(1, &[0]);
    stream::send(&worker.socket, &Worker::message("forever", 1, 1, 0, 1), &[]).unwrap();
    let begun = Instant::now();
    worker.socket.shutdown(std::net::Shutdown::Both).unwrap();
    worker.child.wait().unwrap();
    println!("ended in {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(20), "it takes milliseconds; the rest is room for a busy machine");
}

const GROW: &str = "\n__global__ void grow(int* data, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                    data[i] += n;\n}\n";
const FAR: &str = "\n__global__ void far(int* data, int n) {\n    data[threadIdx.x] = -1;\n    __syncthreads();\n    \
                   data[(long long)n * 1000000000] = 1;\n}\n";
/// More than what stays on the device.
const MANY: usize = 1 << 19;

#[test]
fn what_a_kernel_wrote_outlives_its_worker() {
    assert!(4 * MANY as u64 >= LENT);
    let mut worker = Worker::start();
    worker.load(GROW, "grow", PARAMETERS).unwrap();
    let first: Vec<i32> = (0..MANY as i32).collect();
    worker.write(1, &first);
    let message = Worker::message("grow", MANY as u32 / 256, 256, 0, 5);
    let (launched, once) = worker.launch_lending(&message).unwrap();
    assert_eq!((launched.lent.as_slice(), once.len()), ([1].as_slice(), 1));
    let (launched, twice) = worker.launch_lending(&message).unwrap();
    assert_eq!((launched.lent.as_slice(), twice.len()), ([1].as_slice(), 1));
    let grown = |by: i32| first.iter().map(|value| value + by).collect::<Vec<i32>>();
    assert!(worker.read(1, MANY) == grown(10));
    // A kernel that fails has written into something else.
    worker.load(FAR, "far", PARAMETERS).unwrap();
    worker.launch(&Worker::message("far", 1, 64, 0, 1000)).unwrap_err();
    if worker.emulated {
        assert!(worker.read(1, MANY) == grown(10));
    }
    drop(worker);
    // Each descriptor is the buffer as it was when it was given.
    let mut next = Worker::start();
    next.import(1, MANY, &once[0]);
    assert!(next.read(1, MANY) == grown(5));
    next.import(1, MANY, &twice[0]);
    assert!(next.read(1, MANY) == grown(10));
    next.load(GROW, "grow", PARAMETERS).unwrap();
    next.launch(&message).unwrap();
    assert!(next.read(1, MANY) == grown(15));
    next.import(1, MANY, &twice[0]);
    assert!(next.read(1, MANY) == grown(10));
    // Other contents do not go to what was lent.
    next.write(1, &first);
    assert!(next.read(1, MANY) == first);
    next.import(2, MANY, &twice[0]);
    assert!(next.read(2, MANY) == grown(10));
}

#[test]
fn what_is_lent_cannot_be_written_by_accident() {
    let mut worker = Worker::start();
    worker.load(GROW, "grow", PARAMETERS).unwrap();
    worker.write(1, &vec![0; MANY]);
    let (_, lent) = worker.launch_lending(&Worker::message("grow", MANY as u32 / 256, 256, 0, 1)).unwrap();
    // Another buffer's address is what a wild pointer may be.
    let text = "\n__global__ void cast(int* data, int n) {\n    data[0] = n;\n}\n";
    worker.load(text, "cast", PARAMETERS).unwrap();
    let ToWorker::Launch(mut launch) = Worker::message("cast", 1, 1, 0, 7) else { panic!() };
    launch.arguments[0].value = ArgumentValue::Buffer { buffer: 1, element: 4, written: false };
    stream::send(&worker.socket, &ToWorker::Launch(launch), &[]).unwrap();
    match stream::receive::<FromWorker>(&worker.socket) {
        Ok((FromWorker::Failed { diagnostic, lost, .. }, _)) => println!("lost: {lost}: {diagnostic}"),
        Ok(other) => panic!("{other:?}"),
        Err(error) => println!("the worker ended: {error}"),
    }
    let mut next = Worker::start();
    next.import(1, MANY, &lent[0]);
    assert!(next.read(1, MANY) == vec![1; MANY]);
}

/// Launch upon launch on one buffer, small and lent. Prints what a launch costs beside its kernel, and what bringing the contents to the
/// host does, which says something on a GPU alone.
#[test]
fn many_launches_on_one_buffer() {
    let mut worker = Worker::start();
    worker.load(GROW, "grow", PARAMETERS).unwrap();
    let (sizes, launches) = if worker.emulated {
        (&[1usize << 10, 1 << 18][..], 3)
    } else {
        (&[1 << 10, 1 << 18, 1 << 20, 1 << 24][..], 21)
    };
    for count in sizes.iter().copied() {
        worker.write(1, &vec![0; count]);
        let message = Worker::message("grow", count as u32 / 256, 256, 0, 1);
        let mut rounds: Vec<(f64, f64)> = (0..launches)
            .map(|_| {
                let begun = Instant::now();
                let launched = worker.launch(&message).unwrap();
                (begun.elapsed().as_secs_f64() * 1e3, launched.nanoseconds as f64 / 1e6)
            })
            .collect();
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let begun = Instant::now();
        assert!(worker.read(1, count) == vec![launches; count]);
        let (read, (call, kernel)) = (begun.elapsed().as_secs_f64() * 1e3, rounds[rounds.len() / 2]);
        println!("{:7.1} MB: launch {call:.3} ms, kernel {kernel:.3}; read {read:.1}", count as f64 * 4e-6);
    }
}
