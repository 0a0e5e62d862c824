package state

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Revision returns a revision of an application as JSON, which must not be changed; nil if it is not remembered.
func (s *State) Revision(app *v1.EcommerceApp, number int64) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.about(client.ObjectKeyFromObject(app)); a.exists(app.UID) {
		return a.revisions[number]
	}
	return nil
}

// KeepRevision remembers a revision of an application, unless the watch has delivered its end, or has yet to deliver
// the application: nothing would drop the revision.
func (s *State) KeepRevision(app *v1.EcommerceApp, number int64, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.about(client.ObjectKeyFromObject(app))
	if !a.exists(app.UID) {
		return
	}
	if a.revisions == nil {
		a.revisions = map[int64][]byte{}
	}
	a.revisions[number] = raw
}

// KeepRevisions forgets the revisions of an application but for some.
func (s *State) KeepRevisions(key types.NamespacedName, inUse []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.about(key).revisions, func(number int64, _ []byte) bool { return !slices.Contains(inUse, number) })
}

// exists reports whether the watch has delivered an application last, and not its end.
func (a *application) exists(app types.UID) bool { return a.delivered != nil && a.delivered.UID == app }
