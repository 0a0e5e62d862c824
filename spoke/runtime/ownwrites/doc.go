// Package ownwrites lets a controller read what it wrote.
//
// # Purpose
//
//   - Write remembers the last object that a controller wrote, until its cache has it: a pass in
//     between would decide with an older object, and its write would end in a conflict.
//
// # Non-goals
//
//   - The writes of others. They arrive by the watch.
//   - Objects whose content no cache keeps. What an Applier wrote of them is a hash, in package apply.
//
// # Trade-offs
//
//   - Resource versions are compared for equality alone, so the versions that were replaced are kept
//     until the cache has moved on.
package ownwrites
