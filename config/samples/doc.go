// Package samples holds one complete object of each kind that people apply.
//
// What: the YAML files next to this one, as bytes, so that the demo and the tests
// use the very files that people read.
//
// Not: no decoding and no defaults; a sample is what kubectl would send.
//
// Trade-offs: the files are embedded, so that a binary works far from its source.
package samples
