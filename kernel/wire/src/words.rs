//! The functions that `x!` knows by name. A function of a notebook that has such a name cannot be called there.

/// Called by name, not as a method. Any other call is a function of the user's.
const FUNCTIONS: &[&str] = &[
    // Of a group, a window or a frame.
    "len",
    "count",
    "sum",
    "mean",
    "median",
    "min",
    "max",
    "std",
    "var",
    "n_unique",
    "first",
    "last",
    "quantile",
    "corr",
    "cov",
    "any_value",
    "row_number",
    "rank",
    "dense_rank",
    // Of a row.
    "coalesce",
    "min_horizontal",
    "max_horizontal",
    "sum_horizontal",
    "mean_horizontal",
    "any_horizontal",
    "all_horizontal",
    "concat_str",
    "abs",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log",
    "log10",
    "log2",
    "log1p",
    "expm1",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "floor",
    "ceil",
    "round",
    "sign",
    "pow",
    "is_null",
    "is_not_null",
    "is_nan",
    "nullif",
    "fill_null",
];

/// What `x!` reads itself, before it looks for functions.
const FORMS: &[&str] = &["col", "lit", "all", "asc", "desc", "Some", "date", "datetime"];

pub fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Whether functions of the notebook cannot have this name.
pub fn is_taken(name: &str) -> bool {
    is_function(name) || FORMS.contains(&name)
}
