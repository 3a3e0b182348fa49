//! Exports symbols of the executable, so that the loader finds its `read`, `write` and `open` before the C library's
//! functions.

fn main() {
    println!("cargo:rustc-link-arg-bins=-rdynamic");
    for name in [
        "read",
        "write",
        "writev",
        "open",
        "open64",
        "openat",
        "openat64",
        "pthread_create",
        "syscall",
        "waitpid",
        "unsetenv",
        "_Unwind_Backtrace",
        "_Unwind_RaiseException",
    ] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
