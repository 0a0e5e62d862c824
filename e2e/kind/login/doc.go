// Package login pins the login proxy that a stand-in image is made from.
//
// # Purpose
//
// Its go.mod names the newest version of oauth2-proxy that is available everywhere, as a
// tool, and the Dockerfile turns the program into an image.
//
// # Non-goals
//
// The package contains no code, and no product image is built from it.
//
// # Trade-offs
//
// It is a module of its own, so that the proxy's dependencies do not become those of the
// product. Its versions are therefore updated separately.
package login
