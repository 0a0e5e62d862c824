// Package binaries provides the programs that a fleet runs: etcd, the Kubernetes
// control plane, kubectl and KWOK; and the controllers that work for a storage driver.
//
// # Purpose
//
// Ensure returns a folder with all of them. It uses the programs in the folder that
// KUBEBUILDER_ASSETS names, downloads the released ones of the pinned versions and compares
// them with their published checksums, and builds the others from source. This happens once
// per machine and set of pins, and reports progress.
//
// EnsureCSI returns a folder with snapshot-controller, csi-snapshotter, csi-provisioner
// and csi-test's suite, and SnapshotDefinitions the definitions that belong to them.
//
// # Non-goals
//
// Old versions stay in the cache. On macOS, etcd, kube-apiserver and kubectl are those of
// envtest, which has some patches of each minor version and not all, and KWOK is released;
// kube-controller-manager and kube-scheduler are not, so that they are built. Nothing is
// downloaded for other systems, and a fleet does not run on Windows. Signatures are not
// verified, only checksums from the same publisher: those of envtest are in this package.
//
// # Trade-offs
//
// A download takes seconds where a build takes minutes, but needs the release servers; a
// machine without them notices within five seconds and builds, which needs only a Go module
// proxy. A build has the versions of dependencies that Shopfleet itself has, not those of
// the release: the go command then compiles each package once for the control plane, the
// product and its tests. For the same reason it uses the go command's default settings. The
// controllers need a newer Kubernetes, so that they have pins of their own and share nothing.
package binaries
