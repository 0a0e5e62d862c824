package aws

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
)

const (
	// volumeDelay is EC2's minimum between two snapshots of one volume.
	volumeDelay = 15 * time.Second
	// pendingDelay and quotaDelay are the times before a retry if pending operations, or
	// a person, must first reduce the use of a quota.
	pendingDelay = time.Minute
	quotaDelay   = 30 * time.Minute
)

// read and change are the kinds of requests: a lost response to a change is Ambiguous.
const (
	read   = false
	change = true
)

// fail converts an error of the SDK.
func (c *client) fail(op string, changes bool, err error) error {
	out := classify(op, changes, err)
	if out.Class == cloud.ClassAuthExpired {
		c.credentials.Invalidate()
	}
	return out
}

// classify makes an error of one of the SDK's.
func classify(op string, changes bool, err error) *cloud.Error {
	out := apierror.Failure{Op: op, Changes: changes, Err: err, ClassOf: classOf}.Classify()
	if out.Class == cloud.ClassLocked && op != "DeleteSnapshot" {
		out.Class = cloud.ClassInvalid
	}
	out.RetryAfter = max(out.RetryAfter, delay(out.Class, out.Code))
	return out
}

// classOf returns the class of an error code of EC2, or an empty one for an unknown
// code. It lists only the codes that are documented for our calls, out of hundreds.
func classOf(code string) cloud.Class {
	switch code {
	case "InvalidVolume.NotFound", "InvalidSnapshot.NotFound":
		return cloud.ClassNotFound
	case "SnapshotCreationPerVolumeRateExceeded":
		return cloud.ClassThrottled
	case "IncorrectState":
		return cloud.ClassTransient // Refused, until the snapshot is complete.
	case "ConcurrentSnapshotLimitExceeded", "SnapshotLimitExceeded", "PendingSnapshotLimitExceeded", "ResourceLimitExceeded":
		return cloud.ClassQuota
	case "InvalidSnapshot.InUse":
		return cloud.ClassInUse
	case "OperationNotPermitted", "SnapshotLocked", "InvalidSnapshot.Locked":
		return cloud.ClassLocked
	default:
		return ""
	}
}

// delay returns the minimum time before a retry if the response has none.
func delay(class cloud.Class, code string) time.Duration {
	switch {
	case code == "SnapshotCreationPerVolumeRateExceeded":
		return volumeDelay
	case code == "ConcurrentSnapshotLimitExceeded", code == "ResourceLimitExceeded":
		return pendingDelay
	case class == cloud.ClassQuota:
		return quotaDelay
	default:
		return 0
	}
}

// refusal returns an error of the adapter for a request that was not sent.
func refusal(op string, class cloud.Class, code, message string) error {
	return &cloud.Error{Class: class, Provider: v1.ProviderAWS, Op: op, Code: code, Message: message}
}
