//! The entry point of a program, which the C compiler's `crt1.o` is elsewhere: it calls `main` through the C library.
//! The rustc of the cells makes an object file of it (`linker/stand_in.rs`).
#![no_std]

// At the start `rdx` has a function to be called at exit, and the stack has argc and argv
// (System V ABI, AMD64 supplement, 3.4.1). `__libc_start_main(main, argc, argv, init, fini, rtld_fini, stack_end)`.
core::arch::global_asm!(
    ".globl _start",
    ".type _start, @function",
    "_start:",
    "xor ebp, ebp",
    "mov r9, rdx",
    "pop rsi",
    "mov rdx, rsp",
    "and rsp, -16",
    "push rax",
    "push rsp",
    "xor r8d, r8d",
    "xor ecx, ecx",
    "mov rdi, qword ptr [rip + main@GOTPCREL]",
    "call qword ptr [rip + __libc_start_main@GOTPCREL]",
    "hlt",
);
