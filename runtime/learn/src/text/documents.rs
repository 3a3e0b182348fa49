//! The documents of rows, and their terms as sparse rows.

use std::collections::hash_map::RandomState;
use std::sync::Arc;

use rayon::prelude::*;

use super::analyze::{Analyzer, Scratch};
use super::words::Words;
use crate::data::sparse::Sparse;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::run::Run;

/// Documents of a task.
const CHUNK: usize = 256;

/// The distinct documents of rows, in the order of their first rows.
pub struct Documents<'a> {
    strings: Vec<&'a str>,
    /// For each row the position of its document.
    rows: Vec<usize>,
}

/// Terms of documents: compressed rows of the numbers of terms with their counts.
pub struct Counts {
    pub words: Words,
    starts: Vec<usize>,
    terms: Vec<u32>,
    counts: Vec<f64>,
}

impl<'a> Documents<'a> {
    /// The documents of the only feature.
    pub fn of(data: &'a Data) -> Self {
        let mut documents = Documents { strings: Vec::new(), rows: Vec::with_capacity(data.rows) };
        let Some(column) = data.features.first() else { return documents };
        let names = match &column.kind {
            Kind::Category(names) => names.as_slice(),
            Kind::Number | Kind::Text => &[],
        };
        const NEW: usize = usize::MAX;
        let mut positions = vec![NEW; names.len() + 1];
        for code in &column.values {
            let code = (*code as usize).min(names.len());
            if positions[code] == NEW {
                positions[code] = documents.strings.len();
                documents.strings.push(names.get(code).map_or("", String::as_str));
            }
            documents.rows.push(positions[code]);
        }
        documents
    }

    /// How many rows have each of the documents.
    fn multiplicities(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.strings.len()];
        self.rows.iter().for_each(|document| counts[*document] += 1.0);
        counts
    }

    /// For each word of [`Documents::count`] the number of rows that have it, and its sum of counts.
    pub fn frequencies(&self, counts: &Counts) -> (Vec<f64>, Vec<f64>) {
        let mut frequencies = (vec![0.0; counts.words.len()], vec![0.0; counts.words.len()]);
        for (document, times) in self.multiplicities().into_iter().enumerate() {
            let range = counts.starts[document]..counts.starts[document + 1];
            for (term, count) in counts.terms[range.clone()].iter().zip(&counts.counts[range]) {
                frequencies.0[*term as usize] += times;
                frequencies.1[*term as usize] += times * count;
            }
        }
        frequencies
    }

    /// Finds all words of the documents with their counts, or 1 for each if `binary`.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn count(&self, analyzer: &Analyzer, binary: bool, run: &Run<'_>) -> Result<Counts, Error> {
        run.stage(format!("terms of {} documents", self.strings.len()));
        let state = RandomState::new();
        let part = |strings: &[&str]| {
            let mut part =
                Counts { words: Words::new(&state), starts: Vec::new(), terms: Vec::new(), counts: Vec::new() };
            let (mut scratch, mut found) = (Scratch::default(), Vec::new());
            for text in strings {
                found.clear();
                analyzer.each(text, &mut scratch, |term| found.push(part.words.insert(term)));
                tally(&mut found, binary, &mut part.terms, &mut part.counts);
                part.starts.push(part.terms.len());
            }
            part
        };
        let parts = self.strings.par_chunks(CHUNK).map(|strings| (!(run.is_stopped)()).then(|| part(strings)));
        let parts: Vec<Option<Counts>> = parts.collect();
        let mut all = Counts { words: Words::new(&state), starts: vec![0], terms: Vec::new(), counts: Vec::new() };
        for part in parts {
            let part = part.ok_or_else(|| Error::stopped("stopped while the terms were counted"))?;
            let words = &part.words;
            let numbers: Vec<u32> =
                (0..words.len()).map(|k| all.words.insert_hashed(words.word(k), words.hash(k))).collect();
            let before = all.terms.len();
            all.terms.extend(part.terms.iter().map(|term| numbers[*term as usize]));
            all.counts.extend_from_slice(&part.counts);
            all.starts.extend(part.starts.iter().map(|end| before + end));
        }
        Ok(all)
    }

    /// The rows of [`Documents::count`], with the column of each word in `columns`. Words without one are left out.
    pub fn rows_of(&self, counts: &Counts, columns: &[Option<u32>], names: Arc<Vec<String>>) -> Sparse {
        let documents: Vec<usize> = (0..self.strings.len()).collect();
        let parts = documents.par_chunks(CHUNK).map(|documents| {
            let mut part = Part::default();
            let mut row: Vec<(u32, f64)> = Vec::new();
            for document in documents {
                let range = counts.starts[*document]..counts.starts[document + 1];
                let terms = counts.terms[range.clone()].iter().zip(&counts.counts[range]);
                row.clear();
                row.extend(terms.filter_map(|(term, count)| Some((columns[*term as usize]?, *count))));
                row.sort_unstable_by_key(|(column, _)| *column);
                part.push(&row);
            }
            part
        });
        self.by_row(joined(parts.collect(), names))
    }

    /// The counts of known terms, or 1 for each if `binary`.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn find(
        &self,
        analyzer: &Analyzer,
        table: &Words,
        binary: bool,
        names: &Arc<Vec<String>>,
        run: &Run<'_>,
    ) -> Result<Sparse, Error> {
        self.each(names, run, |text, scratch, part| {
            let mut found = Vec::new();
            analyzer.each(text, scratch, |term| found.extend(table.get(term)));
            tally(&mut found, binary, &mut part.columns, &mut part.values);
            part.ends.push(part.columns.len());
        })
    }

    /// Calls `work` for each document, which adds a row. Rows of equal documents are copied.
    ///
    /// # Errors
    /// If the user stops the work.
    pub fn each(
        &self,
        names: &Arc<Vec<String>>,
        run: &Run<'_>,
        work: impl Fn(&str, &mut Scratch, &mut Part) + Sync,
    ) -> Result<Sparse, Error> {
        let parts = self.strings.par_chunks(CHUNK).map(|strings| {
            let (mut part, mut scratch) = (Part::default(), Scratch::default());
            strings.iter().for_each(|text| work(text, &mut scratch, &mut part));
            (!(run.is_stopped)()).then_some(part)
        });
        let parts: Option<Vec<Part>> = parts.collect::<Vec<Option<Part>>>().into_iter().collect();
        let parts = parts.ok_or_else(|| Error::stopped("stopped while the terms were counted"))?;
        Ok(self.by_row(joined(parts, Arc::clone(names))))
    }

    /// The rows from those of the distinct documents.
    fn by_row(&self, sparse: Sparse) -> Sparse {
        match self.rows.len() == self.strings.len() {
            true => sparse,
            false => sparse.take(&self.rows),
        }
    }
}

/// The sparse rows of some documents.
#[derive(Default)]
pub struct Part {
    pub ends: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
}

impl Part {
    /// Adds a row.
    pub fn push(&mut self, row: &[(u32, f64)]) {
        self.columns.extend(row.iter().map(|(column, _)| *column));
        self.values.extend(row.iter().map(|(_, value)| *value));
        self.ends.push(self.columns.len());
    }
}

fn joined(parts: Vec<Part>, names: Arc<Vec<String>>) -> Sparse {
    let mut all = Sparse { names, starts: vec![0], ..Sparse::default() };
    for part in parts {
        let before = all.columns.len();
        all.starts.extend(part.ends.iter().map(|end| before + end));
        all.columns.extend_from_slice(&part.columns);
        all.values.extend_from_slice(&part.values);
    }
    all
}

/// Adds the distinct numbers of `found`, ascending, with their counts.
fn tally(found: &mut [u32], binary: bool, terms: &mut Vec<u32>, counts: &mut Vec<f64>) {
    found.sort_unstable();
    for same in found.chunk_by(|a, b| a == b) {
        terms.push(same[0]);
        counts.push(if binary { 1.0 } else { same.len() as f64 });
    }
}

/// Dense columns that a vectorizer makes at most.
const MOST_COLUMNS: usize = 4000;

/// Checks that terms can be dense columns.
///
/// # Errors
/// If there are more than [`MOST_COLUMNS`] of them.
pub fn few_columns(estimator: &str, columns: usize) -> Result<(), Error> {
    if columns <= MOST_COLUMNS {
        return Ok(());
    }
    let message = format!("{estimator} makes {columns} columns here: at most {MOST_COLUMNS} outside of a pipeline");
    Err(Error::new(ErrorKind::TooManyColumns, message)
        .help("in a pipeline with an estimator the columns stay sparse")
        .help("or set `max_features`, `min_df` or `n_features` of the vectorizer"))
}
