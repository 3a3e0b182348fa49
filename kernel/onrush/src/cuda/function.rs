//! User-defined functions: the `__device__` functions of a `%%cuda` cell in expressions. The session runs them, not the
//! worker. worker.

use onrush_wire::{Class, Diagnostic, ExprKind, NativeFunction};

use super::launch::Program;
use crate::expr::Expr;
use crate::raise::{here, raise};

/// Name, parameters with their types, and the result type; types as `x!` spells them.
pub type Function = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// Calls one of a cell's functions, by its index in the cell.
#[track_caller]
pub fn call<const N: usize>(program: &'static Program, function: usize, arguments: [Expr; N]) -> Expr {
    let mut at = here("");
    let args = arguments.into_iter().map(|argument| argument.0).collect();
    let Some(function) = native(program, function) else {
        let error = Diagnostic::error(Class::Internal, "expression", "a function of a `%%cuda` cell could not be read");
        raise(error.at(at, "").help("run the `%%cuda` cell again: it was compiled for another version"));
    };
    at.length = function.name.chars().count() as u32;
    Expr(onrush_wire::Expr::new(ExprKind::Native { function: Box::new(function), args }).at(at))
}

fn native(program: &Program, function: usize) -> Option<NativeFunction> {
    let (name, parameters, result) = program.functions.get(function)?;
    let parameter = |(name, kind): &(&str, &str)| Some((name.to_string(), kind.parse().ok()?));
    Some(NativeFunction {
        name: name.to_string(),
        parameters: parameters.iter().map(parameter).collect::<Option<_>>()?,
        result: result.parse().ok()?,
        file: program.file.to_string(),
        text: program.device.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static PROGRAM: Program = Program {
        number: 1,
        line: 1,
        file: "cell_1.rs",
        target: crate::cuda::Target::Device,
        text: "the cell",
        declarations: "",
        kernels: &[],
        signatures: &[],
        device: "the functions",
        functions: &[("add", &[("a", "f32"), ("n", "i64")], "bool")],
        refusals: &[],
    };

    #[test]
    fn a_call_is_an_expression_that_holds_the_text() {
        let expr = call(&PROGRAM, 0, [crate::expr::col("x"), crate::expr::lit(2)]);
        assert_eq!(format!("{expr:?}"), "add(x, 2)");
        let (kind, span) = expr.0.into_parts();
        let ExprKind::Native { function, args } = kind else { panic!() };
        use onrush_wire::DataType::{Boolean, Float32, Int64};
        assert_eq!(function.parameters, [("a".to_string(), Float32), ("n".to_string(), Int64)]);
        assert_eq!((function.result, function.text.as_str(), args.len()), (Boolean, "the functions", 2));
        assert_eq!(span.unwrap().length, 3);
    }
}
