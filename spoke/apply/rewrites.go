package apply

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// maxRewrittenField bounds the path of a field that admission changed, in bytes.
const maxRewrittenField = 100

// rewritten describes fields that the API server stored with other values than were applied.
type rewritten struct {
	// intent is the hash of what was applied.
	intent string
	what   component.Rewrite
}

// Rewrites returns the objects whose fields the API server stored with other values than this Applier last
// applied, in the order of the intents. Managed fields cannot name the webhook or policy that changed them.
// It does not know what another process applied.
func (a *Applier) Rewrites(intents []component.Resource) []component.Rewrite {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rewritten) == 0 {
		return nil
	}
	var all []component.Rewrite
	for _, intent := range intents {
		if found, ok := a.rewritten[component.KeyOf(intent)]; ok && found.intent == component.SpecHash(intent) {
			all = append(all, found.what)
		}
	}
	return all
}

// noteStored records in which fields the answer of the API server differs from the intent that it is about.
func (a *Applier) noteStored(answer, intent *unstructured.Unstructured) error {
	content, err := contentOf(answer)
	if err != nil {
		return err
	}
	var all []difference
	if !matches(content, intent) {
		all = withoutNotes(drifted(content, intent))
	}
	key := component.KeyOf(intent)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(all) == 0 {
		delete(a.rewritten, key)
		return nil
	}
	slices.SortFunc(all, func(x, y difference) int { return strings.Compare(x.path, y.path) })
	first := component.Rewrite{Kind: intent.GetKind(), Name: intent.GetName(), Field: v1.Excerpt(all[0].path, maxRewrittenField), More: len(all) - 1}
	if first.Kind != "Secret" {
		first.Applied, first.Stored = describe(all[0].intent), describe(all[0].live)
	}
	a.rewritten[key] = rewritten{intent: intent.GetAnnotations()[v1.SpecHashAnnotation], what: first}
	return nil
}

// isRewritten reports whether an object was stored otherwise than an intent.
func (a *Applier) isRewritten(intent component.Resource) bool {
	return len(a.Rewrites([]component.Resource{intent})) > 0
}

// answersWhole reports whether the answer to the creation of an object is read as a whole although the cache
// keeps no content of its kind: of the kinds that policies of clusters change.
func answersWhole(kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "CronJob", "Service", "Ingress":
		return true
	default:
		return false
	}
}

func (a *Applier) forgetRewritten(key component.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.rewritten, key)
}
