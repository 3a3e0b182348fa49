//! Types of JSON values: a join semilattice, so that types of pieces merge to the types of the file.
//!
//! The rules are those of `arrow_json::reader::infer_json_schema`: integers and floats are floats, other mixed scalars
//! are strings, a scalar with a list is a list. Integers that no integer type holds are strings, and not rounded,
//! unless there are floats. Fields come in the order of the file.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields as ArrowFields, Schema};

use super::value::Value;

/// Objects with more fields than this find them by a hash table.
const FEW: usize = 16;

/// The type of all values that were seen at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Kind {
    /// Nothing but nulls outside of lists, or no element in a list.
    #[default]
    Unknown,
    /// Nothing but these scalars, and nulls.
    Scalar(Scalars),
    List(Box<Kind>),
    Object(Fields),
}

/// A set of scalar types. The empty set is that of a list of nulls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scalars(u8);

impl Scalars {
    pub const NULL: Scalars = Scalars(0);
    pub const BOOLEAN: Scalars = Scalars(1);
    pub const INTEGER: Scalars = Scalars(2);
    pub const FLOAT: Scalars = Scalars(4);
    pub const STRING: Scalars = Scalars(8);
    /// A negative integer.
    pub const NEGATIVE: Scalars = Scalars(16 | Scalars::INTEGER.0);
    /// An integer beyond 63 bits that 64 bits without sign hold.
    pub const UNSIGNED: Scalars = Scalars(32 | Scalars::INTEGER.0);
    /// An integer beyond 64 bits.
    pub const HUGE: Scalars = Scalars(64 | Scalars::INTEGER.0);

    fn data_type(self) -> DataType {
        const INTEGERS: u8 = Scalars::NEGATIVE.0 | Scalars::UNSIGNED.0 | Scalars::HUGE.0;
        let has = |some: Scalars| self.0 & some.0 == some.0;
        match self.0 {
            0 => DataType::Utf8,
            bits if bits == Scalars::BOOLEAN.0 => DataType::Boolean,
            bits if bits & !(INTEGERS | Scalars::FLOAT.0) != 0 => DataType::Utf8,
            _ if has(Scalars::FLOAT) => DataType::Float64,
            _ if has(Scalars::HUGE) || (has(Scalars::UNSIGNED) && has(Scalars::NEGATIVE)) => DataType::Utf8,
            _ if has(Scalars::UNSIGNED) => DataType::UInt64,
            _ => DataType::Int64,
        }
    }
}

/// Types that do not go together, and the path of the field that has them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MixedTypes {
    /// From the inner field to the outer one.
    path: Vec<String>,
    what: String,
}

impl MixedTypes {
    fn new(what: impl Into<String>) -> Self {
        MixedTypes { path: Vec::new(), what: what.into() }
    }

    fn under(mut self, name: &str) -> Self {
        self.path.push(name.to_string());
        self
    }
}

impl std::fmt::Display for MixedTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        write!(f, "`{}` {}", path.join("."), self.what)
    }
}

impl Kind {
    /// A few words for messages.
    fn name(&self) -> &'static str {
        match self {
            Kind::Unknown => "null",
            Kind::Scalar(_) => "a scalar",
            Kind::List(inner) => match inner.as_ref() {
                Kind::Object(_) => "a list of objects",
                Kind::List(_) => "a list of lists",
                Kind::Scalar(_) => "a list of scalars",
                Kind::Unknown => "an empty list",
            },
            Kind::Object(_) => "an object",
        }
    }

    fn differs(&self, found: &Kind) -> MixedTypes {
        MixedTypes::new(format!("is {} here, and {} before", found.name(), self.name()))
    }

    /// Adds a scalar. False if there are objects.
    #[inline]
    pub fn scalar(&mut self, found: Scalars) -> bool {
        match self {
            Kind::Scalar(all) => all.0 |= found.0,
            Kind::Unknown => *self = Kind::Scalar(found),
            Kind::List(inner) => return inner.scalar(found),
            Kind::Object(_) => return false,
        }
        true
    }

    /// The elements, if this can be a list; what was a scalar becomes a list of it.
    pub fn list(&mut self) -> Option<&mut Kind> {
        match self {
            Kind::Object(_) => return None,
            Kind::List(_) => {}
            Kind::Unknown | Kind::Scalar(_) => *self = Kind::List(Box::new(std::mem::take(self))),
        }
        match self {
            Kind::List(inner) => Some(inner),
            _ => None,
        }
    }

    /// The fields, if this can be an object.
    pub fn object(&mut self) -> Option<&mut Fields> {
        if matches!(self, Kind::Unknown) {
            *self = Kind::Object(Fields::default());
        }
        match self {
            Kind::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Adds the values of later lines.
    fn merge(&mut self, later: &Kind) -> Result<(), MixedTypes> {
        match (&mut *self, later) {
            (_, Kind::Unknown) => Ok(()),
            (Kind::Unknown, later) => {
                *self = later.clone();
                Ok(())
            }
            (Kind::Object(all), Kind::Object(later)) => all.merge(later),
            (Kind::List(all), Kind::List(later)) => all.merge(later),
            (all, Kind::Scalar(found)) => match all.scalar(*found) {
                true => Ok(()),
                false => Err(all.differs(later)),
            },
            (Kind::Scalar(found), Kind::List(inner)) => {
                let mut inner = inner.as_ref().clone();
                if !inner.scalar(*found) {
                    return Err(self.differs(later));
                }
                *self = Kind::List(Box::new(inner));
                Ok(())
            }
            (all, later) => Err(all.differs(later)),
        }
    }

    /// Adds a value. An error leaves some of it added.
    fn add(&mut self, value: &Value) -> Result<(), MixedTypes> {
        let scalar = match value {
            Value::Null => return Ok(()),
            Value::Object(members) => {
                let before = self.name();
                let fields =
                    self.object().ok_or_else(|| MixedTypes::new(format!("is an object here, and {before} before")));
                return fields?.add(members);
            }
            Value::Array(elements) => {
                // The type follows from the elements alone, so that the order of lines makes no difference.
                let mut inner = Kind::Unknown;
                if let Some(first) = elements.first() {
                    let shape = Shape::of(first);
                    if let Some(other) = elements.iter().map(Shape::of).find(|s| *s != shape) {
                        return Err(MixedTypes::new(format!("is a list with {} and {}", shape.name(), other.name())));
                    }
                }
                for element in elements {
                    match element {
                        Value::Null => _ = inner.scalar(Scalars::NULL),
                        element => inner.add(element)?,
                    }
                }
                return self.merge(&Kind::List(Box::new(inner)));
            }
            Value::Scalar(scalar) => *scalar,
        };
        match self.scalar(scalar) {
            true => Ok(()),
            false => Err(self.differs(&Kind::Scalar(scalar))),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Kind::Unknown => DataType::Null,
            Kind::Scalar(scalars) => scalars.data_type(),
            Kind::List(inner) => DataType::List(Arc::new(Field::new_list_field(inner.data_type(), true))),
            Kind::Object(fields) => DataType::Struct(fields.arrow()),
        }
    }
}

/// Elements of one list have one shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Scalar,
    List,
    Object,
}

impl Shape {
    fn of(value: &Value) -> Shape {
        match value {
            Value::Array(_) => Shape::List,
            Value::Object(_) => Shape::Object,
            _ => Shape::Scalar,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Shape::Scalar => "scalars or nulls",
            Shape::List => "lists",
            Shape::Object => "objects",
        }
    }
}

/// The fields of objects in the order in which they come first.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    list: Vec<Member>,
    /// Positions by name, if there are more than [`FEW`].
    index: HashMap<String, usize>,
    /// Counts the objects that were scanned.
    objects: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub name: String,
    pub kind: Kind,
    /// The bytes of the name are those between its quotes in the file.
    plain: bool,
    /// The last object that had it.
    object: u64,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.list.iter().zip(&other.list);
        self.list.len() == other.list.len() && pairs.into_iter().all(|(a, b)| a.name == b.name && a.kind == b.kind)
    }
}

impl Fields {
    pub fn schema(&self) -> Schema {
        Schema::new(self.arrow())
    }

    fn arrow(&self) -> ArrowFields {
        self.list.iter().map(|m| Field::new(&m.name, m.kind.data_type(), true)).collect()
    }

    /// Begins an object of a file.
    pub fn begin(&mut self) {
        self.objects += 1;
    }

    /// Brings the index up to date from a position on.
    fn number(&mut self, from: usize) {
        if self.list.len() > FEW {
            let from = if self.index.is_empty() { 0 } else { from };
            self.index.extend(self.list.iter().enumerate().skip(from).map(|(i, m)| (m.name.clone(), i)));
        }
    }

    /// The position of a field whose raw bytes are next in the text, if it is the expected one.
    #[inline]
    pub fn expected(&self, position: usize, text: &[u8]) -> Option<usize> {
        let member = self.list.get(position)?;
        let length = member.name.len();
        (member.plain && text.len() > length && text[length] == b'"' && &text[..length] == member.name.as_bytes())
            .then_some(length)
    }

    /// The position of a field, which is added if it is new.
    pub fn position(&mut self, name: &str) -> usize {
        let found = match self.list.len() {
            ..=FEW => self.list.iter().position(|m| m.name == name),
            _ => self.index.get(name).copied(),
        };
        found.unwrap_or_else(|| {
            let plain = !name.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\');
            self.list.push(Member { name: name.to_string(), kind: Kind::Unknown, plain, object: 0 });
            let last = self.list.len() - 1;
            self.number(last);
            last
        })
    }

    /// The type of a field for a value of the current object. `None` if the object has it already.
    #[inline]
    pub fn value(&mut self, position: usize) -> Option<&mut Kind> {
        let member = self.list.get_mut(position)?;
        if member.object == self.objects {
            return None;
        }
        member.object = self.objects;
        Some(&mut member.kind)
    }

    pub fn merge(&mut self, later: &Fields) -> Result<(), MixedTypes> {
        if self.list.is_empty() {
            *self = later.clone();
            return Ok(());
        }
        for (i, member) in later.list.iter().enumerate() {
            let position = match self.list.get(i) {
                Some(same) if same.name == member.name => i,
                _ => self.position(&member.name),
            };
            self.list[position].kind.merge(&member.kind).map_err(|e| e.under(&member.name))?;
        }
        Ok(())
    }

    /// Adds an object. An error leaves some of it added.
    pub fn add(&mut self, members: &[(String, Value)]) -> Result<(), MixedTypes> {
        self.begin();
        for (name, value) in members {
            let position = self.position(name);
            self.list[position].kind.add(value).map_err(|e| e.under(name))?;
        }
        Ok(())
    }
}
