// Package v1 contains version v1 of the API group example.com.
//
// # Purpose
//
// The package defines WebApp: a Deployment and a Service, and the smallest application that
// the spoke runs. It shows what another kind takes: a type in this package and a pure
// function from the object to its components in spoke/render.
//
// # Non-goals
//
// The hub does not manage a WebApp: it exists in one cluster only.
//
// # Trade-offs
//
// A CEL rule refuses images without a tag or with the tag latest, so that the pods run the
// version that the spec names.
//
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1
