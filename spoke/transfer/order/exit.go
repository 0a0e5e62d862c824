package order

// Exit statuses of the command that executes an Order. It writes the reason on one line,
// without URLs and tokens.
const (
	// ExitDone means that the whole file is at its destination.
	ExitDone = 0
	// ExitRetry means that another attempt may succeed: the network or the storage failed.
	ExitRetry = 1
	// ExitFinal means that no attempt can succeed: the file differs from the Order, or the
	// Order is invalid.
	ExitFinal = 3
	// ExitRefused means that the requests have expired or are denied. Another Order may
	// succeed.
	ExitRefused = 4
	// ExitGone means that the file, or a part of it in the bucket, does not exist.
	ExitGone = 5
	// ExitChecksums means that the storage takes parts with signed checksums only. The process
	// writes the Checksums of all parts instead of a reason. An Order whose requests have them
	// may succeed.
	ExitChecksums = 6
)
