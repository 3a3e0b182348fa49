//! Graph algorithms against NetworkX, igraph, the GAP suite and LDBC, on the host and on the emulated device.

mod betweenness;
mod cluster;
mod community;
mod device;
mod device_community;
mod device_layout;
mod device_structure;
mod gap;
mod graph;
mod layout;
mod ldbc;
mod mixing;
mod paths;
mod random;
mod rank;
mod repulsion;
mod similarity;
mod structure;
mod support;
mod two_hops;
mod walks;
