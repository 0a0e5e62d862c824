// Package testenv starts the environment of the tests and the demo on kind: a hub and two
// members as kind clusters with all images, and the programs of an administrator.
//
// # Purpose
//
// Up creates the missing clusters, Down deletes everything, Command runs a program as an
// administrator of the hub would, Collect saves logs and objects after a failure.
//
// # Non-goals
//
// Nothing is installed. Callers install with the commands that users type, so that those are
// tested.
//
// # Trade-offs
//
// Cluster names are shared by the whole machine, so each environment has a prefix. Members
// are in the regions of their nodes' labels, on no cloud.
package testenv
