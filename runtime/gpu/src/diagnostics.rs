//! Errors of the device as diagnostics.

use onrush_wire::{Class, Diagnostic};

/// The code of an error after which the process must end: CUDA does not recover from a kernel that wrote where it must
/// not.
pub const GPU_LOST: &str = "gpu-lost";

pub fn diagnostic(error: onrush_ops::Error) -> Diagnostic {
    use onrush_ops::Error;
    let text = error.to_string();
    match &error {
        Error::Cancelled => onrush_frame::CancelError.into(),
        Error::Kernels(onrush_kernels::Error::Device(device)) => {
            let (class, code) = match device.class() {
                onrush_device::Class::Resources => (Class::Resources, "gpu-memory"),
                onrush_device::Class::Environment => (Class::Environment, "gpu"),
                onrush_device::Class::Lost => (Class::Internal, GPU_LOST),
                // Nobody knows what such a kernel wrote.
                _ if matches!(device, onrush_device::Error::Kernel { .. }) => (Class::Internal, GPU_LOST),
                _ => (Class::Internal, "gpu"),
            };
            let diagnostic = Diagnostic::error(class, code, text);
            if code == GPU_LOST {
                let again = "the engine starts again, and makes frames from their plans when they are next used";
                return diagnostic.note(again).help("please report it with the cell that led to it");
            }
            match device.help() {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            }
        }
        // Errors of an engine that was asked for by name: nothing but the device may answer.
        Error::Unsupported(_) | Error::TooManyRows(_) => {
            let message = format!("an engine was asked for by name, and it has no way to run {text}");
            Diagnostic::error(Class::Environment, "engine", message).help("`:engine auto` lets the CPU take over")
        }
        _ => Diagnostic::error(Class::Internal, "gpu", text),
    }
}
