package connect

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// Known represents the knowledge of this process about the record of a member. All attempts and
// connections of the member share it. It is safe for concurrent use.
type Known struct {
	// process is the random ID of this process in the record.
	process string
	// epoch is the one that this process claimed; 0 if it knows of none.
	epoch atomic.Int64
	// deleted are the deletions in the record as this process read or wrote it last; nil before.
	deleted atomic.Pointer[[]ownership.Deletion]
}

// NewKnown returns the knowledge of a process that never connected the member.
func NewKnown() *Known { return &Known{process: string(uuid.NewUUID())} }

// deletions returns the deletions in the record as this process read or wrote it last.
func (k *Known) deletions() []ownership.Deletion {
	if last := k.deleted.Load(); last != nil {
		return *last
	}
	return nil
}
