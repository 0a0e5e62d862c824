package framework

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

var errNotRunning = errors.New("not running")

// Condition returns a condition by its type, empty when there is none.
func Condition(conditions []metav1.Condition, kind string) metav1.Condition {
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return metav1.Condition{}
	}
	return conditions[i]
}

// Cluster returns what a status says about a member, empty when it says nothing.
func Cluster(status *v1.EcommerceAppStatus, name string) v1.ClusterStatus {
	i := slices.IndexFunc(status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == name })
	if i < 0 {
		return v1.ClusterStatus{}
	}
	return status.Clusters[i]
}

// Region returns what a status says about a region, empty when it says nothing.
func Region(status *v1.EcommerceAppStatus, name string) v1.RegionStatus {
	i := slices.IndexFunc(status.Regions, func(r v1.RegionStatus) bool { return r.Name == name })
	if i < 0 {
		return v1.RegionStatus{}
	}
	return status.Regions[i]
}

// Observed returns nil if the status of an application and each of its conditions are about
// the current generation. The condition of the backups comes from another controller and
// may be written later than the rest.
func Observed(app *v1.EcommerceApp) error {
	status := &app.Status
	if status.ObservedGeneration != app.Generation {
		return fmt.Errorf("generation %d, of which %d is observed: %w", app.Generation, status.ObservedGeneration, errNotRunning)
	}
	for _, c := range status.Conditions {
		if c.ObservedGeneration != app.Generation {
			return fmt.Errorf("generation %d, of which %s has %d: %w", app.Generation, c.Type, c.ObservedGeneration, errNotRunning)
		}
	}
	return nil
}

// Runs returns nil if an application runs at its current generation, everywhere, in these
// regions and in no others. A copy, and an application without a hub, have none.
func Runs(app *v1.EcommerceApp, regions ...string) error {
	if err := Observed(app); err != nil {
		return err
	}
	if app.Annotations[v1.ImageUpdatedAnnotation] == v1.RestartNow {
		return fmt.Errorf("a restart is asked for: %w", errNotRunning)
	}
	status := &app.Status
	for _, c := range status.Clusters {
		if c.AppliedGeneration != app.Generation {
			return fmt.Errorf("generation %d, of which %s has %d: %w", app.Generation, c.Name, c.AppliedGeneration, errNotRunning)
		}
	}
	if status.Phase != v1.PhaseRunning || Condition(status.Conditions, v1.ConditionReady).Status != metav1.ConditionTrue {
		return errNotRunning
	}
	var found []string
	for _, r := range status.Regions {
		if r.Phase == v1.PhaseRunning && r.ReadyClusters == r.Clusters {
			found = append(found, r.Name)
		}
	}
	if !slices.Equal(found, regions) {
		return fmt.Errorf("%w in %q: %q", errNotRunning, regions, found)
	}
	return nil
}

// Brief returns the status of an application in one line.
func Brief(app *v1.EcommerceApp) string {
	parts := make([]string, 0, 1+len(app.Status.Clusters))
	parts = append(parts, fmt.Sprintf("%s %s gen %d/%d %q", app.Status.Phase, app.Status.Ready,
		app.Status.ObservedGeneration, app.Generation, app.Status.Message))
	for _, c := range app.Status.Clusters {
		parts = append(parts, fmt.Sprintf("%s=%s ready=%t stale=%t %s %q", c.Name, c.Phase, c.Ready, c.Stale, c.Reason, c.Message))
	}
	return strings.Join(parts, ", ")
}
