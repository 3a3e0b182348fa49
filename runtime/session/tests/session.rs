//! The real executable, spoken to as a kernel process and cell processes do.

mod session {
    pub mod adverse;
    pub mod beside;
    pub mod databases;
    pub mod requests;
    pub mod support;
}
