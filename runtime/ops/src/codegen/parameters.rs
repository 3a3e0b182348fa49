//! Kernel parameters: declarations and argument values side by side.

use onrush_device::{Arguments, Buffer};
use onrush_kernels::Scalar;

use crate::ir::expr::{DeviceType, LiteralValue};

/// A kernel's parameters: declarations and values side by side.
#[derive(Clone, Default)]
pub struct Parameters {
    pub(super) declarations: Vec<String>,
    arguments: Arguments,
}

impl Parameters {
    pub fn new() -> Self {
        Parameters::default()
    }

    /// `kind` is a type such as `const f64* __restrict__`.
    pub fn address(&mut self, kind: &str, name: &str, address: u64) {
        self.declarations.push(format!("{kind} {name}"));
        self.arguments = std::mem::take(&mut self.arguments).value(address);
    }

    pub fn buffer(&mut self, kind: &str, name: &str, buffer: &Buffer) {
        self.address(kind, name, buffer.address());
    }

    pub fn u64(&mut self, name: &str, value: u64) {
        self.declarations.push(format!("u64 {name}"));
        self.arguments = std::mem::take(&mut self.arguments).value(value);
    }

    pub fn u32(&mut self, name: &str, value: u32) {
        self.declarations.push(format!("u32 {name}"));
        self.arguments = std::mem::take(&mut self.arguments).value(value);
    }

    pub(super) fn literal(&mut self, name: &str, kind: DeviceType, value: LiteralValue) {
        let arguments = std::mem::take(&mut self.arguments);
        let c_type = if kind == DeviceType::Bool { "u8" } else { kind.cuda() };
        self.declarations.push(format!("{c_type} {name}"));
        self.arguments = match (kind, value) {
            (_, LiteralValue::Bool(v)) => arguments.value(u8::from(v)),
            (_, LiteralValue::F64(v)) => arguments.value(v),
            (_, LiteralValue::F32(v)) => arguments.value(v),
            (_, LiteralValue::I128(v)) => arguments.value(v),
            (_, LiteralValue::U64(v)) => arguments.value(v),
            (DeviceType::Number(Scalar::I64 | Scalar::U64), LiteralValue::I64(v)) => arguments.value(v),
            (DeviceType::Number(Scalar::I128), LiteralValue::I64(v)) => arguments.value(i128::from(v)),
            (DeviceType::Number(Scalar::I16 | Scalar::U16), LiteralValue::I64(v)) => arguments.value(v as i16),
            (DeviceType::Number(Scalar::I8 | Scalar::U8), LiteralValue::I64(v)) => arguments.value(v as i8),
            (_, LiteralValue::I64(v)) => arguments.value(v as i32),
        };
    }

    /// The parameters of another list behind these.
    pub fn extend(&mut self, others: &Parameters) {
        self.declarations.extend_from_slice(&others.declarations);
        self.arguments = std::mem::take(&mut self.arguments).then(&others.arguments);
    }

    pub fn text(&self) -> String {
        self.declarations.join(", ")
    }

    pub fn names(&self) -> Vec<&str> {
        self.declarations.iter().filter_map(|declaration| declaration.rsplit(' ').next()).collect()
    }

    /// The same values under other names.
    pub fn renamed(&self, prefix: &str) -> Parameters {
        let rename = |declaration: &String| match declaration.rsplit_once(' ') {
            Some((kind, name)) => format!("{kind} {prefix}{name}"),
            None => declaration.clone(),
        };
        Parameters { declarations: self.declarations.iter().map(rename).collect(), arguments: self.arguments.clone() }
    }

    pub fn arguments(&self) -> Arguments {
        self.arguments.clone()
    }

    pub fn len(&self) -> usize {
        self.declarations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.declarations.is_empty()
    }
}
