//! Addresses of functions as numbers that mean the same in every process of one executable: distances from the address
//! of a fixed function. An executable is loaded as a whole, so its functions keep their distances.
//!
//! Not for functions of other libraries: their distances change with each start. `serialize.rs` is the only user.

use std::ptr::with_exposed_provenance;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use serde::{Deserialize, Serialize};

type Body = fn(&[ArrayRef]) -> Result<ArrayRef>;
type TypeRule = fn(&[DataType]) -> Result<DataType>;

/// The distance of a function of the executable from [`anchor`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodeAddress(i32);

/// The function from which distances count.
#[inline(never)]
fn anchor() {}

fn origin() -> usize {
    (anchor as *const ()).expose_provenance()
}

impl CodeAddress {
    /// The address of a kernel's body. `None` if the body is too far away to be in this executable.
    pub(crate) fn of_body(body: Body) -> Option<CodeAddress> {
        CodeAddress::of((body as *const ()).expose_provenance())
    }

    /// The address of the rule that gives the type of a kernel's result. `None` as for [`CodeAddress::of_body`].
    pub(crate) fn of_type_rule(rule: TypeRule) -> Option<CodeAddress> {
        CodeAddress::of((rule as *const ()).expose_provenance())
    }

    /// Code models keep an executable within 2 GiB.
    fn of(address: usize) -> Option<CodeAddress> {
        let distance = address.wrapping_sub(origin()) as isize;
        i32::try_from(distance).ok().map(CodeAddress)
    }

    fn pointer(self) -> *const () {
        with_exposed_provenance(origin().wrapping_add_signed(self.0 as isize))
    }

    /// The body of a kernel. The address must come from [`CodeAddress::of_body`], in a process of this executable.
    pub(crate) fn body(self) -> Body {
        // SAFETY: `of_body` made the address in a process of the same executable, where the function has this distance
        // from `anchor`. Both ends of a connection compare the hashes of their builds before the first plan. Each
        // message is authenticated by the token of the cluster, and a holder of the token may run any code anyway.
        unsafe { std::mem::transmute::<*const (), Body>(self.pointer()) }
    }

    /// The rule for a type. The address must come from [`CodeAddress::of_type_rule`], in a process of this executable.
    pub(crate) fn type_rule(self) -> TypeRule {
        // SAFETY: as in `body`, of an address that `of_type_rule` made.
        unsafe { std::mem::transmute::<*const (), TypeRule>(self.pointer()) }
    }
}
