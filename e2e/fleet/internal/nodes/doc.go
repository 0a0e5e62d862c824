// Package nodes renders what a cloud puts into a cluster before its users come:
// nodes and StorageClasses.
//
// # Purpose
//
// Node objects as the four providers label them, with provider IDs and capacity, spread over
// the zones; the provider's default class.
//
// # Non-goals
//
// It talks to no cluster, and the nodes run nothing: the simulator answers for them.
//
// # Trade-offs
//
// Names and identifiers follow each cloud's form but are made from the node's number, so
// that two runs are the same. All nodes share a loopback address and have no range for pods:
// nothing may dial a host outside of the machine.
package nodes
