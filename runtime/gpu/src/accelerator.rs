//! The device that plans run on, and the policy that decides which plans do.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak};
use std::time::Duration;

use onrush_device::{Device, Emulation, Options};
use onrush_frame::Table;
use onrush_ops::{Executor, Tuning};
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;

/// The engine that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// A GPU where one works, else the CPU.
    Auto,
    #[default]
    Cpu,
    /// A GPU, and an error where a plan cannot run there.
    Cuda,
    /// The emulated device, with the CPU for what it cannot do.
    Emulated,
}

impl EngineChoice {
    /// # Errors
    /// If there is no such engine.
    pub fn parse(name: &str) -> Result<EngineChoice, Diagnostic> {
        Ok(match name {
            "auto" | "" => EngineChoice::Auto,
            "cpu" => EngineChoice::Cpu,
            "cuda" => EngineChoice::Cuda,
            "emulated" => EngineChoice::Emulated,
            other => {
                return Err(Diagnostic::error(
                    Class::Environment,
                    "unknown-engine",
                    format!("there is no engine `{other}`"),
                )
                .help("engines are `auto`, `cpu`, `cuda` and `emulated`"));
            }
        })
    }
}

/// When a plan that can run on the device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// With this many rows or more.
    FromRows(u64),
    Always,
    /// And nothing else is allowed.
    Only,
}

/// Plans with fewer input rows stay on the CPU. Measured on an H200 against one core of its host
/// (docs/measurements/calls-and-planning.md). With resident columns, groupings are faster on the device from 10,000
/// rows on and a mean from 300,000 on. The difference is a tenth of a millisecond. With columns that must be uploaded
/// first, both are equal at about 100,000.
pub const MIN_GPU_ROWS: u64 = 30_000;

/// Tables whose columns are to be copied, in their order.
#[derive(Default)]
pub struct Prefetch {
    pub(super) queue: Mutex<Option<Sender<Weak<Table>>>>,
}

/// A device for plans.
pub struct Accelerator {
    pub gpu: Executor,
    pub policy: Policy,
    /// `cuda` or `emulated`.
    pub name: &'static str,
    /// How many fragments ran on the CPU after all: a row had no result, or the device could not do what their data
    /// asked for.
    pub cpu_fallbacks: AtomicU64,
    /// How many parts of fragments have run that did not fit.
    pub partitions_run: AtomicU64,
    /// For tests: when this file is there, it is removed, and a kernel writes where it must not.
    pub fault_file: Option<PathBuf>,
    /// For tests: the rows of a partition. If set, every fragment runs out of core, as if nothing larger fit.
    pub part_rows: Option<u64>,
    /// Columns that are copied while nobody waits.
    pub prefetch: Prefetch,
}

impl Accelerator {
    /// The device for a choice, of whose memory at most `memory` bytes are used; none for the CPU. `Auto` on a machine
    /// without a working GPU gives none, and the reason.
    ///
    /// # Errors
    /// If the device that was asked for by name does not work.
    pub fn open(
        choice: EngineChoice,
        cache: Option<&Path>,
        memory: Option<u64>,
    ) -> Result<(Option<Arc<Accelerator>>, String), Diagnostic> {
        let options = Options { capacity: memory, cache: cache.map(|c| c.join("emulated")) };
        let kernels = cache.map(|c| c.join("kernels"));
        let cuda = |policy| -> onrush_ops::Result<Accelerator> {
            let device = Device::cuda(0, &options)?;
            // A device without a compiler is of no use.
            device.compiler()?;
            drop(device.warm_compiler());
            let gpu = Executor::new(&device, kernels.as_deref())?;
            Ok(Accelerator {
                gpu,
                policy,
                name: "cuda",
                cpu_fallbacks: AtomicU64::new(0),
                partitions_run: AtomicU64::new(0),
                fault_file: None,
                part_rows: None,
                prefetch: Prefetch::default(),
            })
        };
        let refused = |name: &str, error: onrush_ops::Error| {
            Diagnostic::error(Class::Environment, "engine", format!("the engine `{name}` cannot be used: {error}"))
                .help("`:engine auto` takes the CPU where there is no GPU; `onrush doctor` says what was found")
        };
        match choice {
            EngineChoice::Cpu => Ok((None, "the engine is `cpu`".to_string())),
            EngineChoice::Auto => match cuda(Policy::FromRows(MIN_GPU_ROWS)) {
                Ok(found) => Ok((Some(Arc::new(found)), String::new())),
                Err(error) => Ok((None, error.to_string())),
            },
            EngineChoice::Cuda => match cuda(Policy::Only) {
                Ok(found) => Ok((Some(Arc::new(found)), String::new())),
                Err(error) => Err(refused("cuda", error)),
            },
            EngineChoice::Emulated => {
                let open = || -> onrush_ops::Result<Accelerator> {
                    let device = Device::emulated(&Emulation::default(), &options)?;
                    // All ways of finding groups run on small tables.
                    let mut gpu = Executor::new(&device, kernels.as_deref())?;
                    gpu.tuning = Tuning::small();
                    Ok(Accelerator {
                        gpu,
                        policy: Policy::Always,
                        name: "emulated",
                        cpu_fallbacks: AtomicU64::new(0),
                        partitions_run: AtomicU64::new(0),
                        fault_file: None,
                        part_rows: None,
                        prefetch: Prefetch::default(),
                    })
                };
                open().map(|found| (Some(Arc::new(found)), String::new())).map_err(|e| refused("emulated", e))
            }
        }
    }

    /// Drops columns that nobody holds and returns the free memory of the pool to the driver, whenever nothing has run
    /// for a while. Other processes find the memory, and `nvidia-smi` shows what frames take. The next query that needs
    /// much memory gets it again in milliseconds.
    pub fn trim_when_idle(self: &Arc<Accelerator>) {
        const INTERVAL: Duration = Duration::from_secs(1);
        /// Bytes that the driver allocates at a time, and the share of used memory that the pool may keep. The driver's
        /// figure then differs from the ledger's by at most two percent, half of it lost between allocations.
        const SPARE_BYTES: u64 = 32 << 20;
        const SPARE_DIVISOR: u64 = 100;
        if self.gpu.context().device().is_emulated() {
            return;
        }
        let weak = Arc::downgrade(self);
        let look = move || {
            let mut before = (0, 0);
            loop {
                std::thread::sleep(INTERVAL);
                let Some(accelerator) = weak.upgrade() else { return };
                let (gpu, device) = (&accelerator.gpu, accelerator.gpu.context().device());
                // Nothing has run since the last look, and nothing runs that is longer than that.
                let now = (gpu.spent().0, device.ledger().total().used);
                if now == before && gpu.is_idle() {
                    gpu.residency.sweep();
                    // If that fails, the next call to the device reports the reason.
                    let _ = device.trim_to(SPARE_BYTES.min(now.1 / SPARE_DIVISOR));
                }
                before = now;
            }
        };
        // Without this thread memory stays where it is.
        drop(std::thread::Builder::new().name("give back".to_string()).spawn(look));
    }
}
