//! Support vector machines: linear ones as in LIBLINEAR, and those with kernels as in LIBSVM.

pub mod classes;
mod descent;
mod design;
mod kernel;
pub mod linear;
mod machine;
mod newton;
pub mod numbers;
mod platt;
mod smo;

pub use linear::LinearMachine;
pub use machine::Machine;

use onrush_wire::learn::Param;

use crate::data::Data;
use crate::error::Error;
use crate::params;
use kernel::{Kernel, KernelForm};

params::shared! {
    /// Parameters of the kernel and the solver.
    pub struct KernelParams of [SVC NuSVC SVR NuSVR OneClassSVM] {
        kernel: String,
        gamma: Param,
        coef0: f64,
        degree: usize,
        tol: f64,
        max_iter: Option<usize>,
    }
}

/// The features row after row, and the kernel. Kernels of distances get centred features, whose products lose fewer
/// digits.
///
/// # Errors
/// If a parameter of the kernel is not allowed.
fn training_rows(params: &KernelParams, data: &Data) -> Result<(Vec<f64>, Kernel), Error> {
    let x = data.row_major();
    let kernel = Kernel::new(&params.kernel, &params.gamma, (params.coef0, params.degree), &x, data.width())?;
    match kernel.form {
        KernelForm::Rbf => Ok((data.shifted(&data.means()), kernel)),
        _ => Ok((x, kernel)),
    }
}
