//! Boosting by trees and by weights.
