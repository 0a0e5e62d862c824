package gce

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// page returns a page of a list: the items that pass the filter, after the end of the previous page.
// A page token is the name of the last item, so that what comes and goes between two
// pages hides nothing else. Items are sorted by name.
func (s *Server) page(r request, kind string, items []map[string]any) (any, error) {
	kept, next, err := s.cut(r, items)
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"kind": "compute#" + kind, "id": strings.TrimPrefix(r.URL.Path, "/compute/v1/"),
		"selfLink": link(strings.TrimPrefix(r.URL.Path, "/compute/v1/")),
	}
	if len(kept) > 0 {
		out["items"] = kept
	}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out, nil
}

// cut returns the page of a list and the token of the next.
func (s *Server) cut(r request, items []map[string]any) (page []map[string]any, next string, err error) {
	query := r.URL.Query()
	match, err := parseFilter(query.Get("filter"))
	if err != nil {
		return nil, "", err
	}
	size := s.options.PageSize
	if text := query.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 500 {
			return nil, "", invalid("Invalid value for field 'maxResults': '%s'. Must be between 0 and 500.", text)
		}
		if n > 0 {
			size = min(size, n)
		}
	}
	last := ""
	if token := query.Get("pageToken"); token != "" {
		text, err := base64.URLEncoding.DecodeString(token)
		if err != nil || len(text) == 0 {
			return nil, "", invalid("Invalid value for field 'pageToken': '%s'.", token)
		}
		last = string(text)
	}
	slices.SortFunc(items, func(a, b map[string]any) int { return strings.Compare(itemName(a), itemName(b)) })
	for _, item := range items {
		if itemName(item) <= last || !match(item) {
			continue
		}
		if len(page) == size {
			return page, base64.URLEncoding.EncodeToString([]byte(itemName(page[size-1]))), nil
		}
		page = append(page, item)
	}
	return page, "", nil
}

func itemName(item map[string]any) string { return fmt.Sprint(item["name"]) }

// term is one comparison of a filter: a field and a value, with or without quotes.
const term = `^\s*\(?\s*([A-Za-z][A-Za-z0-9_.-]*?)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s()]+)\s*\)?\s*(?:AND\s)?`

// parseFilter understands comparisons for equality, joined by AND or in brackets.
func parseFilter(text string) (func(map[string]any) bool, error) {
	comparison := regexp.MustCompile(term)
	wanted := map[string]string{}
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := comparison.FindStringSubmatch(rest)
		if m == nil {
			return nil, invalid("Invalid value for field 'filter': '%s'. Invalid list filter expression.", text)
		}
		rest, wanted[m[1]] = rest[len(m[0]):], strings.Trim(m[2], `"`)
	}
	return func(item map[string]any) bool {
		for field, value := range wanted {
			got := item[field]
			if label, ok := strings.CutPrefix(field, "labels."); ok {
				labels, _ := item["labels"].(map[string]string)
				got = labels[label]
			}
			if fmt.Sprint(got) != value {
				return false
			}
		}
		return true
	}, nil
}
