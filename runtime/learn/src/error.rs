//! Why a model cannot be trained or used. The session turns an [`Error`] into a diagnostic.

/// A failure: its kind, the message, and ways out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    /// The value that was found and the one that was expected.
    pub message: String,
    pub help: Vec<String>,
}

/// Makes the enum of the kinds, each with the code of its diagnostic.
macro_rules! kinds {
    ($( $(#[doc = $doc:literal])* $kind:ident = $code:literal, )*) => {
        /// The kinds of errors. Code decides by them, never by a code or a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorKind {
            $( $(#[doc = $doc])* $kind, )*
        }

        impl ErrorKind {
            /// The code of the diagnostic.
            pub fn code(self) -> &'static str {
                match self {
                    $( ErrorKind::$kind => $code, )*
                }
            }
        }
    };
}

kinds! {
    /// The user stopped the work.
    Interrupted = "interrupted",
    /// A device cannot do the training, and the host can. No user sees this.
    Host = "host",
    /// The device failed.
    Gpu = "gpu",

    // The specification.
    /// There is no estimator of this name, or it cannot stand at its place.
    Estimator = "estimator",
    /// A parameter does not exist, or its value is not allowed.
    Parameter = "parameter",
    /// An estimator inside of another one is missing.
    Parts = "parts",
    /// The values that a search tries.
    Grid = "grid",
    /// The file of a study.
    Study = "study",
    /// No trial of a search has a score.
    Search = "search",
    /// The number of folds of an estimator.
    Cv = "cv",
    /// A cross-validation of rows that cannot be split in this way.
    CrossValidation = "cross-validation",
    /// A splitter, or the rows for it.
    Split = "split",
    /// There is no fold of this number.
    Fold = "fold",
    /// A scorer that does not exist, or does not fit the model.
    Score = "score",
    /// A metric that does not fit the columns.
    Metric = "metric",
    /// An evaluation that does not fit the model.
    Evaluation = "evaluation",
    /// Early stopping without rows to score.
    NoEvaluation = "no-evaluation",
    /// The model stores no training rows.
    NoNeighbors = "no-neighbors",
    /// No cluster labels that can be scored.
    Clusters = "clusters",

    // The data.
    /// There are no rows.
    NoRows = "no-rows",
    /// There are no features.
    NoFeatures = "no-features",
    /// There is no target.
    NoTarget = "no-target",
    /// There are no groups.
    NoGroups = "no-groups",
    /// A column is missing.
    UnknownColumn = "unknown-column",
    /// Two columns have one name.
    DuplicateColumn = "duplicate-column",
    /// A column has another type than in training.
    TypeMismatch = "type-mismatch",
    /// Values are missing.
    Nulls = "nulls",
    /// Values are infinite.
    Infinite = "infinite",
    /// Strings instead of numbers.
    Strings = "strings",
    /// A value is outside of the range of a function.
    Range = "range",
    /// A feature is constant in a class.
    Constant = "constant",
    /// The target is outside of the domain of a loss or a function.
    Target = "target",
    /// The rows have one class.
    OneClass = "one-class",
    /// A class that the training did not see.
    UnknownClass = "unknown-class",
    /// A category that the training did not see.
    UnknownCategory = "unknown-category",
    /// A feature has too many categories.
    Categories = "categories",
    /// Sample weights.
    Weight = "weight",
    /// Too many rows, features or results.
    Size = "size",
    /// A transformer would make too many columns.
    TooManyColumns = "too-many-columns",

    // The arithmetic.
    /// Numbers that are too large.
    Overflow = "overflow",
    /// A decomposition failed.
    Numeric = "numeric",
    /// An iteration did not converge.
    NoConvergence = "no-convergence",
    /// A training failed.
    Fit = "fit",

    // Files and libraries.
    /// A file that is not a model, is cut off or contradicts itself.
    ModelFile = "model-file",
    /// XGBoost's library refused a call.
    Xgboost = "xgboost",
    /// XGBoost's library is not installed, or cannot be loaded.
    XgboostMissing = "xgboost-missing",
    /// XGBoost's library is too old.
    XgboostVersion = "xgboost-version",
    /// LightGBM refused a training, or its process ended.
    Lightgbm = "lightgbm",
    /// LightGBM is not installed, or cannot be loaded.
    LightgbmMissing = "lightgbm-missing",
    /// CatBoost refused a training, or its process ended.
    Catboost = "catboost",
    /// CatBoost is not installed, or cannot be loaded.
    CatboostMissing = "catboost-missing",
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), help: Vec::new() }
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The user stopped the work.
    pub fn stopped(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Interrupted, message)
    }

    /// Whether the user stopped the work.
    pub fn is_stopped(&self) -> bool {
        self.kind == ErrorKind::Interrupted
    }

    /// A training that only the host can do.
    pub fn host_needed(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Host, why)
    }

    /// Whether the training must be repeated on the host.
    pub fn needs_host(&self) -> bool {
        self.kind == ErrorKind::Host
    }
}
