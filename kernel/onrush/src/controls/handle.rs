//! The common part of all controls: identity, state and kind. Typed controls are in `widgets`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use onrush_wire::control::{Control, ControlKind, Panel, Setting};
use onrush_wire::host::FromHost;

use super::reactions;
use crate::process;

/// A handle of a control. Clones are the same control.
#[derive(Clone)]
pub struct Handle(Arc<Mutex<Inner>>);

struct Inner {
    control: Control,
    children: Vec<Handle>,
}

/// A unique id, also among controls of a snapshot that has taken over, whose counter goes back.
fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("onrush-{:x}-{:x}-{count:x}", std::process::id(), now.as_nanos())
}

impl Handle {
    pub fn new(kind: ControlKind, setting: Setting) -> Handle {
        Handle::with_children(kind, setting, Vec::new())
    }

    pub fn with_children(kind: ControlKind, setting: Setting, children: Vec<Handle>) -> Handle {
        let id = new_id();
        let control = Control { id, kind, label: String::new(), setting, enabled: true, watched: false, live: true };
        Handle(Arc::new(Mutex::new(Inner { control, children })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn id(&self) -> String {
        self.inner().control.id.clone()
    }

    pub fn weak(&self) -> WeakHandle {
        WeakHandle(Arc::downgrade(&self.0))
    }

    /// The current state: as the user set it, or the initial state.
    pub fn read(&self) -> Setting {
        let id = self.id();
        if reactions::is_shown(&id)
            && let Some(setting) = process::read_control(&id)
        {
            self.inner().control.setting = setting;
        }
        self.inner().control.setting.clone()
    }

    /// Changes the control here, and on the screen if it is shown.
    pub fn change(&self, change: impl FnOnce(&mut Control)) {
        let control = {
            let mut inner = self.inner();
            change(&mut inner.control);
            inner.control.clone()
        };
        if reactions::is_shown(&control.id) {
            process::tell(&FromHost::Control(control));
        }
    }

    pub fn write(&self, setting: Setting) {
        self.change(|control| control.setting = setting);
    }

    pub fn read_kind<T>(&self, read: impl FnOnce(&ControlKind) -> T) -> T {
        read(&self.inner().control.kind)
    }

    pub fn watch(&self, action: impl FnMut() + 'static) {
        self.change(|control| control.watched = true);
        reactions::add(vec![self.id()], reactions::Life::Control(self.weak()), Box::new(action));
    }

    /// A description of the kind in a few words, without the state: the user may have changed it since.
    pub fn preview(&self) -> String {
        let inner = self.inner();
        let list = |options: &[String]| match options.len() {
            0..=5 => format!("one of {}", options.join(", ")),
            more => format!("one of {more} options"),
        };
        let what = match &inner.control.kind {
            ControlKind::IntSlider { min, max, .. } => format!("{min} to {max}"),
            ControlKind::FloatSlider { min, max, .. } => format!("{min} to {max}"),
            ControlKind::Choice { options, .. } => list(options),
            ControlKind::Several { options } => format!("any of {} options", options.len()),
            ControlKind::Row { children } | ControlKind::Column { children } => format!("{} controls", children.len()),
            ControlKind::Bar { max, .. } => format!("up to {max}"),
            _ => String::new(),
        };
        let parts = [inner.control.label.as_str(), what.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }

    /// The control and its children, for an output.
    pub fn panel(&self) -> Panel {
        let mut controls: Vec<Control> = Vec::new();
        self.collect(&mut controls);
        let has_area = controls.iter().any(|control| control.watched);
        Panel { controls, has_area, captured: false }
    }

    fn collect(&self, controls: &mut Vec<Control>) {
        let (control, children) = {
            let inner = self.inner();
            (inner.control.clone(), inner.children.clone())
        };
        children.iter().for_each(|child| child.collect(controls));
        // A control in two places is one control.
        if controls.iter().all(|known| known.id != control.id) {
            reactions::show(&control.id, self);
            controls.push(control);
        }
    }
}

/// A weak handle of a control, which may be neither in a variable nor on the screen.
#[derive(Clone)]
pub struct WeakHandle(Weak<Mutex<Inner>>);

impl WeakHandle {
    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    pub fn upgrade(&self) -> Option<Handle> {
        self.0.upgrade().map(Handle)
    }
}
