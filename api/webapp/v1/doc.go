// Package v1 is version v1 of the API group example.com: WebApp, the smallest
// application that the spoke runs.
//
// # What
//
// A WebApp is a Deployment and a Service. It shows what a further kind costs:
// a type here and a pure function from object to components in spoke/render.
//
// # Not
//
// Nothing of the hub: a WebApp lives in one cluster.
//
// # Trade-offs
//
// An image without a tag, or with the tag latest, is refused by a CEL rule: what
// runs must be what was written.
//
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1
