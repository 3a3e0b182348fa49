//! Controls in a cell's output: sliders, choices, fields, buttons. What a user sets is read by `value`, and what is to be done about
//! it is a closure that stays in this process, beside the variables.
//!
//! Front ends and their messages are the kernel process's business; it also keeps the values.

mod handle;
mod interact;
mod kinds;
mod reactions;

pub use interact::{IntoControl, Parameters, interact, keep, parameter};
pub(crate) use kinds::preview;
pub use kinds::{
    Button, Checkbox, Choice, Choices, ControlBox, Controls, NumberField, ProgressBar, RangeSlider, ReadControl, Scale,
    Slider, Span, TextField, TextLabel, button, checkbox, dropdown, hbox, html, label, multi_select, number_field,
    progress_bar, radio, range_slider, slider, text_area, text_field, vbox,
};
pub use reactions::{forget, forget_all, react};
