// Package transfer transfers one file between a volume and a bucket, as described by an
// Order.
//
// # Purpose
//
// Run executes an order.Order. Send verifies size and checksum of the whole file before
// it uploads the parts that have a request, so that no content of another file reaches
// the bucket. Fetch writes to a temporary file, verifies it and renames it; an existing
// file with the right checksum is kept.
//
// Main does this as a process: it reads the Order from a file, and writes the error, on
// one line, to the termination log. Status returns the exit status, one of those in
// package order.
//
// # Non-goals
//
// The package handles no credentials and knows no provider: it sends requests unchanged,
// and does not follow redirects. It does not list the bucket: the hub omits the requests
// of existing parts, and verifies the result.
//
// # Trade-offs
//
//   - If the response says that a part exists, the part counts as uploaded: nothing is
//     ever overwritten, and the hub compares sizes.
//   - The file is read twice, because an upload cannot be undone.
//   - The Order is read again before each request: the hub renews it at half of its life, and the
//     kubelet brings it into the pod about a minute later. A process whose requests have expired waits
//     for the next Order, so that a hub that is away costs no attempt of the Job. An Order that has
//     expired when it arrives is a clock that is wrong, and an error.
//   - S3 takes no part without a checksum if the bucket has a default retention, and a presigned
//     request takes no checksum that was not signed. The hub, which signs, does not have the file:
//     the first attempt ends with the checksums of all parts, and the next one sends them.
//   - Parts are transferred one at a time, to leave network and disk to the database.
//   - An interrupted download is resumed at a part boundary. The checksum of the whole
//     file shows whether the existing parts are right; if not, all parts are downloaded
//     again.
//   - Errors contain no URL, header or response body, because all three may contain
//     signatures. They contain the error code of the response, a single word.
package transfer
