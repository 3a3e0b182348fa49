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
    "rolling_corr",
    "rolling_cov",
    "random",
    // Several columns at once.
    "numeric",
    "strings",
    "temporal",
    "booleans",
    "matching",
    "by_dtype",
    // Of structs.
    "struct",
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
    // Metrics of predictions.
    "accuracy_score",
    "balanced_accuracy_score",
    "precision_score",
    "recall_score",
    "f1_score",
    "f1_macro_score",
    "f1_weighted_score",
    "jaccard_score",
    "matthews_corrcoef",
    "cohen_kappa_score",
    "zero_one_loss",
    "adjusted_rand_score",
    "normalized_mutual_info_score",
    "adjusted_mutual_info_score",
    "v_measure_score",
    "fowlkes_mallows_score",
    "homogeneity_score",
    "completeness_score",
    "rand_score",
    "mutual_info_score",
    "roc_auc_score",
    "average_precision_score",
    "log_loss",
    "brier_score_loss",
    "r2_score",
    "explained_variance_score",
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_log_error",
    "max_error",
    "mean_pinball_loss",
    "mean_poisson_deviance",
    "mean_gamma_deviance",
    "d2_absolute_error_score",
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

/// Whether a function stands for several columns, as `numeric()` does. `all()` has a form of expression.
pub fn is_selector(function: &str) -> bool {
    ["numeric", "strings", "temporal", "booleans", "matching", "by_dtype"].contains(&function)
}
