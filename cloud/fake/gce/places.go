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

func (s *Server) place(project, kind, name string) map[string]any {
	out := map[string]any{
		"kind": "compute#" + strings.TrimSuffix(kind, "s"), "id": "1", "name": name, "status": "UP",
		"selfLink": link("projects/" + project + "/" + kind + "/" + name), "creationTimestamp": timestamp(time.Unix(0, 0)),
	}
	if kind == "zones" {
		out["region"] = link("projects/" + project + "/regions/" + regionOf("zones/"+name))
		return out
	}
	zones := []string{}
	for _, zone := range s.options.Regions[name] {
		zones = append(zones, link("projects/"+project+"/zones/"+zone))
	}
	out["zones"] = zones
	return out
}

func (s *Server) getPlace(kind string) handler {
	return func(r request) (any, error) {
		_, name, _ := strings.Cut(r.scope, "/")
		return s.place(r.project, kind, name), nil
	}
}

func (s *Server) listPlaces(kind string) handler {
	return func(r request) (any, error) {
		var names []string
		for region, zones := range s.options.Regions {
			if kind == "regions" {
				zones = []string{region}
			}
			names = append(names, zones...)
		}
		slices.Sort(names)
		items := make([]map[string]any, 0, len(names))
		for _, name := range names {
			items = append(items, s.place(r.project, kind, name))
		}
		return s.page(r, strings.TrimSuffix(kind, "s")+"List", items)
	}
}
