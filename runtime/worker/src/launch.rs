//! One launch: arguments to addresses and values, and the time by the device's events.

use std::os::fd::OwnedFd;

use onrush_device::{Arguments, Buffer, Class as DeviceClass, Device, Error, Grid, Owner, Stream};
use onrush_wire::fd_passing::MAX_DESCRIPTORS;
use onrush_wire::worker::{Argument, ArgumentValue, LENT, Launch, LaunchReply};
use onrush_wire::{Class, Diagnostic};

use crate::diagnostics::{self, NamedBuffer};
use crate::{CompiledCell, Worker};

/// A buffer's new contents, and the descriptor that keeps them, if they can have one.
type Written = (u64, Buffer, Option<OwnedFd>);

impl Worker {
    /// Launches a kernel. Returns the result and the descriptors of exported buffers, or the error and whether the
    /// device is lost.
    pub(crate) fn launch(&mut self, launch: &Launch) -> Result<(LaunchReply, Vec<OwnedFd>), (Diagnostic, bool)> {
        let unknown = || {
            let message = format!("the worker does not know the kernel `{}` or one of its buffers", launch.kernel);
            (Diagnostic::error(Class::Internal, "worker", message).help("run the `%%cuda` cell again"), true)
        };
        let moving = |error: Error| (diagnostics::moving(&error), error.class() == DeviceClass::Lost);
        let mut written = Vec::new();
        for argument in &launch.arguments {
            if let ArgumentValue::Buffer { buffer, written: true, .. } = &argument.value {
                let old = self.buffers.get(buffer).ok_or_else(unknown)?;
                // More descriptors do not go with one message.
                let mut no = false;
                let lends = if written.len() < MAX_DESCRIPTORS { &mut self.lends } else { &mut no };
                let (new, descriptor) = copy(&self.device, &self.owner, old, &self.stream, lends).map_err(moving)?;
                written.push((*buffer, new, descriptor));
            }
        }
        let loaded = self.modules.get(&launch.module).ok_or_else(unknown)?;
        let mut arguments = Arguments::new();
        let mut named = Vec::new();
        for Argument { name, value } in &launch.arguments {
            arguments = match value {
                ArgumentValue::Buffer { buffer: number, element, .. } => {
                    let copied = written.iter().find(|(other, ..)| other == number).map(|(_, buffer, _)| buffer);
                    let buffer = copied.or_else(|| self.buffers.get(number)).ok_or_else(unknown)?;
                    let (address, element) = (buffer.address(), u64::from(*element));
                    named.push(NamedBuffer { name: name.clone(), address, element });
                    arguments.buffer(buffer)
                }
                ArgumentValue::Scalar(bytes) => scalar(arguments, bytes).ok_or_else(unknown)?,
            };
        }
        let grid = Grid { blocks: launch.blocks, threads: launch.threads, dynamic_shared: launch.shared };
        let nanoseconds = self.run(loaded, launch, &grid, arguments).map_err(|error| {
            let lost = error.class() == DeviceClass::Lost;
            let cell = diagnostics::Cell { source: &loaded.source, marks: &loaded.marks };
            (diagnostics::failed(&error, launch, &cell, &named, self.device.is_emulated()), lost)
        })?;
        let (lent, descriptors) = self.take_over(written).map_err(moving)?;
        Ok((LaunchReply { nanoseconds, printed: self.printed(), lent }, descriptors))
    }

    /// The buffers hold the results of a kernel from here on.
    fn take_over(&mut self, written: Vec<Written>) -> Result<(Vec<u64>, Vec<OwnedFd>), Error> {
        let (mut lent, mut descriptors) = (Vec::new(), Vec::new());
        // All of them, or none.
        written.iter().try_for_each(|(_, buffer, _)| buffer.protect())?;
        for (number, buffer, descriptor) in written {
            self.buffers.insert(number, buffer);
            if let Some(descriptor) = descriptor {
                lent.push(number);
                descriptors.push(descriptor);
            }
        }
        Ok((lent, descriptors))
    }

    fn run(
        &self,
        loaded: &CompiledCell,
        launch: &Launch,
        grid: &Grid,
        arguments: Arguments,
    ) -> Result<u64, onrush_device::Error> {
        let function = loaded.module.function(&launch.kernel)?;
        let begun = self.stream.record()?;
        // SAFETY: parameters and arguments have the order and the sizes of the source of the cell. The user is
        // responsible for what the kernel does with them, and this process is separate for that reason. Imported memory
        // is mapped for reading only, and the cell process has copies of the other buffers.
        unsafe { function.launch(grid, arguments, &self.stream)? };
        let ended = self.stream.record()?;
        self.stream.synchronize()?;
        Ok(begun.elapsed(&ended)?.as_nanos() as u64)
    }
}

/// A copy on the device, and the descriptor of its memory if the buffer is large enough and the device can export it.
fn copy(
    device: &Device,
    owner: &Owner,
    old: &Buffer,
    stream: &Stream,
    lends: &mut bool,
) -> Result<(Buffer, Option<OwnedFd>), Error> {
    let bytes = old.bytes();
    let exported = if *lends && bytes >= LENT { Some(device.export(owner, bytes, stream)) } else { None };
    let (new, descriptor) = match exported {
        Some(Ok((buffer, descriptor))) => (buffer, Some(descriptor)),
        Some(Err(error)) if error.class() != DeviceClass::Internal => return Err(error),
        refused => {
            // Some containers' drivers give out no descriptors: then contents go to the host, as those of small buffers
            // do.
            if refused.is_some() {
                *lends = false;
            }
            (device.allocate(owner, bytes, stream)?, None)
        }
    };
    new.copy_from(0, old, 0, bytes, stream)?;
    Ok((new, descriptor))
}

fn scalar(arguments: Arguments, bytes: &[u8]) -> Option<Arguments> {
    Some(match *bytes {
        [value] => arguments.value(value),
        [a, b] => arguments.value(u16::from_le_bytes([a, b])),
        [a, b, c, d] => arguments.value(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => arguments.value(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => return None,
    })
}
