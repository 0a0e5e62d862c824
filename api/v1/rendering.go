package v1

import "fmt"

// RenderingSummary returns a sentence about how far a version of the pod templates is, and which clusters have pods of an
// earlier one; empty if nothing waits.
func (s *EcommerceAppStatus) RenderingSummary() string {
	r := s.Rendering
	if r == nil || r.State == RolloutComplete && r.Message == "" {
		return ""
	}
	text := fmt.Sprintf("Version %d of the pod templates: %s, %d of %d clusters have it", r.Revision, r.State, r.Updated, r.Total)
	if r.Message != "" {
		text += ": " + r.Message
	}
	var held []string
	for i := range s.Clusters {
		if c := &s.Clusters[i]; c.HeldTemplates {
			held = append(held, c.Name)
		}
	}
	if len(held) > 0 {
		text += "; pods of an earlier version in " + FirstOf(held)
	}
	return text + "."
}
