//! `interact!`: a closure that runs again whenever a control changes one of its parameters.

use std::fmt::Display;
use std::iter::StepBy;
use std::ops::{Range, RangeInclusive};

use onrush_wire::control::{ControlKind, Panel, Setting};
use onrush_wire::display::{Content, Display as Shown};

use super::handle::Handle;
use super::reactions::{self, Life};
use super::widgets::{
    AsControl, Checkbox, Choice, Choices, NumberField, RangeSlider, ReadControl, Scale, Slider, TextField, checkbox,
    dropdown, number_field, slider, text_field,
};
use crate::process;

/// A parameter of `interact!`. A range is a slider, a list is a dropdown, `true` and `false` are a checkbox. A string
/// is a text field, a number is a number field. A parameter can also be a control.
#[diagnostic::on_unimplemented(
    message = "no control is made of `{Self}`",
    label = "expected a range, a list, `true` or `false`, a string, a number, or a control such as `slider(0..60)`"
)]
pub trait IntoControl {
    type Control: ReadControl;
    #[doc(hidden)]
    fn into_control(self) -> Self::Control;
}

macro_rules! controls {
    ($($kind:ident $(<$t:ident: $($bound:path),+>)?),* $(,)?) => {$(
        impl $(<$t: $($bound +)+ 'static>)? IntoControl for $kind $(<$t>)? {
            type Control = Self;
            fn into_control(self) -> Self {
                self
            }
        }

        impl $(<$t: $($bound +)+ 'static>)? IntoControl for &$kind $(<$t>)? {
            type Control = $kind $(<$t>)?;
            fn into_control(self) -> Self::Control {
                self.clone()
            }
        }
    )*};
}
controls!(
    Slider<T: Scale>,
    RangeSlider<T: Scale>,
    Choice<T: Clone, Display>,
    Choices<T: Clone, Display>,
    Checkbox,
    TextField,
    NumberField<T: Scale>,
);

macro_rules! made {
    ($($from:ty => $control:ty, $make:expr);* $(;)?) => {$(
        impl IntoControl for $from {
            type Control = $control;
            #[track_caller]
            fn into_control(self) -> $control {
                $make(self)
            }
        }
    )*};
}
made! {
    Range<i64> => Slider<i64>, slider;
    RangeInclusive<i64> => Slider<i64>, slider;
    Range<f64> => Slider<f64>, slider;
    RangeInclusive<f64> => Slider<f64>, slider;
    StepBy<Range<i64>> => Slider<i64>, slider;
    StepBy<RangeInclusive<i64>> => Slider<i64>, slider;
    bool => Checkbox, checkbox;
    &str => TextField, text_field;
    String => TextField, |text: String| text_field(&text);
    i64 => NumberField<i64>, number_field;
    f64 => NumberField<f64>, number_field;
}

impl<T: Clone + Display + 'static, const N: usize> IntoControl for [T; N] {
    type Control = Choice<T>;
    #[track_caller]
    fn into_control(self) -> Choice<T> {
        dropdown(self)
    }
}

impl<T: Clone + Display + 'static> IntoControl for Vec<T> {
    type Control = Choice<T>;
    #[track_caller]
    fn into_control(self) -> Choice<T> {
        dropdown(self)
    }
}

impl<T: Clone + Display + 'static> IntoControl for &[T] {
    type Control = Choice<T>;
    #[track_caller]
    fn into_control(self) -> Choice<T> {
        dropdown(self.iter().cloned())
    }
}

/// Checks the type of a parameter, so that an error points at it.
pub fn parameter<P: IntoControl>(value: P) -> P {
    value
}

/// A value that a closure copies.
#[diagnostic::on_unimplemented(
    message = "`interact!` keeps a copy of the variables that it uses, and `{Self}` has no `Clone`",
    note = "derive `Clone`, put it into an `Rc`, or make it inside of the closure"
)]
pub trait Keep: Sized {
    #[doc(hidden)]
    fn kept(&self) -> Self;
}

impl<T: Clone> Keep for T {
    fn kept(&self) -> T {
        self.clone()
    }
}

/// Copies each variable that `interact!` uses.
pub fn keep<T: Keep>(value: &T) -> T {
    value.kept()
}

/// The parameters of `interact!`, at most eight.
pub trait Parameters {
    type Controls: 'static;
    type Values;
    #[doc(hidden)]
    fn into_controls(self) -> Self::Controls;
    #[doc(hidden)]
    fn handles(controls: &Self::Controls) -> Vec<Handle>;
    #[doc(hidden)]
    fn values(controls: &Self::Controls) -> Self::Values;
}

macro_rules! parameters {
    ($(($($p:ident $n:tt),+)),*) => {$(
        impl<$($p: IntoControl),+> Parameters for ($($p,)+) {
            type Controls = ($($p::Control,)+);
            type Values = ($(<$p::Control as ReadControl>::Value,)+);
            #[track_caller]
            fn into_controls(self) -> Self::Controls {
                ($(self.$n.into_control(),)+)
            }

            fn handles(controls: &Self::Controls) -> Vec<Handle> {
                vec![$(controls.$n.as_control()),+]
            }

            fn values(controls: &Self::Controls) -> Self::Values {
                ($(controls.$n.read(),)+)
            }
        }
    )*};
}
parameters!(
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
);

/// Runtime support for `interact!`: runs the closure, and shows the controls above its output.
#[track_caller]
pub fn interact<P: Parameters>(names: &[&str], parameters: P, mut body: impl FnMut(P::Values) + 'static) {
    let controls = parameters.into_controls();
    let handles = P::handles(&controls);
    for (handle, name) in handles.iter().zip(names) {
        handle.change(|control| {
            if control.label.is_empty() {
                control.label = name.to_string();
            }
            control.watched = true;
        });
    }
    process::capture();
    body(P::values(&controls));
    present(handles, Box::new(move || body(P::values(&controls))));
}

// Compiled with the prelude, not with every cell.
#[inline(never)]
fn present(handles: Vec<Handle>, action: Box<dyn FnMut()>) {
    let ids: Vec<String> = handles.iter().map(Handle::id).collect();
    let column = Handle::with_children(ControlKind::Column { children: ids.clone() }, Setting::None, handles);
    let content = Content::Panel(Panel { captured: true, ..column.panel() });
    process::display(Shown { content, display_id: None, update: false, is_result: false });
    reactions::add(ids, Life::Shown(column.id()), action);
}
