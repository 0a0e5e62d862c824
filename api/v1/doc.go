// Package v1 is version v1 of the API group ecommerce.io: the kinds that people
// write and read, with the conditions, reasons, labels and annotations that are
// part of the contract.
//
// # What
//
//   - EcommerceApp: a whole shop. The same kind lives on the hub, where it
//     carries the placement and the status of the fleet, and on each member,
//     where it is the copy: specific to that cluster, owner of the workloads.
//   - MemberCluster: a cluster that a kubeconfig Secret registered.
//
// # Not
//
// No behaviour beyond accessors on values: rendering, placement and rollup are
// packages of their own. Nothing here imports more than apimachinery and
// k8s.io/api, so that other projects can use the types at little cost.
//
// # Trade-offs
//
//   - Defaults that depend on other fields are applied by the code that reads
//     them (see the accessors), so that unset stays visible. Defaults that are
//     constants stand in the schema, where kubectl explain shows them.
//   - The status carries phase: Pending as a schema default. A new object shows
//     it at once, and the write that would only say so is saved.
//     The first write after the creation stores it, and moves the resource version
//     even if it changes nothing else.
//   - /scale works on spec.frontend.replicas, the number that decides, not on
//     spec.replicas, which is only its default. Scaling sets it where it is absent;
//     reading /scale needs it, so a foreign autoscaler wants it given.
//   - What is checked is checked by the schema, cron schedules too, and not by a
//     webhook: it holds when nothing of ours runs. Rules need Kubernetes 1.29.
//   - Rules have a budget. Comparing requests with limits takes three quarters of
//     what one rule may cost, because a quantity has no bound on its length.
//
// +kubebuilder:object:generate=true
// +groupName=ecommerce.io
package v1
