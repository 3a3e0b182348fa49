//! The kinds of controls, each with a typed value. A clone is the same control.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::iter::StepBy;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use onrush_wire::control::{ChoiceLook, ControlKind, Setting, TextLines};
use onrush_wire::display::Content;
use onrush_wire::{Class, Diagnostic};

use super::handle::Handle;
use crate::display::Show;
use crate::raise::{here, raise};

/// The number types of a slider: `i64` and `f64`.
#[diagnostic::on_unimplemented(
    message = "a slider has no values of type `{Self}`",
    label = "expected `i64` or `f64`: `0..60`, `0.0..1.0`"
)]
pub trait Scale: Copy + PartialOrd + Display + Debug + 'static {
    #[doc(hidden)]
    fn kind(min: Self, max: Self, step: Option<Self>) -> ControlKind;
    #[doc(hidden)]
    fn setting(self) -> Setting;
    #[doc(hidden)]
    fn settings(low: Self, high: Self) -> Setting;
    #[doc(hidden)]
    fn of(setting: &Setting) -> Option<Self>;
    #[doc(hidden)]
    fn both(setting: &Setting) -> Option<(Self, Self)>;
    #[doc(hidden)]
    fn ends(kind: &ControlKind) -> Option<(Self, Self)>;
}

impl Scale for i64 {
    fn kind(min: i64, max: i64, step: Option<i64>) -> ControlKind {
        ControlKind::IntSlider { min, max, step: step.unwrap_or(1) }
    }

    fn setting(self) -> Setting {
        Setting::Int(self)
    }

    fn settings(low: i64, high: i64) -> Setting {
        Setting::Ints(low, high)
    }

    fn of(setting: &Setting) -> Option<i64> {
        if let Setting::Int(value) = setting { Some(*value) } else { None }
    }

    fn both(setting: &Setting) -> Option<(i64, i64)> {
        if let Setting::Ints(low, high) = setting { Some((*low, *high)) } else { None }
    }

    fn ends(kind: &ControlKind) -> Option<(i64, i64)> {
        if let ControlKind::IntSlider { min, max, .. } = kind { Some((*min, *max)) } else { None }
    }
}

impl Scale for f64 {
    fn kind(min: f64, max: f64, step: Option<f64>) -> ControlKind {
        // About a hundred steps, each of one, two or five units of a power of ten.
        let step = step.unwrap_or_else(|| {
            let rough = (max - min) / 100.0;
            let unit = 10f64.powf(rough.log10().floor());
            [1.0, 2.0, 5.0]
                .into_iter()
                .map(|n| n * unit)
                .take_while(|step| *step <= rough * 1.001)
                .last()
                .unwrap_or(unit)
        });
        ControlKind::FloatSlider { min, max, step }
    }

    fn setting(self) -> Setting {
        Setting::Float(self)
    }

    fn settings(low: f64, high: f64) -> Setting {
        Setting::Floats(low, high)
    }

    fn of(setting: &Setting) -> Option<f64> {
        if let Setting::Float(value) = setting { Some(*value) } else { None }
    }

    fn both(setting: &Setting) -> Option<(f64, f64)> {
        if let Setting::Floats(low, high) = setting { Some((*low, *high)) } else { None }
    }

    fn ends(kind: &ControlKind) -> Option<(f64, f64)> {
        if let ControlKind::FloatSlider { min, max, .. } = kind { Some((*min, *max)) } else { None }
    }
}

/// The range of a slider: `0..60` (0 to 59, as in Rust), `0..=60`, `(0..60).step_by(5)`, `0.0..1.0` (both ends).
#[diagnostic::on_unimplemented(
    message = "a slider cannot go over `{Self}`",
    label = "expected a range of `i64` or `f64`: `0..60`, `0..=60`, `(0..60).step_by(5)`, `0.0..1.0`"
)]
pub trait Span {
    type Number: Scale;
    /// The lowest and the highest value, and the step if it is given.
    #[doc(hidden)]
    fn span(self) -> (Self::Number, Self::Number, Option<Self::Number>);
}

impl Span for Range<i64> {
    type Number = i64;
    fn span(self) -> (i64, i64, Option<i64>) {
        (self.start, self.end.saturating_sub(1), None)
    }
}

impl Span for RangeInclusive<i64> {
    type Number = i64;
    fn span(self) -> (i64, i64, Option<i64>) {
        (*self.start(), *self.end(), None)
    }
}

impl Span for Range<f64> {
    type Number = f64;
    fn span(self) -> (f64, f64, Option<f64>) {
        (self.start, self.end, None)
    }
}

impl Span for RangeInclusive<f64> {
    type Number = f64;
    fn span(self) -> (f64, f64, Option<f64>) {
        (*self.start(), *self.end(), None)
    }
}

fn stepped(mut steps: impl Iterator<Item = i64>) -> (i64, i64, Option<i64>) {
    let count = steps.size_hint().0 as i64;
    let (first, second) = (steps.next().unwrap_or(0), steps.next());
    let step = second.map_or(1, |second| second - first);
    (first, first + step * (count - 1), Some(step))
}

impl Span for StepBy<Range<i64>> {
    type Number = i64;
    fn span(self) -> (i64, i64, Option<i64>) {
        stepped(self)
    }
}

impl Span for StepBy<RangeInclusive<i64>> {
    type Number = i64;
    fn span(self) -> (i64, i64, Option<i64>) {
        stepped(self)
    }
}

#[track_caller]
fn ends<S: Span>(span: S, method: &str) -> (S::Number, S::Number, ControlKind) {
    let (min, max, step) = span.span();
    // Not ordered: one of them is NaN.
    if min.partial_cmp(&max).is_none_or(Ordering::is_gt) {
        let message = format!("a slider from {min} to {max} has no values");
        raise(
            Diagnostic::error(Class::Run, "empty-slider", message)
                .help("the lower end comes first")
                .at(here(method), ""),
        );
    }
    (min, max, S::Number::kind(min, max, step))
}

#[track_caller]
fn empty(what: &str) -> ! {
    let message = format!("a {what} needs at least one option");
    raise(Diagnostic::error(Class::Run, "no-options", message).at(here(what), ""))
}

/// A slider for one number: `slider(0..60)`, `slider(0.0..1.0)`.
#[track_caller]
pub fn slider<S: Span>(span: S) -> Slider<S::Number> {
    let (min, _, kind) = ends(span, "slider");
    Slider(Handle::new(kind, min.setting()), PhantomData)
}

/// A slider with two handles: `range_slider(0..60)`. It begins with the whole range.
#[track_caller]
pub fn range_slider<S: Span>(span: S) -> RangeSlider<S::Number> {
    let (min, max, kind) = ends(span, "range_slider");
    RangeSlider(Handle::new(kind, S::Number::settings(min, max)), PhantomData)
}

/// A list from which one option is chosen: `dropdown(["UA", "AA"])`.
#[track_caller]
pub fn dropdown<T: Clone + Display>(options: impl IntoIterator<Item = T>) -> Choice<T> {
    choice(options.into_iter().collect(), ChoiceLook::Dropdown)
}

/// A list of radio buttons: as [`dropdown`], with all options visible.
#[track_caller]
pub fn radio<T: Clone + Display>(options: impl IntoIterator<Item = T>) -> Choice<T> {
    choice(options.into_iter().collect(), ChoiceLook::Radio)
}

#[track_caller]
fn choice<T: Clone + Display>(options: Vec<T>, look: ChoiceLook) -> Choice<T> {
    if options.is_empty() {
        empty("dropdown");
    }
    let kind = ControlKind::Choice { options: options.iter().map(T::to_string).collect(), look };
    Choice(Handle::new(kind, Setting::One(Some(0))), Arc::new(options))
}

/// A list from which any number of options is chosen. None is chosen at first.
pub fn multi_select<T: Clone + Display>(options: impl IntoIterator<Item = T>) -> Choices<T> {
    let options: Vec<T> = options.into_iter().collect();
    let kind = ControlKind::Several { options: options.iter().map(T::to_string).collect() };
    Choices(Handle::new(kind, Setting::Many(Vec::new())), Arc::new(options))
}

/// A checkbox.
pub fn checkbox(on: bool) -> Checkbox {
    Checkbox(Handle::new(ControlKind::Checkbox, Setting::Bool(on)))
}

/// A field for a line of text. A change is reported when the line is entered or left; `live(true)`: at every key.
pub fn text_field(text: &str) -> TextField {
    let field = TextField(Handle::new(ControlKind::Text { lines: TextLines::One }, Setting::Text(text.to_string())));
    field.live(false)
}

/// A field for several lines of text.
pub fn text_area(text: &str) -> TextField {
    let field = TextField(Handle::new(ControlKind::Text { lines: TextLines::Many }, Setting::Text(text.to_string())));
    field.live(false)
}

/// A field for a number: `number_field(5)` for `i64`, `number_field(0.5)` for `f64`.
pub fn number_field<T: Scale>(value: T) -> NumberField<T> {
    NumberField(Handle::new(ControlKind::Number, value.setting()), PhantomData).live(false)
}

/// A button: `button("Load").on_click(|| ...)`.
pub fn button(label: &str) -> Button {
    Button(Handle::new(ControlKind::Button, Setting::None)).label(label)
}

/// A line of text that a cell or a closure sets.
pub fn label(text: &str) -> TextLabel {
    TextLabel(Handle::new(ControlKind::Label, Setting::Text(text.to_string())))
}

/// HTML that a cell or a closure sets.
pub fn html(markup: &str) -> TextLabel {
    TextLabel(Handle::new(ControlKind::Html, Setting::Text(markup.to_string())))
}

/// A progress bar from 0 to `total` that a cell or a closure sets. For a loop, [`crate::progress`] does that.
pub fn progress_bar(total: f64) -> ProgressBar {
    ProgressBar(Handle::new(ControlKind::Bar { min: 0.0, max: total }, Setting::Float(0.0)))
}

/// Controls in a row: `hbox((&a, &b))`.
pub fn hbox(controls: impl Controls) -> ControlBox {
    let children = controls.handles();
    let kind = ControlKind::Row { children: children.iter().map(Handle::id).collect() };
    ControlBox(Handle::with_children(kind, Setting::None, children))
}

/// Controls in a column: `vbox((&a, &b))`.
pub fn vbox(controls: impl Controls) -> ControlBox {
    let children = controls.handles();
    let kind = ControlKind::Column { children: children.iter().map(Handle::id).collect() };
    ControlBox(Handle::with_children(kind, Setting::None, children))
}

/// A slider; see [`slider`].
#[derive(Clone)]
pub struct Slider<T>(pub(super) Handle, PhantomData<T>);

/// A slider with two handles; see [`range_slider`].
#[derive(Clone)]
pub struct RangeSlider<T>(pub(super) Handle, PhantomData<T>);

/// One of several options; see [`dropdown`] and [`radio`].
#[derive(Clone)]
pub struct Choice<T>(pub(super) Handle, Arc<Vec<T>>);

/// Any of several options; see [`multi_select`].
#[derive(Clone)]
pub struct Choices<T>(pub(super) Handle, Arc<Vec<T>>);

/// A checkbox; see [`checkbox`].
#[derive(Clone)]
pub struct Checkbox(pub(super) Handle);

/// A field for text; see [`text_field`] and [`text_area`].
#[derive(Clone)]
pub struct TextField(pub(super) Handle);

/// A field for a number; see [`number_field`].
#[derive(Clone)]
pub struct NumberField<T>(pub(super) Handle, PhantomData<T>);

/// A button; see [`button`].
#[derive(Clone)]
pub struct Button(pub(super) Handle);

/// Text or HTML among the controls; see [`label`] and [`html`].
#[derive(Clone)]
pub struct TextLabel(pub(super) Handle);

/// A progress bar; see [`progress_bar`].
#[derive(Clone)]
pub struct ProgressBar(pub(super) Handle);

/// A row or a column of controls; see [`hbox`] and [`vbox`].
#[derive(Clone)]
pub struct ControlBox(pub(super) Handle);

impl<T: Scale> Slider<T> {
    /// The current value.
    pub fn value(&self) -> T {
        let setting = self.0.read();
        T::of(&setting).or_else(|| Some(self.0.read_kind(T::ends)?.0)).expect("a slider of numbers has a number")
    }

    /// Sets the value; to the nearer end if `value` is out of range.
    pub fn set(&self, value: T) {
        let (min, max) = self.0.read_kind(T::ends).unwrap_or((value, value));
        let value = if value < min {
            min
        } else if value > max {
            max
        } else {
            value
        };
        self.0.write(value.setting());
    }

    /// Sets the initial value.
    pub fn initial(self, value: T) -> Self {
        self.set(value);
        self
    }
}

impl<T: Scale> RangeSlider<T> {
    /// The lower and the upper value.
    pub fn value(&self) -> (T, T) {
        let setting = self.0.read();
        T::both(&setting).or_else(|| self.0.read_kind(T::ends)).expect("a slider of numbers has numbers")
    }

    /// Sets both values; each to the nearer end if it is out of range.
    pub fn set(&self, low: T, high: T) {
        let (low, high) = if low <= high { (low, high) } else { (high, low) };
        let (min, max) = self.0.read_kind(T::ends).unwrap_or((low, high));
        let within = |value: T| {
            if value < min {
                min
            } else if value > max {
                max
            } else {
                value
            }
        };
        self.0.write(T::settings(within(low), within(high)));
    }

    /// Sets the initial values.
    pub fn initial(self, low: T, high: T) -> Self {
        self.set(low, high);
        self
    }
}

impl<T: Clone + Display> Choice<T> {
    /// The chosen option.
    pub fn value(&self) -> T {
        let position = if let Setting::One(Some(position)) = self.0.read() { position as usize } else { 0 };
        self.1[position.min(self.1.len() - 1)].clone()
    }
}

impl<T: Clone + Display + PartialEq> Choice<T> {
    /// Chooses an option. Nothing happens if it is not among the options.
    pub fn set(&self, option: T) {
        if let Some(position) = self.1.iter().position(|known| *known == option) {
            self.0.write(Setting::One(Some(position as u32)));
        }
    }

    /// Sets the initial choice.
    pub fn initial(self, option: T) -> Self {
        self.set(option);
        self
    }
}

impl<T: Clone + Display> Choices<T> {
    /// The chosen options, in the order of the list.
    pub fn value(&self) -> Vec<T> {
        let Setting::Many(positions) = self.0.read() else { return Vec::new() };
        positions.iter().filter_map(|position| self.1.get(*position as usize).cloned()).collect()
    }
}

impl<T: Clone + Display + PartialEq> Choices<T> {
    /// Chooses these options, and no others.
    pub fn set(&self, options: impl IntoIterator<Item = T>) {
        let options: Vec<T> = options.into_iter().collect();
        let chosen = self.1.iter().enumerate().filter(|(_, option)| options.contains(option));
        self.0.write(Setting::Many(chosen.map(|(position, _)| position as u32).collect()));
    }

    /// Sets the initial choice.
    pub fn initial(self, options: impl IntoIterator<Item = T>) -> Self {
        self.set(options);
        self
    }
}

impl Checkbox {
    /// Whether it is checked.
    pub fn value(&self) -> bool {
        self.0.read() == Setting::Bool(true)
    }

    /// Checks or unchecks it.
    pub fn set(&self, on: bool) {
        self.0.write(Setting::Bool(on));
    }
}

impl TextField {
    /// The text.
    pub fn value(&self) -> String {
        if let Setting::Text(text) = self.0.read() { text } else { String::new() }
    }

    /// Sets the text.
    pub fn set(&self, text: impl AsRef<str>) {
        self.0.write(Setting::Text(text.as_ref().to_string()));
    }
}

impl<T: Scale> NumberField<T> {
    /// The number.
    pub fn value(&self) -> T {
        T::of(&self.0.read()).expect("a field of numbers has a number")
    }

    /// Sets the number.
    pub fn set(&self, value: T) {
        self.0.write(value.setting());
    }
}

impl TextLabel {
    /// The text.
    pub fn value(&self) -> String {
        if let Setting::Text(text) = self.0.read() { text } else { String::new() }
    }

    /// Sets the text.
    pub fn set(&self, text: impl AsRef<str>) {
        self.0.write(Setting::Text(text.as_ref().to_string()));
    }
}

impl ProgressBar {
    /// The value, from 0 to the total.
    pub fn value(&self) -> f64 {
        f64::of(&self.0.read()).unwrap_or(0.0)
    }

    /// Sets the value, from 0 to the total.
    pub fn set(&self, value: f64) {
        self.0.write(Setting::Float(value));
    }
}

impl Button {
    /// Runs the closure at each press. If it is set before the button is shown, its output stands below the button.
    pub fn on_click(self, action: impl FnMut() + 'static) -> Self {
        self.0.watch(action);
        self
    }
}

/// Methods of all controls.
macro_rules! labelled {
    ($($kind:ident $(<$t:ident>)?),* $(,)?) => {$(
        impl $(<$t>)? $kind $(<$t>)? {
            /// Sets the label in front of the control.
            pub fn label(self, text: &str) -> Self {
                self.0.change(|control| control.label = text.to_string());
                self
            }

            /// Whether the control can be used; if not, it is grey.
            pub fn enable(&self, enabled: bool) {
                self.0.change(|control| control.enabled = enabled);
            }
        }

        impl $(<$t>)? Show for $kind $(<$t>)? {
            fn content(&self) -> Option<Content> {
                Some(Content::Panel(self.0.panel()))
            }
        }

        impl $(<$t>)? AsControl for $kind $(<$t>)? {
            fn as_control(&self) -> Handle {
                self.0.clone()
            }
        }
    )*};
}
labelled!(
    Slider<T>,
    RangeSlider<T>,
    Choice<T>,
    Choices<T>,
    Checkbox,
    TextField,
    NumberField<T>,
    Button,
    TextLabel,
    ProgressBar,
    ControlBox,
);

/// Methods of the controls that a user sets.
macro_rules! watched {
    ($($kind:ident $(<$t:ident>)?),* $(,)?) => {$(
        impl $(<$t>)? $kind $(<$t>)?
        where
            Self: ReadControl,
        {
            /// Runs the closure with each new value. If it is set before the control is shown, its output stands below
            /// the control. Only the newest of the values that arrive while a cell runs is reported.
            pub fn on_change(&self, mut action: impl FnMut(<Self as ReadControl>::Value) + 'static) {
                // The closure must not keep the control, because the control keeps the closure.
                let (weak, again) = (self.0.weak(), self.again());
                self.0.watch(move || {
                    if let Some(handle) = weak.upgrade() {
                        action(again(handle).read());
                    }
                });
            }

            /// Whether changes are reported while the user drags or types, or only afterwards.
            pub fn live(self, live: bool) -> Self {
                self.0.change(|control| control.live = live);
                self
            }
        }
    )*};
}
watched!(Slider<T>, RangeSlider<T>, Choice<T>, Choices<T>, Checkbox, TextField, NumberField<T>);

macro_rules! readable {
    ($($kind:ident $(<$t:ident: $($bound:path),+> [$second:tt])?: $value:ty),* $(,)?) => {$(
        impl $(<$t: $($bound +)+ 'static>)? ReadControl for $kind $(<$t>)? {
            type Value = $value;

            fn read(&self) -> $value {
                self.value()
            }

            fn again(&self) -> Box<dyn Fn(Handle) -> Self> {
                $(let second = self.$second.clone();)?
                Box::new(move |handle| $kind(handle, $(second_of!(second, $second))?))
            }
        }
    )*};
}
/// The second field of a control: its options, or the type of its numbers.
macro_rules! second_of {
    ($second:ident, $field:tt) => {
        $second.clone()
    };
}
readable!(
    Slider<T: Scale> [1]: T,
    RangeSlider<T: Scale> [1]: (T, T),
    Choice<T: Clone, Display> [1]: T,
    Choices<T: Clone, Display> [1]: Vec<T>,
    Checkbox: bool,
    TextField: String,
    NumberField<T: Scale> [1]: T,
);

/// A control whose value a closure takes.
pub trait ReadControl: AsControl + Sized + 'static {
    type Value;
    #[doc(hidden)]
    fn read(&self) -> Self::Value;
    /// The control of a handle.
    #[doc(hidden)]
    fn again(&self) -> Box<dyn Fn(Handle) -> Self>;
}

/// The description of a control in `:vars`.
pub(crate) fn preview(any: &dyn Any) -> Option<String> {
    macro_rules! of {
        ($($t:ty),*) => {$(if let Some(control) = any.downcast_ref::<$t>() { return Some(control.0.preview()); })*};
    }
    of!(Slider<i64>, Slider<f64>, RangeSlider<i64>, RangeSlider<f64>, NumberField<i64>, NumberField<f64>);
    of!(Choice<&'static str>, Choice<String>, Choice<i32>, Choice<i64>, Choice<f64>);
    of!(Choices<&'static str>, Choices<String>, Choices<i32>, Choices<i64>, Choices<f64>);
    of!(Checkbox, TextField, Button, TextLabel, ProgressBar, ControlBox);
    None
}

/// A control that [`hbox`] and [`vbox`] take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a control",
    label = "expected a control, such as those of `slider`, `dropdown` and `button`"
)]
pub trait AsControl {
    #[doc(hidden)]
    fn as_control(&self) -> Handle;
}

impl<C: AsControl + ?Sized> AsControl for &C {
    fn as_control(&self) -> Handle {
        (**self).as_control()
    }
}

/// Several controls: a tuple of up to eight, an array or a `Vec`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of controls",
    label = "expected controls in a tuple, an array or a `Vec`: `hbox((&a, &b))`"
)]
pub trait Controls {
    #[doc(hidden)]
    fn handles(&self) -> Vec<Handle>;
}

impl<C: AsControl> Controls for Vec<C> {
    fn handles(&self) -> Vec<Handle> {
        self.iter().map(C::as_control).collect()
    }
}

impl<C: AsControl, const N: usize> Controls for [C; N] {
    fn handles(&self) -> Vec<Handle> {
        self.iter().map(C::as_control).collect()
    }
}

macro_rules! tuples {
    ($(($($c:ident $n:tt),+)),*) => {$(
        impl<$($c: AsControl),+> Controls for ($($c,)+) {
            fn handles(&self) -> Vec<Handle> {
                vec![$(self.$n.as_control()),+]
            }
        }
    )*};
}
tuples!(
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
);
