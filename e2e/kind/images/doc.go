// Package images makes the images that kind clusters run, without a registry.
//
// What: the product's and the storefront's from their sources, the databases' and
// the login's from where they are published or, where no registry is reached, as
// stand-ins: see README.md for what those prove. Load gives them to clusters.
//
// Not: nothing is pushed anywhere.
//
// Trade-offs: the product's tag is the hash of its program, so that the same program
// is the same image and another one is rolled out. docker's classic builder is used,
// which every docker has.
package images
