//! Models: what an estimator is called, which parameters it takes, and what is asked of a fitted one.
//!
//! The table of estimators is data, in one macro for each family (`learn/linear.rs` and so on). [`table`] is made from
//! it here; the prelude makes its builders from the same macros (`kernel/onrush/src/learn`), and `docs/models.md` is
//! written from it. Names, parameters and defaults are scikit-learn's.

pub mod cluster;
pub mod compose;
pub mod decomposition;
pub mod ensemble;
pub mod feature_selection;
pub mod foreign;
pub mod kernel_methods;
pub mod linear;
pub mod manifold;
pub mod mixture;
pub mod neighbors;
pub mod neural;
pub mod number;
pub mod prepare;
pub mod samplers;
pub mod select;
pub mod svm;
pub mod text;
pub mod trees;

use serde::{Deserialize, Serialize};

use crate::FrameId;
pub use crate::ModelId;
use crate::expr::Expr;
use crate::schema::Field;
use crate::value::Value;

/// The value of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Param {
    #[default]
    None,
    Bool(bool),
    Int(i64),
    Float(#[serde(with = "number")] f64),
    Str(String),
    List(Vec<Param>),
}

/// An estimator with its parameters and without data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The name of the estimator in [`table`].
    pub estimator: String,
    /// Parameters that were set. The others have their defaults.
    pub params: Vec<(String, Param)>,
    /// The features, by name or as expressions. `None`: all other columns.
    pub features: Option<Vec<Expr>>,
    /// The column of sample weights.
    pub weight: Option<String>,
    /// The column of groups, for splitters by group.
    pub groups: Option<String>,
    /// The estimators inside of this one: steps of a pipeline, transformers of columns, the estimator of a search.
    pub parts: Vec<Part>,
    /// The values that a search tries, by the paths of parameters.
    pub grid: Vec<(String, Grid)>,
    /// How rows are split into training and test sets, where the estimator does so.
    pub cv: Option<Splitter>,
}

/// An estimator inside of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    /// The columns of a transformer in a `ColumnTransformer`. Empty otherwise.
    pub columns: Vec<String>,
    pub spec: Spec,
}

/// The values of a parameter that a search tries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Grid {
    List(Vec<Param>),
    /// Uniform between two numbers; the upper one is excluded.
    Uniform(f64, f64),
    /// Uniform in the logarithm.
    LogUniform(f64, f64),
    /// Integers, both ends included.
    Integers(i64, i64),
}

/// A splitter of rows, as in `sklearn.model_selection`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Splitter {
    /// Folds of a classifier are stratified, others are consecutive: scikit-learn's `cv=5`.
    Auto {
        n_splits: usize,
    },
    KFold {
        n_splits: usize,
        shuffle: bool,
        random_state: u32,
    },
    StratifiedKFold {
        n_splits: usize,
        shuffle: bool,
        random_state: u32,
    },
    GroupKFold {
        n_splits: usize,
    },
    TimeSeriesSplit {
        n_splits: usize,
        gap: usize,
        test_size: Option<usize>,
        max_train_size: Option<usize>,
    },
    ShuffleSplit {
        n_splits: usize,
        test_size: Size,
        train_size: Option<Size>,
        random_state: u32,
    },
    StratifiedShuffleSplit {
        n_splits: usize,
        test_size: Size,
        train_size: Option<Size>,
        random_state: u32,
    },
    RepeatedKFold {
        n_splits: usize,
        n_repeats: usize,
        random_state: u32,
    },
    RepeatedStratifiedKFold {
        n_splits: usize,
        n_repeats: usize,
        random_state: u32,
    },
    LeaveOneOut,
    /// Random splits of groups. Sizes are those of groups, not of rows.
    GroupShuffleSplit {
        n_splits: usize,
        test_size: Size,
        train_size: Option<Size>,
        random_state: u32,
    },
    StratifiedGroupKFold {
        n_splits: usize,
        shuffle: bool,
        random_state: u32,
    },
    LeaveOneGroupOut,
    /// Each set of `p` rows is a test set.
    LeavePOut {
        p: usize,
    },
    /// Each set of `n_groups` groups is a test set.
    LeavePGroupsOut {
        n_groups: usize,
    },
}

impl Splitter {
    /// Counts the splits of `rows` rows in `groups` groups.
    pub fn n_splits(&self, rows: usize, groups: usize) -> usize {
        match self {
            Splitter::Auto { n_splits }
            | Splitter::KFold { n_splits, .. }
            | Splitter::StratifiedKFold { n_splits, .. }
            | Splitter::GroupKFold { n_splits }
            | Splitter::TimeSeriesSplit { n_splits, .. }
            | Splitter::ShuffleSplit { n_splits, .. }
            | Splitter::StratifiedShuffleSplit { n_splits, .. }
            | Splitter::GroupShuffleSplit { n_splits, .. }
            | Splitter::StratifiedGroupKFold { n_splits, .. } => *n_splits,
            Splitter::RepeatedKFold { n_splits, n_repeats, .. }
            | Splitter::RepeatedStratifiedKFold { n_splits, n_repeats, .. } => n_splits.saturating_mul(*n_repeats),
            Splitter::LeaveOneOut => rows,
            Splitter::LeaveOneGroupOut => groups,
            Splitter::LeavePOut { p } => subsets(rows, *p),
            Splitter::LeavePGroupsOut { n_groups } => subsets(groups, *n_groups),
        }
    }

    /// Whether the number of splits depends on the number of rows.
    pub fn counts_rows(&self) -> bool {
        matches!(self, Splitter::LeaveOneOut | Splitter::LeavePOut { .. })
    }

    /// Whether the number of splits depends on the number of groups.
    pub fn counts_groups(&self) -> bool {
        matches!(self, Splitter::LeaveOneGroupOut | Splitter::LeavePGroupsOut { .. })
    }

    /// Whether rows are divided by their groups.
    pub fn needs_groups(&self) -> bool {
        self.counts_groups()
            || matches!(
                self,
                Splitter::GroupKFold { .. }
                    | Splitter::GroupShuffleSplit { .. }
                    | Splitter::StratifiedGroupKFold { .. }
            )
    }
}

/// Counts the subsets of `size` out of `all` elements, at most `usize::MAX`.
fn subsets(all: usize, size: usize) -> usize {
    if size > all {
        return 0;
    }
    let mut count: u128 = 1;
    for i in 0..size.min(all - size) {
        // The product of each step is a binomial coefficient times `i + 1`, so the division is exact.
        count = count.saturating_mul((all - i) as u128) / (i as u128 + 1);
        if count > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    count as usize
}

/// An absolute number of rows, or a fraction of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Size {
    Rows(usize),
    Share(f64),
}

/// The numbers of training rows of a learning curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainSizes {
    /// Numbers of rows, or shares of the training rows of the first split.
    pub sizes: Vec<Size>,
    /// Whether the training rows are shuffled before the first ones are taken.
    pub shuffle: bool,
    pub random_state: u32,
}

/// A request to fit an estimator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub spec: Spec,
    pub frame: FrameId,
    /// The target of a supervised estimator.
    pub target: Option<Expr>,
    /// Frames of the same columns on which a boosted model is scored after each round.
    pub eval: Vec<FrameId>,
}

impl Fit {
    /// The frames that it is trained and scored on.
    pub fn frames(&self) -> Vec<FrameId> {
        std::iter::once(self.frame).chain(self.eval.iter().copied()).collect()
    }

    /// The same, to be replaced.
    pub fn frames_mut(&mut self) -> Vec<&mut FrameId> {
        std::iter::once(&mut self.frame).chain(self.eval.iter_mut()).collect()
    }
}

/// Metadata of a fitted model: specification, schema, classes and card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    pub spec: Spec,
    /// Equal for models that were trained in the same way on the same rows.
    pub key: u128,
    /// The columns that the model was trained on.
    pub features: Vec<Field>,
    pub target: Option<Field>,
    /// The target as it is computed from a frame. `None` without a target, and for a model of another library's file.
    pub target_expr: Option<Expr>,
    /// The classes of a classifier, in the order of its probabilities.
    pub classes: Vec<Value>,
    /// The columns that the model makes.
    pub outputs: Vec<Field>,
    pub card: Card,
}

/// The content of the card of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// `RidgeCV(alpha=10) on 2930 x 4, r2 0.78`.
    pub title: String,
    pub estimator: String,
    pub rows: u64,
    pub features: u64,
    /// The device of the training: `cpu`, `gpu` or `emulated`.
    pub place: String,
    pub seconds: f64,
    /// Parameters: name, value, and whether it is the default.
    pub params: Vec<(String, String, bool)>,
    /// Scores: name, of which rows, value.
    pub scores: Vec<(String, String, f64)>,
    /// The meaning of the bars: `coefficient` or `importance`.
    pub bars_title: String,
    /// A bar for each feature: name, value.
    pub bars: Vec<(String, f64)>,
    /// The titles of the axes of the curve.
    pub curve_title: (String, String),
    /// A line for each series: name, points.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
    pub notes: Vec<String>,
    /// Models inside of this one.
    pub parts: Vec<(String, Card)>,
}

/// Intermediate results of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Detail {
    /// Lines by iteration: name, points.
    Curves(Vec<(String, Vec<(f64, f64)>)>),
    /// The trials of a search so far.
    Trials(Vec<Trial>),
}

/// A trial of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub number: u32,
    pub params: Vec<(String, Param)>,
    /// Mean and standard deviation of the test scores of the folds that ran.
    pub mean: Option<f64>,
    pub std: Option<f64>,
    pub folds: u32,
    /// `running`, `done`, `pruned` or `failed`.
    pub state: String,
}

/// A question to a fitted model. All but [`ModelAsk::Save`] are answered with rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ModelAsk {
    /// An attribute, such as `coef` or `cluster_centers`.
    Attribute(String),
    /// Results of single rows of the training data, such as the labels of DBSCAN or the embedding of t-SNE: one for
    /// each row, in order.
    Rows,
    /// Writes the model to a file.
    Save { path: String, folder: String },
    /// A frame-level evaluation on rows of `frame`.
    Evaluate { frame: FrameId, what: Evaluation },
    /// How much each feature moves the output of each row of `frame`.
    Shap { frame: FrameId, options: ShapRequest },
}

/// Options of SHAP values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShapRequest {
    /// Rows that stand for unknown features. `None`: up to 100 rows of the frame, or all for a linear model. Trees have
    /// their training rows instead.
    pub background: Option<FrameId>,
    /// The class to explain. `None`: the second of two classes, else all.
    pub class: Option<Value>,
    /// Calls of the model for each row by permutations. `None`: 500.
    pub max_evals: Option<usize>,
    /// The seed of permutations, and of the rows of the background.
    pub random_state: u32,
}

impl ModelAsk {
    /// The frames that are asked about, to be replaced.
    pub fn frames_mut(&mut self) -> impl Iterator<Item = &mut FrameId> {
        let (frame, background) = match self {
            ModelAsk::Evaluate { frame, .. } => (Some(frame), None),
            ModelAsk::Shap { frame, options } => (Some(frame), options.background.as_mut()),
            ModelAsk::Attribute(_) | ModelAsk::Rows | ModelAsk::Save { .. } => (None, None),
        };
        frame.into_iter().chain(background)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Evaluation {
    /// One row: the default score, or that of a scorer's name.
    Score(Option<String>),
    /// Precision, recall and F1 of each class, or errors of a regressor.
    Report,
    /// True class, predicted class, count.
    ConfusionMatrix,
    /// fpr, tpr, threshold.
    Roc { class: Option<Value> },
    /// recall, precision, threshold.
    PrecisionRecall { class: Option<Value> },
    /// Mean probability and share of positives in bins.
    Calibration { class: Option<Value>, bins: usize },
    /// feature, importance_mean, importance_std.
    PermutationImportance { n_repeats: usize, scoring: Option<String>, random_state: u32 },
    /// Values of the feature and the mean prediction.
    PartialDependence { feature: String, grid: usize },
    /// Nearest training rows: row, neighbor, distance.
    Kneighbors { n_neighbors: Option<usize>, radius: Option<f64> },
    /// The scores that a classifier decides by: `decision`, or `decision_<class>` for each of several classes.
    Decision,
    /// The features from the outputs of a transformer, which are columns of the frame.
    Inverse,
}

/// The kind of an estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EstimatorKind {
    Regressor,
    Classifier,
    Clusterer,
    Transformer,
    /// A transformer that looks at the target, too.
    SupervisedTransformer,
    /// Neither predicts nor transforms: `NearestNeighbors`.
    Index,
    /// Whatever the estimator inside of it is: `Pipeline`, `GridSearchCV`.
    Meta,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    Float,
    Int,
    Bool,
    /// One of several words.
    Str,
    Floats,
    Strs,
    /// Several of these; what fits is said in its documentation and checked by the estimator.
    Any,
}

/// The values of a parameter that are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    Any,
    AtLeast(f64),
    Above(f64),
    /// Both ends included.
    Within(f64, f64),
    OneOf(&'static [&'static str]),
}

#[derive(Clone, Debug)]
pub struct ParamInfo {
    pub name: &'static str,
    pub dtype: ParamType,
    pub default: Param,
    pub check: Check,
    pub doc: &'static str,
}

/// The type of an attribute: what its method in a cell returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    Frame,
    Float,
    Int,
    Strs,
}

#[derive(Clone, Debug)]
pub struct EstimatorInfo {
    pub name: &'static str,
    pub kind: EstimatorKind,
    pub doc: &'static str,
    pub params: Vec<ParamInfo>,
    pub attributes: Vec<(&'static str, AttributeType)>,
    /// Can be trained on a GPU.
    pub device: bool,
    /// Takes missing values.
    pub missing: bool,
    /// Takes categories: strings and dictionaries.
    pub categories: bool,
    /// Takes strings as documents.
    pub text: bool,
    /// Takes sparse features as they are. Others get them as dense columns.
    pub sparse: bool,
}

impl EstimatorInfo {
    /// The parameter of this name. scikit-learn's capitals are aliases: `C` is `c`.
    pub fn param(&self, name: &str) -> Option<&ParamInfo> {
        let of = |name: &str| self.params.iter().find(|p| p.name == name);
        of(name).or_else(|| of(&name.to_ascii_lowercase()))
    }
}

/// The default of a parameter as the table writes it: `None`, or a value.
macro_rules! default_of {
    (None) => {
        $crate::learn::Param::None
    };
    ($value:tt) => {
        $crate::learn::Param::from($value)
    };
}

/// Turns the entries of a family's macro into `Vec<EstimatorInfo>`.
macro_rules! rows_of_table {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $kind:ident [$($flag:ident)*] {
            $( $(#[doc = $param_doc:literal])* $param:ident: $dtype:ident = $default:tt, $check:expr; )*
        } -> { $( $attribute:ident: $attribute_type:ident ),* $(,)? }
    )*) => {{
        #[allow(unused_imports, reason = "a family may use none of them")]
        use $crate::learn::{AttributeType, Check::*, EstimatorInfo, EstimatorKind, Param, ParamInfo, ParamType};
        let rows: Vec<EstimatorInfo> = vec![$(EstimatorInfo {
            name: stringify!($name),
            kind: EstimatorKind::$kind,
            doc: concat!($($doc, "\n"),*),
            params: vec![$(ParamInfo {
                name: stringify!($param),
                dtype: ParamType::$dtype,
                default: default_of!($default),
                check: $check,
                doc: concat!($($param_doc, "\n"),*),
            }),*],
            attributes: vec![$((stringify!($attribute), AttributeType::$attribute_type)),*],
            device: [$(stringify!($flag)),*].contains(&"device"),
            missing: [$(stringify!($flag)),*].contains(&"missing"),
            categories: [$(stringify!($flag)),*].contains(&"categories"),
            text: [$(stringify!($flag)),*].contains(&"text"),
            sparse: [$(stringify!($flag)),*].contains(&"sparse"),
        }),*];
        rows
    }};
}

/// All estimators, in the order of the documentation.
pub fn table() -> &'static [EstimatorInfo] {
    static TABLE: std::sync::OnceLock<Vec<EstimatorInfo>> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        let mut all = Vec::new();
        all.extend(crate::linear_estimators!(rows_of_table));
        all.extend(crate::cluster_estimators!(rows_of_table));
        all.extend(crate::decomposition_estimators!(rows_of_table));
        all.extend(crate::mixture_estimators!(rows_of_table));
        all.extend(crate::manifold_estimators!(rows_of_table));
        all.extend(crate::neighbors_estimators!(rows_of_table));
        all.extend(crate::kernel_method_estimators!(rows_of_table));
        all.extend(crate::svm_estimators!(rows_of_table));
        all.extend(crate::neural_estimators!(rows_of_table));
        all.extend(crate::tree_estimators!(rows_of_table));
        all.extend(crate::ensemble_estimators!(rows_of_table));
        all.extend(crate::foreign_estimators!(rows_of_table));
        all.extend(crate::prepare_estimators!(rows_of_table));
        all.extend(crate::text_estimators!(rows_of_table));
        all.extend(crate::feature_selection_estimators!(rows_of_table));
        all.extend(crate::sampler_estimators!(rows_of_table));
        all.extend(crate::compose_estimators!(rows_of_table));
        all.extend(crate::select_estimators!(rows_of_table));
        all
    })
}

/// The entry of an estimator. `None` if there is none of this name.
pub fn info(estimator: &str) -> Option<&'static EstimatorInfo> {
    table().iter().find(|e| e.name == estimator)
}

/// Parameters that say after how many rounds without a better score on an evaluation set a training ends.
pub const EARLY_STOPPING: [&str; 2] = ["early_stopping_rounds", "early_stopping_round"];

/// Searches of parameters, by their names.
pub const SEARCHES: [&str; 5] =
    ["GridSearchCV", "RandomizedSearchCV", "TpeSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"];

impl Spec {
    pub fn new(estimator: &str) -> Self {
        Spec { estimator: estimator.to_string(), ..Spec::default() }
    }

    /// Sets a parameter. An alias becomes the name in the table.
    pub fn set(&mut self, name: &str, value: impl Into<Param>) {
        let value = value.into();
        let name = info(&self.estimator).and_then(|e| e.param(name)).map_or(name, |p| p.name);
        match self.params.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.params.push((name.to_string(), value)),
        }
    }

    /// The builder's form of [`Spec::set`].
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Param>) -> Self {
        self.set(name, value);
        self
    }

    /// Whether it predicts classes. A pipeline predicts what its last step predicts, a search what its estimator does.
    pub fn is_classifier(&self) -> bool {
        match info(&self.estimator).map(|e| e.kind) {
            Some(EstimatorKind::Meta) => self.parts.last().is_some_and(|part| part.spec.is_classifier()),
            kind => kind == Some(EstimatorKind::Classifier),
        }
    }

    /// Whether it is a search, which has a best model before it ends.
    pub fn is_search(&self) -> bool {
        SEARCHES.contains(&self.estimator.as_str())
    }

    /// Whether its training ends with a search: it is one, or its last step is. A training that is stopped during the
    /// search then gives a model, with the best trial so far.
    pub fn ends_with_search(&self) -> bool {
        self.is_search()
            || (matches!(self.estimator.as_str(), "Pipeline" | "TransformedTargetRegressor")
                && self.parts.last().is_some_and(|part| part.spec.ends_with_search()))
    }

    /// Whether a training needs an evaluation set: a number of rounds without a better score ends it. A search is
    /// none, because its trials are scored on its own folds.
    pub fn stops_on_eval(&self) -> bool {
        let rounds = |name: &str| self.param(name) != Param::None;
        !self.is_search()
            && (EARLY_STOPPING.iter().any(|name| rounds(name))
                || self.parts.iter().any(|part| part.spec.stops_on_eval()))
    }

    /// The value of a parameter: what was set, or the default of the table.
    pub fn param(&self, name: &str) -> Param {
        let info = info(&self.estimator).and_then(|e| e.param(name));
        let name = info.map_or(name, |p| p.name);
        if let Some((_, value)) = self.params.iter().find(|(known, _)| known == name) {
            return value.clone();
        }
        info.map_or(Param::None, |p| p.default.clone())
    }
}

impl Param {
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Param::Int(value) => Some(*value as f64),
            Param::Float(value) => Some(*value),
            _ => None,
        }
    }
}

/// As it is written in a cell.
impl std::fmt::Display for Param {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Param::None => f.write_str("None"),
            Param::Bool(value) => write!(f, "{value}"),
            Param::Int(value) => write!(f, "{value}"),
            Param::Float(value) if *value != 0.0 && !(1e-4..1e6).contains(&value.abs()) => write!(f, "{value:e}"),
            // `1.0`, so that it differs from the integer.
            Param::Float(value) => write!(f, "{value:?}"),
            Param::Str(value) => f.write_str(value),
            Param::List(values) => {
                let list: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
        }
    }
}

macro_rules! params_from {
    ($($t:ty => |$v:ident| $make:expr),* $(,)?) => {$(
        impl From<$t> for Param {
            fn from($v: $t) -> Self {
                $make
            }
        }
    )*};
}
params_from! {
    bool => |v| Param::Bool(v),
    i32 => |v| Param::Int(i64::from(v)),
    i64 => |v| Param::Int(v),
    u32 => |v| Param::Int(i64::from(v)),
    usize => |v| Param::Int(v as i64),
    f32 => |v| Param::Float(f64::from(v)),
    f64 => |v| Param::Float(v),
    &str => |v| Param::Str(v.to_string()),
    String => |v| Param::Str(v),
}

impl<T: Into<Param>> From<Vec<T>> for Param {
    fn from(values: Vec<T>) -> Self {
        Param::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Param>, const N: usize> From<[T; N]> for Param {
    fn from(values: [T; N]) -> Self {
        Param::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Param>> From<Option<T>> for Param {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::None, Into::into)
    }
}
