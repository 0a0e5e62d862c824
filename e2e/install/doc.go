// Package install tests the three ways to install Shopfleet.
//
// # Purpose
//
// Kustomize, the Helm charts and the embedded manifests give the same objects; an API server
// accepts all of them with strict validation; kubectl shopfleet install and uninstall change
// a cluster as documented, and a second run changes nothing.
//
// # Non-goals
//
// Suite e2e/kind tests whether the processes run. Every fleet shows whether their permissions
// suffice: its hub runs with the account that is installed.
//
// # Trade-offs
//
// Helm and promtool are built from their pins in config/tools when they are first used,
// which takes minutes once; HELM and PROMTOOL select others. The monitoring objects are
// validated against the CRDs of the Prometheus operator, from its Go module.
package install
