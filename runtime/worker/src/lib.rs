//! The worker of a notebook: compiles `%%cuda` cells and runs their kernels, on a GPU or on the emulated device.
//!
//! A separate process, because a kernel of a user may loop forever or write anywhere: then this process ends, and
//! nothing else. A kernel runs on device copies of the buffers that it may write. On success the copies replace the
//! buffers. The cell process has the contents of buffers that are small or that no kernel has written. For other
//! buffers it has descriptors of device memory, which are mapped for reading and keep the memory after this process has
//! ended. The worker knows no frames and no session.

mod compile;
mod diagnostics;
mod launch;
mod source;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};

use onrush_device::{Buffer, Device, Emulation, Module, Options, Owner, PrintfCapture, Stream};
use onrush_wire::worker::{self, FromWorker, Source, ToWorker};
use onrush_wire::{Class, Diagnostic, fd_passing, limits, paths};
use source::instrument_uninitialized::Instrumentation;

/// Bytes of what kernels print that a launch passes on.
const PRINTED_BYTES: usize = 256 << 10;

/// A compiled cell.
struct CompiledCell {
    module: Module,
    source: Source,
    marks: Vec<Instrumentation>,
}

struct Worker {
    device: Device,
    stream: Stream,
    owner: Owner,
    memory: File,
    printed: PrintfCapture,
    modules: HashMap<u64, CompiledCell>,
    buffers: HashMap<u64, Buffer>,
    /// Whether the device's memory can be exported, as far as was tried: the driver of a container may refuse.
    lends: bool,
}

/// An answer, and the descriptors that go with it.
type Answer = (FromWorker, Vec<OwnedFd>);

/// Runs a worker whose socket is standard input and whose shared memory is standard output, until the socket closes.
pub fn serve() -> Result<(), Diagnostic> {
    let failed = |e: io::Error| {
        Diagnostic::error(Class::Internal, "worker", format!("the worker has no socket or no shared memory: {e}"))
    };
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let memory = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(failed)?);
    let printed = PrintfCapture::capture().map_err(failed)?;
    let out = socket.try_clone().map_err(failed)?;
    let requests = listen(socket);
    let say = |answer: &FromWorker, descriptors: &[OwnedFd]| {
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        fd_passing::send(&out, answer, &descriptors).is_ok()
    };
    let mut worker = match Worker::open(memory, printed) {
        Ok(worker) => worker,
        Err(diagnostic) => {
            // The first request gets the reason.
            let refused =
                FromWorker::Failed { diagnostic: diagnostic.clone(), printed: Default::default(), lost: true };
            if requests.recv().is_ok() {
                say(&refused, &[]);
            }
            return Err(diagnostic);
        }
    };
    while let Ok((request, descriptors)) = requests.recv() {
        if let Some((answer, descriptors)) = worker.answer(request, descriptors) {
            let lost = matches!(answer, FromWorker::Failed { lost: true, .. });
            if !say(&answer, &descriptors) || lost {
                break;
            }
        }
    }
    Ok(())
}

/// Requests as they come. When the other end closes while a kernel runs, nothing can end that kernel but the end of
/// this process.
fn listen(socket: UnixStream) -> Receiver<(ToWorker, Vec<OwnedFd>)> {
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        while let Ok(request) = fd_passing::receive(&socket) {
            if sender.send(request).is_err() {
                return;
            }
        }
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
    requests
}

fn open_device() -> Result<Device, onrush_device::Error> {
    let wanted = std::env::var(paths::ENGINE).unwrap_or_default();
    let capacity = std::env::var(paths::DEVICE_MEMORY).ok().and_then(|text| limits::parse_size(&text));
    let emulated = || {
        // Files of this folder are loaded into this process.
        let folder = paths::cache_dir().join("emulated");
        let refused = |source| onrush_device::Error::File { path: folder.clone(), source };
        paths::private_dir(&folder).map_err(refused)?;
        let cache = Some(folder);
        let emulation = Emulation { checked: true, strict: true, ..Emulation::default() };
        Device::emulated(&emulation, &Options { capacity, cache })
    };
    match wanted.as_str() {
        "cuda" => Device::cuda(0, &Options { capacity, cache: None }),
        "cpu" | "emulated" => emulated(),
        _ => Device::cuda(0, &Options { capacity, cache: None }).or_else(|_| emulated()),
    }
}

impl Worker {
    fn open(memory: File, printed: PrintfCapture) -> Result<Self, Diagnostic> {
        let device = open_device().map_err(|error| diagnostics::unavailable(&error))?;
        let stream = device.stream().map_err(|error| diagnostics::unavailable(&error))?;
        let owner = Owner::new("buffers of cells");
        let (modules, buffers) = (HashMap::new(), HashMap::new());
        Ok(Worker { device, stream, owner, memory, printed, modules, buffers, lends: true })
    }

    fn answer(&mut self, request: ToWorker, descriptors: Vec<OwnedFd>) -> Option<Answer> {
        let done = |()| (FromWorker::Done, Vec::new());
        let answer = match request {
            ToWorker::Hello => {
                let device = self.device.properties().name.clone();
                Ok((FromWorker::Ready { device, emulated: self.device.is_emulated() }, Vec::new()))
            }
            ToWorker::Load { module, source } => self.load(module, source).map(done).map_err(|d| (d, false)),
            ToWorker::Write { buffer, bytes, offset, length } => {
                self.write(buffer, bytes, offset, length).map(done).map_err(lost_or_not)
            }
            ToWorker::Import { buffer, bytes } => {
                self.import(buffer, bytes, descriptors).map(done).map_err(lost_or_not)
            }
            ToWorker::Read { buffer, offset, length } => {
                self.read(buffer, offset, length).map(done).map_err(lost_or_not)
            }
            ToWorker::Launch(launch) => {
                self.launch(&launch).map(|(launched, lent)| (FromWorker::Launched(launched), lent))
            }
            ToWorker::Free { buffers } => {
                buffers.iter().for_each(|buffer| drop(self.buffers.remove(buffer)));
                return None;
            }
        };
        Some(answer.unwrap_or_else(|(diagnostic, lost)| {
            (FromWorker::Failed { diagnostic, printed: self.printed(), lost }, Vec::new())
        }))
    }

    fn load(&mut self, number: u64, source: Source) -> Result<(), Diagnostic> {
        let (module, marks) = compile::compile(&self.device, &source)?;
        self.modules.insert(number, CompiledCell { module, source, marks });
        Ok(())
    }

    fn write(&mut self, number: u64, bytes: u64, offset: u64, length: u64) -> Result<(), Failure> {
        let mut piece = vec![0u8; length as usize];
        self.memory.read_exact_at(&mut piece, 0).map_err(Failure::Memory)?;
        // Another process may read mapped memory too. Therefore new contents get separate memory.
        if offset == 0 && self.buffers.get(&number).is_none_or(|known| known.bytes() != bytes || known.is_mapped()) {
            // The old one first: there may be no room for both.
            self.buffers.remove(&number);
            let buffer = self.device.allocate(&self.owner, bytes, &self.stream)?;
            self.buffers.insert(number, buffer);
        }
        let buffer = self.buffers.get(&number).ok_or(Failure::Unknown)?;
        Ok(buffer.write(offset, &piece, &self.stream)?)
    }

    fn import(&mut self, number: u64, bytes: u64, descriptors: Vec<OwnedFd>) -> Result<(), Failure> {
        let memory = descriptors.first().ok_or(Failure::Unknown)?;
        self.buffers.remove(&number);
        let buffer = self.device.import(&self.owner, memory.as_fd(), bytes, &self.stream)?;
        self.buffers.insert(number, buffer);
        Ok(())
    }

    fn read(&mut self, number: u64, offset: u64, length: u64) -> Result<(), Failure> {
        let buffer = self.buffers.get(&number).ok_or(Failure::Unknown)?;
        let range = offset as usize..(offset + length) as usize;
        let piece = buffer.read::<u8>(range, &self.stream)?;
        self.memory.write_all_at(&piece, 0).map_err(Failure::Memory)
    }

    fn printed(&mut self) -> worker::PrintfOutput {
        let (text, left_out) = self.printed.take(PRINTED_BYTES).unwrap_or_default();
        worker::PrintfOutput { text, left_out }
    }
}

/// Why a buffer could not be moved.
enum Failure {
    Device(onrush_device::Error),
    Memory(io::Error),
    /// Another build speaks, or the worker is not the one that got the buffer.
    Unknown,
}

impl From<onrush_device::Error> for Failure {
    fn from(error: onrush_device::Error) -> Self {
        Failure::Device(error)
    }
}

fn lost_or_not(failure: Failure) -> (Diagnostic, bool) {
    let internal = |why: String| Diagnostic::error(Class::Internal, "worker", why).help("run the cell again");
    match failure {
        Failure::Device(error) => (diagnostics::moving(&error), error.class() == onrush_device::Class::Lost),
        Failure::Memory(error) => {
            (internal(format!("the memory that the worker shares with the cell failed: {error}")), true)
        }
        Failure::Unknown => (internal("the worker was asked for a buffer that it does not have".to_string()), true),
    }
}
