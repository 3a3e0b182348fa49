//! One launch: arguments to addresses and values, and the time by the device's events.

use onrush_device::{Arguments, Class as DeviceClass, Grid};
use onrush_wire::worker::{Argument, ArgumentValue, Launch, Launched};
use onrush_wire::{Class, Diagnostic};

use crate::report::{self, Named};
use crate::{Loaded, Worker};

impl Worker {
    /// The error, and whether the device is lost with it.
    pub(crate) fn launch(&mut self, launch: &Launch) -> Result<Launched, (Diagnostic, bool)> {
        let unknown = || {
            let message = format!("the worker does not know the kernel `{}` or one of its buffers", launch.kernel);
            (Diagnostic::error(Class::Internal, "worker", message).help("run the `%%cuda` cell again"), true)
        };
        let loaded = self.modules.get(&launch.module).ok_or_else(unknown)?;
        let mut arguments = Arguments::new();
        let mut named = Vec::new();
        for Argument { name, value } in &launch.arguments {
            arguments = match value {
                ArgumentValue::Buffer { buffer, element } => {
                    let buffer = self.buffers.get(buffer).ok_or_else(unknown)?;
                    let (address, element) = (buffer.address(), u64::from(*element));
                    named.push(Named { name: name.clone(), address, element });
                    arguments.buffer(buffer)
                }
                ArgumentValue::Scalar(bytes) => scalar(arguments, bytes).ok_or_else(unknown)?,
            };
        }
        let grid = Grid { blocks: launch.blocks, threads: launch.threads, dynamic_shared: launch.shared };
        self.run(loaded, launch, &grid, arguments)
            .map_err(|error| {
                let lost = error.class() == DeviceClass::Lost;
                (report::failed(&error, launch, &loaded.source, &named, self.device.is_emulated()), lost)
            })
            .map(|nanoseconds| Launched { nanoseconds, ..Launched::default() })
            .map(|launched| Launched { printed: self.printed(), ..launched })
    }

    fn run(
        &self,
        loaded: &Loaded,
        launch: &Launch,
        grid: &Grid,
        arguments: Arguments,
    ) -> Result<u64, onrush_device::Error> {
        let function = loaded.module.function(&launch.kernel)?;
        let begun = self.stream.record()?;
        // SAFETY: parameters and arguments are in the order and of the sizes that the cell's text has. What the kernel does with them
        // is its user's affair: that is what this process is for, and it holds nothing that is not somewhere else too.
        unsafe { function.launch(grid, arguments, &self.stream)? };
        let ended = self.stream.record()?;
        self.stream.synchronize()?;
        Ok(begun.elapsed(&ended)?.as_nanos() as u64)
    }
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
