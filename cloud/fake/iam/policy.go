package iam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Request asks whether one action on one resource is allowed. A request of the API needs an answer
// for each resource that it concerns.
type Request struct {
	// Action is the permission, for example ec2:CreateSnapshot.
	Action string
	// Resource is an ARN. It ends in * for a resource that does not exist yet, and it is * for
	// a request that supports no resource.
	Resource string
	// Context holds the values of the condition keys that the service provides.
	Context map[string][]string
}

// Policy is an identity-based policy of AWS. A nil Policy allows everything.
type Policy struct{ statements []statement }

// statement is an element of Statement.
type statement struct {
	Sid       string
	Effect    string
	Action    texts
	Resource  texts
	Condition map[string]map[string]texts
}

// texts is a string, or a list of strings.
type texts []string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var one string
	if err := json.Unmarshal(raw, &one); err == nil {
		*t = texts{one}
		return nil
	}
	if err := json.Unmarshal(raw, (*[]string)(t)); err != nil {
		return fmt.Errorf("neither a string nor a list of strings: %w", err)
	}
	return nil
}

// ParsePolicy reads a policy. It fails for elements and operators that Allows does not evaluate.
func ParsePolicy(document []byte) (*Policy, error) {
	var in struct {
		Version   string
		Statement []statement
	}
	if err := decode(document, &in); err != nil {
		return nil, fmt.Errorf("reading a policy: %w", err)
	}
	if in.Version != "2012-10-17" || len(in.Statement) == 0 {
		return nil, fmt.Errorf("reading a policy: version %q with %d statements", in.Version, len(in.Statement))
	}
	for i, s := range in.Statement {
		if s.Effect != "Allow" && s.Effect != "Deny" || len(s.Action) == 0 || len(s.Resource) == 0 {
			return nil, fmt.Errorf("reading a policy: statement %d has effect %q, %d actions and %d resources", i, s.Effect, len(s.Action), len(s.Resource))
		}
		for name := range s.Condition {
			if _, err := parseOperator(name); err != nil {
				return nil, fmt.Errorf("reading a policy: statement %d: %w", i, err)
			}
		}
	}
	return &Policy{statements: in.Statement}, nil
}

// decode reads JSON strictly.
func decode(document []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}

// Join returns the policies of an identity that has several.
func Join(policies ...*Policy) *Policy {
	out := &Policy{}
	for _, p := range policies {
		out.statements = append(out.statements, p.statements...)
	}
	return out
}

// Actions returns the actions of all statements, in order and without repetition.
func (p *Policy) Actions() []string {
	var out []string
	for _, s := range p.statements {
		for _, action := range s.Action {
			if !slices.Contains(out, action) {
				out = append(out, action)
			}
		}
	}
	return out
}

// Without returns the policy with an action denied.
func (p *Policy) Without(action string) *Policy {
	return Join(p, &Policy{statements: []statement{{Effect: "Deny", Action: texts{action}, Resource: texts{"*"}}}})
}

// Allows reports whether a statement allows a request and none denies it.
func (p *Policy) Allows(r Request) bool {
	if p == nil {
		return true
	}
	allowed := false
	for _, s := range p.statements {
		if !s.applies(r) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = true
	}
	return allowed
}

// applies reports whether a statement is about a request. Names of actions are compared
// without case, ARNs with it.
func (s statement) applies(r Request) bool {
	action := func(pattern string) bool { return like(strings.ToLower(pattern), strings.ToLower(r.Action)) }
	resource := func(pattern string) bool { return like(pattern, r.Resource) }
	if !slices.ContainsFunc(s.Action, action) || !slices.ContainsFunc(s.Resource, resource) {
		return false
	}
	for name, keys := range s.Condition {
		// ParsePolicy has refused operators that are not known.
		o, err := parseOperator(name)
		if err != nil {
			return false
		}
		for key, want := range keys {
			if !o.holds(r.value(key), want) {
				return false
			}
		}
	}
	return true
}

// value returns the values of a condition key, whose name is compared without case; nil if the
// request does not have it.
func (r Request) value(key string) []string {
	for name, values := range r.Context {
		if strings.EqualFold(name, key) {
			return values
		}
	}
	return nil
}

// like reports whether a text matches a pattern, in which * is any text and ? any character;
// ${*} and ${?} are the characters themselves.
func like(pattern, text string) bool {
	var expression strings.Builder
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "${*}"), strings.HasPrefix(rest, "${?}"), strings.HasPrefix(rest, "${$}"):
			expression.WriteString(regexp.QuoteMeta(rest[2:3]))
			rest = rest[4:]
			continue
		case rest[0] == '*':
			expression.WriteString(".*")
		case rest[0] == '?':
			expression.WriteString(".")
		default:
			expression.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[1:]
	}
	matched, err := regexp.MatchString("(?s)^"+expression.String()+"$", text)
	return err == nil && matched
}
