//! Documents as counts in columns that a hash of the term chooses (scikit-learn's `HashingVectorizer`; Weinberger et
//! al. 2009).

use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::analyze::{Analyzer, Terms};
use super::documents::{Documents, few_columns};
use super::weights::Norm;
use crate::data::sparse::Sparse;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::run::Run;

/// The definition of a term, and the number of columns.
#[derive(Serialize, Deserialize)]
pub struct Hashing {
    terms: Terms,
    binary: bool,
    norm: Norm,
    alternate_sign: bool,
    n_features: u32,
    #[serde(skip)]
    analyzer: OnceLock<Analyzer>,
}

/// The largest number of columns.
const MOST_COLUMNS: u32 = 1 << 24;

/// Nothing is learnt from the documents.
///
/// # Errors
/// If a parameter has none of its values.
pub fn fit(params: &params::HashingVectorizer) -> Result<Hashing, Error> {
    let model = Hashing {
        terms: params.into(),
        binary: params.binary,
        norm: Norm::of(&params.norm),
        alternate_sign: params.alternate_sign,
        n_features: params.n_features as u32,
        analyzer: OnceLock::new(),
    };
    model.analyzer()?;
    Ok(model)
}

/// `MurmurHash3_x86_32` with the seed 0 (Appleby 2011).
fn murmur3(bytes: &[u8]) -> u32 {
    let mixed = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = 0_u32;
    for word in words {
        hash = (hash ^ mixed(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !rest.is_empty() {
        hash ^= mixed(rest.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte)));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// The column of a term and the sign of its count, as scikit-learn's `_hashing_fast.pyx`.
fn place(term: &str, n_features: u32) -> (u32, f64) {
    let hash = murmur3(term.as_bytes()).cast_signed();
    // The absolute value of the smallest number is not an i32. scikit-learn reaches the same remainder.
    (hash.unsigned_abs() % n_features, if hash >= 0 { 1.0 } else { -1.0 })
}

/// The names of so many columns. Models of one size share them.
fn names(n_features: u32) -> Arc<Vec<String>> {
    static SHARED: Mutex<Vec<(u32, Weak<Vec<String>>)>> = Mutex::new(Vec::new());
    let mut shared = SHARED.lock();
    shared.retain(|(_, names)| names.strong_count() > 0);
    if let Some(names) = shared.iter().find(|(n, _)| *n == n_features).and_then(|(_, names)| names.upgrade()) {
        return names;
    }
    let names: Arc<Vec<String>> = Arc::new((0..n_features).map(|j| format!("hashingvectorizer{j}")).collect());
    shared.push((n_features, Arc::downgrade(&names)));
    names
}

impl Hashing {
    fn analyzer(&self) -> Result<&Analyzer, Error> {
        if let Some(analyzer) = self.analyzer.get() {
            return Ok(analyzer);
        }
        let made = Analyzer::new(&self.terms)?;
        Ok(self.analyzer.get_or_init(|| made))
    }

    fn sparse(&self, data: &Data) -> Result<Sparse, Error> {
        let analyzer = self.analyzer()?;
        let mut sparse = Documents::of(data).each(&names(self.n_features), &Run::silent(), |text, scratch, part| {
            let mut found: Vec<(u32, f64)> = Vec::new();
            analyzer.each(text, scratch, |term| found.push(place(term, self.n_features)));
            found.sort_unstable_by_key(|(column, _)| *column);
            let sums = found.chunk_by(|a, b| a.0 == b.0).map(|same| {
                let signs = same.iter().map(|(_, sign)| if self.alternate_sign { *sign } else { 1.0 });
                (same[0].0, if self.binary { 1.0 } else { signs.sum() })
            });
            let row: Vec<(u32, f64)> = sums.filter(|(_, sum)| *sum != 0.0).collect();
            part.push(&row);
        })?;
        self.norm.divide(&mut sparse);
        Ok(sparse)
    }
}

impl Model for Hashing {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        names(self.n_features).iter().map(|name| Role::Feature(name.clone(), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        few_columns("HashingVectorizer", wanted.len())?;
        Ok(self.sparse(data)?.dense(wanted))
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        self.sparse(data).map(Some)
    }

    fn sparse_outputs(&self, _: usize) -> usize {
        self.n_features as usize
    }

    fn dense_outputs(&self, _: &[Field], _: usize) -> Vec<Role> {
        Vec::new()
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        self.analyzer()?;
        match features == 1 && (1..=MOST_COLUMNS).contains(&self.n_features) {
            true => Ok(()),
            false => {
                let message = format!("a vectorizer of {features} columns that makes {}", self.n_features);
                Err(Error::new(ErrorKind::ModelFile, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `sklearn.utils.murmurhash3_32(term, seed=0)`.
    #[test]
    fn hashes_are_those_of_scikit_learn() {
        for (term, wanted) in HASHES {
            assert_eq!(murmur3(term.as_bytes()).cast_signed(), wanted, "{term}");
        }
    }

    const HASHES: [(&str, i32); 7] = [
        ("", 0),
        ("a", 1009084850),
        ("ab", -1681926305),
        ("abc", -1277324294),
        ("word", -968174432),
        ("hello world", 1586663183),
        ("é中😀", -1890348383),
    ];
}
