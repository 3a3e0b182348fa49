//! Samplers of imbalanced-learn: steps of a pipeline that change its training rows.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! sampler_estimators {
    ($then:ident) => {
        $then! {
            /// Makes new rows of small classes between near rows of a class (imbalanced-learn). A step of a pipeline
            /// before a classifier: the training alone has the new rows.
            SMOTE: SupervisedTransformer [] {
                /// Classes that get rows: `auto` and `not majority` (up to the largest class), `minority`, `not
                /// minority`, `all`. A number is the ratio of the smaller one of two classes to the larger one.
                sampling_strategy: Any = "auto", Any;
                /// Seed of the new rows.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Near rows of the class. A new row lies between a row and one of them.
                k_neighbors: Int = 5, AtLeast(1.0);
            } -> {}

            /// Repeats random rows of small classes (imbalanced-learn). A step of a pipeline before a classifier: the
            /// training alone has the repeated rows.
            RandomOverSampler: SupervisedTransformer [missing categories sparse] {
                /// Classes that get rows: `auto` and `not majority` (up to the largest class), `minority`, `not
                /// minority`, `all`. A number is the ratio of the smaller one of two classes to the larger one.
                sampling_strategy: Any = "auto", Any;
                /// Seed of the choice of rows.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Factor of random shifts of the repeated rows. None leaves them as they are.
                shrinkage: Float = None, AtLeast(0.0);
            } -> {}

            /// Leaves out random rows of large classes (imbalanced-learn). A step of a pipeline before a classifier:
            /// the training alone has fewer rows.
            RandomUnderSampler: SupervisedTransformer [missing categories sparse] {
                /// Classes that lose rows: `auto` and `not minority` (down to the smallest class), `majority`, `not
                /// majority`, `all`. A number is the ratio of the smaller one of two classes to the larger one.
                sampling_strategy: Any = "auto", Any;
                /// Seed of the choice of rows.
                random_state: Int = None, Within(0.0, 4294967295.0);
                /// Whether a row may be chosen several times.
                replacement: Bool = false, Any;
            } -> {}
        }
    };
}
