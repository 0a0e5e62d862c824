package googleapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"regexp"
	"strings"
)

// find finds the method of a request, of several the one with the fewest variables, and
// the values of its variables. The path is as it was sent.
func (a *API) find(verb, path string) (*method, map[string]string, error) {
	var found *method
	var values map[string]string
	for _, m := range a.methods {
		if m.HTTPMethod != verb {
			continue
		}
		for _, p := range []*regexp.Regexp{m.pattern, m.upload} {
			if p != nil && p.MatchString(path) && (found == nil || p.NumSubexp() < len(values)) {
				found, values = m, variables(p, path)
			}
		}
	}
	if found == nil {
		return nil, nil, fmt.Errorf("there is no method %s %s", verb, path)
	}
	return found, values, nil
}

func variables(p *regexp.Regexp, path string) map[string]string {
	parts, values := p.FindStringSubmatch(path), map[string]string{}
	for i, name := range p.SubexpNames() {
		if name == "" {
			continue
		}
		value, err := url.PathUnescape(parts[i])
		if err != nil {
			value = parts[i]
		}
		values[name] = value
	}
	return values
}

// Request compares a request: its verb, a space, its path with the query, and after a
// line break its body.
func (a *API) Request(request string) error {
	line, body, _ := strings.Cut(request, "\n")
	verb, uri, _ := strings.Cut(line, " ")
	u, err := url.Parse(uri)
	if err != nil {
		return fmt.Errorf("reading the URL: %w", err)
	}
	uploads := strings.HasPrefix(u.Path, "/upload"+a.BasePath)
	if !uploads && !strings.HasPrefix(u.Path, a.BasePath) {
		return tokenRequest(verb, u)
	}
	m, values, err := a.find(verb, u.EscapedPath())
	if err != nil {
		return err
	}
	all := []error{a.parameters(m, values, u.Query())}
	if m.Request == nil {
		if body != "" {
			all = append(all, errors.New("a body where none belongs"))
		}
		return errors.Join(all...)
	}
	if uploads {
		if body, err = described(body); err != nil {
			return errors.Join(append(all, err)...)
		}
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return errors.Join(append(all, err)...)
	}
	return errors.Join(append(all, a.value(value, m.Request, "body", m.ID))...)
}

// described returns the first part of a multipart upload, which describes the file.
func described(body string) (string, error) {
	boundary, _, _ := strings.Cut(body, "\r\n")
	boundary, begins := strings.CutPrefix(boundary, "--")
	if !begins {
		return "", errors.New("the body of an upload has no parts")
	}
	part, err := multipart.NewReader(strings.NewReader(body), boundary).NextPart()
	if err != nil {
		return "", fmt.Errorf("reading the body of an upload: %w", err)
	}
	text, err := io.ReadAll(part)
	if err != nil {
		return "", fmt.Errorf("reading the body of an upload: %w", err)
	}
	return string(text), nil
}

// parameters compares all of a request.
func (a *API) parameters(m *method, values map[string]string, query url.Values) error {
	var all []error
	for name, value := range values {
		all = append(all, a.parameter(m, name, "path", value))
	}
	for name, given := range query {
		if len(given) != 1 {
			all = append(all, fmt.Errorf("parameter %s is given %d times", name, len(given)))
		}
		all = append(all, a.parameter(m, name, "query", given[0]))
	}
	for name, p := range m.Parameters {
		if p.Required && p.Location == "query" && !query.Has(name) {
			all = append(all, fmt.Errorf("parameter %s is missing", name))
		}
	}
	return errors.Join(all...)
}

// tokenRequest accepts the requests of the three ways to a token, which no description here has.
func tokenRequest(verb string, u *url.URL) error {
	if verb == "POST" && u.RawQuery == "" && (u.Path == "/token" || u.Path == "/v1/token" || strings.HasSuffix(u.Path, ":generateAccessToken")) {
		return nil
	}
	return fmt.Errorf("%s %s is neither of the API nor for a token", verb, u)
}

func (a *API) parameter(m *method, name, location, value string) error {
	p := m.Parameters[name]
	if p == nil && location == "query" {
		if p = a.Parameters[name]; p == nil {
			return fmt.Errorf("%s has no parameter %s", m.ID, name)
		}
	}
	if p == nil || p.Location != location {
		return fmt.Errorf("%s has no parameter %s in the %s", m.ID, name, location)
	}
	return scalar(value, p, name)
}

// Answer compares the body of a good answer to a verb and a path as it was sent.
func (a *API) Answer(verb, path string, body []byte) error {
	m, _, err := a.find(verb, path)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if m.Response == nil {
		return fmt.Errorf("%s answers nothing", m.ID)
	}
	return a.value(value, m.Response, "answer", "")
}
