//! Documents as counts of a vocabulary's terms, weighted or not (scikit-learn's `CountVectorizer` and
//! `TfidfVectorizer`).

use std::sync::{Arc, OnceLock};

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::analyze::{Analyzer, Terms};
use super::documents::{Counts, Documents, few_columns};
use super::weights::Weights;
use super::words::{self, Words};
use crate::data::sparse::Sparse;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;

/// A vocabulary, and what a term is. It stores no documents.
#[derive(Serialize, Deserialize)]
pub struct Vectorizer {
    terms: Terms,
    binary: bool,
    #[serde(with = "words::packed")]
    vocabulary: Arc<Vec<String>>,
    /// `None` for `CountVectorizer`.
    weights: Option<Weights>,
    /// The rules by which terms of documents are found.
    #[serde(skip)]
    prepared: OnceLock<(Analyzer, Words)>,
}

params::shared! {
    /// The parameters of the vocabulary.
    pub struct TermSelection of [CountVectorizer TfidfVectorizer] {
        max_df: Param,
        min_df: Param,
        max_features: Option<usize>,
        vocabulary: Param,
        binary: bool,
    }
}

/// Trains `CountVectorizer`: the model and the rows of the training.
///
/// # Errors
/// If a parameter has none of its values, no term remains, or the user stops the work.
pub fn count(params: &params::CountVectorizer, data: &Data, run: &Run<'_>) -> Result<(Vectorizer, Sparse), Error> {
    let documents = Documents::of(data);
    let (model, counts, _) = learn(params.into(), &params.into(), &documents, data.rows, run)?;
    Ok((model, counts))
}

/// Trains `TfidfVectorizer`: the model and the rows of the training.
///
/// # Errors
/// As [`count`].
pub fn tfidf(params: &params::TfidfVectorizer, data: &Data, run: &Run<'_>) -> Result<(Vectorizer, Sparse), Error> {
    let documents = Documents::of(data);
    let (model, counts, frequencies) = learn(params.into(), &params.into(), &documents, data.rows, run)?;
    let weights = Weights::new(&params.into(), data.rows, &frequencies);
    let weighted = weights.apply(counts);
    Ok((Vectorizer { weights: Some(weights), ..model }, weighted))
}

/// Counts the documents: the model, the counts, and the number of rows of each term.
fn learn(
    terms: Terms,
    selection: &TermSelection,
    documents: &Documents<'_>,
    rows: usize,
    run: &Run<'_>,
) -> Result<(Vectorizer, Sparse, Vec<f64>), Error> {
    let analyzer = Analyzer::new(&terms)?;
    let binary = selection.binary;
    let model = |vocabulary: &Arc<Vec<String>>| Vectorizer {
        terms: terms.clone(),
        binary,
        vocabulary: Arc::clone(vocabulary),
        weights: None,
        prepared: OnceLock::new(),
    };
    if let Some(vocabulary) = fixed(&selection.vocabulary)? {
        let vocabulary = Arc::new(vocabulary);
        let sparse = documents.find(&analyzer, &Words::of(&vocabulary), binary, &vocabulary, run)?;
        let mut frequencies = vec![0.0; vocabulary.len()];
        sparse.columns.iter().for_each(|column| frequencies[*column as usize] += 1.0);
        return Ok((model(&vocabulary), sparse, frequencies));
    }
    let counts = documents.count(&analyzer, binary, run)?;
    if counts.words.len() == 0 {
        let message = "the vocabulary is empty: the documents have no terms, or only stop words";
        return Err(Error::new(ErrorKind::NoFeatures, message)
            .help("the default `token_pattern` takes words of at least two characters"));
    }
    let (by_row, sums) = documents.frequencies(&counts);
    let kept = kept(selection, &counts, &by_row, &sums, rows)?;
    let mut columns = vec![None; counts.words.len()];
    (0..).zip(&kept).for_each(|(column, term)| columns[*term] = Some(column));
    let vocabulary = Arc::new(kept.iter().map(|term| counts.words.word(*term).to_string()).collect::<Vec<String>>());
    let sparse = documents.rows_of(&counts, &columns, Arc::clone(&vocabulary));
    Ok((model(&vocabulary), sparse, kept.iter().map(|term| by_row[*term]).collect()))
}

/// The terms that the user lists.
fn fixed(vocabulary: &Param) -> Result<Option<Vec<String>>, Error> {
    let wrong = |why: String| Err(Error::new(ErrorKind::Parameter, format!("`vocabulary` {why}")));
    let list = match vocabulary {
        Param::None => return Ok(None),
        Param::List(list) if list.is_empty() => return wrong("is empty: expected at least one term".to_string()),
        Param::List(list) => list,
        other => return wrong(format!("is {other}: expected a list of terms")),
    };
    let words = list.iter().map(|term| params::word(term).map(str::to_string));
    let Some(words) = words.collect::<Option<Vec<String>>>() else {
        return wrong("has values that are not strings".to_string());
    };
    let mut sorted: Vec<&String> = words.iter().collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return wrong(format!("has the term `{}` twice", pair[0]));
    }
    Ok(Some(words))
}

/// The numbers of the terms that `min_df`, `max_df` and `max_features` keep, in the order of their words. If terms have
/// equal counts, the first ones in this order stay.
fn kept(
    selection: &TermSelection,
    counts: &Counts,
    by_row: &[f64],
    sums: &[f64],
    rows: usize,
) -> Result<Vec<usize>, Error> {
    let limit = |name: &str, param: &Param| match param {
        Param::Float(share) if (0.0..=1.0).contains(share) => Ok(share * rows as f64),
        Param::Int(count) if *count >= 1 => Ok(*count as f64),
        other => {
            let message = format!("`{name}` is {other}: a count from 1 as an integer, or a share from 0.0 to 1.0");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    };
    let (most, least) = (limit("max_df", &selection.max_df)?, limit("min_df", &selection.min_df)?);
    if most < least {
        let (max, min) = (&selection.max_df, &selection.min_df);
        let message = format!("`max_df` {max} allows fewer documents than `min_df` {min} asks for, in {rows} rows");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut kept: Vec<usize> = (0..by_row.len()).filter(|term| (least..=most).contains(&by_row[*term])).collect();
    kept.sort_unstable_by(|a, b| counts.words.word(*a).cmp(counts.words.word(*b)));
    if let Some(most) = selection.max_features.filter(|most| kept.len() > *most) {
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_by(|a, b| sums[kept[*b]].total_cmp(&sums[kept[*a]]));
        order.truncate(most);
        order.sort_unstable();
        kept = order.into_iter().map(|place| kept[place]).collect();
    }
    if kept.is_empty() {
        let message = format!("`min_df` and `max_df` leave none of {} terms", by_row.len());
        return Err(Error::new(ErrorKind::NoFeatures, message).help("set a lower `min_df` or a higher `max_df`"));
    }
    Ok(kept)
}

impl Vectorizer {
    fn estimator(&self) -> &'static str {
        if self.weights.is_some() { "TfidfVectorizer" } else { "CountVectorizer" }
    }

    fn prepared(&self) -> Result<&(Analyzer, Words), Error> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let made = (Analyzer::new(&self.terms)?, Words::of(&self.vocabulary));
        Ok(self.prepared.get_or_init(|| made))
    }

    fn sparse(&self, data: &Data) -> Result<Sparse, Error> {
        let (analyzer, table) = self.prepared()?;
        let counts = Documents::of(data).find(analyzer, table, self.binary, &self.vocabulary, &Run::silent())?;
        Ok(match &self.weights {
            Some(weights) => weights.apply(counts),
            None => counts,
        })
    }
}

impl Model for Vectorizer {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        self.vocabulary.iter().map(|term| Role::Feature(term.clone(), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        few_columns(self.estimator(), wanted.len())?;
        Ok(self.sparse(data)?.dense(wanted))
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        self.sparse(data).map(Some)
    }

    fn sparse_outputs(&self, _: usize) -> usize {
        self.vocabulary.len()
    }

    fn dense_outputs(&self, _: &[Field], _: usize) -> Vec<Role> {
        Vec::new()
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        let terms = self.vocabulary.to_vec();
        match name {
            "vocabulary" => {
                let index = Values::Ints((0..terms.len() as i64).collect());
                let columns = [("term", Values::Strs(terms)), ("index", index)];
                Some(Attribute::Frame(columns.into_iter().map(|(name, values)| (name.to_string(), values)).collect()))
            }
            "idf" => self.weights.as_ref()?.frame(terms),
            _ => None,
        }
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        if features != 1 {
            return wrong(format!("a vectorizer of {features} columns, expected 1"));
        }
        let (_, table) = self.prepared()?;
        let terms = self.vocabulary.len();
        if table.len() != terms || terms == 0 {
            return wrong(format!("a vocabulary with {} different ones of {terms} terms", table.len()));
        }
        self.weights.as_ref().map_or(Ok(()), |weights| weights.check(terms))
    }

    fn bytes(&self) -> u64 {
        // The names, and the table of them.
        let each = size_of::<String>() + 32;
        self.vocabulary.iter().map(|term| (2 * term.len() + each) as u64).sum()
    }
}
