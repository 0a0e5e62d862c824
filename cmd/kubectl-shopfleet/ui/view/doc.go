// Package view computes what each screen of the page of kubectl shopfleet ui shows.
//
// # Purpose
//
// A function for each of five questions takes a Snapshot and a time: NeedsOf for what needs the user now,
// RegionsOf for where each application runs and how old that knowledge is, MovingOf for what is moving, LossOf for what is
// lost with a region, and WhyOf for why an application is not in a cluster, or different there. All are pure.
//
// # Non-goals
//
// The package decides nothing that the hub or another command decides: checks are those of package doctor, placements
// those of hub/app/placement, remedies those of hub/runbook. It knows no HTML.
//
// # Trade-offs
//
//   - Ages are texts of the result, so that the same Snapshot gives another result a second later. The caller compares
//     what it rendered, and sends what differs.
//   - Lists are bounded and sorted by what is worst. How many were left out is part of the result.
package view
