// Package v1 contains version v1 of the API group ecommerce.io.
//
// # Purpose
//
// The package defines the kinds that users write and read, with the conditions, reasons,
// labels and annotations that are part of the contract:
//
//   - EcommerceApp: an online shop. On the hub it carries the placement and the status of
//     the fleet. On a member the same kind is the copy: specific to that cluster, and the
//     owner of the workloads.
//   - MemberCluster: a cluster of the fleet, registered by a Secret with a kubeconfig.
//   - CloudAccount: an account of a cloud provider, and the hub's identity in it.
//   - Backup and Restore: a backup of one database in one cluster, and its restore.
//
// # Non-goals
//
// The types have no behavior except accessors on values: rendering, placement and status
// aggregation are other packages. The package imports only apimachinery and k8s.io/api, so
// that other projects can use the types at little cost.
//
// # Trade-offs
//
//   - The code that reads a field applies defaults that depend on other fields, so that
//     unset stays visible (see the accessors). Constant defaults are in the schema, where
//     kubectl explain shows them.
//   - The status has the schema default phase: Pending. A new object shows it at once,
//     without a status write. The first write after the creation stores the default, and
//     changes the resource version even if it changes nothing else.
//   - /scale works on spec.frontend.replicas, which decides the number of pods, and not on
//     its default spec.replicas. Scaling sets the field where it is absent. Reading /scale
//     fails where it is absent, so an external autoscaler needs it set.
//   - The schema validates everything, cron schedules included, and there is no webhook:
//     validation works while the hub is down. The rules require Kubernetes 1.29.
//   - Rules have a cost budget. The comparison of requests with limits uses three quarters
//     of the budget of one rule, because the length of a quantity has no bound.
//   - enabled: false disables a part of an application whatever its other fields say, so
//     that a part can be disabled and enabled again with one field.
//
// +kubebuilder:object:generate=true
// +groupName=ecommerce.io
package v1
