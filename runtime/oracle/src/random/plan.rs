//! Random plans: each node over the columns of the node below, as trees that can be made smaller and written as SQL.

use super::expression::{Expr, Maker};
use super::values::{Column, Random, Source, Type};

#[derive(Clone)]
pub enum Plan {
    Scan(usize),
    Filter(Box<Plan>, Expr),
    Project(Box<Plan>, Vec<Expr>),
    Aggregate(Box<Plan>, Vec<Expr>, Vec<Aggregate>),
    Distinct(Box<Plan>),
    /// Sorted by all columns, so that the first rows are the same everywhere.
    TopK {
        input: Box<Plan>,
        keys: Vec<Key>,
        limit: u64,
        offset: u64,
    },
    /// How many rows a limit leaves: which, is for nobody to know.
    CountOfLimit(Box<Plan>, u64, u64),
    Join {
        left: Box<Plan>,
        right: Box<Plan>,
        kind: &'static str,
        on: Vec<(usize, usize)>,
        /// A column of the left that is below one of the right.
        beside: Option<(usize, usize)>,
    },
    /// The input's columns and some more. Ordered by all columns, so that equal rows alone can change places.
    Window {
        input: Box<Plan>,
        functions: Vec<Function>,
        partition: Vec<usize>,
        keys: Vec<Key>,
    },
    Union(Box<Plan>, Box<Plan>),
    /// For each value of one column what lists of another one say: all of their elements, or some.
    Lists {
        input: Box<Plan>,
        key: usize,
        of: usize,
        unnested: bool,
    },
    /// The pieces of a text, a row each, behind the input's columns.
    Pieces(Box<Plan>, usize),
}

#[derive(Clone, Debug)]
pub struct Key {
    column: usize,
    words: &'static str,
}

/// A window function, with its argument and its frame.
#[derive(Clone)]
pub struct Function {
    text: String,
    frame: &'static str,
    column: Column,
}

#[derive(Clone)]
pub struct Aggregate {
    /// `{}` stands for the argument.
    template: &'static str,
    arg: Option<Expr>,
    filter: Option<Expr>,
    column: Column,
    fails: bool,
}

/// Rows that a plan may have at most: joins multiply.
const MOST_ROWS: u64 = 20_000;

impl Plan {
    /// `ordered`: the engines keep the order of rows.
    pub fn random(random: &mut Random, tables: &[Source], ordered: bool) -> Plan {
        let fails = random.one_in(6);
        let depth = 1 + random.below(4) as u32;
        Grower { random, tables, fails, ordered }.plan(depth)
    }

    pub fn columns(&self, tables: &[Source]) -> Vec<Column> {
        match self {
            Plan::Scan(table) => tables[*table].columns.clone(),
            Plan::Filter(input, _) | Plan::TopK { input, .. } => input.columns(tables),
            // Either zero may stand for both.
            Plan::Distinct(input) => input.columns(tables).iter().map(represented).collect(),
            Plan::Project(_, exprs) => exprs.iter().map(|e| e.column.clone()).collect(),
            Plan::Aggregate(_, keys, aggregates) => {
                let keys = keys.iter().map(|e| represented(&e.column));
                keys.chain(aggregates.iter().map(|a| a.column.clone())).collect()
            }
            Plan::CountOfLimit(..) => vec![count(MOST_ROWS)],
            Plan::Join { left, right, .. } => [left.columns(tables), right.columns(tables)].concat(),
            Plan::Window { input, functions, .. } => {
                let mut all = input.columns(tables);
                all.extend(functions.iter().map(|f| f.column.clone()));
                all
            }
            Plan::Lists { input, key, of, unnested } => {
                let all = input.columns(tables);
                let (key, of, length) = (represented(&all[*key]), represented(&all[*of]), count(MOST_ROWS));
                if *unnested { vec![key, of] } else { vec![key, length, of.clone(), of] }
            }
            Plan::Pieces(input, of) => {
                let mut all = input.columns(tables);
                all.push(all[*of].clone());
                all
            }
            Plan::Union(left, right) => {
                let both = left.columns(tables).into_iter().zip(right.columns(tables));
                both.map(|(a, b)| Column {
                    dtype: a.dtype,
                    bound: a.bound.zip(b.bound).map(|(a, b)| a.max(b)),
                    nan: a.nan || b.nan,
                    exact: a.exact && b.exact,
                })
                .collect()
            }
        }
    }

    fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::Scan(_) => Vec::new(),
            Plan::Filter(input, _)
            | Plan::Project(input, _)
            | Plan::Aggregate(input, ..)
            | Plan::Distinct(input)
            | Plan::TopK { input, .. }
            | Plan::Window { input, .. }
            | Plan::Lists { input, .. }
            | Plan::Pieces(input, _)
            | Plan::CountOfLimit(input, ..) => vec![input],
            Plan::Join { left, right, .. } | Plan::Union(left, right) => vec![left, right],
        }
    }

    fn most_rows(&self, tables: &[Source]) -> u64 {
        let inputs: Vec<u64> = self.inputs().iter().map(|i| i.most_rows(tables)).collect();
        match self {
            Plan::Scan(table) => tables[*table].len() as u64,
            Plan::Join { .. } => (inputs[0] + 1) * (inputs[1] + 1),
            Plan::Pieces(..) => 4 * inputs[0],
            _ => inputs.iter().sum(),
        }
    }

    /// An expression somewhere fails for some values, so that it matters whether an engine looks at them.
    pub fn may_fail(&self) -> bool {
        let own = match self {
            Plan::Filter(_, expr) => expr.fails,
            Plan::Project(_, exprs) => exprs.iter().any(|e| e.fails),
            Plan::Aggregate(_, keys, aggregates) => keys.iter().any(|e| e.fails) || aggregates.iter().any(|a| a.fails),
            _ => false,
        };
        own || self.inputs().iter().any(|i| i.may_fail())
    }

    /// The order of the answer is fixed.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Plan::TopK { .. })
    }

    pub fn reads(&self, table: &str) -> bool {
        match self {
            Plan::Scan(number) => format!("t{number}") == table,
            other => other.inputs().iter().any(|i| i.reads(table)),
        }
    }

    pub fn sql(&self, tables: &[Source]) -> String {
        let own = |i: usize| format!("c{i}");
        let width = self.columns(tables).len();
        let list = |names: Vec<String>| {
            let named = names.iter().enumerate().map(|(i, text)| match *text == format!("c{i}") {
                true => text.clone(),
                false => format!("{text} as c{i}"),
            });
            named.collect::<Vec<_>>().join(", ")
        };
        match self {
            Plan::Scan(table) => format!("select * from {}", tables[*table].name),
            Plan::Filter(input, predicate) => {
                format!("select * from {} where {}", inner(input, tables), predicate.sql(&own))
            }
            Plan::Project(input, exprs) => {
                let exprs = exprs.iter().map(|e| e.sql(&own)).collect();
                format!("select {} from {}", list(exprs), inner(input, tables))
            }
            Plan::Aggregate(input, keys, aggregates) => {
                let keys: Vec<String> = keys.iter().map(|e| e.sql(&own)).collect();
                let places: Vec<String> = (1..=keys.len()).map(|i| i.to_string()).collect();
                let values = aggregates.iter().map(|a| {
                    let arg = a.arg.as_ref().map_or(String::new(), |e| e.sql(&own));
                    let filter = a.filter.as_ref().map(|e| format!(" filter (where {})", e.sql(&own)));
                    a.template.replacen("{}", &arg, 1) + &filter.unwrap_or_default()
                });
                let all = keys.iter().cloned().chain(values).collect();
                let group = if keys.is_empty() { String::new() } else { format!(" group by {}", places.join(", ")) };
                format!("select {} from {}{group}", list(all), inner(input, tables))
            }
            Plan::Distinct(input) => format!("select distinct * from {}", inner(input, tables)),
            Plan::TopK { input, keys, limit, offset } => {
                let keys = keys.iter().map(|k| format!("c{}{}", k.column, k.words));
                let keys = keys.collect::<Vec<_>>().join(", ");
                format!("select * from {} order by {keys} limit {limit} offset {offset}", inner(input, tables))
            }
            Plan::CountOfLimit(input, limit, offset) => {
                format!(
                    "select count(*) as c0 from (select * from {} limit {limit} offset {offset})",
                    inner(input, tables)
                )
            }
            Plan::Window { input, functions, partition, keys } => {
                let keys: Vec<String> = keys.iter().map(|k| format!("c{}{}", k.column, k.words)).collect();
                let partition: Vec<String> = partition.iter().map(|c| format!("c{c}")).collect();
                let by = if partition.is_empty() {
                    String::new()
                } else {
                    format!("partition by {} ", partition.join(", "))
                };
                let first = width - functions.len();
                let mut text = String::from("select *");
                for (number, Function { text: call, frame, .. }) in functions.iter().enumerate() {
                    let order = keys.join(", ");
                    text.push_str(&format!(", {call} over ({by}order by {order}{frame}) as c{}", first + number));
                }
                format!("{text} from {}", inner(input, tables))
            }
            Plan::Join { left, right, kind, on, beside } => {
                let first = left.columns(tables).len();
                let names = (0..width).map(|i| if i < first { format!("l.c{i}") } else { format!("r.c{}", i - first) });
                let names = names.enumerate().map(|(i, n)| format!("{n} as c{i}")).collect::<Vec<_>>().join(", ");
                let mut on: Vec<String> = on.iter().map(|(l, r)| format!("l.c{l} = r.c{r}")).collect();
                on.extend(beside.map(|(l, r)| format!("l.c{l} < r.c{r}")));
                format!(
                    "select {names} from ({}) l {kind} join ({}) r on {}",
                    left.sql(tables),
                    right.sql(tables),
                    on.join(" and ")
                )
            }
            Plan::Lists { input, key, of, unnested } => {
                let what = if *unnested { "c0, unnest(v) as c1" } else { "c0, len(v) as c1, v[1] as c2, v[-2] as c3" };
                format!(
                    "select {what} from (select c{key} as c0, list(c{of} order by c{of}) as v from {} group by 1)",
                    inner(input, tables)
                )
            }
            Plan::Pieces(input, of) => {
                let last = width - 1;
                format!("select *, unnest(string_split(c{of}, 'a')) as c{last} from {}", inner(input, tables))
            }
            Plan::Union(left, right) => {
                format!("select * from {} union all select * from {}", inner(left, tables), inner(right, tables))
            }
        }
    }

    /// With the same columns, but for the root: its inputs, and fewer columns.
    pub fn smaller(&self) -> Vec<Plan> {
        let mut all: Vec<Plan> = self.inputs().into_iter().cloned().collect();
        match self {
            Plan::Project(input, exprs) if exprs.len() > 1 => {
                all.extend((0..exprs.len()).map(|i| Plan::Project(input.clone(), without(exprs, i))));
            }
            Plan::Aggregate(input, keys, aggregates) => {
                let enough = keys.len() + aggregates.len() > 1;
                let (k, a) = (if enough { keys.len() } else { 0 }, if enough { aggregates.len() } else { 0 });
                all.extend((0..a).map(|i| Plan::Aggregate(input.clone(), keys.clone(), without(aggregates, i))));
                all.extend((0..k).map(|i| Plan::Aggregate(input.clone(), without(keys, i), aggregates.clone())));
            }
            Plan::Window { input, functions, partition, keys } if functions.len() > 1 => {
                all.extend((0..functions.len()).map(|i| Plan::Window {
                    input: input.clone(),
                    functions: without(functions, i),
                    partition: partition.clone(),
                    keys: keys.clone(),
                }));
            }
            _ => {}
        }
        all.extend(self.simpler());
        all
    }

    /// With the same columns.
    fn simpler(&self) -> Vec<Plan> {
        let exprs = |list: &[Expr]| -> Vec<Vec<Expr>> {
            let each = list.iter().enumerate();
            let part = |(i, expr): (usize, &Expr)| {
                expr.smaller()
                    .into_iter()
                    .map(|e| {
                        let mut list = list.to_vec();
                        list[i] = e;
                        list
                    })
                    .collect::<Vec<_>>()
            };
            each.flat_map(part).collect()
        };
        let boxed = |plans: Vec<Plan>| plans.into_iter().map(Box::new).collect::<Vec<_>>();
        match self {
            Plan::Scan(_) => Vec::new(),
            Plan::Filter(input, predicate) => {
                let mut all = vec![input.as_ref().clone()];
                all.extend(boxed(input.simpler()).into_iter().map(|i| Plan::Filter(i, predicate.clone())));
                all.extend(predicate.smaller().into_iter().map(|p| Plan::Filter(input.clone(), p)));
                all
            }
            Plan::Project(input, list) => {
                let mut all: Vec<Plan> = exprs(list).into_iter().map(|l| Plan::Project(input.clone(), l)).collect();
                all.extend(boxed(input.simpler()).into_iter().map(|i| Plan::Project(i, list.clone())));
                all
            }
            Plan::Aggregate(input, keys, aggregates) => {
                let inputs = boxed(input.simpler()).into_iter();
                let mut all: Vec<Plan> = inputs.map(|i| Plan::Aggregate(i, keys.clone(), aggregates.clone())).collect();
                all.extend(exprs(keys).into_iter().map(|k| Plan::Aggregate(input.clone(), k, aggregates.clone())));
                for (index, aggregate) in aggregates.iter().enumerate() {
                    let smaller = aggregate.arg.iter().flat_map(Expr::smaller);
                    let mut ones: Vec<Aggregate> =
                        smaller.map(|e| Aggregate { arg: Some(e), ..aggregate.clone() }).collect();
                    if aggregate.filter.is_some() {
                        ones.push(Aggregate { filter: None, ..aggregate.clone() });
                    }
                    for one in ones {
                        let mut list = aggregates.clone();
                        list[index] = one;
                        all.push(Plan::Aggregate(input.clone(), keys.clone(), list));
                    }
                }
                all
            }
            Plan::Distinct(input) => {
                let mut all = vec![input.as_ref().clone()];
                all.extend(boxed(input.simpler()).into_iter().map(Plan::Distinct));
                all
            }
            Plan::TopK { input, keys, limit, offset } => {
                let mut all = vec![input.as_ref().clone()];
                all.extend(boxed(input.simpler()).into_iter().map(|input| Plan::TopK {
                    input,
                    keys: keys.clone(),
                    limit: *limit,
                    offset: *offset,
                }));
                all
            }
            Plan::CountOfLimit(input, limit, offset) => {
                boxed(input.simpler()).into_iter().map(|i| Plan::CountOfLimit(i, *limit, *offset)).collect()
            }
            Plan::Window { input, functions, partition, keys } => boxed(input.simpler())
                .into_iter()
                .map(|input| Plan::Window {
                    input,
                    functions: functions.clone(),
                    partition: partition.clone(),
                    keys: keys.clone(),
                })
                .collect(),
            Plan::Join { left, right, kind, on, beside } => {
                let join = |left: Box<Plan>, right: Box<Plan>| Plan::Join {
                    left,
                    right,
                    kind,
                    on: on.clone(),
                    beside: *beside,
                };
                let mut all: Vec<Plan> = boxed(left.simpler()).into_iter().map(|l| join(l, right.clone())).collect();
                all.extend(boxed(right.simpler()).into_iter().map(|r| join(left.clone(), r)));
                all
            }
            Plan::Lists { input, key, of, unnested } => {
                let lists = |input| Plan::Lists { input, key: *key, of: *of, unnested: *unnested };
                boxed(input.simpler()).into_iter().map(lists).collect()
            }
            Plan::Pieces(input, of) => boxed(input.simpler()).into_iter().map(|i| Plan::Pieces(i, *of)).collect(),
            Plan::Union(left, right) => {
                let mut all = vec![left.as_ref().clone(), right.as_ref().clone()];
                all.extend(boxed(left.simpler()).into_iter().map(|l| Plan::Union(l, right.clone())));
                all.extend(boxed(right.simpler()).into_iter().map(|r| Plan::Union(left.clone(), r)));
                all
            }
        }
    }
}

fn inner(plan: &Plan, tables: &[Source]) -> String {
    match plan {
        Plan::Scan(table) => tables[*table].name.clone(),
        other => format!("({})", other.sql(tables)),
    }
}

fn without<T: Clone>(list: &[T], index: usize) -> Vec<T> {
    let mut list = list.to_vec();
    list.remove(index);
    list
}

fn represented(column: &Column) -> Column {
    Column { exact: column.exact && !column.dtype.is_float(), ..column.clone() }
}

fn count(most: u64) -> Column {
    Column { dtype: Type::Int(8, true), bound: Some(most as f64), nan: false, exact: true }
}

struct Grower<'a> {
    random: &'a mut Random,
    tables: &'a [Source],
    fails: bool,
    ordered: bool,
}

impl Grower<'_> {
    fn plan(&mut self, depth: u32) -> Plan {
        if depth == 0 {
            return Plan::Scan(self.random.below(self.tables.len() as u64) as usize);
        }
        let input = Box::new(self.plan(depth - 1));
        let columns = input.columns(self.tables);
        let all_exact = columns.iter().all(|c| c.exact);
        let texts: Vec<usize> = (0..columns.len()).filter(|i| columns[*i].dtype == Type::Text).collect();
        match self.random.below(25) {
            0..=3 => {
                let predicate = self.maker(&columns, false).boolean(3);
                Plan::Filter(input, predicate)
            }
            4..=7 => {
                let width = 1 + self.random.below(5);
                let mut exprs = Vec::new();
                for _ in 0..width {
                    let inexact = self.random.one_in(4);
                    let mut maker = self.maker(&columns, inexact);
                    let wide = if maker.random.one_in(6) { maker.wide_decimal() } else { None };
                    exprs.push(wide.unwrap_or_else(|| maker.any(3)));
                }
                // Some column as it is.
                let index = self.random.below(columns.len() as u64) as usize;
                exprs.push(Expr::reference(index, &columns[index]));
                Plan::Project(input, exprs)
            }
            8..=13 => self.aggregate(input, &columns),
            14 if all_exact => Plan::Distinct(input),
            15 | 16 if all_exact => self.top_k(input, columns.len()),
            17 if !input.may_fail() => {
                let (limit, offset) = (self.random.below(50), self.random.below(3) * self.random.below(40));
                Plan::CountOfLimit(input, limit, offset)
            }
            18 => self.join(input, depth - 1),
            19 | 20 if all_exact && can_have_windows(&input, &columns) => self.window(input, &columns),
            21 | 22 if columns.iter().any(|c| c.exact && !c.dtype.is_float()) => {
                let exact: Vec<usize> = (0..columns.len()).filter(|i| columns[*i].exact).collect();
                let keys: Vec<usize> = exact.iter().copied().filter(|i| !columns[*i].dtype.is_float()).collect();
                let (key, of) = (*self.random.pick(&keys), *self.random.pick(&exact));
                Plan::Lists { input, key, of, unnested: self.random.one_in(2) }
            }
            23 if !texts.is_empty() => Plan::Pieces(input, *self.random.pick(&texts)),
            _ => {
                let predicate = self.maker(&columns, false).boolean(2);
                Plan::Union(input.clone(), Box::new(Plan::Filter(input, predicate)))
            }
        }
    }

    fn maker<'a>(&'a mut self, columns: &'a [Column], inexact: bool) -> Maker<'a> {
        Maker { random: self.random, columns, fails: self.fails, inexact }
    }

    fn aggregate(&mut self, input: Box<Plan>, columns: &[Column]) -> Plan {
        let mut keys = Vec::new();
        for _ in 0..*self.random.pick(&[0, 1, 1, 1, 2, 3]) {
            let depth = if self.random.one_in(3) { 2 } else { 0 };
            keys.push(self.maker(columns, false).any(depth));
        }
        let rows = input.most_rows(self.tables);
        let mut aggregates: Vec<Aggregate> = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            aggregates.push(self.one_aggregate(columns, rows, &input));
        }
        Plan::Aggregate(input, keys, aggregates)
    }

    fn one_aggregate(&mut self, columns: &[Column], rows: u64, input: &Plan) -> Aggregate {
        let in_order = self.ordered && keeps_order(input);
        let filter = self.random.one_in(6).then(|| {
            let mut maker = self.maker(columns, false);
            maker.fails = false;
            maker.boolean(2)
        });
        let mut maker = self.maker(columns, false);
        maker.fails &= filter.is_none();
        let depth = if maker.random.one_in(3) { 2 } else { 0 };
        let arg = maker.any(depth);
        // DataFusion counts rows instead of constants, under the name of another count of rows.
        let exact = columns.iter().position(|c| c.exact);
        let arg = match (arg.reads(), exact) {
            (false, Some(index)) => Expr::reference(index, &columns[index]),
            _ => arg,
        };
        let Column { dtype, bound, nan, .. } = arg.column.clone();
        let small = bound.is_some_and(|b| b <= 1e6);
        let tiny = bound.is_some_and(|b| b <= 1e3);
        let number = |dtype, exact| Column { dtype, bound: None, nan: dtype == Type::Double, exact };
        let mut fits: Vec<(&'static str, Column, bool)> =
            vec![("count({})", count(rows), false), ("count(distinct {})", count(rows), false)];
        match dtype {
            Type::Int(_, signed) => {
                let most = bound.unwrap_or(f64::MAX) * rows as f64;
                let sum = Column { bound: Some(most), ..number(Type::Int(8, signed), true) };
                if most < 9e18 || self.fails {
                    fits.push(("sum({})", Column { nan: false, ..sum }, most >= 9e18));
                }
                if small {
                    fits.push(("avg({})", number(Type::Double, false), false));
                }
            }
            Type::Single | Type::Double if small => {
                fits.push(("sum({})", number(Type::Double, false), false));
                fits.push(("avg({})", number(Type::Double, false), false));
            }
            Type::Decimal(precision, scale) if precision <= 30 => {
                fits.push(("sum({})", number(Type::Decimal((precision + 10).min(38), scale), true), precision > 28));
                if precision <= 12 {
                    fits.push(("avg({})", number(Type::Double, false), false));
                }
            }
            Type::Bool => {
                fits.push(("bool_and({})", arg.column.clone(), false));
                fits.push(("bool_or({})", arg.column.clone(), false));
            }
            _ => {}
        }
        if tiny && matches!(dtype, Type::Int(..) | Type::Double) {
            for template in ["var_samp({})", "var_pop({})", "stddev_samp({})", "stddev_pop({})"] {
                fits.push((template, number(Type::Double, false), false));
            }
        }
        // NaNs of both signs are at both ends of an order of floats, and engines make either.
        if !nan && small && matches!(dtype, Type::Int(..) | Type::Double) {
            for template in ["median({})", "quantile_cont({}, 0.2)", "quantile_cont({}, 1)"] {
                fits.push((template, number(Type::Double, false), false));
            }
        }
        // The largest of NaN and others depends on the order of the rows.
        if !nan && dtype != Type::Bool {
            fits.push(("min({})", represented(&arg.column), false));
            fits.push(("max({})", represented(&arg.column), false));
        }
        if in_order {
            fits.push(("first({})", arg.column.clone(), false));
            fits.push(("last({})", arg.column.clone(), false));
        }
        if self.random.one_in(6) {
            return Aggregate { template: "count(*)", arg: None, filter, column: count(rows), fails: false };
        }
        let (template, column, overflows) = self.random.pick(&fits).clone();
        Aggregate { template, fails: arg.fails || overflows, arg: Some(arg), filter, column }
    }

    fn top_k(&mut self, input: Box<Plan>, width: usize) -> Plan {
        let mut columns: Vec<usize> = (0..width).collect();
        for place in (1..width).rev() {
            columns.swap(place, self.random.below(place as u64 + 1) as usize);
        }
        let words: [&'static str; 4] = ["", " desc", " nulls first", " desc nulls first"];
        let keys = columns.into_iter().map(|column| Key { column, words: self.random.pick::<&str>(&words) }).collect();
        let limit = *self.random.pick(&[0, 1, 3, 10, 100, 5000]);
        let offset = if self.random.one_in(4) { self.random.below(20) } else { 0 };
        Plan::TopK { input, keys, limit, offset }
    }

    fn join(&mut self, left: Box<Plan>, depth: u32) -> Plan {
        let right = Box::new(self.plan(depth.min(1)));
        let (l, r) = (left.columns(self.tables), right.columns(self.tables));
        let mut pairs = Vec::new();
        for (i, a) in l.iter().enumerate() {
            for (j, b) in r.iter().enumerate() {
                if a.dtype == b.dtype && a.exact && b.exact && !a.dtype.is_float() {
                    pairs.push((i, j));
                }
            }
        }
        let rows = (left.most_rows(self.tables) + 1) * (right.most_rows(self.tables) + 1);
        if pairs.is_empty() || rows > MOST_ROWS {
            return *left;
        }
        let on = (0..1 + self.random.below(2)).map(|_| *self.random.pick(&pairs)).collect();
        let kind = *self.random.pick(&["inner", "left", "right", "full"]);
        let beside = self.random.one_in(3).then(|| *self.random.pick(&pairs));
        // Other tests have order comparisons of booleans and strings.
        let beside = beside.filter(|(column, _)| matches!(l[*column].dtype, Type::Int(..)));
        Plan::Join { left, right, kind, on, beside }
    }

    fn window(&mut self, input: Box<Plan>, columns: &[Column]) -> Plan {
        let rows = input.most_rows(self.tables);
        let mut partition = Vec::new();
        for _ in 0..self.random.below(3) {
            partition.push(self.random.below(columns.len() as u64) as usize);
        }
        let Plan::TopK { input, keys, .. } = self.top_k(input, columns.len()) else {
            return Plan::CountOfLimit(Box::new(Plan::Scan(0)), 1, 0);
        };
        let number = Column { dtype: Type::Int(8, false), ..count(rows) };
        let mut functions = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let index = self.random.below(columns.len() as u64) as usize;
            let (name, of) = (format!("c{index}"), &columns[index]);
            let mut fits: Vec<(String, Column)> = vec![
                ("row_number()".to_string(), number.clone()),
                ("rank()".to_string(), number.clone()),
                ("dense_rank()".to_string(), number.clone()),
                ("ntile(3)".to_string(), number.clone()),
                (format!("lag({name})"), of.clone()),
                (format!("lead({name}, 2)"), of.clone()),
                (format!("first_value({name})"), of.clone()),
                (format!("last_value({name})"), of.clone()),
                (format!("first_value({name} ignore nulls)"), of.clone()),
                (format!("last_value({name} ignore nulls)"), of.clone()),
                (format!("nth_value({name}, -2)"), of.clone()),
                (format!("nth_value({name}, 2)"), of.clone()),
                (format!("count({name})"), count(rows)),
                (format!("count({name}) filter (where {name} is null or {name} = {name})"), count(rows)),
            ];
            if let (Type::Int(_, signed), Some(bound)) = (of.dtype, of.bound)
                && bound * (rows as f64) < 9e18
            {
                let sum = Column { dtype: Type::Int(8, signed), bound: Some(bound * rows as f64), ..of.clone() };
                fits.push((format!("sum({name}) filter (where {name} > 1)"), sum.clone()));
                fits.push((format!("sum({name})"), sum));
                if signed && bound <= 60.0 {
                    let twice = Column { bound: Some(2.0 * bound + 1.0), ..of.clone() };
                    fits.push((format!("lag({name} * 2 - 1)"), twice));
                }
            }
            if let (Type::Int(..), Some(..=1e3)) = (of.dtype, of.bound) {
                let spread = Column { dtype: Type::Double, bound: None, nan: false, exact: false };
                fits.push((format!("var_pop({name})"), spread.clone()));
                fits.push((format!("stddev_samp({name})"), spread));
            }
            if !of.nan && of.dtype != Type::Bool {
                fits.push((format!("min({name})"), represented(of)));
                fits.push((format!("max({name})"), represented(of)));
            }
            let (text, column) = self.random.pick(&fits).clone();
            let frame = *self.random.pick(&[
                "",
                "",
                " rows between 2 preceding and 1 following",
                " rows between unbounded preceding and 1 following",
                " rows between unbounded preceding and unbounded following",
                " rows between 3 preceding and 1 preceding",
                " rows between current row and unbounded following",
                " rows between 2 following and unbounded following",
                " rows between 90 preceding and 300 following",
                " rows between 600 preceding and 7 preceding",
            ]);
            functions.push(Function { text, frame, column });
        }
        Plan::Window { input, functions, partition, keys }
    }
}

/// DataFusion has no frames over durations, and its check of plans refuses some windows over unions, which it has
/// sorted by itself.
fn can_have_windows(plan: &Plan, columns: &[Column]) -> bool {
    fn has_union(plan: &Plan) -> bool {
        matches!(plan, Plan::Union(..)) || plan.inputs().iter().any(|input| has_union(input))
    }
    !has_union(plan) && columns.iter().all(|column| column.dtype != Type::Span)
}

/// The rows are those of a scan, in its order.
fn keeps_order(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(_) => true,
        Plan::Filter(input, _) | Plan::Project(input, _) => keeps_order(input),
        _ => false,
    }
}
