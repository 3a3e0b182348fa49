//! Functions of strings: by their bytes, and by a lookup table for each entry of a dictionary. Expected values come
//! from Rust's `str`, whose characters are those of SQL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, StringArray, StringViewArray};
use arrow::datatypes::DataType;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, ExprGraph, Lookup, NodeId, Op, OverflowPolicy, Stage, StringOp, StringSource};

use super::support::{
    BOOL, INDEX, INT, LONG, Nulls, SIZES, STRING, STRINGS, check, check_row_error, column, condition, long, one_of,
    output, stage,
};

fn strings(rows: usize, nulls: Nulls, seed: u64) -> ArrayRef {
    column::<StringArray, &str>(rows, nulls, |row| one_of(&STRINGS, row, seed))
}

/// A pipeline over strings as bytes, and the literals that it reads.
#[derive(Default)]
struct Pipeline {
    graph: ExprGraph,
    lookups: Vec<Lookup>,
    columns: Vec<NodeId>,
}

impl Pipeline {
    fn literal(&mut self, text: &str) -> NodeId {
        self.lookups.push(Lookup::text(text));
        self.graph.add(Op::Str(StringOp::Literal(self.lookups.len() as u32 - 1)), &[], STRING)
    }

    fn number(&mut self, value: i64) -> NodeId {
        self.graph.number(Scalar::I64, value.into())
    }

    fn add(&mut self, op: StringOp, args: &[NodeId], kind: onrush_ops::DeviceType) {
        let id = self.graph.add(Op::Str(op), args, kind);
        self.columns.push(id);
    }

    fn stages(self) -> Vec<Stage> {
        vec![Stage { lookups: self.lookups, ..stage(self.graph, output(self.columns)) }]
    }
}

fn each<A, T>(strings: &ArrayRef, of: impl Fn(&str) -> T) -> ArrayRef
where
    A: Array + FromIterator<Option<T>> + 'static,
{
    Arc::new(strings.as_string::<i32>().iter().map(|string| string.map(&of)).collect::<A>())
}

fn chars(string: &str, from: i64, to: i64) -> String {
    string.chars().zip(1_i64..).filter(|(_, at)| (from..to).contains(at)).map(|(c, _)| c).collect()
}

#[test]
fn tests_and_lengths_of_strings_count_characters_not_bytes() {
    let mut pipeline = Pipeline::default();
    let string = pipeline.graph.input(0, STRING);
    let mut tests: Vec<(&str, StringOp, fn(&str, &str) -> bool)> = Vec::new();
    for part in ["", "a", "本", "🦀 crab"] {
        tests.push((part, StringOp::Contains, |string, part| string.contains(part)));
        tests.push((part, StringOp::StartsWith, |string, part| string.starts_with(part)));
        tests.push((part, StringOp::EndsWith, |string, part| string.ends_with(part)));
    }
    for (part, op, _) in &tests {
        let part = pipeline.literal(part);
        pipeline.add(*op, &[string, part], BOOL);
    }
    pipeline.add(StringOp::CharLength, &[string], INT);
    pipeline.add(StringOp::ByteLength, &[string], INT);
    let parts = ["b", "語"];
    for part in parts {
        let part = pipeline.literal(part);
        pipeline.add(StringOp::Position, &[string, part], INT);
    }
    let stages = pipeline.stages();
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let strings = strings(rows, nulls, 171);
            let mut expected: Vec<ArrayRef> = tests
                .iter()
                .map(|(part, _, test)| each::<BooleanArray, bool>(&strings, |string| test(string, part)))
                .collect();
            expected.push(each::<Int32Array, i32>(&strings, |string| string.chars().count() as i32));
            expected.push(each::<Int32Array, i32>(&strings, |string| string.len() as i32));
            for part in parts {
                let position = |string: &str| string.find(part).map_or(0, |at| string[..at].chars().count() as i32 + 1);
                expected.push(each::<Int32Array, i32>(&strings, position));
            }
            check(stages.clone(), &[&[strings]], &expected);
        }
    }
}

#[test]
fn parts_of_strings_are_cut_between_characters() {
    let mut pipeline = Pipeline::default();
    let string = pipeline.graph.input(0, STRING);
    const BOUNDS: [(i64, i64); 5] = [(2, 3), (-2, 4), (3, 100), (1, 0), (i64::MIN, 3)];
    for (start, count) in BOUNDS {
        let (start, count) = (pipeline.number(start), pipeline.number(count));
        pipeline.add(StringOp::Substring, &[string, start, count], STRING);
    }
    const STARTS: [i64; 2] = [3, -1];
    for start in STARTS {
        let start = pipeline.number(start);
        pipeline.add(StringOp::Substring, &[string, start], STRING);
    }
    const COUNTS: [i64; 4] = [0, 3, 100, -3];
    for count in COUNTS {
        let count = pipeline.number(count);
        pipeline.add(StringOp::Left, &[string, count], STRING);
        pipeline.add(StringOp::Right, &[string, count], STRING);
    }
    let stages = pipeline.stages();
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating, Nulls::All] {
            let strings = strings(rows, nulls, 172);
            let mut expected = Vec::new();
            for (start, count) in BOUNDS {
                let part = |string: &str| chars(string, start, start.saturating_add(count));
                expected.push(each::<StringArray, String>(&strings, part));
            }
            for start in STARTS {
                expected.push(each::<StringArray, String>(&strings, |string| chars(string, start, i64::MAX)));
            }
            for count in COUNTS {
                // Below 0: all but so many at the other end.
                let kept = |string: &str| {
                    let all = string.chars().count() as i64;
                    if count < 0 { (all + count).max(0) } else { count.min(all) }
                };
                expected.push(each::<StringArray, String>(&strings, |string| chars(string, 1, kept(string) + 1)));
                let right = |string: &str| chars(string, string.chars().count() as i64 - kept(string) + 1, i64::MAX);
                expected.push(each::<StringArray, String>(&strings, right));
            }
            check(stages.clone(), &[&[strings]], &expected);
        }
    }
}

#[test]
fn computed_strings_are_written_with_all_their_bytes() {
    let mut pipeline = Pipeline::default();
    let (string, other, number) =
        (pipeline.graph.input(0, STRING), pipeline.graph.input(1, STRING), pipeline.graph.input(2, LONG));
    let dash = pipeline.literal("–");
    let (what, with) = (pipeline.literal("a"), pipeline.literal("äöü"));
    let (three, eight) = (pipeline.number(3), pipeline.number(8));
    pipeline.add(StringOp::Concat, &[string, dash, other], STRING);
    pipeline.add(StringOp::Replace, &[string, what, with], STRING);
    pipeline.add(StringOp::Reverse, &[string], STRING);
    pipeline.add(StringOp::Repeat, &[string, three], STRING);
    pipeline.add(StringOp::Pad { left: true }, &[string, eight, with], STRING);
    pipeline.add(StringOp::Pad { left: false }, &[string, eight, with], STRING);
    pipeline.add(StringOp::FormatInt, &[number], STRING);
    let first = pipeline.number(1);
    pipeline.add(StringOp::SplitPart, &[string, what, first], STRING);
    let second = pipeline.number(2);
    pipeline.add(StringOp::SplitPart, &[string, what, second], STRING);
    let last = pipeline.number(-1);
    pipeline.add(StringOp::SplitPart, &[string, what, last], STRING);
    let stages = pipeline.stages();
    let pad = |string: &str, left: bool| -> String {
        let own: Vec<char> = string.chars().take(8).collect();
        let fill: String = "äöü".chars().cycle().take(8 - own.len()).collect();
        let own: String = own.into_iter().collect();
        if left { fill + &own } else { own + &fill }
    };
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating, Nulls::First] {
            let (left, right) = (strings(rows, nulls, 173), strings(rows, Nulls::Last, 174));
            let numbers = column::<Int64Array, i64>(rows, nulls, |row| long(row, 175));
            let (a, b) = (left.as_string::<i32>(), right.as_string::<i32>());
            let both = a.iter().zip(b).map(|(a, b)| Some(format!("{}–{}", a?, b?)));
            let digits = numbers.as_primitive::<arrow::datatypes::Int64Type>().iter().map(|n| Some(n?.to_string()));
            let expected: [ArrayRef; 10] = [
                Arc::new(both.collect::<StringArray>()),
                each::<StringArray, String>(&left, |string| string.replace('a', "äöü")),
                each::<StringArray, String>(&left, |string| string.chars().rev().collect()),
                each::<StringArray, String>(&left, |string| string.repeat(3)),
                each::<StringArray, String>(&left, |string| pad(string, true)),
                each::<StringArray, String>(&left, |string| pad(string, false)),
                Arc::new(digits.collect::<StringArray>()),
                each::<StringArray, String>(&left, |string| string.split('a').next().unwrap_or_default().into()),
                each::<StringArray, String>(&left, |string| string.split('a').nth(1).unwrap_or_default().into()),
                each::<StringArray, String>(&left, |string| string.split('a').next_back().unwrap_or_default().into()),
            ];
            check(stages.clone(), &[&[Arc::clone(&left), right, Arc::clone(&numbers)]], &expected);
        }
    }
}

/// Expected from Rust's order of strings, which is that of their bytes.
#[test]
fn comparison_of_strings_as_bytes_follows_the_order_of_bytes() {
    const ALL: [(Comparison, fn(&str, &str) -> bool); 6] = [
        (Comparison::Equal, |a, b| a == b),
        (Comparison::NotEqual, |a, b| a != b),
        (Comparison::Less, |a, b| a < b),
        (Comparison::LessEqual, |a, b| a <= b),
        (Comparison::Greater, |a, b| a > b),
        (Comparison::GreaterEqual, |a, b| a >= b),
    ];
    let mut pipeline = Pipeline::default();
    let args = [pipeline.graph.input(0, STRING), pipeline.graph.input(1, STRING)];
    pipeline.columns = ALL.map(|(how, _)| pipeline.graph.add(Op::Compare(how), &args, BOOL)).into();
    let stages = pipeline.stages();
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let (left, right) = (strings(rows, nulls, 176), strings(rows, Nulls::First, 177));
            let (a, b) = (left.as_string::<i32>(), right.as_string::<i32>());
            let expected = ALL.map(|(_, holds)| -> ArrayRef {
                Arc::new(a.iter().zip(b).map(|(a, b)| Some(holds(a?, b?))).collect::<BooleanArray>())
            });
            check(stages.clone(), &[&[Arc::clone(&left), Arc::clone(&right)]], &expected);
        }
    }
}

/// By hand: what an integer looks like.
#[test]
fn parse_of_strings_that_are_no_integers_is_null_or_a_row_error() {
    let texts = ["0", "-1", "9223372036854775807", "-9223372036854775808", "+5", "007"];
    let wrong = ["", "9223372036854775808", "1.5", "x", "٣", "--1"];
    let array = |texts: &[&str]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    for (policy, inputs) in
        [(OverflowPolicy::Error, texts.to_vec()), (OverflowPolicy::Null, [&texts[..], &wrong[..]].concat())]
    {
        let mut pipeline = Pipeline::default();
        let string = pipeline.graph.input(0, STRING);
        pipeline.add(StringOp::ParseInt(policy), &[string], LONG);
        let stages = pipeline.stages();
        let expected: Int64Array = inputs.iter().map(|text| text.parse::<i64>().ok()).collect();
        check(stages.clone(), &[&[array(&inputs)]], &[Arc::new(expected)]);
        for text in wrong.iter().filter(|_| policy == OverflowPolicy::Error) {
            check_row_error(stages.clone(), &[&[array(&["1", text])]], &[DataType::Int64]);
        }
    }
}

/// A function of each dictionary entry and of null, whose result is read by index.
#[test]
fn lookup_by_dictionary_index_gives_the_result_of_each_entry() {
    let starts = Lookup::Strings {
        of: StringSource::Input(0),
        evaluate: Arc::new(|strings: &ArrayRef| {
            let starts = |string: Option<&str>| string.map(|string| string.starts_with(['a', '日', 'é']));
            Ok(Arc::new(strings.as_string_view().iter().map(starts).collect::<BooleanArray>()) as ArrayRef)
        }),
    };
    let upper = Lookup::Strings {
        of: StringSource::Input(0),
        evaluate: Arc::new(|strings: &ArrayRef| {
            let upper = |string: Option<&str>| Some(string.unwrap_or("NONE").to_uppercase());
            Ok(Arc::new(strings.as_string_view().iter().map(upper).collect::<StringViewArray>()) as ArrayRef)
        }),
    };
    let mut graph = ExprGraph::new();
    let input = graph.input(0, INDEX);
    let filter = graph.add(Op::Lookup(0), &[input], BOOL);
    let upper_of = graph.add(Op::Lookup(1), &[input], INDEX);
    let mut project = stage(graph, output(vec![filter, upper_of, input]));
    project.lookups = vec![starts, upper];
    let mut filtered = project.clone();
    filtered.filter = Some(filter);
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let strings = strings(rows, nulls, 178);
            let of = strings.as_string::<i32>();
            let starts = |string: Option<&str>| string.map(|string| string.starts_with(['a', '日', 'é']));
            let upper = |string: Option<&str>| Some(string.unwrap_or("NONE").to_uppercase());
            let expected: [ArrayRef; 3] = [
                Arc::new(of.iter().map(starts).collect::<BooleanArray>()),
                Arc::new(of.iter().map(upper).collect::<StringArray>()),
                Arc::clone(&strings),
            ];
            check(vec![project.clone()], &[&[Arc::clone(&strings)]], &expected);
            let kept = condition(&expected[0]);
            let expected = expected.each_ref().map(|column| arrow::compute::filter(column, &kept).unwrap());
            check(vec![filtered.clone()], &[&[Arc::clone(&strings)]], &expected);
        }
    }
}
