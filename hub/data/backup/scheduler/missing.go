package scheduler

import (
	"fmt"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// missing returns a problem if the newest backup of a cluster is not in the cloud any more.
func missing(cluster string, mine []*v1.Backup) problem {
	gone, good := newest(mine, (*v1.Backup).IsMissing), newestGood(mine)
	if gone == nil || good != nil && !pointInTime(good).Before(pointInTime(gone)) {
		return problem{}
	}
	left := "no other is left"
	if good != nil {
		left = fmt.Sprintf("the newest one that is left, %s, is of %s", good.Name, pointInTime(good).UTC().Format(time.RFC3339))
	}
	return problem{v1.ReasonSnapshotMissing, fmt.Sprintf("%s: the newest backup, %s, is lost: %s; %s", cluster, gone.Name, gone.Status.Message, left)}
}
