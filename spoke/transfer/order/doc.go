// Package order says what a Job in a member is to send to a bucket, or to bring from one.
//
// # What
//
// The hub makes an Order and delivers it in a Secret; the spoke's command transfer carries
// it out. An Order is one file in parts, and a signed request for each part that is still
// to be moved. Read takes nothing that is not whole and within bounds.
//
// # Not
//
// No network and no file: package spoke/transfer. No signing: package hub/logicalbackup.
//
// # Trade-offs
//
//   - Members hold no credentials. A signed request is for one object and for an hour; what
//     was not moved by then takes another Order.
//   - Parts are at most 1 GiB, which every provider takes in one request, so that nothing
//     has to be put together in the bucket; MaxParts of them are 200 GiB, whose requests fit
//     into one Secret.
package order
