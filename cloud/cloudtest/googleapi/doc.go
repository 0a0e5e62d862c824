// Package googleapi compares requests and responses with Google's own descriptions of its
// APIs, which are part of module google.golang.org/api. It is for tests.
//
// # Purpose
//
//   - Load reads the description of an API from the module cache.
//   - API.Request compares a request: its path, parameters and body. API.Answer compares
//     the body of a successful response.
//
// # Non-goals
//
// The package does not check rules that a description contains as prose. It checks types, formats,
// patterns, and required and read-only fields.
//
// # Trade-offs
//
//   - Requests for tokens belong to other APIs, which have no description here. They are accepted
//     by their path.
package googleapi
