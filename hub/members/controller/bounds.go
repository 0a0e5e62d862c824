package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
)

// Bounds of the status of a MemberCluster.
const (
	maxText             = 128
	maxAgentVersion     = 63
	maxZones            = 50
	maxCapabilities     = 50
	maxConditionMessage = 1024
)

// bounded returns what a cluster says of itself within the bounds of its status, without what is not valid: an
// API server that refuses the status would leave the conditions of the cluster as they were.
func bounded(info members.Info) members.Info {
	info.Version, info.UID = v1.Excerpt(info.Version, maxText), v1.Excerpt(info.UID, maxText)
	info.AgentVersion = v1.Excerpt(info.AgentVersion, maxAgentVersion)
	if !isPlace(info.Region) {
		info.Region = ""
	}
	info.Zones = distinct(info.Zones, maxZones, isPlace)
	info.Capabilities = distinct(info.Capabilities, maxCapabilities, func(c string) bool { return c == v1.Excerpt(c, maxText) })
	info.Nodes, info.ReadyNodes = max(0, info.Nodes), max(0, info.ReadyNodes)
	return info
}

// isPlace reports whether a text can be the name of a region or a zone, which nodes have as values of labels.
func isPlace(name string) bool { return name != "" && len(validation.IsValidLabelValue(name)) == 0 }

// distinct returns the first of sorted texts that are valid, each once.
func distinct(sorted []string, most int, valid func(string) bool) []string {
	var all []string
	for _, text := range sorted {
		if valid(text) && len(all) < most && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
