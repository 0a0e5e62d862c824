// Package transfer moves one file between a volume and a bucket, as an Order says.
//
// # What
//
// Run carries out an order.Order. Send looks at the whole file first, its size and its
// checksum, and then sends the parts that have a request: nothing of another file ever gets
// into the bucket. Fetch writes beside the place of the file, looks at what it has written,
// and renames it; a file that is there already, and right, is left.
//
// Main does so as a process: the Order is a file, and why it failed is the last that it says,
// on one line. Status tells the exit status, one of those in package order.
//
// # Not
//
// No credentials and no provider: requests are sent as they are, and redirects are not
// followed. No list of what is in the bucket: the hub leaves out the requests of parts that
// are there, and looks afterwards.
//
// # Trade-offs
//
//   - A part that is there already, by the answer to its request, counts as sent: nothing is
//     ever written over, and the hub compares sizes.
//   - The file is read twice, since what is sent cannot be taken back. All of it must be read
//     and sent within the life of its requests, but for the parts that were sent before.
//   - One part after the other: a database keeps more of its network and its disk.
//   - A fetch that was interrupted goes on at the begin of a part. Whether what was there is
//     right, the checksum of the whole tells: if not, all of it is fetched again.
//   - No error holds a URL, a header or the body of an answer, as signatures are in all three.
//     What an answer calls its reason, a single word, is told.
package transfer
