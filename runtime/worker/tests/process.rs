//! The worker as a process, asked as a cell process asks it. On a GPU with `ONRUSH_ENGINE=cuda`, also from a copy of the two programs on a
//! machine without Rust: ONRUSH_WORKER names the other one. Expected values are by hand.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onrush_wire::Diagnostic;
use onrush_wire::codec::{read_message, write_message};
use onrush_wire::worker::{Argument, ArgumentValue, FromWorker, Launch, Launched, Source, ToWorker};
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
        write_message(&mut self.socket, request).unwrap();
        read_message(&mut self.socket).unwrap()
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
                argument("data", ArgumentValue::Buffer { buffer: 1, element: 4 }),
                argument("n", ArgumentValue::Scalar(n.to_le_bytes().to_vec())),
            ],
        })
    }

    fn launch(&mut self, message: &ToWorker) -> Result<Launched, Diagnostic> {
        match self.ask(message) {
            FromWorker::Launched(launched) => Ok(launched),
            FromWorker::Failed { diagnostic, .. } => Err(diagnostic),
            other => panic!("{other:?}"),
        }
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
    write_message(&mut worker.socket, &Worker::message("forever", 1, 1, 0, 1)).unwrap();
    let begun = Instant::now();
    worker.socket.shutdown(std::net::Shutdown::Both).unwrap();
    worker.child.wait().unwrap();
    println!("ended in {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(20), "it takes milliseconds; the rest is room for a busy machine");
}
