// Package clusters runs kind clusters: real nodes in containers, real kubelets, real
// pods.
//
// # Purpose
//
// Up creates a cluster, or finds an existing one; Down deletes it. A cluster has an audit
// log that package audit reads, can be paused and resumed like a machine that does not
// respond, loads images without a registry, and collects its logs and events.
//
// KIND_NODE_IMAGE and KIND_CONFIG choose the image of the nodes and the
// configuration that clusters start from, where kind's own defaults do not serve.
//
// # Non-goals
//
// Nothing of Shopfleet is installed; see package testenv.
//
// # Trade-offs
//
// One node a cluster, so that several fit on a small machine. The kubelet's own limits are
// the machine's: workloads must ask for little. Audit logs need a node image that kubeadm's
// v1beta4 configures, Kubernetes v1.31 or later.
package clusters
