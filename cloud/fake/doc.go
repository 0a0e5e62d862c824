// Package fake simulates a cloud in memory: volumes and snapshots of several accounts, with a clock,
// delays, quotas and failures. Packages fake/ec2, fake/gce and fake/arm serve it over the providers'
// protocols.
//
// # Purpose
//
//   - Cloud holds the state and lets tests change it. It allows duplicate names as EC2 does; the
//     packages that serve it enforce unique names.
//   - Connect creates a cloud.Session without a network protocol. Rules select its behaviour: names as
//     tags, as in EC2; unique names, as in Azure; or global snapshots, as in Google Cloud. A
//     faults.Script makes requests fail.
//
// # Non-goals
//
// There is no data: a snapshot is a record.
//
// # Trade-offs
//
//   - States are computed from the clock when they are read. No goroutine runs, and a test that
//     advances the clock sees the next state immediately.
package fake
