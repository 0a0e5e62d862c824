// Package pki makes the certificates and kubeconfigs of one control plane.
//
// # Purpose
//
// A certificate authority that lives in memory, server and client certificates from it, a
// key pair for ServiceAccount tokens, and kubeconfig files.
//
// # Non-goals
//
// Certificates are neither renewed nor revoked, and the authority's key is never written
// down, so that no identity can be added later.
//
// # Trade-offs
//
// Certificates are valid for a year, longer than any fleet is meant to live, instead of
// rotating.
package pki
