// Package cloud is the cloud of the demo: what answers when the hub asks Amazon for
// snapshots, and the storage driver in the members that look like Amazon's.
//
// What: Run serves the fake of EC2 on an address of this machine, for the one access key
// that Account names, and plays the EBS driver in each member of the fleet that has none
// of its own. A snapshot is cut at once and ready after three seconds.
//
// Not: no data is kept, in volumes or in snapshots; the nodes are simulated, too. Members
// that come later are not seen: start it anew.
//
// Trade-offs: the cloud is in memory, with a copy in a file that is written soon after
// each change. Killed outright, it forgets the last quarter of a second: a volume that a
// claim was given then is lost, as in a cloud it never is.
package cloud
