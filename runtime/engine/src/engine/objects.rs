//! The catalog: what the engine has by id. Releasing, counting and looking up are the same for all kinds of objects.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use onrush_logical::frame_table::Frame;
use onrush_wire::{FrameId, ModelId, ObjectId};

use super::models::TrainedModel;

/// A new kind of object has its variant here.
#[derive(Clone)]
pub(crate) enum Object {
    Frame(Arc<Frame>),
    Model(Arc<TrainedModel>),
}

impl Object {
    fn frame(&self) -> Option<&Arc<Frame>> {
        match self {
            Object::Frame(frame) => Some(frame),
            Object::Model(_) => None,
        }
    }

    fn model(&self) -> Option<&Arc<TrainedModel>> {
        match self {
            Object::Model(model) => Some(model),
            Object::Frame(_) => None,
        }
    }

    /// Whether it holds rows that cached plans may read.
    pub fn is_resident(&self) -> bool {
        self.frame().is_some_and(|frame| frame.resident.is_some())
    }
}

#[derive(Default)]
pub(crate) struct Catalog {
    objects: RwLock<HashMap<ObjectId, Object>>,
}

impl Catalog {
    pub fn insert(&self, id: impl Into<ObjectId>, object: Object) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(id.into(), object);
    }

    /// What is there under these ids, no longer in the catalog.
    pub fn remove(&self, ids: &[ObjectId]) -> Vec<Object> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        ids.iter().filter_map(|id| objects.remove(id)).collect()
    }

    /// `None` if the id is unknown or names an object that is not a frame.
    pub fn frame(&self, id: FrameId) -> Option<Arc<Frame>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(&id.into())?.frame().map(Arc::clone)
    }

    /// `None` if the id is unknown or names an object that is not a model.
    pub fn model(&self, id: ModelId) -> Option<Arc<TrainedModel>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(&id.into())?.model().map(Arc::clone)
    }

    /// What `of` finds of each model, in no order.
    pub fn of_models<T>(&self, of: impl Fn(ObjectId, &TrainedModel) -> T) -> Vec<T> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.iter().filter_map(|(id, object)| Some(of(*id, object.model()?))).collect()
    }

    /// What `of` finds of each frame, in no order.
    pub fn of_frames<T>(&self, of: impl Fn(FrameId, &Frame) -> Option<T>) -> Vec<T> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.iter().filter_map(|(id, object)| of(FrameId(id.0), object.frame()?)).collect()
    }

    pub fn contains(&self, id: impl Into<ObjectId>) -> bool {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).contains_key(&id.into())
    }
}
