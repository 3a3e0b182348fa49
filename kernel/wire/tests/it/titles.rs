//! Titles of calls, which progress shows.

use onrush_wire::call::step_title;
use onrush_wire::learn::{Fit, ModelAsk, Spec};
use onrush_wire::plan::Op;
use onrush_wire::session::Request;
use onrush_wire::{FrameId, ModelId};

#[test]
fn titles_are_the_last_steps() {
    let step = |input: &str| step_title(input, &Op::DropNulls { input: FrameId(1), subset: vec![] });
    assert_eq!(step(""), "drop_nulls");
    assert_eq!(step("read a.csv → filter → sort"), "filter → sort → drop_nulls");
}

#[track_caller]
fn check(request: Request, title: &str) {
    assert_eq!(request.into_call().unwrap().title(Some("read a.csv")), title);
}

#[test]
fn a_title_names_the_call_and_its_input() {
    let frame = FrameId(1);
    check(Request::RowCount { frame }, "count: read a.csv");
    let spec = Spec { estimator: "Ridge".to_string(), ..Default::default() };
    check(Request::Fit { fit: Fit { spec, frame, target: None, eval: vec![] }, at: None }, "fit Ridge on read a.csv");
    let (path, folder) = ("/tmp/m.onrush".to_string(), String::new());
    check(Request::LoadModel { path, folder }, "load /tmp/m.onrush");
    check(Request::Model { model: ModelId(2), what: ModelAsk::Rows }, "read a.csv");
    check(Request::Connect { address: "onrush://127.0.0.1:7433".to_string() }, "connect");
}

#[test]
fn what_the_supervisor_answers_is_not_a_call() {
    assert_eq!(Request::Names.into_call(), Err(Box::new(Request::Names)));
    assert!(Request::Schema { frame: FrameId(1) }.family().is_none());
}
