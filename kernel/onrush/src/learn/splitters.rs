//! Splitting rows: into training and test rows, and into folds.

use onrush_wire::learn::{Size, Splitter};
use onrush_wire::plan::{Op, Split, SplitPart};
use onrush_wire::{Class, Diagnostic, Span};

use crate::frame::{Frame, IntoSampleSize};
use crate::raise::{here, raise};

/// How [`train_test_split`] divides rows. Made by [`split`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SplitOptions {
    test: Option<Size>,
    train: Option<Size>,
    shuffle: bool,
    stratify: Option<String>,
    random_state: u32,
}

#[track_caller]
fn size(value: impl IntoSampleSize, what: &str) -> Size {
    match value.into_sample_size() {
        Ok(onrush_wire::plan::SampleSize::Rows(rows)) => Size::Rows(rows as usize),
        Ok(onrush_wire::plan::SampleSize::Fraction(share)) => Size::Share(share),
        Err(message) => raise(Diagnostic::error(Class::Plan, "argument", message).at(here(what), "")),
    }
}

/// A split with this share or number of test rows: `split(0.25)`, `split(100)`.
#[track_caller]
pub fn split(test_size: impl IntoSampleSize) -> SplitOptions {
    SplitOptions { test: Some(size(test_size, "split")), train: None, shuffle: true, stratify: None, random_state: 0 }
}

impl SplitOptions {
    /// The share or number of training rows. Without it, all other rows.
    #[track_caller]
    pub fn train_size(mut self, value: impl IntoSampleSize) -> Self {
        self.train = Some(size(value, "train_size"));
        self
    }

    /// Whether rows are shuffled first.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// The column whose shares both sides keep.
    pub fn stratify(mut self, column: &str) -> Self {
        self.stratify = Some(column.to_string());
        self
    }

    /// The seed. The rows are those of scikit-learn for the same seed.
    pub fn random_state(mut self, seed: u32) -> Self {
        self.random_state = seed;
        self
    }
}

/// Training and test rows: `let (train, test) = train_test_split(&f, split(0.25).stratify("y"));`
#[track_caller]
pub fn train_test_split(frame: &Frame, options: SplitOptions) -> (Frame, Frame) {
    let at = here("train_test_split");
    let SplitOptions { test, train, shuffle, stratify, random_state } = options;
    let split = Split::TrainTest { test_size: test, train_size: train, shuffle, stratify, random_state };
    both(frame, &split, &at)
}

fn both(frame: &Frame, split: &Split, at: &Span) -> (Frame, Frame) {
    let side = |part| Frame::step(Op::Split { input: frame.id(), split: split.clone(), part }, at.clone());
    (side(SplitPart::Train), side(SplitPart::Test))
}

/// Something that divides rows into folds.
pub trait Folds {
    #[doc(hidden)]
    fn splitter(&self) -> Splitter;
}

impl Folds for Splitter {
    fn splitter(&self) -> Splitter {
        self.clone()
    }
}

impl<F: Folds> Folds for &F {
    fn splitter(&self) -> Splitter {
        (**self).splitter()
    }
}

/// A number of folds.
impl Folds for usize {
    fn splitter(&self) -> Splitter {
        Splitter::Auto { n_splits: *self }
    }
}

impl Folds for i32 {
    fn splitter(&self) -> Splitter {
        Splitter::Auto { n_splits: usize::try_from(*self).unwrap_or(0) }
    }
}

macro_rules! splitters {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$about:meta])* $field:ident: $t:ty = $default:expr),* };
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use]
        pub struct $name { $($field: $t),* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),* }
            }
        }

        impl Folds for $name {
            fn splitter(&self) -> Splitter {
                let $name { $($field),* } = self.clone();
                Splitter::$name { $($field: $field.into()),* }
            }
        }

        impl $name {
            $(
                $(#[$about])*
                pub fn $field(mut self, value: $t) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    )*};
}

splitters! {
    /// Consecutive folds, or shuffled ones.
    KFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Whether the rows are shuffled before they are divided.
        shuffle: bool = false,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Folds with the same shares of classes.
    StratifiedKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Whether the rows are shuffled before they are divided.
        shuffle: bool = false,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Folds in which the rows of a group stay together.
    GroupKFold {
        /// Number of folds.
        n_splits: usize = 5
    };
    /// Folds in which the rows of a group stay together, with about the same shares of classes.
    StratifiedGroupKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Whether the groups are shuffled before they are divided.
        shuffle: bool = false,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Several times [`KFold`], each shuffled anew.
    RepeatedKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Number of repetitions.
        n_repeats: usize = 10,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
    /// Several times [`StratifiedKFold`], each shuffled anew.
    RepeatedStratifiedKFold {
        /// Number of folds.
        n_splits: usize = 5,
        /// Number of repetitions.
        n_repeats: usize = 10,
        /// The seed of the shuffling. The folds are those of scikit-learn for the same seed.
        random_state: u32 = 0
    };
}

macro_rules! counted {
    ($($name:ident),*) => {$(
        impl $name {
            /// With this many folds.
            pub fn new(n_splits: usize) -> Self {
                Self::default().n_splits(n_splits)
            }
        }
    )*};
}
counted!(KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold, RepeatedKFold, RepeatedStratifiedKFold);

/// Each test set is predicted by a model trained on the rows before it.
#[derive(Clone, Debug)]
#[must_use]
pub struct TimeSeriesSplit {
    n_splits: usize,
    gap: usize,
    test_size: Option<usize>,
    max_train_size: Option<usize>,
}

impl TimeSeriesSplit {
    /// With this many folds.
    pub fn new(n_splits: usize) -> Self {
        TimeSeriesSplit { n_splits, gap: 0, test_size: None, max_train_size: None }
    }

    /// Rows that are left out before each test set.
    pub fn gap(mut self, rows: usize) -> Self {
        self.gap = rows;
        self
    }

    /// Rows of each test set.
    pub fn test_size(mut self, rows: usize) -> Self {
        self.test_size = Some(rows);
        self
    }

    /// Rows of each training set at most.
    pub fn max_train_size(mut self, rows: usize) -> Self {
        self.max_train_size = Some(rows);
        self
    }
}

impl Folds for TimeSeriesSplit {
    fn splitter(&self) -> Splitter {
        let TimeSeriesSplit { n_splits, gap, test_size, max_train_size } = self.clone();
        Splitter::TimeSeriesSplit { n_splits, gap, test_size, max_train_size }
    }
}

/// Each row is a test set.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaveOneOut;

impl Folds for LeaveOneOut {
    fn splitter(&self) -> Splitter {
        Splitter::LeaveOneOut
    }
}

/// The rows of each group are a test set.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaveOneGroupOut;

impl Folds for LeaveOneGroupOut {
    fn splitter(&self) -> Splitter {
        Splitter::LeaveOneGroupOut
    }
}

/// Each set of so many rows is a test set.
#[derive(Clone, Copy, Debug)]
pub struct LeavePOut {
    p: usize,
}

impl LeavePOut {
    /// With test sets of `p` rows.
    pub fn new(p: usize) -> Self {
        LeavePOut { p }
    }
}

impl Folds for LeavePOut {
    fn splitter(&self) -> Splitter {
        Splitter::LeavePOut { p: self.p }
    }
}

/// The rows of each set of so many groups are a test set.
#[derive(Clone, Copy, Debug)]
pub struct LeavePGroupsOut {
    n_groups: usize,
}

impl LeavePGroupsOut {
    /// With test sets of `n_groups` groups.
    pub fn new(n_groups: usize) -> Self {
        LeavePGroupsOut { n_groups }
    }
}

impl Folds for LeavePGroupsOut {
    fn splitter(&self) -> Splitter {
        Splitter::LeavePGroupsOut { n_groups: self.n_groups }
    }
}

macro_rules! shuffled {
    ($($(#[$doc:meta])* $name:ident $test:literal $of:literal),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use]
        pub struct $name {
            n_splits: usize,
            test_size: Size,
            train_size: Option<Size>,
            random_state: u32,
        }

        impl $name {
            #[doc = concat!("With this many splits, each with a share of ", $test, " of the ", $of, " for the test.")]
            pub fn new(n_splits: usize) -> Self {
                $name { n_splits, test_size: Size::Share($test), train_size: None, random_state: 0 }
            }

            /// The share or number of test rows, or of test groups for `GroupShuffleSplit`.
            #[track_caller]
            pub fn test_size(mut self, value: impl IntoSampleSize) -> Self {
                self.test_size = size(value, "test_size");
                self
            }

            /// The share or number of training rows, or of training groups for `GroupShuffleSplit`. Without it, all
            /// others.
            #[track_caller]
            pub fn train_size(mut self, value: impl IntoSampleSize) -> Self {
                self.train_size = Some(size(value, "train_size"));
                self
            }

            /// The seed. The rows are those of scikit-learn for the same seed.
            pub fn random_state(mut self, seed: u32) -> Self {
                self.random_state = seed;
                self
            }
        }

        impl Folds for $name {
            fn splitter(&self) -> Splitter {
                let $name { n_splits, test_size, train_size, random_state } = self.clone();
                Splitter::$name { n_splits, test_size, train_size, random_state }
            }
        }
    )*};
}
shuffled! {
    /// Random splits, each independent of the others.
    ShuffleSplit 0.1 "rows",
    /// Random splits that keep the shares of classes.
    StratifiedShuffleSplit 0.1 "rows",
    /// Random splits in which the rows of a group stay together.
    GroupShuffleSplit 0.2 "groups",
}

/// Training and test rows of each fold, made one after the other. Rows and groups are counted only for a splitter whose
/// folds depend on their number.
pub(super) fn folds_of(
    frame: &Frame,
    splitter: Splitter,
    target: Option<&str>,
    groups: Option<&str>,
    at: &Span,
) -> impl Iterator<Item = (Frame, Frame)> + use<> {
    let rows = if splitter.counts_rows() { frame.height() } else { 0 };
    let groups_there = match groups.filter(|_| splitter.counts_groups()) {
        Some(groups) => frame.select(groups).unique().height(),
        None => 0,
    };
    let folds = splitter.n_splits(rows, groups_there);
    if folds == 0 {
        raise(Diagnostic::error(Class::Plan, "split", "the splitter makes 0 folds: at least 1").at(at.clone(), ""));
    }
    let (target, groups) = (target.map(str::to_string), groups.map(str::to_string));
    let (frame, at) = (frame.clone(), at.clone());
    (0..folds).map(move |fold| {
        let (splitter, target, groups) = (splitter.clone(), target.clone(), groups.clone());
        both(&frame, &Split::Fold { splitter, fold, target, groups }, &at)
    })
}

/// A frame's folds: training and test rows of each.
pub trait SplitFrame: Folds {
    /// Training and test rows of each fold. `target` is needed by splitters that stratify.
    #[track_caller]
    fn split(&self, frame: &Frame, target: Option<&str>) -> Vec<(Frame, Frame)> {
        folds_of(frame, self.splitter(), target, None, &here("split")).collect()
    }

    /// Training and test rows of each fold, for splitters by group. `groups` is the column of groups.
    #[track_caller]
    fn split_groups(&self, frame: &Frame, groups: &str) -> Vec<(Frame, Frame)> {
        folds_of(frame, self.splitter(), None, Some(groups), &here("split_groups")).collect()
    }

    /// The same for [`StratifiedGroupKFold`], whose folds have the shares of the classes of `target`.
    #[track_caller]
    fn split_stratified_groups(&self, frame: &Frame, target: &str, groups: &str) -> Vec<(Frame, Frame)> {
        folds_of(frame, self.splitter(), Some(target), Some(groups), &here("split_stratified_groups")).collect()
    }
}

impl<F: Folds> SplitFrame for F {}
