//! Files of other places, from servers in the test process.

mod addresses;
mod http;
