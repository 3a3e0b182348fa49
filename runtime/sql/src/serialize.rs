//! Functions of this crate as bytes, for plans that run in other processes of the same executable. Kernels are those of
//! `onrush-expr`, also those whose bodies are here.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::serialize::{tagged, untagged};
use serde::{Deserialize, Serialize};

use crate::aliases::{self, is_apart};
use crate::checked::ChainForm;

/// The first byte of each function of this crate.
pub const TAG: u8 = 2;

#[derive(Serialize, Deserialize)]
enum ScalarForm {
    AsItIs,
    Chain(ChainForm),
}

/// Writes a scalar function. `None` if it is not one of this crate.
///
/// # Errors
/// None today: as of `onrush_expr::serialize::scalar`.
pub fn scalar(function: &ScalarUDF) -> Result<Option<Vec<u8>>> {
    let form = match is_apart(function) {
        true => Some(ScalarForm::AsItIs),
        false => ChainForm::of(function).map(ScalarForm::Chain),
    };
    Ok(form.map(|form| tagged(TAG, &form)))
}

/// Reads what [`scalar`] wrote.
///
/// # Errors
/// If the bytes are of another kind.
pub fn scalar_from(bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
    Ok(match untagged::<ScalarForm>(TAG, bytes)? {
        ScalarForm::AsItIs => aliases::function(),
        ScalarForm::Chain(form) => form.into_function(),
    })
}
