// Package faults makes requests to a cloud fail. A Script selects calls of an operation and the kind
// of their failure. Transport applies it to HTTP on the client's side, so that a response may be lost
// after the request took effect. Failures inside of the cloud, such as a snapshot that fails after it
// was accepted, are simulated by fake.Cloud.
package faults
