//! CatBoost's statistics of the target by category ("CTR"), as its models have them: tables by the hash of categories
//! (`catboost/libs/model/static_ctr_provider.cpp`).

use std::collections::HashMap;

use serde::Deserialize;

/// A table of a file.
#[derive(Deserialize)]
pub struct TableSource {
    /// Strings of hashes, each followed by `hash_stride - 1` counts.
    #[serde(default)]
    hash_map: Option<Vec<HashOrCount>>,
    #[serde(default)]
    hash_stride: usize,
    #[serde(default)]
    counter_denominator: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HashOrCount {
    Hash(String),
    Count(f64),
}

/// A statistic of a file.
#[derive(Deserialize)]
pub struct CounterSource {
    pub identifier: String,
    pub elements: Vec<ElementSource>,
    ctr_type: String,
    prior_numerator: f64,
    prior_denomerator: f64,
    shift: f64,
    scale: f64,
    #[serde(default)]
    target_border_idx: usize,
    #[serde(default)]
    pub borders: Vec<f64>,
}

/// A part of the hash of a statistic.
#[derive(Deserialize)]
pub struct ElementSource {
    pub combination_element: String,
    pub cat_feature_index: Option<usize>,
    pub float_feature_index: Option<usize>,
    pub border: Option<f64>,
    pub value: Option<i64>,
}

/// A part of the hash: of a row's categories and numbers by the positions of the features.
#[derive(Debug)]
pub enum Element {
    /// The hash of a category.
    Category(usize),
    /// Whether a number is above a border.
    Above(usize, f32),
    /// Whether a category has this hash.
    Is(usize, u64),
}

/// Counts by the hash of categories.
#[derive(Debug)]
struct Table {
    positions: HashMap<u64, usize>,
    counts: Vec<f32>,
    width: usize,
    denominator: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// The sum of the target, and the count.
    Mean,
    /// The count of rows among all.
    Count,
    /// The rows of a bucket of the target.
    Bucket,
    /// The rows above a border of the target.
    Above,
}

/// A statistic.
#[derive(Debug)]
pub struct Counter {
    elements: Vec<Element>,
    kind: Kind,
    table: usize,
    target_border: usize,
    prior: [f32; 2],
    shift: f32,
    scale: f32,
}

/// The statistics of a model.
#[derive(Debug, Default)]
pub struct Counters {
    tables: Vec<Table>,
    names: HashMap<String, usize>,
    counters: Vec<Counter>,
}

impl Counters {
    /// Reads the tables.
    ///
    /// # Errors
    /// If counts do not fit their widths.
    pub fn of_tables(sources: HashMap<String, TableSource>) -> Result<Counters, String> {
        let mut counters = Counters::default();
        for (name, source) in sources {
            counters.names.insert(name, counters.tables.len());
            counters.tables.push(Table::read(source)?);
        }
        Ok(counters)
    }

    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Adds a statistic, whose elements were checked.
    ///
    /// # Errors
    /// If the file lacks its table, or the table has another number of counts.
    pub fn add(&mut self, source: &CounterSource, elements: Vec<Element>) -> Result<(), String> {
        let kind = match source.ctr_type.as_str() {
            "BinarizedTargetMeanValue" | "FloatTargetMeanValue" => Kind::Mean,
            "Counter" | "FeatureFreq" => Kind::Count,
            "Buckets" => Kind::Bucket,
            "Borders" => Kind::Above,
            other => return Err(format!("a statistic is `{other}`, which is not known")),
        };
        let table = *self.names.get(&source.identifier).ok_or("the table of a statistic is missing")?;
        let width = self.tables[table].width;
        let fits = match kind {
            Kind::Mean => width == 2,
            Kind::Count => width == 1,
            Kind::Bucket => source.target_border_idx < width,
            Kind::Above => source.target_border_idx < width && width >= 2,
        };
        if !fits && !self.tables[table].positions.is_empty() {
            return Err(format!("a statistic `{}` has a table of {width} counts", source.ctr_type));
        }
        self.counters.push(Counter {
            elements,
            kind,
            table,
            target_border: source.target_border_idx,
            prior: [source.prior_numerator as f32, source.prior_denomerator as f32],
            shift: source.shift as f32,
            scale: source.scale as f32,
        });
        Ok(())
    }

    /// The values of a row: `numbers` and hashes of `categories` by the positions of the features.
    pub fn values(&self, numbers: &[f32], categories: &[u64], out: &mut [f32]) {
        for (counter, out) in self.counters.iter().zip(out) {
            *out = counter.value(&self.tables[counter.table], numbers, categories);
        }
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|t| (t.positions.len() * 24 + size_of_val(&t.counts[..])) as u64).sum()
    }
}

impl Table {
    fn read(source: TableSource) -> Result<Table, String> {
        let entries = source.hash_map.unwrap_or_default();
        let stride = source.hash_stride;
        if !entries.is_empty() && (stride < 2 || !entries.len().is_multiple_of(stride)) {
            return Err(format!("a table of statistics has {} entries by {stride}", entries.len()));
        }
        let width = stride.saturating_sub(1);
        let mut table = Table {
            positions: HashMap::new(),
            counts: Vec::new(),
            width,
            denominator: source.counter_denominator as f32,
        };
        for row in entries.chunks(stride.max(1)) {
            let [HashOrCount::Hash(hash), counts @ ..] = row else {
                return Err("a table of statistics has a count in the place of a hash".to_string());
            };
            let hash: u64 = hash.parse().map_err(|_| format!("a table of statistics has the hash `{hash}`"))?;
            for count in counts {
                match count {
                    HashOrCount::Count(count) => table.counts.push(*count as f32),
                    HashOrCount::Hash(_) => return Err("a table of statistics has a hash as a count".to_string()),
                }
            }
            table.positions.entry(hash).or_insert(table.counts.len() - width);
        }
        Ok(table)
    }
}

impl Counter {
    fn value(&self, table: &Table, numbers: &[f32], categories: &[u64]) -> f32 {
        let hash = self.elements.iter().fold(0, |hash, element| match element {
            Element::Category(at) => joined(hash, categories[*at]),
            Element::Above(at, border) => joined(hash, u64::from(numbers[*at] > *border)),
            Element::Is(at, category) => joined(hash, u64::from(categories[*at] == *category)),
        });
        let counts = table.positions.get(&hash).map(|at| &table.counts[*at..*at + table.width]);
        let (good, all) = match (self.kind, counts) {
            (Kind::Count, counts) => (counts.map_or(0.0, |c| c[0]), table.denominator),
            (_, None) => (0.0, 0.0),
            (Kind::Mean, Some(counts)) => (counts[0], counts[1]),
            // Counts are integers that single precision holds.
            (Kind::Bucket, Some(counts)) => (counts[self.target_border], counts.iter().sum()),
            (Kind::Above, Some(counts)) => (counts[self.target_border + 1..].iter().sum(), counts.iter().sum()),
        };
        ((good + self.prior[0]) / (all + self.prior[1]) + self.shift) * self.scale
    }
}

/// `CalcHash`.
fn joined(a: u64, b: u64) -> u64 {
    const MAGIC: u64 = 0x4906_ba49_4954_cb65;
    MAGIC.wrapping_mul(a.wrapping_add(MAGIC.wrapping_mul(b)))
}

/// The hash of a category as it goes into [`Counters::values`]: 32 bits with their sign.
pub fn signed(hash: u32) -> u64 {
    i64::from(hash.cast_signed()).cast_unsigned()
}
