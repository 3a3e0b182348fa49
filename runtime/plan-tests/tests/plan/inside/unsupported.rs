//! Reasons for the CPU as sentences.

use arrow::datatypes::DataType;
use onrush_gpu::inside::CpuReason;

#[test]
fn reasons_read_as_sentences() {
    let all = [
        (CpuReason::feature("a grouping set"), "a grouping set is not supported on the GPU"),
        (CpuReason::Function("lpad".into()), "the function `lpad` is not supported on the GPU"),
        (CpuReason::form("median", "with FILTER"), "`median` with FILTER is not supported on the GPU"),
        (
            CpuReason::Cast { from: DataType::Utf8, to: DataType::Binary },
            "CAST of Utf8 to Binary is not supported on the GPU",
        ),
        (CpuReason::of_type("a column", &DataType::Binary), "a column of type Binary is not supported on the GPU"),
        (CpuReason::Stages { limit: 6 }, "too many string materialisation stages (limit 6)"),
    ];
    for (reason, text) in all {
        assert_eq!(reason.to_string(), text);
    }
}
