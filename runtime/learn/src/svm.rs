//! Support vector machines.
