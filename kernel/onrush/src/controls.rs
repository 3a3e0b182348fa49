//! Controls in the output of a cell: sliders, choices, fields, buttons. `value` reads what a user sets. A callback is a
//! closure that stays in this process, with the variables.
//!
//! The kernel process talks to the front end and keeps the state of the controls.

mod handle;
mod interact;
mod reactions;
mod widgets;

pub use interact::{IntoControl, Parameters, interact, keep, parameter};
pub use reactions::{forget, forget_all, react};
pub(crate) use widgets::preview;
pub use widgets::{
    Button, Checkbox, Choice, Choices, ControlBox, Controls, NumberField, ProgressBar, RangeSlider, ReadControl, Scale,
    Slider, Span, TextField, TextLabel, button, checkbox, dropdown, hbox, html, label, multi_select, number_field,
    progress_bar, radio, range_slider, slider, text_area, text_field, vbox,
};
