//! Values of columns as numbers: loops that are compiled with optimisation here.

/// Distinct values of a target in ascending order, for each row the position of its value, and for each value its first
/// row. NaN is missing: its position is NaN.
pub fn classes(values: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<usize>) {
    /// Distinct values up to which they are inserted one by one.
    const FEW: usize = 256;
    let mut known: Vec<(f64, usize)> = Vec::new();
    let mut last = f64::NAN;
    for (row, value) in values.iter().enumerate() {
        // Most targets have runs, or few values.
        if *value == last || value.is_nan() {
            continue;
        }
        last = *value;
        let at = known.partition_point(|(other, _)| other < value);
        if known.get(at).is_none_or(|(other, _)| other != value) {
            known.insert(at, (*value, row));
            if known.len() > FEW {
                break;
            }
        }
    }
    if known.len() > FEW {
        known = values.iter().enumerate().filter(|(_, v)| !v.is_nan()).map(|(row, v)| (*v, row)).collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        known.dedup_by(|next, first| {
            // The first row of the equal values -0 and 0 counts.
            first.1 = if next.0 == first.0 { first.1.min(next.1) } else { first.1 };
            next.0 == first.0
        });
    }
    let sorted: Vec<f64> = known.iter().map(|(value, _)| *value).collect();
    let position = |value: &f64| match value.is_nan() {
        true => f64::NAN,
        false => sorted.partition_point(|other| other < value) as f64,
    };
    let positions = values.iter().map(position).collect();
    (sorted, positions, known.into_iter().map(|(_, row)| row).collect())
}

macro_rules! strided {
    ($($name:ident $t:ty;)*) => {
        $(
            /// Appends every `step`th value from `first` on.
            pub fn $name(values: &[$t], first: usize, step: usize, out: &mut Vec<f64>) {
                if let Some(values) = values.get(first..) {
                    out.extend(values.iter().step_by(step.max(1)).map(|value| *value as f64));
                }
            }
        )*
    };
}
strided! {
    strided_f32 f32;
    strided_f64 f64;
    strided_i32 i32;
    strided_i64 i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sorted_and_counted_once() {
        let values = [3.0, f64::NAN, 1.0, 1.0, -0.0, 0.0, 3.0];
        let (sorted, positions, first) = classes(&values);
        assert_eq!((sorted.as_slice(), first.as_slice()), ([0.0, 1.0, 3.0].as_slice(), [4, 2, 0].as_slice()));
        assert!(positions[1].is_nan());
        let there: Vec<f64> = positions.into_iter().filter(|p| !p.is_nan()).collect();
        assert_eq!(there, [2.0, 1.0, 1.0, 0.0, 0.0, 2.0]);
        // Many of them: by a sort.
        let many: Vec<f64> = (0..2000).map(|i| f64::from(i * 7 % 1000)).collect();
        let (sorted, positions, first) = classes(&many);
        assert_eq!((sorted.len(), sorted[3], positions[1], first[7]), (1000, 3.0, 7.0, 1));
    }
}
