package iam

import (
	"fmt"
	"slices"
	"strings"
)

// operator is a condition operator with its set operator and suffix.
type operator struct {
	// name is the name of a comparison, or Null.
	name string
	// negated is true for the operators with Not.
	negated bool
	// ifExists is true if the condition holds for requests without the key.
	ifExists bool
	// set is ForAllValues, ForAnyValue or empty.
	set string
}

// comparisons returns how a value of a request is compared with one of the document.
func comparisons() map[string]func(want, got string) bool {
	equal := func(want, got string) bool { return want == got }
	return map[string]func(want, got string) bool{
		"StringEquals": equal, "StringEqualsIgnoreCase": strings.EqualFold, "StringLike": like, "Bool": strings.EqualFold,
		"ArnLike": like, "ArnEquals": like,
	}
}

// parseOperator reads the name of a condition operator.
func parseOperator(text string) (operator, error) {
	var o operator
	if set, rest, found := strings.Cut(text, ":"); found {
		if set != "ForAllValues" && set != "ForAnyValue" {
			return o, fmt.Errorf("the set operator of %q is not known", text)
		}
		o.set, text = set, rest
	}
	o.name, o.ifExists = strings.CutSuffix(text, "IfExists")
	if rest, found := strings.CutPrefix(o.name, "StringNot"); found {
		o.name, o.negated = "String"+rest, true
	}
	if _, known := comparisons()[o.name]; !known && o.name != "Null" {
		return o, fmt.Errorf("the condition operator %q is not known", text)
	}
	return o, nil
}

// holds reports whether the values that a request has for a key satisfy the condition. A
// request without the key satisfies it only with IfExists, ForAllValues or a negation.
func (o operator) holds(got, want []string) bool {
	if o.name == "Null" {
		return slices.Contains(want, fmt.Sprint(len(got) == 0))
	}
	if len(got) == 0 {
		return o.ifExists || o.set == "ForAllValues" || o.negated && o.set == ""
	}
	compare := comparisons()[o.name]
	matches := func(value string) bool {
		found := slices.ContainsFunc(want, func(w string) bool { return compare(w, value) })
		return found != o.negated
	}
	if o.set == "ForAllValues" {
		return !slices.ContainsFunc(got, func(value string) bool { return !matches(value) })
	}
	return slices.ContainsFunc(got, matches)
}
