//! User-defined device functions: `__device__` functions in CUDA C++ whose source goes into the kernels that call
//! them.
//!
//! The source stands before Onrush's headers, in a separate namespace, and its macros end with it. Therefore it means
//! what it means alone, and two sources may use the same names. The symbol is a hash of the source, so kernels are
//! found again by the functions that they call.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use onrush_kernels::Scalar;

use crate::ir::expr::DeviceType;

/// Types that people expect without a header, and `assert`. Both and what [`onrush_device::C_CONSTANTS`] has are as in
/// `runtime/worker`, so that what compiles there does so here.
const NAMES: &str = "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t; \
    typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;";
const ASSERT: &str = "#ifndef assert\n#define assert(c) ((c) ? (void)0 : __trap())\n#endif\n";

/// A function, and the text that it is in.
#[derive(Clone, Debug)]
pub struct DeviceUdf {
    /// As its author calls it, and the file that the text is in.
    pub name: String,
    pub file: String,
    pub text: Arc<str>,
    /// The name that kernels call, and that compilers give to the text.
    pub symbol: String,
    /// The source that kernels need for that.
    pub source: Arc<str>,
}

/// The symbol is made from all that makes a difference.
impl PartialEq for DeviceUdf {
    fn eq(&self, other: &Self) -> bool {
        self.symbol == other.symbol
    }
}

impl Eq for DeviceUdf {}

impl DeviceUdf {
    /// `None` if it takes or gives anything but numbers and booleans.
    pub fn new(name: &str, file: &str, text: &str, parameters: &[DeviceType], result: DeviceType) -> Option<DeviceUdf> {
        let types = parameters.iter().map(|kind| c_type(*kind)).collect::<Option<Vec<_>>>()?;
        let result = c_type(result)?;
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, name, text, &types, result).hash(&mut hasher);
            hasher.finish()
        };
        let symbol = format!("native_{:016x}{:016x}", half(0), half(1));
        // A macro of the platform's that the text asks for with `#ifndef` before it defines it stays: what follows
        // needs it.
        let macros: BTreeSet<&str> = macros(text).collect();
        let mut source = format!("#line 1 \"names\"\n{}{ASSERT}", onrush_device::C_CONSTANTS);
        for name in &macros {
            let _ = writeln!(source, "#ifdef {name}\n#define {symbol}_has_{name}\n#endif");
        }
        let _ = writeln!(source, "namespace in_{symbol} {{ {NAMES}\n#line 1 \"{symbol}\"\n{text}\n}}");
        // Macros that we put there ourselves exist again for the next text, and must not get the definitions of this
        // one.
        let is_ours = |name: &str| onrush_device::C_CONSTANTS.contains(&format!("#define {name} "));
        for name in &macros {
            if is_ours(name) {
                let _ = writeln!(source, "#undef {name}");
                continue;
            }
            let _ = writeln!(source, "#ifndef {symbol}_has_{name}\n#undef {name}\n#endif");
        }
        let list = |each: &dyn Fn(usize, &str) -> String| {
            types.iter().enumerate().map(|(at, kind)| each(at, kind)).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(
            source,
            "#line 1 \"call\"\nstatic __device__ __forceinline__ {result} {symbol}({}) {{ return in_{symbol}::{name}({}); }}",
            list(&|at, kind| format!("{kind} a{at}")),
            list(&|at, _| format!("a{at}")),
        );
        Some(DeviceUdf { name: name.into(), file: file.into(), text: text.into(), symbol, source: source.into() })
    }
}

fn c_type(kind: DeviceType) -> Option<&'static str> {
    Some(match kind {
        DeviceType::Bool => "bool",
        DeviceType::Number(scalar) => match scalar {
            Scalar::I8 => "signed char",
            Scalar::U8 => "unsigned char",
            Scalar::I16 => "short",
            Scalar::U16 => "unsigned short",
            Scalar::I32 => "int",
            Scalar::U32 => "unsigned int",
            Scalar::I64 => "long long",
            Scalar::U64 => "unsigned long long",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
            Scalar::I128 => return None,
        },
        DeviceType::DictIndex | DeviceType::String | DeviceType::ListView => return None,
    })
}

/// The macros that a text defines.
fn macros(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
        let name = rest.strip_prefix([' ', '\t'])?.trim_start();
        let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        (end > 0).then(|| &name[..end])
    })
}
