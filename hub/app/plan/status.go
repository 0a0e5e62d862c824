package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// Bounds of the status, in bytes.
const (
	maxReason         = 64
	maxClusterMessage = 512
	maxProblem        = 1024
	maxMessage        = 1024
	// maxChanges is the size of all changes that are listed. Etcd takes 1.5 MiB, of which the
	// manifest may have a quarter.
	maxChanges = 512 << 10
	// maxFields is the number of fields that are listed of one change.
	maxFields = 10
	maxField  = 256
	maxKind   = 63
	maxName   = 253
)

// answers hold the effects of an application, as far as they are known.
type answers struct {
	// application is its change on the hub; nil if there is none.
	application *v1.PlannedChange
	// before is the present application; nil if there is none.
	before *v1.EcommerceApp
	placed Placed
	// clusters are the answers of clusters, by name.
	clusters map[string]inCluster
}

// statusOf returns the status of a Plan, within its bounds.
func statusOf(a answers) v1.PlanStatus {
	all := a.plannedClusters()
	status := v1.PlanStatus{Application: a.application, Problem: v1.Excerpt(a.placed.Problem, maxProblem)}
	status.Rendering = v1.Excerpt(a.placed.App.Status.RenderingSummary(), maxMessage)
	var changing []string
	for i := range all {
		c := &all[i]
		c.Counts = countsOf(c.Changes)
		add(&status.Counts.Changes, c.Counts)
		if c.Unknown != "" {
			status.Counts.Unknown++
		}
		if c.Decision == v1.PlannedDecision(placement.Chosen) {
			status.Counts.Chosen++
		}
		if len(c.Changes) > 0 {
			changing = append(changing, c.Name)
		}
	}
	status.Counts.Clusters = int32(min(len(all), 1<<30))
	status.Waves = wavesOf(a.placed, changing)
	status.Clusters = bounded(all)
	return status
}

// plannedClusters returns the decision about each cluster with its answer, sorted by name.
func (a answers) plannedClusters() []v1.PlannedCluster {
	runs := map[string]bool{}
	if a.before != nil {
		for i := range a.before.Status.Clusters {
			if entry := &a.before.Status.Clusters[i]; entry.Phase != v1.PhaseDeleting {
				runs[entry.Name] = true
			}
		}
	}
	byName := map[string]v1.PlannedCluster{}
	for _, result := range a.placed.Results {
		byName[result.Cluster] = v1.PlannedCluster{
			Name: result.Cluster, Decision: v1.PlannedDecision(result.Decision), Move: moveOf(result, runs[result.Cluster]),
			Reason: v1.Excerpt(result.Reason, maxReason), Message: v1.Excerpt(result.Message, maxClusterMessage),
		}
	}
	for name, answer := range a.clusters {
		c := byName[name]
		c.Name, c.Changes, c.Paused = name, valid(answer.changes), answer.paused
		c.Unknown, c.UnknownMessage = v1.Excerpt(answer.unknown, maxReason), v1.Excerpt(answer.message, maxClusterMessage)
		byName[name] = c
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b v1.PlannedCluster) int { return strings.Compare(a.Name, b.Name) })
}

// valid returns changes within the bounds of a status: objects in a member may have any name, and what refuses a
// write there any text.
func valid(changes []v1.PlannedChange) []v1.PlannedChange {
	all := slices.Clone(changes)
	for i := range all {
		c := &all[i]
		c.Kind, c.Name = v1.Excerpt(c.Kind, maxKind), v1.Excerpt(c.Name, maxName)
		c.Reason, c.Message = v1.Excerpt(c.Reason, maxReason), v1.Excerpt(c.Message, maxClusterMessage)
		c.Fields = slices.Clone(c.Fields[:min(len(c.Fields), maxFields)])
		for j := range c.Fields {
			c.Fields[j] = v1.Excerpt(c.Fields[j], maxField)
		}
	}
	return all
}

// moveOf returns what a decision changes for a cluster that runs the application, or does not.
func moveOf(result placement.Result, runs bool) v1.PlannedMove {
	switch {
	case result.Decision != placement.Rejected && !runs:
		return v1.PlannedJoins
	case result.Decision == placement.Rejected && runs, result.Reason == v1.ReasonReplacementPending:
		return v1.PlannedLeaves
	default:
		return ""
	}
}

// bounded returns as many clusters and changes as a status can list. Clusters that are concerned come
// before those that are rejected.
func bounded(all []v1.PlannedCluster) []v1.PlannedCluster {
	concerned := func(c *v1.PlannedCluster) bool {
		return c.Decision != v1.PlannedDecision(placement.Rejected) || c.Move != "" || len(c.Changes) > 0
	}
	kept := make([]v1.PlannedCluster, 0, min(len(all), v1.MaxPlannedClusters))
	for _, want := range []bool{true, false} {
		for i := range all {
			if concerned(&all[i]) == want && len(kept) < v1.MaxPlannedClusters {
				kept = append(kept, all[i])
			}
		}
	}
	slices.SortFunc(kept, func(a, b v1.PlannedCluster) int { return strings.Compare(a.Name, b.Name) })
	rest := maxChanges
	for i := range kept {
		kept[i].Changes = within(kept[i].Changes[:min(len(kept[i].Changes), v1.MaxPlannedChanges)], &rest)
	}
	return kept
}

// within returns the first changes that fit in a number of bytes, which it reduces.
func within(changes []v1.PlannedChange, rest *int) []v1.PlannedChange {
	for i := range changes {
		raw, err := json.Marshal(changes[i])
		if err != nil || len(raw) > *rest {
			*rest = 0 // Clusters that come later list nothing either.
			return changes[:i:i]
		}
		*rest -= len(raw)
	}
	return changes
}

func countsOf(changes []v1.PlannedChange) v1.ChangeCounts {
	var c v1.ChangeCounts
	for i := range changes {
		switch changes[i].Action {
		case v1.PlannedAction(v1.PendingCreate):
			c.Create++
		case v1.PlannedAction(v1.PendingUpdate):
			c.Update++
		case v1.PlannedAction(v1.PendingRecreate):
			c.Recreate++
		case v1.PlannedAction(v1.PendingExpand):
			c.Expand++
		case v1.PlannedAction(v1.PendingDelete):
			c.Delete++
		case v1.PlannedRefuse:
			c.Refuse++
		}
	}
	return c
}

func add(sum *v1.ChangeCounts, c v1.ChangeCounts) {
	sum.Create += c.Create
	sum.Update += c.Update
	sum.Recreate += c.Recreate
	sum.Expand += c.Expand
	sum.Delete += c.Delete
	sum.Refuse += c.Refuse
}

// applicationChange returns the change of an application on the hub, where before is the present one or
// nil; nil if it stays as it is.
func applicationChange(before, after *v1.EcommerceApp) (*v1.PlannedChange, error) {
	change := &v1.PlannedChange{Kind: "EcommerceApp", Name: after.Name, Action: v1.PlannedAction(v1.PendingCreate)}
	if before == nil {
		return change, nil
	}
	change.Action = v1.PlannedAction(v1.PendingUpdate)
	specs := make([]map[string]any, 0, 2)
	for _, app := range []*v1.EcommerceApp{before, after} {
		spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&app.Spec)
		if err != nil {
			return nil, fmt.Errorf("converting the spec: %w", err)
		}
		specs = append(specs, spec)
	}
	change.Fields = slices.Concat(
		mapFields("metadata.annotations", before.Annotations, after.Annotations),
		mapFields("metadata.labels", before.Labels, after.Labels), apply.SpecFields(specs[0], specs[1]),
	)
	if len(change.Fields) == 0 {
		return nil, nil
	}
	change.Fields = change.Fields[:min(len(change.Fields), maxFields)]
	return change, nil
}

// mapFields describes the keys in which two maps of metadata differ, sorted. What kubectl keeps of a
// manifest is none of them.
func mapFields(path string, before, after map[string]string) []string {
	var fields []string
	all := maps.Clone(before)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, had := before[key]
		is, has := after[key]
		if key == corev1.LastAppliedConfigAnnotation || had == has && was == is {
			continue
		}
		if !had {
			was = "none"
		}
		if !has {
			is = "none"
		}
		fields = append(fields, v1.Excerpt(fmt.Sprintf("%s[%s]: %s -> %s", path, key, was, is), maxField))
	}
	return fields
}
