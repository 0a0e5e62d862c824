// Package stranger goes the way of a user who has a release and two clusters, and nothing else.
//
// # Purpose
//
//   - The release of this tree and the one before are made and pushed to a registry of the test, which the nodes
//     of kind clusters pull from.
//   - From there on, only what the release has is used: its charts, its plugin and its images. The steps are
//     install, join, apply a shop, look at the page, upgrade, uninstall. In the end nothing may be left.
//
// # Non-goals
//
// What the product does with a shop: package kind tests that with images that are on the nodes.
//
// # Trade-offs
//
// It needs a container engine, and takes some minutes for what tests nothing new of the engine. So it runs by
// make stranger, and prints how long each step took.
package stranger
