//! The headers of CUDA kernels.

use onrush_kernels::headers::{ALL, SCAN, SORT, assemble};

#[test]
fn each_header_stands_once_and_behind_its_needs() {
    let text = assemble(&[&SCAN, &SORT], "body");
    let order: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("#line 1 ")).collect();
    let expected = ["prelude.cuh", "ptx.cuh", "lookback.cuh", "scan.cuh", "sort.cuh", "program.cu"];
    assert_eq!(order, expected.map(|name| format!("\"{name}\"")));
    assert!(text.ends_with("\nbody"));
}

#[test]
fn inline_assembly_is_in_one_header_and_nothing_includes() {
    for header in ALL {
        assert_eq!(header.text.contains("asm "), header.name == "ptx.cuh", "{}", header.name);
        assert!(!header.text.contains("#include"), "{}", header.name);
    }
}
