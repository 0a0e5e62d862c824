// Package install tests what is installed, by each of the three ways.
//
// What: kustomize, the Helm charts and the embedded manifests give the same objects;
// an API server takes them all with strict validation; kubectl shopfleet install and
// uninstall do to a cluster what they say, and nothing the second time.
//
// Not: whether the processes run, which is e2e/kind's, and whether their permissions
// suffice, which every fleet shows: its hub runs with the account that is installed.
//
// Trade-offs: helm and promtool are built from their pins in config/tools when they are
// first used, which takes minutes once; HELM and PROMTOOL name others. The monitoring
// objects are held against the definitions that the Prometheus operator ships; they come
// with its Go module.
package install
