// Package fake is a cloud that lives in memory: volumes and snapshots of several
// accounts, with a clock, delays, quotas and bad days. Packages fake/ec2, fake/gce and
// fake/arm speak the providers' wire protocols in front of it.
//
// # Purpose
//
//   - World is the state, and what a test may do to it. It makes duplicates as EC2 does:
//     what keeps a name unique belongs to the front ends.
//   - Connect is a provider without any wire, on a World. Its Rules make it like EC2, where
//     names are tags, like Azure, where they are unique, or like Google Cloud, where
//     snapshots have no region besides. Requests go wrong as a faults.Script says.
//
// # Non-goals
//
// No data: a snapshot is a record. Nothing of a provider's protocol is known here.
//
// # Trade-offs
//
//   - States follow from the clock and are computed when asked for, so that no goroutine
//     runs and a test that moves the clock sees the next state at once.
package fake
