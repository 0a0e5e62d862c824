package ec2

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// item is something that is listed.
type item struct {
	id   string
	tags map[string]string
	// fields holds the values that filters can select besides tags.
	fields map[string]string
}

// passes reports whether an item passes all filters.
func (i item) passes(filters []filter) bool {
	for _, f := range filters {
		key, isTag := strings.CutPrefix(f.name, "tag:")
		has := []string{i.fields[f.name]}
		if isTag {
			value, ok := i.tags[key]
			if !ok {
				return false
			}
			has = []string{value}
		}
		if f.name == "tag-key" {
			has = slices.Collect(maps.Keys(i.tags))
		}
		if !f.matches(has...) {
			return false
		}
	}
	return true
}

// query represents a request to list items, and the position to start from.
type query struct {
	ids     []string
	filters []filter
	size    int
	after   string
}

// query reads what is to be listed; known are the filters besides tags.
func (p *params) query(prefix string, known ...string) query {
	q := query{ids: p.list(prefix)}
	q.filters = p.filters(known)
	size, token := p.page(q.ids)
	after, err := base64.URLEncoding.DecodeString(token)
	if err != nil {
		p.fail(invalid("InvalidParameterValue", "Unable to parse pagination token"))
	}
	q.size, q.after = size, string(after)
	return q
}

// page returns the IDs of the items on the page that is asked for, and the token of the
// next one. Items are sorted by ID, so that one which appears or vanishes meanwhile
// moves no other to another page.
func (s *Server) page(q query, items []item) (ids []string, next string) {
	size := q.size
	if s.pages > 0 && len(q.ids) == 0 && (size == 0 || size > s.pages) {
		size = s.pages
	}
	for _, it := range items {
		if it.id <= q.after || !it.passes(q.filters) {
			continue
		}
		if size > 0 && len(ids) == size {
			return ids, base64.URLEncoding.EncodeToString([]byte(ids[size-1]))
		}
		ids = append(ids, it.id)
	}
	return ids, ""
}
