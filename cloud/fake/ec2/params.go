package ec2

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// params reads the parameters of a request, and records which ones were read.
type params struct {
	form  url.Values
	used  map[string]bool
	wrong *fault // The first thing that was wrong.
	dry   bool
}

// done returns the error of the request: an invalid value or an unknown parameter.
func (p *params) done() *fault {
	p.dry = p.flag("DryRun")
	if p.wrong != nil {
		return p.wrong
	}
	for key, values := range p.form {
		if !p.used[key] {
			return invalid("UnknownParameter", fmt.Sprintf("The parameter %s is not recognized", key))
		}
		if len(values) > 1 {
			return invalid("InvalidParameterValue", fmt.Sprintf("The parameter %s is given more than once", key))
		}
	}
	return nil
}

func (p *params) fail(f *fault) {
	if p.wrong == nil {
		p.wrong = f
	}
}

func (p *params) text(key string) string {
	p.used[key] = true
	return p.form.Get(key)
}

func (p *params) required(key string) string {
	value := p.text(key)
	if value == "" {
		p.fail(invalid("MissingParameter", fmt.Sprintf("The request must contain the parameter %s", key)))
	}
	return value
}

// id reads the ID of a resource, with its prefix.
func (p *params) id(key, prefix string) string {
	value := p.required(key)
	p.formed(value, prefix)
	return value
}

// formed checks the form of an ID.
func (p *params) formed(value, prefix string) {
	if value != "" && !regexp.MustCompile("^"+prefix+"-([0-9a-f]{8}|[0-9a-f]{17})$").MatchString(value) {
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Value (%s) is invalid. Expected: '%s-...'.", value, prefix)))
	}
}

func (p *params) flag(key string) bool {
	value := p.text(key)
	if value != "" && value != "true" && value != "false" {
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Value (%s) for parameter %s is invalid", value, key)))
	}
	return value == "true"
}

// number reads a number; 0 if the parameter is missing.
func (p *params) number(key string) int64 {
	value := p.text(key)
	if value == "" {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n <= 0 {
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Value (%s) for parameter %s is invalid", value, key)))
	}
	return n
}

// list reads Prefix.1, Prefix.2 and so on.
func (p *params) list(prefix string) []string {
	var out []string
	for i := 1; p.form.Has(fmt.Sprintf("%s.%d", prefix, i)); i++ {
		out = append(out, p.text(fmt.Sprintf("%s.%d", prefix, i)))
	}
	return out
}

// filter is a name and its values: one of them must match.
type filter struct {
	name   string
	values []string
}

func (p *params) filters(known []string) []filter {
	var out []filter
	for i := 1; p.form.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		prefix := fmt.Sprintf("Filter.%d", i)
		f := filter{name: p.text(prefix + ".Name"), values: p.list(prefix + ".Value")}
		switch {
		case !strings.HasPrefix(f.name, "tag:") && f.name != "tag-key" && !slices.Contains(known, f.name):
			p.fail(invalid("InvalidParameterValue", fmt.Sprintf("The filter '%s' is invalid", f.name)))
		case len(f.values) == 0:
			p.fail(invalid("InvalidParameterValue", fmt.Sprintf("The filter '%s' has no value", f.name)))
		}
		out = append(out, f)
	}
	if len(out) > 200 {
		p.fail(invalid("FilterLimitExceeded", "The maximum number of filters is 200"))
	}
	return out
}

// tags reads the tags for a type of resource.
func (p *params) tags(resource string) map[string]string {
	out := map[string]string{}
	for i := 1; p.form.Has(fmt.Sprintf("TagSpecification.%d.ResourceType", i)); i++ {
		spec := fmt.Sprintf("TagSpecification.%d", i)
		if got := p.text(spec + ".ResourceType"); got != resource {
			p.fail(invalid("InvalidParameterValue", fmt.Sprintf("'%s' is not a valid taggable resource type for this operation.", got)))
		}
		for j := 1; p.form.Has(fmt.Sprintf("%s.Tag.%d.Key", spec, j)); j++ {
			tag := fmt.Sprintf("%s.Tag.%d", spec, j)
			p.tag(out, p.text(tag+".Key"), p.text(tag+".Value"))
		}
	}
	if len(out) > 50 {
		p.fail(invalid("TagLimitExceeded", "More than 50 tags specified"))
	}
	return out
}

func (p *params) tag(tags map[string]string, key, value string) {
	_, twice := tags[key]
	switch {
	case key == "" || utf8.RuneCountInString(key) > 128 || strings.HasPrefix(strings.ToLower(key), "aws:"):
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Tag key '%s' is not valid", key)))
	case utf8.RuneCountInString(value) > 256:
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Tag value of '%s' exceeds the maximum length of 256 characters", key)))
	case twice:
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Duplicate tag key '%s' specified.", key)))
	}
	tags[key] = value
}

// page reads the size and the token of the requested page. The bounds are those that
// EC2 checks.
func (p *params) page(ids []string) (size int, token string) {
	size, token = int(p.number("MaxResults")), p.text("NextToken")
	switch {
	case size > 0 && len(ids) > 0:
		p.fail(invalid("InvalidParameterCombination", "The parameter MaxResults cannot be used with IDs"))
	case p.form.Has("MaxResults") && (size < 5 || size > 1000):
		p.fail(invalid("InvalidParameterValue", fmt.Sprintf("Value ( %d ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.", size)))
	}
	return size, token
}

// matches reports whether values that something has match a filter. In filters * is any
// text and ? any character.
func (f filter) matches(has ...string) bool {
	return slices.ContainsFunc(f.values, func(want string) bool {
		pattern := regexp.QuoteMeta(want)
		pattern = strings.NewReplacer(`\\\*`, `\*`, `\\\?`, `\?`, `\*`, `.*`, `\?`, `.`).Replace(pattern)
		re, err := regexp.Compile("(?s)^" + pattern + "$")
		return err == nil && slices.ContainsFunc(has, re.MatchString)
	})
}
