// Package discovery compares requests and answers with Google's own descriptions of its
// APIs, which come with module google.golang.org/api. It is for tests.
//
// # Purpose
//
//   - Load reads the description of an API from the module cache.
//   - API.Request compares a request: its path, parameters and body. API.Answer compares
//     the body of a good answer.
//
// # Non-goals
//
// No rules that a description tells in prose: only types, formats, patterns, what is
// required and what is Google's to say.
//
// # Trade-offs
//
//   - Requests for tokens are of other APIs, whose forms are not described. They are let
//     through by their paths.
package discovery
