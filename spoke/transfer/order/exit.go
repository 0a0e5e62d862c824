package order

// How the command that carries out an Order ends. It says why in one line, without any
// URL or token.
const (
	// ExitDone means that all of the file is where it should be.
	ExitDone = 0
	// ExitRetry means that another attempt may do: the network failed, or the storage did.
	ExitRetry = 1
	// ExitFinal means that no attempt will: the file is not what the Order says, or the
	// Order is none.
	ExitFinal = 3
	// ExitRefused means that the requests have expired or are not allowed. Another Order
	// may do.
	ExitRefused = 4
	// ExitGone means that the file, or a part of it in the bucket, is not there.
	ExitGone = 5
)
