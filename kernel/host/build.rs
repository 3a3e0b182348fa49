//! Exports the symbols of the executable: its own `read`, `write` and `writev` must be found before the C library's.

fn main() {
    println!("cargo:rustc-link-arg-bins=-rdynamic");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=read");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=write");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=writev");
    println!("cargo:rerun-if-changed=build.rs");
}
