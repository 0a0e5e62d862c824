// Package order defines what a Job in a member is to upload to, or download from, a
// bucket.
//
// # Purpose
//
// The hub creates an Order and delivers it in a Secret; the spoke's command transfer
// executes it. An Order describes one file in parts, with a signed request for each part
// that is still to be transferred. Read rejects an Order that is incomplete or out of
// bounds.
//
// # Non-goals
//
// The package uses no network and no files: package spoke/transfer does. It signs nothing:
// package hub/data/dumps does.
//
// # Trade-offs
//
//   - Members hold no credentials. A signed request is valid for one object and for an
//     hour; parts that were not transferred by then need another Order.
//   - Parts have at most 1 GiB, which every provider accepts in one request, so that
//     nothing has to be assembled in the bucket. MaxParts of them are 200 GiB, whose
//     requests fit into one Secret.
package order
