package placement

import (
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// capacitySteps is the number of steps in which clusters are ranked by free capacity, so that a small
// difference does not decide.
const capacitySteps = 10

// What a replica without requests counts as, as in kube-scheduler: millicores and bytes.
const (
	defaultCPU    = 100
	defaultMemory = 200 << 20
)

// maxFitting bounds the number of replicas that fit into a cluster, and with it the products of divide.
const maxFitting = 1_000_000

// compareFree sets the free capacity of candidates that do not run the application, if that can decide which of
// them are chosen: some places are left, and not for all, or a spread chooses. Those with data have places, and
// with keep all that run it.
func compareFree(candidates []*candidate, s *spreader, keep bool) {
	left, others := s.left, 0
	for _, c := range candidates {
		switch {
		case !c.placed:
			others++
		case keep || c.held:
			left--
		}
	}
	if left <= 0 || others <= left && len(s.limits) == 0 {
		return
	}
	for _, c := range candidates {
		if !c.placed {
			c.free = freeSteps(c.Cluster)
		}
	}
}

// freeSteps returns the free capacity of a cluster, of its cpu or its memory, whichever has the smaller
// part free, in steps of a tenth; 0 if it is unknown.
func freeSteps(c *Cluster) int {
	return min(partFree(c, v1.ResourceCPU), partFree(c, v1.ResourceMemory))
}

// partFree returns the part of a resource that is free, in steps of a tenth; 0 if it is unknown.
func partFree(c *Cluster, name v1.ResourceName) int {
	allocatable, free := freeOf(c, name)
	if allocatable <= 0 {
		return 0
	}
	return int(capacitySteps * float64(free) / float64(allocatable))
}

// freeOf returns what is allocatable of a resource and what of that is not requested, in thousandths of
// cpus, or in bytes; 0 if that is unknown. Requests may exceed what is allocatable, since pods stay on
// nodes that are not ready.
func freeOf(c *Cluster, name v1.ResourceName) (allocatable, free int64) {
	all, known := c.Allocatable[name]
	used, listed := c.Requested[name]
	if !known || !listed {
		return 0, 0
	}
	allocatable = amountOf(name, all)
	return allocatable, max(0, allocatable-max(0, amountOf(name, used)))
}

// amountOf returns a quantity as freeOf does.
func amountOf(name v1.ResourceName, q resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// fitting returns how many replicas of a component fit into what a cluster has free, and false if that is
// unknown. It does not look at single nodes.
func fitting(w *v1.Workload, c *Cluster) (replicas int64, known bool) {
	if c.Allocatable == nil || c.Requested == nil {
		return 0, false
	}
	replicas = maxFitting
	for name, each := range map[v1.ResourceName]int64{v1.ResourceCPU: defaultCPU, v1.ResourceMemory: defaultMemory, v1.ResourcePods: 1} {
		q, is := w.Resources.Requests[name]
		if !is {
			q = w.Resources.Limits[name] // They are requests too, by the defaults of Kubernetes.
		}
		if !q.IsZero() {
			each = max(1, amountOf(name, q))
		}
		_, counted := c.Allocatable[name]
		if _, listed := c.Requested[name]; !counted || !listed {
			continue // How much of it is free is unknown.
		}
		known = true
		_, free := freeOf(c, name)
		replicas = min(replicas, free/each)
	}
	return replicas, known
}
