// Package images makes the images that kind clusters run, without a registry.
//
// # Purpose
//
// The product's and the storefront's images are built from source. Those of the databases
// and the login are pulled or, where no registry is reached, replaced by stand-ins: see
// README.md for what those prove. Load loads the images into clusters.
//
// # Non-goals
//
// Nothing is pushed anywhere.
//
// # Trade-offs
//
// The product's tag is the hash of its program, so that the same program is the same image
// and another one is rolled out. docker's classic builder is used, which every docker has.
package images
