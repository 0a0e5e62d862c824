// Command release makes the artefacts of a release: images, archives of the plugin, charts and manifests.
//
// # Purpose
//
//   - build compiles hub, spoke and plugin for each platform, and writes everything into a folder: images as
//     OCI layouts, archives with the licence, charts, manifests, kustomizations, a bundle and a catalogue
//     for the Operator Lifecycle Manager, the manifest for krew, notes and checksums.
//   - push uploads the images and charts of that folder to a registry, and prints their digests.
//
// # Non-goals
//
// It makes no key and tags nothing: both are for a person. With the key of a person it signs the checksums, the images and the
// charts as cosign does with a key, without a transparency log; without one it says that they are not signed.
//
// # Trade-offs
//
//   - An image is one program in an otherwise empty file system, and is made without a container engine or a
//     base image: so no registry is needed to build, and images for another processor are made anywhere.
//   - The same commit and version of Go give the same programs, images and archives: -trimpath, and all times are
//     the commit's. Helm writes the time of packaging into charts, and no signature is like another.
//   - The bundle is made of the manifests that are released too: nothing of the hub is written twice. Its types are maps, because those of
//     Kubernetes and of the Operator Lifecycle Manager are minutes to compile; the tests have them.
//   - Signatures are a hundred lines of the standard library: cosign is five minutes to compile, and is what verifies them.
package main
