//! Plans and objects of a session: what is kept, and for how long.

use std::time::{Duration, Instant};

use onrush_session::supervisor::catalog::{Catalog, FrameFacts, Holder, Kind, Object, Parking, Plan};
use onrush_wire::plan::Op;
use onrush_wire::session::Request;
use onrush_wire::{FrameId, Generation, NotebookId, ObjectId, Schema};

fn frame(plan: Plan, held: bool) -> Object {
    let holder =
        held.then(|| Holder { notebook: NotebookId("n".to_string()), generation: Generation(0), fresh: false });
    let facts = FrameFacts { schema: Schema::default(), rows: None };
    Object { holder, ..Object::new(Kind::Frame(facts), plan, String::new()) }
}

fn made_by(op: Op, inputs: Vec<ObjectId>) -> Plan {
    let call = Request::Step { op, at: None }.into_call().unwrap();
    Plan::Call { call, inputs, copy: None, files: None }
}

fn step(input: u64) -> Plan {
    made_by(Op::Describe { input: FrameId(input) }, vec![ObjectId(input)])
}

#[test]
fn plans_stay_while_something_is_made_from_them() {
    let mut catalog = Catalog::default();
    let source = Op::FromArrow { schema: Schema::default(), bytes: None };
    let source = made_by(source, vec![]);
    for plan in [source, step(1), step(2), Plan::Alias { of: ObjectId(3) }] {
        let id = catalog.new_id();
        catalog.insert(id, frame(plan, true));
    }
    catalog.get_mut(ObjectId(2)).unwrap().holder = None;
    assert_eq!(catalog.sweep(vec![ObjectId(2)]), [ObjectId(2)], "its data can go, its plan is needed");
    assert_eq!(catalog.steps_for(ObjectId(4), &|_| false).unwrap(), [ObjectId(1), ObjectId(2), ObjectId(3)]);
    assert_eq!(catalog.steps_for(ObjectId(3), &|id| id == ObjectId(1)).unwrap(), [ObjectId(2), ObjectId(3)]);
    catalog.get_mut(ObjectId(3)).unwrap().holder = None;
    assert!(catalog.sweep(vec![ObjectId(3)]).is_empty(), "the alias still wants it");
    catalog.get_mut(ObjectId(4)).unwrap().holder = None;
    let released = catalog.sweep(vec![ObjectId(4)]);
    assert!(released.contains(&ObjectId(3)) && !released.contains(&ObjectId(1)));
    assert!(catalog.get(ObjectId(2)).is_none() && catalog.get(ObjectId(1)).is_some());
}

#[test]
fn a_plan_is_parked_once() {
    let mut catalog = Catalog::default();
    let now = Instant::now();
    let parked = |seconds| Parking { notebook: NotebookId("n".to_string()), until: now + Duration::from_secs(seconds) };
    let park = |catalog: &mut Catalog, of: u64, seconds| {
        let id = catalog.new_id();
        let key = catalog.key_of(id, &step(of));
        catalog.insert(id, Object { key, ..frame(step(of), true) });
        (id, catalog.park(id, parked(seconds)))
    };
    let (first, nothing) = park(&mut catalog, 100, 1);
    assert_eq!(nothing, None);
    let (other, nothing) = park(&mut catalog, 101, 2);
    assert_eq!(nothing, None, "another plan");
    let (again, given_up) = park(&mut catalog, 100, 3);
    assert_eq!((given_up, catalog.parked()), (Some(first), 2));
    assert_eq!(catalog.unpark_oldest(), [other]);
    assert_eq!(catalog.unpark(|p| p.until <= now + Duration::from_secs(9)), [again]);
    assert_eq!((catalog.parked(), catalog.unpark_oldest()), (0, vec![]));
}
