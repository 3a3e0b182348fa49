//! Connected components on a device: those of `crate::components` bit for bit.

use onrush_kernels::Context;
use onrush_kernels::graph::components;

use super::{DeviceGraph, DeviceRounds, DeviceValues, Result};
use crate::components::Components;
use crate::run::Run;

/// The component of each node: [`Components`] on a device.
pub struct DeviceComponents {
    pub component: DeviceValues<u32>,
    /// Nodes of each component, largest first.
    pub sizes: DeviceValues<u32>,
}

impl DeviceComponents {
    /// Number of components.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Copies the components to the host.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn download(&self, context: &Context) -> Result<Components> {
        Ok(Components { component: self.component.download(context)?, sizes: self.sizes.download(context)? })
    }
}

/// [`crate::components::connected_components`] on a device, by Afforest (Sutton, Ben-Nun and Barak 2018).
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn connected_components(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<DeviceComponents> {
    graph
        .check_undirected("connected_components")
        .map_err(|e| e.help("weakly_connected_components ignores directions"))?;
    numbered(graph, context, run)
}

/// [`crate::components::weakly_connected_components`] on a device.
///
/// # Errors
/// Those of the host's, and those of the device.
pub fn weakly_connected_components(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<DeviceComponents> {
    graph.check_directed("weakly_connected_components").map_err(|e| e.help("connected_components is for them"))?;
    numbered(graph, context, run)
}

fn numbered(graph: &DeviceGraph, context: &Context, run: &Run) -> Result<DeviceComponents> {
    let rounds = DeviceRounds::new(graph, context, run)?;
    let rows = graph.out_rows();
    let labels = components::labels(context, rows, graph.made_in_rows())?;
    run.check(|| "the labels of connected components".to_string())?;
    let numbers = components::numbers(context, &labels, rows.nodes)?;
    rounds.finish()?;
    Ok(DeviceComponents {
        component: DeviceValues::new(numbers.component, graph.nodes()),
        sizes: DeviceValues::new(numbers.sizes, numbers.count as usize),
    })
}
