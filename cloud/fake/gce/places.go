package gce

import (
	"slices"
	"strings"
	"time"
)

func (s *Server) placeExists(scope string) bool {
	kind, name, _ := strings.Cut(scope, "/")
	if kind == "regions" {
		return s.options.Regions[name] != nil
	}
	for _, zones := range s.options.Regions {
		if slices.Contains(zones, name) {
			return true
		}
	}
	return false
}

// regionOf returns the region of a scope, empty for global.
func regionOf(scope string) string {
	kind, name, _ := strings.Cut(scope, "/")
	if i := strings.LastIndex(name, "-"); kind == "zones" && i > 0 {
		return name[:i]
	}
	return name
}

// link returns the URL that a resource calls itself by.
func link(path string) string { return "https://www.googleapis.com/compute/v1/" + path }

// resourcePath returns a resource's path from projects/ on, from any form of its URL.
func resourcePath(project, url string) string {
	if i := strings.Index(url, "projects/"); i >= 0 {
		return url[i:]
	}
	return "projects/" + project + "/" + strings.TrimPrefix(url, "/")
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000-07:00") }

func (s *Server) getProject(r request) (any, error) {
	return map[string]any{
		"kind": "compute#project", "id": "4711", "name": r.project,
		"selfLink": link("projects/" + r.project), "creationTimestamp": timestamp(time.Unix(0, 0)),
		"defaultServiceAccount": "4711-compute@developer.gserviceaccount.com",
	}, nil
}

func (s *Server) listZones(r request) (any, error) {
	var items []map[string]any
	for region, zones := range s.options.Regions {
		for _, zone := range zones {
			items = append(items, map[string]any{
				"kind": "compute#zone", "id": "1", "name": zone, "status": "UP", "region": link("projects/" + r.project + "/regions/" + region),
				"selfLink": link("projects/" + r.project + "/zones/" + zone), "creationTimestamp": timestamp(time.Unix(0, 0)),
			})
		}
	}
	return s.page(r, "zoneList", items)
}
