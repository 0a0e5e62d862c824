// Package storageclass finds out what a restored volume is to be like.
//
// # What
//
// Find returns the StorageClass that a database's claims have in a member, or would have:
// its name for the claim, its parameters for the cloud, and the driver of both.
//
// # Not
//
// No class is made here: that is package storage's.
package storageclass
