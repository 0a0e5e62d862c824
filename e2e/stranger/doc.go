// Package stranger goes the way of a user who has a release and two clusters, and nothing else.
//
// # Purpose
//
//   - The release of this tree and the one before are made, signed with a key of the test and pushed to a registry of
//     the test, which the nodes of kind clusters pull from. Checksums and their signature are verified by openssl.
//   - From there on, only what the release has is used: its charts, its plugin and its images. The steps are
//     install, join, apply a shop, look at the page, upgrade, uninstall. In the end nothing may be left.
//
// # Non-goals
//
//   - What the product does with a shop: package kind tests that with images that are on the nodes.
//   - The signatures of images and charts: the tests of command release verify them, and cosign, with which users
//     do, is not run.
//
// # Trade-offs
//
// It needs a container engine, and takes some minutes for what tests nothing new of the engine. So it runs by
// make stranger. It prints how long each step took and asserts none of it: the time is that of the machine, and a step
// fails only after it has waited for minutes in vain. A release is of a commit, so uncommitted sources end the test at once.
package stranger
