// Package oauth2proxy pins the login proxy that a stand-in image is made from, and tests whom it admits.
//
// # Purpose
//
// Its go.mod names the version of oauth2-proxy that the spoke renders, as a
// tool, and the Dockerfile turns the program into an image. The test runs the program with the
// arguments that the spoke renders, on this machine and without docker.
//
// # Non-goals
//
// No product image is built from the package.
//
// # Trade-offs
//
// It is a module of its own, so that the proxy's dependencies do not become those of the
// product. Its versions are therefore updated separately.
package oauth2proxy
