//! Pods and nodes as the scheduler sees them, and the columnar snapshot of the cluster.
