//! A worker that is started and asked as a cell process does, and what is expected of its answers.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use onrush_wire::worker::{Argument, ArgumentValue, FromWorker, Launch, LaunchReply, Source, ToWorker};
use onrush_wire::{Diagnostic, fd_passing};
use rustix::fs::{MemfdFlags, memfd_create};

pub struct Worker {
    pub child: Child,
    pub socket: UnixStream,
    pub memory: File,
    pub emulated: bool,
}

impl Worker {
    pub fn start() -> Worker {
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

    pub fn ask(&mut self, request: &ToWorker) -> FromWorker {
        self.ask_with(request, &[]).0
    }

    pub fn ask_with(&mut self, request: &ToWorker, descriptors: &[BorrowedFd<'_>]) -> (FromWorker, Vec<OwnedFd>) {
        fd_passing::send(&self.socket, request, descriptors).unwrap();
        fd_passing::receive(&self.socket).unwrap()
    }

    pub fn load(&mut self, text: &str, kernel: &str, parameters: &str) -> Result<(), Diagnostic> {
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

    pub fn write(&mut self, buffer: u64, values: &[i32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.memory.write_all_at(&bytes, 0).unwrap();
        let length = bytes.len() as u64;
        let answer = self.ask(&ToWorker::Write { buffer, bytes: length, offset: 0, length });
        assert_eq!(answer, FromWorker::Done);
    }

    pub fn read(&mut self, buffer: u64, length: usize) -> Vec<i32> {
        let answer = self.ask(&ToWorker::Read { buffer, offset: 0, length: 4 * length as u64 });
        assert_eq!(answer, FromWorker::Done);
        let mut bytes = vec![0u8; 4 * length];
        self.memory.read_exact_at(&mut bytes, 0).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|part| i32::from_le_bytes(*part)).collect()
    }

    /// `kernel(int* data, int n)` on buffer 1.
    pub fn message(kernel: &str, blocks: u32, threads: u32, shared: u32, n: i32) -> ToWorker {
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

    pub fn launch(&mut self, message: &ToWorker) -> Result<LaunchReply, Diagnostic> {
        self.launch_lending(message).map(|(launched, _)| launched)
    }

    pub fn launch_lending(&mut self, message: &ToWorker) -> Result<(LaunchReply, Vec<OwnedFd>), Diagnostic> {
        match self.ask_with(message, &[]) {
            (FromWorker::Launched(launched), descriptors) => Ok((launched, descriptors)),
            (FromWorker::Failed { diagnostic, .. }, _) => Err(diagnostic),
            other => panic!("{other:?}"),
        }
    }

    pub fn import(&mut self, buffer: u64, length: usize, memory: &OwnedFd) {
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

pub const PARAMETERS: &str = "int* data, int n";

/// The message about a wrong kernel on 64 numbers with checked accesses, and the underlined text with its label. `body`
/// begins in line 3.
#[track_caller]
pub fn said(
    before: &str,
    body: &str,
    blocks: u32,
    threads: u32,
    n: i32,
) -> Option<(Diagnostic, Vec<(String, String)>)> {
    let mut worker = Worker::start();
    if !worker.emulated {
        return None;
    }
    let text = format!("{before}\n__global__ void k(int* data, int n) {{\n{body}\n}}\n");
    worker.load(&text, "k", PARAMETERS).unwrap();
    worker.write(1, &[0; 64]);
    let diagnostic = worker.launch(&Worker::message("k", blocks, threads, 0, n)).unwrap_err();
    let lines: Vec<&str> = text.lines().collect();
    let underlined = diagnostic.labels.iter().map(|label| {
        let line = lines[label.span.line as usize - 1].chars().skip(label.span.column as usize - 1);
        (line.take(label.span.length as usize).collect(), label.text.clone())
    });
    let underlined = underlined.collect();
    Some((diagnostic, underlined))
}

#[track_caller]
pub fn check(before: &str, body: &str, shape: (u32, u32, i32), message: &str, underlined: &[(&str, &str)], help: &str) {
    let Some((diagnostic, found)) = said(before, body, shape.0, shape.1, shape.2) else { return };
    assert!(diagnostic.message.contains(message), "{diagnostic}");
    let found: Vec<(&str, &str)> = found.iter().map(|(part, text)| (part.as_str(), text.as_str())).collect();
    assert_eq!(found, underlined, "{diagnostic}");
    assert!(diagnostic.help.iter().any(|text| text.contains(help)), "{diagnostic}");
}

/// The message of a cell's compiler about a wrong text, and the underlined text.
#[track_caller]
pub fn refused(text: &str, message: &str, underlined: &str, help: &str) {
    let mut worker = Worker::start();
    if !worker.emulated {
        return;
    }
    let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
    assert!(diagnostic.message.contains(message), "{diagnostic}");
    assert!(diagnostic.help.iter().any(|text| text.contains(help)), "{diagnostic}");
    let span = &diagnostic.labels[0].span;
    let line = text.lines().nth(span.line as usize - 1).unwrap();
    let found: String = line.chars().skip(span.column as usize - 1).take(span.length as usize).collect();
    assert_eq!(found, underlined, "{diagnostic}");
}

/// The result of a right kernel for 0, 1, 2, … and its output.
#[track_caller]
pub fn right(before: &str, body: &str, shape: (u32, u32, i32), expected: &[i32]) -> String {
    let mut worker = Worker::start();
    let text = format!("{before}\n__global__ void k(int* data, int n) {{\n{body}\n}}\n");
    worker.load(&text, "k", PARAMETERS).unwrap();
    worker.write(1, &(0..64).collect::<Vec<i32>>());
    let launched = worker.launch(&Worker::message("k", shape.0, shape.1, 0, shape.2)).unwrap();
    assert_eq!(worker.read(1, expected.len()), expected);
    launched.printed.text
}
