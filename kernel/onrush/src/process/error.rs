//! How a cell fails: an error that `?` passed on, and a panic.

use std::any::TypeId;
use std::error::Error;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Mutex;

use onrush_wire::{Class, Diagnostic, Span};

/// The error that `?` at the top level of a cell converts an error into. It does not implement `Error` itself, so that
/// every `Error` converts.
pub struct CellError {
    pub diagnostic: Diagnostic,
}

/// The same for cells that use `?` on errors which are not `std::error::Error`: text, boxed errors, anything `Debug`.
pub struct AnyError(CellError);

pub fn span_of(location: &Location<'_>) -> Span {
    Span { file: location.file().to_string(), line: location.line(), column: location.column(), length: 1 }
}

/// The type without its lifetimes. Errors and variables may borrow (`mutex.lock()?`); such a type has no `TypeId`.
fn type_of<E>() -> TypeId {
    trait HasTypeId {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<E> HasTypeId for PhantomData<E> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<E>()
        }
    }
    let typed: &dyn HasTypeId = &PhantomData::<E>;
    // SAFETY: only the bound of the trait object changes; the marker holds nothing that could end.
    unsafe { std::mem::transmute::<&dyn HasTypeId, &(dyn HasTypeId + 'static)>(typed) }.id()
}

/// The value as one of type `T`, if it is one.
fn as_type<T: 'static, E>(error: &E) -> Option<&T> {
    // SAFETY: it is a `T`, but for lifetimes: `&str` is taken for `&'static str`, and what is given back ends with
    // `error`. Nobody below keeps more than a copy of its text.
    (type_of::<E>() == TypeId::of::<T>()).then(|| unsafe { &*std::ptr::from_ref(error).cast::<T>() })
}

/// A value by its address and its type without lifetimes. Generic code here is compiled in every cell, for types
/// without an instance in the prelude. It compares nothing: rustc would read all implementations of `PartialEq`.
pub(crate) struct AnyRef<'a> {
    id: TypeId,
    address: *const (),
    of: PhantomData<&'a ()>,
}

impl<'a> AnyRef<'a> {
    #[inline(always)]
    pub(crate) fn new<T>(value: &'a T) -> Self {
        AnyRef { id: type_of::<T>(), address: value as *const T as *const (), of: PhantomData }
    }

    /// The value as a `T`, if it is one.
    pub(crate) fn downcast<T: 'static>(&self) -> Option<&'a T> {
        // SAFETY: it is a `T`, says its type, and lives as long as the reference that it was made of.
        (self.id == TypeId::of::<T>()).then(|| unsafe { &*self.address.cast::<T>() })
    }
}

fn from_error<'a>(error: &(dyn Error + 'a), own: Option<&Diagnostic>, location: &Location<'_>) -> CellError {
    if let Some(diagnostic) = own {
        let mut diagnostic = diagnostic.clone();
        if diagnostic.labels.is_empty() {
            diagnostic = diagnostic.at(span_of(location), "");
        }
        return CellError { diagnostic };
    }
    let mut diagnostic = Diagnostic::error(Class::Run, "error", error.to_string()).at(span_of(location), "");
    let mut source = error.source();
    while let Some(inner) = source {
        diagnostic = diagnostic.note(format!("caused by: {inner}"));
        source = inner.source();
    }
    CellError { diagnostic }
}

impl<E: Error> From<E> for CellError {
    #[track_caller]
    fn from(error: E) -> Self {
        from_error(&error, as_type::<Diagnostic, E>(&error), Location::caller())
    }
}

impl<E: Debug> From<E> for AnyError {
    #[track_caller]
    fn from(error: E) -> Self {
        let location = Location::caller();
        let own = as_type::<Diagnostic, E>(&error);
        macro_rules! as_errors {
            ($($t:ty),*) => {$(if let Some(error) = as_type::<$t, E>(&error) {
                return AnyError(from_error(error, own, location));
            })*};
        }
        macro_rules! as_boxes {
            ($($t:ty),*) => {$(if let Some(error) = as_type::<$t, E>(&error) {
                return AnyError(from_error(&**error, error.downcast_ref::<Diagnostic>(), location));
            })*};
        }
        as_boxes!(Box<dyn Error>, Box<dyn Error + Send>, Box<dyn Error + Send + Sync>);
        as_errors!(
            Diagnostic,
            std::io::Error,
            std::fmt::Error,
            std::num::ParseIntError,
            std::num::ParseFloatError,
            std::str::ParseBoolError,
            std::char::ParseCharError,
            std::num::TryFromIntError,
            std::str::Utf8Error,
            std::string::FromUtf8Error,
            std::env::VarError,
            std::net::AddrParseError,
            std::time::SystemTimeError
        );
        let text = match (as_type::<String, E>(&error), as_type::<&'static str, E>(&error)) {
            (Some(text), _) => text.clone(),
            (_, Some(text)) => text.to_string(),
            _ => format!("{error:?}"),
        };
        AnyError(CellError { diagnostic: Diagnostic::error(Class::Run, "error", text).at(span_of(location), "") })
    }
}

/// An error of the store passes through.
impl From<CellError> for AnyError {
    fn from(error: CellError) -> Self {
        AnyError(error)
    }
}

impl AnyError {
    pub fn into_cell_error(self) -> CellError {
        self.0
    }
}

/// The end of a cell that returned where it could keep no variable. It is not an error, but all is as before the
/// cell.
pub fn returned() -> CellError {
    CellError { diagnostic: Diagnostic::error(Class::Run, "returned", "the cell returned") }
}

/// A panic as the hook saw it.
#[derive(Clone, Debug)]
pub struct Panic {
    pub message: String,
    pub span: Option<Span>,
}

static LAST_PANIC: Mutex<Option<Panic>> = Mutex::new(None);

pub fn set_panic(panic: Panic) {
    *LAST_PANIC.lock().unwrap_or_else(|p| p.into_inner()) = Some(panic);
}

/// Whether the hook has seen a panic that nobody has taken yet.
pub(super) fn is_panic_known() -> bool {
    LAST_PANIC.lock().unwrap_or_else(|p| p.into_inner()).is_some()
}

pub fn last_panic() -> Option<Panic> {
    LAST_PANIC.lock().unwrap_or_else(|p| p.into_inner()).take()
}

/// The message of a panic's payload, if it is a string.
pub fn payload_text(payload: &(dyn std::any::Any + Send)) -> Option<String> {
    match (payload.downcast_ref::<&'static str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => Some(text.to_string()),
        (_, Some(text)) => Some(text.clone()),
        _ => None,
    }
}

/// A panic in words: what happened, and for the usual ones what to do.
pub fn describe_panic(panic: &Panic) -> Diagnostic {
    let text = panic.message.as_str();
    let help = if text.starts_with("index out of bounds") || text.starts_with("range end index") {
        Some("`.get(i)` gives an `Option` instead of a panic")
    } else if text.starts_with("attempt to divide by zero")
        || text.starts_with("attempt to calculate the remainder with a divisor of zero")
    {
        Some("test the divisor first, or use `checked_div`")
    } else if text.starts_with("attempt to ") && text.ends_with("overflow") {
        Some(
            "the result does not fit its type: use a wider one (`i64`, `f64`), or `checked_…`, `wrapping_…`, `saturating_…`",
        )
    } else if text.starts_with("called `Option::unwrap()` on a `None` value") {
        Some("the `Option` was `None`: use `match`, `if let`, `unwrap_or`, or `.ok_or(\"…\")?`")
    } else if text.starts_with("called `Result::unwrap()` on an `Err` value") {
        Some("the `Result` was an error: `?` in place of `.unwrap()` ends the cell with the error's own text")
    } else if text.contains("already borrowed") || text.contains("already mutably borrowed") {
        Some("a `RefCell` was borrowed twice at the same time: end the first borrow before the second")
    } else {
        None
    };
    let mut diagnostic = Diagnostic::error(Class::Run, "panic", text);
    if let Some(span) = &panic.span {
        diagnostic = diagnostic.at(span.clone(), "");
    }
    if let Some(help) = help {
        diagnostic = diagnostic.help(help);
    }
    diagnostic
}
