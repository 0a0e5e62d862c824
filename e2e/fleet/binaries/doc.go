// Package binaries provides the programs that a fleet runs: etcd, the Kubernetes
// control plane, kubectl and KWOK.
//
// Purpose: Ensure returns a folder with all of them. It uses the programs in the
// folder that KUBEBUILDER_ASSETS names, and builds the others from source. This
// happens once per machine and set of pins, and reports progress.
//
// Non-goals: nothing is downloaded but Go modules, and old versions stay in the cache.
//
// Trade-offs: building takes minutes, but needs only a Go module proxy. A build has the
// versions of dependencies that Shopfleet itself has, not those of the release: the go
// command then compiles each package once for the control plane, the product and its
// tests. For the same reason it uses the go command's default settings.
package binaries
