//! The parameters of each estimator as a struct, from the table of `kernel/wire/src/learn`: names, types and defaults
//! are written there alone. Words and mixed values are checked by the code that uses them.

use std::fmt;
use std::ops::Deref;

use onrush_wire::learn::{Param, Spec};

/// A list of numbers as the user gave it. Empty if an entry is not a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Floats {
    values: Vec<f64>,
    given: Param,
}

impl Deref for Floats {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.values
    }
}

/// As the user gave it.
impl fmt::Display for Floats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.given.fmt(f)
    }
}

/// A type that a parameter can be read as. `None`: the value has another type, which [`crate::check::spec`] refuses.
trait FromParam: Sized {
    fn from_param(value: &Param) -> Option<Self>;
}

impl FromParam for Param {
    fn from_param(value: &Param) -> Option<Self> {
        Some(value.clone())
    }
}

impl FromParam for f64 {
    fn from_param(value: &Param) -> Option<Self> {
        value.as_f64()
    }
}

impl FromParam for usize {
    fn from_param(value: &Param) -> Option<Self> {
        count(value)
    }
}

impl FromParam for bool {
    fn from_param(value: &Param) -> Option<Self> {
        match value {
            Param::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl FromParam for String {
    fn from_param(value: &Param) -> Option<Self> {
        match value {
            Param::Str(value) => Some(value.clone()),
            _ => None,
        }
    }
}

impl FromParam for Floats {
    fn from_param(value: &Param) -> Option<Self> {
        match value {
            Param::List(_) => Some(Floats { values: floats(value).unwrap_or_default(), given: value.clone() }),
            _ => None,
        }
    }
}

impl<T: FromParam> FromParam for Option<T> {
    fn from_param(value: &Param) -> Option<Self> {
        match value {
            Param::None => Some(None),
            value => T::from_param(value).map(Some),
        }
    }
}

/// A count in a parameter of several types. `None` if it is not an integer, or negative.
pub(crate) fn count(value: &Param) -> Option<usize> {
    match value {
        Param::Int(value) => usize::try_from(*value).ok(),
        Param::Float(value) if *value >= 0.0 && value.fract() == 0.0 => Some(*value as usize),
        _ => None,
    }
}

/// A list of numbers in a parameter of several types; a single number is a list of one. `None` if an entry is not a
/// number.
pub(crate) fn floats(value: &Param) -> Option<Vec<f64>> {
    match value {
        Param::List(values) => values.iter().map(Param::as_f64).collect(),
        value => value.as_f64().map(|v| vec![v]),
    }
}

/// The word in a parameter of several types. `None` if it is none.
pub(crate) fn word(value: &Param) -> Option<&str> {
    match value {
        Param::Str(word) => Some(word),
        _ => None,
    }
}

/// The seed in `random_state`. scikit-learn's `None` is 0 here, so that everything repeats.
pub(crate) fn seed(random_state: impl Into<Option<usize>>) -> u32 {
    random_state.into().map_or(0, |seed| seed as u32)
}

fn read<T: FromParam>(spec: &Spec, name: &str, default: T) -> T {
    let given = spec.params.iter().find(|(known, _)| known == name);
    given.and_then(|(_, value)| T::from_param(value)).unwrap_or(default)
}

macro_rules! field_type {
    (Float None) => { Option<f64> };
    (Float $default:tt) => { f64 };
    (Int None) => { Option<usize> };
    (Int $default:tt) => { usize };
    (Bool $default:tt) => { bool };
    (Str None) => { Option<String> };
    (Str $default:tt) => { String };
    (Floats None) => { Option<Floats> };
    (Floats $default:tt) => { Floats };
    (Any $default:tt) => { Param };
}

macro_rules! default_value {
    (Any None) => {
        Param::None
    };
    ($dtype:ident None) => {
        None
    };
    (Str $default:tt) => {
        $default.to_string()
    };
    (Floats $default:tt) => {
        Floats { values: $default.to_vec(), given: Param::from($default) }
    };
    (Any $default:tt) => {
        Param::from($default)
    };
    ($dtype:ident $default:tt) => {
        $default
    };
}

/// Makes a struct of parameters.
macro_rules! parameters {
    ($(#[doc = $doc:expr])* $name:ident {
        $( $(#[doc = $param_doc:literal])* $param:ident: $dtype:ident = $default:tt, $check:expr; )*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::struct_excessive_bools, reason = "they are the estimator's parameters")]
        pub struct $name {
            $( $(#[doc = $param_doc])* pub $param: field_type!($dtype $default), )*
        }

        impl $name {
            /// The parameters of a specification: those that were set, and the table's defaults.
            #[allow(unused_variables, reason = "some estimators have no parameters")]
            pub fn of(spec: &Spec) -> Self {
                $name { $( $param: read(spec, stringify!($param), default_value!($dtype $default)), )* }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::of(&Spec::default())
            }
        }
    };
}

/// Makes a struct for each estimator of a family.
macro_rules! family {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $kind:ident [$($flag:ident)*] { $($params:tt)* } -> { $($attributes:tt)* }
    )*) => {
        $( parameters! { #[doc = concat!("Parameters of `", stringify!($name), "`.")] $name { $($params)* } } )*
    };
}

/// Makes a struct of parameters that several estimators have.
macro_rules! shared {
    ($(#[doc = $doc:literal])* $vis:vis struct $name:ident of [$($estimator:ident)*] $params:tt) => {
        $crate::params::shared!(@struct [$(#[doc = $doc])* $vis struct $name] $params);
        $( $crate::params::shared!(@from $estimator $name $params); )*
    };
    (@struct [$($head:tt)*] { $( $param:ident: $type:ty, )* }) => {
        $($head)* {
            $( $param: $type, )*
        }
    };
    (@from $estimator:ident $name:ident { $( $param:ident: $type:ty, )* }) => {
        #[allow(clippy::clone_on_copy, reason = "some types are not `Copy`")]
        impl From<&$crate::params::$estimator> for $name {
            fn from(params: &$crate::params::$estimator) -> Self {
                $name { $( $param: params.$param.clone(), )* }
            }
        }
    };
}
pub(crate) use shared;

onrush_wire::linear_estimators!(family);
onrush_wire::cluster_estimators!(family);
onrush_wire::decomposition_estimators!(family);
onrush_wire::neighbors_estimators!(family);
onrush_wire::tree_estimators!(family);
onrush_wire::foreign_estimators!(family);
onrush_wire::prepare_estimators!(family);
onrush_wire::mixture_estimators!(family);
onrush_wire::manifold_estimators!(family);
onrush_wire::kernel_method_estimators!(family);
onrush_wire::svm_estimators!(family);
onrush_wire::neural_estimators!(family);
onrush_wire::ensemble_estimators!(family);
onrush_wire::text_estimators!(family);
onrush_wire::feature_selection_estimators!(family);
onrush_wire::sampler_estimators!(family);
onrush_wire::compose_estimators!(family);
onrush_wire::select_estimators!(family);

onrush_wire::foreign_estimators!(@shared parameters XgbParams);
