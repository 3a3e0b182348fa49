"""`jupyter_kernel_test`, the Jupyter project's own conformance tests, with every flag that applies."""

import os

import jupyter_kernel_test
import pytest


@pytest.fixture(scope="module", autouse=True)
def kernelspec(jupyter_prefix):
    """`jupyter_kernel_test` starts kernels by name."""
    before = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = str(jupyter_prefix / "share/jupyter")
    yield
    if before is None:
        del os.environ["JUPYTER_PATH"]
    else:
        os.environ["JUPYTER_PATH"] = before


class TestOnrush(jupyter_kernel_test.KernelTests):
    kernel_name = "onrush"
    language_name = "rust"
    file_extension = ".rs"

    code_hello_world = 'println!("hello, world");'
    code_stderr = 'eprintln!("oops");'
    completion_samples = [
        {"text": "zebra", "matches": []},
        {"text": "let zebra_one = 1; zebra_", "matches": ["zebra_one"]},
    ]
    complete_code_samples = ["1", "let a = 1;", "fn f() -> i32 { 1 }", 'println!("a");']
    incomplete_code_samples = ["fn f() {", "let a = [1,", 'let s = "abc', "match 1 {\n    1 =>"]
    invalid_code_samples = ["let a = );", "fn 1() {}"]
    # There is no pager: `code_page_something` does not apply.
    code_generate_error = "let broken: i32 = \"text\";"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "6 * 8", "result": "48"},
        {"code": '"a".repeat(3)', "mime": "text/plain"},
    ]
    code_display_data = [
        {"code": "show(&1);", "mime": "text/plain"},
        {"code": 'println!("EVCXR_BEGIN_CONTENT text/html\\n<b>x</b>\\nEVCXR_END_CONTENT");', "mime": "text/html"},
    ]
    code_history_pattern = "6 * 7"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "read_csv"
    code_clear_output = "clear_output();"


class TestWelcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "onrush"
    support_iopub_welcome = True


# The base classes are no tests of their own.
del jupyter_kernel_test
