// Package testenv brings up what the tests and the demo on kind work with: a hub and
// two members as kind clusters that have all images, and the programs of an
// administrator.
//
// What: Up makes what is missing, Down deletes everything, Command runs a program as
// an administrator of the hub would, Collect keeps what tells why something failed.
//
// Not: nothing is installed. Who uses a lab does that by the commands that users
// type, so that those are what is tested.
//
// Trade-offs: names of clusters are the machine's, hence a prefix for each lab. Members
// are in regions that their nodes' labels say, on no cloud.
package testenv
