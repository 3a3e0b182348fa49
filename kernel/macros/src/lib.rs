//! The procedural macros of cells: `x!` for column expressions, `frame!` for small frames from Rust values, `interact!`
//! for controls above a closure.
//!
//! The macros know only syntax. The session checks names, types and functions against the schema of a frame. An
//! expression becomes a constant byte string (an [`onrush_wire::Expr`]) and a list of its Rust values. It adds little
//! to the compile time of a cell.

mod calls;
mod cursor;
mod expand;
mod frame;
mod interact;
mod literal;
mod patterns;
mod syntax;
mod words;

/// An expression over a frame's columns, or a list of them.
///
/// - A bare name is a column, `{value}` is a Rust value (taken by reference).
/// - `name = expression` names the result; `"Any name" = expression` does too. A name or a comma makes a list.
/// - Operators are Rust's: `+ - * / %`, `== != < <= > >=`, `&& || !`, `as f64`; and `x in ["a", "b"]`, `x in 1..5`.
/// - `if c { a } else { b }` and `match x { "a" | "b" => 1, n if n > 3 => 2, _ => 0 }` choose by row.
/// - Methods are those of `Expr`: `delay.mean().over("carrier")`, `name.str.contains("x")`, `time.dt.hour()`.
///
/// ```text
/// flights.with_columns(x!(mph = distance / air_time * 60, late = dep_delay > {limit}))
/// ```
#[proc_macro]
pub fn x(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let source = proc_macro::Span::call_site().source_text();
    expand::x(input.into(), source.as_deref()).unwrap_or_else(cursor::Failure::into_tokens).into()
}

/// A frame from Rust values: `frame! { a: [1, 2, 3], "b c": names, d: [1.5, None, 2.0] }`.
///
/// Each column is an array, a slice, a `Vec` or a `Column`, taken by reference. All columns have the same length.
/// `None` is null.
#[proc_macro]
pub fn frame(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    frame::expand(input.into()).unwrap_or_else(cursor::Failure::into_tokens).into()
}

/// Shows controls above the output of a closure. The closure runs now, and again whenever a parameter changes.
///
/// - A range is a slider (`0..60`: 0 to 59, `0..=60`, `0.0..1.0`, `(0..60).step_by(5)`), a list is a dropdown, `true`
///   and `false` are a checkbox, a string is a text field, a number is a number field. A parameter can also be a
///   control: `slider(0..60).initial(30)`.
/// - The closure keeps copies of the variables that it uses (a copy of a frame is the same frame). Its output stands
///   below the controls: displays, prints and the returned value.
/// - If the closure fails, the message stands there, and all variables keep their values.
///
/// ```text
/// interact!(|threshold: 0..60, carrier: ["UA", "AA"]| {
///     flights.filter(x!(dep_delay > {threshold} && carrier == {carrier}))
/// })
/// ```
#[proc_macro]
pub fn interact(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    interact::expand(input.into()).unwrap_or_else(cursor::Failure::into_tokens).into()
}
