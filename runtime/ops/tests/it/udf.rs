//! Users' functions as text for the compiler of kernels.

use onrush_kernels::Scalar;
use onrush_ops::{DeviceType, DeviceUdf};

const FLOAT: DeviceType = DeviceType::Number(Scalar::F32);

#[test]
fn a_text_has_a_namespace_and_its_macros_end_with_it() {
    let text = "\n#define SCALE 2.0f\n  # define TWICE(x) (2 * (x))\n__device__ float f(float x) { return SCALE * x; }";
    let native =
        DeviceUdf::new("f", "cell_1.rs", text, &[FLOAT, DeviceType::Bool], DeviceType::Number(Scalar::I64)).unwrap();
    let symbol = &native.symbol;
    assert!(native.source.contains(&format!("#line 1 \"{symbol}\"\n{text}\n}}\n")));
    for name in ["SCALE", "TWICE"] {
        let ends = format!("\n#ifndef {symbol}_has_{name}\n#undef {name}\n#endif\n");
        assert!(native.source.contains(&ends), "{}", native.source);
    }
    let call = format!("long long {symbol}(float a0, bool a1) {{ return in_{symbol}::f(a0, a1); }}");
    assert!(native.source.contains(&call), "{}", native.source);
}

#[test]
fn a_name_of_the_headers_is_taken_by_one_text_alone() {
    let text = "#define M_PI 3\n__device__ float f(float x) { return M_PI * x; }";
    let native = DeviceUdf::new("f", "cell_1.rs", text, &[FLOAT], FLOAT).unwrap();
    let (before, after) = native.source.split_once(text).unwrap();
    assert!(before.contains("#ifndef M_PI\n#define M_PI 3.14"), "{before}");
    assert!(after.starts_with("\n}\n#undef M_PI\n"), "{after}");
}

#[test]
fn another_text_is_another_function() {
    let symbol = |text: &str| DeviceUdf::new("f", "cell_1.rs", text, &[FLOAT], FLOAT).unwrap().symbol;
    assert_eq!(symbol("a"), symbol("a"));
    assert_ne!(symbol("a"), symbol("b"));
    assert_eq!(DeviceUdf::new("f", "c", "a", &[DeviceType::String], FLOAT), None);
}
