// Package binaries provides the programs that a fleet runs.
//
// What: Ensure returns a folder with etcd, the Kubernetes control plane, kubectl
// and KWOK. It builds what is missing from the pinned modules next to it, once
// per machine and version, and shows how that goes.
//
// Not: nothing is downloaded but Go modules, through the ordinary go command.
// Old versions are not removed from the cache.
//
// Trade-offs: building takes minutes where a download takes seconds, but needs
// only a Go toolchain, works behind any module proxy, and runs exactly the source
// that the go.sum files pin.
package binaries
