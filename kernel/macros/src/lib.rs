//! The macros of cells: `x!` writes expressions over columns, `frame!` makes a small frame from Rust values, `interact!` puts controls
//! above a closure.
//!
//! They know syntax only: names, types and functions are checked by the session against a frame's schema. An expression
//! becomes a constant byte string (a [`onrush_wire::Expr`]) and a list of the Rust values in it, so that a cell compiles
//! hardly slower for it.

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
/// A column is an array, a slice, a `Vec` or a `Column`, taken by reference; all have the same length. `None` is null.
#[proc_macro]
pub fn frame(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    frame::expand(input.into()).unwrap_or_else(cursor::Failure::into_tokens).into()
}

/// Controls above what a closure shows: it runs now, and again whenever one of its parameters is changed.
///
/// - A range is a slider (`0..60`: 0 to 59, `0..=60`, `0.0..1.0`, `(0..60).step_by(5)`), a list is a dropdown, `true` and `false` are a
///   checkbox, a text is a field for text, a number is a field for numbers; or a control: `slider(0..60).initial(30)`.
/// - The closure keeps its own copies of the variables that it uses (a frame's copy is the same frame). What it shows, prints and
///   returns stands below the controls.
/// - If it fails, the message stands there, and all variables are as they were.
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
