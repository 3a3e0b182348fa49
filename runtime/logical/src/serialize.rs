//! Functions of this crate as bytes, for plans that run in other processes of the same executable. Kernels are those of
//! `onrush-expr`, also those whose bodies are here.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::logical_expr::WindowUDF;
use onrush_expr::serialize::{tagged, untagged};

use crate::ops::sample::DrawsForm;

/// The first byte of each function of this crate.
pub const TAG: u8 = 3;

/// Writes a window function. `None` if it is not one of this crate.
///
/// # Errors
/// None today: as of `onrush_expr::serialize::window`.
pub fn window(function: &WindowUDF) -> Result<Option<Vec<u8>>> {
    Ok(DrawsForm::of(function).map(|form| tagged(TAG, &form)))
}

/// Reads what [`window`] wrote.
///
/// # Errors
/// If the bytes are of another kind.
pub fn window_from(bytes: &[u8]) -> Result<Arc<WindowUDF>> {
    Ok(untagged::<DrawsForm>(TAG, bytes)?.into_function())
}
