//! Nothing: this crate is its tests, of the engine and of views through their public interface (`tests/plan`).
